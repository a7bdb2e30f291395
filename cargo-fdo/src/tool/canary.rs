//! A tiny program taken through instrument → link → run → merge → use, with the very tools
//! that a build will use.
//!
//! Asking tools for their versions says little: the profiler runtime may be missing, the
//! linker may be another one, a distribution may have patched a format. Half a second here
//! is cheaper than three hundred C++ files compiled in vain.

pub mod continuous;
pub mod samples;

use super::profdata::{FailureMode, write_list};
use super::rustc::{emit, run_compiler};
use super::{CCompiler, Invocation, Profdata, Rustc, rustc, scratch};
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use fdo_build::flags::{self, Counters, Pins};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

const RUST: &str = include_str!("canary/canary.rs");
const C: &str = include_str!("canary/canary.c");

/// How often the loops of the canary go round.
const ROUNDS: u64 = 1000;

/// A limit that the canary's counts are above: what is hot does not matter here.
const PINS: Pins = Pins {
    hot: 100,
    cold: 1,
    huge_working_set: false,
    large_working_set: false,
};

/// One step of the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Each compiler puts counters in.
    Instrument,
    /// The objects become a program.
    Link,
    /// The program runs and leaves a raw profile.
    Run,
    /// llvm-profdata reads it, with the right counts.
    Merge,
    /// Each compiler applies it.
    Use,
}

impl Step {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Step::Instrument => "instrument",
            Step::Link => "link",
            Step::Run => "run",
            Step::Merge => "merge",
            Step::Use => "use",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What became of a canary.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Canary {
    /// The steps that went well, in order.
    pub passed: Vec<Step>,
    /// Where and why it ended, if it did not live.
    pub failure: Option<Failure>,
    /// Whether every compiler can name the functions that it applied a profile to.
    pub verify: bool,
    /// How long it took.
    pub milliseconds: u64,
}

/// The step that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[error("a test program fails at step `{step}`: {reason}")]
pub struct Failure {
    /// The step.
    pub step: Step,
    /// What happened, with the command where one failed.
    pub reason: String,
}

impl Diagnose for Failure {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        Some("`cargo fdo doctor` shows what fits and what to install".into())
    }
}

impl Canary {
    /// Whether it lived.
    pub fn alive(&self) -> bool {
        self.failure.is_none()
    }
}

/// The raw profile of a program that one rustc compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawSample {
    /// The file.
    pub path: PathBuf,
}

/// Compiles and runs an instrumented program without C, and keeps its raw profile in `scratch`
/// for [`profdata::locate`](super::profdata::locate).
///
/// # Errors
///
/// The step that failed; `Instrument` stands for the link too, as rustc does both in one.
pub fn rust_canary(rustc: &Rustc, scratch: &Path) -> Result<RawSample, Failure> {
    let dir = scratch::dir(scratch).map_err(|error| Step::Instrument.failure(error))?;
    let program = dir.path().join("canary");
    instrument_rust(rustc, dir.path(), &without_c(RUST), &program, None)
        .map_err(|error| Step::Instrument.failure(error))?;
    let raw = run(&program, dir.path()).map_err(|error| Step::Run.failure(error))?;
    let path = scratch.join("rustc-sample.profraw");
    std::fs::rename(&raw, &path)
        .map_err(|error| Step::Run.failure(FsError::new("move", &raw, error)))?;
    Ok(RawSample { path })
}

/// Takes the raw profile of [`rust_canary`] the rest of the way.
pub fn finish_rust_canary(
    rustc: &Rustc,
    sample: &RawSample,
    profdata: &Profdata,
    scratch: &Path,
) -> Canary {
    watch(scratch, |dir, canary| {
        canary.passed = vec![Step::Instrument, Step::Link, Step::Run];
        let text = canary.step(Step::Merge, || {
            merge(
                profdata,
                &sample.path,
                dir,
                &[("fdo_canary_rust", 2 * ROUNDS)],
            )
        })?;
        canary.verify = canary.step(Step::Use, || {
            let slice = index(profdata, &text, dir, "rust")?;
            use_rust(rustc, &slice, dir)
        })?;
        Ok(())
    })
}

