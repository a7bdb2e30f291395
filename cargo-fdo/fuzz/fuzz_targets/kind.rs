//! Any file has a kind or none, and names are shown whatever they are.
#![no_main]

use cargo_fdo::profile::kind::Kind;
use cargo_fdo::profile::names;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(kind) = Kind::of(bytes) {
        let _ = kind.version(bytes);
    }
    if let Ok(name) = std::str::from_utf8(bytes) {
        let _ = names::demangled(name);
    }
});
