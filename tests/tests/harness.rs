//! The harness itself: a sandbox that leaks or a fake that lies makes every other test worthless.

use fdo_tests::{Call, Fake, Sandbox, assert_snapshot, redact, tools};
use std::process::Command;
use std::time::Duration;

#[test]
fn settings_of_the_machine_do_not_reach_the_sandbox() {
    // A test program's own environment is full of cargo's variables.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let t = Sandbox::project();
    let run = t.run("env", [""; 0]).succeeds();
    for line in run.stdout().lines() {
        let name = line.split('=').next().unwrap();
        let leaks = [
            "CARGO_MANIFEST",
            "CARGO_PKG",
            "RUSTFLAGS",
            "CFLAGS",
            "LLVM_",
            "LD_LIBRARY",
        ];
        assert!(!leaks.iter().any(|leak| name.contains(leak)), "{line}");
    }
    run.stdout_has("CARGO_TERM_COLOR=never");
    run.stdout_has(&format!(
        "XDG_CACHE_HOME={}",
        t.root().join("cache").display()
    ));
}

#[test]
fn a_project_builds_with_plain_cargo() {
    let t = Sandbox::project().file("src/main.rs", "fn main() { println!(\"42\"); }\n");
    t.cargo(["build", "--offline"]).succeeds();
    let run = t.run(t.path("target/debug/app"), [""; 0]).succeeds();
    run.stdout_has("42\n");
    assert!(tools::is_program(&t.path("target/debug/app")));
}

#[test]
fn an_example_is_copied_without_what_was_built_there() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    for entry in std::fs::read_dir(examples).unwrap() {
        let entry = entry.unwrap();
        if entry.path().join("Cargo.toml").exists() {
            let t = Sandbox::example(entry.file_name().to_str().unwrap());
            assert!(t.path("Cargo.toml").exists());
            assert!(!t.path("target").exists());
        }
    }
}

#[test]
fn cargo_fdo_is_found() {
    // Whatever it says, it runs.
    let _ = Sandbox::project().cargo_fdo(["--version"]);
}

#[test]
fn a_fake_fails_on_demand_and_remembers_its_calls() {
    let t = Sandbox::project().fake("llvm-profdata", Fake::fails("bad magic\n"));
    let run = t.run("llvm-profdata", ["merge", "-o", "a b"]).fails_with(1);
    run.stderr_has("bad magic");

    let calls = t.calls("llvm-profdata");
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].args, ["merge", "-o", "a b"]);
    assert_eq!(calls[0].value_of("-o"), Some("a b"));
    assert_eq!(calls[0].cwd, t.path("").canonicalize().unwrap());
    assert_eq!(calls[0].env["CARGO_TERM_COLOR"], "never");
}

#[test]
fn a_spy_is_the_real_tool() {
    let t = Sandbox::project().spy("true").spy("cat");
    t.run("true", [""; 0]).succeeds();
    let run = t.run("cat", ["Cargo.toml"]).succeeds();
    run.stdout_has("[package]");
    assert_eq!(t.calls("true").len(), 1);
}

#[test]
fn a_fake_may_play_one_call_only() {
    let t = Sandbox::project().fake("cat", Fake::exits(9, "", "no").when("src/main.rs"));
    t.run("cat", ["Cargo.toml"]).succeeds();
    t.run("cat", ["src/main.rs"]).fails_with(9);
    assert_eq!(t.calls("cat").len(), 2);
}

#[test]
fn a_fake_writes_garbage_where_its_output_belongs() {
    let t = Sandbox::project().fake("profdata", Fake::writes_garbage());
    t.run("profdata", ["merge", "-o", "one"]).succeeds();
    t.run("profdata", ["merge", "--output=two"]).succeeds();
    assert!(t.path("one").exists() && t.path("two").exists());
}

#[test]
fn a_fake_dies_sleeps_and_answers() {
    let t = Sandbox::project()
        .fake("dies", Fake::dies_by(9))
        .fake("sleeps", Fake::sleeps(Duration::from_millis(1)))
        .fake("answers", Fake::prints("clang version 14.0.6\n"));
    t.run("dies", [""; 0]).dies_by(9);
    t.run("sleeps", [""; 0]).succeeds();
    let _ = t
        .run("answers", ["--version"])
        .succeeds()
        .stdout_has("14.0.6");
}

#[test]
fn the_users_wrapper_sees_rustc() {
    let t = Sandbox::project().rustc_wrapper();
    t.cargo(["build", "--offline"]).succeeds();
    let calls = t.calls("rustc-wrapper");
    // Cargo's questions go through the wrapper, too, with the crate name `___`.
    let compiles_app = |call: &&Call| call.value_of("--crate-name") == Some("app");
    let compilation = calls.iter().find(compiles_app);
    let compilation = compilation.expect("rustc compiled the package");
    assert_eq!(compilation.env["CARGO_PKG_NAME"], "app");
}

#[test]
fn the_users_compilers_are_spied_on() {
    fdo_tests::require!("gcc", "g++");
    let t = Sandbox::project()
        .compilers("gcc", "g++")
        .file("a.c", "int a;\n");
    t.run("sh", ["-c", "$CC -c a.c -o a.o"]).succeeds();
    assert!(t.calls("gcc").iter().any(|call| call.has("a.c")));
}

#[test]
fn parallel_calls_are_all_remembered() {
    let t = Sandbox::project().fake("tool", Fake::succeeds());
    let mut children: Vec<_> = (0..16)
        .map(|_| t.command(t.root().join("tools/tool")).spawn().unwrap())
        .collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(t.calls("tool").len(), 16);
}

#[test]
fn a_moved_project_is_still_the_project() {
    let t = Sandbox::project().moved_to("with space");
    assert!(t.read("Cargo.toml").contains("app"));
    t.cargo(["build", "--offline"]).succeeds();
}

#[test]
fn paths_are_redacted() {
    let t = Sandbox::project();
    let text = format!(
        "wrote {} and {} in 12.5ms, key 0123456789abcdef\n",
        t.path("target/fdo").display(),
        t.root().join("cache").display()
    );
    assert_snapshot("redacted", &redact(&t, &text));
}

#[test]
fn each_tool_of_a_test_is_installed_by_the_scripts() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/packages.sh");
    let list = Command::new("bash")
        .args([
            "-c",
            r#". "$0" && echo "${needed[@]}" "${optional[@]}""#,
            script,
        ])
        .output()
        .unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let tools = ["clang++", "ld.lld", "llvm-profdata", "llvm-nm"].map(tools::llvm);
    let others = [
        "clang-14",
        "clang-19",
        "llvm-profdata-19",
        "gcc",
        "g++",
        "cmake",
    ];
    let others = others
        .into_iter()
        .chain(["make", "ninja", "perf", "valgrind", "ccache", "python3"]);
    for tool in tools.iter().map(String::as_str).chain(others) {
        let package = tools::package_of(tool);
        assert!(
            list.split_whitespace().any(|word| word == package),
            "`{tool}` is of {package}, which tests/packages.sh does not install: {list}"
        );
    }
}
