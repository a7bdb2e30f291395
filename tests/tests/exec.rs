//! `cargo fdo exec`: makefiles, and cmake by a toolchain file.

mod native;

use fdo_tests::{Sandbox, require, tools};
use native::{Log, set};

const MAKEFILE: &str = "\
tool: tool.o shared.o libcore.a
\t$(CXX) -o $@ $^
libcore.a: lib.o
\trm -f $@; ar crs $@ $^
%.o: %.c
\t$(CC) -O2 -c $< -o $@
%.o: %.cpp
\t$(CXX) -O2 -c $< -o $@
";

fn train(t: &Sandbox, program: &str, what: &str) {
    let raw = t.root().join(format!("raw-{what}"));
    let status = t
        .command(t.path(program))
        .arg(what)
        .env("LLVM_PROFILE_FILE", raw.join("%p-%m.profraw"))
        .status();
    assert!(status.expect("the tool runs").success());
    let raw = raw.to_str().expect("a plain path").to_owned();
    t.cargo_fdo(["train", "--collect", &raw]).succeeds();
}

fn project() -> Sandbox {
    let t = native::project("work", "Unix Makefiles").file("Makefile", MAKEFILE);
    std::fs::remove_file(t.path("fdo.toml")).expect("it was written");
    t
}

#[test]
fn make_beside_the_sources_goes_through_the_phases_in_place() {
    require!("make", "ar", &tools::llvm("clang++"));
    let t = project();
    let mut log = Log::default();
    let all = set(["lib.c", "shared.cpp", "tool.c"]);
    t.cargo_fdo(["exec", "--", "make"])
        .fails_saying(5, &["no `--phase`"]);
    let instrument = ["exec", "--phase", "instrument", "--", "make"];
    t.cargo_fdo(instrument)
        .succeeds()
        .stderr_has("work-0.0.0: 3 objects, 3 with counters");
    train(&t, "tool", "up");
    t.cargo_fdo(["exec", "--", "make"]).succeeds();
    assert_eq!(log.since(&t, "optimize"), all);
    assert_eq!(t.used("C and C++"), Some(1.0));
    t.cargo_fdo(["exec", "--", "make"]).succeeds();
    assert!(log.since(&t, "optimize").is_empty());

    // Over the objects of the other phase, and back.
    t.cargo_fdo(instrument)
        .succeeds()
        .stderr_has("3 objects, 3 with counters");
    train(&t, "tool", "down");
    t.cargo_fdo(["exec", "--", "make"]).succeeds();
    assert_eq!(log.since(&t, "optimize"), all);
    assert_eq!(t.used("C and C++"), Some(1.0));
}

#[test]
fn a_command_that_compiles_nothing_is_an_error() {
    require!("make", "ar", &tools::llvm("clang++"));
    let t = project();
    let instrument = |command: &[&str]| {
        let words = ["exec", "--phase", "instrument", "--"]
            .iter()
            .chain(command);
        t.cargo_fdo(words)
    };
    instrument(&["true"]).fails_saying(4, &["nothing was compiled by our compilers"]);
    instrument(&["false"]).fails_saying(4, &["the command failed", "exit status 1"]);
    t.cargo_fdo(["exec", "--phase", "instrument", "--configure", "--", "true"])
        .succeeds();
    // By its own compiler, whatever CC says.
    instrument(&["make", "CC=gcc", "CXX=g++"])
        .fails_saying(4, &["nothing was compiled by our compilers"]);
}

#[test]
fn cmake_takes_a_toolchain_file() {
    require!("cmake", "ninja", &tools::llvm("clang++"));
    let t = project();
    let exec = |phase: &[&str], command: &[&str]| {
        let words = [&["exec"], phase, &["--"], command].concat();
        t.cargo_fdo(words).succeeds()
    };
    let i = ["--phase", "instrument", "--exclude-target", "bench_*"];
    let toolchain = "-DCMAKE_TOOLCHAIN_FILE={toolchain}";
    let configure = ["cmake", "-S.", "-Bbi", "-GNinja", toolchain];
    exec(&[&i[..], &["--configure"]].concat(), &configure);
    exec(&i, &["cmake", "--build", "bi"]).stderr_has("4 objects, 3 with counters, 1 excluded");
    train(&t, "bi/tool", "up");
    let o = ["--exclude-target", "bench_*"];
    let script = "cmake -S. -Bbo -GNinja \"-DCMAKE_TOOLCHAIN_FILE=$0\" && cmake --build bo";
    exec(&o, &["sh", "-c", script, "{toolchain}"]);
    assert_eq!(t.used("C and C++"), Some(1.0));
}
