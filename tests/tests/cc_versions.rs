//! Old and new versions of the `cc` crate: some forward rustc's profile flags, some take only the
//! most specific variable.

use fdo_tests::{Call, Sandbox, projects, require, tools};

const PHASES: [(&str, &str); 2] = [
    ("instrument", "-fprofile-generate"),
    ("optimize", "-fprofile-instr-use"),
];

/// Calls of the real compiler for `hot.c`, in a phase.
fn compilations(t: &Sandbox, clang: &str, phase: &str) -> Vec<Call> {
    let calls = t.calls(clang).into_iter();
    let of_hot = |call: &Call| {
        call.has("-c")
            && call.args.iter().any(|arg| arg.ends_with("hot.c"))
            && call
                .env
                .get("CARGO_FDO_PHASE")
                .is_some_and(|found| found == phase)
    };
    calls.filter(of_hot).collect()
}

fn profiled_once_by_each(versions: &[&str], rustflags: &str) {
    let (clang, clangxx) = (tools::llvm("clang"), tools::llvm("clang++"));
    require!(&clang, &clangxx);
    let mut t = Sandbox::c_project(projects::BY_CC)
        .manifest("[build-dependencies]\ncc = \"=VERSION\"")
        .compilers(&clang, &clangxx)
        .env("RUSTFLAGS", rustflags);
    let manifest = t.read("Cargo.toml");
    for version in versions {
        t = t.file("Cargo.toml", &manifest.replace("=VERSION", version));
        // The last version would satisfy the next requirement.
        let _ = std::fs::remove_file(t.path("Cargo.lock"));
        if !t.packages_are_there() {
            return;
        }
        let before = PHASES.map(|(phase, _)| compilations(&t, &clang, phase).len());
        let run = t.train();
        run.stderr_has("app-0.1.0: 1 object, 1 with counters");
        t.cargo_fdo(["build"]).succeeds();
        for ((phase, flag), before) in PHASES.into_iter().zip(before) {
            let calls = compilations(&t, &clang, phase);
            assert!(calls.len() > before, "cc {version}, {phase}: not compiled");
            for call in &calls[before..] {
                let flags = call.args.iter().filter(|arg| arg.starts_with("-fprofile-"));
                let flags: Vec<_> = flags.collect();
                assert!(
                    matches!(flags[..], [only] if only.starts_with(flag)),
                    "cc {version}, {phase}: {flags:?}"
                );
            }
        }
        assert_eq!(t.used("C and C++"), Some(1.0), "cc {version}");
    }
}

#[test]
fn old_versions_of_cc_profile_c_once() {
    profiled_once_by_each(&["=1.2.1", "=1.2.8", "=1.2.50"], "");
}

#[test]
fn new_versions_of_cc_profile_c_once() {
    profiled_once_by_each(&["=1.7.0", "=1.8.0", "1"], "");
}

#[test]
fn versions_that_forward_rustflags_profile_c_once_with_rustflags_of_the_user() {
    profiled_once_by_each(
        &["=1.2.8", "=1.7.0"],
        "-Cforce-frame-pointers=yes -Ctarget-cpu=x86-64-v2",
    );
}

#[test]
fn a_clang_that_does_not_fit_compiles_c_without_a_profile_and_a_row_says_so() {
    require!("clang-14");
    let t = Sandbox::c_project(projects::BY_CC)
        .manifest("[build-dependencies]\ncc = \"1\"")
        .spy("clang-14")
        .env("CC", "clang-14");
    if !t.packages_are_there() {
        return;
    }
    let run = t.train();
    run.stderr_has("app-0.1.0: 1 object, 0 with counters")
        .stderr_has("built without counters: `clang-14` (CC, ")
        .stderr_has("writes raw profile version");
    t.cargo_fdo(["build"]).succeeds();
    for (phase, _) in PHASES {
        let calls = compilations(&t, "clang-14", phase);
        assert!(!calls.is_empty(), "{phase}");
        assert!(
            !calls.iter().any(|call| call.has_prefix("-fprofile-")),
            "{phase}"
        );
    }
    assert_eq!(t.used("C and C++"), None);
    assert_eq!(t.used("Rust"), Some(1.0));
}
