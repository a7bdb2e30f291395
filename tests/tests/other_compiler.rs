//! C that was trained with one compiler and is built by another: its counts are lost, and every way
//! to get there must say so.

use fdo_tests::projects::{self, BY_MAKE, MAKEFILE};
use fdo_tests::{Run, Sandbox, require, tools};

/// A program whose work is in C, with a profile of it that a first build used.
#[track_caller]
fn trained(build_script: &str) -> Sandbox {
    let t = Sandbox::c_project(build_script).file("Makefile", MAKEFILE);
    t.train().stderr_has("app-0.1.0: 1 object, 1 with counters");
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), Some(1.0));
    t
}

/// The build fails for want of the C counts, and names the reason.
#[track_caller]
fn is_stale(run: Run, reason: &str) -> Run {
    let run = run.fails_with(7);
    run.stderr_has("C and C++ 0.00 %").stderr_has(reason);
    run
}

const UNSEEN: &str = "1 object compiled by something that does not go through CC or CXX";

#[test]
fn objects_that_another_compiler_put_in_the_place_of_ours_prove_nothing() {
    require!("make", "gcc", &tools::llvm("clang"));
    let t = trained(BY_MAKE);
    let gcc = BY_MAKE.replace("\"make\")", "\"make\").args([\"-B\", \"CC=gcc\"])");
    t.write("build.rs", &gcc);
    is_stale(t.cargo_fdo(["build"]), UNSEEN);
    let run = t.train();
    run.stderr_has("app-0.1.0: 1 object, 0 with counters")
        .stderr_has(UNSEEN);
}

#[test]
fn objects_of_a_directory_that_is_not_used_any_more_prove_nothing() {
    require!("make", "gcc", &tools::llvm("clang"));
    let t = trained(BY_MAKE);
    t.write(
        "build.rs",
        &BY_MAKE.replace("\"make\")", "\"make\").arg(\"CC=gcc\")"),
    );
    t.write(
        "Makefile",
        &MAKEFILE
            .replace("hot.o", "by-gcc.o")
            .replace("ar crs", "rm -f $@ && ar crs"),
    );
    is_stale(t.cargo_fdo(["build"]), UNSEEN);
}

#[test]
fn a_shared_library_that_another_compiler_made_beside_our_object_is_seen() {
    require!("gcc", &tools::llvm("clang"));
    let t = trained(projects::SHARED);
    let gcc = projects::SHARED.replace(
        "$CC -shared \\\"$OUT_DIR/hot.o\\\"",
        "gcc -O2 -fPIC -shared hot.c",
    );
    assert_ne!(gcc, projects::SHARED);
    t.write("build.rs", &gcc);
    is_stale(t.cargo_fdo(["build"]), UNSEEN);
    t.train()
        .stderr_has("app-0.1.0: 1 object, 0 with counters")
        .stderr_has(UNSEEN);
}

#[test]
fn of_two_definitions_in_an_archive_ours_is_not_believed() {
    require!("gcc", &tools::llvm("clang"));
    let t = trained(projects::BY_HAND);
    let both = projects::BY_HAND.replace(
        "&& ar crs \\\"$OUT_DIR/libhot.a\\\" ",
        "&& gcc -O2 -c hot.c -o \\\"$OUT_DIR/gcc.o\\\" && rm \\\"$OUT_DIR/libhot.a\\\" \
         && ar crs \\\"$OUT_DIR/libhot.a\\\" \\\"$OUT_DIR/gcc.o\\\" ",
    );
    assert_ne!(both, projects::BY_HAND);
    t.write("build.rs", &both);
    is_stale(t.cargo_fdo(["build"]), UNSEEN);
}

#[test]
fn a_build_that_starts_anew_with_another_compiler_has_the_c_that_the_profile_is_of() {
    require!("make", "gcc", &tools::llvm("clang"));
    let t = trained(BY_MAKE);
    t.cargo_fdo(["clean", "--keep-profiles"]).succeeds();
    t.write(
        "build.rs",
        &BY_MAKE.replace("\"make\")", "\"make\").arg(\"CC=gcc\")"),
    );
    is_stale(t.cargo_fdo(["build"]), UNSEEN);
    // The user's word takes the counts out of the account.
    t.write("fdo.toml", "[package.app]\nc = false\n");
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), None);
}

#[test]
fn a_c_compiler_that_reads_no_such_profile_loses_the_counts_of_c() {
    require!("cc", "gcc", &tools::llvm("clang"));
    let t = trained(projects::BY_HAND);
    is_stale(
        t.cargo_fdo(["build", "--c-compiler", "keep"]),
        "`c-compiler = \"auto\"`",
    )
    .stderr_has("gcc's counters are not LLVM's");
    let t = t.env("CC", "gcc");
    is_stale(t.cargo_fdo(["build"]), "unset CC").stderr_has("`c = false`");
    t.cargo_fdo(["build", "--allow-stale"]).succeeds();
}

#[test]
fn counters_of_another_kind_lose_the_counts_of_c() {
    require!(&tools::llvm("clang"));
    let t = trained(projects::BY_HAND);
    t.write("fdo.toml", "[package.app]\ncounters = \"frontend\"\n");
    is_stale(
        t.cargo_fdo(["build"]),
        "`app` has `counters = \"frontend\"`",
    );
}
