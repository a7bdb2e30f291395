//! `train --method sample` and `import` with the real perf, on a program with Rust and C.

use cargo_fdo::profile::sample::SampleProfile;
use cargo_fdo::profile::sample::gcov::{self, GcovProfile, Version};
use fdo_tests::{Run, Sandbox, require};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Some hundred milliseconds of each language.
const ROUNDS: &str = "200000000";

fn train(t: &Sandbox) -> Run {
    t.cargo_fdo([
        "train",
        "--method",
        "sample",
        "--keep-raw",
        "--",
        "{bin:app}",
        ROUNDS,
    ])
}

/// Builds the program to be recorded, and records it by hand.
fn recorded(t: &Sandbox) -> String {
    let built = t
        .cargo_fdo(["train", "--method", "sample", "--build-only"])
        .succeeds();
    let program = built.stdout().trim_end().to_owned();
    let _ = t
        .cargo_fdo(["record", "-o", "run.data", "--", &program, ROUNDS])
        .succeeds();
    program
}

#[test]
fn train_and_build_with_gccs_c() {
    require!("perf", "gcc");
    let t = Sandbox::mixed()
        .env("CC", "gcc")
        .env("RUSTC_BOOTSTRAP", "1");
    let run = train(&t).succeeds();
    run.stderr_has("Sampling")
        .stderr_has("becomes profile")
        .stderr_has("Converted app");
    assert!(t.campaign("gcc.sample.txt").is_file());
    let gcc = fs::read_to_string(t.campaign("gcc.sample.txt")).unwrap();
    assert!(
        gcc.contains("c_work:") && !gcc.contains("rust_work"),
        "{gcc}"
    );
    let rust = fs::read_to_string(t.campaign("rust.sample.txt")).unwrap();
    assert!(
        rust.contains("rust_work") && !rust.contains("c_work:"),
        "{rust}"
    );

    let status = t.cargo_fdo(["status"]).succeeds();
    status.stdout_has("(sample)").stdout_has("at known lines");
    let build = t.cargo_fdo(["build", "--release"]).succeeds();
    build.stderr_has("of the counts were used");
}

#[test]
fn train_with_clangs_c_and_compressed_records() {
    let clang = fdo_tests::tools::llvm("clang");
    require!("perf", clang.as_str());
    let t = Sandbox::mixed()
        .file("fdo.toml", "[sample]\ncompress = true\n")
        .env("CC", clang);
    let _ = train(&t).succeeds();
    let c = fs::read_to_string(t.campaign("c.sample.txt")).unwrap();
    assert!(c.contains("c_work:"), "{c}");
}

#[test]
fn a_recording_is_imported_and_one_of_another_build_is_not() {
    require!("perf");
    let t = Sandbox::mixed();
    let program = recorded(&t);
    let run = t.cargo_fdo(["import", "run.data"]).succeeds();
    run.stderr_has("becomes profile").stderr_has("`run.data`");
    // A weight makes no samples.
    let samples = |run: &Run| {
        let words = run.stderr();
        let line = words.lines().find(|line| line.contains(" Samples "));
        line.map(str::to_owned).unwrap_or_else(|| panic!("{words}"))
    };
    let weighted = t.cargo_fdo(["import", "-w", "3,run.data"]).succeeds();
    assert_eq!(samples(&weighted), samples(&run));
    let kept = t.root().join("kept");
    fs::copy(&program, &kept).unwrap();

    let main = t.read("src/main.rs").replace("mul(31)", "mul(33)");
    t.write("src/main.rs", &main);
    let _ = t
        .cargo_fdo(["train", "--method", "sample", "--build-only"])
        .succeeds();
    let _ = t.cargo_fdo(["import", "run.data"]).fails_saying(
        5,
        &["was built again since it was recorded", "--binary PATH"],
    );
    let kept = kept.display().to_string();
    let _ = t
        .cargo_fdo(["import", "run.data", "--binary", &kept])
        .succeeds();
}

