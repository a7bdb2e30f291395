//! Tools that fail in the ways real ones do once a year.

use super::profdata::{self, Error};
use super::{CCompiler, Places, Profdata, Rustc};
use crate::error::Diagnose;
use fdo_build::protocol::Family;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory of shell scripts, to be used as `PATH`.
struct Bin {
    dir: TempDir,
}

impl Bin {
    fn new() -> Bin {
        Bin {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn tool(self, name: &str, script: &str) -> Bin {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Written under another name: a test that forks meanwhile holds it open, and a file
        // open for writing can't be started.
        let draft = path.with_extension("draft");
        std::fs::write(&draft, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&draft, PermissionsExt::from_mode(0o755)).unwrap();
        let copied = std::process::Command::new("cp")
            .arg("-p")
            .args([&draft, &path])
            .status()
            .unwrap();
        assert!(copied.success());
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn places(&self) -> Places {
        Places::only(self.dir.path())
    }

    fn rustc(&self) -> Rustc {
        Rustc {
            program: "rustc".into(),
            version: String::new(),
            release: semver::Version::new(1, 95, 0),
            commit: None,
            host: "x86_64-unknown-linux-gnu".into(),
            llvm: "22.1.2".into(),
            llvm_major: 22,
            sysroot: self.path("sysroot"),
        }
    }

    fn locate(&self, explicit: Option<&Path>, env: Option<&Path>) -> Result<Profdata, Error> {
        let sample = self.path("sample.profraw");
        std::fs::write(&sample, "raw").unwrap();
        let scratch = self.path("scratch");
        profdata::locate(
            explicit,
            env,
            &self.rustc(),
            &sample,
            &self.places(),
            &scratch,
        )
    }
}

/// An llvm-profdata of that version that does its work.
fn good(version: u32) -> String {
    format!(
        "case \"$1\" in\n\
         --version) echo '  LLVM version {version}.1.0' ;;\n\
         merge) while [ $# -gt 1 ]; do shift; done; echo merged > \"$1\" ;;\n\
         show) echo 'Instrumentation level: IR'; echo 'Total functions: 3'\n\
         echo 'Maximum function count: 1' ;;\n\
         esac"
    )
}

/// Says its version, and fails at the work as LLVM 14 does on a newer file.
const OLD: &str = "case \"$1 $2\" in\n\
    'merge --version') echo 'Debian LLVM version 14.0.6' ;;\n\
    --version*) echo 'llvm-profdata: Unknown command!' >&2; exit 1 ;;\n\
    merge*) echo \"warning: $2: unsupported instrumentation profile format version\" >&2\n\
    echo 'error: no profile can be merged' >&2; exit 1 ;;\n\
    esac";

fn refused(error: &Error) -> Vec<String> {
    match error {
        Error::NoneFits { refused, .. } => refused.iter().map(ToString::to_string).collect(),
        other => panic!("{other}"),
    }
}

#[test]
fn the_component_of_rustup_comes_first_then_rustc_s_own_version() {
    let component = "sysroot/lib/rustlib/x86_64-unknown-linux-gnu/bin/llvm-profdata";
    let bin = Bin::new()
        .tool("llvm-profdata", OLD)
        .tool("llvm-profdata-22", &good(22))
        .tool("llvm-profdata-23", &good(23));
    assert_eq!(
        bin.locate(None, None).unwrap().program,
        bin.path("llvm-profdata-22")
    );
    let bin = bin.tool(component, &good(22));
    assert_eq!(bin.locate(None, None).unwrap().program, bin.path(component));
}

#[test]
fn a_newer_one_serves_where_there_is_no_exact_one() {
    let bin = Bin::new()
        .tool("llvm-profdata", OLD)
        .tool("llvm-profdata-19", &good(19))
        .tool("llvm-profdata-23", &good(23));
    assert_eq!(bin.locate(None, None).unwrap().llvm_major, Some(23));
}

#[test]
fn bad_ones_are_listed_with_what_is_wrong() {
    let bin = Bin::new()
        .tool("llvm-profdata", OLD)
        .tool("llvm-profdata-21", "exit 0")
        .tool(
            "llvm-profdata-20",
            &good(20).replace("functions: 3", "functions: 0"),
        )
        .tool(
            "llvm-profdata-18",
            "echo '{\"garbage\": true}'; kill -SEGV $$",
        );
    let error = bin.locate(None, None).unwrap_err();
    let refused = refused(&error);
    let at = |name: &str| bin.path(name).display().to_string();
    assert_eq!(
        refused[0],
        format!(
            "`{}`: is not there",
            at("sysroot/lib/rustlib/x86_64-unknown-linux-gnu/bin/llvm-profdata")
        )
    );
    assert_eq!(
        refused[1..],
        [
            "`llvm-profdata-22`: is not there".to_owned(),
            format!(
                "`{}`: wrote nothing, and said that all was well",
                at("llvm-profdata-21")
            ),
            format!(
                "`{}` is LLVM 20: found no function in a profile that has some",
                at("llvm-profdata-20")
            ),
            format!(
                "`{}`: can't merge (signal 11, SIGSEGV)",
                at("llvm-profdata-18")
            ),
            format!(
                "`{}` is LLVM 14: unsupported instrumentation profile format version",
                at("llvm-profdata")
            ),
        ]
    );
    assert!(
        error
            .hint()
            .unwrap()
            .contains("rustup component add llvm-tools")
    );
    assert_eq!(error.exit_code() as u8, 3);
}

#[test]
fn what_the_user_named_is_not_passed_over() {
    let bin = Bin::new()
        .tool("mine", OLD)
        .tool("theirs", &good(21))
        .tool("llvm-profdata-22", &good(22));
    let error = bin.locate(None, Some(&bin.path("mine"))).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("of `LLVM_PROFDATA` can't be used"),
        "{error}"
    );
    assert!(
        error.to_string().contains("is LLVM 14: unsupported"),
        "{error}"
    );
    // The flag is nearer than the environment; a name is looked up.
    let found = bin.locate(Some(Path::new("theirs")), Some(&bin.path("mine")));
    assert_eq!(found.unwrap().program, bin.path("theirs"));
}

#[test]
fn a_clang_gets_the_profdata_of_its_own_version_only() {
    let bin = Bin::new()
        .tool("llvm/bin/clang", "")
        .tool("llvm-profdata-22", &good(22))
        .tool("llvm-profdata-19", &good(19));
    let find = |major, beside: Option<&Path>| {
        profdata::for_clang(major, beside, &bin.places(), &bin.path("scratch"))
    };
    assert_eq!(
        find(19, None).unwrap().program,
        bin.path("llvm-profdata-19")
    );
    let error = find(18, None).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("is LLVM 22: clang 18 needs its own"),
        "{error}"
    );
    assert_eq!(
        error.hint().unwrap(),
        "install the Debian package `llvm-18`"
    );
    let bin = Bin { dir: bin.dir }.tool("llvm/bin/llvm-profdata", &good(18));
    let beside = bin.path("llvm/bin/clang");
    let found = profdata::for_clang(18, Some(&beside), &bin.places(), &bin.path("scratch"));
    assert_eq!(
        found.unwrap().program.canonicalize().unwrap(),
        bin.path("llvm/bin/llvm-profdata").canonicalize().unwrap()
    );
}

#[test]
fn a_compiler_is_what_it_defines_not_what_it_is_called() {
    let bin = Bin::new().tool(
        "gcc",
        "case \"$*\" in *-E*) echo 'cargo_fdo clang 17' ;; *--version) echo 'Apple clang' ;;\n\
         *-dumpmachine) echo arm64-apple-darwin ;; *) exit 1 ;; esac",
    );
    let command = [bin.path("gcc").display().to_string()];
    let compiler = CCompiler::inspect(&command, &bin.path("scratch")).unwrap();
    assert_eq!(compiler.family, Family::Clang);
    assert_eq!(compiler.major, 17);
    assert_eq!(compiler.version_line, "Apple clang");
    assert_eq!(compiler.target.as_deref(), Some("arm64-apple-darwin"));
    assert_eq!((compiler.raw_version, compiler.runtime), (None, false));
}

#[test]
fn launchers_are_kept_but_not_run_for_probes() {
    let bin = Bin::new()
        .tool("ccache", "echo 'the cache was asked' >&2; exit 9")
        .tool(
            "cc",
            "case \"$*\" in *-E*) echo 'cargo_fdo gcc 12' ;; *) exit 1 ;; esac",
        );
    let command = [bin.path("ccache"), bin.path("cc")].map(|path| path.display().to_string());
    let compiler = CCompiler::inspect(&command, &bin.path("scratch")).unwrap();
    assert_eq!(compiler.family, Family::Gcc);
    assert_eq!(compiler.command, command);
}

#[test]
fn a_compiler_that_fails_is_named() {
    let bin = Bin::new().tool("cc", "echo 'license expired' >&2; exit 1");
    let command = [bin.path("cc").display().to_string()];
    let error = CCompiler::inspect(&command, &bin.path("scratch")).unwrap_err();
    assert!(error.to_string().contains("license expired"), "{error}");
    let none = CCompiler::inspect(
        &[bin.path("no").display().to_string()],
        &bin.path("scratch"),
    );
    assert!(none.unwrap_err().hint().unwrap().contains("doctor"));
}
