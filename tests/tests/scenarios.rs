//! Workloads with scenarios: trained apart, one that fails among others, and loads that are tried out.
//!
//! No test looks at how long something took.

use fdo_tests::{Run, Sandbox, require};
use serde_json::Value;

#[track_caller]
fn campaign(t: &Sandbox) -> Value {
    let status = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    status["campaign"].clone()
}

/// How often the program's loop ran, in the current profile.
#[track_caller]
fn steps(t: &Sandbox) -> u64 {
    let most = campaign(t)["hottest"][0][1].as_u64();
    most.expect("a profile with counts")
}

/// Names in the manifest, under a key.
#[track_caller]
fn names(t: &Sandbox, key: &str) -> Vec<String> {
    let campaign = campaign(t);
    let entries = campaign[key].as_array().into_iter().flatten();
    entries
        .map(|entry| entry["name"].as_str().unwrap().to_owned())
        .collect()
}

fn train(t: &Sandbox, args: &[&str]) -> Run {
    t.cargo_fdo([&["train", "--no-overhead"], args].concat())
}

const WEIGHED: &str = "
[workload.collatz]
run = ['{bin:app}', '{starts}']
[workload.collatz.scenarios]
short = { starts = 300, weight = WEIGHT }
long = { starts = 500 }
judge = { starts = 200, kind = 'evaluate' }
";

#[test]
fn scenarios_are_trained_apart_with_their_weights_and_chosen_by_name() {
    let t = Sandbox::rust_project();
    let weighed = |weight: &str| t.write("fdo.toml", &WEIGHED.replace("WEIGHT", weight));
    weighed("1");
    let alone = |name: &str| {
        train(&t, &["-w", name]).succeeds();
        assert_eq!(names(&t, "workloads"), [name]);
        steps(&t)
    };
    let (short, long) = (alone("collatz/short"), alone("collatz/long"));
    assert!(short > 0 && long > short);

    weighed("5");
    for choice in [
        &[][..],
        &["-w", "collatz"],
        &["-w", "collatz/long", "-w", "collatz"],
    ] {
        let run = train(&t, choice).succeeds();
        run.stderr_has("workload `collatz/short`")
            .stderr_has("Trained `collatz/long` in")
            .stderr_lacks("collatz/judge");
        assert_eq!(steps(&t), 5 * short + long, "{choice:?}");
    }
    let status = t.cargo_fdo(["status"]).succeeds();
    status.stdout_has("collatz/short (weight 5, 1 raw profile)");

    train(&t, &["-w", "collatz/shrot"]).fails_saying(
        2,
        &["no workload `collatz/shrot`; did you mean `collatz/short`?"],
    );
    train(&t, &["-w", "collats"]).fails_saying(2, &["did you mean `collatz`?"]);
    t.write("fdo.toml", &WEIGHED.replace("WEIGHT", "0"));
    train(&t, &[]).fails_saying(2, &["fdo.toml:5:", "[workload.collatz.scenarios.short]"]);
}

#[test]
fn a_matrix_trains_each_combination_and_steps_of_prepare_run_in_order() {
    let t = Sandbox::rust_project().file(
        "fdo.toml",
        "[workload.w]\n\
         prepare = [['{bin:app}', '50'], 'echo {starts} > {dir:data}/n', { run = 'cp {dir:data}/n {tmp}/{text}' }]\n\
         run = '{bin:app} $(cat {tmp}/{text}) && test -d {dir:empty}'\n\
         [workload.w.matrix]\nstarts = [300, 500]\ntext = ['a b', \"it's\"]\n",
    );
    train(&t, &[]).succeeds();
    assert_eq!(
        names(&t, "workloads"),
        [
            "w/starts-300-text-a-b",
            "w/starts-300-text-it-s",
            "w/starts-500-text-a-b",
            "w/starts-500-text-it-s"
        ]
    );
    let all = steps(&t);
    // Not what prepared: these are the runs of plain commands.
    let alone = |starts: &str| {
        train(&t, &["--", "{bin:app}", starts]).succeeds();
        steps(&t)
    };
    assert_eq!(all, 2 * (alone("300") + alone("500")));

    t.write(
        "fdo.toml",
        "[workload.w]\nprepare = [['true'], 'exit 3', ['true']]\nrun = ['{bin:app}']\n",
    );
    train(&t, &[]).fails_saying(
        5,
        &["step 2 of 3 of `prepare` of workload `w` failed (exit status 3)"],
    );
    t.write(
        "fdo.toml",
        "[workload.w]\nprepare = [['true'], ['no-such-program']]\nrun = ['{bin:app}']\n",
    );
    train(&t, &[]).fails_saying(
        5,
        &["step 2 of 2 of `prepare` of workload `w` did not start"],
    );
}

