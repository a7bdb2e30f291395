//! perf that is missing, forbidden, or finds no hardware: three messages with three remedies.
//!
//! The perfs are scripts, so that nothing here needs a real one.

use fdo_tests::Sandbox;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A project whose perf is a script that answers `--version` and then does this.
fn with_perf(behaviour: &str) -> Sandbox {
    let t = Sandbox::mixed();
    let perf = t.tool("perf");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo 'perf version 6.8.12'; exit; }}\n{behaviour}\n"
    );
    fs::write(&perf, text).unwrap();
    fs::set_permissions(&perf, PermissionsExt::from_mode(0o755)).unwrap();
    t.env("PERF", perf)
}

const TRAIN: [&str; 5] = ["train", "--method", "sample", "--", "{bin:app}"];

#[test]
fn no_permission_names_what_stands_in_the_way() {
    let t = with_perf(
        "echo 'Error:' >&2\n\
         echo 'Access to performance monitoring and observability operations is limited.' >&2\n\
         exit 255",
    );
    let run = t.cargo_fdo(TRAIN).fails_saying(
        3,
        &[
            "perf is not permitted to record: Access to performance monitoring",
            "hint: ",
            "PERFMON",
        ],
    );
    // Nothing was built for it.
    run.stderr_lacks("Building");
    let _ = t
        .cargo_fdo(["record", "--", "true"])
        .fails_saying(3, &["perf is not permitted to record"]);
}

/// Inside of a container the remedy is another one; so a part of the words differs.
#[test]
fn the_remedy_for_permission_is_one_that_can_be_typed() {
    let t = with_perf("echo 'perf_event_open: Operation not permitted' >&2; exit 255");
    let run = t.cargo_fdo(TRAIN).fails_with(3);
    let words = run.stderr();
    assert!(
        words.contains("--cap-add PERFMON")
            || words.contains("sysctl kernel.perf_event_paranoid=2"),
        "{words}"
    );
}

#[test]
fn branch_stacks_that_must_be_there_and_are_not() {
    let t = with_perf(
        "echo 'Error:' >&2\n\
         echo \"cycles:u: PMU Hardware or event type doesn't support branch stack sampling.\" >&2\n\
         exit 255",
    );
    let t = t.file("fdo.toml", "[sample]\nbranch-stacks = true\n");
    let _ = t.cargo_fdo(TRAIN).fails_saying(
        3,
        &[
            "this machine can't record branch stacks",
            "PMU Hardware",
            "virtual machines seldom have",
        ],
    );
}

#[test]
fn a_perf_that_says_all_is_well_and_writes_nothing_is_not_believed() {
    let t = with_perf("exit 0");
    let _ = t
        .cargo_fdo(TRAIN)
        .fails_saying(3, &["said that all was well, and wrote nothing"]);
}

#[test]
fn a_named_perf_that_is_not_there_or_broken() {
    let t = Sandbox::mixed().env("PERF", "/no/such/perf");
    let _ = t.cargo_fdo(TRAIN).fails_saying(
        3,
        &["`/no/such/perf`, the perf of the variable PERF, can't be used: it is not there"],
    );
    let t = t.file("fdo.toml", "[tool]\nperf = \"tools/perf\"\n");
    let _ = t
        .cargo_fdo(TRAIN)
        .fails_saying(3, &["the perf of the configuration", "tools/perf"]);
}

/// With `PATH` as the only place. Where kernel packages have a perf, it is found there.
#[test]
fn no_perf_and_a_wrapper_without_its_perf() {
    let has = |dir: &str| fs::read_dir(dir).is_ok_and(|entries| entries.count() > 0);
    if has("/usr/lib/linux-tools") {
        fdo_tests::tools::skip("a machine without /usr/lib/linux-tools");
        return;
    }
    let t = Sandbox::project();
    let bin = t.root().join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/sh", bin.join("sh")).unwrap();
    std::os::unix::fs::symlink("/bin/true", bin.join("true")).unwrap();
    let t = t.env("PATH", &bin);
    let record = ["record", "--", "true"];
    let _ = t.cargo_fdo(record).fails_saying(
        3,
        &["perf is not installed", "linux-perf", "linux-tools-generic"],
    );
    let wrapper = bin.join("perf");
    fs::write(
        &wrapper,
        "#!/bin/sh\necho 'WARNING: perf not found for kernel 6.8.0-45' >&2\nexit 2\n",
    )
    .unwrap();
    fs::set_permissions(&wrapper, PermissionsExt::from_mode(0o755)).unwrap();
    let _ = t.cargo_fdo(record).fails_saying(
        3,
        &[
            "is a wrapper that finds no perf for the running kernel",
            "linux-tools-",
        ],
    );
}

#[test]
fn wrong_words_are_refused_before_anything_runs() {
    let t = Sandbox::project();
    for (args, words) in [
        (&["record"][..], "there is nothing to record"),
        (
            &["record", "--pid", "999999999"],
            "there is no process 999999999",
        ),
        (
            &["record", "--duration", "soon", "--", "true"],
            "`--duration` is not a time: `soon`",
        ),
        (
            &["record", "--max-size", "4", "--", "true"],
            "`--max-size` is not a size with a unit: `4`",
        ),
        (
            &["record", "--", "no-such-program"],
            "`no-such-program` is no program",
        ),
        (&["import", "-w", "x,file"], "`x,file` is not `N,FILE`"),
    ] {
        let _ = t.cargo_fdo(args).fails_saying(2, &[words]);
    }
}
