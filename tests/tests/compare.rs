//! `cargo fdo compare`: what it runs, in which order, and what it makes of runs that go wrong.
//!
//! No test looks at how long something took.

use fdo_tests::{Sandbox, require, tools};
use serde_json::Value;
use std::collections::BTreeMap;

/// Prints figures, leaves a trace of each run, and fails on demand.
const MAIN: &str = r#"
use std::io::Write;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let log = std::env::var("LOG").unwrap();
    let which = std::env::current_exe().unwrap();
    let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
    writeln!(log, "{} {}", which.display(), args[1..].join(" ")).unwrap();
    let sum = (0..200_000_u64).fold(1, |s, i| std::hint::black_box(s ^ i.rotate_left(3)));
    println!("sum {sum}\nreads: 1,234.5 ops/sec\np95 = 2.5 ms");
    match args.get(1).map(String::as_str) {
        Some("once") => {
            // Fails in the run that finds the file, and takes it away.
            let mark = std::path::Path::new(&args[2]).join("mark");
            if std::fs::remove_file(mark).is_ok() {
                eprintln!("lost the connection");
                std::process::exit(3);
            }
        }
        Some("fail") => {
            eprintln!("always");
            std::process::exit(4);
        }
        Some("leave") => {
            std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        }
        _ => {}
    }
}
"#;

const WORKLOADS: &str = r#"
[workload.train]
run = ["{bin:app}"]

[workload.figures]
kind = "evaluate"
prepare = "echo old > {tmp}/out.json"
run = "{bin:app} figures {tmp} && echo '{\"a\": {\"b\": [7, 8]}}' > {tmp}/out.json"
[workload.figures.metrics]
rate = { regex = 'reads: ([0-9.,]+)', unit = "ops/s", better = "higher" }
json = { pointer = "/a/b", file = "{tmp}/out.json" }
keys = { reader = "key-value" }
"#;

fn project(more: &str) -> Sandbox {
    let t = Sandbox::project()
        .file("src/main.rs", MAIN)
        .file("fdo.toml", &format!("{WORKLOADS}{more}"))
        .without_tools();
    let log = t.root().join("log");
    t.env("LOG", log)
}

fn compare(t: &Sandbox, args: &[&str]) -> fdo_tests::Run {
    t.cargo_fdo([&["compare"], args].concat())
}

fn runs(t: &Sandbox, word: &str) -> Vec<String> {
    let log = std::fs::read_to_string(t.root().join("log")).unwrap_or_default();
    log.lines()
        .filter(|line| line.split(' ').nth(1) == Some(word))
        .map(str::to_owned)
        .collect()
}

/// The measures of a scenario of a JSON result, by name.
fn metrics(result: &Value, scenario: usize) -> BTreeMap<String, Value> {
    let list = result["scenarios"][scenario]["metrics"].as_array().unwrap();
    list.iter()
        .map(|metric| (metric["name"].as_str().unwrap().to_owned(), metric.clone()))
        .collect()
}

