//! `env`, `clean`, `init`, `status`, and `run`, `test` and `bench` of the optimised build.

use fdo_tests::{Sandbox, projects, require, tools};

const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// Runs a shell command with the environment that `cargo fdo env` prints.
#[track_caller]
fn under(t: &Sandbox, phase: &str, command: &str) -> fdo_tests::Run {
    let env = t.cargo_fdo(["env", "--phase", phase]).succeeds();
    let script = format!("set -e\neval \"$1\"\n{command}");
    t.run("sh", ["-c", &script, "sh", env.stdout()])
}

#[track_caller]
fn has_counters(t: &Sandbox, program: &str) -> bool {
    let sections = t.run("readelf", ["-S", "--wide", program]).succeeds();
    sections.stdout().contains("__llvm_prf_cnts")
}

/// Runs an instrumented program and collects what it left.
#[track_caller]
fn train_by_hand(t: &Sandbox, program: &str) {
    let raw = t.root().join("raw");
    let mut command = t.command(t.path(program));
    command.env("LLVM_PROFILE_FILE", raw.join("%p-%m.profraw"));
    assert!(command.status().unwrap().success());
    let raw = raw.display().to_string();
    t.cargo_fdo(["train", "--collect", &raw]).succeeds();
}

#[test]
fn plain_cargo_is_instrumented_and_optimised_by_the_printed_environment() {
    require!(&tools::llvm("clang"));
    let t = Sandbox::c_project(projects::BY_HAND);
    under(&t, "instrument", "cargo build --release --offline").succeeds();
    let program = format!("target/fdo/instrument/{TRIPLE}/release/app");
    assert!(has_counters(&t, &program));
    train_by_hand(&t, &program);

    under(&t, "optimize", "cargo build --release --offline").succeeds();
    let run = t.cargo_fdo(["build"]).succeeds();
    assert_eq!(
        (t.used("C and C++"), t.used("Rust")),
        (Some(1.0), Some(1.0))
    );
    assert!(!has_counters(&t, run.stdout().trim()));
}

#[test]
fn both_environments_and_cargo_fdo_itself_work_one_after_the_other_in_one_shell() {
    let clang = tools::llvm("clang");
    require!(&clang, &tools::llvm("clang++"));
    let t = Sandbox::c_project(projects::BY_MAKE)
        .file("Makefile", projects::MAKEFILE)
        .rustc_wrapper()
        .spy(&clang)
        .env("CC", format!("{clang} -DMINE"));
    let script = "set -e
        eval \"$(cargo-fdo fdo env --phase instrument)\"
        cargo build --release --offline
        LLVM_PROFILE_FILE=$PWD/raw/%p-%m.profraw target/fdo/instrument/x86_64-unknown-linux-gnu/release/app
        cargo-fdo fdo train --collect raw
        eval \"$(cargo-fdo fdo env --phase optimize)\"
        cargo build --release --offline
        # Another profile: make by itself would keep the objects of the last one.
        cargo-fdo fdo train --no-overhead -- '{bin:app}' 3000
        eval \"$(cargo-fdo fdo env --phase optimize)\"
        cargo build --release --offline
        cargo-fdo fdo build";
    t.shell_with_cargo_fdo(script).succeeds();
    assert_eq!(
        (t.used("C and C++"), t.used("Rust")),
        (Some(1.0), Some(1.0))
    );
    assert!(!t.path("target/fdo/instrument/fdo").exists());
    let calls = t.calls("rustc-wrapper");
    let optimised = |call: &fdo_tests::Call| call.has_prefix("-Cprofile-use=");
    assert!(
        calls.iter().any(optimised),
        "the user's wrapper is still there"
    );
    let calls = t.calls(&clang);
    let of_hot: Vec<_> = calls.iter().filter(|call| call.has("hot.c")).collect();
    assert!(of_hot.len() >= 3 && of_hot.iter().all(|call| call.has("-DMINE")));
}

#[test]
fn make_outside_of_cargo_is_instrumented_and_optimised() {
    require!("make", &tools::llvm("clang"));
    let t = Sandbox::project()
        .file("hot.c", projects::C)
        .file(
            "main.c",
            "#include <stdio.h>\nunsigned long hot(unsigned);\n\
             int main(void) { printf(\"%lu\\n\", hot(3000)); return 0; }\n",
        )
        .file(
            "Makefile",
            "tool: main.o hot.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -O2 -c $< -o $@\n\
             clean:\n\trm -f *.o tool\n",
        );
    under(&t, "instrument", "make \"CC=$CC\"").succeeds();
    assert!(has_counters(&t, "tool"));
    train_by_hand(&t, "tool");
    under(&t, "optimize", "make clean && make \"CC=$CC\"").succeeds();
    assert!(!has_counters(&t, "tool"));
    // The compiler applied the profile: its evidence names the function.
    let found = t.run(
        "grep",
        [
            "-rl",
            "hot",
            "target/fdo/v1/optimize/evidence/outside-cargo.c",
        ],
    );
    found.succeeds();
}

