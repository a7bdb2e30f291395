//! Whether a compiler uses a sampled profile, and can prove it: the canary's function compiled with
//! a profile of it that is made up.
//!
//! The reader's version is found out here too: a gcc refuses every version of an AutoFDO file but
//! its own, whatever its own version number says.

use super::{C, Problem, RUST, c_call, rust_call};
use crate::profile::evidence::Evidence;
use crate::profile::sample::gcov::{self, GcovProfile, Version};
use crate::profile::sample::{BodySample, FunctionSamples, Location, SampleProfile, llvm_text};
use crate::tool::rustc::emit;
use crate::tool::{CCompiler, Invocation, Rustc, proof, scratch};
use fdo_build::flags::Pins;
use fdo_build::flags::sample::{self, Spelling};
use fdo_build::protocol::Family;
use std::path::Path;

/// What is hot does not matter here.
const PINS: Pins = super::PINS;

/// How often the loop of the made-up profile goes round: an odd number, to be found again.
const ROUNDS: u64 = 7919;

/// What a compiler does with samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reads {
    /// It says which samples it applied.
    pub verify: bool,
    /// It infers the counts that samples don't have (`-fsample-profile-use-profi`); of clang.
    pub profi: bool,
}

/// A profile of a function whose loop is on lines `body`.
fn profile(function: &str, body: &[u32]) -> SampleProfile {
    let mut samples = FunctionSamples {
        head: 1,
        ..FunctionSamples::default()
    };
    for &offset in body {
        let at = Location {
            offset,
            discriminator: 0,
        };
        let sample = BodySample {
            count: ROUNDS,
            ..BodySample::default()
        };
        samples.body.insert(at, sample);
    }
    samples.recount();
    SampleProfile {
        functions: [(function.to_owned(), samples)].into(),
    }
}

/// Tries rustc; `bootstrap`: with `RUSTC_BOOTSTRAP=1` in its environment.
///
/// # Errors
///
/// Why it can't compile with samples, in words.
pub fn rustc(
    rustc: &Rustc,
    spelling: Spelling,
    bootstrap: bool,
    scratch: &Path,
) -> Result<Reads, String> {
    let function = "fdo_canary_rust";
    let unstable = spelling == Spelling::Unstable;
    attempt(Family::Rustc, function, scratch, |dir, place| {
        let source = dir.join("canary.rs");
        scratch::write(&source, RUST)?;
        let slice = dir.join("canary.txt");
        scratch::write(&slice, &llvm_text::write(&profile(function, &[2, 3])).text)?;
        let mut call = rust_call(rustc, "bin")
            .args(sample::rustc_use(&slice, PINS, spelling, unstable))
            .args(
                place
                    .iter()
                    .flat_map(|place| sample::proof(Family::Rustc, place)),
            )
            .args(emit("obj", &dir.join("canary.o")))
            .arg(&source);
        if bootstrap {
            call = call.env("RUSTC_BOOTSTRAP", "1");
        }
        Ok(call)
    })
    .map(|verify| Reads {
        verify,
        profi: true,
    })
}

/// Tries a C compiler, clang or gcc.
///
/// # Errors
///
/// Why it can't compile with samples, in words.
pub fn c(cc: &CCompiler, scratch: &Path) -> Result<Reads, String> {
    match cc.family {
        Family::Clang => clang(cc, true, scratch).or_else(|error| {
            // One without profi is no worse; of two failures the first may be about that alone.
            clang(cc, false, scratch).map_err(|_| error)
        }),
        Family::Gcc => gcc(cc, scratch),
        Family::Rustc | Family::Unknown => Err("it is neither clang nor gcc".to_owned()),
    }
}

fn clang(cc: &CCompiler, profi: bool, scratch: &Path) -> Result<Reads, String> {
    let function = "fdo_canary_c";
    attempt(Family::Clang, function, scratch, |dir, place| {
        scratch::write(&dir.join("canary.c"), C)?;
        let slice = dir.join("canary.txt");
        scratch::write(&slice, &llvm_text::write(&profile(function, &[2, 3])).text)?;
        Ok(c_call(cc, dir, &dir.join("canary.o"))
            .args(sample::clang_use(&slice, PINS, profi))
            .args(
                place
                    .iter()
                    .flat_map(|place| sample::proof(Family::Clang, place)),
            ))
    })
    .map(|verify| Reads { verify, profi })
}

fn gcc(cc: &CCompiler, scratch: &Path) -> Result<Reads, String> {
    let function = "fdo_canary_c";
    let version = Version::of_gcc(cc.major);
    attempt(Family::Gcc, function, scratch, |dir, place| {
        scratch::write(&dir.join("canary.c"), C)?;
        let slice = dir.join("canary.afdo");
        let file = gcov::write(&GcovProfile::new(version, profile(function, &[2, 3])));
        std::fs::write(&slice, file.bytes)
            .map_err(|error| crate::fs::FsError::new("write", &slice, error))?;
        Ok(c_call(cc, dir, &dir.join("canary.o"))
            .args(sample::gcc_use(&slice))
            .args(
                place
                    .iter()
                    .flat_map(|place| sample::proof(Family::Gcc, place)),
            ))
    })
    .map(|verify| Reads {
        verify,
        profi: false,
    })
}

/// Compiles with proof, and without where the compiler does not take those flags. Whether it
/// proved the use of the samples.
fn attempt(
    family: Family,
    function: &str,
    scratch: &Path,
    call: impl Fn(&Path, Option<&Path>) -> Result<Invocation, Problem>,
) -> Result<bool, String> {
    let way = || -> Result<bool, Problem> {
        let dir = scratch::dir(scratch)?;
        let place = dir.path().join("proof");
        if family == Family::Rustc {
            crate::fs::create_dir(&place)?;
        }
        let told = call(dir.path(), Some(&place))?.probe()?;
        if told.status.success() {
            if applied(&proof::read(family, &place), function) {
                return Ok(true);
            }
            return Err(Problem(format!(
                "it did not apply the samples of `{function}`: {}",
                told.stderr.trim()
            )));
        }
        let quiet = call(dir.path(), None)?.run()?;
        // Compilers only warn about a profile that they can't use.
        if quiet.stderr.contains("warning") {
            return Err(Problem(format!("it says: {}", quiet.stderr.trim())));
        }
        Ok(false)
    };
    way().map_err(|problem| problem.0)
}

fn applied(said: &Evidence, function: &str) -> bool {
    let counts = said.samples.get(function).or(said.peaks.get(function));
    counts.is_some_and(|count| *count >= ROUNDS)
}