#[test]
fn variants_run_in_turn_in_directories_of_their_own_and_figures_are_read() {
    require!(tools::llvm("llvm-profdata").as_str());
    let t = project("");
    t.cargo_fdo(["train", "--no-overhead", "-w", "train"])
        .succeeds();
    let run = compare(&t, &["--runs", "6", "--format", "json", "--save", "first"]).succeeds();
    let result = run.stdout_json();

    // The evaluating workload was chosen, and two variants and the control ran, after a warm-up.
    assert_eq!(result["scenarios"].as_array().unwrap().len(), 1);
    let lines = runs(&t, "figures");
    assert_eq!(lines.len(), 3 * 7, "{lines:#?}");
    let is_optimized = |line: &String| line.contains("/fdo/optimize/");
    assert_eq!(lines.iter().filter(|line| is_optimized(line)).count(), 7);
    // Rotated: each round has all of them, and the optimised one is at each place twice.
    let mut places = [0; 3];
    for round in lines[3..].chunks(3) {
        let at: Vec<usize> = (0..3).filter(|&at| is_optimized(&round[at])).collect();
        assert_eq!(at.len(), 1, "{round:#?}");
        places[at[0]] += 1;
    }
    assert_eq!(places, [2, 2, 2]);
    // One directory for each, the baseline's twin included.
    let dirs: std::collections::BTreeSet<&str> = lines
        .iter()
        .filter_map(|line| line.rsplit(' ').next())
        .collect();
    assert_eq!(dirs.len(), 3);

    let metrics = metrics(&result, 0);
    assert_eq!(
        metrics["rate"]["samples"][2][5],
        serde_json::json!([1234.5])
    );
    assert_eq!(metrics["rate"]["better"], "higher");
    assert_eq!(
        metrics["json"]["samples"][0][0],
        serde_json::json!([7.0, 8.0])
    );
    assert_eq!(metrics["p95"]["unit"], "s");
    assert_eq!(metrics["p95"]["samples"][1][0], serde_json::json!([0.0025]));
    // What a workload prints is what the comparison is about, and not how long it ran.
    assert_eq!(metrics["rate"]["is_main"], true);
    assert_eq!(metrics["wall time"]["is_main"], false);
    let time = &metrics["wall time"]["samples"][2][0][0];
    assert!(time.as_f64().unwrap() > 0.0);

    let names: Vec<&str> = result["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variant| variant["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["release", "release (again)", "optimized"]);
    assert_eq!(
        result["training"]["workloads"],
        serde_json::json!(["train"])
    );

    // The saved result is a variant from now on.
    let run = compare(
        &t,
        &[
            "--runs",
            "2",
            "--warmup",
            "0",
            "--baseline",
            "first:release",
            "--against",
            "optimized",
        ],
    )
    .succeeds();
    run.stdout_has("first:release")
        .stdout_has("was measured before");
    compare(&t, &["--baseline", "first:nothing"])
        .fails_saying(2, &["no variant `nothing`", "optimized"]);
    compare(&t, &["--baseline", "first", "--against", "first:release"])
        .fails_saying(2, &["nothing would be measured"]);
    compare(&t, &["--baseline", "second"]).fails_saying(2, &["`second` is no variant"]);
    compare(&t, &["--show", "first", "--format", "markdown"])
        .succeeds()
        .stdout_has("| figures  | optimized");
    compare(&t, &["--show", "none"])
        .fails_saying(2, &["no saved result `none`", "`first`, `last`"]);
    for name in ["release", "last"] {
        compare(&t, &["--save", name]).fails_saying(2, &["means something else"]);
    }

    // One of another version, and a damaged one.
    let file = "target/fdo/v1/results/first.json";
    let text = t.read(file);
    t.write(file, &text.replacen("\"version\":1", "\"version\":2", 1));
    compare(&t, &["--baseline", "first"]).fails_saying(6, &["format 2", "reads 1"]);
    t.write(file, &text[..text.len() / 2]);
    compare(&t, &["--baseline", "first"]).fails_saying(6, &["is no saved result"]);
}

#[test]
fn programs_from_elsewhere_need_no_profile() {
    let t = project("[workload.leaves]\nkind = \"evaluate\"\nrun = [\"{bin:app}\", \"leave\"]\n");
    t.cargo(["build"]).succeeds();
    let args = [
        "--baseline",
        "./target/debug/app",
        "--against",
        "release",
        "--runs",
        "2",
    ];
    let run = compare(
        &t,
        &[&args[..], &["-w", "leaves", "--format", "csv"]].concat(),
    )
    .succeeds();
    run.stdout_has("leaves,wall time,s,");
    // What a run leaves behind does not disturb the next one.
    let left = t.run("sh", ["-c", "pgrep -f '^sleep 1000$' | wc -l"]);
    assert_eq!(left.stdout().trim(), "0");

    compare(&t, &["--baseline", "./gone", "-w", "leaves"])
        .fails_saying(2, &["there is no program at", "/gone"]);
    compare(&t, &["--runs", "0"]).fails_with(2);
    Sandbox::rust_project()
        .cargo_fdo(["compare"])
        .fails_saying(2, &["no workload to measure with", "kind = \"evaluate\""]);
    compare(&t, &["--save", "../x"]).fails_saying(2, &["can't name a result"]);
    // Without a profile there is nothing to compare with, and that is known before anything runs.
    compare(&t, &["-w", "figures"]).fails_saying(5, &["there is no profile", "cargo fdo train"]);
}