const ONE_FAILS: &str = "
[workload.w]
run = '{bin:app} 300; exit {code}'
[workload.w.scenarios]
good = { code = 0 }
bad = { code = 3 }
[workload.last]
run = ['{bin:app}', '300']
";

#[test]
fn a_scenario_that_fails_does_not_take_the_others_with_it() {
    let t = Sandbox::rust_project().file("fdo.toml", ONE_FAILS);
    train(&t, &["-w", "last"]).succeeds();
    let one = steps(&t);

    let run = train(&t, &[]).fails_saying(
        5,
        &[
            "warning: `run` of workload `w/bad` failed (exit status 3)",
            "1 of 3 workloads failed: `w/bad`; the profile is of the others",
            "others\n  `run` of workload `w/bad` failed (exit status 3)\nhint: ",
            "Finished training",
        ],
    );
    run.stderr_has("Trained `w/good`")
        .stderr_has("Trained `last`");
    assert_eq!(names(&t, "workloads"), ["last", "w/good"]);
    assert_eq!(names(&t, "failed"), ["w/bad"]);
    // Nothing of what the failed one counted.
    assert_eq!(steps(&t), 2 * one);
    let status = t.cargo_fdo(["status"]).succeeds();
    status.stdout_has("failed     w/bad: `run` of workload `w/bad` failed (exit status 3)");
    t.cargo_fdo(["build"]).succeeds();
    t.cargo_fdo(["report"]).succeeds();
    let page = t.read("target/fdo/report.html");
    assert!(page.contains("failed, and is not in the profile"), "{page}");

    // If all fail, the profile stays.
    t.write(
        "fdo.toml",
        &ONE_FAILS
            .replace("code = 0", "code = 4")
            .replace("['{bin:app}', '300']", "'exit 5'"),
    );
    let before = campaign(&t);
    train(&t, &[]).fails_saying(
        5,
        &[
            "warning: `run` of workload `w/bad` failed (exit status 3)",
            "warning: `run` of workload `w/good` failed (exit status 4)",
            "all 3 workloads failed; there is no new profile",
        ],
    );
    assert_eq!(campaign(&t), before);
    train(&t, &["-w", "w/bad"])
        .fails_saying(
            5,
            &["error: `run` of workload `w/bad` failed (exit status 3)"],
        )
        .stderr_lacks("warning: `run`");
}

#[test]
fn what_several_workloads_left_is_kept_if_no_profile_can_be_made_of_it() {
    let t = Sandbox::rust_project().file(
        "fdo.toml",
        "[workload.good]\nrun = ['{bin:app}', '300']\n[workload.cut]\n\
         run = 'd=$(dirname \"$LLVM_PROFILE_FILE\"); : > \"$d/x.profraw\"'\n",
    );
    let run = train(&t, &[]).fails_saying(6, &["until the next training", "train --collect DIR"]);
    let raw = t.path("target/fdo/v1/raw");
    run.stderr_has(raw.to_str().unwrap());
    t.cargo_fdo(["status"]).fails_with(5);
    t.cargo_fdo([
        "train",
        "--max-loss",
        "50%",
        "--collect",
        raw.to_str().unwrap(),
    ])
    .succeeds();
    let kept = steps(&t);
    train(&t, &["-w", "good"]).succeeds();
    assert_eq!(steps(&t), kept);
}

