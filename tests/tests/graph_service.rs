//! `examples/graph-service`: three daemons under load, with counters and with samples.

use fdo_tests::{Sandbox, require, tools};

#[test]
fn daemons_of_cmake_are_trained_under_load_and_built_with_their_profiles() {
    require!(
        &tools::llvm("llvm-profdata"),
        &tools::llvm("clang"),
        "cmake"
    );
    let t = Sandbox::example("graph-service");
    let trained = t
        .cargo_fdo([
            "train",
            "--no-overhead",
            "-w",
            "graph/go1step",
            "-w",
            "graph/insert",
        ])
        .succeeds();
    trained.stderr_has("1 excluded");
    // One of each daemon; the load has none.
    trained.stderr_has("Trained `graph/insert` in");
    trained.stderr_has(", 3 raw profiles");
    for daemon in ["storaged", "graphd", "metad"] {
        trained.stderr_has(daemon);
    }
    let built = t.cargo_fdo(["build"]).succeeds();
    built.stderr_has("100 % of the counts were used");
    built.stdout_has("optimize/cmake/graph/graphd");
    let measured = t
        .cargo_fdo([
            "compare",
            "-w",
            "counted/fetch",
            "--runs",
            "1",
            "--warmup",
            "0",
            "--format",
            "json",
        ])
        .succeeds();
    measured.stdout_has("CPU time of storaged");
}

#[test]
fn samples_leave_out_the_daemon_that_does_nothing() {
    require!("perf", "gcc", "cmake");
    let t = Sandbox::example("graph-service")
        .env("CC", "gcc")
        .env("CXX", "g++");
    let trained = t
        .cargo_fdo(["train", "--method", "sample", "-w", "graph/go3step"])
        .succeeds();
    trained.stderr_has("Converted storaged");
    trained.stderr_has("Converted graphd");
    trained.stderr_lacks("Converted metad");
    // The only Rust is the load.
    trained.stderr_lacks("only C and C++ are optimised");
    let built = t.cargo_fdo(["build", "--min-match", "50%"]).succeeds();
    built.stdout_has("optimize/cmake/graph/storaged");
}
