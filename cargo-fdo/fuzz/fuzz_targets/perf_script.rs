//! What `perf script` prints is read or refused, and no sample is lost or made up.
//!
//! Good seeds: the lines in the tests of `profile/sample/perf_script`.
#![no_main]

use cargo_fdo::profile::sample::perf_script;
use cargo_fdo::profile::sample::read::Selection;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(recording) = perf_script::read(bytes, &Selection::default()) {
        let in_files: u64 = recording.images.iter().map(|image| image.samples).sum();
        let elsewhere = recording.kernel_samples + recording.unmapped_samples;
        assert_eq!(in_files + elsewhere, recording.samples);
    }
});
