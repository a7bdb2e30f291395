//! GCC's AutoFDO profile, which `gcc -fauto-profile=FILE` reads.
//!
//! ```text
//! word 0x67636461 (on disk `adcg`), word version, word 0
//! [3]  0xa8000000 summary: counters total, highest, highest head, positions, functions;
//!      counter n, n x { word cutoff in millionths, counter least, counter positions }
//! 0xaa000000 names: word length; [3: word n, n strings (files)]; word n,
//!      n x { string, [3: word index of its file or 0xffffffff] }     sorted, the first one empty
//! 0xac000000 functions: word length, word n,
//!      n x { counter head, [3: counter timestamp], word name, INSTANCE }
//! 0xae000000 modules: word 0, word 0
//! 0xaf000000 working set: word 3 * 128, 128 x { word, counter }      read by nobody
//!
//! INSTANCE = word positions, word call sites,
//!      positions x { word place, word targets, counter, targets x { word 7, counter name, counter } },
//!      call sites x { word place, word name, INSTANCE }
//! ```
//!
//! Words are 32 bits, little-endian; a counter is two words, the lower one first. A place is the
//! line from the declaration times 65,536 plus the discriminator, 16 bits each. A string is its
//! length with the final NUL and its bytes: in version 1 the length is in words and the string is
//! padded, from version 2 on it is in bytes. Section lengths are in words and nobody reads them.
//! Sources: `gcc/auto-profile.cc` (what GCC reads), `profile_writer.cc` and `gcov.cc` of
//! google/autofdo (what create_gcov writes).
//!
//! | version | read by GCC | |
//! | --- | --- | --- |
//! | 1 | 5 to 11 | |
//! | 2 | 12 to 15 | |
//! | 3 | 16 on | **experimental**: changed since it was introduced, no GCC of this kind was tried |
//!
//! Timestamps came to version 3 months after its first writers (autofdo 158a27f, May 2026), and
//! nothing in a file says whether it has them. The reader takes what fits up to the next section.
//!
//! GCC cuts names at the first `.` when it reads, and of two names that are then equal it sees one.
//! So the writer cuts them and adds their samples up; and names of constructors and destructors in
//! a form that no symbol has (`C4`, `D4`, GCC bug 64346) become `C2` and `D2`, as create_gcov does.

pub mod lines;
mod read;
mod write;

pub use read::read;
pub use write::{Written, gcc_name, write};

use super::{MAX_DEPTH, SampleProfile};
use std::collections::BTreeMap;
use std::fmt;

/// `gcda` as a number, so `adcg` in a little-endian file.
pub const MAGIC: u32 = 0x6763_6461;

const TAG_SUMMARY: u32 = 0xa800_0000;
const TAG_NAMES: u32 = 0xaa00_0000;
const TAG_FUNCTIONS: u32 = 0xac00_0000;
const TAG_MODULES: u32 = 0xae00_0000;
const TAG_WORKING_SET: u32 = 0xaf00_0000;

/// `NUM_GCOV_WORKING_SETS`.
const WORKING_SETS: u32 = 128;

/// `HIST_TYPE_INDIR_CALL_TOPN`, the one kind of value profile there is.
const INDIRECT_CALL: u32 = 7;

/// "No file" in version 3.
const NO_FILE: u32 = u32::MAX;

/// The cutoffs of version 3's summary, in millionths (`ProfileSummaryInformation` of autofdo).
const CUTOFFS: [u32; 16] = [
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000,
    950_000, 990_000, 999_000, 999_900, 999_990, 999_999,
];

/// The layout of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// For GCC up to 11.
    V1,
    /// For GCC 12 to 15.
    V2,
    /// For GCC 16. Experimental.
    V3,
}

impl Version {
    /// The number in the file.
    pub fn number(self) -> u32 {
        match self {
            Version::V1 => 1,
            Version::V2 => 2,
            Version::V3 => 3,
        }
    }

    /// What a GCC of this major version reads; it refuses every other one.
    pub fn of_gcc(major: u32) -> Version {
        match major {
            ..12 => Version::V1,
            12..16 => Version::V2,
            16.. => Version::V3,
        }
    }

