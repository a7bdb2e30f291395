//! What is read of LLVM's text can be written, and is then read the same.
#![no_main]

use cargo_fdo::profile::sample::llvm_text;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(profile) = llvm_text::read(bytes) {
        let written = llvm_text::write(&profile);
        if written.left_out.is_empty() {
            assert_eq!(llvm_text::parse(&written.text), Ok(profile));
        }
    }
});
