//! Whole stacks of a recording: who called whom, with names, folded for a graph.
//!
//! ```text
//! perf.data ──> collect (in order of time: waiting, threads) ──> unwind ──> tree (addresses)
//!                                                                               │
//!      ELF, DWARF ──> files, symbols ──┐                                        v
//!   /proc/kallsyms ──> kernel ─────────┴────────────────────────────────────> resolve ──> folded
//! perf script ───> text ──────────────────────────────────────────────────────────────────^
//! ```
//!
//! Stacks are found by the kernel (frame pointers) or in copies of a program's stack, which are
//! unwound here: perf would start a program for each inlined function or read a file for each
//! address. While a recording streams by, only addresses are kept; names are looked up at the end,
//! each address once, file by file. So memory goes with the distinct stacks and addresses and with
//! the largest file's tables, not with the length of the recording.

mod collect;
mod files;
pub mod folded;
mod kernel;
mod names;
mod registers;
mod resolve;
mod symbols;
#[cfg(test)]
mod tests;
mod text;
mod threads;
mod tree;
mod unwind;
mod waiting;

pub use files::Cause;

use super::sample::perf_data;
use super::sample::read::{InputKind, ReadError, start_of};
use folded::Folded;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Stands at the root of a stack whose outer callers are not known.
pub const TRUNCATED: &str = "[truncated]";

/// Stands for code that nothing is known of.
pub const UNKNOWN: &str = "[unknown]";

/// All stacks of a recording.
#[derive(Debug, Default)]
pub struct Stacks {
    /// Stacks by name.
    pub folded: Folded,
    /// perf's name of what was sampled; empty if the recording doesn't say.
    pub event: String,
    /// Samples read.
    pub samples: u64,
    /// Samples that perf says it had to drop.
    pub lost: u64,
    /// Samples of other events, which are not in here.
    pub other_events: u64,
    /// Samples whose outer callers are not known.
    pub truncated: u64,
    /// Whether samples have callers at all.
    pub has_calls: bool,
    /// Paths of the files that say which functions were inlined in them.
    pub inlined_in: BTreeSet<String>,
    /// Where reading stopped if the recording was cut short, in bytes from its start.
    pub cut_short_at: Option<u64>,
    /// Frames of all samples.
    pub frames: u64,
    /// Those of them that have no name, by file, most frames first.
    pub unnamed: Vec<Unnamed>,
}

/// Code without names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unnamed {
    /// The file, or what else it is.
    pub what: String,
    /// Why.
    pub cause: Cause,
    /// Frames of all samples that are in it.
    pub frames: u64,
}

impl Stacks {
    /// Adds those of another recording of the same event.
    pub fn add(&mut self, other: Stacks) {
        self.folded.add(other.folded);
        if self.event.is_empty() {
            self.event = other.event;
        }
        for (sum, more) in [
            (&mut self.samples, other.samples),
            (&mut self.lost, other.lost),
            (&mut self.other_events, other.other_events),
            (&mut self.truncated, other.truncated),
            (&mut self.frames, other.frames),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.has_calls |= other.has_calls;
        self.inlined_in.extend(other.inlined_in);
        self.cut_short_at = self.cut_short_at.or(other.cut_short_at);
        for more in other.unnamed {
            let same = |own: &&mut Unnamed| (&own.what, own.cause) == (&more.what, more.cause);
            match self.unnamed.iter_mut().find(same) {
                Some(own) => own.frames = own.frames.saturating_add(more.frames),
                None => self.unnamed.push(more),
            }
        }
        self.unnamed
            .sort_by_key(|unnamed| std::cmp::Reverse(unnamed.frames));
    }

    /// Share of the frames that have no name, 0 to 1.
    pub fn unnamed_share(&self) -> f64 {
        let unnamed = self
            .unnamed
            .iter()
            .fold(0, |sum: u64, part| sum.saturating_add(part.frames));
        unnamed as f64 / self.frames.max(1) as f64
    }
}

/// Where names are looked for, beside the programs and libraries themselves.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// Where debug files are, before the system's own place.
    pub debug_directories: &'a [PathBuf],
    /// What the running kernel says of its functions.
    pub kallsyms: &'a Path,
    /// Whether functions that were inlined are shown.
    pub inlined: bool,
}

impl Default for Sources<'_> {
    fn default() -> Self {
        Sources {
            debug_directories: &[],
            kallsyms: Path::new("/proc/kallsyms"),
            inlined: true,
        }
    }
}

/// Reads a recording, the text of `perf script`, or folded stacks, to the end.
///
/// Programs and libraries are looked for at the paths that were recorded.
///
/// # Errors
///
/// What is none of these. A recording that ends too soon gives what is there.
pub fn read(mut input: impl Read, sources: Sources<'_>) -> Result<Stacks, ReadError> {
    let start = start_of(&mut input)?;
    let whole = io::Cursor::new(&start).chain(input);
    match InputKind::of(&start) {
        _ if start.is_empty() => Err(ReadError::Empty),
        InputKind::PerfData => {
            let done = perf_data::read_into(whole, collect::Collector::default())?;
            Ok(resolve::stacks(done, sources))
        }
        InputKind::Text if folded::is_folded(&start) => folded::read(whole),
        InputKind::Text => text::read(whole),
        other => Err(ReadError::NotARecording(other)),
    }
}
