//! What is read of a GCC AutoFDO file can be written, and is then read the same.
#![no_main]

use cargo_fdo::profile::sample::gcov;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(file) = gcov::read(bytes) {
        // Names are cut for GCC in the first round only.
        let short = gcov::read(&gcov::write(&file).bytes).expect("ours are readable");
        assert_eq!(gcov::read(&gcov::write(&short).bytes), Ok(short));
    }
});
