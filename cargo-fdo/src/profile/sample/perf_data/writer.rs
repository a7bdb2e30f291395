//! Writes recordings, for tests that have to state exact records.
//!
//! An event samples address, process, time and, if asked for, branch stacks; records that are no
//! samples have process and time in their trailer.

/// `PERF_SAMPLE_*`.
pub(in crate::profile) const IP_TID_TIME: u64 = 0b111;
pub(in crate::profile) const CALLCHAIN: u64 = 1 << 5;
pub(in crate::profile) const BRANCH_STACK: u64 = 1 << 11;
pub(in crate::profile) const REGS_USER: u64 = 1 << 12;
pub(in crate::profile) const STACK_USER: u64 = 1 << 13;
pub(in crate::profile) const IDENTIFIER: u64 = 1 << 16;

/// The header's `misc` for a sample in user space, and in the kernel.
const USER: u16 = 2;
const KERNEL: u16 = 1;

/// Bits 24 and 25 of a branch's flags.
pub(in crate::profile) const WRONG_PATH: u64 = 1 << 24;

/// An event of a recording.
#[derive(Clone, Copy)]
pub(in crate::profile) struct Event {
    pub(in crate::profile) kind: u32,
    pub(in crate::profile) config: u64,
    pub(in crate::profile) sample_type: u64,
    pub(in crate::profile) id: u64,
    /// Which registers samples have.
    pub(in crate::profile) registers: u64,
}

/// `cpu-clock`.
pub(in crate::profile) const CPU_CLOCK: Event = Event {
    kind: 1,
    config: 0,
    sample_type: IP_TID_TIME,
    id: 7,
    registers: 0,
};

impl Event {
    /// 128 bytes of attribute.
    fn attr(&self) -> Vec<u8> {
        const SAMPLE_ID_ALL: u64 = 1 << 18;
        let mut attr = Vec::new();
        attr.extend(self.kind.to_le_bytes());
        attr.extend(128_u32.to_le_bytes());
        for field in [self.config, 1000, self.sample_type, 0, SAMPLE_ID_ALL] {
            attr.extend(field.to_le_bytes());
        }
        attr.resize(80, 0);
        attr.extend(self.registers.to_le_bytes());
        attr.resize(128, 0);
        attr
    }
}

/// Records, one after the other.
#[derive(Default, Clone)]
pub(in crate::profile) struct Records {
    pub(in crate::profile) bytes: Vec<u8>,
    sample_type: u64,
    id: u64,
}

impl Records {
    /// No records yet; those to come are of this event.
    pub(in crate::profile) fn of(event: Event) -> Records {
        Records {
            bytes: Vec::new(),
            sample_type: event.sample_type,
            id: event.id,
        }
    }

    /// Those to come are of this event.
    pub(in crate::profile) fn switch(&mut self, event: Event) -> &mut Records {
        (self.sample_type, self.id) = (event.sample_type, event.id);
        self
    }

    pub(in crate::profile) fn record(&mut self, kind: u32, misc: u16, body: &[u8]) -> &mut Records {
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(misc.to_le_bytes());
        let size = u16::try_from(body.len() + 8).unwrap();
        self.bytes.extend(size.to_le_bytes());
        self.bytes.extend(body);
        self
    }

    fn with_trailer(&self, mut body: Vec<u8>, pid: u32, time: u64) -> Vec<u8> {
        body.extend(pid.to_le_bytes());
        body.extend(pid.to_le_bytes());
        body.extend(time.to_le_bytes());
        if self.sample_type & IDENTIFIER != 0 {
            body.extend(self.id.to_le_bytes());
        }
        body
    }

