//! Folded stacks: a line for each distinct one, names from the outermost on between semicolons,
//! then how many samples it has. What stackcollapse scripts write and flamegraph scripts read.

use super::Stacks;
use crate::profile::sample::read::ReadError;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};

/// Longest line that is read. Deep stacks of long names have some hundred kilobytes.
const MAX_LINE: u64 = 4 << 20;

/// Stacks by their names, with counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folded(BTreeMap<Box<str>, u64>);

impl Folded {
    /// Adds samples of a stack.
    pub fn count(&mut self, stack: &str, samples: u64) {
        match self.0.get_mut(stack) {
            Some(count) => *count = count.saturating_add(samples),
            None => _ = self.0.insert(stack.into(), samples),
        }
    }

    /// Adds all stacks of another.
    pub fn add(&mut self, other: Folded) {
        for (stack, samples) in other.0 {
            self.count(&stack, samples);
        }
    }

    /// Samples of all stacks.
    pub fn total(&self) -> u64 {
        self.0
            .values()
            .fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// Stacks and their samples, sorted.
    pub fn stacks(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(stack, count)| (&**stack, *count))
    }

    /// The text, sorted by stack.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (stack, count) in self.stacks() {
            // Into a string it can't fail.
            let _ = writeln!(text, "{stack} {count}");
        }
        text
    }

    /// The same stacks with counts that add up to about another total.
    pub fn scaled_to(&self, total: u64) -> Folded {
        let factor = total as f64 / self.total().max(1) as f64;
        let scale = |count: u64| (count as f64 * factor).round() as u64;
        let scaled = self
            .0
            .iter()
            .map(|(stack, count)| (stack.clone(), scale(*count)));
        Folded(scaled.collect())
    }
}

/// Whether a text begins like folded stacks: no blank first, a number last.
pub(super) fn is_folded(start: &[u8]) -> bool {
    let mut lines = start.split_inclusive(|&byte| byte == b'\n');
    let whole = |line: &&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
    let Some(line) = lines.find(whole) else {
        return false;
    };
    if line.starts_with(b" ") || line.starts_with(b"\t") {
        return false;
    }
    if line.last() != Some(&b'\n') {
        // The first line is longer than what is looked at. A line of `perf script` has no such.
        return line.contains(&b';');
    }
    // A number alone before it is a process.
    parse(line).is_some_and(|(stack, _)| !stack.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A line's stack and number; fractions are cut off, as other tools do.
fn parse(line: &[u8]) -> Option<(&str, u64)> {
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let (stack, count) = line.rsplit_once(' ')?;
    let (whole, fraction) = count.split_once('.').unwrap_or((count, "0"));
    let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit());
    let stack = stack.trim_end();
    (is_number && !stack.is_empty()).then_some((stack, whole.parse().ok()?))
}

/// Reads folded stacks to the end.
///
/// # Errors
///
/// A line is something else.
pub(super) fn read(input: impl Read) -> Result<Stacks, ReadError> {
    let mut input = BufReader::with_capacity(256 << 10, input);
    let mut folded = Folded::default();
    let mut line = Vec::new();
    let mut at = 0;
    loop {
        line.clear();
        let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        let read = read.map_err(|source| ReadError::Io { at, source })? as u64;
        if read == 0 {
            break;
        }
        if !line.trim_ascii().is_empty() && !line.starts_with(b"#") {
            let corrupt = ReadError::Corrupt {
                what: "a line is no folded stack with a number at its end",
                at,
            };
            let (stack, count) = parse(&line).ok_or(corrupt)?;
            folded.count(stack, count);
        }
        at += read;
    }
    let samples = folded.total();
    Ok(Stacks {
        has_calls: folded.0.keys().any(|stack| stack.split(';').count() > 2),
        folded,
        samples,
        ..Stacks::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut folded = Folded::default();
        folded.count("sh;main;f <a b>", 2);
        folded.count("sh;main", 1);
        folded.count("sh;main", 3);
        assert_eq!(folded.text(), "sh;main 4\nsh;main;f <a b> 2\n");
        let text = folded.text();
        assert!(is_folded(text.as_bytes()));
        let stacks = read(text.as_bytes()).unwrap();
        assert_eq!(
            (stacks.folded, stacks.samples, stacks.has_calls),
            (folded, 6, true)
        );
    }

    #[test]
    fn other_texts_are_told_apart() {
        for text in [
            "sh 12 745.9: 250000 cpu-clock:u: \n\t 4012 f (/a)\n",
            "16545   401136\n",
            "  401136\n",
            "",
            "# only a comment\n",
            "hello world\n",
        ] {
            assert!(!is_folded(text.as_bytes()), "{text}");
        }
        assert!(is_folded(b"# comment\n\nmain 12.5\n"));
        assert!(read(&b"a;b 1\nnonsense\n"[..]).is_err());
    }

    #[test]
    fn counts_are_scaled_and_never_overflow() {
        let mut folded = Folded::default();
        folded.count("a", 30);
        folded.count("b", 10);
        let scaled = folded.scaled_to(20);
        assert_eq!(scaled.text(), "a 15\nb 5\n");
        folded.count("a", u64::MAX);
        assert_eq!(folded.total(), u64::MAX);
        assert_eq!(Folded::default().scaled_to(7), Folded::default());
    }
}