#[test]
fn a_recording_that_fails_or_takes_too_long_does_not_take_the_others_with_it() {
    require!("perf");
    let t = Sandbox::rust_project()
        .env("RUSTC_BOOTSTRAP", "1")
        .file(
            "fdo.toml",
            "[workload.w]\nrun = 'if {idle}; then sleep 50; else {bin:app} 300000; exit {code}; fi'\n\
             [workload.w.parameters]\nidle = false\ncode = 0\n\
             [workload.w.scenarios]\ngood = { weight = 2 }\nbad = { code = 3 }\nslow = { idle = true, timeout = '500ms' }\n",
        );
    let run = t.cargo_fdo(["train", "--method", "sample"]).fails_saying(
        5,
        &[
            "workload `w/bad` failed under perf (exit status 3)",
            "2 of 3 workloads failed: `w/bad`, `w/slow`; the profile is of the others",
        ],
    );
    run.stderr_has("was stopped after its timeout")
        .stderr_has("Trained `w/good`");
    assert_eq!(names(&t, "workloads"), ["w/good"]);
    assert_eq!(names(&t, "failed"), ["w/bad", "w/slow"]);
    t.cargo_fdo(["build"]).succeeds();

    // One that never runs the program is not passed over.
    t.write(
        "fdo.toml",
        "[workload.good]\nrun = '{bin:app} 300000'\n\
         [workload.other]\nrun = 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done'\n",
    );
    let run = t.cargo_fdo(["train", "--method", "sample"]).succeeds();
    run.stderr_has("/other/1.perf.data` has no sample in a program of this build")
        .stderr_lacks("/good/1.perf.data` has no sample");
}

/// Prints the figures of a server that bears four users at a time, and leaves a trace of each run.
const SERVER: &str = r#"
use std::io::Write;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let log = std::env::var("LOG").unwrap();
    let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
    writeln!(log, "{}", args.join(" ")).unwrap();
    let users: f64 = args[1].parse().unwrap();
    if users > 100.0 {
        eprintln!("too many users");
        std::process::exit(9);
    }
    println!("rate: {} ops/s", 1000.0 * users.min(4.0));
    println!("p95: {} ms", 2.0 * (users / 4.0).max(1.0));
}
"#;

const LOADS: &str = "
[workload.load]
kind = 'evaluate'
run = ['{bin:app}', '{what}', '{users}', '{size}']
[workload.load.parameters]
size = '4k'
[workload.load.scenarios]
put = { what = 'put' }
get = { what = 'get', size = '8k' }
[workload.load.matrix]
users = [1, 10]
[workload.load.metrics]
rate = { regex = 'rate: ([0-9.]+)', unit = 'ops/s', better = 'higher' }
p95 = { regex = 'p95: ([0-9.]+)', unit = 'ms' }
[workload.other]
kind = 'evaluate'
run = ['{bin:app}', 'other', '1']
";

fn server() -> Sandbox {
    let t = Sandbox::project()
        .file("src/main.rs", SERVER)
        .file("fdo.toml", LOADS)
        .without_tools();
    let log = t.root().join("log");
    t.env("LOG", log)
}

/// The programs' arguments, of each run since the last call.
fn runs(t: &Sandbox) -> Vec<String> {
    let path = t.root().join("log");
    let log = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    log.lines().map(str::to_owned).collect()
}

fn sweep(t: &Sandbox, args: &[&str]) -> Run {
    t.cargo_fdo(
        [
            &["compare", "--runs", "3", "--warmup", "0", "--sweep"],
            args,
        ]
        .concat(),
    )
}

