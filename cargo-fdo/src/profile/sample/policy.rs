//! Choices in making a profile out of a recording.
//!
//! What a profile is worth shows in the program that is built with it. Without branch stacks,
//! recorded with `cpu-clock` at 15 kHz on a virtual machine; instructions executed (callgrind) in
//! percent of the release build without a profile, on other input than was recorded:
//!
//! | | SQLite, clang 22 | SQLite, gcc 12 | serde_json and pulldown-cmark, rustc 1.95 |
//! | --- | --- | --- | --- |
//! | [`Counts::Max`] | 95.2 | 95.7 | 95.3 |
//! | [`Counts::Sum`] | 93.9 | **95.2** | 94.6 |
//! | [`Counts::Sum`], [`Heads::Zero`] | | 99.9 | |
//! | samples a byte of the position | 95.5 | 95.8 | 94.8 |
//! | [`Counts::Flow`], totals as sums of positions | 92.9 | crash | 93.6 |
//! | [`Counts::Flow`], totals as sums of bytes | **91.9** | crash | **92.9** |
//! | the same, callees' heads also by their callers | 93.0 | crash | 93.0 |
//! | the same, without profi | 92.1 | | 94.2 |
//! | the same, with `-fprofile-sample-accurate` | 92.4 | | 94.0 |
//! | instrumented | 87.7 | | 87.3 |
//!
//! Heads are [`Heads::Entry`] where nothing else is said. Differences below one are luck: another
//! factor between samples and counts, which means nothing, gave clang 92.1.
//!
//! The crash is GCC's: where counts say that what is before a loop never ran though the loop did,
//! `vect_do_peeling` divides by zero ("internal compiler error: Floating point exception", during
//! pass `vect`). Sums of samples may say so too, but on SQLite don't.

/// Whose rules names, discriminators and positions follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// clang and rustc.
    Llvm,
    /// GCC.
    Gcc,
}

/// The count of a position that has several addresses, without branch stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// The largest count of an address, as `create_gcov` does it.
    Max,
    /// All samples.
    Sum,
    /// The largest count of a basic block, estimated from samples and control flow.
    Flow,
}

/// How often a function was entered, without branch stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heads {
    /// Never, as `create_gcov` writes it.
    Zero,
    /// As often as the position at its entry was executed, and at least once; with
    /// [`Counts::Flow`], as often as flow enters it.
    Entry,
}

/// The count of a call target that a position has several calls of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// All calls.
    Sum,
    /// Those from the highest address, which is what `create_gcov` leaves over.
    Last,
}

/// How a recording becomes a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Who will read it.
    pub flavour: Flavour,
    /// Counts without branch stacks.
    pub counts: Counts,
    /// Heads without branch stacks.
    pub heads: Heads,
    /// Call targets, with branch stacks.
    pub targets: Targets,
    /// Functions with no more samples than this (with branch stacks: executed bytes) are left
    /// out, if it isn't 0.
    pub threshold: u64,
    /// Whether code that the other compiler made is left out, as nobody would read it.
    pub own_code_only: bool,
}

impl Policy {
    /// What was found to serve each compiler best; see the module's documentation.
    pub fn of(flavour: Flavour) -> Policy {
        Policy {
            flavour,
            counts: match flavour {
                Flavour::Llvm => Counts::Flow,
                Flavour::Gcc => Counts::Sum,
            },
            heads: Heads::Entry,
            targets: Targets::Sum,
            threshold: 0,
            own_code_only: true,
        }
    }

    /// The rules of autofdo's `create_gcov` with `--sample_threshold_frac=0`, to compare with.
    pub fn of_create_gcov() -> Policy {
        Policy {
            flavour: Flavour::Gcc,
            counts: Counts::Max,
            heads: Heads::Zero,
            targets: Targets::Last,
            threshold: 10,
            own_code_only: false,
        }
    }
}