#[test]
fn a_run_that_fails_is_told_and_takes_only_itself_out() {
    let t = project(
        "[workload.once]\nkind = \"evaluate\"\nprepare = \"touch {tmp}/mark\"\n\
         run = [\"{bin:app}\", \"once\", \"{tmp}\"]\n\
         [workload.fails]\nkind = \"evaluate\"\nrun = [\"{bin:app}\", \"fail\"]\n\
         [workload.good]\nkind = \"evaluate\"\nrun = [\"{bin:app}\", \"good\"]\n\
         [workload.silent]\nkind = \"evaluate\"\nrun = [\"{bin:app}\", \"silent\"]\n\
         [workload.silent.metrics]\nnever = { regex = 'latency (\\d+)' }\n\
         [workload.nowhere]\nkind = \"evaluate\"\nprepare = \"echo no space >&2; exit 9\"\nrun = [\"{bin:app}\"]\n",
    );
    t.cargo(["build"]).succeeds();
    let with = |workloads: &[&str]| {
        let mut args = vec!["--baseline", "./target/debug/app", "--against", "release"];
        args.extend(["--runs", "4", "--warmup", "0"]);
        for workload in workloads {
            args.extend(["-w", workload]);
        }
        compare(&t, &args)
    };
    let run = with(&["once"]).fails_with(5);
    run.stdout_has("`once`: 3 runs failed, and is not in the figures")
        .stdout_has("lost the connection")
        .stdout_has("wall time")
        .stderr_has("the figures are those of the others");

    let run = with(&["fails", "good"]).fails_with(5);
    run.stderr_has("workload `fails` failed in each of 3 runs")
        .stderr_has("it wrote: always")
        .stdout_has("good");
    // Of 12 runs: when one of three has failed three times.
    assert_eq!(runs(&t, "fail").len(), 7, "it is given up early");

    with(&["silent"]).fails_saying(
        2,
        &[
            "metric `never`",
            "its standard output",
            "workload.NAME.metrics",
        ],
    );
    assert_eq!(runs(&t, "silent").len(), 1, "nothing is measured in vain");
    with(&["nowhere"]).fails_saying(5, &["`prepare` of workload `nowhere` failed", "no space"]);
}

#[test]
fn a_binary_that_goes_away_while_it_is_measured() {
    let t = project(
        "[workload.goes]\nkind = \"evaluate\"\nrun = \"{bin:app} goes && rm -f {bin:app}\"\n",
    );
    t.cargo(["build"]).succeeds();
    std::fs::copy(t.path("target/debug/app"), t.path("app")).unwrap();
    let run = compare(
        &t,
        &[
            "--baseline",
            "release",
            "--against",
            "./app",
            "--runs",
            "3",
            "-w",
            "goes",
        ],
    )
    .fails_with(5);
    run.stderr_has("exit status 127");
}

