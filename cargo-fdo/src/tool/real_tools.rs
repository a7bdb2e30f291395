//! The tools of this machine, tried for real.
//!
//! One that is missing is reported as skipped; where `FDO_TESTS_NO_SKIP=1`, it fails the test.

mod conversions;
mod sample_profiles;

use super::canary::{finish_rust_canary, mixed_canary, rust_canary};
use super::profdata::{self, FailureMode, complaints, parse_summary, write_list};
use super::rustc::rustc_raw_version;
use super::{CCompiler, Invocation, Places, Profdata, Rustc};
use fdo_build::protocol::Family;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A tool by name; `None` after saying that the test is skipped.
pub(crate) fn tool(name: &str) -> Option<PathBuf> {
    let found = Places::of_process().find(name);
    if found.is_none() {
        skip(&format!("no `{name}`"));
    }
    found
}

/// Says that a test is skipped, where it may be.
pub(crate) fn skip(why: &str) {
    assert!(
        std::env::var("FDO_TESTS_NO_SKIP").as_deref() != Ok("1"),
        "nothing may be skipped here: {why}"
    );
    // Past the test harness, which shows the output of failed tests only.
    let name = std::thread::current().name().unwrap_or("test").to_owned();
    writeln!(std::io::stderr(), "skipped: {name}: {why}").unwrap();
}

/// The rustc of the test run, and a directory for it.
pub(crate) fn rustc() -> (Rustc, TempDir) {
    let program = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let rustc = Rustc::inspect(Path::new(&program)).unwrap();
    (rustc, tempfile::tempdir().unwrap())
}

fn clang(version: &str, scratch: &Path) -> Option<CCompiler> {
    let path = tool(&format!("clang-{version}"))?;
    Some(CCompiler::inspect(&[path.display().to_string()], scratch).unwrap())
}

fn locate(rustc: &Rustc, scratch: &Path) -> Option<(PathBuf, Profdata)> {
    let sample = rust_canary(rustc, scratch).unwrap();
    match profdata::locate(
        None,
        None,
        rustc,
        &sample.path,
        &Places::of_process(),
        scratch,
    ) {
        Ok(profdata) => Some((sample.path, profdata)),
        Err(error) => {
            skip(&error.to_string());
            None
        }
    }
}

#[test]
fn gcc_is_gcc_without_llvm_counters() {
    let dir = tempfile::tempdir().unwrap();
    let Some(gcc) = tool("gcc") else { return };
    let gcc = CCompiler::inspect(&[gcc.display().to_string()], dir.path()).unwrap();
    assert_eq!(gcc.family, Family::Gcc);
    assert_eq!(gcc.raw_version, None);
    assert!(
        gcc.misfit(10)
            .unwrap()
            .to_string()
            .contains("gcc's counters")
    );
}

#[test]
fn an_old_clang_is_found_out_before_it_crashes_the_program() {
    let (rustc, dir) = rustc();
    let Some(old) = clang("14", dir.path()) else {
        return;
    };
    assert_eq!(old.raw_version, Some(8));
    let rustc_raw = rustc_raw_version(&rustc, dir.path()).unwrap();
    let reason = old.misfit(rustc_raw).unwrap().to_string();
    assert_eq!(
        reason,
        format!(
            "writes raw profile version 8, rustc writes {rustc_raw}: \
             a program linked from both would crash"
        )
    );
    let Some((_, profdata)) = locate(&rustc, dir.path()) else {
        return;
    };
    let canary = mixed_canary(&rustc, &old, &profdata, &profdata, dir.path());
    assert_eq!(canary.passed, []);
    assert!(canary.failure.unwrap().reason.contains("would crash"));
}

#[test]
fn a_canary_of_rust_alone_lives() {
    let (rustc, dir) = rustc();
    let sample = rust_canary(&rustc, dir.path()).unwrap();
    let Some((_, profdata)) = locate(&rustc, dir.path()) else {
        return;
    };
    let canary = finish_rust_canary(&rustc, &sample, &profdata, dir.path());
    assert_eq!(canary.failure, None);
    assert!(canary.verify);
}

#[test]
fn canaries_at_the_same_time_do_not_mix() {
    let (rustc, dir) = rustc();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (rustc, scratch) = (&rustc, dir.path().join(n.to_string()));
            scope.spawn(move || rust_canary(rustc, &scratch).unwrap());
        }
    });
}

