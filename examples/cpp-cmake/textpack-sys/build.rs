//! Builds the C++ library as any project does: nothing here knows of `cargo fdo`.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=../cpp");
    let output = cmake::build("../cpp");

    let library = output.join("lib");
    println!("cargo::rustc-link-search=native={}", library.display());
    // For the programs that depend on this package: see `textpack/build.rs`.
    println!("cargo::metadata=lib={}", library.display());
    if env::var_os("CARGO_FEATURE_SHARED").is_some() {
        println!("cargo::rustc-link-lib=dylib=textpack");
    } else {
        println!("cargo::rustc-link-lib=static=textpack");
        let apple = env::var("CARGO_CFG_TARGET_VENDOR").is_ok_and(|vendor| vendor == "apple");
        println!(
            "cargo::rustc-link-lib={}",
            if apple { "c++" } else { "stdc++" }
        );
    }
}