#[test]
fn what_is_slower_than_allowed_ends_with_its_own_status() {
    // Figures that differ for sure: by the program's path.
    let t = project(
        "[workload.worse]\nkind = \"evaluate\"\n\
         run = \"case {bin:app} in *elsewhere*) echo t: 115;; *) echo t: 100;; esac\"\n\
         [workload.worse.metrics]\nt = { regex = 't: (\\d+)', unit = \"ms\" }\n",
    );
    t.cargo(["build"]).succeeds();
    std::fs::create_dir(t.path("elsewhere")).unwrap();
    std::fs::copy(t.path("target/debug/app"), t.path("elsewhere/app")).unwrap();
    let with = |limit: &str| {
        compare(
            &t,
            &[
                "--baseline",
                "./target/debug/app",
                "--against",
                "./elsewhere",
                "--runs",
                "3",
                "-w",
                "worse",
                "--fail-on-regression",
                limit,
            ],
        )
    };
    let run = with("10").fails_saying(
        8,
        &["t of `worse` by `./elsewhere`, -15.00 %", "(-10.00 %)"],
    );
    run.stdout_has("worse");
    with("20%").succeeds();
    with("much").fails_with(2);
}

#[test]
fn errors_that_were_none_are_worse_without_a_ratio() {
    let t = project(
        "[workload.errors]\nkind = \"evaluate\"\n\
         run = \"case {bin:app} in *elsewhere*) echo errors=5;; *) echo errors=0;; esac\"\n\
         [workload.errors.metrics]\nerrors = { regex = 'errors=(\\d+)' }\n\
         [workload.twice]\nkind = \"evaluate\"\nrun = \"echo p95: 7 ms; : {bin:app}\"\n\
         [workload.twice.metrics]\np95 = { regex = 'p95: (.*)' }\nall = { reader = \"key-value\" }\n\
         [workload.others]\nkind = \"evaluate\"\nrun = \"echo 7\"\n",
    );
    t.cargo(["build"]).succeeds();
    std::fs::create_dir(t.path("elsewhere")).unwrap();
    std::fs::copy(t.path("target/debug/app"), t.path("elsewhere/app")).unwrap();
    let with = |workload: &str| {
        let variants = [
            "--baseline",
            "./target/debug/app",
            "--against",
            "./elsewhere",
        ];
        let more = ["--runs", "3", "-w", workload, "--fail-on-regression", "50"];
        compare(&t, &[&variants[..], &more].concat())
    };
    with("errors")
        .fails_saying(8, &["errors of `errors` by `./elsewhere`, in every run"])
        .stdout_has("zeros or negative values have no ratio")
        .stdout_has("worse in every run");
    with("twice").fails_saying(2, &["reads a figure `p95`, and so does another"]);
    with("others").fails_saying(2, &["names no program of this workspace", "{bin:NAME}"]);
}

