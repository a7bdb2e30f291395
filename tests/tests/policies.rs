//! `[package.NAME]` of fdo.toml: whose code gets flags, and what the match is judged by.

mod mixed;

use fdo_tests::{Call, Sandbox, tools};
use mixed::{C, RUST, build, train};

/// The last call that compiled a C source in a phase.
#[track_caller]
fn clang(t: &Sandbox, phase: &str, source: &str) -> Call {
    let phase = format!("/fdo/{phase}/");
    let mut calls = t
        .calls(&tools::llvm("clang"))
        .into_iter()
        .filter(|call| call.env.contains_key("OUT_DIR"));
    let of_source = |call: &Call| {
        call.has("-c")
            && call.env["OUT_DIR"].contains(&phase)
            && call.args.iter().any(|arg| arg.ends_with(source))
    };
    let call = calls.rfind(of_source);
    call.unwrap_or_else(|| panic!("`{source}` was not compiled in {phase}"))
}

/// The last call that compiled a crate in a phase.
#[track_caller]
fn rustc(t: &Sandbox, phase: &str, name: &str) -> Call {
    let phase = format!("/fdo/{phase}/");
    let calls = t.calls("rustc-wrapper").into_iter();
    let call = calls
        .filter(|call| call.value_of("--crate-name") == Some(name))
        .rfind(|call| {
            call.value_of("--out-dir")
                .is_some_and(|dir| dir.contains(&phase))
        });
    call.unwrap_or_else(|| panic!("`{name}` was not compiled in {phase}"))
}

fn is_profiled(call: &Call) -> bool {
    ["-fprofile", "-Cprofile"]
        .iter()
        .any(|flag| call.has_prefix(flag))
}

#[track_caller]
fn languages(t: &Sandbox) -> Vec<String> {
    let (used, all) = mixed::used(t);
    assert!(used > 0.95, "{all:#}");
    let list = all["languages"].as_array().expect("a list").iter();
    list.map(|pair| pair[0].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn excluded_c_sources_get_no_flags_in_either_phase() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox().file("fdo.toml", "[package.native]\nc-exclude = [\"c/tw*.c\"]\n");
    train(&t, RUST, C);
    build(&t);
    for phase in ["instrument", "optimize"] {
        assert!(is_profiled(&clang(&t, phase, "spin.c")), "{phase}");
        assert!(!is_profiled(&clang(&t, phase, "twist.c")), "{phase}");
    }
    assert_eq!(languages(&t), ["Rust", "C and C++"]);
}

#[test]
fn a_package_without_c_profile_is_compiled_plainly() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox().file("fdo.toml", "[package.native]\nc = false\n");
    train(&t, RUST, C);
    build(&t);
    for phase in ["instrument", "optimize"] {
        assert!(!is_profiled(&clang(&t, phase, "spin.c")), "{phase}");
        assert!(is_profiled(&rustc(&t, phase, "native")), "{phase}");
    }
    assert_eq!(languages(&t), ["Rust"]);
}

#[test]
fn a_package_without_rust_profile_is_compiled_plainly() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox().file("fdo.toml", "[package.work]\nrust = false\n");
    train(&t, RUST, C);
    build(&t);
    for phase in ["instrument", "optimize"] {
        assert!(!is_profiled(&rustc(&t, phase, "work")), "{phase}");
        assert!(is_profiled(&rustc(&t, phase, "app")), "{phase}");
        assert!(is_profiled(&clang(&t, phase, "spin.c")), "{phase}");
    }
    assert_eq!(languages(&t), ["Rust", "C and C++"]);
}

#[test]
fn what_a_policy_leaves_out_after_the_training_is_not_called_lost() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    train(&t, RUST, C);
    build(&t);
    assert!(is_profiled(&clang(&t, "optimize", "spin.c")));

    t.write("fdo.toml", "[package.native]\nc = false\n");
    build(&t);
    assert!(!is_profiled(&clang(&t, "optimize", "spin.c")));
    assert_eq!(languages(&t), ["Rust"]);

    t.write("fdo.toml", "[package.work]\nrust = false\n");
    build(&t);
    assert!(is_profiled(&clang(&t, "optimize", "spin.c")));
    assert!(!is_profiled(&rustc(&t, "optimize", "work")));
    assert_eq!(languages(&t), ["Rust", "C and C++"]);

    t.write(
        "fdo.toml",
        "[package.native]\nc-exclude = [\"c/twist.c\"]\n",
    );
    build(&t);
    assert!(is_profiled(&rustc(&t, "optimize", "work")));
    assert!(is_profiled(&clang(&t, "optimize", "spin.c")));
    assert!(!is_profiled(&clang(&t, "optimize", "twist.c")));
    assert_eq!(languages(&t), ["Rust", "C and C++"]);

    // A new version is still that package.
    t.write("fdo.toml", "[package.native]\nc = false\n");
    mixed::edit(&t, "native/Cargo.toml", "0.1.0", "0.9.0");
    build(&t);
    assert_eq!(languages(&t), ["Rust"]);

    // And back.
    t.write("fdo.toml", "");
    build(&t);
    assert!(is_profiled(&clang(&t, "optimize", "twist.c")));
    mixed::assert_all_used(&t);
}