#[test]
fn the_environment_comes_in_three_forms() {
    let t = Sandbox::project();
    let sh = t.cargo_fdo(["env", "--phase", "instrument"]).succeeds();
    for line in sh.stdout().lines() {
        assert!(
            line.starts_with("export ") || line.starts_with("unset "),
            "{line}"
        );
    }
    let plain = t
        .cargo_fdo(["env", "--phase", "instrument", "--format", "env"])
        .succeeds();
    plain.stdout_has("CARGO_FDO_PHASE=instrument\n");
    let json = t
        .cargo_fdo(["env", "--phase", "instrument", "--format", "json"])
        .succeeds();
    assert_eq!(json.stdout_json()["CARGO_FDO_PHASE"], "instrument");
    // Without a profile there is nothing to optimise with.
    t.cargo_fdo(["env"]).fails_with(5);
}

#[test]
fn env_has_no_dry_run_because_it_runs_no_command_of_the_users() {
    let t = Sandbox::project();
    t.cargo_fdo(["env", "--phase", "instrument", "--dry-run"])
        .fails_with(2)
        .stderr_has("unexpected argument '--dry-run'");
    assert!(!t.path("target").exists());
}

#[test]
fn status_and_clean_take_only_those_of_cargos_arguments_that_they_use() {
    let t = Sandbox::trained();
    for command in ["status", "clean"] {
        for option in [["-p", "app"], ["--bin", "app"], ["--profile", "dev"]] {
            t.cargo_fdo([command, option[0], option[1]])
                .fails_with(2)
                .stderr_has("unexpected argument");
        }
        for option in [
            "--release",
            "--all-features",
            "-j1",
            "--message-format=json",
        ] {
            let _ = t.cargo_fdo([command, option]).fails_with(2);
        }
    }
    let elsewhere = t.root().join("target");
    std::fs::rename(t.path("target"), &elsewhere).unwrap();
    let (manifest, elsewhere) = (t.path("Cargo.toml"), elsewhere.display().to_string());
    let words = [
        "--manifest-path",
        manifest.to_str().unwrap(),
        "--target-dir",
        &elsewhere,
    ];
    let words = [
        &words[..],
        &["--target", TRIPLE, "--offline", "--color=never"],
    ]
    .concat();
    for command in ["status", "clean"] {
        let _ = t
            .cargo_fdo_in("..", [command].iter().chain(&words))
            .succeeds();
    }
    let _ = t
        .cargo_fdo_in("..", ["status"].iter().chain(&words))
        .fails_with(5);
}

#[test]
fn clean_removes_what_cargo_fdo_made_and_nothing_else() {
    let t = Sandbox::rust_project();
    t.cargo(["build", "--offline"]).succeeds();
    t.cargo_fdo(["clean"]).succeeds();
    t.train();
    t.cargo_fdo(["build"]).succeeds();
    t.write("target/fdo/of the user", "kept");
    t.write("target/other", "kept");

    t.cargo_fdo(["clean", "--keep-profiles"]).succeeds();
    assert!(!t.path("target/fdo/instrument").exists() && !t.path("target/fdo/optimize").exists());
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("Rust"), Some(1.0));

    t.cargo_fdo(["clean"]).succeeds();
    t.cargo_fdo(["build"]).fails_with(5);
    let left = t.run("find", ["target/fdo", "-size", "+300k"]).succeeds();
    assert_eq!(left.stdout(), "", "large files are left");
    for kept in [
        "target/debug/app",
        "target/fdo/of the user",
        "target/other",
        "src/main.rs",
    ] {
        assert!(t.path(kept).exists(), "{kept}");
    }
}

