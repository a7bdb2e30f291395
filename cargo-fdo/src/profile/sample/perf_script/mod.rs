//! Recordings as `perf script` prints them, and as llvm-profgen reads them.
//!
//! Where a sample lies in which file is known from the printed mappings
//! (`--show-mmap-events --show-task-events`), or where `-F +dsoff` prints `(file+0x12)` itself. A
//! `(file)` alone does not tell the offset, and a symbol none that could be found again.
//!
//! `perf script` has put the lines in the order of time, so they are counted as they come. One
//! number in the column of process and thread may be either; it is taken for a thread where a
//! `PERF_RECORD_FORK` or `_COMM` names it as one, and for a process otherwise. Samples without any
//! (`-F ip,brstack`, llvm-profgen's form) are taken for one process's that has the mappings of all,
//! which is an error where two of them contradict each other.
//!
//! Addresses in call chains are not used: perf 5.12 and later print offsets there, others addresses.

pub(in crate::profile) mod line;
#[cfg(test)]
mod tests;

use super::branches::{Branch, edges};
use super::maps::Mapping;
use super::processes::{Change, Processes};
use super::read::{ReadError, Selection};
use super::recording::Recording;
use line::{Head, Line, SampleLine, branches};
use rustc_hash::FxHashMap;
use std::io::{BufRead, BufReader, Read};

/// Longest line that is read; a stack of 1,000 branches takes less than 100 kB.
const MAX_LINE: usize = 1 << 20;

/// Stands for the process of samples that don't say theirs. The kernel's pids are below 2^22.
const ANY: u32 = u32::MAX - 1;

/// Samples are counted when so many lines were read since the last time.
const SETTLE_EVERY: u64 = 1 << 16;

/// Reads a text to its end.
///
/// # Errors
///
/// Nothing in it is a sample, or no sample could be told where it lies. Single lines that are not
/// understood are passed over.
pub fn read(input: impl Read, selection: &Selection<'_>) -> Result<Recording, ReadError> {
    let mut lines = Lines::of(input);
    let mut text = Text::new(selection);
    while lines.next()? {
        text.number += 1;
        text.line(&lines.line);
        if text.number.is_multiple_of(SETTLE_EVERY) {
            text.processes.settle(text.number);
        }
    }
    text.finish()
}

/// The lines of an input.
pub(in crate::profile) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    at: u64,
}

impl<R: Read> Lines<R> {
    pub(in crate::profile) fn of(input: R) -> Lines<R> {
        Lines {
            input: BufReader::with_capacity(256 << 10, input),
            line: Vec::new(),
            at: 0,
        }
    }

    /// The line that was read.
    pub(in crate::profile) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Reads the next line; `false` at the end. Of a line that is too long the beginning is read.
    pub(in crate::profile) fn next(&mut self) -> Result<bool, ReadError> {
        self.line.clear();
        let mut whole = self.part(MAX_LINE as u64)?;
        let any = !self.line.is_empty();
        let kept = self.line.len();
        while any && !whole {
            whole = self.part(MAX_LINE as u64)?;
            self.line.truncate(kept);
        }
        Ok(any)
    }

    /// Reads up to `limit` bytes of a line; whether it ends with them.
    fn part(&mut self, limit: u64) -> Result<bool, ReadError> {
        let at = self.at;
        let mut part = self.input.by_ref().take(limit);
        let read = part.read_until(b'\n', &mut self.line);
        let read = read.map_err(|source| ReadError::Io { at, source })? as u64;
        self.at += read;
        Ok(read < limit || self.line.last() == Some(&b'\n'))
    }
}

/// What was understood so far.
struct Text<'s> {
    selection: &'s Selection<'s>,
    processes: Processes,
    recording: Recording,
    /// Lines so far. Stands for the time.
    number: u64,
    first_unknown: Option<u64>,
    /// Processes of threads whose number differs.
    threads: FxHashMap<u32, u32>,
    /// The event that is read, as the text names it.
    event: Option<Vec<u8>>,
    /// Process of the last sample, for branches on a line of their own; `None` if it isn't wanted.
    last: Option<u32>,
    in_chain: bool,
    chains: u64,
    without_pid: bool,
    /// The only process with mappings so far.
    mapped: Option<u32>,
    /// Line of a mapping that contradicts another process's.
    contradiction: Option<u64>,
    stack: Vec<Branch>,
}

