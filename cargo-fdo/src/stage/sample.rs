//! Builds the program that is to be recorded, and looks whether it has line tables.

use super::build::{self, BuildError, Built};
use super::images::Made;
use super::train::BuildCommand;
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use crate::plan::PhasePlan;
use crate::profile::linked_file;
use crate::settings::Cargo;
use crate::shim::treatment::target_is_excluded;
use crate::ui::Ui;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The build to be recorded is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// Cargo failed.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A program without line tables.
    #[error("`{}` was built to be recorded but has no line tables", .0.display())]
    NoLines(PathBuf),
    /// Nothing was built.
    #[error("this build makes no program to record")]
    NoProgram,
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for SampleError {
    fn exit_code(&self) -> ExitCode {
        match self {
            SampleError::Build(error) => error.exit_code(),
            SampleError::Fs(error) => error.exit_code(),
            SampleError::NoLines(_) => ExitCode::Tool,
            SampleError::NoProgram => ExitCode::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            SampleError::Build(error) => error.hint(),
            SampleError::Fs(error) => error.hint(),
            SampleError::NoLines(_) => Some(
                "does a linker argument strip it (`-s`, `--strip-debug`), or cargo's \
                 configuration set RUSTC_WRAPPER with `force`?"
                    .into(),
            ),
            SampleError::NoProgram => {
                Some("name a package or binary, or a workload that builds one".into())
            }
        }
    }
}

/// A build whose programs have line tables.
#[derive(Debug, Clone)]
pub struct Sampled {
    /// What cargo made.
    pub built: Built,
}

/// Runs the builds and checks them.
///
/// # Errors
///
/// [`SampleError`]
pub fn run(
    plan: &PhasePlan,
    commands: &[BuildCommand],
    cargo: &Cargo,
    ui: &Ui,
) -> Result<Sampled, SampleError> {
    let format = cargo.message_format.as_deref();
    let built = build::run_all(plan, commands, cargo, format, ui)?;

    let of_target = plan.target_dir.join(&cargo.target);
    let is_recorded = |artifact: &&build::Artifact| match built.order_of(plan, artifact) {
        Some(order) => !order.flags.is_empty() && !target_is_excluded(order, Some(&artifact.name)),
        // The tests of a procedural macro run on the host.
        None => {
            let program = artifact.executable.as_ref();
            program.is_some_and(|program| program.starts_with(&of_target))
        }
    };
    let programs: Vec<&PathBuf> = built
        .artifacts
        .iter()
        .filter(is_recorded)
        .filter_map(|artifact| artifact.executable.as_ref())
        .collect();
    for program in &programs {
        let file = File::open(program).map_err(|error| FsError::new("read", program, error))?;
        if !linked_file::read(file).is_some_and(|file| file.has_lines) {
            return Err(SampleError::NoLines((*program).clone()));
        }
    }
    if programs.is_empty() && built.libraries().next().is_none() {
        return Err(SampleError::NoProgram);
    }
    Ok(Sampled { built })
}

/// The executables and shared objects of the sample phase, those of earlier builds with other
/// selections included: what build scripts made (a shared library of C++) is in no message of
/// cargo's.
///
/// # Errors
///
/// If a directory can't be listed.
pub fn made(dirs: &[PathBuf]) -> Result<Vec<Made>, FsError> {
    let mut made = Vec::new();
    for dir in dirs {
        for path in fs::walk(dir)? {
            if let Some(file) = look(&path) {
                made.push(file);
            }
        }
    }
    // A program is a link to a file with a hash in its name, in `deps/`: it is known by the other.
    made.sort_by_key(|file| file.path.parent().is_some_and(|dir| dir.ends_with("deps")));
    Ok(made)
}

/// A linked file with its build id; `None` if it is another kind of file.
pub fn look(path: &Path) -> Option<Made> {
    let mut file = File::open(path).ok()?;
    // Most files below target/ are no programs: the first bytes tell.
    let mut start = [0; linked_file::START];
    file.read_exact(&mut start).ok()?;
    if !linked_file::is_linked(&start) {
        return None;
    }
    Some(Made {
        path: path.canonicalize().ok()?,
        build_id: linked_file::read(file)?.build_id,
        named: false,
    })
}