#[test]
fn profiles_of_others_are_merged_by_weight() {
    let t = Sandbox::mixed();
    t.write("one.txt", "c_work:30:1\n 1: 10\n 2: 20\n");
    t.write("two.txt", "c_work:3:1\n 1: 1\n 2: 2\n");
    let _ = t
        .cargo_fdo(["import", "one.txt", "-w", "7,two.txt"])
        .succeeds();
    let merged = fs::read_to_string(t.campaign("merged.sample.txt")).unwrap();
    assert_eq!(merged, "c_work:51:8\n 1: 17\n 2: 34\n");
    let run = t.cargo_fdo(["import", "--dry-run", "one.txt"]).succeeds();
    run.stderr_has("1 file would become");
    let still = fs::read_to_string(t.campaign("merged.sample.txt")).unwrap();
    assert_eq!(still, merged);
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    for (name, bytes, words) in [
        (
            "x.profraw",
            &b"\x81rforpl\xff rest"[..],
            "a profile of counters",
        ),
        ("x.data", b"PERFILE2 cut", "can't be read"),
        ("x.bin", b"\x00\x01\x02", "can't be read"),
    ] {
        fs::write(t.path(name), bytes).unwrap();
        // Any program will do: nothing of the file gets as far.
        let _ = t
            .cargo_fdo(["import", name, "--binary", program])
            .fails_saying(6, &[words]);
    }
}

#[test]
fn a_profile_of_another_project_leaves_the_one_that_is_there() {
    require!("perf", "gcc");
    let t = Sandbox::mixed();
    train(&t);
    let before = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    t.write(
        "other.txt",
        "_RNvCs5sznnWDqa8b_8textpack8exercise:5000:10\n 1: 500\n\
         _RNvNtCs5sznnWDqa8b_3std2io5write:500:1\n 1: 50\n",
    );
    let _ = t
        .cargo_fdo(["import", "other.txt"])
        .fails_saying(6, &["none of this workspace's own code", "`textpack`"]);
    let after = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    assert_eq!(before["campaign"]["id"], after["campaign"]["id"]);
}

#[test]
fn a_program_that_no_compiler_can_use_samples_of_is_not_recorded() {
    require!("perf");
    let t = Sandbox::rust_project();
    let rustc = std::process::Command::new("rustc").arg("-V").output();
    if String::from_utf8_lossy(&rustc.unwrap().stdout).contains("nightly") {
        return;
    }
    let run = t.cargo_fdo(["train", "--method", "sample", "--", "{bin:app}"]);
    let run = run.fails_saying(
        5,
        &["no compiler of this project", "rustc-bootstrap = true"],
    );
    run.stderr_lacks("Recording");
}

#[test]
fn a_program_that_was_not_recorded_is_named() {
    require!("perf");
    let t = Sandbox::mixed();
    let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let _ = t
        .cargo_fdo(["train", "--method", "sample", "--", "sh", "-c", script])
        .fails_saying(
            5,
            &["no sample is in a program of this build", "{bin:NAME}"],
        );
}

#[test]
fn a_converter_that_does_not_work_here_is_refused_with_what_it_did() {
    require!("perf", "gcc");
    let t = Sandbox::mixed()
        .env("CC", "gcc")
        .file("fdo.toml", "[sample]\nconverter = \"create_gcov\"\n");
    let bin = t.root().join("bin");
    fs::create_dir(&bin).unwrap();
    let tool = bin.join("create_gcov");
    // As version 0.19 does with DWARF 5: a word on stderr, an empty profile, and success.
    let empty = GcovProfile::new(Version::V2, SampleProfile::default());
    fs::write(bin.join("empty"), gcov::write(&empty).bytes).unwrap();
    let script = "#!/bin/sh\necho 'Unknown event type: 82' >&2\n\
                  for arg; do case $arg in --gcov=*) cp \"${0%/*}/empty\" \"${arg#--gcov=}\";; esac; done\n";
    fs::write(&tool, script).unwrap();
    fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let t = t.env("PATH", format!("{}:{path}", bin.display()));
    let _ = train(&t).fails_saying(
        3,
        &[
            "`create_gcov` does not convert a recording of this machine",
            "without functions",
            "Unknown event type: 82",
            "converter = \"native\"",
        ],
    );
}
