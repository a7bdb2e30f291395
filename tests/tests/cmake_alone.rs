//! Projects that cmake builds, without any Rust: by `[cmake.NAME]`, and by `cargo fdo cmake` in a build
//! directory of the user's.

mod native;

use fdo_tests::{Sandbox, require, tools};
use native::{Log, has_counters, set};

/// Which sources a second training of other work compiles again.
fn trains_twice(t: &Sandbox) {
    let mut log = Log::default();
    t.cargo_fdo(["train", "--no-overhead", "-w", "up"])
        .succeeds()
        .stderr_has("work-0.0.0: 4 objects, 3 with counters, 1 excluded");
    assert_eq!(
        log.since(t, "instrument"),
        set(["lib.c", "shared.cpp", "tool.c", "bench.c"])
    );
    let object = |target: &str, source: &str| {
        t.path("target/fdo/instrument/cmake/work")
            .join(format!("CMakeFiles/{target}.dir/{source}.o"))
    };
    assert!(has_counters(&object("core", "lib.c")));
    assert!(has_counters(&object("extra", "shared.cpp")));
    assert!(!has_counters(&object("bench_core", "bench.c")));

    let built = t.cargo_fdo(["build"]).succeeds();
    let programs: Vec<&str> = built.stdout().lines().collect();
    assert_eq!(programs.len(), 2, "{programs:?}");
    assert_eq!(t.used("C and C++"), Some(1.0));
    assert_eq!(log.since(t, "optimize").len(), 4);

    let again = t.cargo_fdo(["build"]).succeeds();
    assert_eq!(again.stdout(), built.stdout());
    assert!(log.since(t, "optimize").is_empty(), "nothing changed");

    t.cargo_fdo(["train", "--no-overhead", "-w", "down"])
        .succeeds();
    assert!(log.since(t, "instrument").is_empty());
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(
        log.since(t, "optimize"),
        set(["lib.c", "tool.c"]),
        "the excluded target stays, and the shared library did the same as before"
    );
    assert_eq!(t.used("C and C++"), Some(1.0));
    t.run(programs[1], ["5"]).succeeds();
}

#[test]
fn a_new_profile_recompiles_what_ninja_builds() {
    require!("cmake", "ninja", &tools::llvm("clang++"));
    trains_twice(&native::project("work", "Ninja"));
}

#[test]
fn a_new_profile_recompiles_what_make_builds_in_a_path_with_blanks() {
    require!("cmake", "make", &tools::llvm("clang++"));
    trains_twice(&native::project("my work", "Unix Makefiles"));
}

#[test]
fn a_policy_that_changes_concerns_its_target_alone() {
    require!("cmake", "ninja", &tools::llvm("clang++"));
    let t = native::project("work", "Ninja");
    let mut log = Log::default();
    t.cargo_fdo(["train", "--build-only"]).succeeds();
    let _ = log.since(&t, "instrument");
    let config = t
        .read("fdo.toml")
        .replace("\"bench_*\"", "\"bench_*\", \"extra\", \"cores\"");
    t.write("fdo.toml", &config);
    t.cargo_fdo(["train", "--build-only"])
        .succeeds()
        .stderr_has("4 objects, 2 with counters, 2 excluded")
        .stderr_has("\"cores\", and no such target was compiled")
        .stderr_lacks("\"extra\", and");
    assert_eq!(log.since(&t, "instrument"), set(["shared.cpp"]));
}

#[test]
fn what_a_killed_run_left_unproven_is_compiled_again() {
    require!("cmake", "ninja", &tools::llvm("clang++"));
    let t = native::project("work", "Ninja");
    let mut log = Log::default();
    t.cargo_fdo(["train", "--build-only"]).succeeds();
    let _ = log.since(&t, "instrument");
    // Killed between the compilers and the shims' last word.
    let state = "target/fdo/v1/instrument";
    std::fs::remove_dir_all(t.path(state).join("evidence")).expect("it was built");
    t.write(&format!("{state}/logs/work-unfinished"), "");
    t.cargo_fdo(["train", "--build-only"])
        .succeeds()
        .stderr_has("4 objects, 3 with counters, 1 excluded");
    assert_eq!(log.since(&t, "instrument").len(), 4);
}

