//! What one process has mapped to run, and when two mappings contradict each other.

/// A stretch of a process's address space that holds a part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::profile) struct Mapping {
    /// First address.
    pub(in crate::profile) start: u64,
    /// Address after the last.
    pub(in crate::profile) end: u64,
    /// What to add to an address for its offset in the file, modulo 2^64.
    pub(in crate::profile) shift: u64,
    /// Number of the file in [`Images`](super::images::Images); `None` for memory without a file.
    pub(in crate::profile) image: Option<u32>,
}

impl Mapping {
    /// `len` bytes at `start` that show the file from `offset` on; `None` for an empty stretch.
    pub(in crate::profile) fn new(
        start: u64,
        len: u64,
        offset: u64,
        image: Option<u32>,
    ) -> Option<Mapping> {
        let end = start.saturating_add(len);
        (end > start).then_some(Mapping {
            start,
            end,
            shift: offset.wrapping_sub(start),
            image,
        })
    }

    fn overlaps(&self, other: &Mapping) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Whether both give the same answer where they overlap.
    fn agrees(&self, other: &Mapping) -> bool {
        self.image == other.image && (self.shift == other.shift || self.image.is_none())
    }
}

/// Mappings that do not overlap, by address.
#[derive(Debug, Clone, Default)]
pub(in crate::profile) struct Maps(Vec<Mapping>);

impl Maps {
    /// Whether nothing is mapped.
    pub(in crate::profile) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The mapping that holds an address.
    pub(in crate::profile) fn find(&self, address: u64) -> Option<&Mapping> {
        let after = self.0.partition_point(|mapping| mapping.start <= address);
        let mapping = self.0.get(after.checked_sub(1)?)?;
        (address < mapping.end).then_some(mapping)
    }

    /// Those that a new mapping would overlap, as a range of indices.
    fn overlapped(&self, new: &Mapping) -> std::ops::Range<usize> {
        let first = self.0.partition_point(|mapping| mapping.end <= new.start);
        let count = self.0[first..]
            .iter()
            .take_while(|mapping| mapping.overlaps(new))
            .count();
        first..first + count
    }

    /// Whether a new mapping changes what is known about any address.
    pub(in crate::profile) fn contradicts(&self, new: &Mapping) -> bool {
        self.0[self.overlapped(new)]
            .iter()
            .any(|mapping| !mapping.agrees(new))
    }

    /// Adds a mapping over whatever was there.
    pub(in crate::profile) fn insert(&mut self, mut new: Mapping) {
        let overlapped = self.overlapped(&new);
        let mut left = None;
        let mut right = None;
        for old in &self.0[overlapped.clone()] {
            if old.agrees(&new) {
                new.start = new.start.min(old.start);
                new.end = new.end.max(old.end);
                continue;
            }
            if old.start < new.start {
                left = Some(Mapping {
                    end: new.start,
                    ..*old
                });
            }
            if old.end > new.end {
                right = Some(Mapping {
                    start: new.end,
                    ..*old
                });
            }
        }
        let parts = [left, Some(new), right];
        self.0.splice(overlapped, parts.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, len: u64, offset: u64, image: u32) -> Mapping {
        Mapping::new(start, len, offset, Some(image)).unwrap()
    }

    #[test]
    fn a_mapping_hides_what_it_covers_and_leaves_the_rest() {
        let mut maps = Maps::default();
        maps.insert(mapping(0x1000, 0x9000, 0, 1));
        let new = mapping(0x3000, 0x1000, 0x77000, 2);
        assert!(maps.contradicts(&new));
        maps.insert(new);
        let at = |address: u64| {
            let found = maps.find(address)?;
            Some((found.image?, address.wrapping_add(found.shift)))
        };
        assert_eq!(at(0xfff), None);
        assert_eq!(at(0x2fff), Some((1, 0x1fff)));
        assert_eq!(at(0x3000), Some((2, 0x77000)));
        assert_eq!(at(0x4000), Some((1, 0x3000)));
        assert_eq!(at(0x9fff), Some((1, 0x8fff)));
        assert_eq!(at(0xa000), None);
    }

    #[test]
    fn the_same_file_at_the_same_place_is_no_contradiction() {
        let mut maps = Maps::default();
        maps.insert(mapping(0x1000, 0x2000, 0x5000, 1));
        let more = mapping(0x2000, 0x3000, 0x6000, 1);
        assert!(!maps.contradicts(&more));
        maps.insert(more);
        assert_eq!(maps.0, [mapping(0x1000, 0x4000, 0x5000, 1)]);
        assert!(maps.contradicts(&mapping(0x2000, 0x1000, 0, 1)));
    }

    #[test]
    fn addresses_up_to_the_last_one_are_covered() {
        let mut maps = Maps::default();
        maps.insert(mapping(u64::MAX - 0xfff, u64::MAX, 0, 1));
        assert!(maps.find(u64::MAX - 1).is_some());
        assert!(Mapping::new(5, 0, 0, None).is_none());
    }
}