    /// `PERF_RECORD_MMAP2` of `len` bytes of `path` from `offset` at `start`.
    pub(in crate::profile) fn map(
        &mut self,
        time: u64,
        pid: u32,
        (start, len, offset): (u64, u64, u64),
        path: &str,
        build_id: Option<[u8; 20]>,
    ) -> &mut Records {
        const MMAP_BUILD_ID: u16 = 1 << 14;
        let mut body = Vec::new();
        body.extend(pid.to_le_bytes());
        body.extend(pid.to_le_bytes());
        for field in [start, len, offset] {
            body.extend(field.to_le_bytes());
        }
        body.extend(build_id.map_or([8, 0, 0, 0], |_| [20, 0, 0, 0]));
        body.extend(build_id.unwrap_or([9; 20]));
        body.extend(5_u32.to_le_bytes()); // readable, executable
        body.extend(2_u32.to_le_bytes()); // private
        body.extend(path.as_bytes());
        body.push(0);
        body.resize(body.len().next_multiple_of(8), 0);
        let body = self.with_trailer(body, pid, time);
        let misc = USER | build_id.map_or(0, |_| MMAP_BUILD_ID);
        self.record(10, misc, &body)
    }

    pub(in crate::profile) fn fork(&mut self, time: u64, pid: u32, parent: u32) -> &mut Records {
        self.task(7, time, pid, parent)
    }

    pub(in crate::profile) fn exit(&mut self, time: u64, pid: u32) -> &mut Records {
        self.task(4, time, pid, 1)
    }

    fn task(&mut self, kind: u32, time: u64, pid: u32, parent: u32) -> &mut Records {
        let mut body = Vec::new();
        for field in [pid, parent, pid, parent] {
            body.extend(field.to_le_bytes());
        }
        body.extend(time.to_le_bytes());
        let body = self.with_trailer(body, pid, time);
        self.record(kind, 0, &body)
    }

    /// `PERF_RECORD_COMM` of an exec.
    pub(in crate::profile) fn exec(&mut self, time: u64, pid: u32) -> &mut Records {
        const COMM_EXEC: u16 = 1 << 13;
        let mut body = Vec::new();
        body.extend(pid.to_le_bytes());
        body.extend(pid.to_le_bytes());
        body.extend(b"program\0");
        let body = self.with_trailer(body, pid, time);
        self.record(3, COMM_EXEC, &body)
    }

    /// A sample without a branch stack, though the event may ask for one.
    pub(in crate::profile) fn sample(&mut self, time: u64, pid: u32, ip: u64) -> &mut Self {
        self.stack(time, pid, ip, &[])
    }

    /// A sample with a branch stack of (from, to, flags), newest first.
    pub(in crate::profile) fn stack(
        &mut self,
        time: u64,
        pid: u32,
        ip: u64,
        stack: &[(u64, u64, u64)],
    ) -> &mut Records {
        let mut body = Vec::new();
        if self.sample_type & IDENTIFIER != 0 {
            body.extend(self.id.to_le_bytes());
        }
        body.extend(ip.to_le_bytes());
        body.extend(pid.to_le_bytes());
        body.extend(pid.to_le_bytes());
        body.extend(time.to_le_bytes());
        if self.sample_type & CALLCHAIN != 0 {
            for word in [2, u64::MAX - 0x1ff, ip] {
                body.extend(word.to_le_bytes());
            }
        }
        if self.sample_type & BRANCH_STACK != 0 {
            body.extend((stack.len() as u64).to_le_bytes());
            for (from, to, flags) in stack {
                for word in [from, to, flags] {
                    body.extend(word.to_le_bytes());
                }
            }
        }
        let misc = if ip >> 63 == 0 { USER } else { KERNEL };
        self.record(9, misc, &body)
    }

    /// A sample with all that there is to find callers: addresses, registers in the order of their
    /// numbers, a copy of the stack.
    pub(in crate::profile) fn call(
        &mut self,
        time: u64,
        pid: u32,
        ip: u64,
        chain: &[u64],
        registers: &[u64],
        stack: &[u64],
    ) -> &mut Records {
        let mut body = Vec::new();
        let mut words = vec![ip, u64::from(pid) << 32 | u64::from(pid), time];
        if self.sample_type & CALLCHAIN != 0 {
            words.push(chain.len() as u64);
            words.extend(chain);
        }
        if self.sample_type & REGS_USER != 0 {
            words.push(if registers.is_empty() { 0 } else { 2 });
            words.extend(registers);
        }
        if self.sample_type & STACK_USER != 0 {
            // Some more is reserved than was copied.
            words.push(8 * (stack.len() as u64 + 2));
            words.extend(stack);
            words.extend([u64::MAX; 2]);
            words.push(8 * stack.len() as u64);
        }
        for word in words {
            body.extend(word.to_le_bytes());
        }
        let misc = if ip >> 63 == 0 { USER } else { KERNEL };
        self.record(9, misc, &body)
    }

