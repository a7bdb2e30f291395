//! An event's description (`struct perf_event_attr`), and where its samples have what.
//!
//! Layouts: `perf_event_open(2)`, `PERF_RECORD_SAMPLE` and `struct sample_id`; the kernel's
//! `include/uapi/linux/perf_event.h`.

use super::bytes::{u32_at, u64_at};
use crate::profile::sample::branches::Branch;
use crate::profile::sample::recording::Event;

const IP: u64 = 1 << 0;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const BRANCH_STACK: u64 = 1 << 11;
const REGS_USER: u64 = 1 << 12;
const STACK_USER: u64 = 1 << 13;
const IDENTIFIER: u64 = 1 << 16;

/// `sample_id_all`, among the attribute's flags.
const SAMPLE_ID_ALL: u64 = 1 << 18;
/// `PERF_SAMPLE_BRANCH_HW_INDEX` of `branch_sample_type`.
const BRANCH_HW_INDEX: u64 = 1 << 17;

/// `PERF_TYPE_HARDWARE` and `PERF_TYPE_SOFTWARE`.
const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
/// `PERF_COUNT_SW_DUMMY`: carries mappings, is never sampled.
const SW_DUMMY: u64 = 9;

/// An event that was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Attr {
    kind: u32,
    config: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    branch_sample_type: u64,
    /// Which registers of the program a sample has.
    registers: u64,
}

impl Attr {
    /// Reads the fields that matter; `None` if there are fewer bytes than the first kernels wrote.
    pub(super) fn parse(bytes: &[u8]) -> Option<Attr> {
        const FIRST_VERSION: usize = 64;
        bytes.get(..FIRST_VERSION)?;
        Some(Attr {
            kind: u32_at(bytes, 0)?,
            config: u64_at(bytes, 8)?,
            sample_type: u64_at(bytes, 24)?,
            read_format: u64_at(bytes, 32)?,
            flags: u64_at(bytes, 40)?,
            branch_sample_type: u64_at(bytes, 72).unwrap_or(0),
            registers: u64_at(bytes, 80).unwrap_or(0),
        })
    }

    /// The attribute's own size, for the pipe's records, where identifiers follow it.
    pub(super) fn size(bytes: &[u8]) -> Option<usize> {
        match u32_at(bytes, 4)? {
            0 => Some(64),
            size => usize::try_from(size).ok(),
        }
    }

    /// Whether it can have samples.
    pub(super) fn is_sampled(&self) -> bool {
        (self.kind, self.config) != (SOFTWARE, SW_DUMMY)
    }

    /// Whether both count the same thing, on cores of different kinds.
    ///
    /// The upper half of a hardware event's configuration says which kind of core.
    pub(super) fn is_same_event(&self, other: &Attr) -> bool {
        const EVENT: u64 = 0xffff_ffff;
        self == other
            || self.kind == other.kind
                && if self.kind == HARDWARE {
                    self.config & EVENT == other.config & EVENT
                } else {
                    self.config == other.config
                }
    }

    /// perf's name of the usual events, for recordings that don't say it.
    pub(super) fn usual_name(&self) -> Option<&'static str> {
        match (self.kind, self.config & 0xffff_ffff) {
            (HARDWARE, 0) => Some("cycles"),
            (HARDWARE, 1) => Some("instructions"),
            (HARDWARE, 4) => Some("branches"),
            (SOFTWARE, 0) => Some("cpu-clock"),
            (SOFTWARE, 1) => Some("task-clock"),
            _ => None,
        }
    }

    /// What was sampled, under perf's name of it.
    pub(super) fn event(&self, name: &str) -> Event {
        Event {
            name: name.to_owned(),
            branch_stacks: self.sample_type & BRANCH_STACK != 0,
        }
    }

    /// Whether samples say who called.
    pub(super) fn has_calls(&self) -> bool {
        self.sample_type & (CALLCHAIN | STACK_USER) != 0
    }

    /// The field without which its samples mean nothing here, if it lacks one.
    pub(super) fn missing_field(&self) -> Option<&'static str> {
        if self.sample_type & IP == 0 {
            Some("address (PERF_SAMPLE_IP)")
        } else if self.sample_type & TID == 0 {
            Some("process (PERF_SAMPLE_TID)")
        } else {
            None
        }
    }
}

/// Where the fields of an event's samples, and of other records' trailers, are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    ip: usize,
    tid: usize,
    /// `None` if samples have no time.
    time: Option<usize>,
    /// The event's identifier.
    id: Option<usize>,
    /// Where the fields of variable length begin.
    variable: usize,
    /// Bytes from a record's end to the time in its trailer.
    time_from_end: Option<usize>,
    attr_read_format: u64,
    sample_type: u64,
    hw_index: bool,
    registers: u64,
}

