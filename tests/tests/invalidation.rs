//! What a build compiles again: all that a changed profile concerns, and nothing else.

mod mixed;

use mixed::{C, Log, RUST, build, output, set, train};

#[test]
fn nothing_is_compiled_again_where_nothing_changed() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    let mut log = Log::default();
    train(&t, RUST, C);
    build(&t);
    let first = log.since(&t, "optimize");
    assert_eq!(first.crates, set(["app", "work", "native", "plain"]));
    assert_eq!(first.sources, set(["spin.c", "twist.c"]));

    build(&t);
    let again = log.since(&t, "optimize");
    assert!(again.is_nothing(), "built twice: {again:?}");

    // The same training gives the same profile.
    let _ = log.since(&t, "instrument");
    train(&t, RUST, C);
    let training = log.since(&t, "instrument");
    assert!(training.is_nothing(), "trained twice: {training:?}");
    build(&t);
    let again = log.since(&t, "optimize");
    assert!(again.is_nothing(), "an equal profile: {again:?}");
    assert!(mixed::used(&t).0 > 0.95);
}

#[test]
fn a_new_profile_rebuilds_all_that_uses_it_and_no_host_code() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    let mut log = Log::default();
    train(&t, RUST, C);
    build(&t);
    let first = log.since(&t, "optimize");
    assert!(first.host.contains("mac:mac"), "{first:?}");
    assert!(first.host.contains("plain:build_script_build"), "{first:?}");

    train(&t, RUST / 8, C / 4);
    let built = build(&t);
    let second = log.since(&t, "optimize");
    assert_eq!(second.crates, set(["app", "work", "native", "plain"]));
    assert_eq!(second.sources, set(["spin.c", "twist.c"]));
    // The script that compiles C must run again, and cargo compiles it for that.
    assert_eq!(second.host, set(["native:build_script_build"]));
    let (used, all) = mixed::used(&t);
    assert!(used > 0.95, "{all:#}");
    assert_eq!(output(&t, &built, 0, 0), "0 0 3\n");
}

#[test]
fn a_profile_that_differs_in_rust_only_leaves_c_objects_alone() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    let mut log = Log::default();
    train(&t, RUST, C);
    build(&t);
    let _ = log.since(&t, "optimize");

    train(&t, RUST + 1_000, C);
    build(&t);
    let second = log.since(&t, "optimize");
    assert_eq!(second.crates, set(["app", "work", "native", "plain"]));
    assert_eq!(second.sources, set([]));
    assert_eq!(second.host, set([]));
    assert!(mixed::used(&t).0 > 0.95);
}

#[test]
fn a_profile_that_differs_in_c_only_leaves_rust_crates_alone() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    let mut log = Log::default();
    train(&t, RUST, C);
    build(&t);
    let _ = log.since(&t, "optimize");

    train(&t, RUST, C + 1_000);
    build(&t);
    let second = log.since(&t, "optimize");
    assert_eq!(second.sources, set(["spin.c", "twist.c"]));
    // Cargo compiles what stands above a build script that ran.
    assert_eq!(second.crates, set(["app", "native"]));
    assert_eq!(second.host, set(["native:build_script_build"]));
    assert!(mixed::used(&t).0 > 0.95);
}

/// A makefile that compiles what is older than its source, and knows of nothing else.
const MAKE_BUILD: &str = r#"
fn main() {
    let out = std::env::var("OUT_DIR").unwrap();
    let status = std::process::Command::new("make")
        .args(["-C", "c", &format!("OUT={out}")])
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=spin");
    println!("cargo:rerun-if-changed=c");
}
"#;

const MAKEFILE: &str = "$(OUT)/libspin.a: $(OUT)/spin.o $(OUT)/twist.o\n\
    \tar crs $@ $^\n\
    $(OUT)/%.o: %.c\n\
    \t$(CC) -O2 -fPIC -c -o $@ $<\n";

#[test]
fn a_makefile_that_knows_no_profile_compiles_with_the_new_one() {
    if !mixed::require() {
        return;
    }
    fdo_tests::require!("make");
    let t = mixed::sandbox()
        .file("native/build.rs", MAKE_BUILD)
        .file("native/c/Makefile", MAKEFILE);
    let mut log = Log::default();
    train(&t, RUST, C);
    build(&t);
    let first = log.since(&t, "optimize");
    assert_eq!(first.sources, set(["spin.c", "twist.c"]));
    train(&t, RUST, C + 1_000);
    build(&t);
    let second = log.since(&t, "optimize");
    assert_eq!(second.sources, set(["spin.c", "twist.c"]));
    mixed::assert_all_used(&t);
}
