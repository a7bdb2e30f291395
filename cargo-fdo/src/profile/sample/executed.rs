//! What a recording says of an image's code, by the linker's addresses.

use super::dwarf::Touched;
use super::image::Image;
use super::recording::{ImageSamples, OUTSIDE};
use std::collections::BTreeMap;
use std::ops::Range;

/// Samples, or with branch stacks what was executed.
#[derive(Debug, Default)]
pub(super) struct Executed {
    pub(super) branch_stacks: bool,
    /// Code that has one count, in order of address, not overlapping: with branch stacks what ran
    /// equally often, without them each byte that was sampled.
    pub(super) counts: Vec<(Range<u64>, u64)>,
    /// All samples; with branch stacks, bytes executed.
    pub(super) weight: u64,
    /// Those at offsets that are not loaded.
    pub(super) not_loaded: u64,
    into: Vec<Branch>,
    out: Vec<Branch>,
}

/// A taken branch between two addresses, by the end that it is looked up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Branch {
    this: u64,
    /// The other end; [`OUTSIDE`] if it is not in the image.
    pub(super) other: u64,
    pub(super) count: u64,
}

/// What is known of a stretch of code, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Weight {
    /// The largest count of a byte.
    pub(super) max: u64,
    /// Counts of all bytes.
    pub(super) sum: u64,
}

impl Weight {
    /// Of a stretch of code by `counts`, which are in order and do not overlap.
    pub(super) fn of(code: &Range<u64>, counts: &[(Range<u64>, u64)]) -> Weight {
        let mut weight = Weight::default();
        let first = counts.partition_point(|(range, _)| range.end <= code.start);
        let rest = counts.get(first..).unwrap_or_default();
        for (range, count) in rest.iter().take_while(|(range, _)| range.start < code.end) {
            let (begin, end) = (range.start.max(code.start), range.end.min(code.end));
            let bytes = end.saturating_sub(begin);
            weight.join(Weight {
                max: *count,
                sum: count.saturating_mul(bytes),
            });
        }
        weight
    }

    pub(super) fn join(&mut self, other: Weight) {
        self.max = self.max.max(other.max);
        add(&mut self.sum, other.sum);
    }
}

/// Adds, but not beyond the largest number.
pub(super) fn add(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}

impl Executed {
    pub(super) fn new(samples: &ImageSamples, image: &Image<'_>) -> Executed {
        let mut executed = Executed {
            branch_stacks: !samples.ranges.is_empty() || !samples.branches.is_empty(),
            ..Executed::default()
        };
        if executed.branch_stacks {
            executed.read_branch_stacks(samples, image);
        } else {
            executed.read_addresses(samples, image);
        }
        executed
    }

    fn read_addresses(&mut self, samples: &ImageSamples, image: &Image<'_>) {
        for (&at, &count) in &samples.addresses {
            add(&mut self.weight, count);
            match image.address(at).and_then(one) {
                Some(byte) => self.counts.push((byte, count)),
                None => add(&mut self.not_loaded, count),
            }
        }
        self.counts.sort_unstable_by_key(|(code, _)| code.start);
    }

    fn read_branch_stacks(&mut self, samples: &ImageSamples, image: &Image<'_>) {
        let mut ranges = Vec::new();
        for (&(first, last), &count) in &samples.ranges {
            let bytes = last.saturating_sub(first).saturating_add(1);
            add(&mut self.weight, count.saturating_mul(bytes));
            let last = image.address(last).and_then(one);
            match image.address(first).zip(last) {
                Some((first, last)) if first < last.end => ranges.push((first..last.end, count)),
                _ => add(&mut self.not_loaded, count.saturating_mul(bytes)),
            }
        }
        self.counts = disjoint(ranges);
        let end = |at| match at {
            OUTSIDE => Some(OUTSIDE),
            at => image.address(at),
        };
        for (&(from, to), &count) in &samples.branches {
            let Some((from, to)) = end(from).zip(end(to)) else {
                continue;
            };
            for (list, this, other) in [(&mut self.into, to, from), (&mut self.out, from, to)] {
                if this != OUTSIDE {
                    list.push(Branch { this, other, count });
                }
            }
        }
        self.into.sort_unstable();
        self.out.sort_unstable();
    }

    /// All code that matters.
    pub(super) fn touched(&self) -> Touched {
        let ends = self.into.iter().chain(&self.out);
        let ends = ends.filter_map(|branch| one(branch.this));
        let counted = self.counts.iter().map(|(code, _)| code.clone());
        Touched::new(counted.chain(ends).collect())
    }

    /// Branches to an address.
    pub(super) fn into(&self, address: u64) -> &[Branch] {
        within(&self.into, &(address..address.saturating_add(1)))
    }

    /// Branches from a stretch of code.
    pub(super) fn out_of(&self, code: &Range<u64>) -> &[Branch] {
        within(&self.out, code)
    }
}

fn within<'b>(branches: &'b [Branch], code: &Range<u64>) -> &'b [Branch] {
    let first = branches.partition_point(|branch| branch.this < code.start);
    let rest = branches.get(first..).unwrap_or_default();
    &rest[..rest.partition_point(|branch| branch.this < code.end)]
}

/// One byte of code.
fn one(at: u64) -> Option<Range<u64>> {
    Some(at..at.checked_add(1)?)
}

/// Cuts overlapping ranges so that each piece has one count.
fn disjoint(ranges: Vec<(Range<u64>, u64)>) -> Vec<(Range<u64>, u64)> {
    let mut edges: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for (range, count) in ranges {
        add(&mut edges.entry(range.start).or_default().0, count);
        add(&mut edges.entry(range.end).or_default().1, count);
    }
    let mut pieces = Vec::new();
    let mut running: u64 = 0;
    let mut from = 0;
    for (at, (begin, end)) in edges {
        if running > 0 {
            pieces.push((from..at, running));
        }
        running = running.saturating_add(begin).saturating_sub(end);
        from = at;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_ranges() {
        let pieces = disjoint(vec![
            (0..10, 5),
            (4..6, 2),
            (10..12, 1),
            (4..6, 1),
            (20..21, 9),
        ]);
        let expected = [(0..4, 5), (4..6, 8), (6..10, 5), (10..12, 1), (20..21, 9)];
        assert_eq!(pieces, expected);
        assert_eq!(
            Weight::of(&(5..11), &pieces),
            Weight {
                max: 8,
                sum: 8 + 20 + 1
            }
        );
        assert_eq!(Weight::of(&(12..20), &pieces), Weight::default());
        let full = disjoint(vec![(0..u64::MAX, u64::MAX), (1..2, u64::MAX)]);
        assert_eq!(Weight::of(&(0..9), &full).max, u64::MAX);
    }

    #[test]
    fn branches_by_either_end() {
        let branch = |this, other| Branch {
            this,
            other,
            count: 1,
        };
        let branches = [branch(3, 0), branch(5, 7), branch(5, 9), branch(8, 1)];
        assert_eq!(within(&branches, &(5..8)), &branches[1..3]);
        assert_eq!(within(&branches, &(9..20)), &[]);
        assert_eq!(one(u64::MAX), None);
    }
}