    /// `PERF_RECORD_COMM` of a thread.
    pub(in crate::profile) fn comm(&mut self, time: u64, pid: u32, name: &str) -> &mut Records {
        let mut body = Vec::new();
        body.extend(pid.to_le_bytes());
        body.extend(pid.to_le_bytes());
        body.extend(name.as_bytes());
        body.push(0);
        body.resize(body.len().next_multiple_of(8), 0);
        let body = self.with_trailer(body, pid, time);
        self.record(3, 0, &body)
    }

    /// `PERF_RECORD_FINISHED_ROUND`.
    pub(in crate::profile) fn end_pass(&mut self) -> &mut Records {
        self.record(68, 0, &[])
    }

    /// These records as perf writes them with `-z`: compressed as one stream without an end, in
    /// pieces of at most `piece` bytes.
    pub(in crate::profile) fn compressed(&self, kind: u32, piece: usize) -> Records {
        let mut stream = zstd_safe::CCtx::create();
        let mut out = vec![0; self.bytes.len() + 4096];
        let mut output = zstd_safe::OutBuffer::around(&mut out[..]);
        let mut input = zstd_safe::InBuffer::around(&self.bytes);
        while input.pos() < self.bytes.len() {
            stream.compress_stream(&mut output, &mut input).unwrap();
        }
        while stream.flush_stream(&mut output).unwrap() > 0 {}
        let len = output.pos();
        let mut records = Records {
            bytes: Vec::new(),
            ..*self
        };
        for part in out[..len].chunks(piece) {
            let mut body = Vec::new();
            if kind == 83 {
                body.extend((part.len() as u64).to_le_bytes());
            }
            body.extend(part);
            if kind == 83 {
                body.resize(body.len().next_multiple_of(8), 0);
            }
            records.record(kind, 0, &body);
        }
        records
    }
}

/// A recording in a file, with build ids of paths.
pub(in crate::profile) fn file(
    events: &[Event],
    records: &Records,
    build_ids: &[(&str, [u8; 20])],
) -> Vec<u8> {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let ids_at = 104_u64;
    let attrs_at = ids_at + 8 * events.len() as u64;
    let data_at = attrs_at + 144 * events.len() as u64;
    let mut section = Vec::new();
    for (path, id) in build_ids {
        let mut entry = 1_u32.to_le_bytes().to_vec();
        entry.extend(id);
        entry.extend([20, 0, 0, 0]);
        entry.extend(path.as_bytes());
        entry.push(0);
        let mut build_id = Records::default();
        build_id.record(0, USER | 1 << 15, &entry);
        section.extend(build_id.bytes);
    }
    let len = records.bytes.len() as u64;
    let mut file = b"PERFILE2".to_vec();
    let attrs = 144 * events.len() as u64;
    let header: Vec<u8> = words(&[104, 144, attrs_at, attrs, data_at, len, 0, 0]);
    file.extend(header);
    let features: Vec<u8> = words(&[1 << 2, 0, 0, 0]);
    file.extend(features);
    file.extend(events.iter().flat_map(|event| event.id.to_le_bytes()));
    for (index, event) in events.iter().enumerate() {
        file.extend(event.attr());
        let ids: Vec<u8> = words(&[ids_at + 8 * index as u64, 8]);
        file.extend(ids);
    }
    file.extend(&records.bytes);
    let section_at = data_at + len + 16;
    let table: Vec<u8> = words(&[section_at, section.len() as u64]);
    file.extend(table);
    file.extend(section);
    file
}

/// A recording in a pipe.
pub(in crate::profile) fn pipe(events: &[Event], records: &Records) -> Vec<u8> {
    let mut pipe = b"PERFILE2\x10\0\0\0\0\0\0\0".to_vec();
    for event in events {
        let mut body = event.attr();
        body.extend(event.id.to_le_bytes());
        let mut attr = Records::default();
        attr.record(64, 0, &body);
        pipe.extend(attr.bytes);
    }
    pipe.extend(&records.bytes);
    pipe
}
