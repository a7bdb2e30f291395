//! `cargo fdo` is killed somewhere, and run again.

mod mixed;

use fdo_tests::{Sandbox, tools};
use mixed::{C, RUST, build, output};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Starts `cargo fdo` in a process group of its own and kills all of it, as a terminal or a CI
/// runner does, so long after a condition holds. Whether it was killed before it ended.
#[track_caller]
fn kill(t: &Sandbox, args: &[&str], condition: impl Fn() -> bool, delay: Duration) -> bool {
    let mut child = t
        .cargo_fdo_command(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .expect("cargo-fdo starts");
    let start = Instant::now();
    while !condition() && child.try_wait().expect("our child").is_none() {
        assert!(start.elapsed() < Duration::from_secs(120), "{args:?} hangs");
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(delay);
    let group = rustix::process::Pid::from_child(&child);
    // It may have ended by now.
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    child.wait().expect("our child").signal() == Some(9)
}

fn train_args() -> Vec<String> {
    let (rust, c) = (RUST.to_string(), C.to_string());
    ["train", "--no-overhead", "--", "{bin:app}", &rust, &c]
        .map(str::to_owned)
        .into()
}

/// Kills the training at moments after `condition`, trains, and compares with one that nothing
/// disturbed: the same profile.
#[track_caller]
fn training_survives(condition: impl Fn(&Sandbox) -> bool, delays: &[u64]) {
    let t = mixed::sandbox();
    let args = train_args();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut kills = 0;
    for delay in delays {
        // As before any training, but for what the last victim left behind.
        let delay = Duration::from_millis(*delay);
        kills += u32::from(kill(&t, &args, || condition(&t), delay));
        t.cargo_fdo(&args).succeeds().stderr_lacks("set aside");
        assert_whole(&t);
        forget(&t);
    }
    assert!(kills > 0, "it always ended before it was killed");
}

/// The profile holds all counts of both languages, once.
#[track_caller]
fn assert_whole(t: &Sandbox) {
    let built = build(t);
    assert_eq!(output(t, &built, 0, 0), "0 0 3\n");
    let (used, all) = mixed::used(t);
    assert_eq!(used, 1.0, "{all:#}");
    let status = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    let hottest = status["campaign"]["hottest"].as_array().expect("a list");
    let count = |name: &str| {
        let is_it =
            |pair: &&serde_json::Value| pair[0].as_str().is_some_and(|it| it.ends_with(name));
        let pair = hottest.iter().find(is_it);
        pair.unwrap_or_else(|| panic!("no `{name}`: {hottest:?}"))[1].as_u64()
    };
    assert_eq!(
        count("native_spin"),
        Some(C),
        "counted twice, or not at all"
    );
    assert_eq!(count("4work4spin"), Some(RUST));
    let instrumented = mixed::files(t, "instrument", "libspin.a");
    assert_eq!(instrumented.len(), 1, "{instrumented:?}");
}

/// Makes the next training build and run everything.
fn forget(t: &Sandbox) {
    for crate_source in ["src/main.rs", "native/build.rs", "native/c/spin.c"] {
        let text = t.read(crate_source) + "\n";
        t.write(crate_source, &text);
    }
}

fn is_there(t: &Sandbox, name: &str) -> bool {
    t.path(name).exists()
}

#[test]
fn a_training_killed_in_its_build_is_repeated_whole() {
    if !mixed::require() {
        return;
    }
    training_survives(
        |t| is_there(t, "target/fdo/instrument"),
        &[0, 150, 400, 800, 1300],
    );
}

#[test]
fn a_training_killed_while_it_runs_or_merges_is_repeated_whole() {
    if !mixed::require() {
        return;
    }
    let profdata = tools::llvm("llvm-profdata");
    fdo_tests::require!(&profdata);
    // Merging takes its time, so that it is hit.
    let t = mixed::sandbox().file(
        "slow",
        &format!("#!/bin/sh\n[ \"$1\" = merge ] && sleep 0.2\nexec {profdata} \"$@\"\n"),
    );
    let slow = t.path("slow");
    let t = t.env("LLVM_PROFDATA", slow);
    let _ = t.run("chmod", ["+x", "slow"]).succeeds();
    let args = train_args();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    mixed::train(&t, RUST, C);
    build(&t);

    let raw = "target/fdo/v1/raw";
    let stages: [(&str, &dyn Fn() -> bool); 3] = [
        ("running", &|| is_there(&t, raw)),
        ("merging", &|| is_there(&t, &format!("{raw}/merge"))),
        ("publishing", &|| {
            is_there(&t, &format!("{raw}/merge/ir/merged.proftext"))
        }),
    ];
    for (stage, condition) in stages {
        for delay in [0, 10, 40] {
            let killed = kill(&t, &args, condition, Duration::from_millis(delay));
            // The old profile is whole, or the new one is: they are equal.
            assert_whole(&t);
            let run = t.cargo_fdo(&args).succeeds();
            run.stderr_lacks("set aside");
            assert_whole(&t);
            assert!(
                killed || stage == "publishing",
                "it ended before it was killed"
            );
        }
    }
}

#[test]
fn a_build_killed_anywhere_is_repeated_whole() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    let mut kills = 0;
    mixed::train(&t, RUST, C);
    build(&t);
    for (round, delay) in [0, 100, 300, 600, 1000].into_iter().enumerate() {
        // Another profile each time, so that there is all to do.
        let (rust, c) = (RUST >> (round % 2), C >> (round % 2 + 1));
        mixed::train(&t, rust, c);
        let before = t.calls("rustc-wrapper").len();
        let begun = || t.calls("rustc-wrapper").len() > before + 1;
        let delay = Duration::from_millis(delay);
        kills += u32::from(kill(&t, &["build", "--release"], begun, delay));
        let built = build(&t);
        assert_eq!(output(&t, &built, 0, 0), "0 0 3\n");
        let (used, all) = mixed::used(&t);
        assert_eq!(used, 1.0, "after {delay:?}: {all:#}");
        assert_same_as_from_nothing(&t, &built);
    }
    assert!(kills > 0, "it always ended before it was killed");
}

/// No code of another profile is left.
#[track_caller]
fn assert_same_as_from_nothing(t: &Sandbox, built: &fdo_tests::Run) {
    let path = built.stdout().lines().next().expect("a path");
    let read = || std::fs::read(path).expect("the program is there");
    let repeated = read();
    std::fs::remove_dir_all(t.path("target/fdo/optimize")).expect("it was built there");
    build(t);
    assert!(read() == repeated, "code of another profile is left");
}

#[test]
fn a_workload_that_outlives_its_killed_training_does_not_count_in_the_next() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    mixed::train(&t, RUST, C);
    // What runs for a training that is gone, ends while the next one runs.
    let script = format!("echo >> started; sleep 3; {{bin:app}} {RUST} {C}");
    let args = ["train", "--no-overhead", "--", "sh", "-c", &script];
    let mut child = t
        .cargo_fdo_command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("cargo-fdo starts");
    while !is_there(&t, "started") && child.try_wait().expect("our child").is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("it runs");
    assert_eq!(child.wait().expect("our child").signal(), Some(9));

    let _ = t.cargo_fdo(args).succeeds();
    assert_whole(&t);
}

#[test]
fn what_a_killed_training_left_is_removed_by_the_next() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    t.write("target/fdo/v1/campaigns/.new-left/rust.proftext", ":ir\n");
    t.write("target/fdo/v1/slices/.new-left", "half a profile");
    t.write("target/fdo/v1/raw/1/command/1-2.profraw", "half a profile");
    t.write("target/fdo/v1/tmp/tools-left/canary.o", "half an object");
    t.write("target/fdo/v1/tmp/command-left/data", "of a workload");
    mixed::train(&t, RUST, C);
    for left in [
        "campaigns/.new-left",
        "slices/.new-left",
        "raw",
        "tmp/tools-left",
        "tmp/command-left",
    ] {
        let left = format!("target/fdo/v1/{left}");
        assert!(!is_there(&t, &left), "{left}");
    }
}