#[test]
fn gcc_recompiles_what_a_new_sampled_profile_concerns() {
    require!("cmake", "ninja", "make", "gcc", "g++");
    for generator in ["Ninja", "Unix Makefiles"] {
        let t = native::project("work", generator)
            .env("CC", "gcc")
            .env("CXX", "g++");
        let mut log = Log::default();
        t.cargo_fdo(["train", "--method", "sample", "--build-only"])
            .succeeds();
        let _ = log.since(&t, "sample");
        let import = |counts: u64| {
            t.write(
                "made.prof",
                &format!(
                    "up:{}:{counts}\n 1: {counts}\n 2: {counts}\n 3: {counts}\n",
                    counts * 3
                ),
            );
            let afdo = [
                "profile",
                "convert",
                "--to",
                "gcov-v2",
                "made.prof",
                "-o",
                "made.afdo",
            ];
            t.cargo_fdo(afdo).succeeds();
            t.cargo_fdo(["import", "made.afdo"]).succeeds();
        };
        import(1_000_000);
        t.cargo_fdo(["build", "--allow-stale"]).succeeds();
        assert_eq!(log.since(&t, "optimize").len(), 4);
        import(2_000_000);
        t.cargo_fdo(["build", "--allow-stale"]).succeeds();
        let again = log.since(&t, "optimize");
        assert_eq!(again, set(["lib.c", "shared.cpp", "tool.c"]), "{generator}");
    }
}

#[test]
fn a_compiler_that_the_project_forces_is_refused_before_it_compiles() {
    require!("cmake", "ninja", "gcc", &tools::llvm("clang++"));
    let t = native::project("work", "Ninja");
    let lists = t.read("CMakeLists.txt");
    t.write(
        "CMakeLists.txt",
        &format!("set(CMAKE_C_COMPILER gcc)\n{lists}"),
    );
    t.cargo_fdo(["train", "--build-only"]).fails_saying(
        2,
        &["the C compiler of `work` is", "gcc", "CMAKE_C_COMPILER"],
    );
}

#[test]
fn a_rule_that_calls_a_compiler_itself_is_found_out() {
    require!("cmake", "ninja", "gcc", &tools::llvm("clang++"));
    let t = native::project("work", "Ninja");
    let lists = t.read("CMakeLists.txt");
    let forced = "set(CMAKE_C_COMPILE_OBJECT \"gcc <DEFINES> <INCLUDES> <FLAGS> -o <OBJECT> -c <SOURCE>\")\n\
                  set(CMAKE_CXX_COMPILE_OBJECT \"g++ <DEFINES> <INCLUDES> <FLAGS> -o <OBJECT> -c <SOURCE>\")\n";
    t.write(
        "CMakeLists.txt",
        &lists.replace("add_library(core", &format!("{forced}add_library(core")),
    );
    t.cargo_fdo(["train", "--build-only"])
        .fails_saying(4, &["none of the 4 objects of `work` was compiled"]);
}

#[test]
fn mistakes_are_named() {
    require!("cmake", "ninja", &tools::llvm("clang++"));
    let t = native::project("work", "Ninja");
    t.cargo_fdo(["train", "-w", "bench"])
        .fails_saying(2, &["`bench` is run by cargo", "no Cargo.toml"]);
    t.cargo_fdo(["run"])
        .fails_saying(2, &["`cargo fdo run` is cargo's"]);
    t.cargo_fdo(["train", "-p", "work", "--", "{bin:tol}"])
        .fails_saying(2, &["needs the binary `tol`", "did you mean `tool`?"]);
    t.cargo_fdo(["compare", "--baseline", "rust-only", "-w", "up"])
        .fails_saying(2, &["there is no Rust here"]);
    let config = t.read("fdo.toml");
    t.write(
        "fdo.toml",
        &config.replace("[cmake.work]", "[cmake.work]\ntargets = [\"tol\"]"),
    );
    t.cargo_fdo(["train", "--build-only"])
        .fails_saying(2, &["`work` has no target `tol`; did you mean `tool`?"]);
    t.write("fdo.toml", &config);
    t.write(
        "CMakeLists.txt",
        "project(work C CXX)\nadd_executable(tool missing.c)\n",
    );
    t.cargo_fdo(["train", "--build-only"])
        .fails_saying(4, &["cmake could not build `work`", "work-build.log"]);
}

#[test]
fn all_kinds_of_objects_use_the_profile() {
    require!(
        "cmake",
        "ninja",
        &tools::llvm("clang++"),
        &tools::llvm("ld.lld")
    );
    // Precompiled headers, unity builds, object libraries, link-time optimisation.
    for line in [
        "target_precompile_headers(extra PRIVATE <vector>)",
        "set_target_properties(core extra tool PROPERTIES UNITY_BUILD ON)",
        "set_target_properties(core tool PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)\n\
         target_link_options(core PUBLIC -fuse-ld=lld)",
    ] {
        let t = native::project("work", "Ninja");
        let lists = t.read("CMakeLists.txt");
        t.write("CMakeLists.txt", &format!("{lists}{line}\n"));
        t.cargo_fdo(["train", "--no-overhead", "-w", "up"])
            .succeeds();
        t.cargo_fdo(["build"]).succeeds();
        assert_eq!(t.used("C and C++"), Some(1.0), "{line}");
    }
}