#[test]
fn a_sweep_shows_each_measure_against_the_parameter_and_where_more_brings_nothing() {
    let t = server();
    // Without a profile, and without a word of one.
    let run = sweep(&t, &["users=1..16"]).succeeds();
    run.stderr_has("workload `other` has no parameter `users`, and is left out")
        .stderr_has("Measuring workload `load/put users=16`, 3 runs\n");
    let all = runs(&t);
    // Once for each scenario, though the matrix has two values; three times each, and no twin.
    assert_eq!(all.len(), 2 * 5 * 3, "{all:#?}");
    assert_eq!(all.iter().filter(|line| *line == "get 16 8k").count(), 3);
    let text = run.stdout();
    let table: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.starts_with("`load/get` by `release` over `users`"))
        .skip(2)
        .take(5)
        .map(|line| {
            line.split("  ")
                .filter(|cell| !cell.is_empty())
                .map(str::trim)
                .collect()
        })
        .collect();
    let column = |at: usize| table.iter().map(|row| row[at]).collect::<Vec<_>>();
    assert_eq!(column(0), ["1", "2", "4", "8", "16"], "{text}");
    assert_eq!(
        column(1),
        [
            "1,000 ± 0",
            "2,000 ± 0",
            "best 4,000 ± 0",
            "4,000 ± 0",
            "4,000 ± 0"
        ]
    );
    assert_eq!(column(2)[..2], ["best 2.000 ± 0.000", "2.000 ± 0.000"]);
    assert_eq!(column(2)[4], "8.000 ± 0.000");
    assert!(column(3)[0].contains('±'), "wall time: {text}");
    run.stdout_has("rate grows less than 3 % beyond `users` 4")
        .stdout_lacks("(again)")
        .stdout_lacks("geometric mean");

    let run = sweep(
        &t,
        &[
            "users=1,2",
            "-w",
            "load/put-users-10",
            "--format",
            "json",
            "--save",
            "loads",
        ],
    )
    .succeeds();
    let json = run.stdout_json();
    let measure = &json["sweeps"][0]["measures"][0];
    assert_eq!(json["sweeps"][0]["scenario"], "load/put");
    assert_eq!(measure["summaries"][1]["mean"], 2000.0);
    assert_eq!(measure["knee"]["grows"]["by"], 1.0);
    assert_eq!(json["variants"].as_array().unwrap().len(), 1);
    for name in ["loads", "last-sweep"] {
        let shown = t
            .cargo_fdo(["compare", "--show", name, "--format", "csv"])
            .succeeds();
        shown.stdout_has(
            "load/put,release,users,2,rate,ops/s,higher,3,2000,0,2000,2000,2000,2000,2000,best\n",
        );
    }
    let shown = t
        .cargo_fdo(["compare", "--show", "loads", "--format", "markdown"])
        .succeeds();
    shown
        .stdout_has("### `load/put` by `release` over `users`: mean ± STDDEVP\n\n| users |")
        .stdout_has("- rate still grows at `users` 2, by 100 %");
    // A sweep is no comparison to report.
    t.cargo_fdo(["compare", "--show", "last"])
        .fails_saying(2, &["no saved result `last`"]);
}

#[test]
fn a_sweep_over_words_by_two_builds_or_of_a_command_line_and_what_can_not_be_swept_over() {
    let t = server();
    t.cargo(["build"]).succeeds();
    let run = sweep(
        &t,
        &[
            "size=1k,2k",
            "-w",
            "load",
            "--against",
            "./target/debug/app",
        ],
    )
    .succeeds();
    run.stdout_has("`load/get-users-1` by `./target/debug/app` over `size`")
        .stdout_has("All 8 scenarios")
        .stdout_lacks("grows");
    assert_eq!(runs(&t).len(), 4 * 2 * 2 * 3);

    let run = sweep(&t, &["n=1,2", "--", "{bin:app}", "words", "{n}"]).succeeds();
    run.stdout_has("`command` by `release` over `n`");
    assert_eq!(runs(&t).len(), 6);

    // What the program does not bear is left out of the table, and not passed over.
    let run = sweep(&t, &["users=1,2,1000", "-w", "load/get-users-1"]).fails_saying(
        5,
        &[
            "workload `load/get users=1000` failed in each of 3 runs by `release`",
            "too many users",
        ],
    );
    run.stdout_has("\n  1000 ")
        .stdout_has("rate still grows at `users` 2, by 100 %\n");

    for (args, parts) in [
        (
            &["user=1,2"][..],
            &["none of the workloads has a parameter `user`; did you mean `users`?"][..],
        ),
        (
            &["users=1,2", "-w", "other"],
            &["workload `other` has no parameter `users`", "`parameters`"],
        ),
        (
            &["users=1,2", "-w", "run"],
            &["workload `run` has no parameter `users`"],
        ),
        (
            &["scenario=put,get"],
            &[
                "has a parameter `scenario`",
                "there is `size`, `users`, `what`",
            ],
        ),
        (
            &["tmp=1,2", "--", "{bin:app}", "{tmp}"],
            &["workload `command` has no parameter `tmp`"],
        ),
    ] {
        sweep(&t, args).fails_saying(2, parts);
    }
    let _ = sweep(&t, &["users=4"]).fails_with(2);
    let _ = sweep(&t, &["users=1,2", "--fail-on-regression", "1"]).fails_with(2);
}