#[test]
fn a_gate_that_could_not_look_is_not_passed() {
    let t = project(
        "[workload.slow]\nkind = \"evaluate\"\nrun = \"{bin:app} gate\"\n\
         [workload.stale]\nkind = \"evaluate\"\nprepare = \"echo x=7 > {tmp}/f\"\n\
         run = \"[ -e {tmp}/once ] || echo x=8 > {tmp}/f; touch {tmp}/once; : {bin:app}\"\n\
         [workload.stale.metrics]\nx = { regex = 'x=(\\d+)', file = \"{tmp}/f\" }\n\
         [workload.units]\nkind = \"evaluate\"\n\
         run = \"case {bin:app} in *elsewhere*) echo v=1.1 ms;; *) echo v=900;; esac\"\n\
         [workload.units.metrics]\nv = { regex = 'v=(.*)' }\n\
         [workload.pipe]\nkind = \"evaluate\"\nrun = \"rm -f {tmp}/p; mkfifo {tmp}/p; : {bin:app}\"\n\
         [workload.pipe.metrics]\nv = { regex = 'v=(.*)', file = \"{tmp}/p\" }\n\
         [workload.killed]\nkind = \"evaluate\"\n\
         run = \"sleep 100 & sleep 0.5; kill -9 $!; wait; : {bin:app}\"\n",
    );
    t.cargo(["build"]).succeeds();
    std::fs::create_dir(t.path("elsewhere")).unwrap();
    std::fs::copy(t.path("target/debug/app"), t.path("elsewhere/app")).unwrap();
    let with = |workload: &str, more: &[&str]| {
        let variants = [
            "--baseline",
            "./target/debug/app",
            "--against",
            "./elsewhere",
        ];
        compare(&t, &[&variants[..], &["-w", workload], more].concat())
    };
    let gate = ["--fail-on-regression", "1000000"];
    with("slow", &[&["--runs", "1"], &gate[..]].concat())
        .fails_saying(5, &["not judged", "wall time of `slow` by `./elsewhere`"]);
    with("stale", &["--runs", "2"]).fails_saying(5, &["the figures are those of the others"]);
    with("units", &["--runs", "4"])
        .fails_with(5)
        .stdout_has("metric `v` is in s in this run, and was without a unit before");
    with("pipe", &["--runs", "2"]).fails_saying(2, &["metric `v`", "not a file"]);
    if fdo_tests::tools::find("valgrind").is_some() {
        with(
            "killed",
            &["--runs", "1", "--warmup", "0", "--instructions=1"],
        )
        .fails_with(5)
        .stdout_has("processes left no counts");
    }

    // A saved result is of the same command, or it is none.
    let ad_hoc = |save: &[&str], word: &str| {
        let program = "{bin:app}";
        let words = ["--runs", "2", "--", program, word];
        compare(&t, &[&["--against", "release"], save, &words].concat())
    };
    ad_hoc(
        &["--baseline", "./target/debug/app", "--save", "before"],
        "a",
    )
    .succeeds();
    ad_hoc(&["--baseline", "before"], "a").succeeds();
    ad_hoc(&["--baseline", "before"], "b")
        .fails_saying(2, &["is of another workload `command`", "{bin:app} a"]);
    let file = "target/fdo/v1/results/before.json";
    t.write(
        file,
        &t.read(file)
            .replacen("\"samples\":[[", "\"samples\":[[],[", 1),
    );
    ad_hoc(&["--baseline", "before"], "a").fails_saying(6, &["is no saved result"]);
}

#[test]
fn wrong_metrics_are_found_when_the_file_is_read() {
    let t = project(
        "[workload.wrong]\nrun = [\"{bin:app}\"]\n[workload.wrong.metrics]\n\
         a = { regex = '(' }\nb = { regex = 'no group' }\nc = { pointer = \"x\" }\n\
         d = { reader = \"dbench\" }\ne = { unit = \"ms\" }\n\
         f = { regex = '(x)', pointer = \"/x\" }\ng = { reader = \"wrk\", better = \"lower\" }\n\
         h = { regex = '(x)', from = \"stdout\", file = \"{tmp}/x\" }\n\
         i = { regex = '(x)', file = \"{bin:app}\" }\nj = 7\n",
    );
    let run = compare(&t, &[]).fails_with(2);
    for words in [
        "`regex` in [workload.wrong.metrics.a]",
        "`regex` in [workload.wrong.metrics.b]",
        "`pointer` in [workload.wrong.metrics.c]",
        "did you mean `db_bench`?",
        "[workload.wrong.metrics.e] needs one of",
        "[workload.wrong.metrics.f] can have only one of",
        "[workload.wrong.metrics.g] can't have `unit` or `better`",
        "[workload.wrong.metrics.h] can have only one of `from` and `file`",
        "`file` in [workload.wrong.metrics.i] can hold",
        "[workload.wrong.metrics.j] must be a table",
    ] {
        run.stderr_has(words);
    }
}