#[test]
fn rust_and_cmake_are_built_in_one_go() {
    require!("cmake", "ninja", &tools::llvm("clang++"));
    let t = native::project("work", "Ninja")
        .file(
            "Cargo.toml",
            "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n",
        )
        .file(
            "src/main.rs",
            "fn main() { for word in std::env::args().skip(1) { println!(\"{}\", word.len()); } }\n",
        );
    let config = t.read("fdo.toml") + "[workload.both]\nrun = \"{bin:app} a b && {bin:tool} up\"\n";
    t.write("fdo.toml", &config);
    t.cargo_fdo(["train", "--no-overhead", "-w", "both"])
        .succeeds()
        .stderr_has("Merging 3 raw profiles");
    let built = t.cargo_fdo(["build"]).succeeds();
    built
        .stdout_has("/release/app")
        .stdout_has("/cmake/work/tool");
    // Both languages have a `main`, and each takes one count of the other's.
    assert!(t.used("C and C++").is_some_and(|used| used > 0.999));
    assert!(t.used("Rust").is_some_and(|used| used > 0.9));
    let one = t.cargo_fdo(["build", "-p", "work"]).succeeds();
    one.stdout_has("/cmake/work/tool")
        .stdout_lacks("/release/app");
    let other = t.cargo_fdo(["build", "-p", "app"]).succeeds();
    other
        .stdout_lacks("/cmake/work/tool")
        .stdout_has("/release/app");
}

#[test]
fn a_build_directory_of_the_users_goes_through_the_phases() {
    require!("cmake", "ninja", "make", &tools::llvm("clang++"));
    let t = native::project("work", "Ninja");
    std::fs::remove_file(t.path("fdo.toml")).expect("it was written");
    t.cargo_fdo(["cmake", "-B", "../o"]).fails_saying(
        5,
        &["no `--phase` says what to build", "--phase instrument"],
    );
    let exclude = ["--exclude-target", "bench_*"];
    let instrument = [
        "cmake",
        "--phase",
        "instrument",
        "-S",
        ".",
        "-B",
        "../build i",
    ];
    let made = t.cargo_fdo(instrument.iter().chain(&exclude)).succeeds();
    made.stderr_has("work-0.0.0: 4 objects, 3 with counters, 1 excluded");
    let train = |what: &str| {
        let raw = t.root().join(format!("raw-{what}"));
        let status = t
            .command(t.root().join("build i/tool"))
            .arg(what)
            .env("LLVM_PROFILE_FILE", raw.join("%p-%m.profraw"))
            .status();
        assert!(status.expect("the tool runs").success());
        let raw = raw.to_str().expect("a plain path").to_owned();
        t.cargo_fdo(["train", "--collect", &raw]).succeeds();
    };
    let mut log = Log::default();
    for (dir, generator) in [("../o-ninja", "Ninja"), ("../o-make", "Unix Makefiles")] {
        train("up");
        let build = ["cmake", "-B", dir, "-G", generator, "-DUNUSED=1"];
        t.cargo_fdo(build.iter().chain(&exclude)).succeeds();
        let _ = log.since(&t, "optimize");
        train("down");
        t.cargo_fdo(build.iter().chain(&exclude)).succeeds();
        assert_eq!(
            log.since(&t, "optimize"),
            set(["lib.c", "tool.c"]),
            "{generator}: the shared library did the same as before"
        );
        assert_eq!(t.used("C and C++"), Some(1.0));
    }
    t.cargo_fdo(["cmake", "--phase", "optimize", "-B", "../build i"])
        .fails_saying(2, &["is a build of phase `instrument`"]);
    let plain = t.run("cmake", ["-S", ".", "-B", "../plain"]);
    assert!(plain.is_success());
    t.cargo_fdo(["cmake", "--phase", "instrument", "-B", "../plain"])
        .fails_saying(2, &["is configured for the compiler"]);
}

#[test]
fn a_comparison_builds_the_plain_project_elsewhere() {
    require!("cmake", "ninja", &tools::llvm("clang++"));
    let t = native::project("work", "Ninja");
    t.cargo_fdo(["train", "--no-overhead", "-w", "up"])
        .succeeds();
    t.cargo_fdo([
        "compare", "--runs", "2", "--warmup", "0", "-w", "up", "--format", "csv",
    ])
    .succeeds()
    .stdout_has("release")
    .stdout_has("optimized");
    assert!(t.path("target/fdo/release/cmake/work/tool").is_file());
    assert!(!t.path("build").exists());
}
