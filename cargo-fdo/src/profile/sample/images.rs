//! The files that were mapped to run, and what was sampled in each.

use super::recording::{ImageSamples, OUTSIDE};
use rustc_hash::FxHashMap;

type Bytes = Box<[u8]>;

/// All files of a recording, by number.
#[derive(Default)]
pub(super) struct Images {
    /// Numbers by path and build id.
    known: FxHashMap<(Bytes, Option<Bytes>), u32>,
    images: Vec<Image>,
}

struct Image {
    samples: ImageSamples,
    /// Whether its addresses are asked for, or only how many samples it has.
    wanted: bool,
}

impl Images {
    /// The number of a file; `None` for memory that has no file behind it.
    ///
    /// `wanted` is asked when the file is new.
    pub(super) fn number(
        &mut self,
        path: &[u8],
        build_id: Option<&[u8]>,
        wanted: impl FnOnce(&[u8]) -> bool,
    ) -> Option<u32> {
        if !is_file(path) {
            return None;
        }
        let key = (path.into(), build_id.map(Into::into));
        if let Some(&number) = self.known.get(&key) {
            return Some(number);
        }
        let number = u32::try_from(self.images.len()).ok()?;
        self.known.insert(key, number);
        self.images.push(Image {
            samples: ImageSamples {
                path: path.to_vec(),
                build_id: build_id.map(<[u8]>::to_vec),
                ..ImageSamples::default()
            },
            wanted: wanted(path),
        });
        Some(number)
    }

    /// Adds samples at an offset in a file.
    pub(super) fn add_address(&mut self, image: u32, offset: u64, count: u64) {
        let Some(image) = self.images.get_mut(image as usize) else {
            return;
        };
        image.samples.samples += count;
        if image.wanted {
            *image.samples.addresses.entry(offset).or_default() += count;
        }
    }

    /// Adds a taken branch; each end is a file and an offset in it, or nowhere known.
    pub(super) fn add_branch(
        &mut self,
        from: Option<(u32, u64)>,
        to: Option<(u32, u64)>,
        count: u64,
    ) {
        match (from, to) {
            (Some((image, from)), Some((other, to))) if image == other => {
                self.branch(image, (from, to), count);
            }
            (from, to) => {
                if let Some((image, from)) = from {
                    self.branch(image, (from, OUTSIDE), count);
                }
                if let Some((image, to)) = to {
                    self.branch(image, (OUTSIDE, to), count);
                }
            }
        }
    }

    fn branch(&mut self, image: u32, ends: (u64, u64), count: u64) {
        if let Some(image) = self.images.get_mut(image as usize)
            && image.wanted
        {
            *image.samples.branches.entry(ends).or_default() += count;
        }
    }

    /// Adds a straight run of code.
    pub(super) fn add_range(&mut self, image: u32, ends: (u64, u64), count: u64) {
        if let Some(image) = self.images.get_mut(image as usize)
            && image.wanted
        {
            *image.samples.ranges.entry(ends).or_default() += count;
        }
    }

    /// Those in which anything was sampled, most samples first.
    ///
    /// `build_id` is asked for the build id of a file by its path where the mapping had none. Files
    /// that turn out to be the same one are put together.
    pub(super) fn finish(self, build_id: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Vec<ImageSamples> {
        let mut merged: Vec<ImageSamples> = Vec::new();
        let mut index = FxHashMap::default();
        for Image { mut samples, .. } in self.images {
            if samples.samples == 0 && samples.branches.is_empty() && samples.ranges.is_empty() {
                continue;
            }
            if samples.build_id.is_none() {
                samples.build_id = build_id(&samples.path);
            }
            let key = (samples.path.clone(), samples.build_id.clone());
            match index.get(&key).and_then(|&at: &usize| merged.get_mut(at)) {
                Some(first) => add(first, samples),
                None => {
                    index.insert(key, merged.len());
                    merged.push(samples);
                }
            }
        }
        merged.sort_by(|a, b| (b.samples, &a.path).cmp(&(a.samples, &b.path)));
        merged
    }
}

/// Adds what `more` holds to the same file's samples.
fn add(to: &mut ImageSamples, more: ImageSamples) {
    to.samples += more.samples;
    for (address, count) in more.addresses {
        *to.addresses.entry(address).or_default() += count;
    }
    for (ends, count) in more.branches {
        *to.branches.entry(ends).or_default() += count;
    }
    for (ends, count) in more.ranges {
        *to.ranges.entry(ends).or_default() += count;
    }
}

/// Whether a mapping's name is that of a file, or of code that the kernel put there (`[vdso]`).
///
/// The others are perf's and the kernel's names for memory without one, where code is made at run
/// time (`is_anon_memory` and `is_no_dso_memory` in `tools/perf/util/map.c`).
pub(in crate::profile) fn is_file(path: &[u8]) -> bool {
    const NO_FILE: [&[u8]; 9] = [
        b"//anon",
        b"/dev/zero",
        b"/anon_hugepage",
        b"/memfd:",
        b"/SYSV",
        b"[stack",
        b"[heap",
        b"[anon",
        b"anon_inode:",
    ];
    !path.is_empty() && !NO_FILE.iter().any(|name| path.starts_with(name))
}
