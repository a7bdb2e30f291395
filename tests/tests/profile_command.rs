//! `cargo fdo profile`: merge, show, diff and convert, on files of every kind.

use fdo_tests::{Sandbox, require, tools};
use serde_json::Value;
use std::fs;

const A: &str = "main:15:6\n 1: 12\n 2.3: 3 callback:2\n 4: parse:0\n  1: 0\n";
const B: &str = "main:5:1\n 1: 5\n_ZN2db4openEv:95:9\n 1: 95\n";
const INSTR: &str = "# IR level Instrumentation Flag\n:ir\n_ZN2db4openEv\n# Func Hash:\n24\n\
                     # Num Counters:\n2\n# Counter Values:\n90\n9\n\nmain\n# Func Hash:\n7\n\
                     # Num Counters:\n1\n# Counter Values:\n1\n\n";

/// A sandbox in which no llvm-profdata helps.
fn without_llvm() -> Sandbox {
    Sandbox::project()
        .env("LLVM_PROFDATA", "/nowhere/llvm-profdata")
        .file("a.txt", A)
        .file("b.txt", B)
}

fn with_llvm() -> Sandbox {
    Sandbox::project()
        .env("LLVM_PROFDATA", tools::llvm("llvm-profdata"))
        .file("a.txt", A)
        .file("b.txt", B)
        .file("instr.txt", INSTR)
}

/// Runs `cargo fdo profile` with words that hold no blanks.
#[track_caller]
fn profile(t: &Sandbox, words: &str) -> fdo_tests::Run {
    t.cargo_fdo(["profile"].into_iter().chain(words.split(' ')))
}

fn raw() -> Vec<u8> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../cargo-fdo/tests-data/values.raw"
    );
    fs::read(path).unwrap()
}

#[test]
fn sample_texts_are_merged_by_weight_without_llvm_and_outside_of_a_project() {
    let t = without_llvm();
    let outside = t.path("..");
    assert!(!outside.join("Cargo.toml").exists());
    let run = t
        .cargo_fdo_in(
            "..",
            [
                "profile",
                "merge",
                "-w",
                "10,app/a.txt",
                "app/b.txt",
                "-o",
                "sum.txt",
            ],
        )
        .succeeds();
    assert_eq!(run.stdout(), "");
    run.stderr_has("Merged 2 profiles into `sum.txt` (LLVM sample profile as text)");
    assert_eq!(
        fs::read_to_string(outside.join("sum.txt")).unwrap(),
        "main:155:61\n 1: 125\n 2.3: 30 callback:20\n 4: parse:0\n  1: 0\n\
         _ZN2db4openEv:95:9\n 1: 95\n"
    );
}

#[test]
fn gcc_and_llvm_forms_are_converted_into_each_other() {
    let t = without_llvm();
    for version in 1..=3 {
        let run = profile(&t, &format!("convert --to gcov-v{version} a.txt -o a.afdo")).succeeds();
        run.stderr_has("warning: LLVM and GCC number the blocks of a line");
        let show = profile(&t, "show --json a.afdo").succeeds().stdout_json();
        assert_eq!(show["kind"], "AutoFDO profile of GCC");
        assert_eq!(show["version"], version);
        let _ = profile(&t, "convert --to llvm-text a.afdo -o back.txt").succeeds();
        assert_eq!(t.read("back.txt"), A);
        if version == 3 {
            run.stderr_has("version 3 is experimental");
        }
    }
}

