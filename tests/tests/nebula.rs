//! The example `nebula-graph`: the fdo.toml for a checkout of NebulaGraph, with stand-ins for its daemons, for
//! nebula-console and for NebulaGraph Bench (in `nebula/`), which are particular where the real ones are.

use fdo_tests::{Sandbox, require, tools};
use std::os::unix::fs::PermissionsExt as _;

/// Of a configuration file: what an installed daemon would do, and this one must not.
const CONF: &str = "# as installed\n--daemonize=true\n--redirect_stdout=true\n--local_ip=127.0.0.1\n\
                    --port=9559\n--pid_file=pids/nebula.pid\n--enable_udf=true\n";

const SCENARIOS: [&str; 5] = [
    "FindShortestPath",
    "Go1Step",
    "Go2Step",
    "Go3Step",
    "InsertPerson",
];

const DAEMONS: [&str; 3] = ["metad", "storaged", "graphd"];

/// The checkout, with the bench beside it.
fn checkout() -> Sandbox {
    let t = Sandbox::example("nebula-graph")
        .file("CMakeLists.txt", include_str!("nebula/CMakeLists.txt"))
        .file("daemon.h", include_str!("nebula/daemon.h"))
        .file("metad.cpp", include_str!("nebula/metad.cpp"))
        .file("storaged.cpp", include_str!("nebula/storaged.cpp"))
        .file("graphd.cpp", include_str!("nebula/graphd.cpp"))
        .file("resources/date_time_zonespec.csv", "\"ID\"\n")
        .file("../NebulaGraph-Bench/run.py", include_str!("nebula/run.py"))
        .file("../NebulaGraph-Bench/ask.py", include_str!("nebula/ask.py"))
        .file(
            "../NebulaGraph-Bench/console.py",
            include_str!("nebula/console.py"),
        );
    for daemon in DAEMONS {
        t.write(&format!("conf/nebula-{daemon}.conf.default"), CONF);
    }
    let console = t.tool("nebula-console");
    let script = t.path("../NebulaGraph-Bench/console.py");
    let script = format!("#!/bin/sh\nexec python3 '{}' \"$@\"\n", script.display());
    std::fs::write(&console, script).unwrap();
    std::fs::set_permissions(&console, std::fs::Permissions::from_mode(0o755)).unwrap();
    t
}

#[test]
fn all_five_scenarios_and_three_daemons_are_in_the_plan() {
    require!("cmake", "g++", &tools::llvm("clang++"));
    let t = checkout();
    for method in ["instrument", "sample"] {
        let plan = t
            .cargo_fdo(["train", "--dry-run", "--method", method])
            .succeeds();
        let said = format!("{}{}", plan.stdout(), plan.stderr());
        for words in [
            "-DCMAKE_BUILD_TYPE=Release",
            "--target nebula-metad nebula-storaged nebula-graphd",
            "nebula importer -s benchmark",
            "-scenario find_path.FindShortestPath",
            "-scenario go.Go1StepEdge",
            "-scenario go.Go2StepEdge",
            "-scenario go.Go3StepEdge",
            "-scenario insert.BatchInsertVertexScenario",
        ] {
            assert!(said.contains(words), "no `{words}`:\n{said}");
        }
    }
}

#[test]
fn one_command_trains_the_daemons_and_one_builds_them() {
    require!("cmake", "python3", &tools::llvm("clang++"));
    let t = checkout();
    let trained = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    trained.stderr_has("C and C++ nebula-0.0.0: 3 objects, 3 with counters");
    for scenario in SCENARIOS {
        trained.stderr_has(&format!("Trained `stress/{scenario}`"));
    }
    let built = t.cargo_fdo(["build"]).succeeds();
    let programs: Vec<&str> = built.stdout().lines().collect();
    assert_eq!(programs.len(), DAEMONS.len(), "{programs:?}");
    assert!(t.used("C and C++").unwrap() > 0.99);
}

#[test]
fn requests_that_fail_are_no_training() {
    require!("cmake", "python3", &tools::llvm("clang++"));
    let t = checkout();
    // The bench itself ends with success.
    let graphd = t.read("graphd.cpp").replace(
        "return ofMeta",
        "return line[0] == 'g' ? \"SemanticError\\n\" : ofMeta",
    );
    t.write("graphd.cpp", &graphd);
    t.cargo_fdo(["train", "--no-overhead", "-w", "stress/Go1Step"])
        .fails_saying(5, &["0 requests succeeded, 200 failed"]);
}