/// Takes a program of Rust and C the whole way.
///
/// `profdata` serves rustc, `c_profdata` the C compiler: the same one if their LLVM is.
pub fn mixed_canary(
    rustc: &Rustc,
    cc: &CCompiler,
    profdata: &Profdata,
    c_profdata: &Profdata,
    scratch: &Path,
) -> Canary {
    watch(scratch, |dir, canary| {
        let object = canary.step(Step::Instrument, || {
            // Before any link: a program of two versions crashes, or worse, does not.
            let raw_version = rustc::rustc_raw_version(rustc, dir)?;
            if let Some(misfit) = cc.misfit(raw_version) {
                return Err(Problem(misfit.to_string()));
            }
            instrument_c(cc, dir)
        })?;
        let program = dir.join("canary");
        canary.step(Step::Link, || {
            instrument_rust(rustc, dir, RUST, &program, Some(&object))
        })?;
        let raw = canary.step(Step::Run, || run(&program, dir))?;
        let text = canary.step(Step::Merge, || {
            let wanted = [("fdo_canary_rust", ROUNDS), ("fdo_canary_c", ROUNDS)];
            merge(profdata, &raw, dir, &wanted)
        })?;
        canary.verify = canary.step(Step::Use, || {
            let slice = index(profdata, &text, dir, "rust")?;
            let c_slice = index(c_profdata, &text, dir, "c")?;
            Ok(use_rust(rustc, &slice, dir)? & use_c(cc, &c_slice, dir)?)
        })?;
        Ok(())
    })
}

/// What goes wrong inside a step, in words.
struct Problem(String);

impl<E: Diagnose> From<E> for Problem {
    fn from(error: E) -> Problem {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            text.push_str(&format!(": {next}"));
            cause = next.source();
        }
        Problem(text)
    }
}

impl Step {
    fn failure(self, problem: impl Into<Problem>) -> Failure {
        Failure {
            step: self,
            reason: problem.into().0,
        }
    }
}

fn watch(scratch: &Path, way: impl FnOnce(&Path, &mut Canary) -> Result<(), Failure>) -> Canary {
    let start = Instant::now();
    let mut canary = Canary {
        passed: Vec::new(),
        failure: None,
        verify: false,
        milliseconds: 0,
    };
    let end = match scratch::dir(scratch) {
        Ok(dir) => way(dir.path(), &mut canary),
        Err(error) => Err(Step::Instrument.failure(error)),
    };
    canary.failure = end.err();
    canary.milliseconds = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    canary
}

impl Canary {
    fn step<T>(
        &mut self,
        step: Step,
        work: impl FnOnce() -> Result<T, Problem>,
    ) -> Result<T, Failure> {
        let result = work().map_err(|problem| step.failure(problem))?;
        self.passed.push(step);
        Ok(result)
    }
}

fn instrument_rust(
    rustc: &Rustc,
    dir: &Path,
    text: &str,
    program: &Path,
    object: Option<&Path>,
) -> Result<(), Problem> {
    let source = dir.join("canary.rs");
    scratch::write(&source, text)?;
    let mut call = rust_call(rustc, "bin")
        .args(flags::rustc_instrument(dir))
        .args(emit("link", program))
        .arg(&source);
    if let Some(object) = object {
        let mut arg = std::ffi::OsString::from("-Clink-arg=");
        arg.push(object);
        call = call.arg(arg);
    }
    Ok(run_compiler(rustc, &call)?)
}

/// With a stand-in for the C function, so that there is one source.
fn without_c(source: &str) -> String {
    source.replace(
        "extern \"C\" {\n    fn fdo_canary_c(n: u32) -> u32;\n}",
        "unsafe fn fdo_canary_c(n: u32) -> u32 {\n    fdo_canary_rust(n)\n}",
    )
}

/// The same for both phases, or the hashes differ.
fn rust_call(rustc: &Rustc, kind: &str) -> Invocation {
    Invocation::new(&rustc.program)
        .args(["--crate-name=canary", "--edition=2021", "--cap-lints=allow"])
        .arg(format!("--crate-type={kind}"))
        .args(["-Copt-level=2", "-Ccodegen-units=1"])
}

fn instrument_c(cc: &CCompiler, dir: &Path) -> Result<PathBuf, Problem> {
    scratch::write(&dir.join("canary.c"), C)?;
    let object = dir.join("canary_c.o");
    c_call(cc, dir, &object)
        .args(flags::clang_instrument(Counters::Ir, dir))
        .run()?;
    Ok(object)
}

fn c_call(cc: &CCompiler, dir: &Path, object: &Path) -> Invocation {
    cc.call()
        .args(["-O2", "-fPIC", "-x", "c", "-c"])
        .arg(dir.join("canary.c"))
        .arg("-o")
        .arg(object)
}