#[test]
fn gcc_profiles_of_one_version_are_merged() {
    let t = without_llvm();
    for (name, to) in [("a", "gcov-v2"), ("b", "gcov-v2"), ("b", "gcov-v1")] {
        let run = profile(&t, &format!("convert --to {to} {name}.txt -o {name}.{to}"));
        let _ = run.succeeds();
    }
    let run = profile(&t, "merge a.gcov-v2 -w 2,b.gcov-v2 -o sum.afdo").succeeds();
    run.stderr_has("(AutoFDO profile of GCC)");
    let _ = profile(&t, "convert --to llvm-text sum.afdo -o sum.txt").succeeds();
    assert_eq!(
        t.read("sum.txt"),
        "_ZN2db4openEv:190:18\n 1: 190\nmain:25:8\n 1: 22\n 2.3: 3 callback:2\n 4: parse:0\n  1: 0\n"
    );
    let run = profile(&t, "merge a.gcov-v2 b.gcov-v1 -o no.afdo");
    let _ = run.fails_saying(2, &["has version 2", "1", "convert --to gcov-v2"]);
    assert!(!t.path("no.afdo").exists());
}

#[test]
fn binary_forms_of_llvm_go_through_its_tool() {
    require!(&tools::llvm("llvm-profdata"));
    let t = with_llvm();
    let _ = profile(&t, "convert --to llvm-extbinary a.txt -o a.prof").succeeds();
    let run = profile(&t, "merge a.prof -w 2,b.txt -o sum.prof").succeeds();
    run.stderr_has("(LLVM sample profile, extbinary)");
    let show = profile(&t, "show --json sum.prof").succeeds().stdout_json();
    assert_eq!(show["version"], 103);
    assert_eq!(show["total"], 215);
    assert_eq!(show["hottest"][0]["name"], "db::open()");

    // Counters: text stays text, the rest becomes what a compiler reads.
    let _ = profile(&t, "merge -w 2,instr.txt instr.txt -o sum.txt").succeeds();
    assert_eq!(
        t.read("sum.txt"),
        INSTR
            .replace("\n90\n9\n", "\n270\n27\n")
            .replace("\n1\n\n", "\n3\n\n")
    );
    fs::write(t.path("a.profraw"), raw()).unwrap();
    let run = profile(&t, "merge a.profraw instr.txt -o sum.profdata").succeeds();
    run.stderr_has("(indexed LLVM profile)");
    let indexed = profile(&t, "show --json sum.profdata")
        .succeeds()
        .stdout_json();
    let raw = profile(&t, "show --json a.profraw")
        .succeeds()
        .stdout_json();
    assert_eq!(
        (&raw["kind"], &raw["version"]),
        (&"raw LLVM profile".into(), &10.into())
    );
    let total = |value: &Value| value["total"].as_u64().unwrap();
    assert_eq!(total(&indexed), total(&raw) + 100);
    let _ = profile(&t, "convert --to llvm-text sum.profdata -o text.txt").succeeds();
    assert!(
        t.read("text.txt")
            .contains("_ZN2db4openEv\n# Func Hash:\n24\n")
    );
}

#[test]
fn show_lists_the_hottest_functions_demangled() {
    let t = without_llvm();
    let run = profile(&t, "show b.txt --top 1").succeeds();
    assert_eq!(
        run.stdout(),
        "LLVM sample profile as text\n\
         functions   2, 2 of them entered\n\
         blocks      2\n\
         total       100\n\
         hot         99 % of the total is in 2 blocks with 5 or more\n\
         counts      of so many blocks, with this part of the total\n\
         \x20                                 0                0     0.00 %\n\
         \x20                            1 to 9                1     5.00 %  ##\n\
         \x20                          10 to 99                1    95.00 %  \
         ######################################\n\
         packages\n    100 %              100  C, C++ and what names no crate, 2 functions\n\
         hottest\n  95.00 %               95  db::open()\n"
    );
    assert_eq!(run.stderr(), "");
    let run = profile(&t, "show b.txt --function db::open").succeeds();
    assert_eq!(run.stdout(), "_ZN2db4openEv:95:9\n 1: 95\n");
    let run = profile(&t, "show b.txt --function main --json").succeeds();
    assert_eq!(run.stdout_json()["hottest"][0]["symbol"], "main");
    let run = profile(&t, "show b.txt --function absent");
    let _ = run.fails_saying(2, &["no function named `absent`"]);
}

