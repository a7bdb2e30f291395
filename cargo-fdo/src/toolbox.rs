//! The tools of one run: what fits together, found out once and remembered.
//!
//! Inspecting compilers takes a second or two; the findings are kept in `toolbox.json` and
//! hold as long as the tools' files and the user's choices are the same.

mod c_tools;
pub mod sample_tools;

pub use c_tools::{CTools, Origin, Verdict};
pub use sample_tools::{RustSamples, SampleTools};

use crate::error::{Diagnose, ExitCode, Result};
use crate::fs;
use crate::settings::{Cargo, Settings};
use crate::store::Layout;
use crate::store::campaign::Method;
use crate::tool::c_compiler;
use crate::tool::canary;
use crate::tool::locate::{Identity, Places};
use crate::tool::profdata::{self, Profdata};
use crate::tool::rustc::Rustc;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The tools of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolbox {
    /// rustc.
    pub rustc: Rustc,
    /// Merges, and makes what rustc reads; samples need none.
    pub profdata: Option<Profdata>,
    /// The C side.
    pub c: CTools,
    /// Whether the compilers name the functions that they applied the profile to.
    pub verify: bool,
    /// rustc's profile runtime, for programs whose own Rust has no counters.
    pub runtime: Option<PathBuf>,
    /// What the compilers do with samples, in a run that samples.
    pub samples: Option<SampleTools>,
}

/// These tools were found for samples, and counters are asked for.
#[derive(Debug, thiserror::Error)]
#[error("no llvm-profdata was looked for: this profile is of samples")]
pub struct NoProfdata;

impl Diagnose for NoProfdata {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        Some("run `cargo fdo train` again".into())
    }
}

/// What the findings depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Basis {
    version: String,
    method: Method,
    /// Whether the user allows `RUSTC_BOOTSTRAP`.
    bootstrap: bool,
    rustc: String,
    target: String,
    path: String,
    choice: String,
    profdata: Option<PathBuf>,
    profdata_variable: Option<String>,
    user_cc: Option<(String, Vec<String>)>,
    user_cxx: Option<(String, Vec<String>)>,
}

#[derive(Serialize, Deserialize)]
struct Remembered {
    basis: Basis,
    tools: Vec<Identity>,
    toolbox: Toolbox,
}

impl Toolbox {
    /// Finds the tools, or remembers them.
    ///
    /// # Errors
    ///
    /// With counters: if rustc can't be profiled at all, for want of an llvm-profdata that reads
    /// its raw profiles. With samples: if the C compiler that the user named for it can't be.
    pub fn find(
        method: Method,
        rustc: &Rustc,
        cargo: &Cargo,
        settings: &Settings,
        layout: &Layout,
    ) -> Result<Toolbox> {
        let basis = Basis::of(method, rustc, cargo, settings);
        let places = Places::of_process();
        let memory = layout.toolbox(method.name());
        if let Some(toolbox) = remembered(&memory, &basis, &places) {
            return Ok(toolbox);
        }
        fs::create_dir(&layout.tmp())?;
        let scratch = tempfile::Builder::new()
            .prefix("tools-")
            .tempdir_in(layout.tmp())
            .map_err(|error| fs::FsError::new("make a directory in", &layout.tmp(), error))?;
        let env = |name: &str| match name {
            // Ours hides it from the cc crate, which would take its launcher from there.
            "RUSTC_WRAPPER" => Some(cargo.rustc_wrapper.as_ref()?.display().to_string()),
            _ => cargo.user_variable(name),
        };
        let toolbox = match method {
            Method::Instrument => inspect(rustc, &basis, settings, &places, scratch.path(), &env)?,
            Method::Sample => inspect_samples(rustc, &basis, settings, &places, scratch.path())?,
        };
        let tools = toolbox
            .programs()
            .iter()
            .filter_map(|program| Identity::of(&places, program))
            .collect();
        let text = serde_json::to_string_pretty(&Remembered {
            basis,
            tools,
            toolbox: toolbox.clone(),
        })
        .expect("plain data");
        fs::write_atomic(&memory, text.as_bytes())?;
        Ok(toolbox)
    }

