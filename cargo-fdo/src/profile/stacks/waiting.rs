//! Samples and what happened to processes, put in the order of time.
//!
//! As in `sample/perf_data/window.rs`, which explains it, what was recorded before the newest record
//! of one pass over perf's buffers is final at the end of the next pass. Samples with copies of
//! stacks are large, so passes are cut off at a fixed size, beyond which a sample may be taken for
//! one of what was mapped later.

use super::registers::Registers;
use crate::profile::sample::perf_data::attr::Call;
use crate::profile::sample::perf_data::sink::{Mode, Sample};
use crate::profile::sample::processes::Change;

/// Longest pass in bytes. Memory for waiting is at most twice this.
const MAX_PASS: usize = 16 << 20;

/// A sample that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) time: u64,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) ip: u64,
    pub(super) mode: Mode,
    pub(super) registers: Option<Registers>,
    /// Where its bytes begin in `bytes`.
    at: usize,
    /// Addresses of callers.
    chain: u32,
    /// Bytes of the copied stack, behind them.
    stack: u32,
}

/// What happened to a process or a thread.
#[derive(Debug, Clone)]
pub(super) enum Happened {
    /// To a process.
    To(u32, Change),
    /// A thread has a name.
    Name(u32, Box<[u8]>),
    /// A thread was begun by another.
    Begin(u32, u32),
}

/// Gets everything in the order of time.
pub(super) trait InOrder {
    fn happened(&mut self, what: Happened);
    /// `chain` is innermost first.
    fn sample(&mut self, sample: &Waiting, chain: &mut dyn Iterator<Item = u64>, stack: &[u8]);
}

/// The samples and changes of the last two passes.
#[derive(Debug, Default)]
pub(super) struct Queue {
    samples: Vec<Waiting>,
    bytes: Vec<u8>,
    happened: Vec<(u64, Happened)>,
    newest: u64,
    limit: u64,
    pass: usize,
}

impl Queue {
    /// Newest time that was seen.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// Takes a sample. `true` if the pass has become too long.
    pub(super) fn sample(&mut self, sample: &Sample<'_>, call: &Call<'_>) -> bool {
        self.newest = self.newest.max(sample.time);
        let at = self.bytes.len();
        let mut chain = 0;
        for word in call.chain.words() {
            self.bytes.extend(word.to_le_bytes());
            chain += 1;
        }
        let registers = call.registers.as_ref().and_then(Registers::of);
        // Of no use without registers.
        let stack = match registers {
            Some(_) => call.stack,
            None => &[],
        };
        self.bytes.extend(stack);
        self.samples.push(Waiting {
            time: sample.time,
            pid: sample.pid,
            tid: sample.tid,
            ip: sample.ip,
            mode: sample.mode,
            registers,
            at,
            chain,
            // A record has at most 64 KiB.
            stack: u32::try_from(stack.len()).unwrap_or(0),
        });
        self.pass += size_of::<Waiting>() + self.bytes.len() - at;
        self.pass > MAX_PASS
    }

    /// Takes what happened. `true` if the pass has become too long.
    pub(super) fn happened(&mut self, time: u64, what: Happened) -> bool {
        self.newest = self.newest.max(time);
        self.pass += size_of::<(u64, Happened)>();
        if let Happened::Name(_, name) = &what {
            self.pass += name.len();
        }
        self.happened.push((time, what));
        self.pass > MAX_PASS
    }

    /// A pass has ended: gives out what is final.
    pub(super) fn end_pass(&mut self, to: &mut impl InOrder) {
        self.give(self.limit, to);
        self.limit = self.newest;
        self.pass = 0;
    }

    /// Gives out everything.
    pub(super) fn finish(&mut self, to: &mut impl InOrder) {
        self.give(u64::MAX, to);
    }

    fn give(&mut self, limit: u64, to: &mut impl InOrder) {
        // Stable: what happened at the same time stays as recorded.
        self.happened.sort_by_key(|(time, _)| *time);
        let over = self.happened.partition_point(|(time, _)| *time <= limit);
        let mut happened = self.happened.drain(..over).peekable();

        let mut ready: Vec<usize> = (0..self.samples.len())
            .filter(|&index| self.samples[index].time <= limit)
            .collect();
        ready.sort_by_key(|&index| self.samples[index].time);
        for index in ready {
            let sample = &self.samples[index];
            while let Some((_, what)) = happened.next_if(|(time, _)| *time <= sample.time) {
                to.happened(what);
            }
            let chain_end = sample.at + 8 * sample.chain as usize;
            let stack_end = chain_end + sample.stack as usize;
            let chain = self.bytes.get(sample.at..chain_end).unwrap_or_default();
            let mut words = chain
                .chunks_exact(8)
                .filter_map(|word| Some(u64::from_le_bytes(*word.first_chunk()?)));
            let stack = self.bytes.get(chain_end..stack_end).unwrap_or_default();
            to.sample(sample, &mut words, stack);
        }
        for (_, what) in happened {
            to.happened(what);
        }
        self.keep_after(limit);
    }

    /// Moves what waits on to the front.
    fn keep_after(&mut self, limit: u64) {
        let mut kept = 0;
        self.samples.retain_mut(|sample| {
            let len = 8 * sample.chain as usize + sample.stack as usize;
            let wanted = sample.time > limit;
            if wanted {
                self.bytes.copy_within(sample.at..sample.at + len, kept);
                sample.at = kept;
                kept += len;
            }
            wanted
        });
        self.bytes.truncate(kept);
    }
}
