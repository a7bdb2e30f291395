//! The doctor on this machine, and on machines that lack things.

use super::*;
use crate::tool::canary::{Failure, Step};

fn canary(failure: Option<Failure>) -> Canary {
    Canary {
        passed: vec![Step::Instrument, Step::Link],
        failure,
        verify: true,
        milliseconds: 1,
    }
}

fn report(rust: Option<Canary>) -> Report {
    Report {
        version: 1,
        rows: vec![
            Row {
                verdict: Verdict::Ok,
                tool: "rustc".into(),
                version: "1.95.0".into(),
                path: Some("/bin/rustc".into()),
                note: "writes raw profile version 10".into(),
                install: None,
            },
            Row {
                verdict: Verdict::Misfit,
                tool: "clang".into(),
                version: "14.0.6".into(),
                path: Some("/usr/bin/clang-14".into()),
                note: "too old".into(),
                install: Some("apt install clang-22".into()),
            },
        ],
        rust,
        mixed: None,
        c_compiler: None,
        profdata: None,
        samples: Vec::new(),
        milliseconds: 5,
    }
}

#[test]
fn the_table_says_what_fits_and_what_to_install() {
    assert_eq!(
        report(Some(canary(None))).text(),
        "ok      rustc 1.95.0  /bin/rustc         writes raw profile version 10\n\
         misfit  clang 14.0.6  /usr/bin/clang-14  too old\n        \
         `apt install clang-22`\n\
         \n\
         Rust:        a test program lives through instrument → link; \
         each compiler names the functions that it used the profile for\n\
         C compiler:  none fits; only Rust can be optimised\n"
    );
}

#[test]
fn only_rust_decides_about_the_exit_code() {
    assert_eq!(report(Some(canary(None))).exit_code(), None);
    let dead = canary(Some(Failure {
        step: Step::Run,
        reason: "no".into(),
    }));
    assert_eq!(report(Some(dead)).exit_code(), Some(ExitCode::Tool));
    assert_eq!(report(None).exit_code(), Some(ExitCode::Tool));
}

#[test]
fn the_json_has_a_version_and_survives_the_round_trip() {
    let json = serde_json::to_value(report(None)).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["rows"][1]["verdict"], "misfit");
    assert_eq!(
        serde_json::from_value::<Report>(json).unwrap().rows.len(),
        2
    );
}

#[test]
fn version_numbers_are_found_in_what_tools_say() {
    for (line, number) in [
        ("Debian clang version 22.1.8 (1~deb12u1)", "22.1.8"),
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "12.2.0"),
        ("gcc (GCC) 14.2.1 20240912 (Red Hat 14.2.1-3)", "14.2.1"),
        ("1.11.1\n", "1.11.1"),
        ("odd", "odd"),
    ] {
        assert_eq!(version_number(line), number);
    }
}

#[test]
fn a_machine_without_anything_gets_advice_not_a_crash() {
    let empty = tempfile::tempdir().unwrap();
    let env = Env {
        var: &|_| None,
        places: Places::only(empty.path()),
        rustc: empty.path().join("rustc"),
        target: None,
        profdata: None,
    };
    let report = examine(&env);
    assert_eq!(report.exit_code(), Some(ExitCode::Tool));
    assert_eq!(report.rows[0].tool, "rustc");
    assert_eq!(report.rows[0].verdict, Verdict::Missing);
    assert_eq!(
        report.rows[0].install.as_deref(),
        Some("rustup toolchain install stable")
    );
    assert!(report.text().contains("Rust:        not tried"));
}

#[cfg(unix)]
#[test]
fn on_a_machine_with_old_tools_only_the_advice_is_exact() {
    use crate::tool::real_tools::{rustc, tool};
    let (Some(clang), Some(profdata)) = (tool("clang-14"), tool("llvm-profdata-14")) else {
        return;
    };
    let (rustc, dir) = rustc();
    if rustc.component_tool("llvm-profdata").is_file() {
        return;
    }
    for (target, name) in [(clang, "clang"), (profdata, "llvm-profdata")] {
        std::os::unix::fs::symlink(target, dir.path().join(name)).unwrap();
    }
    let report = examine(&Env {
        var: &|_| None,
        places: Places::only(dir.path()),
        rustc: rustc.program.clone(),
        target: None,
        profdata: None,
    });
    let text = report.text();
    assert_eq!(report.exit_code(), Some(ExitCode::Tool), "{text}");
    let row = |tool: &str, verdict| {
        let found = report
            .rows
            .iter()
            .find(|row| row.tool == tool && row.verdict == verdict);
        found.unwrap_or_else(|| panic!("{text}")).clone()
    };
    let profdata = row("llvm-profdata", Verdict::Misfit);
    assert_eq!(profdata.version, "14");
    assert_eq!(
        profdata.install.as_deref(),
        Some("rustup component add llvm-tools")
    );
    let major = rustc.llvm_major;
    assert_eq!(
        row("clang", Verdict::Missing).install.unwrap(),
        format!("apt install clang-{major} libclang-rt-{major}-dev llvm-{major}")
    );
    assert!(row("clang", Verdict::Misfit).note.contains("would crash"));
    assert!(
        text.contains("a test program fails at step `merge`"),
        "{text}"
    );
    assert!(text.contains("none fits; only Rust"), "{text}");
}

#[test]
fn this_machine_is_examined_and_the_choice_is_explained() {
    let env = process_env(&|_| None);
    let report = examine(&env);
    let text = report.text();
    if std::env::var_os("FDO_TESTS_SHOW").is_some() {
        use std::io::Write;
        writeln!(std::io::stderr(), "{text}{} ms", report.milliseconds).unwrap();
    }
    assert!(report.rust.is_some(), "{text}");
    if let Some(choice) = &report.c_compiler {
        assert_eq!(report.mixed.as_ref().unwrap().failure, None, "{text}");
        assert_eq!(choice.cc.family, Family::Clang);
    }
    for row in &report.rows {
        assert!(!row.note.is_empty(), "{row:?}");
    }
    // rustc, and every gcc and clang that was looked at.
    let compilers = report.rows.iter().filter(|row| {
        ["clang", "gcc"].contains(&row.tool.as_str()) && row.verdict != Verdict::Missing
    });
    assert!(report.samples.len() > compilers.count().min(1), "{text}");
    for row in &report.samples {
        assert!(text.contains(&row.note), "{text}");
    }
}
