//! rustc: who it is, and what its instrumented objects look like.

use super::locate::{Identity, Places};
use super::{Invocation, ToolError, raw_version, scratch};
use crate::error::{Diagnose, ExitCode};
use crate::fs::FsError;
use semver::Version;
use std::path::{Path, PathBuf};

/// One rustc, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Rustc {
    /// The program, as given.
    pub program: PathBuf,
    /// Everything that `rustc -vV` says.
    pub version: String,
    /// Its version.
    pub release: Version,
    /// The commit it was built from; a distribution's rustc may not know.
    pub commit: Option<String>,
    /// The triple it runs on.
    pub host: String,
    /// The version of its LLVM, such as `22.1.2`.
    pub llvm: String,
    /// The major version of its LLVM.
    pub llvm_major: u32,
    /// Where its libraries are.
    pub sysroot: PathBuf,
}

/// Why a rustc is of no use.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It does not run.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A probe could not be written or read.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// It says something else than rustc does.
    #[error("`{} -vV` does not name its {field}", program.display())]
    Unexpected {
        /// The program.
        program: PathBuf,
        /// What is missing.
        field: &'static str,
    },
    /// It can put counters in, but has no library to write them.
    #[error("`{}` has no profiler runtime (`profiler_builtins`)", program.display())]
    NoProfiler {
        /// The program.
        program: PathBuf,
    },
    /// Its object has no counters.
    #[error("`{} -Cprofile-generate` puts no counters in", program.display())]
    NoCounters {
        /// The program.
        program: PathBuf,
    },
    /// Its object can't be read.
    #[error("can't read what `{}` wrote", program.display())]
    Object {
        /// The program.
        program: PathBuf,
        /// Why.
        source: raw_version::Error,
    },
}

impl Diagnose for Error {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        match self {
            Error::Tool(error) => error.hint(),
            Error::Fs(error) => error.hint(),
            Error::Unexpected { .. } => Some(
                "`RUSTC` or `build.rustc` may name a program that is no rustc, or one without LLVM"
                    .into(),
            ),
            Error::NoProfiler { .. } => Some(
                "a distribution may build rustc without it; the one of https://rustup.rs has it"
                    .into(),
            ),
            Error::NoCounters { .. } | Error::Object { .. } => {
                Some("only the LLVM backend has counters; is another codegen backend set?".into())
            }
        }
    }
}

impl Rustc {
    /// Asks a rustc who it is.
    ///
    /// # Errors
    ///
    /// It does not run, or is no rustc with LLVM.
    pub fn inspect(program: &Path) -> Result<Rustc, Error> {
        let version = Invocation::new(program).arg("-vV").run()?.stdout;
        let sysroot = Invocation::new(program)
            .args(["--print", "sysroot"])
            .run()?
            .stdout;
        Rustc::parse(program, version, sysroot.trim())
    }

    fn parse(program: &Path, version: String, sysroot: &str) -> Result<Rustc, Error> {
        let unexpected = |field| Error::Unexpected {
            program: program.to_owned(),
            field,
        };
        let field = |name: &str| {
            version
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                .map(str::to_owned)
        };
        let llvm = field("LLVM version").ok_or(unexpected("LLVM version"))?;
        Ok(Rustc {
            program: program.to_owned(),
            release: field("release")
                .and_then(|release| Version::parse(&release).ok())
                .ok_or(unexpected("release"))?,
            commit: field("commit-hash").filter(|hash| hash != "unknown"),
            host: field("host").ok_or(unexpected("host"))?,
            llvm_major: llvm
                .split('.')
                .next()
                .and_then(|major| major.parse().ok())
                .ok_or(unexpected("LLVM version"))?,
            llvm,
            sysroot: PathBuf::from(sysroot),
            version,
        })
    }

    /// The file that is this compiler, behind rustup's stand-in.
    pub fn identity(&self) -> Option<Identity> {
        let places = Places::of_process();
        Identity::of(&places, self.sysroot.join("bin/rustc"))
            .or_else(|| Identity::of(&places, &self.program))
    }

    /// The library that writes raw profiles, which rustc links with what it instruments.
    pub fn profiler_runtime(&self, target: &str) -> Option<PathBuf> {
        let mut dir = self.sysroot.join("lib/rustlib");
        dir.extend([target, "lib"]);
        crate::fs::list(&dir).ok()?.into_iter().find(|path| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| {
                    name.starts_with("libprofiler_builtins-") && name.ends_with(".rlib")
                })
        })
    }

    /// Where rustup's `llvm-tools` component puts a tool.
    pub fn component_tool(&self, name: &str) -> PathBuf {
        let mut path = self.sysroot.join("lib/rustlib");
        path.extend([&self.host, "bin", name]);
        path
    }
}

