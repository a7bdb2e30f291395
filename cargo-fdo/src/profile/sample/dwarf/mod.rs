//! DWARF, as far as sampled code needs it: which function, inlined into which, at which line.
//!
//! ```text
//! sections ─> units (which cover sampled code?) ─> functions (trees of inlined copies) ─┐
//!                       └──────────────────────> rows (lines, discriminators) ──────────┴─> Code
//! ```
//!
//! A unit is read when it holds samples, and dropped before the next one: a program of hundreds of
//! megabytes costs what its sampled units cost. Versions 2 to 5, as GCC, clang and rustc write
//! them.

mod functions;
mod ranges;
mod rows;
mod sections;
mod units;

pub(in crate::profile) use sections::Sections;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

type Reader<'a> = gimli::EndianSlice<'a, gimli::RunTimeEndian>;
type Dwarf<'a> = gimli::Dwarf<Reader<'a>>;
type Unit<'a> = gimli::Unit<Reader<'a>>;

/// A function with samples: its inlined copies and the source positions of all of its code.
#[derive(Debug)]
pub(in crate::profile) struct Code {
    /// Where calls enter it.
    pub(in crate::profile) entry: u64,
    /// All of its code, in order of address; the parts that a compiler split off included.
    pub(in crate::profile) ranges: Vec<Range<u64>>,
    /// The function itself, then the copies inlined in it, each after the one that it is in.
    pub(in crate::profile) scopes: Vec<Scope>,
    /// Stretches of code of one source position, in order of address, not overlapping.
    pub(in crate::profile) stretches: Vec<Stretch>,
}

/// A function, or an inlined copy of one.
#[derive(Debug, Clone)]
pub(in crate::profile) struct Scope {
    pub(in crate::profile) function: Rc<Function>,
    /// For a copy: the scope that it was inlined in, and where.
    pub(in crate::profile) call: Option<Call>,
}

/// Where a copy was inlined.
#[derive(Debug, Clone, Copy)]
pub(in crate::profile) struct Call {
    /// Index of the calling scope.
    pub(in crate::profile) caller: usize,
    /// Line of the call; 0 if not known.
    pub(in crate::profile) line: u64,
    /// DWARF's number.
    pub(in crate::profile) discriminator: u32,
}

/// What DWARF says of a function in the source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::profile) struct Function {
    /// The linkage name; else the name in the source.
    pub(in crate::profile) name: Option<Rc<str>>,
    /// Whether `name` is what the linker sees.
    pub(in crate::profile) is_linkage_name: bool,
    /// `DW_AT_decl_line`; 0 if not known.
    pub(in crate::profile) line: u64,
}

/// A stretch of code of one source position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::profile) struct Stretch {
    pub(in crate::profile) code: Range<u64>,
    /// Index of the innermost scope.
    pub(in crate::profile) scope: usize,
    /// Line; 0 where the compiler names none.
    pub(in crate::profile) line: u64,
    /// DWARF's number.
    pub(in crate::profile) discriminator: u32,
}

/// Who compiled a unit, from `DW_AT_producer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::profile) enum Producer {
    /// GCC's front ends.
    Gcc,
    /// clang, rustc, and whatever else makes code with LLVM.
    Llvm,
    /// Neither, or it doesn't say (assembler).
    Unknown,
}

impl Producer {
    fn of(text: &[u8]) -> Producer {
        let has = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
        if text.starts_with(b"GNU AS") {
            Producer::Unknown
        } else if text.starts_with(b"GNU ") {
            Producer::Gcc
        } else if has(b"clang") || has(b"LLVM") || has(b"rustc") {
            Producer::Llvm
        } else {
            Producer::Unknown
        }
    }
}

/// Why a unit can't be read.
#[derive(Debug)]
enum Error {
    Format(gimli::Error),
    /// More ranges than [`functions::MAX_RANGES`].
    TooManyRanges,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Format(error) => error.fmt(f),
            Error::TooManyRanges => f.write_str("more address ranges than any program has"),
        }
    }
}

impl From<gimli::Error> for Error {
    fn from(error: gimli::Error) -> Error {
        Error::Format(error)
    }
}

/// Addresses that matter, as ranges.
#[derive(Debug, Default)]
pub(in crate::profile) struct Touched {
    /// In order, neither overlapping nor adjacent.
    ranges: Vec<Range<u64>>,
}