/// Runs the program; the one raw profile that it leaves.
fn run(program: &Path, dir: &Path) -> Result<PathBuf, Problem> {
    let raws = dir.join("raw");
    let call = Invocation::new(program)
        .env("LLVM_PROFILE_FILE", flags::raw_profile_file(&raws))
        .cwd(dir);
    let output = call.run()?;
    if output.stdout.trim() != "same" {
        return Err(Problem(format!(
            "the program computed something else: `{}`",
            output.stdout.trim()
        )));
    }
    let mut found = fs::list(&raws)?;
    match (found.pop(), found.len()) {
        (Some(raw), 0) => Ok(raw),
        (None, _) => Err(Problem("the program left no raw profile".into())),
        // Two runtimes in one image: C and Rust would count apart.
        (Some(_), more) => Err(Problem(format!(
            "the program left {} raw profiles",
            more + 1
        ))),
    }
}

fn merge(
    profdata: &Profdata,
    raw: &Path,
    dir: &Path,
    wanted: &[(&str, u64)],
) -> Result<PathBuf, Problem> {
    let list = dir.join("raw.list");
    write_list(&list, dir, &[(1, raw.to_owned())])?;
    let text = dir.join("canary.proftext");
    profdata
        .merge_to_text(&list, FailureMode::Any, &text)
        .run()?;
    let profile = fs::read(&text)?;
    for (function, count) in wanted {
        match highest_count(&profile, function) {
            Some(found) if found == *count => {}
            Some(found) => {
                return Err(Problem(format!(
                    "`{function}` was counted {found} times, but ran {count} times"
                )));
            }
            None => return Err(Problem(format!("the profile has no `{function}`"))),
        }
    }
    Ok(text)
}

/// The highest counter of a function in a text profile.
fn highest_count(profile: &str, function: &str) -> Option<u64> {
    profile
        .lines()
        .skip_while(|line| *line != function)
        .skip_while(|line| *line != "# Counter Values:")
        .skip(1)
        .map_while(|line| line.parse().ok())
        .max()
}

fn index(profdata: &Profdata, text: &Path, dir: &Path, name: &str) -> Result<PathBuf, Problem> {
    let indexed = dir.join(format!("{name}.profdata"));
    profdata.from_text(text, &indexed).run()?;
    Ok(indexed)
}

/// Whether the compiler named the function that it applied the profile to.
///
/// A compiler that does not know the option that makes it do so is asked without.
fn use_rust(rustc: &Rustc, slice: &Path, dir: &Path) -> Result<bool, Problem> {
    let source = dir.join("canary.rs");
    scratch::write(&source, RUST)?;
    applied("rustc", "fdo_canary_rust", |verify| {
        rust_call(rustc, "bin")
            .args(flags::rustc_optimize(slice, PINS, verify))
            .args(emit("obj", &dir.join("use_rust.o")))
            .arg(&source)
    })
}

fn use_c(cc: &CCompiler, slice: &Path, dir: &Path) -> Result<bool, Problem> {
    applied("clang", "fdo_canary_c", |verify| {
        c_call(cc, dir, &dir.join("use_c.o")).args(flags::clang_optimize(
            Counters::Ir,
            slice,
            PINS,
            verify,
        ))
    })
}

fn applied(
    compiler: &str,
    function: &str,
    call: impl Fn(bool) -> Invocation,
) -> Result<bool, Problem> {
    let told = call(true).probe()?;
    if told.status.success() {
        if names_function(&told.stderr, function) {
            return Ok(true);
        }
        return Err(Problem(format!(
            "{compiler} did not apply the profile to `{function}`: {}",
            told.stderr.trim()
        )));
    }
    let quiet = call(false).run()?;
    // Both compilers only warn about a profile that they can't use.
    if quiet.stderr.contains("warning") {
        return Err(Problem(format!("{compiler} says: {}", quiet.stderr.trim())));
    }
    Ok(false)
}

fn names_function(stderr: &str, function: &str) -> bool {
    stderr.lines().any(|line| {
        line.strip_prefix("Dump Function ")
            .and_then(|rest| rest.split_once(" Hash: "))
            .is_some_and(|(name, _)| name == function)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_right_function() {
        let profile = ":ir\nother\n# Func Hash:\n1\n# Num Counters:\n1\n# Counter Values:\n9\n\n\
                       wanted\n# Func Hash:\n77\n# Num Counters:\n2\n# Counter Values:\n1000\n1\n\n\
                       # Num Value Kinds:\n5\n";
        assert_eq!(highest_count(profile, "wanted"), Some(1000));
        assert_eq!(highest_count(profile, "other"), Some(9));
        assert_eq!(highest_count(profile, "absent"), None);
    }

    #[test]
    fn evidence_is_the_whole_name() {
        let stderr = "pgo-view-raw-counts: f\nDump Function f Hash: 12\t\n  BB: \n";
        assert!(names_function(stderr, "f"));
        assert!(!names_function(stderr, "ff"));
        assert!(!names_function("Dump Function f2 Hash: 1", "f"));
    }
}
