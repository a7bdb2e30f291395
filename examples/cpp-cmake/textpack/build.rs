//! Lets the program find the shared library where the build left it, also when it is run
//! without cargo.
//!
//! The linker arguments of a library's build script do not reach the programs that use it, so
//! that each program has to say this itself.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_SHARED").is_none() {
        return;
    }
    // One of the two: `textpack` and `textpack-fdo` share this script.
    for variable in ["DEP_TEXTPACK_LIB", "DEP_TEXTPACK_FDO_LIB"] {
        if let Ok(directory) = env::var(variable) {
            println!("cargo::rustc-link-arg=-Wl,-rpath,{directory}");
        }
    }
}