#[test]
fn init_writes_a_file_that_train_takes() {
    let t = Sandbox::rust_project()
        .manifest("[[bench]]\nname = \"b\"\nharness = false")
        .file(
            "benches/b.rs",
            "fn main() { println!(\"{}\", (0..999u64).sum::<u64>()); }\n",
        );
    let printed = t.cargo_fdo(["init", "--print"]).succeeds();
    assert!(!t.path("fdo.toml").exists());
    t.cargo_fdo(["init"]).succeeds();
    assert_eq!(t.read("fdo.toml").trim(), printed.stdout().trim());
    t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    // A file of the user's is never overwritten.
    t.cargo_fdo(["init"])
        .fails_with(2)
        .stderr_has("is there already");

    // Every setting that it shows is one, once it is switched on.
    let switched_on: String = printed
        .stdout()
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(rest) if !rest.starts_with(' ') => format!("{rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    t.write("fdo.toml", &switched_on);
    t.cargo_fdo(["train", "--no-overhead", "-w", "typical", "--dry-run"])
        .succeeds();
}

#[test]
fn status_shows_the_profile_to_people_and_programs() {
    let t = Sandbox::rust_project();
    t.cargo_fdo(["status"]).fails_with(5);
    t.train();
    let run = t.cargo_fdo(["status"]).succeeds();
    run.stdout_has("workload   command (weight 1, 1 raw profile)");
    run.stdout_has("\nfunctions with the hottest blocks\n");
    run.stderr_has("`cargo fdo build` has not used it yet");
    let json = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    assert_eq!(json["version"], 1);
    assert_eq!(json["campaign"]["target"], TRIPLE);
    assert!(json["used"].is_null());
    t.cargo_fdo(["build"]).succeeds();
    t.cargo_fdo(["status"])
        .succeeds()
        .stdout_has("used       100 % of the counts");
    let json = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    assert!(json["used"]["all"]["total"].as_u64().unwrap() > 0);
}

#[test]
fn run_test_and_bench_hand_arguments_on_and_keep_the_programs_status() {
    let t = Sandbox::project()
        .manifest("[[bench]]\nname = \"b\"\nharness = false\n[[example]]\nname = \"ex\"")
        .file("src/lib.rs", "pub fn f(n: u64) -> u64 { (0..n).fold(1, |s, x| std::hint::black_box(s ^ x)) }\n")
        .file(
            "src/main.rs",
            "fn main() {\n    let args: Vec<_> = std::env::args().skip(1).collect();\n\
             \x20   println!(\"{args:?} {}\", app::f(3000));\n\
             \x20   let mut line = String::new();\n    std::io::stdin().read_line(&mut line).unwrap();\n\
             \x20   if !line.is_empty() { println!(\"read {line}\"); }\n\
             \x20   std::process::exit(if args.iter().any(|arg| arg == \"fail\") { 9 } else { 0 });\n}\n",
        )
        .file("examples/ex.rs", "fn main() { println!(\"example {:?}\", std::env::args().nth(1)); }\n")
        .file("benches/b.rs", "fn main() { println!(\"bench {:?}\", std::env::args().collect::<Vec<_>>()); app::f(3); }\n")
        .file(
            "tests/t.rs",
            "#[test]\nfn wanted() { println!(\"it runs\"); assert!(app::f(3000) > 0); }\n\
             #[test]\nfn other() { panic!(\"must not run\"); }\n",
        );
    t.train();
    let run = t
        .cargo_fdo(["run", "--", "--flag", "a b", "--", "-x"])
        .succeeds();
    run.stdout_has("[\"--flag\", \"a b\", \"--\", \"-x\"]");
    t.cargo_fdo(["run", "plain", "--words"])
        .succeeds()
        .stdout_has("[\"plain\", \"--words\"]");
    t.cargo_fdo(["run", "--example", "ex", "--", "7"])
        .succeeds()
        .stdout_has("example Some(\"7\")");
    // The program's own, as with `cargo run`.
    let _ = t.cargo_fdo(["run", "--", "fail"]).fails_with(9);

    let run = t
        .cargo_fdo(["test", "--test", "t", "--", "wanted", "--nocapture"])
        .succeeds();
    run.stdout_has("it runs").stdout_has("1 passed");
    let run = t
        .cargo_fdo(["test", "--test", "t", "wanted", "--", "--nocapture"])
        .succeeds();
    run.stdout_has("it runs").stdout_has("1 passed");
    t.cargo_fdo(["test", "--test", "t"]).fails_with(4);

    let run = t
        .cargo_fdo(["bench", "--bench", "b", "--", "--mine"])
        .succeeds();
    run.stdout_has("\"--mine\"");
    for phase in ["run", "test", "bench"] {
        let dry = t.cargo_fdo([phase, "--dry-run"]).succeeds();
        dry.stdout_has("cargo");
    }
}

#[test]
fn tests_and_benchmarks_of_a_program_use_its_profile() {
    let t = Sandbox::rust_project();
    // `main` itself has another name among tests, which have a `main` of their own.
    let work = t
        .read("src/main.rs")
        .replace("fn main()", "#[inline(never)]\nfn work()");
    t.write(
        "src/main.rs",
        &format!("{work}\nfn main() {{ work() }}\n#[test]\nfn steps() {{ work() }}\n"),
    );
    t.cargo_fdo(["train", "--no-overhead", "-w", "run"])
        .succeeds();
    t.cargo_fdo(["test"]).succeeds().stdout_has("1 passed");
    assert!(t.used("Rust").is_some_and(|used| used > 0.95));
    // And the other way round.
    t.cargo_fdo(["train", "--no-overhead", "-w", "test"])
        .succeeds();
    t.cargo_fdo(["build"]).succeeds();
    assert!(t.used("Rust").is_some_and(|used| used > 0.95));
}