impl Touched {
    pub(in crate::profile) fn new(mut ranges: Vec<Range<u64>>) -> Touched {
        ranges.retain(|range| range.start < range.end);
        ranges.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Touched { ranges: merged }
    }

    fn into_ranges(self) -> Vec<Range<u64>> {
        self.ranges
    }

    pub(in crate::profile) fn overlaps(&self, range: &Range<u64>) -> bool {
        let at = self
            .ranges
            .partition_point(|known| known.end <= range.start);
        range.start < range.end
            && self
                .ranges
                .get(at)
                .is_some_and(|known| known.start < range.end)
    }
}

/// Code that belongs to a function already.
///
/// Identical functions that a linker folded have one address and several entries in DWARF; the
/// first one counts.
#[derive(Debug, Default)]
struct Claimed {
    /// End by start.
    ranges: BTreeMap<u64, u64>,
}

impl Claimed {
    /// Claims code; false if some of it is claimed already.
    fn claim(&mut self, code: &[Range<u64>]) -> bool {
        let is_free = |range: &Range<u64>| {
            let before = self.ranges.range(..range.end).next_back();
            before.is_none_or(|(_, end)| *end <= range.start)
        };
        let free = code.iter().all(is_free);
        if free {
            let ranges = code.iter().map(|range| (range.start, range.end));
            self.ranges.extend(ranges);
        }
        free
    }
}

/// What was found out on the way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::profile) struct Findings {
    /// Compilation units in the file.
    pub(in crate::profile) units: usize,
    /// Units whose debug information is in `.dwo` or `.dwp` files.
    pub(in crate::profile) split_units: usize,
    /// Units that can't be read, and what is wrong with the first one.
    pub(in crate::profile) damaged_units: usize,
    pub(in crate::profile) damage: Option<String>,
}

/// Calls `visit` with each function that has code in `touched`, unit by unit.
pub(in crate::profile) fn functions(
    sections: &Sections<'_>,
    touched: &Touched,
    mut visit: impl FnMut(Code, Producer),
) -> Findings {
    let dwarf = sections.dwarf();
    let mut findings = Findings::default();
    let mut units = units::Units::read(&dwarf, &mut findings, &|| sections.release());
    let mut claimed = Claimed::default();
    for (nth, index) in units.covering(touched).into_iter().enumerate() {
        if nth.is_multiple_of(8) {
            sections.release();
        }
        let result = units.load(index).map_err(Error::from).and_then(|unit| {
            let producer = units::producer(&dwarf, &unit)?;
            let bodies = functions::read(&mut units, &unit, touched)?;
            let wanted = Touched::new(bodies.iter().flat_map(|b| b.ranges.clone()).collect());
            let rows = rows::read(&unit, &wanted)?;
            for body in bodies {
                if claimed.claim(&body.ranges) {
                    visit(body.with_rows(&rows), producer);
                }
            }
            Ok(())
        });
        if let Err(error) = result {
            findings.damaged_units += 1;
            let at = units.offset(index);
            findings
                .damage
                .get_or_insert_with(|| format!("unit at .debug_info+{at:#x}: {error}"));
        }
    }
    sections.release();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn producers() {
        for (text, producer) in [
            ("GNU C17 12.2.0 -mtune=generic -O2 -g", Producer::Gcc),
            ("GNU AS 2.40", Producer::Unknown),
            ("Debian clang version 22.1.8", Producer::Llvm),
            (
                "clang LLVM (rustc version 1.95.0 (59807616e 2026-04-14))",
                Producer::Llvm,
            ),
            ("", Producer::Unknown),
        ] {
            assert_eq!(Producer::of(text.as_bytes()), producer, "{text}");
        }
    }

    #[test]
    fn code_is_claimed_once() {
        let mut claimed = Claimed::default();
        assert!(claimed.claim(&[10..20, 30..40]));
        for overlapping in [10..20, 0..11, 19..31, 0..100, 35..36] {
            assert!(!claimed.claim(&[0..1, overlapping]));
        }
        assert!(claimed.claim(&[0..10, 20..30, 40..50]));
    }

    #[test]
    fn touched_ranges() {
        let touched = Touched::new(vec![30..40, 1..3, 2..5, 7..7, 5..6]);
        assert_eq!(touched.ranges, [1..6, 30..40]);
        assert!(touched.overlaps(&(5..8)) && touched.overlaps(&(0..2)));
        assert!(!touched.overlaps(&(6..30)) && !touched.overlaps(&(3..3)));
        assert!(!Touched::default().overlaps(&(0..u64::MAX)));
    }
}