#[test]
fn diff_says_how_alike_two_profiles_are_and_what_moved() {
    let t = without_llvm().file("c.txt", "main:10:1\n 1: 10\nmore:10:1\n 1: 10\n");
    let diff = profile(&t, "diff a.txt b.txt --json")
        .succeeds()
        .stdout_json();
    let near = |value: &Value, wanted: f64| (value.as_f64().unwrap() - wanted).abs() < 1e-9;
    assert!(near(&diff["share_overlap"], 0.05));
    // 5 of the union: 12 + 3 + 95.
    assert!(near(&diff["sample_overlap"], 5.0 / 110.0));
    assert_eq!(diff["functions_in_both"], 1);
    assert_eq!(diff["only_in_other"][0]["name"], "db::open()");
    assert_eq!(diff["moved"][0]["symbol"], "main");
    let run = profile(&t, "diff a.txt c.txt").succeeds();
    run.stdout_has("functions   1 in both, 0 only in `a.txt`, 1 only in `c.txt`\n");
    run.stdout_has("got colder\n    100 % →   50.00 %  main\n");
    run.stdout_lacks("got hotter");
    let same = profile(&t, "diff a.txt a.txt").succeeds();
    same.stdout_has("samples     100 % overlap, 100 % similar\n");
    same.stdout_lacks("got ");
}

#[test]
fn a_counted_and_a_sampled_profile_are_compared_by_shares_of_functions() {
    let sampled = "main:30:1\n 1: 20\n 2: _ZN2db4openEv:10\n  1: 10\n";
    let t = without_llvm()
        .file("instr.txt", INSTR)
        .file("production.txt", sampled);
    let run = profile(&t, "diff instr.txt production.txt").succeeds();
    run.stderr_has("note: one profile is counted and one is sampled");
    run.stdout_has("functions   2 in both");
    // 99 of 100 counts, and the samples that were inlined: 10 of 30.
    run.stdout_has("got hotter\n   1.00 % →   66.66 %  main\n");
    run.stdout_has("got colder\n  99.00 % →   33.33 %  db::open()\n");
    let diff = profile(&t, "diff production.txt instr.txt --json").succeeds();
    let diff = diff.stdout_json();
    assert_eq!(diff["hotter"][0]["name"], "db::open()");
    assert_eq!(diff["sample_overlap"], Value::Null);
}

#[test]
fn show_names_packages_where_a_campaign_knows_them() {
    let owners = r#"{"a.c;helper": {"package": "helper-sys", "source": "a.c"}}"#;
    let text = ":ir\na.c;helper\n1\n1\n30\n\n_RNvCs1_3app4main\n2\n1\n10\n";
    let t = without_llvm()
        .file("campaign/merged.proftext", text)
        .file("campaign/c-owners.json", owners);
    let show = profile(&t, "show campaign/merged.proftext --json").succeeds();
    let packages = &show.stdout_json()["packages"];
    assert_eq!(packages[0]["name"], "helper-sys");
    assert_eq!(packages[0]["share"], 0.75);
    assert_eq!(packages[1]["name"], "app");
}

