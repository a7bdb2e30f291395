//! Whole stacks of a recording, of `perf script` text or of folded lines are read or refused, and the drawn ones
//! are no more than the samples.
//!
//! Good seeds: `perf record --call-graph dwarf,1024 -o -` and `--call-graph fp` of a short command, its
//! `perf script`, and what `cargo fdo flamegraph --folded` makes of it.
#![no_main]

use cargo_fdo::profile::stacks::{self, Sources};
use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let sources = Sources {
        // What it says depends on the machine.
        kallsyms: Path::new("/no/kallsyms"),
        ..Sources::default()
    };
    if let Ok(stacks) = stacks::read(bytes, sources) {
        assert!(stacks.truncated <= stacks.samples);
        assert!(stacks.unnamed_share() <= 1.0);
    }
});
