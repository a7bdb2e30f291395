//! `cargo fdo report`: one page of what was trained and measured.

use fdo_tests::Sandbox;

/// Makes a report, and gives it back.
#[track_caller]
fn report(t: &Sandbox, words: &[&str]) -> String {
    let run = t.cargo_fdo(["report"].iter().chain(words)).succeeds();
    let path = run.stdout().trim_end();
    assert_eq!(run.stdout().lines().count(), 1, "the path alone");
    let text = std::fs::read_to_string(t.path("").join(path)).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n"));
    for fetched in ["<script", "src=", "href=\"http", "url("] {
        assert!(!text.contains(fetched), "{fetched}");
    }
    text
}

/// Measures the plain program against a copy of it.
#[track_caller]
fn compare(t: &Sandbox, name: &str) {
    let _ = t.cargo(["build", "--release", "--offline"]).succeeds();
    let copy = t.path("copy");
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(t.path("target/release/app"), copy.join("app")).unwrap();
    let words = [
        "compare",
        "--runs",
        "3",
        "--warmup",
        "0",
        "--against",
        "copy/app",
    ];
    let more = ["--save", name, "--", "{bin:app}"];
    let _ = t.cargo_fdo(words.iter().chain(&more)).succeeds();
}

#[test]
fn without_training_and_comparison_there_is_nothing_to_report() {
    let t = Sandbox::mixed();
    let run = t.cargo_fdo(["report"]);
    let _ = run.fails_saying(
        5,
        &["nothing to report", "cargo fdo train", "cargo fdo compare"],
    );
    assert!(!t.path("target/fdo/report.html").exists());
    let run = t.cargo_fdo(["report", "absent"]);
    let _ = run.fails_saying(2, &["no saved result `absent`"]);
}

#[test]
fn a_training_is_described_with_what_the_build_used_of_it() {
    let t = Sandbox::trained();
    let text = report(&t, &[]);
    assert!(t.path("target/fdo/report.html").is_file());
    assert!(text.contains("Nothing was measured yet"));
    for function in ["rust_work", "c_work"] {
        let row = text.split("<tr>").find(|row| row.contains(function));
        let row = row.unwrap_or_else(|| panic!("no {function}"));
        assert!(row.contains(">used<"), "{row}");
        assert!(row.contains("app-0.1.0"), "{row}");
    }
    assert!(text.contains("Not known: no profile of an evaluation"));
    // Its C was compiled with counters.
    assert!(text.contains("C and C++ in the program that was trained"));

    let _ = t.cargo_fdo(["clean"]).succeeds();
    assert!(!t.path("target/fdo/report.html").exists());
}

#[test]
fn functions_that_only_an_evaluation_has_are_named() {
    let t = Sandbox::trained().file(
        "evaluation.txt",
        "c_work:60:1\n 1: 60\n_ZN2db4openEv:40:1\n 1: 40\n",
    );
    let words = ["--evaluate-profile", "evaluation.txt", "-o", "page.html"];
    let text = report(&t, &words);
    assert!(text.contains("60.00 % is in functions that the training counted"));
    let row = text.split("<tr>").find(|row| row.contains("db::open()"));
    assert!(row.unwrap().contains("40.00 %") && row.unwrap().contains("not there"));

    let missing = ["report", "--evaluate-profile", "absent"];
    let _ = t.cargo_fdo(missing).fails_saying(6, &["absent"]);
}

#[test]
fn a_comparison_is_reported_with_and_without_a_training() {
    let t = Sandbox::trained();
    compare(&t, "one");
    let text = report(&t, &["one", "-o", "one.html"]);
    assert!(text.contains("<svg") && text.contains("id=\"training\""));

    let t = Sandbox::mixed();
    compare(&t, "one");
    let text = report(&t, &[]);
    assert!(text.contains("<svg") && text.contains("There is no training here"));
    assert!(!text.contains("id=\"training\""));
}
