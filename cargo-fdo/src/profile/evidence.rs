//! The compiler's own words: which functions got their counts.
//!
//! With `-mllvm -pgo-view-raw-counts=text` (rustc: `-Cllvm-args=-pgo-view-raw-counts=text`) LLVM
//! writes to stderr, for each function that it applied a profile to (and that has a count other
//! than zero; `annotateAllFunctions` in
//! `llvm/lib/Transforms/Instrumentation/PGOInstrumentation.cpp`, `dumpEdges` in
//! `llvm/Transforms/Instrumentation/CFGMST.h`):
//!
//! ```text
//! pgo-view-raw-counts: f                            the symbol
//! Dump Function lz4.c;f Hash: 742261418966908927    the profile name; a tab at the end
//!   Number of Basic Blocks: 2
//!   BB: FakeNode  Index=0
//!   BB:   Index=1  Count=1
//!   Number of Edges: 2 (*: Instrument, C: CriticalEdge, -: Removed)
//!   Edge 0: 0-->1 *   W=18014398509481984  Count=1
//!   Edge 1: 1-->0     W=18014398509481984  Count=1
//! ```
//!
//! [`Filter`] takes exactly that out of the compiler's output. clang writes it line by line, but
//! rustc from several threads, one write for each piece between two `<<`, so lines come as
//! `pgo-view-raw-counts: pgo-view-raw-counts: f`, `gDump Function `, `4` or with a JSON message at
//! their end. Names stay in one piece; what can't be told apart is kept as a *token* for
//! [`super::consumed`] to look into.
//!
//! LLVM's warning that a function's hash does not match is taken out too, in clang's and rustc's
//! text and in rustc's JSON, and clang's count of warnings is put right.

mod filter;

pub use filter::Filter;

use super::sample::applied::ByFunction;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What compilers said about the profile they were given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// Profile name and hash of each function that got its counts.
    pub applied: BTreeSet<(String, u64)>,
    /// Names and symbols that appeared in a dump torn apart by threads, so without a hash, and
    /// what may be several of them glued together or to digits.
    pub tokens: BTreeSet<String>,
    /// Functions that have a profile with another hash.
    pub mismatched: BTreeSet<Mismatch>,
    /// Samples that LLVM applied, by function ([`super::sample::applied::remarks`]).
    pub samples: ByFunction,
    /// The highest count that gcc gave a block, by function ([`super::sample::applied::dump`]).
    pub peaks: ByFunction,
}

/// A function that changed since it was trained, or was trained by another compiler.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mismatch {
    /// The function's symbol: not its profile name, a local function has no prefix here.
    pub symbol: String,
    /// Hash that it has now.
    pub hash: u64,
    /// Largest of the counts that were thrown away; LLVM does not always know it and says 0.
    pub discarded: u64,
}

impl Evidence {
    /// Adds what another unit's compiler said.
    pub fn merge(&mut self, other: Evidence) {
        self.applied.extend(other.applied);
        self.tokens.extend(other.tokens);
        self.mismatched.extend(other.mismatched);
        // A function that several units have, such as an inline one of C++, has its samples in
        // each of them.
        for (ours, theirs) in [
            (&mut self.samples, other.samples),
            (&mut self.peaks, other.peaks),
        ] {
            for (name, count) in theirs {
                let most = ours.entry(name).or_default();
                *most = count.max(*most);
            }
        }
    }

    /// One line for each fact, sorted; to be kept in a file beside the unit.
    ///
    /// ```text
    /// applied\t742261418966908927\tlz4.c;f
    /// token\tf
    /// mismatched\t54174065726652276\t0\tg
    /// samples\t50007\thot
    /// peak\t100000\thot
    /// ```
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        // Writing to a String can't fail.
        for (name, hash) in &self.applied {
            let _ = writeln!(out, "applied\t{hash}\t{name}");
        }
        for token in &self.tokens {
            let _ = writeln!(out, "token\t{token}");
        }
        for Mismatch {
            symbol,
            hash,
            discarded,
        } in &self.mismatched
        {
            let _ = writeln!(out, "mismatched\t{hash}\t{discarded}\t{symbol}");
        }
        for (kind, counts) in [("samples", &self.samples), ("peak", &self.peaks)] {
            for (name, count) in counts {
                let _ = writeln!(out, "{kind}\t{count}\t{name}");
            }
        }
        out
    }

    /// Reads what [`Evidence::to_text`] wrote.
    ///
    /// # Errors
    ///
    /// The number of the first line, from 1, that is none of these.
    pub fn parse(text: &str) -> Result<Evidence, usize> {
        let mut evidence = Evidence::default();
        for (index, line) in text.lines().enumerate() {
            evidence.read(line).ok_or(index + 1)?;
        }
        Ok(evidence)
    }

    fn read(&mut self, line: &str) -> Option<()> {
        let (kind, rest) = line.split_once('\t')?;
        match kind {
            "applied" => {
                let (hash, name) = rest.split_once('\t')?;
                self.applied.insert((name.to_owned(), hash.parse().ok()?));
            }
            "token" => {
                self.tokens.insert(rest.to_owned());
            }
            "mismatched" => {
                let (hash, rest) = rest.split_once('\t')?;
                let (discarded, symbol) = rest.split_once('\t')?;
                self.mismatched.insert(Mismatch {
                    symbol: symbol.to_owned(),
                    hash: hash.parse().ok()?,
                    discarded: discarded.parse().ok()?,
                });
            }
            "samples" | "peak" => {
                let (count, name) = rest.split_once('\t')?;
                let counts = match kind {
                    "samples" => &mut self.samples,
                    _ => &mut self.peaks,
                };
                counts.insert(name.to_owned(), count.parse().ok()?);
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