    fn of(number: u32) -> Option<Version> {
        [Version::V1, Version::V2, Version::V3]
            .into_iter()
            .find(|version| version.number() == number)
    }
}

/// A file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcovProfile {
    /// Its layout.
    pub version: Version,
    /// The samples. Totals are the sums of the positions, as for GCC.
    pub profile: SampleProfile,
    /// Source file of a function; version 3 only, and not of all.
    pub files: BTreeMap<String, String>,
    /// When an outermost function was first seen, in perf's nanoseconds; version 3 only, and zero
    /// is left out.
    pub timestamps: BTreeMap<String, u64>,
}

impl GcovProfile {
    /// A profile without files and timestamps.
    pub fn new(version: Version, profile: SampleProfile) -> GcovProfile {
        GcovProfile {
            version,
            profile,
            files: BTreeMap::new(),
            timestamps: BTreeMap::new(),
        }
    }

    /// Adds another file's samples, each count times `weight`. Of timestamps the earlier one and
    /// of source files the first one stay.
    pub fn add(&mut self, other: &GcovProfile, weight: u64) {
        // No file has checksums, so none mismatch.
        super::merge::add(&mut self.profile, &other.profile, weight);
        for (name, file) in &other.files {
            self.files
                .entry(name.clone())
                .or_insert_with(|| file.clone());
        }
        for (name, &timestamp) in &other.timestamps {
            let first = self.timestamps.entry(name.clone()).or_insert(timestamp);
            *first = timestamp.min(*first);
        }
    }
}

/// Why a file is not an AutoFDO profile that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcovError {
    /// Where, in bytes.
    pub at: usize,
    /// What was wrong there.
    pub what: GcovErrorKind,
}

/// What is wrong at an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GcovErrorKind {
    /// Another magic number.
    Magic,
    /// A version that this reader does not know. gcc's counters (`.gcda`) have the compiler's.
    Version(u32),
    /// The file ends inside this.
    Truncated(&'static str),
    /// Another section should begin here.
    Section(&'static str),
    /// A string that is empty of bytes, has no end, or is not UTF-8.
    String,
    /// A name that is not in the table, or the empty one.
    Name(u64),
    /// Value profiles other than called functions.
    ValueKind(u32),
    /// Modules, which no GCC takes.
    Modules,
    /// Inlined more than [`MAX_DEPTH`] deep.
    TooDeep,
    /// The same names so often that they would fill the memory.
    Inflated,
    /// Bytes after the end.
    Trailing,
}

impl fmt::Display for GcovError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            GcovErrorKind::Magic => f.write_str("is no AutoFDO profile of GCC")?,
            GcovErrorKind::Version(version) => {
                write!(f, "version {version} is unknown, expected 1 to 3")?;
            }
            GcovErrorKind::Truncated(what) => write!(f, "file ends inside {what}")?,
            GcovErrorKind::Section(what) => write!(f, "{what} should begin")?,
            GcovErrorKind::String => f.write_str("no string")?,
            GcovErrorKind::Name(index) => write!(f, "no name has the number {index}")?,
            GcovErrorKind::ValueKind(kind) => write!(f, "unknown kind of values {kind}")?,
            GcovErrorKind::Modules => f.write_str("module groups, which GCC refuses")?,
            GcovErrorKind::TooDeep => write!(f, "functions inlined more than {MAX_DEPTH} deep")?,
            GcovErrorKind::Inflated => f.write_str("more names than such a file can need")?,
            GcovErrorKind::Trailing => f.write_str("more bytes after the end")?,
        }
        write!(f, " at byte {}", self.at)
    }
}

impl std::error::Error for GcovError {}

/// Whether a file is an AutoFDO profile, of whatever version.
///
/// gcc's counters (`.gcda`) have the same magic number; behind it they have the compiler's
/// version as four letters, and a stamp and a checksum where these have zero and a section.
pub fn recognises(bytes: &[u8]) -> bool {
    let word = |index: usize| {
        let word = bytes.get(index * 4..index * 4 + 4)?;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    };
    let section = matches!(word(3), Some(TAG_SUMMARY | TAG_NAMES));
    word(0) == Some(MAGIC) && (word(1).is_some_and(|version| version < 256) || section)
}

#[cfg(test)]
mod tests;
