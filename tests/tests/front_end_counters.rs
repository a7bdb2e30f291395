//! Counters of clang's front end: refused beside Rust's, used in an image of their own.

use fdo_tests::{Call, Sandbox, projects, require, tools};

const FRONT_END: &str = "[package.app]\ncounters = \"frontend\"\n";

/// The compiler's last call for `hot.c` in a phase.
#[track_caller]
fn compilation(t: &Sandbox, clang: &str, phase: &str) -> Call {
    let calls = t.calls(clang).into_iter();
    let mut calls = calls.filter(|call| {
        call.has("hot.c")
            && call
                .env
                .get("CARGO_FDO_PHASE")
                .is_some_and(|found| found == phase)
    });
    calls.next_back().expect("hot.c was compiled")
}

#[test]
fn front_end_counters_in_a_static_library_of_a_rust_program_are_refused() {
    require!(&tools::llvm("clang"));
    let t = Sandbox::c_project(projects::BY_HAND).file("fdo.toml", FRONT_END);
    let run = t.cargo_fdo(["train", "--", "{bin:app}"]).fails_with(2);
    run.stderr_has("package `app` has `counters = \"frontend\"`");
    t.cargo_fdo(["status"]).fails_with(5);
}

#[test]
fn a_shared_library_with_front_end_counters_gets_its_own_profile() {
    let (clang, clangxx) = (tools::llvm("clang"), tools::llvm("clang++"));
    require!(&clang, &clangxx, &tools::llvm("llvm-profdata"));
    let t = Sandbox::c_project(projects::SHARED)
        .file("fdo.toml", FRONT_END)
        .compilers(&clang, &clangxx);
    let run = t
        .cargo_fdo(["train", "--no-overhead", "--keep-raw", "--", "{bin:app}"])
        .succeeds();
    run.stderr_has("app-0.1.0: 1 object, 1 with counters");
    assert_eq!(
        t.raw_profiles().len(),
        2,
        "one of each image: {:?}",
        t.raw_profiles()
    );
    assert!(compilation(&t, &clang, "instrument").has_prefix("-fprofile-instr-generate="));

    let run = t.cargo_fdo(["build"]).succeeds();
    t.run(run.stdout().trim(), [""; 0]).succeeds();
    let call = compilation(&t, &clang, "optimize");
    let slice = call
        .args
        .iter()
        .find_map(|arg| arg.strip_prefix("-fprofile-instr-use="))
        .expect("the library is compiled with a profile");
    let shown = t
        .run(
            tools::llvm("llvm-profdata"),
            ["show", "--all-functions", "--counts", slice],
        )
        .succeeds();
    shown
        .stdout_has("hot:")
        .stdout_has("Instrumentation level: Front-end");
    // clang took it: functions have entry counts.
    let mut args: Vec<_> = call
        .args
        .iter()
        .filter(|arg| *arg != "-c")
        .cloned()
        .collect();
    let at = args.iter().position(|arg| arg == "-o").unwrap();
    args[at + 1] = "hot.ll".into();
    args.extend(["-S".into(), "-emit-llvm".into()]);
    t.run(&clang, args).succeeds();
    assert!(t.read("hot.ll").contains("function_entry_count"));
    assert_eq!(t.used("Rust"), Some(1.0));
}