#[test]
fn instructions_are_counted_where_valgrind_is() {
    require!("valgrind");
    let t = project("");
    t.cargo(["build", "--release"]).succeeds();
    std::fs::copy(t.path("target/release/app"), t.path("other")).unwrap();
    let run = compare(
        &t,
        &[
            "--baseline",
            "release",
            "--against",
            "./other",
            "--runs",
            "1",
            "-w",
            "figures",
            "--instructions",
            "--format",
            "json",
        ],
    )
    .succeeds();
    let result = run.stdout_json();
    let metrics = metrics(&result, 0);
    let counted = &metrics["instructions (callgrind)"];
    let of = |variant: usize| counted["samples"][variant][1][0].as_f64().unwrap();
    // 200,000 rounds of the loop, and the same program twice.
    assert!(of(0) > 400_000.0, "{counted}");
    assert!((of(0) / of(2) - 1.0).abs() < 0.01, "{counted}");
}

#[test]
fn what_was_measured_before_a_signal_is_not_lost() {
    use std::os::unix::process::ExitStatusExt;
    // The third run of the second variant tells cargo-fdo to end.
    let t = project(
        "[workload.stops]\nkind = \"evaluate\"\n\
         run = \"echo x >> $LOG.count; {bin:app} stops; \
         if [ $(wc -l < $LOG.count) -ge 8 ]; then kill -TERM $PPID; sleep 100; fi\"\n",
    );
    t.cargo(["build"]).succeeds();
    let args = [
        "compare",
        "--baseline",
        "./target/debug/app",
        "--against",
        "release",
    ];
    let more = [
        "--runs", "50", "--warmup", "0", "-w", "stops", "--save", "named",
    ];
    let mut command = t.cargo_fdo_command(&[&args[..], &more].concat());
    let output = command.output().unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(output.status.signal(), Some(15), "{stderr}");
    assert!(
        stdout.contains("`stops` was interrupted after 2 of 50 rounds"),
        "{stdout}\n{stderr}"
    );
    assert!(stdout.contains("wall time"));
    assert!(t.path("target/fdo/v1/results/last.json").is_file());
    assert!(!t.path("target/fdo/v1/results/named.json").exists());
}

#[test]
fn the_control_and_the_rust_only_build_have_the_compilers_that_they_say() {
    let clang = tools::llvm("clang");
    require!("gcc", clang.as_str());
    let t = Sandbox::trained();
    t.write(
        "fdo.toml",
        "[workload.evaluate]\nkind = \"evaluate\"\nrun = [\"{bin:app}\", \"70000\"]\n",
    );
    // The sandbox is a copy: cargo looks at everything once.
    t.cargo_fdo(["build"]).succeeds();
    let optimised = t.path("target/fdo/optimize");
    let before = newest(&optimised);
    let variants = ["--against", "control,rust-only,optimized", "--runs", "2"];
    let run = compare(&t, &[&variants[..], &["--format", "json"]].concat()).succeeds();
    let result = run.stdout_json();
    let by_clang = |name: &str| {
        let all = result["variants"].as_array().unwrap();
        let variant = all.iter().find(|variant| variant["name"] == name).unwrap();
        let path = variant["programs"][0]["path"].as_str().unwrap();
        let bytes = std::fs::read(path).unwrap();
        // What compiled the C file leaves its name in the program.
        bytes.windows(14).any(|words| words == b"clang version ")
    };
    assert!(!by_clang("release"));
    assert!(
        !by_clang("rust-only"),
        "C is compiled as plain cargo does it"
    );
    assert!(
        by_clang("control"),
        "all but the profile is that of the optimised build"
    );
    assert!(by_clang("optimized"));
    // The build that the user has was up to date, and none of the others disturbed it.
    assert_eq!(newest(&optimised), before);
    run.stderr_has("Rust 100 %)");

    // Of what one is compared with, `control` is a part where the compiler is another one.
    let run = compare(&t, &["--runs", "1", "--warmup", "0"]).succeeds();
    run.stdout_has("control");
}

/// The newest program or library below a directory, by its time.
fn newest(dir: &std::path::Path) -> std::time::SystemTime {
    let mut newest = std::time::UNIX_EPOCH;
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name() == Some("app".as_ref()) {
                newest = newest.max(entry.metadata().unwrap().modified().unwrap());
            }
        }
    }
    newest
}
