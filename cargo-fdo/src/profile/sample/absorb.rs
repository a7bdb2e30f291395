//! Several recordings as one.
//!
//! Counts of addresses are added up before anything is converted: debug information is then read
//! once, and a position's count does not depend on which run of the program took its samples.

use super::recording::{ImageSamples, Recording};
use std::collections::HashMap;
use std::hash::Hash;

impl Recording {
    /// Adds another recording, each of its samples `weight` times. Sums saturate.
    ///
    /// Images are the same if their build ids are; without one on both sides, if their paths are.
    /// `cut_short_at` stays that of the first recording that has one.
    pub fn absorb(&mut self, other: Recording, weight: u64) {
        if self.event.name.is_empty() {
            self.event.name = other.event.name;
        }
        self.event.branch_stacks |= other.event.branch_stacks;
        let add = |sum: &mut u64, count: u64| {
            *sum = sum.saturating_add(count.saturating_mul(weight));
        };
        add(&mut self.samples, other.samples);
        add(&mut self.kernel_samples, other.kernel_samples);
        add(&mut self.unmapped_samples, other.unmapped_samples);
        add(&mut self.lost_samples, other.lost_samples);
        self.cut_short_at = self.cut_short_at.or(other.cut_short_at);
        for image in other.images {
            let known = self.images.iter_mut().find(|known| is_same(known, &image));
            let into = match known {
                Some(known) => known,
                None => {
                    self.images.push(ImageSamples {
                        path: image.path.clone(),
                        build_id: image.build_id.clone(),
                        ..ImageSamples::default()
                    });
                    self.images.last_mut().expect("it was just pushed")
                }
            };
            add(&mut into.samples, image.samples);
            absorb(&mut into.addresses, image.addresses, weight);
            absorb(&mut into.branches, image.branches, weight);
            absorb(&mut into.ranges, image.ranges, weight);
        }
    }
}

fn is_same(left: &ImageSamples, right: &ImageSamples) -> bool {
    match (&left.build_id, &right.build_id) {
        (Some(left), Some(right)) => left == right,
        (None, None) => left.path == right.path,
        _ => false,
    }
}

fn absorb<K: Eq + Hash, S: std::hash::BuildHasher>(
    into: &mut HashMap<K, u64, S>,
    from: HashMap<K, u64, S>,
    weight: u64,
) {
    for (key, count) in from {
        let sum = into.entry(key).or_default();
        *sum = sum.saturating_add(count.saturating_mul(weight));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(path: &str, build_id: Option<&[u8]>, addresses: &[(u64, u64)]) -> ImageSamples {
        ImageSamples {
            path: path.into(),
            build_id: build_id.map(<[u8]>::to_vec),
            addresses: addresses.iter().copied().collect(),
            samples: addresses.iter().map(|(_, count)| count).sum(),
            ..ImageSamples::default()
        }
    }

    fn recording(images: Vec<ImageSamples>) -> Recording {
        Recording {
            samples: images.iter().map(|image| image.samples).sum(),
            images,
            ..Recording::default()
        }
    }

    #[test]
    fn images_are_one_by_their_build_id_wherever_they_lay() {
        let mut all = Recording::default();
        all.absorb(
            recording(vec![image("/a/app", Some(b"1"), &[(8, 5), (16, 1)])]),
            1,
        );
        all.absorb(
            recording(vec![
                image("/b/app", Some(b"1"), &[(8, 2)]),
                image("/a/app", Some(b"2"), &[(8, 1)]),
                image("/lib", None, &[(4, 1)]),
            ]),
            10,
        );
        all.absorb(recording(vec![image("/lib", None, &[(4, u64::MAX)])]), 3);
        let counts: Vec<u64> = all.images.iter().map(|image| image.samples).collect();
        assert_eq!(counts, [26, 10, u64::MAX]);
        assert_eq!(all.images[0].addresses[&8], 25);
        assert_eq!(all.images[2].addresses[&4], u64::MAX);
    }
}
