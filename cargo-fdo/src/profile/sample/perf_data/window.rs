//! Puts records in the order of time, as far as it matters.
//!
//! perf empties one buffer a processor in turn, so the file is in order only within what came from
//! one buffer: a sample can stand before the mapping that it lies in, or behind the exec that ended
//! its program. After each *pass* over all buffers perf writes `FINISHED_ROUND`. What was recorded
//! before the newest record of one pass has been written by the end of the next pass (the argument
//! is perf's own, `tools/perf/util/ordered-events.c` and `process_finished_round` in `session.c`),
//! so at that border everything up to that time is final.
//!
//! Only changes of mappings are sorted. Samples wait for the border in a short form and are then
//! counted in any order, because [`Processes`] finds the generation by the time.
//!
//! perf's buffers are half a megabyte a processor unless told otherwise, so passes are short. Where
//! borders are missing (other writers) or far apart, one is put in after [`MAX_PASS`] bytes. A
//! sample that stands farther than that from a change of *its own process* before it in time is
//! counted for what was mapped there after the change; it is wrong only if that change gave the
//! sample's very address another meaning.

use crate::profile::sample::branches::{Branch, edges};
use crate::profile::sample::processes::{Change, Processes};

/// Longest pass, in bytes of samples as they wait here. Memory for waiting is at most twice this.
const MAX_PASS: usize = 16 << 20;

#[derive(Clone, Copy)]
struct Waiting {
    time: u64,
    /// 0: nothing to count but the branch stack.
    ip: u64,
    pid: u32,
    /// Length of its part of `stacks`.
    stack: u32,
}

/// The samples and changes of the last two passes.
#[derive(Default)]
pub(super) struct Window {
    samples: Vec<Waiting>,
    /// Branch stacks of the samples, one after the other.
    stacks: Vec<Branch>,
    changes: Vec<(u64, u32, Change)>,
    /// Newest time up to now.
    newest: u64,
    /// Newest time up to the end of the last pass.
    limit: u64,
    /// Bytes in this pass.
    pass: usize,
}

impl Window {
    /// Newest time that was seen.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// Takes a sample. `true` if the pass has become too long.
    #[inline]
    pub(super) fn sample(
        &mut self,
        pid: u32,
        time: u64,
        ip: Option<u64>,
        stack: impl Iterator<Item = Branch>,
    ) -> bool {
        self.newest = self.newest.max(time);
        let before = self.stacks.len();
        self.stacks.extend(stack);
        let stack = self.stacks.len() - before;
        self.samples.push(Waiting {
            time,
            ip: ip.unwrap_or(0),
            pid,
            // A record has at most 64 KiB.
            stack: stack as u32,
        });
        self.pass += size_of::<Waiting>() + stack * size_of::<Branch>();
        self.pass > MAX_PASS
    }

    /// Takes a change.
    pub(super) fn change(&mut self, pid: u32, time: u64, change: Change) -> bool {
        self.newest = self.newest.max(time);
        self.changes.push((time, pid, change));
        self.pass += size_of::<(u64, u32, Change)>();
        self.pass > MAX_PASS
    }

    /// A pass has ended: counts what is final.
    pub(super) fn end_pass(&mut self, processes: &mut Processes) {
        self.count(self.limit, processes);
        self.limit = self.newest;
        self.pass = 0;
    }

    /// Counts everything.
    pub(super) fn finish(&mut self, processes: &mut Processes) {
        self.count(u64::MAX, processes);
        processes.finish();
    }

    fn count(&mut self, limit: u64, processes: &mut Processes) {
        // Stable: what happened at the same time stays as recorded.
        self.changes.sort_by_key(|&(time, ..)| time);
        let over = self.changes.partition_point(|&(time, ..)| time <= limit);
        for (time, pid, change) in self.changes.drain(..over) {
            processes.change(pid, time, change);
        }

        let (mut kept, mut stacks_kept, mut at) = (0, 0, 0);
        for index in 0..self.samples.len() {
            let sample = self.samples[index];
            let stack = at..at + sample.stack as usize;
            at = stack.end;
            if sample.time <= limit {
                if sample.ip != 0 {
                    processes.address(sample.pid, sample.time, sample.ip);
                }
                if !stack.is_empty() {
                    let edges = edges(&self.stacks[stack]);
                    processes.edges(sample.pid, sample.time, edges);
                }
            } else {
                self.samples[kept] = sample;
                kept += 1;
                let len = stack.len();
                self.stacks.copy_within(stack, stacks_kept);
                stacks_kept += len;
            }
        }
        self.samples.truncate(kept);
        self.stacks.truncate(stacks_kept);
        processes.settle(limit);
    }
}