/// Reads the raw profile version of this rustc from an object that it makes.
///
/// # Errors
///
/// The compiler fails, or has no profiler runtime, or puts no counters in.
pub fn rustc_raw_version(rustc: &Rustc, scratch: &Path) -> Result<u64, Error> {
    let dir = scratch::dir(scratch)?;
    let source = dir.path().join("probe.rs");
    let object = dir.path().join("probe.o");
    scratch::write(
        &source,
        "#[no_mangle] pub extern \"C\" fn probe(x: u32) -> u32 { if x > 3 { x } else { 1 } }\n",
    )?;
    let call = Invocation::new(&rustc.program)
        .args(["--crate-name=probe", "--crate-type=lib", "--edition=2021"])
        .arg("-Ccodegen-units=1")
        .arg(format!("-Cprofile-generate={}", dir.path().display()))
        .args(emit("obj", &object))
        .arg(&source);
    run_compiler(rustc, &call)?;
    let version = raw_version::read(&object).map_err(|source| Error::Object {
        program: rustc.program.clone(),
        source,
    })?;
    version.ok_or_else(|| Error::NoCounters {
        program: rustc.program.clone(),
    })
}

/// Runs rustc on an instrumented unit, and knows its commonest failure.
pub(crate) fn run_compiler(rustc: &Rustc, call: &Invocation) -> Result<(), Error> {
    let output = call.probe()?;
    if output.status.success() {
        return Ok(());
    }
    // Not the name alone: a failed link shows a command with the library in it.
    if output
        .stderr
        .contains("can't find crate for `profiler_builtins`")
    {
        return Err(Error::NoProfiler {
            program: rustc.program.clone(),
        });
    }
    Err(call.failed(output.status, &output.stderr).into())
}

/// The arguments that make rustc write one kind of output into one file.
///
/// By `-o`, which puts intermediate objects beside the output. `--emit=KIND=PATH` leaves them
/// where rustc runs: in the user's directory, where two probes at a time would mix theirs.
/// (Running elsewhere is no way out: rustup chooses the toolchain by the directory.)
pub(crate) fn emit(kind: &str, path: &Path) -> [std::ffi::OsString; 3] {
    [format!("--emit={kind}").into(), "-o".into(), path.into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const STABLE: &str = "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\n\
        commit-hash: 59807616e1fa2540724bfbac14d7976d7e4a3860\ncommit-date: 2026-04-14\n\
        host: x86_64-unknown-linux-gnu\nrelease: 1.95.0\nLLVM version: 22.1.2\n";

    fn parse(text: &str) -> Result<Rustc, Error> {
        Rustc::parse(Path::new("rustc"), text.to_owned(), "/sysroot")
    }

    #[test]
    fn what_rustc_says_is_understood() {
        let rustc = parse(STABLE).unwrap();
        assert_eq!(rustc.release, Version::new(1, 95, 0));
        assert_eq!(rustc.llvm_major, 22);
        assert_eq!(rustc.host, "x86_64-unknown-linux-gnu");
        assert_eq!(
            rustc.commit.as_deref().map(|hash| &hash[..9]),
            Some("59807616e")
        );
        assert_eq!(
            rustc.component_tool("llvm-profdata"),
            Path::new("/sysroot/lib/rustlib/x86_64-unknown-linux-gnu/bin/llvm-profdata")
        );
    }

    #[test]
    fn pre_releases_and_unknown_commits_are_fine() {
        let text = STABLE
            .replace("release: 1.95.0", "release: 1.97.0-nightly")
            .replace("59807616e1fa2540724bfbac14d7976d7e4a3860", "unknown");
        let rustc = parse(&text).unwrap();
        assert_eq!(rustc.release.pre.as_str(), "nightly");
        assert_eq!(rustc.commit, None);
    }

    #[test]
    fn a_program_that_is_no_rustc_is_told_what_is_missing() {
        let error = parse("gcc (GCC) 12.2.0\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`rustc -vV` does not name its LLVM version"
        );
        assert!(error.hint().unwrap().contains("RUSTC"));
    }

    #[test]
    fn it_survives_the_cache() {
        let rustc = parse(STABLE).unwrap();
        let json = serde_json::to_string(&rustc).unwrap();
        assert_eq!(serde_json::from_str::<Rustc>(&json).unwrap(), rustc);
    }
}
