//! Branch stacks: the last taken branches before a sample, as the processor keeps them.
//!
//! Entry 0 is the newest. Between two neighbours the code ran straight, from where the older branch
//! went to where the newer one left, so that one stack of 32 branches tells of 31 runs.
//!
//! What is left out follows create_gcov (`PerfDataSampleReader::Append` in google/autofdo's
//! `sample_reader.cc`) and llvm-profgen (`computeCounterFromLBR` in LLVM's
//! `llvm-profgen/PerfReader.cpp`), which agree on all but the second point; it is create_gcov's.

use std::hash::{Hash, Hasher};

/// The longest run between two branches that is believed, in bytes.
const MAX_RUN: u64 = 1 << 20;

/// A jump longer than this, twice in a row at the newest end, is not a loop but the processor's
/// mistake (create_gcov's `strip_dup_backedge_stride_limit`).
const MAX_LOOP: u64 = 0x1000;

/// An entry of a branch stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Branch {
    /// The branch instruction; 0 if it is not in user space.
    pub(super) from: u64,
    /// The instruction that ran next; 0 if it is not in user space.
    pub(super) to: u64,
}

impl Branch {
    /// Keeps user space's ends only: the lower half of the addresses.
    pub(super) fn of(from: u64, to: u64) -> Branch {
        let user = |address: u64| if address >> 63 == 0 { address } else { 0 };
        Branch {
            from: user(from),
            to: user(to),
        }
    }
}

/// A taken branch and the run of code after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edge {
    /// The branch instruction, or 0.
    pub(super) from: u64,
    /// Where it went and the run begins, or 0.
    pub(super) to: u64,
    /// The last instruction of the run, the next branch; 0 if it is not known.
    pub(super) until: u64,
}

impl Hash for Edge {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Two steps instead of three: a table of these is most of the work on branch stacks.
        state.write_u64(self.from ^ self.until.rotate_left(32));
        state.write_u64(self.to);
    }
}

/// Branches and runs of one stack, newest first.
///
/// Left out: entries with neither end in user space; the second of two equal newest entries unless
/// it is a short loop; runs that would go backwards or on for more than a mebibyte.
pub(super) fn edges(stack: &[Branch]) -> impl Iterator<Item = Edge> {
    let mut newer: Option<Branch> = None;
    stack.iter().enumerate().filter_map(move |(index, entry)| {
        let next = newer.replace(*entry);
        if entry.from == 0 && entry.to == 0 {
            return None;
        }
        let mut until = 0;
        if let Some(next) = next {
            if index == 1 && next == *entry && entry.from.wrapping_sub(entry.to) > MAX_LOOP {
                return None;
            }
            // Where `from` is before `to`, the difference is huge.
            if entry.to != 0 && next.from != 0 && next.from.wrapping_sub(entry.to) <= MAX_RUN {
                until = next.from;
            }
        }
        Some(Edge {
            from: entry.from,
            to: entry.to,
            until,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(entries: &[(u64, u64)]) -> Vec<(u64, u64, u64)> {
        let stack: Vec<Branch> = entries.iter().map(|&(f, t)| Branch::of(f, t)).collect();
        edges(&stack).map(|e| (e.from, e.to, e.until)).collect()
    }

    #[test]
    fn runs_lie_between_neighbours() {
        assert_eq!(
            stack(&[(0x50, 0x10), (0x30, 0x40), (0x18, 0x20)]),
            [(0x50, 0x10, 0), (0x30, 0x40, 0x50), (0x18, 0x20, 0x30)]
        );
    }

    #[test]
    fn impossible_runs_are_left_out_and_their_branches_kept() {
        assert_eq!(
            stack(&[(0x10, 0x90), (0x30, 0x40)]),
            [(0x10, 0x90, 0), (0x30, 0x40, 0)]
        );
        let far = 0x40 + MAX_RUN;
        assert_eq!(stack(&[(far, 1), (2, 0x40)])[1], (2, 0x40, far));
        assert_eq!(stack(&[(far + 1, 1), (2, 0x40)])[1], (2, 0x40, 0));
    }

    #[test]
    fn a_repeated_newest_entry_is_left_out_unless_it_is_a_short_loop() {
        assert_eq!(stack(&[(0x5000, 0x10), (0x5000, 0x10)]).len(), 1);
        assert_eq!(stack(&[(0x10, 0x5000), (0x10, 0x5000)]).len(), 1);
        assert_eq!(stack(&[(0x50, 0x10), (0x50, 0x10)])[1], (0x50, 0x10, 0x50));
    }

    #[test]
    fn the_kernel_is_outside() {
        let kernel = 0xffff_ffff_8100_0000;
        assert_eq!(
            stack(&[
                (0x50, kernel),
                (kernel, kernel),
                (kernel, 0x40),
                (0x30, 0x20)
            ]),
            [(0x50, 0, 0), (0, 0x40, 0), (0x30, 0x20, 0)]
        );
    }
}
