//! What a training runs, and what it makes of it.

use fdo_tests::{Sandbox, require, tools};
use std::time::{Duration, Instant};

/// A library whose functions tell who called them: one for each way to train.
fn with_everything() -> Sandbox {
    let caller =
        |function: &str| format!("fn main() {{ println!(\"{{}}\", app::{function}(3000)); }}\n");
    let function = |name: &str| {
        format!(
            "#[inline(never)]\npub fn {name}(n: u64) -> u64 {{\n\
             (0..n).fold(1, |s, x| std::hint::black_box(s ^ x.rotate_left(3)))\n}}\n"
        )
    };
    let functions = ["by_bench", "by_test", "by_run", "by_example"].map(function);
    Sandbox::project()
        .manifest("[[bench]]\nname = \"b\"\nharness = false\n[[example]]\nname = \"ex\"")
        // A documentation test links the library with counters, and has none itself.
        .file(
            "src/lib.rs",
            &format!(
                "//! ```\n//! assert!(app::by_test(5) > 0);\n//! ```\n{}",
                functions.concat()
            ),
        )
        .file("src/main.rs", &caller("by_run"))
        .file("benches/b.rs", &caller("by_bench"))
        .file("examples/ex.rs", &caller("by_example"))
        .file(
            "tests/t.rs",
            "#[test]\nfn t() { assert!(app::by_test(3000) > 0); }\n",
        )
}

/// The hottest functions of the current profile, with their highest count.
#[track_caller]
fn hottest(t: &Sandbox) -> Vec<(String, u64)> {
    let status = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    let rows = status["campaign"]["hottest"].as_array().unwrap();
    let row = |row: &serde_json::Value| {
        (
            row[0].as_str().unwrap().to_owned(),
            row[1].as_u64().unwrap(),
        )
    };
    rows.iter().map(row).collect()
}

#[track_caller]
fn count_of(t: &Sandbox, function: &str) -> u64 {
    let rows = hottest(t);
    rows.iter()
        .filter(|(name, _)| name.contains(function))
        .map(|(_, most)| *most)
        .max()
        .unwrap_or(0)
}

#[test]
fn each_builtin_workload_runs_what_its_name_says() {
    let t = with_everything();
    for (workload, function) in [
        ("bench", "by_bench"),
        ("test", "by_test"),
        ("run", "by_run"),
        ("example:ex", "by_example"),
    ] {
        t.cargo_fdo(["train", "--no-overhead", "--workload", workload])
            .succeeds();
        let rows = hottest(&t);
        assert!(count_of(&t, function) >= 3000, "{workload}: {rows:?}");
        for other in ["by_bench", "by_test", "by_run", "by_example"] {
            assert!(
                other == function || count_of(&t, other) == 0,
                "{workload}: {rows:?}"
            );
        }
    }
    // Together, in one profile.
    t.cargo_fdo(["train", "--no-overhead", "-w", "run", "-w", "example:ex"])
        .succeeds();
    assert!(count_of(&t, "by_run") > 0 && count_of(&t, "by_example") > 0);
}

const NAMED: &str = r#"
workloads = ["named"]

[workload.named]
prepare = "{bin:app} 40 && echo 700 > {tmp}/n"
run = 'test "$PWD" = "{workspace}/data" && test "$DEEP" = "{tmp}/deep" && {bin:app} "$(cat {tmp}/n)"'
env = { DEEP = "{tmp}/deep" }
cwd = "data"
repeat = 3
timeout = "60s"
"#;

#[test]
fn a_named_workload_has_its_directory_variables_preparation_and_repetitions() {
    let t = Sandbox::rust_project()
        .file("fdo.toml", NAMED)
        .file("data/keep", "");
    let run = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    run.stderr_has("workload `named` (3 of 3)");
    let three = steps(&t);
    // What prepares is not profiled, and three runs count three times.
    t.write("fdo.toml", &NAMED.replace("repeat = 3", "repeat = 1"));
    t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    assert_eq!(steps(&t) * 3, three);
    t.cargo_fdo(["train", "--no-overhead", "--", "{bin:app}", "700"])
        .succeeds();
    assert_eq!(steps(&t) * 3, three);
}

/// How often the program's loop ran.
#[track_caller]
fn steps(t: &Sandbox) -> u64 {
    let rows = hottest(t);
    rows.first().expect("a profile").1
}

#[test]
fn weights_weigh() {
    let toml = |weight: u32| {
        format!(
            "workloads = [\"a\", \"b\"]\n[workload.a]\nrun = [\"{{bin:app}}\", \"300\"]\nweight = {weight}\n\
             [workload.b]\nrun = [\"{{bin:app}}\", \"500\"]\n"
        )
    };
    let t = Sandbox::rust_project();
    let trained = |weight, workloads: &[&str]| {
        t.write("fdo.toml", &toml(weight));
        let chosen = workloads.iter().flat_map(|name| ["--workload", name]);
        let args: Vec<_> = ["train", "--no-overhead"]
            .into_iter()
            .chain(chosen)
            .collect();
        t.cargo_fdo(args).succeeds();
        steps(&t)
    };
    let (a, b) = (trained(1, &["a"]), trained(1, &["b"]));
    assert!(a > 0 && b > a);
    assert_eq!(trained(1, &[]), a + b);
    assert_eq!(trained(5, &[]), 5 * a + b);
}