impl<'s> Text<'s> {
    fn new(selection: &'s Selection<'s>) -> Text<'s> {
        Text {
            selection,
            processes: Processes::default(),
            recording: Recording::default(),
            number: 0,
            first_unknown: None,
            threads: FxHashMap::default(),
            event: None,
            last: None,
            in_chain: false,
            chains: 0,
            without_pid: false,
            mapped: None,
            contradiction: None,
            stack: Vec::new(),
        }
    }

    fn line(&mut self, line: &[u8]) {
        let parsed = Line::parse(line);
        self.in_chain &= parsed == Line::ChainEntry;
        match parsed {
            Line::Blank | Line::Other => {}
            Line::Sample(sample) => self.sample(&sample),
            Line::ChainHead(head) => {
                self.in_chain = true;
                self.chain(&head);
            }
            // Where no column was asked for, a chain begins with its first entry.
            Line::ChainEntry if !self.in_chain => {
                self.in_chain = true;
                self.chain(&Head::default());
            }
            Line::ChainEntry => {}
            Line::Branches(text) => {
                if let Some(pid) = self.last {
                    self.branches(pid, text);
                }
            }
            Line::Map {
                pid,
                start,
                len,
                offset,
                path,
                build_id,
            } => {
                // The kernel's own: no process has it.
                if pid == u32::MAX || start >> 63 != 0 {
                    return;
                }
                let wanted = |path: &[u8]| self.selection.wants_image(path);
                let images = &mut self.processes.images;
                let image = images.number(path, build_id.as_deref(), wanted);
                if let Some(mapping) = Mapping::new(start, len, offset, image) {
                    self.map(pid, mapping);
                }
            }
            Line::Fork { pid, tid, parent } => {
                self.thread(pid, tid);
                if pid != parent {
                    let change = Change::Fork { parent };
                    self.processes.change(pid, self.number, change);
                }
            }
            Line::Comm { pid, tid, exec } => {
                self.thread(pid, tid);
                if exec {
                    self.processes.change(pid, self.number, Change::Exec);
                }
            }
            Line::Exit { pid, tid } => {
                self.threads.remove(&tid);
                if pid == tid {
                    self.processes.change(pid, self.number, Change::Exit);
                }
            }
            Line::Lost(samples) => {
                let lost = &mut self.recording.lost_samples;
                *lost = lost.saturating_add(samples);
            }
            Line::Unknown => {
                self.first_unknown.get_or_insert(self.number);
            }
        }
    }

    fn thread(&mut self, pid: u32, tid: u32) {
        if pid == tid {
            self.threads.remove(&tid);
        } else {
            self.threads.insert(tid, pid);
        }
    }

    fn map(&mut self, pid: u32, mapping: Mapping) {
        let others = self.mapped.is_some_and(|mapped| mapped != pid);
        if others && self.processes.contradicts(ANY, &mapping) {
            self.contradiction.get_or_insert(self.number);
        }
        self.mapped.get_or_insert(pid);
        for pid in [pid, ANY] {
            let change = Change::Map(mapping);
            self.processes.change(pid, self.number, change);
        }
    }

    /// The process of a sample; `None` if the sample isn't wanted.
    fn wanted(&mut self, head: &Head<'_>) -> Option<u32> {
        self.last = None;
        if let Some(event) = head.event {
            let first = self.event.get_or_insert_with(|| event.to_vec());
            if without_core(first) != without_core(event) {
                self.recording.other_events += 1;
                return None;
            }
        }
        let thread = |tid| self.threads.get(&tid).copied().unwrap_or(tid);
        let pid = head.pid.or(head.tid_or_pid.map(thread));
        match pid {
            Some(pid) if !self.selection.wants_pid(pid) => return None,
            Some(_) => {}
            None => self.without_pid = true,
        }
        self.recording.samples += 1;
        self.last = Some(pid.unwrap_or(ANY));
        self.last
    }

    fn sample(&mut self, sample: &SampleLine<'_>) {
        let Some(pid) = self.wanted(&sample.head) else {
            return;
        };
        if sample.ip >> 63 != 0 {
            self.recording.kernel_samples += 1;
        } else if let Some((path, offset)) = sample.place {
            let wanted = |path: &[u8]| self.selection.wants_image(path);
            match self.processes.images.number(path, None, wanted) {
                Some(image) => self.processes.images.add_address(image, offset, 1),
                None => self.recording.unmapped_samples += 1,
            }
        } else {
            self.processes.address(pid, self.number, sample.ip);
        }
        self.branches(pid, sample.branches);
    }

    fn chain(&mut self, head: &Head<'_>) {
        if self.wanted(head).is_some() {
            self.chains += 1;
            self.recording.unmapped_samples += 1;
        }
    }

    fn branches(&mut self, pid: u32, text: &[u8]) {
        self.stack.clear();
        self.stack.extend(branches(text));
        if !self.stack.is_empty() {
            self.recording.event.branch_stacks = true;
            let edges = edges(&self.stack);
            self.processes.edges(pid, self.number, edges);
        }
    }

    fn finish(mut self) -> Result<Recording, ReadError> {
        if self.recording.samples + self.recording.other_events == 0 {
            return Err(ReadError::NoSampleInText {
                lines: self.number,
                first: self.first_unknown.unwrap_or(1),
            });
        }
        if let (true, Some(line)) = (self.without_pid, self.contradiction) {
            return Err(ReadError::NoProcessInText { line });
        }
        self.processes.finish();
        let mut recording = self.recording;
        recording.unmapped_samples += self.processes.unmapped;
        recording.images = self.processes.images.finish(|_| None);
        recording.event.name =
            String::from_utf8_lossy(&self.event.unwrap_or_default()).into_owned();
        let user = recording.samples - recording.kernel_samples;
        if recording.images.is_empty() && user > 0 {
            return Err(if self.chains > 0 {
                ReadError::CallChainsInText {
                    samples: self.chains,
                }
            } else {
                ReadError::NoMappingInText { samples: user }
            });
        }
        Ok(recording)
    }
}

/// An event's name without the kind of core that it was counted on.
pub(in crate::profile) fn without_core(event: &[u8]) -> &[u8] {
    let core = [b"cpu_core/".as_slice(), b"cpu_atom/"];
    let rest = core.iter().find_map(|core| event.strip_prefix(*core));
    rest.unwrap_or(event)
}