/// The fields of a sample that are always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) ip: u64,
    pub(super) pid: u32,
    pub(super) tid: u32,
    /// 0 if samples have no time.
    pub(super) time: u64,
}

impl Layout {
    pub(super) fn of(attr: &Attr) -> Layout {
        let has = |bit: u64| attr.sample_type & bit != 0;
        let mut at = 0;
        let mut field = |bit: u64| {
            let here = has(bit).then_some(at);
            at += if has(bit) { 8 } else { 0 };
            here
        };
        let identifier = field(IDENTIFIER);
        let ip = field(IP).unwrap_or(0);
        let tid = field(TID).unwrap_or(0);
        let time = field(TIME);
        field(ADDR);
        let id = field(ID);
        field(STREAM_ID);
        field(CPU);
        field(PERIOD);
        let behind = |bits: &[u64]| 8 * bits.iter().filter(|&&bit| has(bit)).count();
        let trailer = attr.flags & SAMPLE_ID_ALL != 0;
        Layout {
            ip,
            tid,
            time,
            id: identifier.or(id),
            variable: at,
            time_from_end: (trailer && time.is_some())
                .then(|| behind(&[TIME, ID, STREAM_ID, CPU, IDENTIFIER])),
            attr_read_format: attr.read_format,
            sample_type: attr.sample_type,
            hw_index: attr.branch_sample_type & BRANCH_HW_INDEX != 0,
            registers: attr.registers,
        }
    }

    /// Whether records have a time.
    pub(super) fn has_time(&self) -> bool {
        self.time.is_some()
    }

    /// The identifier in a sample's body.
    #[inline]
    pub(super) fn id(&self, body: &[u8]) -> Option<u64> {
        u64_at(body, self.id?)
    }

    /// Decodes a sample's body but for its branch stack; `None` if it is too short.
    #[inline]
    pub(super) fn fields(&self, body: &[u8]) -> Option<Fields> {
        let fixed = body.get(..self.variable)?;
        Some(Fields {
            ip: u64_at(fixed, self.ip)?,
            pid: u32_at(fixed, self.tid)?,
            tid: u32_at(fixed, self.tid + 4)?,
            time: match self.time {
                Some(at) => u64_at(fixed, at)?,
                None => 0,
            },
        })
    }

    /// The branch stack in a sample's body, newest first, empty if it has none; `None` if a length
    /// in it can't be true.
    pub(super) fn stack<'a>(&self, body: &'a [u8]) -> Option<Stack<'a>> {
        let has = |bit: u64| self.sample_type & bit != 0;
        if !has(BRANCH_STACK) {
            return Some(Stack(&[]));
        }
        Some(self.behind_chain(body)?.1)
    }

    /// The addresses of the callers, and the branch stack.
    fn behind_chain<'a>(&self, body: &'a [u8]) -> Option<(&'a [u8], Stack<'a>, &'a [u8])> {
        let has = |bit: u64| self.sample_type & bit != 0;
        let (mut chain, mut branches) = (&[][..], Stack(&[]));
        let mut rest = body.get(self.variable..)?;
        if has(READ) {
            rest = rest.get(self.read_size(rest)?..)?;
        }
        if has(CALLCHAIN) {
            let size = usize::try_from(u64_at(rest, 0)?.checked_mul(8)?).ok()?;
            (chain, rest) = rest.get(8..)?.split_at_checked(size)?;
        }
        if has(RAW) {
            let size = usize::try_from(u32_at(rest, 0)?).ok()?;
            rest = rest.get(size.checked_add(4)?..)?;
        }
        if has(BRANCH_STACK) {
            let size = usize::try_from(u64_at(rest, 0)?.checked_mul(ENTRY as u64)?).ok()?;
            let entries = rest.get(if self.hw_index { 16 } else { 8 }..)?;
            let (stack, behind) = entries.split_at_checked(size)?;
            (branches, rest) = (Stack(stack), behind);
        }
        Some((chain, branches, rest))
    }

    /// What a sample's body says of the callers; `None` if a length in it can't be true.
    pub(super) fn call<'a>(&self, body: &'a [u8]) -> Option<Call<'a>> {
        let has = |bit: u64| self.sample_type & bit != 0;
        let (chain, _, mut rest) = self.behind_chain(body)?;
        let mut call = Call {
            chain: Chain(chain),
            registers: None,
            stack: &[],
        };
        if has(REGS_USER) {
            let abi = u64_at(rest, 0)?;
            rest = rest.get(8..)?;
            // 0: the sample is of a thread of the kernel.
            if abi != 0 {
                let size = 8 * self.registers.count_ones() as usize;
                let (values, behind) = rest.split_at_checked(size)?;
                call.registers = Some(Registers {
                    abi,
                    mask: self.registers,
                    values,
                });
                rest = behind;
            }
        }
        if has(STACK_USER) {
            let size = usize::try_from(u64_at(rest, 0)?).ok()?;
            let (stack, behind) = rest.get(8..)?.split_at_checked(size)?;
            // The size that was asked for is reserved; how much was copied stands behind it.
            let copied = match size {
                0 => 0,
                _ => usize::try_from(u64_at(behind, 0)?).ok()?,
            };
            call.stack = stack.get(..copied)?;
        }
        Some(call)
    }

    /// Bytes of the counter values in a sample (`PERF_SAMPLE_READ`).
    fn read_size(&self, read: &[u8]) -> Option<usize> {
        // `PERF_FORMAT_*`.
        const TIMES: [u64; 2] = [1 << 0, 1 << 1];
        const ID: u64 = 1 << 2;
        const GROUP: u64 = 1 << 3;
        const LOST: u64 = 1 << 4;
        let count = |bits: &[u64]| {
            let set = bits.iter().filter(|&&bit| self.attr_read_format & bit != 0);
            set.count()
        };
        let value = 1 + count(&[ID, LOST]);
        let words = if self.attr_read_format & GROUP == 0 {
            count(&TIMES).checked_add(value)?
        } else {
            let values = usize::try_from(u64_at(read, 0)?).ok()?;
            values.checked_mul(value)?.checked_add(1 + count(&TIMES))?
        };
        words.checked_mul(8)
    }

    /// The time in the trailer of a record that is no sample.
    pub(super) fn trailer_time(&self, body: &[u8]) -> Option<u64> {
        u64_at(body, body.len().checked_sub(self.time_from_end?)?)
    }
}

