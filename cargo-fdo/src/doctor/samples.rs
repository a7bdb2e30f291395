//! Which compilers read sampled profiles, found out with a made-up one.

use super::{Env, Verdict, file, version_number};
use crate::profile::sample::gcov::Version;
use crate::tool::CCompiler;
use crate::tool::canary::samples;
use crate::tool::rustc::Rustc;
use crate::toolbox::{RustSamples, sample_tools};
use fdo_build::protocol::Family;
use std::path::{Path, PathBuf};
use std::thread;

/// One compiler.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SampleRow {
    /// `ok` if it reads them.
    pub verdict: Verdict,
    /// Its kind and version.
    pub tool: String,
    /// Where it is.
    pub path: Option<PathBuf>,
    /// In which form, or why not.
    pub note: String,
}

/// Tries rustc and every C compiler.
pub(super) fn rows(
    env: &Env<'_>,
    rustc: &Rustc,
    compilers: &[CCompiler],
    scratch: &Path,
) -> Vec<SampleRow> {
    let opt_in = (env.var)("RUSTC_BOOTSTRAP").is_some_and(|value| value == "1");
    thread::scope(|scope| {
        let probes: Vec<_> = compilers
            .iter()
            .filter(|compiler| compiler.family != Family::Unknown)
            .map(|compiler| scope.spawn(move || (compiler, samples::c(compiler, scratch))))
            .collect();
        let mut rows = vec![rust_row(rustc, &sample_tools::rust(rustc, opt_in, scratch))];
        for (compiler, reads) in probes.into_iter().filter_map(|probe| probe.join().ok()) {
            let (verdict, note) = match reads {
                Ok(reads) => (Verdict::Ok, c_note(compiler, reads)),
                Err(reason) => (Verdict::Misfit, super::first_line(&reason)),
            };
            rows.push(SampleRow {
                verdict,
                tool: format!(
                    "{} {}",
                    compiler.family.name(),
                    version_number(&compiler.version_line)
                ),
                path: file(env, compiler),
                note,
            });
        }
        rows
    })
}

fn rust_row(rustc: &Rustc, found: &RustSamples) -> SampleRow {
    let (verdict, note) = match found {
        RustSamples::Stable(_) => (Verdict::Ok, "by `-Cprofile-sample-use`".to_owned()),
        RustSamples::Nightly(_) => (Verdict::Ok, "by `-Zprofile-sample-use`".to_owned()),
        RustSamples::Bootstrap(_) => (
            Verdict::Ok,
            "by `-Zprofile-sample-use`, which RUSTC_BOOTSTRAP=1 allows".to_owned(),
        ),
        RustSamples::Unusable { reason, remedy } => (
            Verdict::Misfit,
            format!("{}; {remedy}", super::first_line(reason)),
        ),
    };
    SampleRow {
        verdict,
        tool: format!("rustc {}", rustc.release),
        path: Some(rustc.program.clone()),
        note,
    }
}

fn c_note(compiler: &CCompiler, reads: samples::Reads) -> String {
    let form = match compiler.family {
        Family::Gcc => format!(
            "AutoFDO files of version {}",
            Version::of_gcc(compiler.major).number()
        ),
        _ if reads.profi => "LLVM's text, with profi".to_owned(),
        _ => "LLVM's text, without profi".to_owned(),
    };
    let proof = if reads.verify {
        "says what it used"
    } else {
        "does not say what it used"
    };
    format!("reads {form}; {proof}")
}
