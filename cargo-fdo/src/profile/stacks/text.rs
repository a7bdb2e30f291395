//! Stacks as `perf script` prints them: a line for the sample, a line for each frame from the
//! innermost on, a blank line.
//!
//! perf has put names there already, so nothing is looked up; those that it left mangled are
//! demangled.

use super::folded::Folded;
use super::names::{self, plain};
use super::resolve::thread;
use super::{Stacks, UNKNOWN, Unnamed};
use crate::profile::sample::perf_script::line::{Head, Line, SampleLine};
use crate::profile::sample::perf_script::{Lines, without_core};
use crate::profile::sample::read::ReadError;
use std::io::Read;

/// Deepest stack that is kept.
const MAX_FRAMES: usize = 4096;

/// Reads a text to its end.
///
/// # Errors
///
/// Nothing in it is a sample. Single lines that are not understood are passed over.
pub(super) fn read(input: impl Read) -> Result<Stacks, ReadError> {
    let mut lines = Lines::of(input);
    let mut text = Text::default();
    while lines.next()? {
        text.number += 1;
        text.line(lines.line());
    }
    text.finish()
}

#[derive(Default)]
struct Text {
    stacks: Stacks,
    folded: Folded,
    /// Lines so far.
    number: u64,
    first_unknown: Option<u64>,
    event: Option<Vec<u8>>,
    /// The sample whose frames are being read.
    open: Option<Open>,
    /// Frames that perf had no name for.
    unnamed: u64,
}

struct Open {
    thread: Option<String>,
    /// Innermost first.
    frames: Vec<String>,
}

impl Text {
    fn line(&mut self, line: &[u8]) {
        if let Some(open) = &mut self.open
            && line.starts_with(b"\t")
        {
            if let Some((frame, named)) = frame(line)
                && open.frames.len() < MAX_FRAMES
            {
                self.stacks.frames += 1;
                self.unnamed += u64::from(!named);
                open.frames.push(frame);
            }
            return;
        }
        match Line::parse(line) {
            Line::ChainEntry => {}
            Line::Blank => self.close(),
            Line::ChainHead(head) => self.begin(&head),
            Line::Sample(sample) => self.single(&sample),
            Line::Lost(samples) => {
                self.stacks.lost = self.stacks.lost.saturating_add(samples);
            }
            Line::Unknown => {
                self.first_unknown.get_or_insert(self.number);
            }
            _ => {}
        }
    }

    /// A sample begins; `false` if it is of another event.
    fn begin(&mut self, head: &Head<'_>) {
        self.close();
        if let Some(event) = head.event {
            let first = self.event.get_or_insert_with(|| event.to_vec());
            if without_core(first) != without_core(event) {
                self.stacks.other_events += 1;
                return;
            }
        }
        self.stacks.samples += 1;
        let name = |comm: &[u8]| thread(&String::from_utf8_lossy(comm));
        self.open = Some(Open {
            thread: head.comm.map(name),
            frames: Vec::new(),
        });
    }

    /// A sample on one line.
    fn single(&mut self, sample: &SampleLine<'_>) {
        if sample.head.tid_or_pid.is_none() && sample.head.event.is_none() {
            // A word of hexadecimal digits alone makes no sample: prose has such.
            self.first_unknown.get_or_insert(self.number);
            return;
        }
        self.begin(&sample.head);
        if let Some(open) = &mut self.open {
            let (frame, named) = function(sample.columns, sample.ip >> 63 != 0);
            self.stacks.frames += 1;
            self.unnamed += u64::from(!named);
            open.frames.push(frame);
        }
        self.close();
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        self.stacks.has_calls |= open.frames.len() > 1;
        let mut stack: Vec<&str> = open.thread.as_deref().into_iter().collect();
        stack.extend(open.frames.iter().rev().map(String::as_str));
        if stack.is_empty() {
            stack.push(UNKNOWN);
        }
        self.folded.count(&stack.join(";"), 1);
    }

    fn finish(mut self) -> Result<Stacks, ReadError> {
        self.close();
        if self.stacks.samples + self.stacks.other_events == 0 {
            return Err(ReadError::NoSampleInText {
                lines: self.number,
                first: self.first_unknown.unwrap_or(1),
            });
        }
        let event = self.event.unwrap_or_default();
        if self.unnamed > 0 {
            self.stacks.unnamed.push(Unnamed {
                what: "code".to_owned(),
                cause: super::Cause::ByPerf,
                frames: self.unnamed,
            });
        }
        Ok(Stacks {
            folded: self.folded,
            event: String::from_utf8_lossy(&event).into_owned(),
            ..self.stacks
        })
    }
}