/// Bytes of `struct perf_branch_entry`.
const ENTRY: usize = 24;

/// A branch stack as recorded.
#[derive(Debug, Clone, Copy)]
pub(in crate::profile) struct Stack<'a>(&'a [u8]);

impl Stack<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its branches that really ran, newest first.
    pub(super) fn branches(&self) -> impl Iterator<Item = Branch> {
        // Bits 24 and 25 of the flags: how the branch was speculated (`PERF_BR_SPEC_WRONG_PATH`).
        const SPECULATION: u64 = 3 << 24;
        const WRONG_PATH: u64 = 1 << 24;
        self.0.chunks_exact(ENTRY).filter_map(|entry| {
            let flags = u64_at(entry, 16)?;
            (flags & SPECULATION != WRONG_PATH)
                .then_some(Branch::of(u64_at(entry, 0)?, u64_at(entry, 8)?))
        })
    }
}

/// What a sample says of the callers of its code.
#[derive(Debug, Clone, Copy)]
pub(in crate::profile) struct Call<'a> {
    /// Addresses that the kernel found by frame pointers, its own and perhaps the program's.
    pub(in crate::profile) chain: Chain<'a>,
    /// The program's registers, if they were asked for.
    pub(in crate::profile) registers: Option<Registers<'a>>,
    /// A copy of the program's stack from the stack pointer on, if it was asked for.
    pub(in crate::profile) stack: &'a [u8],
}

/// Addresses of callers, innermost first, with marks between those of the kernel and of the program.
#[derive(Debug, Clone, Copy)]
pub(in crate::profile) struct Chain<'a>(&'a [u8]);

impl Chain<'_> {
    pub(in crate::profile) fn words(&self) -> impl Iterator<Item = u64> {
        self.0.chunks_exact(8).filter_map(|word| u64_at(word, 0))
    }
}

/// Registers of a program, as many as were asked for.
#[derive(Debug, Clone, Copy)]
pub(in crate::profile) struct Registers<'a> {
    /// 1 for a program of 32 bits, 2 for one of 64.
    pub(in crate::profile) abi: u64,
    /// One bit for each that there is, by the number of the architecture
    /// (`arch/*/include/uapi/asm/perf_regs.h`).
    pub(in crate::profile) mask: u64,
    values: &'a [u8],
}

impl Registers<'_> {
    /// The register with a number.
    pub(in crate::profile) fn get(&self, number: u32) -> Option<u64> {
        let bit = 1_u64.checked_shl(number)?;
        let before = (self.mask & (bit - 1)).count_ones() as usize;
        (self.mask & bit != 0).then(|| u64_at(self.values, 8 * before))?
    }
}
