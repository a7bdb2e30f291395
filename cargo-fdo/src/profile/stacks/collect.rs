//! Takes the records of a recording, and makes stacks of addresses of its samples.

use super::files::Files;
use super::kernel::Recorded;
use super::threads::Threads;
use super::tree::{Frame, Tree};
use super::unwind::{End, Unwinders};
use super::waiting::{Happened, InOrder, Queue, Waiting};
use crate::profile::sample::maps::{Mapping, Maps};
use crate::profile::sample::perf_data::sink::{Map, Mode, Moment, Sample, Sink};
use crate::profile::sample::processes::Change;

/// As many callers as the kernel looks for (`kernel.perf_event_max_stack`). More may be there.
const KERNEL_LIMIT: usize = 127;

/// A recording as it is read.
#[derive(Default)]
pub(super) struct Collector {
    queue: Queue,
    pub(super) stacks: Collected,
}

/// What has been understood.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) files: Files,
    pub(super) threads: Threads,
    pub(super) tree: Tree,
    pub(super) kernel: Recorded,
    pub(super) samples: u64,
    pub(super) lost: u64,
    pub(super) other_events: u64,
    pub(super) truncated: u64,
    unwinders: Unwinders,
    /// Of the sample at hand, innermost first.
    frames: Vec<Frame>,
}

impl Collector {
    /// Gives out what still waits.
    pub(super) fn finish(mut self) -> Collected {
        self.queue.finish(&mut self.stacks);
        // The files that they keep mapped are not needed any more.
        self.stacks.unwinders = Unwinders::default();
        self.stacks
    }

    fn happened(&mut self, at: Moment, what: Happened) {
        if at.is_before_all() {
            self.stacks.happened(what);
        } else if self.queue.happened(at.0, what) {
            self.end_pass();
        }
    }
}

impl Sink for Collector {
    fn sample(&mut self, sample: &Sample<'_>) -> Result<(), &'static str> {
        let call = sample.call().ok_or("a length in a sample is too large")?;
        self.stacks.samples += 1;
        if self.queue.sample(sample, &call) {
            self.end_pass();
        }
        Ok(())
    }

    fn other_event(&mut self) {
        self.stacks.other_events += 1;
    }

    fn map(&mut self, at: Moment, pid: u32, map: &Map<'_>) {
        let file = self.stacks.files.number(map.path, map.build_id);
        if let Some(mapping) = Mapping::new(map.start, map.len, map.offset, file) {
            self.change(at, pid, Change::Map(mapping));
        }
    }

    fn kernel_map(&mut self, map: &Map<'_>) {
        self.stacks.kernel.map(map.path, map.offset);
    }

    fn change(&mut self, at: Moment, pid: u32, change: Change) {
        self.happened(at, Happened::To(pid, change));
    }

    fn name(&mut self, at: Moment, tid: u32, name: &[u8]) {
        self.happened(at, Happened::Name(tid, name.into()));
    }

    fn thread(&mut self, at: Moment, tid: u32, parent: u32) {
        self.happened(at, Happened::Begin(tid, parent));
    }

    fn lost(&mut self, samples: u64) {
        self.stacks.lost = self.stacks.lost.saturating_add(samples);
    }

    fn end_pass(&mut self) {
        self.queue.end_pass(&mut self.stacks);
    }

    fn newest(&self) -> u64 {
        self.queue.newest()
    }
}

impl InOrder for Collected {
    fn happened(&mut self, what: Happened) {
        match what {
            Happened::To(pid, change) => self.threads.change(pid, change),
            Happened::Name(tid, name) => self.threads.name(tid, &name),
            Happened::Begin(tid, parent) => self.threads.begin(tid, parent),
        }
    }

    fn sample(&mut self, sample: &Waiting, chain: &mut dyn Iterator<Item = u64>, stack: &[u8]) {
        let maps = self.threads.maps(sample.pid);
        let frames = &mut self.frames;
        frames.clear();
        let has_program = by_kernel(chain, &maps, frames);
        let mut end = match frames.len() {
            KERNEL_LIMIT.. => End::Truncated,
            _ => End::Whole,
        };
        if frames.is_empty() && sample.mode == Mode::Kernel {
            frames.push(Frame::Kernel(sample.ip));
        }
        match sample.registers {
            _ if sample.mode == Mode::Guest => frames.push(Frame::Guest),
            _ if has_program => {}
            Some(registers) => {
                let unwinders = &mut self.unwinders;
                end = unwinders.walk(registers, stack, &maps, &self.files, frames);
            }
            None if sample.mode == Mode::User => frames.push(place(&maps, sample.ip)),
            None => {}
        }
        let truncated = end == End::Truncated;
        self.truncated += u64::from(truncated);
        let thread = Frame::Thread(self.threads.name_of(sample.tid));
        let outside = [thread].into_iter();
        let outside = outside.chain(truncated.then_some(Frame::Truncated));
        self.tree.add(outside.chain(frames.iter().rev().copied()));
    }
}

/// Adds the frames that the kernel found. Returns whether there are any of the program.
///
/// Words at the very top are no addresses but say whose those after them are
/// (`enum perf_callchain_context`).
fn by_kernel(words: &mut dyn Iterator<Item = u64>, maps: &Maps, out: &mut Vec<Frame>) -> bool {
    const MARKS: u64 = -4095_i64 as u64;
    const KERNEL: u64 = -128_i64 as u64;
    const USER: u64 = -512_i64 as u64;
    let mut whose = None;
    let mut is_return = false;
    let mut has_program = false;
    for word in words {
        if word >= MARKS {
            match word {
                KERNEL | USER => whose = Some(word),
                // Virtual machines, and stacks that are told in a later record.
                _ => break,
            }
            is_return = false;
            continue;
        }
        let code = word.saturating_sub(u64::from(is_return));
        is_return = true;
        let is_kernel = whose.map_or(word >> 63 != 0, |whose| whose == KERNEL);
        if is_kernel {
            out.push(Frame::Kernel(code));
            continue;
        }
        has_program = true;
        let frame = place(maps, code);
        // Where frame pointers lead astray they do so several times.
        if frame != Frame::Unknown || out.last() != Some(&Frame::Unknown) {
            out.push(frame);
        }
    }
    has_program
}

/// The file and the offset in it of an address.
fn place(maps: &Maps, address: u64) -> Frame {
    let mapping = maps.find(address);
    let place = mapping.and_then(|mapping| {
        Some(Frame::Code {
            file: mapping.image?,
            offset: address.wrapping_add(mapping.shift),
        })
    });
    place.unwrap_or(Frame::Unknown)
}