#[test]
fn what_can_not_be_read_is_named_with_the_place() {
    let t = without_llvm()
        .file("junk", "not a profile\n")
        .file("empty", "")
        .file("bad.txt", "main:5:1\n 1: 5\n 70000: 1\n");
    let _ = profile(&t, "convert --to gcov-v2 a.txt -o a.afdo").succeeds();
    let whole = fs::read(t.path("a.afdo")).unwrap();
    fs::write(t.path("cut.afdo"), &whole[..60]).unwrap();
    fs::write(
        t.path("a.gcda"),
        b"adcg*22B\x01\x02\x03\x04\x05\x06\x07\x08",
    )
    .unwrap();
    for (file, words) in [
        ("junk", "is no profile of a kind that is known"),
        ("empty", "is no profile of a kind that is known"),
        ("absent", "can't read `absent`"),
        ("bad.txt", "at line 3"),
        ("cut.afdo", "file ends inside a string at byte 5"),
        ("a.gcda", "counters of gcc (.gcda): gcov-tool"),
    ] {
        for call in [
            "show",
            "merge -o out a.txt",
            "convert --to llvm-text -o out",
        ] {
            if call.contains("a.txt") && file.contains("afdo") {
                continue;
            }
            let _ = profile(&t, &format!("{call} {file}")).fails_saying(6, &[file, words]);
            assert!(!t.path("out").exists(), "{call} {file}");
        }
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let t = without_llvm().file("instr.txt", INSTR);
    fs::write(t.path("perf.data"), b"PERFILE2\x68\0\0\0\0\0\0\0").unwrap();
    for (call, words) in [
        ("merge a.txt instr.txt -o out", "LLVM profile as text"),
        ("merge -w 0,a.txt -o out", "is not a weight"),
        ("merge -w a.txt -o out", "is not a weight"),
        (
            "convert --to gcov-v2 instr.txt -o out",
            "counted, not sampled",
        ),
        (
            "convert --to llvm-text --binary app a.txt -o out",
            "for recordings of perf",
        ),
        (
            "convert --to llvm-text perf.data -o out",
            "`--binary` has to name",
        ),
        ("show perf.data", "recording of perf"),
    ] {
        let _ = profile(&t, call).fails_saying(2, &[words]);
        assert!(!t.path("out").exists(), "{call}");
    }
    for call in [
        "merge a.txt",
        "merge -o out",
        "convert a.txt -o out",
        "show",
    ] {
        let _ = profile(&t, call).fails_with(2);
    }
}

#[test]
fn a_missing_llvm_profdata_is_an_unfit_tool_and_a_damaged_file_is_not() {
    let t = without_llvm();
    fs::write(t.path("a.profraw"), raw()).unwrap();
    let run = profile(&t, "show a.profraw");
    let _ = run.fails_saying(
        3,
        &[
            "llvm-profdata",
            "/nowhere/llvm-profdata",
            "rustup component",
        ],
    );
    let _ = profile(&t, "convert --to llvm-extbinary a.txt -o out").fails_with(3);

    require!(&tools::llvm("llvm-profdata"));
    let t = with_llvm();
    let raw = raw();
    fs::write(t.path("cut.profraw"), &raw[..raw.len() - 20]).unwrap();
    let run = profile(&t, "show cut.profraw");
    let _ = run.fails_saying(6, &["cut.profraw", "llvm-profdata"]);
}

#[test]
fn a_profile_goes_to_stdout_if_it_is_to() {
    let t = without_llvm();
    let run = profile(&t, "convert --to llvm-text a.txt -o -").succeeds();
    let _ = profile(&t, "convert --to llvm-text a.txt -o a.again").succeeds();
    assert_eq!(run.stdout(), t.read("a.again"));
    assert!(!t.path("-").exists());
}

/// Their first bytes would be gone when they are read.
#[test]
fn a_pipe_is_refused_and_waits_for_nobody() {
    let t = without_llvm();
    let made = std::process::Command::new("mkfifo")
        .arg(t.path("pipe"))
        .status();
    assert!(made.unwrap().success());
    let _ = profile(&t, "show pipe").fails_saying(6, &["`pipe`", "pipe or a device"]);
    let _ = t
        .cargo_fdo(["import", "pipe"])
        .fails_saying(6, &["`pipe`", "pipe or a device"]);
}

#[test]
fn no_directory_is_made_for_an_output() {
    let t = without_llvm();
    let run = profile(&t, "merge a.txt -o none/merged.txt");
    run.fails_with(3).stderr_has("write into `none`");
    assert!(!t.path("none").exists());
}