    /// The llvm-profdata that merges counters and makes what rustc reads.
    ///
    /// # Errors
    ///
    /// If these are the tools of a run that samples.
    pub fn profdata(&self) -> std::result::Result<&Profdata, NoProfdata> {
        self.profdata.as_ref().ok_or(NoProfdata)
    }

    fn programs(&self) -> Vec<PathBuf> {
        let mut programs = vec![self.rustc.program.clone()];
        programs.extend(self.profdata.iter().map(|tool| tool.program.clone()));
        programs.extend(self.c.cc.iter().chain(&self.c.cxx).map(PathBuf::from));
        programs.extend(self.c.profdata.iter().map(|tool| tool.program.clone()));
        programs
    }
}

impl Basis {
    fn of(method: Method, rustc: &Rustc, cargo: &Cargo, settings: &Settings) -> Basis {
        let variable = |name: &str| cargo.user_variable(name);
        let choice = |name| c_compiler::user_choice(&variable, &cargo.target, &rustc.host, name);
        Basis {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            method,
            bootstrap: settings.rustc_bootstrap
                || variable("RUSTC_BOOTSTRAP").is_some_and(|value| value == "1"),
            rustc: format!("{}\n{}", rustc.program.display(), rustc.version),
            target: cargo.target.clone(),
            path: std::env::var("PATH").unwrap_or_default(),
            choice: format!("{:?}", settings.c_compiler),
            profdata: settings.profdata.clone(),
            profdata_variable: std::env::var("LLVM_PROFDATA").ok(),
            user_cc: choice("CC"),
            user_cxx: choice("CXX"),
        }
    }
}

fn remembered(memory: &Path, basis: &Basis, places: &Places) -> Option<Toolbox> {
    let text = fs::read_if_there(memory).ok()??;
    let remembered: Remembered = serde_json::from_str(&text).ok()?;
    let holds = remembered.basis == *basis
        && remembered
            .tools
            .iter()
            .all(|tool| Identity::of(places, &tool.path).as_ref() == Some(tool));
    holds.then_some(remembered.toolbox)
}

fn inspect(
    rustc: &Rustc,
    basis: &Basis,
    settings: &Settings,
    places: &Places,
    scratch: &Path,
    env: &(dyn Fn(&str) -> Option<String> + Sync),
) -> Result<Toolbox> {
    let sample = canary::rust_canary(rustc, scratch)?;
    let profdata = profdata::locate(
        settings.profdata.as_deref(),
        basis.profdata_variable.as_deref().map(Path::new),
        rustc,
        &sample.path,
        places,
        scratch,
    )?;
    let canary = canary::finish_rust_canary(rustc, &sample, &profdata, scratch);
    if let Some(failure) = canary.failure {
        return Err(failure.into());
    }
    let c = c_tools::find(rustc, basis, settings, places, scratch, env)?;
    Ok(Toolbox {
        rustc: rustc.clone(),
        profdata: Some(profdata),
        c,
        verify: canary.verify,
        runtime: rustc.profiler_runtime(&basis.target),
        samples: None,
    })
}

fn inspect_samples(
    rustc: &Rustc,
    basis: &Basis,
    settings: &Settings,
    places: &Places,
    scratch: &Path,
) -> Result<Toolbox> {
    let rust = sample_tools::rust(rustc, basis.bootstrap, scratch);
    let (c, reads, c_major) = sample_tools::c(rustc, basis, settings, places, scratch)?;
    let samples = SampleTools {
        rust,
        c: reads,
        c_major,
    };
    Ok(Toolbox {
        rustc: rustc.clone(),
        profdata: None,
        c,
        verify: samples.verify(),
        runtime: None,
        samples: Some(samples),
    })
}
