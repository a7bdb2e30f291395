//! A canary that is killed: whether counters survive that in both languages.
//!
//! Continuous mode has a way to fail that no tool reports. Where the objects of one language lack its
//! flags, the program runs, its raw profile is read, and all counts of that language are zero: what
//! is hot would be compiled as cold.

use super::{C, Failure, Problem, ROUNDS, RUST, Step, merge, rust_call};
use crate::error::{Diagnose, ExitCode};
use crate::fs;
use crate::tool::c_compiler::launchers;
use crate::tool::rustc::{emit, run_compiler};
use crate::tool::{Invocation, Profdata, Rustc, scratch};
use fdo_build::flags::{self, Counters};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Counters of these compilers do not survive SIGKILL.
#[derive(Debug, thiserror::Error)]
#[error("`continuous = true` does not work with {compilers}: {failure}")]
pub struct NoContinuousMode {
    /// Which.
    compilers: String,
    /// Where and why.
    failure: Failure,
}

impl Diagnose for NoContinuousMode {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        Some(
            "without `continuous` in fdo.toml, counters are saved at exit and on SIGTERM and \
             SIGUSR2; `cargo fdo doctor` shows which compilers there are"
                .into(),
        )
    }
}

/// The C compiler of a continuous canary.
#[derive(Debug, Clone, Copy)]
pub struct CCommand<'a> {
    /// Its command, with launchers.
    pub command: &'a [String],
    /// How it calls itself.
    pub version: &'a str,
}

/// Takes a program of Rust, and of C where there is a compiler for it, to SIGKILL, and reads its
/// counts.
///
/// # Errors
///
/// [`NoContinuousMode`]
pub fn continuous(
    rustc: &Rustc,
    c: Option<CCommand<'_>>,
    profdata: &Profdata,
    scratch: &Path,
) -> Result<(), NoContinuousMode> {
    attempt(rustc, c, profdata, scratch).map_err(|failure| {
        let mut compilers = format!("rustc {}", rustc.release);
        if let Some(c) = c {
            compilers.push_str(&format!(" and {}", c.version));
        }
        NoContinuousMode { compilers, failure }
    })
}

fn attempt(
    rustc: &Rustc,
    c: Option<CCommand<'_>>,
    profdata: &Profdata,
    scratch: &Path,
) -> Result<(), Failure> {
    let scratch = scratch::dir(scratch).map_err(|error| Step::Instrument.failure(error))?;
    let dir = scratch.path();
    let object = c.map(|c| instrument_c(c, dir)).transpose();
    let object = object.map_err(|problem| Step::Instrument.failure(problem))?;
    let program = dir.join("canary");
    instrument_rust(rustc, dir, object.as_deref(), &program)
        .map_err(|problem| Step::Link.failure(problem))?;
    let raw = run(&program, dir).map_err(|problem| Step::Run.failure(problem))?;
    let mut wanted = vec![("fdo_canary_rust", ROUNDS), ("fdo_canary_c", ROUNDS)];
    if object.is_none() {
        wanted = vec![("fdo_canary_rust", 2 * ROUNDS)];
    }
    merge(profdata, &raw, dir, &wanted).map_err(|problem| Step::Merge.failure(problem))?;
    Ok(())
}

fn instrument_c(c: CCommand<'_>, dir: &Path) -> Result<PathBuf, Problem> {
    let source = dir.join("canary.c");
    scratch::write(&source, C)?;
    let object = dir.join("canary_c.o");
    let bare = &c.command[launchers(c.command)..];
    let program = bare.first().map_or("cc", String::as_str);
    Invocation::new(program)
        .args(bare.iter().skip(1))
        .args(["-O2", "-fPIC", "-x", "c", "-c"])
        .args(flags::clang_instrument(Counters::Ir, dir))
        .args(flags::clang_continuous())
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .run()?;
    Ok(object)
}

fn instrument_rust(
    rustc: &Rustc,
    dir: &Path,
    object: Option<&Path>,
    program: &Path,
) -> Result<(), Problem> {
    let mut text = RUST.replace(
        "fn main() {",
        "extern \"C\" {\n    fn raise(signal: i32) -> i32;\n}\n\n\
         fn main() {\n    canary();\n    unsafe { raise(9) };\n}\n\nfn canary() {",
    );
    if object.is_none() {
        text = super::without_c(&text);
    }
    let source = dir.join("canary.rs");
    scratch::write(&source, &text)?;
    let mut call = rust_call(rustc, "bin")
        .args(flags::rustc_instrument(dir))
        .args(flags::rustc_continuous())
        .args(emit("link", program))
        .arg(&source);
    if let Some(object) = object {
        let mut arg = OsString::from("-Clink-arg=");
        arg.push(object);
        call = call.arg(arg);
    }
    Ok(run_compiler(rustc, &call)?)
}

/// Runs the program to its violent end; the one raw profile that it leaves.
fn run(program: &Path, dir: &Path) -> Result<PathBuf, Problem> {
    let raws = dir.join("raw");
    let output = Invocation::new(program)
        .env("LLVM_PROFILE_FILE", flags::continuous_profile_file(&raws))
        .cwd(dir)
        .probe()?;
    if output.stdout.trim() != "same" {
        return Err(Problem(format!(
            "the program did not do its work: {}",
            output.stderr.trim()
        )));
    }
    let mut found = fs::list(&raws)?;
    match (found.pop(), found.len()) {
        (Some(raw), 0) => Ok(raw),
        (_, more) => Err(Problem(format!(
            "a program that is killed leaves {} raw profiles: {}",
            if more == 0 { 0 } else { more + 1 },
            output.stderr.trim()
        ))),
    }
}
