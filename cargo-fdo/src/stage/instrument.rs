//! Builds with counters, and looks whether they are there.

use super::build::{self, BuildError, Built};
use super::census::{self, Row};
use super::train::BuildCommand;
use crate::error::{Diagnose, ExitCode};
use crate::fs::FsError;
use crate::plan::PhasePlan;
use crate::profile::object_file;
use crate::settings::Cargo;
use crate::shim::treatment::target_is_excluded;
use crate::ui::Ui;
use crate::workspace::{Package, Workspace};
use fdo_build::protocol::Language;
use std::path::PathBuf;

/// The instrumented build is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum InstrumentError {
    /// Cargo failed.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A program without counters.
    #[error("`{}` was built for training but has no counters", .0.display())]
    NoCounters(PathBuf),
    /// No program has counters, and the user's settings are why.
    #[error("nothing in `{}` is profiled: the configuration, or a compiler that can't, leaves all its code out", .0.display())]
    NothingProfiled(PathBuf),
    /// A package with counters of the front end is linked into a program with Rust's.
    #[error(
        "package `{package}` has `counters = \"frontend\"` but its static library is linked into Rust programs"
    )]
    FrontendInRust {
        /// Which.
        package: String,
    },
    /// Libraries without any counters.
    #[error("none of the objects of `{0}` has counters")]
    NoObjects(String),
    /// Nothing was built.
    #[error("this build makes no program to train")]
    NoProgram,
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for InstrumentError {
    fn exit_code(&self) -> ExitCode {
        match self {
            InstrumentError::Build(error) => error.exit_code(),
            InstrumentError::Fs(error) => error.exit_code(),
            InstrumentError::NoCounters(_) | InstrumentError::NoObjects(_) => ExitCode::Tool,
            InstrumentError::FrontendInRust { .. }
            | InstrumentError::NothingProfiled(_)
            | InstrumentError::NoProgram => ExitCode::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            InstrumentError::Build(error) => error.hint(),
            InstrumentError::Fs(error) => error.hint(),
            InstrumentError::NoCounters(_) => Some(
                "does cargo's configuration set RUSTC_WRAPPER with `force`, or strip the program?"
                    .into(),
            ),
            InstrumentError::NoObjects(_) => Some(
                "`c = false` or `exclude-targets` in fdo.toml, or a compiler that can't, leave them out; \
                 `cargo fdo doctor` says which compilers fit"
                    .into(),
            ),
            InstrumentError::NothingProfiled(_) => Some(
                "remove `rust = false`, `c = false` or `exclude-targets` from fdo.toml, or train \
                     another program"
                    .into(),
            ),
            InstrumentError::FrontendInRust { .. } => Some(
                "in one image with Rust's counters, those of clang's front end lose everything \
                 silently; use `counters = \"ir\"`, or link it as a shared library"
                    .into(),
            ),
            InstrumentError::NoProgram => {
                Some("name a package or binary, or a workload that builds one".into())
            }
        }
    }
}

/// A build whose programs have counters.
#[derive(Debug, Clone)]
pub struct Instrumented {
    /// What cargo made.
    pub built: Built,
    /// The C census.
    pub census: Vec<Row>,
}

/// Runs the builds and checks them.
///
/// # Errors
///
/// [`InstrumentError`]
pub fn run(
    plan: &PhasePlan,
    commands: &[BuildCommand],
    cargo: &Cargo,
    workspace: &Workspace,
    frontend_packages: &[String],
    ui: &Ui,
) -> Result<Instrumented, InstrumentError> {
    let format = cargo.message_format.as_deref();
    let built = build::run_all(plan, commands, cargo, format, ui)?;
    for script in &built.scripts {
        let Some(package) = workspace.by_cargo_id(&script.package) else {
            continue;
        };
        let is_static = script
            .linked_libs
            .iter()
            .any(|lib| lib.starts_with("static"));
        if is_static && frontend_packages.contains(&package.name) {
            return Err(InstrumentError::FrontendInRust {
                package: package.name.clone(),
            });
        }
    }
    let mut counted = 0;
    let mut left_out = None;
    // The tests of a procedural macro run on the host, where nothing has counters.
    let of_target = plan.target_dir.join(&cargo.target);
    for artifact in &built.artifacts {
        let native = built
            .natives
            .iter()
            .find(|it| it.package == artifact.package);
        let Some(executable) = artifact
            .executable
            .as_ref()
            .filter(|executable| native.is_some() || executable.starts_with(&of_target))
        else {
            continue;
        };
        let bytes =
            std::fs::read(executable).map_err(|error| FsError::new("read", executable, error))?;
        if object_file::counters(&bytes).is_ok_and(|counters| counters.has_counters) {
            counted += 1;
            continue;
        }
        let is_wanted = workspace
            .by_cargo_id(&artifact.package)
            .is_none_or(|package| is_profiled(plan, package, &artifact.name));
        if is_wanted {
            return Err(InstrumentError::NoCounters(executable.clone()));
        }
        left_out = Some(executable);
    }
    match left_out {
        Some(executable) if counted == 0 => {
            return Err(InstrumentError::NothingProfiled(executable.clone()));
        }
        None if counted == 0 && built.libraries().next().is_none() => {
            return Err(InstrumentError::NoProgram);
        }
        _ => {}
    }
    let census = census::take(plan, &built, workspace);
    // Libraries alone: no program told.
    if counted == 0
        && let Some(row) = census.iter().find(|row| row.instrumented == 0)
        && built.natives.iter().any(|it| {
            workspace
                .by_cargo_id(&it.package)
                .is_some_and(|it| it.id() == row.package)
        })
    {
        return Err(InstrumentError::NoObjects(row.package.clone()));
    }
    Ok(Instrumented { built, census })
}

/// Whether a program of the package should have counters. One of cmake's has its own C alone to say so:
/// it may link nothing that is profiled.
fn is_profiled(plan: &PhasePlan, package: &Package, target: &str) -> bool {
    let id = package.id();
    if !package.is_native {
        return !plan.orders.of(&id, Language::Rust).flags.is_empty();
    }
    let order = plan.orders.of(&id, Language::C);
    !order.flags.is_empty() && !target_is_excluded(order, Some(target))
}
