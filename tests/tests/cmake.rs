//! C and C++ that the `cmake` crate builds: cargo runs the script again, but make does not
//! notice a profile.

mod mixed;

use fdo_tests::Sandbox;
use mixed::{C, Log, RUST, build, edit, output, set, train};

const LOCK: &str = include_str!("../../Cargo.lock");

const BUILD: &str = r#"
fn main() {
    let out = cmake::Config::new("c").build_target("spin").build();
    println!("cargo:rustc-link-search=native={}/build", out.display());
    println!("cargo:rustc-link-lib=static=spin");
    println!("cargo:rustc-link-lib=dylib=stdc++");
    println!("cargo:rerun-if-changed=c");
}
"#;

const CMAKE_LISTS: &str = "cmake_minimum_required(VERSION 3.10)\n\
    project(spin C CXX)\n\
    add_library(spin STATIC spin.c twist.cpp)\n\
    target_compile_options(spin PRIVATE -Wall -Werror)\n";

/// The mixed program, its native half by cmake, one source of it C++.
fn sandbox() -> Sandbox {
    let t = mixed::sandbox()
        .file("native/build.rs", BUILD)
        .file("native/c/CMakeLists.txt", CMAKE_LISTS)
        // The versions that this repository is tested with, also without a network.
        .file("Cargo.lock", LOCK);
    let manifest = t.read("native/Cargo.toml") + "[build-dependencies]\ncmake = \"0.1\"\n";
    t.write("native/Cargo.toml", &manifest);
    let twist = t.read("native/c/twist.c");
    t.write(
        "native/c/twist.cpp",
        &twist.replace("uint64_t twist", "extern \"C\" uint64_t twist"),
    );
    let _ = std::fs::remove_file(t.path("native/c/twist.c"));
    t
}

fn a_new_profile_recompiles_cmakes_objects(t: &Sandbox) {
    let mut log = Log::default();
    train(t, RUST, C);
    let trained = log.since(t, "instrument");
    assert_eq!(trained.sources, set(["spin.c", "twist.cpp"]));
    build(t);
    let first = log.since(t, "optimize");
    assert_eq!(first.sources, set(["spin.c", "twist.cpp"]));
    assert_eq!(mixed::used(t).0, 1.0);

    build(t);
    let again = log.since(t, "optimize");
    assert!(again.is_nothing(), "built twice: {again:?}");

    train(t, RUST, C + 1_000);
    build(t);
    let second = log.since(t, "optimize");
    assert_eq!(second.sources, set(["spin.c", "twist.cpp"]));
    assert!(!second.crates.contains("work"), "{second:?}");
    assert!(!second.host.iter().any(|unit| unit.starts_with("mac:")));
    assert!(!second.host.iter().any(|unit| unit.starts_with("cmake:")));
    let (used, all) = mixed::used(t);
    assert_eq!(used, 1.0, "{all:#}");

    train(t, RUST + 1_000, C + 1_000);
    let built = build(t);
    let third = log.since(t, "optimize");
    assert_eq!(third.sources, set([]), "only Rust's profile changed");
    assert_eq!(output(t, &built, 0, 0), "0 0 3\n");

    // Sources change as they always did.
    edit(t, "native/c/spin.c", "n * 7", "n * 9");
    build(t);
    assert_eq!(log.since(t, "optimize").sources, set(["spin.c"]));
}

#[test]
fn a_new_profile_recompiles_what_cmake_builds_with_make() {
    if !mixed::require() {
        return;
    }
    fdo_tests::require!("cmake", "make");
    a_new_profile_recompiles_cmakes_objects(&sandbox());
}

#[test]
fn a_new_profile_recompiles_what_cmake_builds_with_ninja() {
    if !mixed::require() {
        return;
    }
    fdo_tests::require!("cmake", "ninja");
    a_new_profile_recompiles_cmakes_objects(&sandbox().env("CMAKE_GENERATOR", "Ninja"));
}

#[test]
fn a_cmake_profile_outlives_the_move_to_another_directory() {
    if !mixed::require() {
        return;
    }
    fdo_tests::require!("cmake", "make");
    let t = sandbox();
    train(&t, RUST, C);
    let t = t.moved_to("elsewhere");
    build(&t);
    mixed::assert_all_used(&t);
}