#[test]
fn a_workload_that_hangs_or_fails_or_leaves_nothing_fails_the_training() {
    let t = Sandbox::rust_project().file(
        "fdo.toml",
        "[workload.hangs]\nrun = \"{bin:app} 10; sleep 600\"\ntimeout = \"1s\"\n\
         [workload.fails]\nrun = \"{bin:app} 10; exit 3\"\n\
         [workload.unprepared]\nprepare = \"exit 4\"\nrun = [\"{bin:app}\"]\n\
         [workload.elsewhere]\nrun = \"true\"\n\
         [workload.killed]\nrun = \"{bin:app} 100000000 & sleep 0.2; kill -9 $!; wait $!; true\"\n",
    );
    let train = |name: &str| t.cargo_fdo(["train", "--no-overhead", "--workload", name]);
    let start = Instant::now();
    train("hangs")
        .fails_with(5)
        .stderr_has("stopped after its timeout of 1s");
    assert!(start.elapsed() < Duration::from_secs(120));
    train("fails").fails_with(5).stderr_has("exit status 3");
    train("unprepared")
        .fails_with(5)
        .stderr_has("`prepare` of workload `unprepared` failed");
    train("elsewhere")
        .fails_with(5)
        .stderr_has("wrote no raw profile");
    train("killed").fails_with(5);
    train("unknown").fails_with(2).stderr_has("unknown");
    // None of them left a profile behind.
    t.cargo_fdo(["status"]).fails_with(5);
}

#[test]
fn a_program_run_by_hand_is_collected() {
    require!(&tools::llvm("clang"));
    let t = Sandbox::c_project(fdo_tests::projects::BY_HAND);
    let run = t.cargo_fdo(["train", "--build-only"]).succeeds();
    let program = run.stdout().trim();
    assert!(program.contains("/instrument/"), "{program}");
    assert!(t.raw_profiles().is_empty());

    let raw = t.root().join("elsewhere");
    let mut command = t.command(program);
    command.env("LLVM_PROFILE_FILE", raw.join("%p-%m.profraw"));
    assert!(command.status().unwrap().success());
    t.cargo_fdo(["train", "--collect", raw.to_str().unwrap()])
        .succeeds();
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(
        (t.used("C and C++"), t.used("Rust")),
        (Some(1.0), Some(1.0))
    );
    assert_eq!(
        std::fs::read_dir(&raw).unwrap().count(),
        1,
        "the files are the user's"
    );

    // Without the variable, where the hint says.
    t.run(program, [""; 0]).succeeds();
    let by_hand = t.raw_profiles();
    assert_eq!(by_hand.len(), 1, "{by_hand:?}");
    run.stderr_has(by_hand[0].parent().unwrap().to_str().unwrap());
    t.cargo_fdo(["train", "--collect", by_hand[0].to_str().unwrap()])
        .succeeds();
    t.cargo_fdo(["train", "--collect", "nowhere"]).fails_with(5);
}

#[test]
fn a_dry_run_prints_commands_that_run_and_runs_nothing() {
    require!(&tools::llvm("clang"));
    let t = Sandbox::c_project(fdo_tests::projects::BY_HAND).file(
        "fdo.toml",
        "[workload.w]\nprepare = \"echo > {tmp}/x\"\nrun = \"touch ran; {bin:app} 50\"\n",
    );
    let run = t
        .cargo_fdo(["train", "--dry-run", "--workload", "w"])
        .succeeds();
    let lines: Vec<_> = run.stdout().lines().collect();
    assert!(
        lines.iter().any(|line| line.contains(" build ")),
        "{lines:#?}"
    );
    assert!(
        lines.iter().any(|line| line.contains("touch ran")),
        "{lines:#?}"
    );
    assert!(
        lines.iter().any(|line| line.contains("merge")),
        "{lines:#?}"
    );
    assert!(!t.path("ran").exists() && !t.path("target/fdo/instrument").exists());

    // The commands are whole: the printed build is the build.
    let build = lines.iter().find(|line| line.contains(" build ")).unwrap();
    t.run("sh", ["-c", build]).succeeds();
    let program = t.path("target/fdo/instrument/x86_64-unknown-linux-gnu/release/app");
    let symbols = t
        .run("readelf", ["-S", "--wide", program.to_str().unwrap()])
        .succeeds();
    symbols.stdout_has("__llvm_prf_cnts");

    t.train();
    let run = t.cargo_fdo(["build", "--dry-run"]).succeeds();
    assert!(!t.path("target/fdo/optimize").exists());
    let build = run
        .stdout()
        .lines()
        .find(|line| line.contains(" build "))
        .unwrap();
    t.run("sh", ["-c", build]).succeeds();
    assert!(
        t.path("target/fdo/optimize/x86_64-unknown-linux-gnu/release/app")
            .exists()
    );
    // What a dry run's commands built counts as built.
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), Some(1.0));
}

#[test]
fn benchmarks_and_tests_that_there_are_none_of_do_not_replace_a_profile() {
    let t = Sandbox::rust_project();
    t.train();
    let before = hottest(&t);
    for (workload, missing) in [("bench", "has a benchmark"), ("test", "has a test")] {
        for method in ["instrument", "sample"] {
            if method == "sample" && !tools::require("perf") {
                continue;
            }
            t.cargo_fdo(["train", "--method", method, "--workload", workload])
                .fails_saying(2, &[missing, "--workload run"]);
        }
    }
    assert_eq!(hottest(&t), before);
    t.cargo_fdo(["build"]).succeeds();

    // One unit test is enough.
    let with_test = format!(
        "{}\n#[test]\nfn steps() {{ assert_eq!(step(4), 2); }}\n",
        t.read("src/main.rs")
    );
    t.write("src/main.rs", &with_test);
    t.cargo_fdo(["train", "--no-overhead", "--workload", "test"])
        .succeeds();
}