/// A line of a stack: address, function, file. Returns whether the function is known.
fn frame(line: &[u8]) -> Option<(String, bool)> {
    let line = line.trim_ascii();
    let space = line.iter().position(|byte| *byte == b' ');
    let (address, columns) = line.split_at(space.unwrap_or(line.len()));
    let address = std::str::from_utf8(address).ok()?;
    let address = u64::from_str_radix(address, 16).ok()?;
    Some(function(columns, address >> 63 != 0))
}

/// `name+0x12 (/path/of/file)`, each part perhaps missing.
fn function(columns: &[u8], is_kernel: bool) -> (String, bool) {
    let columns = String::from_utf8_lossy(columns.trim_ascii()).into_owned();
    let (symbol, file) = match columns
        .rfind(" (")
        .or(columns.starts_with('(').then_some(0))
    {
        Some(at) if columns.ends_with(')') => {
            let file = columns[at..].trim_start().trim_start_matches('(');
            (columns[..at].trim(), file.trim_end_matches(')'))
        }
        _ => (columns.as_str(), ""),
    };
    let offset = symbol.rfind("+0x").filter(|at| {
        let digits = &symbol[at + 3..];
        digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    let symbol = &symbol[..offset.unwrap_or(symbol.len())];
    let kernel = if is_kernel { "_[k]" } else { "" };
    if symbol.is_empty() || symbol == UNKNOWN {
        let file = file.rsplit('/').next().unwrap_or_default();
        let file = file.trim_matches(['[', ']']);
        let name = match (file, is_kernel) {
            (_, true) => "[kernel]".to_owned(),
            ("" | "unknown", false) => UNKNOWN.to_owned(),
            (file, false) => plain(&format!("[{file}]")),
        };
        return (format!("{name}{kernel}"), false);
    }
    let name = names::function(without_hash(symbol).as_bytes());
    (format!("{name}{kernel}"), true)
}

/// The name without the hash that older perfs leave on Rust's: `a::b::h0123456789abcdef`.
fn without_hash(symbol: &str) -> &str {
    match symbol.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            name
        }
        _ => symbol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# comment
my prog  12/13   745.980992:     250000 cpu-clock: 
\tffffffff81000012 do_it+0x12 ([kernel.kallsyms])
\t    7f1f33a9c6e1 app::f::h0123456789abcdef+0x1 (/usr/lib/li b.so)
\t          401136 [unknown] (/usr/lib/libx.so.1)
\t          401137 rocksdb::DB::Open(int, a<b>) (inlined)

my prog  12/13   745.980993:     250000 cpu-clock: 
\t          401136 [unknown] ([unknown])

sh  14   745.980994:     250000 instructions: 
\t          401136 main (/a)

PERF_RECORD_LOST lost 3
";

    #[test]
    fn stacks_are_folded() {
        let stacks = read(TEXT.as_bytes()).unwrap();
        assert_eq!(
            stacks.folded.text(),
            "my_prog;[unknown] 1\n\
             my_prog;rocksdb::DB::Open(int, a<b>);[libx.so.1];app::f;do_it_[k] 1\n"
        );
        assert_eq!(stacks.event, "cpu-clock");
        assert_eq!(
            (stacks.samples, stacks.other_events, stacks.lost),
            (2, 1, 3)
        );
        assert!(stacks.has_calls);
        assert_eq!((stacks.frames, stacks.unnamed[0].frames), (5, 2));
    }

    #[test]
    fn samples_without_callers_are_functions() {
        let text = "sh 16545/16545   745.980992: cpu-clock:      7f1f33a9c6e1 dl_main+0x2 (/l)\n";
        let stacks = read(text.as_bytes()).unwrap();
        assert_eq!(stacks.folded.text(), "sh;dl_main 1\n");
        assert!(!stacks.has_calls);
    }

    #[test]
    fn no_text_makes_it_panic() {
        for end in 0..TEXT.len() {
            let _ = read(&TEXT.as_bytes()[..end]);
            let _ = read(&TEXT.as_bytes()[end..]);
        }
        assert!(matches!(
            read(&b"prose\n"[..]),
            Err(ReadError::NoSampleInText { .. })
        ));
    }
}
