//! Workloads that don't do their work: status 5, or 2 where fdo.toml is wrong, with the
//! workload's name, the command and what to do.

use fdo_tests::{Run, Sandbox};
use std::time::{Duration, Instant};

const MAIN: &str = "\
unsafe extern \"C\" {
    fn _exit(code: i32) -> !;
}

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    println!(\"{mode}\");
    match mode.as_str() {
        \"_exit\" => unsafe { _exit(0) },
        \"fail\" => std::process::exit(7),
        \"panic\" => panic!(\"on purpose\"),
        \"abort\" => std::process::abort(),
        \"sleep\" => {
            let seconds = std::env::args().nth(2).unwrap();
            let mut child = std::process::Command::new(\"sleep\").arg(seconds).spawn().unwrap();
            child.wait().unwrap();
        }
        _ => {}
    }
}
";

fn project(workloads: &str) -> Sandbox {
    Sandbox::project()
        .file("src/main.rs", MAIN)
        .file("fdo.toml", workloads)
        .without_tools()
}

fn train(t: &Sandbox, workload: &str) -> Run {
    t.cargo_fdo(["train", "--no-overhead", "-w", workload])
}

#[test]
fn a_workload_that_fails_is_shown_with_its_command_and_how_it_ended() {
    let t = project(
        "[workload.fails]\nrun = ['{bin:app}', 'fail']\n\
         [workload.panics]\nrun = ['{bin:app}', 'panic']\n\
         [workload.aborts]\nrun = ['{bin:app}', 'abort']\n\
         [workload.killed]\nrun = 'kill -9 $$'\n\
         [workload.prepares]\nprepare = 'exit 3'\nrun = ['{bin:app}']\n",
    );
    for (workload, how) in [
        ("fails", "`run` of workload `fails` failed (exit status 7)"),
        (
            "panics",
            "`run` of workload `panics` failed (exit status 101)",
        ),
        ("aborts", "failed (signal 6, SIGABRT)"),
        ("killed", "failed (signal 9, SIGKILL)"),
        (
            "prepares",
            "`prepare` of workload `prepares` failed (exit status 3)",
        ),
    ] {
        let words = [how, "command: cd ", "LLVM_PROFILE_FILE=", "by hand"];
        let run = train(&t, workload).fails_saying(5, &words);
        assert_eq!(
            run.stdout(),
            "",
            "what a workload prints is no data of ours"
        );
    }
}

#[test]
fn a_workload_that_leaves_no_raw_profile_is_told_the_usual_reasons() {
    let t = project(
        "[workload.quick]\nrun = ['{bin:app}', '_exit']\n\
         [workload.other]\nrun = 'true'\n",
    );
    // Of one that ran it is known that it lost its counters; the other may have run none.
    for (workload, cause) in [
        (
            "quick",
            "1 of 1 instrumented process ended without saving its counters: app",
        ),
        ("other", "{bin:NAME}"),
    ] {
        let says = format!("workload `{workload}` wrote no raw profile into `");
        let _ = train(&t, workload).fails_saying(5, &[&says, cause, "`_exit`", "SIGKILL"]);
    }
}

#[test]
fn an_empty_raw_profile_is_not_taken_for_one() {
    let t = project(
        "[workload.cut]\nrun = 'd=$(dirname \"$LLVM_PROFILE_FILE\"); : > \"$d/x.profraw\"'\n",
    );
    let _ = train(&t, "cut").fails_saying(
        6,
        &[
            "the only raw profile can't be used",
            "cut/x.profraw`: file is empty",
            "full disk",
        ],
    );
}

#[test]
fn a_workload_that_takes_too_long_is_stopped_with_all_its_children() {
    // Lengths that no other process has.
    let id = std::process::id();
    let (polite, stubborn) = (format!("70.{id}"), format!("71.{id}"));
    let t = project(&format!(
        "[workload.slow]\nrun = '{{bin:app}} sleep {polite} & wait'\ntimeout = '400ms'\n\
         [workload.stubborn]\nrun = 'trap \"\" TERM; {{bin:app}} sleep {stubborn}'\n\
         timeout = '400ms'\n",
    ));
    let _ = t.cargo_fdo(["train", "--build-only"]).succeeds();
    for (workload, sleep) in [("slow", &polite), ("stubborn", &stubborn)] {
        let start = Instant::now();
        let says = format!("workload `{workload}` was stopped after its timeout of 400ms");
        let _ = train(&t, workload).fails_saying(5, &[&says, "command: cd ", "raise `timeout`"]);
        assert!(start.elapsed() < Duration::from_secs(60));
        let left = processes_with(sleep);
        assert!(left.is_empty(), "left over: {left:?}");
    }
}

/// Command lines with this argument.
fn processes_with(argument: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read_to_string(process.path().join("cmdline")).ok())
        .filter(|line| line.split('\0').any(|word| word.contains(argument)))
        .collect()
}

#[test]
fn what_a_workload_needs_is_looked_for_before_anything_is_built() {
    let t = project(
        "[workload.misspelt]\nrun = ['{bin:ap}']\n\
         [workload.nowhere]\nrun = ['{bin:app}']\ncwd = 'no/where'\n\
         [workload.unknown]\nrun = ['no-such-program']\n",
    );
    train(&t, "misspelt")
        .fails_saying(
            2,
            &[
                "workload `misspelt` needs the binary `ap`",
                "did you mean `app`?",
            ],
        )
        .stderr_lacks("Compiling");
    let _ = train(&t, "nowhere").fails_saying(
        2,
        &[
            "workload `nowhere` is to run in `",
            "no/where`, which is no directory",
            "`cwd`",
        ],
    );
    train(&t, "unknown")
        .fails_saying(
            5,
            &[
                "workload `unknown` did not start",
                "`no-such-program`",
                "a name in PATH",
            ],
        )
        .stderr_lacks("doctor");
    let _ = t
        .cargo_fdo(["train", "--", "{bin:ap}"])
        .fails_saying(2, &["did you mean `app`?"]);
}

#[test]
fn one_of_two_workloads_that_fails_leaves_the_profile_of_the_other() {
    let t = project(
        "[workload.bad]\nrun = ['{bin:app}', 'fail']\n[workload.good]\nrun = ['{bin:app}']\n",
    );
    let _ = t
        .cargo_fdo(["train", "--no-overhead"])
        .fails_saying(5, &["workload `bad`"]);
    let _ = t.cargo_fdo(["build"]).succeeds();
    // So short a run says nothing of how much slower counters make the program.
    let run = t.cargo_fdo(["train", "-w", "good"]).succeeds();
    run.stderr_lacks("times as long as");
    let _ = t.cargo_fdo(["build"]).succeeds();
}
