//! The user's flags, wrappers, launchers and linkers still run, wherever they are set.

use fdo_tests::{Call, Fake, Sandbox, projects, require, tools};

const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// rustc's calls for the program, in a phase.
fn rustc_calls(t: &Sandbox, phase: &str) -> Vec<Call> {
    let calls = t.calls("rustc-wrapper").into_iter();
    let of_program = |call: &Call| {
        call.value_of("--crate-name") == Some("app")
            && call.has("link")
                | call
                    .args
                    .iter()
                    .any(|arg| arg.starts_with("--emit=") && arg.contains("link"))
            && call
                .env
                .get("CARGO_FDO_PHASE")
                .is_some_and(|found| found == phase)
    };
    calls.filter(of_program).collect()
}

#[track_caller]
fn last(calls: Vec<Call>, what: &str) -> Call {
    calls
        .into_iter()
        .next_back()
        .unwrap_or_else(|| panic!("no call of {what}"))
}

/// Trains and builds; both phases must have compiled the program with the flag and a profile.
#[track_caller]
fn reaches_both_phases(t: &Sandbox, flag: &str, from: &str) {
    t.train();
    t.cargo_fdo(["build"]).succeeds();
    for (phase, profile) in [
        ("instrument", "-Cprofile-generate="),
        ("optimize", "-Cprofile-use="),
    ] {
        let call = last(rustc_calls(t, phase), "rustc");
        assert!(call.has(flag), "{from}, {phase}: {:?}", call.args);
        assert!(call.has_prefix(profile), "{from}, {phase}: {:?}", call.args);
    }
}

#[test]
fn rustflags_reach_rustc_in_both_phases_from_the_environment() {
    let t = Sandbox::rust_project().rustc_wrapper();
    let t = t.env("RUSTFLAGS", "--cfg from_rustflags");
    reaches_both_phases(&t, "from_rustflags", "RUSTFLAGS");
    let t = t
        .env("RUSTFLAGS", "")
        .env("CARGO_ENCODED_RUSTFLAGS", "--cfg\x1ffrom=\"encoded flags\"");
    reaches_both_phases(&t, "from=\"encoded flags\"", "CARGO_ENCODED_RUSTFLAGS");
}

#[test]
fn rustflags_reach_rustc_in_both_phases_from_each_table_of_cargos_configuration() {
    let t = Sandbox::rust_project().rustc_wrapper();
    for (flag, table) in [
        ("from_build", "[build]".to_owned()),
        ("from_triple", format!("[target.{TRIPLE}]")),
        ("from_cfg", "[target.'cfg(unix)']".to_owned()),
    ] {
        t.write(
            ".cargo/config.toml",
            &format!("{table}\nrustflags = [\"--cfg\", \"{flag}\"]\n"),
        );
        reaches_both_phases(&t, flag, &table);
    }
}

#[test]
fn the_rustc_wrapper_of_cargos_configuration_still_runs() {
    let t = Sandbox::rust_project()
        .fake("rustc-wrapper", Fake::wrapper())
        // Relative to the directory of `.cargo`, as cargo has it.
        .file(
            ".cargo/config.toml",
            "[build]\nrustc-wrapper = \"../tools/rustc-wrapper\"\n",
        );
    t.train();
    t.cargo_fdo(["build"]).succeeds();
    assert!(!rustc_calls(&t, "instrument").is_empty());
    assert!(!rustc_calls(&t, "optimize").is_empty());
}

#[test]
fn wrapper_and_target_of_the_command_line_hold() {
    let t = Sandbox::rust_project().fake("rustc-wrapper", Fake::wrapper());
    let wrapper = t.root().join("tools/rustc-wrapper");
    let config = format!("build.rustc-wrapper=\"{}\"", wrapper.display());
    t.cargo_fdo([
        "train",
        "--no-overhead",
        "--config",
        &config,
        "--",
        "{bin:app}",
    ])
    .succeeds();
    assert!(!rustc_calls(&t, "instrument").is_empty());
    let two = format!("build.target=[\"{TRIPLE}\", \"wasm32-wasip1\"]");
    let run = t.cargo_fdo(["build", "--config", &two]).fails_with(2);
    run.stderr_has("one run builds for one target");
}

#[test]
fn an_empty_rustc_wrapper_switches_the_configured_one_off() {
    let t = Sandbox::rust_project()
        .fake("rustc-wrapper", Fake::fails("must not run"))
        .file(
            ".cargo/config.toml",
            "[build]\nrustc-wrapper = \"../tools/rustc-wrapper\"\n",
        )
        .env("RUSTC_WRAPPER", "");
    t.cargo(["check", "--offline"]).succeeds();
    t.train();
}

#[test]
fn a_workspace_wrapper_still_runs_and_the_profile_matches() {
    let t = Sandbox::rust_project().fake("rustc-wrapper", Fake::wrapper());
    let wrapper = t.root().join("tools/rustc-wrapper");
    let t = t.env("RUSTC_WORKSPACE_WRAPPER", wrapper);
    t.train();
    t.cargo_fdo(["build"]).succeeds();
    // It is given the flags of the profile, and takes part in both phases.
    reaches_both_phases(
        &t,
        "-Csymbol-mangling-version=v0",
        "RUSTC_WORKSPACE_WRAPPER",
    );
    assert_eq!(t.used("Rust"), Some(1.0));
}

