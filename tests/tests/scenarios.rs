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
}