#[test]
fn a_mixed_canary_lives_with_each_clang_that_fits() {
    let (rustc, dir) = rustc();
    let rustc_raw = rustc_raw_version(&rustc, dir.path()).unwrap();
    let places = Places::of_process();
    let Some((_, profdata)) = locate(&rustc, dir.path()) else {
        return;
    };
    let mut lived = 0;
    for version in ["19", "22"] {
        let Some(cc) = clang(version, dir.path()) else {
            continue;
        };
        if let Some(misfit) = cc.misfit(rustc_raw) {
            skip(&format!("clang-{version}: {misfit}"));
            continue;
        }
        let c_profdata = profdata::for_clang(cc.major, Some(cc.program()), &places, dir.path());
        let canary = mixed_canary(&rustc, &cc, &profdata, &c_profdata.unwrap(), dir.path());
        assert_eq!(canary.failure, None, "clang-{version}");
        assert_eq!(canary.passed.len(), 5);
        assert!(canary.verify);
        lived += 1;
    }
    if lived == 0 {
        skip("no clang fits");
    }
}

#[test]
fn the_profile_of_a_newer_llvm_kills_the_canary_of_an_older_clang() {
    let (rustc, dir) = rustc();
    let Some(cc) = clang("19", dir.path()) else {
        return;
    };
    let Some((_, profdata)) = locate(&rustc, dir.path()) else {
        return;
    };
    let rustc_raw = rustc_raw_version(&rustc, dir.path()).unwrap();
    if profdata.llvm_major == Some(19) || cc.misfit(rustc_raw).is_some() {
        return skip("this rustc is not newer");
    }
    let canary = mixed_canary(&rustc, &cc, &profdata, &profdata, dir.path());
    let failure = canary.failure.unwrap();
    assert_eq!(failure.step.name(), "use");
    assert!(failure.reason.contains("unsupported"), "{failure}");
}

#[test]
fn the_clang_of_rustc_s_own_llvm_is_preferred() {
    let (rustc, dir) = rustc();
    if tool(&format!("clang++-{}", rustc.llvm_major)).is_none() {
        return;
    }
    let rustc_raw = rustc_raw_version(&rustc, dir.path()).unwrap();
    let places = Places::of_process();
    let search = super::c_compiler::fitting_clang(rustc_raw, rustc.llvm_major, &places, dir.path());
    let (cc, cxx) = search.found.unwrap();
    assert_eq!((cc.major, cxx.major), (rustc.llvm_major, rustc.llvm_major));
    assert!(cxx.program().to_string_lossy().contains("clang++"));
}

#[test]
fn lists_with_any_path_and_bad_files_are_merged_as_documented() {
    let (rustc, dir) = rustc();
    let Some((sample, profdata)) = locate(&rustc, dir.path()) else {
        return;
    };
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir(at("d,1: x")).unwrap();
    let mut inputs = Vec::new();
    for name in [
        "d,1: x/a b.profraw",
        "ends with a space ",
        "two\nlines",
        "3,plain",
    ] {
        std::fs::copy(&sample, at(name)).unwrap();
        inputs.push((2, at(name)));
    }
    for (name, content) in [("empty", ""), ("bad: one", "garbage garbage garbage")] {
        std::fs::write(at(name), content).unwrap();
        inputs.push((1, at(name)));
    }
    let list = at("list");
    write_list(&list, &at("links"), &inputs).unwrap();

    let strict = profdata.merge(&list, &at("strict")).probe().unwrap();
    assert!(!strict.status.success());
    let text = at("out.proftext");
    let merged = profdata
        .merge_to_text(&list, FailureMode::All, &text)
        .run()
        .unwrap();
    let paths: Vec<_> = inputs.iter().map(|(_, path)| path).collect();
    let bad: Vec<_> = complaints(&merged.stderr, &paths)
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    // The empty one is passed over in silence: whoever collects has to look.
    assert_eq!(bad, [at("bad: one")]);

    let indexed = at("out.profdata");
    profdata.from_text(&text, &indexed).run().unwrap();
    let shown = profdata.show_summary(&indexed).run().unwrap();
    let summary = parse_summary(&shown.stdout).unwrap();
    assert!(summary.ir);
    // The canary without C goes round twice; four good files of weight 2.
    assert!(summary.total_count.unwrap() >= 4 * 2 * 2000, "{summary:?}");
}

#[test]
fn a_rustc_without_profiler_runtime_is_told_apart() {
    let (mut rustc, dir) = rustc();
    let Some(_) = tool("sh") else { return };
    let fake = dir.path().join("rustc");
    let script = "#!/bin/sh\necho \"error[E0463]: can't find crate for \\`profiler_builtins\\`\" >&2\nexit 1\n";
    std::fs::write(&fake, script).unwrap();
    Invocation::new("chmod").arg("+x").arg(&fake).run().unwrap();
    rustc.program = fake;
    let error = rustc_raw_version(&rustc, dir.path()).unwrap_err();
    assert!(error.to_string().contains("no profiler runtime"), "{error}");
}
