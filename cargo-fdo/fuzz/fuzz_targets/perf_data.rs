//! A recording of perf, in file or in pipe form, is read or refused, and no sample is lost or made up.
//!
//! Good seeds: `perf record -o -`, with `-z` and with `-g`, of a short command.
#![no_main]

use cargo_fdo::profile::sample::perf_data;
use cargo_fdo::profile::sample::read::Selection;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(recording) = perf_data::read(bytes, &Selection::default()) {
        let in_files: u64 = recording.images.iter().map(|image| image.samples).sum();
        let elsewhere = recording.kernel_samples + recording.unmapped_samples;
        assert_eq!(in_files + elsewhere, recording.samples);
    }
});