#[test]
fn a_linker_of_the_user_links_both_phases() {
    require!("gcc");
    let t = Sandbox::rust_project().fake("my-linker", Fake::wrapper());
    let script = t.root().join("tools/my-gcc");
    let linker = t.root().join("tools/my-linker");
    std::fs::write(
        &script,
        format!("#!/bin/sh\nexec '{}' gcc \"$@\"\n", linker.display()),
    )
    .unwrap();
    make_executable(&script);
    let config = format!("[target.{TRIPLE}]\nlinker = \"{}\"\n", script.display());
    let t = t.file(".cargo/config.toml", &config);
    t.train();
    t.cargo_fdo(["build"]).succeeds();
    let phase_of = |call: &Call| call.env.get("CARGO_FDO_PHASE").cloned();
    let links = t.calls("my-linker");
    for phase in ["instrument", "optimize"] {
        assert!(
            links
                .iter()
                .any(|call| phase_of(call).as_deref() == Some(phase)),
            "{phase}"
        );
    }
}

fn make_executable(file: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The compiler's calls for `hot.c`, in a phase.
#[track_caller]
fn c_call(t: &Sandbox, tool: &str, phase: &str) -> Call {
    let calls = t.calls(tool).into_iter();
    let of_hot = |call: &Call| {
        call.has("hot.c")
            && call.has("-c")
            && call
                .env
                .get("CARGO_FDO_PHASE")
                .is_some_and(|found| found == phase)
    };
    last(
        calls.filter(of_hot).collect(),
        &format!("{tool} in {phase}"),
    )
}

#[test]
fn cflags_and_ccache_before_the_compiler_still_take_part() {
    let (clang, clangxx) = (tools::llvm("clang"), tools::llvm("clang++"));
    require!(&clang, &clangxx);
    let t = Sandbox::c_project(projects::BY_HAND)
        .fake("ccache", Fake::wrapper())
        .env("CC", format!("ccache {clang}"))
        .env("CFLAGS", "-DFROM_CFLAGS");
    t.train();
    t.cargo_fdo(["build"]).succeeds();
    let train = c_call(&t, "ccache", "instrument");
    let build = c_call(&t, "ccache", "optimize");
    for call in [&train, &build] {
        assert_eq!(call.args[0], clang);
        assert!(call.has("-DFROM_CFLAGS"), "{:?}", call.args);
        // ccache must see what decides the object.
        assert!(call.env.contains_key("CCACHE_EXTRAFILES"));
    }
    assert!(train.has_prefix("-fprofile-generate="));
    assert!(build.has_prefix("-fprofile-instr-use="));
    assert_eq!(t.used("C and C++"), Some(1.0));
}

#[test]
fn a_real_ccache_does_not_hand_out_objects_of_an_old_profile() {
    let clang = tools::llvm("clang");
    require!(&clang, "ccache");
    let t = Sandbox::c_project(projects::BY_HAND);
    let cache = t.root().join("ccache");
    let t = t
        .env("CC", format!("ccache {clang}"))
        .env("CCACHE_DIR", cache);
    t.train();
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), Some(1.0));
    // The same sources, another profile.
    t.cargo_fdo(["train", "--no-overhead", "--", "{bin:app}", "3000"])
        .succeeds();
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), Some(1.0));
}

#[test]
fn the_compiler_of_the_target_wins_over_the_plain_one() {
    let clang = tools::llvm("clang");
    require!(&clang, &tools::llvm("clang++"), "gcc");
    let t = Sandbox::c_project(projects::BY_HAND).spy(&clang).spy("gcc");
    let t = t
        .env("CC", "gcc")
        .env("CC_x86_64_unknown_linux_gnu", &clang);
    t.train();
    assert!(c_call(&t, &clang, "instrument").has_prefix("-fprofile-generate="));
    assert!(!t.calls("gcc").iter().any(|call| call.has("hot.c")));
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), Some(1.0));
}

#[test]
fn a_profile_flag_of_the_user_is_refused_before_anything_is_built() {
    for (name, flags) in [
        ("RUSTFLAGS", "-Cprofile-use=/x.profdata"),
        ("RUSTFLAGS", "-C profile-generate=/x"),
        ("CFLAGS", "-O2 -fprofile-instr-generate"),
        ("CFLAGS_x86_64_unknown_linux_gnu", "-fprofile-generate"),
    ] {
        let t = Sandbox::rust_project().env(name, flags);
        let run = t.cargo_fdo(["train", "--", "{bin:app}"]).fails_with(2);
        run.stderr_has(name).stderr_has("a profile of its own");
    }
}

#[test]
fn the_compiler_of_cargos_env_table_is_used_also_where_it_is_forced() {
    let clang = tools::llvm("clang");
    require!(&clang, &tools::llvm("clang++"), "gcc");
    let t = Sandbox::c_project(projects::BY_HAND)
        .spy(&clang)
        // Loses to the table below.
        .env("CC", "gcc");
    for (marker, force) in [("-DONE", true), ("-DTWO", false)] {
        let t = if force {
            &t
        } else {
            &Sandbox::c_project(projects::BY_HAND).spy(&clang)
        };
        t.write(
            ".cargo/config.toml",
            &format!("[env]\nCC = {{ value = \"{clang} {marker}\", force = {force} }}\n"),
        );
        t.train();
        let call = c_call(t, &clang, "instrument");
        assert!(
            call.has(marker) && call.has_prefix("-fprofile-generate="),
            "{:?}",
            call.args
        );
        t.cargo_fdo(["build"]).succeeds();
        assert!(c_call(t, &clang, "optimize").has(marker));
        assert_eq!(t.used("C and C++"), Some(1.0));
    }
}
