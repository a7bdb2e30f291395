//! Processes that a workload leaves running, in a session of their own: none is left when
//! `cargo fdo` ends, however it ends.

use fdo_tests::{Sandbox, require};
use rustix::process::{Pid, Signal};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Says that it runs, and waits as long as the argument says, by another program.
const MAIN: &str = r#"
fn main() {
    println!("runs");
    if let Some(seconds) = std::env::args().nth(1) {
        let mut child = std::process::Command::new("sleep").arg(seconds).spawn().unwrap();
        child.wait().unwrap();
    }
}
"#;

fn project(workloads: &str) -> Sandbox {
    Sandbox::project()
        .file("src/main.rs", MAIN)
        .file("fdo.toml", workloads)
        .without_tools()
}

/// A time to sleep that no other process has.
fn length(number: u32) -> String {
    format!("{number}.{}", std::process::id())
}

/// Shell words that start the program as a daemon and wait until it runs.
fn daemon(length: &str) -> String {
    format!(
        "setsid -f {{bin:app}} {length} > {{tmp}}/out; until test -s {{tmp}}/out; do sleep 0.02; done"
    )
}

/// Command lines with this argument.
fn processes_with(argument: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read_to_string(process.path().join("cmdline")).ok())
        .filter(|line| line.split('\0').any(|word| word == argument))
        .collect()
}

#[track_caller]
fn assert_gone(length: &str) {
    let left = processes_with(length);
    assert!(left.is_empty(), "left over: {left:?}");
}

#[test]
fn a_daemon_of_a_workload_that_took_too_long_is_stopped_with_it() {
    require!("setsid");
    let length = length(81);
    let t = project(&format!(
        "[workload.slow]\nrun = '{}; sleep 600'\ntimeout = '2s'\n",
        daemon(&length)
    ));
    let _ = t
        .cargo_fdo(["train", "--no-overhead"])
        .fails_saying(5, &["workload `slow` was stopped after its timeout of 2s"]);
    assert_gone(&length);
}

#[test]
fn a_daemon_that_a_workload_leaves_behind_is_stopped_and_its_counts_are_kept() {
    require!("setsid");
    let length = length(82);
    let t = project(&format!("[workload.leaves]\nrun = '{}'\n", daemon(&length)));
    let run = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    run.stderr_has("workload `leaves` left 2 processes running, which this run stopped");
    // The daemon's only: without it there would be none, and an error.
    run.stderr_has("1 raw profile");
    assert_gone(&length);
}

#[test]
fn what_prepare_starts_runs_until_the_end_of_run() {
    require!("setsid");
    let length = length(83);
    let t = project(&format!(
        "[workload.served]\nprepare = '{}'\nrun = 'grep -q {length} /proc/[0-9]*/cmdline && {{bin:app}}'\n",
        daemon(&length)
    ));
    // The server is prepared, not trained with.
    let run = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    run.stderr_has("1 raw profile");
    run.stderr_has("workload `served` left 2 processes running");
    assert_gone(&length);
}

#[test]
fn a_signal_to_cargo_fdo_ends_all_of_the_workload() {
    require!("setsid");
    let length = length(84);
    let script = format!("{}; echo > started; sleep {length}", daemon(&length));
    let t = project(&format!(
        "[workload.plain]\nrun = '{script}'\n[workload.limited]\nrun = '{script}'\ntimeout = '1h'\n",
    ));
    let _ = t.cargo_fdo(["train", "--build-only"]).succeeds();
    for (workload, signal) in [
        ("plain", Signal::INT),
        ("limited", Signal::INT),
        ("plain", Signal::TERM),
        ("plain", Signal::HUP),
    ] {
        // Tests that run in the background of a shell ignore SIGINT, and so would what they start.
        let mut child = t
            .command("env")
            .arg("--default-signal=HUP,INT,TERM")
            .arg(t.cargo_fdo_command(&[]).get_program())
            .args(["fdo", "train", "--no-overhead", "-w", workload])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(300);
        while !t.path("started").exists() {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            assert!(Instant::now() < end, "its workload never began");
            std::thread::sleep(Duration::from_millis(10));
        }
        std::fs::remove_file(t.path("started")).unwrap();
        // To this process alone, as `kill` does; a terminal's Ctrl-C reaches others too.
        rustix::process::kill_process(Pid::from_child(&child), signal).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(signal.as_raw()), "{workload}");
        assert_gone(&length);
    }
}
