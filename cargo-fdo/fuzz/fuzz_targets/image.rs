//! A program with debug information is converted against, or refused, whatever its tables say; each byte of it is
//! sampled once, with and without branches.
//!
//! Good seeds: shared objects of a few kilobytes, by `gcc -g1 -O2 -shared -nostdlib`, `clang -gdwarf-4`, with
//! `-gz`, linked by `lld`.
#![no_main]

use cargo_fdo::profile::sample::convert::convert;
use cargo_fdo::profile::sample::image::Image;
use cargo_fdo::profile::sample::policy::{Flavour, Policy};
use cargo_fdo::profile::sample::recording::ImageSamples;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(image) = Image::read(bytes) else {
        return;
    };
    let length = bytes.len() as u64;
    let mut samples = ImageSamples {
        addresses: (0..length).map(|at| (at, at % 7)).collect(),
        samples: (0..length).map(|at| at % 7).sum(),
        ..ImageSamples::default()
    };
    for flavour in [Flavour::Llvm, Flavour::Gcc] {
        let _ = convert(&samples, &image, &Policy::of(flavour));
    }
    samples.ranges = (0..length / 16)
        .map(|at| ((at * 16, at * 16 + 12), 3))
        .collect();
    samples.branches = (0..length / 16)
        .map(|at| ((at * 16 + 12, at * 8), 2))
        .collect();
    let _ = convert(&samples, &image, &Policy::of_create_gcov());
});
