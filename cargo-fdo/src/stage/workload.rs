//! Runs one workload in one phase: its programs are built, a fresh directory is made, it is
//! prepared, run, and stopped if it takes too long. Nothing that it started outlives it.
//!
//! Shared by training and by the comparison with a plain run.

use crate::config::nearest::did_you_mean;
use crate::config::{Placeholder, Workload};
use crate::error::{Diagnose, ExitCode};
use crate::fs::FsError;
use crate::tool::invocation::describe;
use crate::tool::{Invocation, ToolError};
use crate::ui::Running;
use crate::workspace::Workspace;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use super::family::{Ended, Family, Stopped};

/// A workload did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// It ended with a failure.
    #[error("`{what}` of workload `{workload}` failed ({})\n  command: {command}", describe(*status))]
    Failed {
        /// `run` or `prepare`.
        what: &'static str,
        /// The workload.
        workload: String,
        /// The call.
        command: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// It took too long and was stopped.
    #[error("workload `{workload}` was stopped after its timeout of {}\n  command: {command}", humantime::format_duration(*timeout))]
    TimedOut {
        /// The workload.
        workload: String,
        /// The limit.
        timeout: Duration,
        /// The call.
        command: String,
    },
    /// It names a binary that the workspace does not have.
    #[error("workload `{workload}` needs the binary `{bin}`, which this workspace does not have{}", did_you_mean(bin, known.iter().map(String::as_str)))]
    NoBinary {
        /// The workload.
        workload: String,
        /// The binary.
        bin: String,
        /// What there is.
        known: Vec<String>,
    },
    /// It names a binary that was not selected.
    #[error("workload `{workload}` needs the binary `{bin}`, which was not built{}", did_you_mean(bin, known.iter().map(String::as_str)))]
    NotBuilt {
        /// The workload.
        workload: String,
        /// The binary.
        bin: String,
        /// What was built.
        known: Vec<String>,
    },
    /// It is a command of cargo's in a project without Rust.
    #[error("`{0}` is run by cargo, and this project has no Cargo.toml")]
    NeedsCargo(String),
    /// It is to run where nothing is.
    #[error("workload `{workload}` is to run in `{}`, which is no directory", dir.display())]
    NoDirectory {
        /// The workload.
        workload: String,
        /// The directory.
        dir: PathBuf,
    },
    /// It did not start.
    #[error("workload `{workload}` did not start")]
    Start {
        /// The workload.
        workload: String,
        /// Why.
        #[source]
        source: ToolError,
    },
    /// The fresh directory could not be made.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for WorkloadError {
    fn exit_code(&self) -> ExitCode {
        match self {
            WorkloadError::NoBinary { .. }
            | WorkloadError::NeedsCargo(_)
            | WorkloadError::NotBuilt { .. }
            | WorkloadError::NoDirectory { .. } => ExitCode::Usage,
            WorkloadError::Fs(error) => error.exit_code(),
            _ => ExitCode::Training,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            WorkloadError::NoBinary { known, .. } if known.is_empty() => {
                Some("this workspace has no binary; `example:NAME` runs an example".into())
            }
            WorkloadError::NotBuilt { known, .. } if known.is_empty() => {
                Some("no program was built at all".into())
            }
            WorkloadError::NotBuilt { known, .. } => Some(format!(
                "what was built is `{}`; what `-p` and the `targets` of [cmake.NAME] leave out was not",
                known.join("`, `")
            )),
            WorkloadError::NeedsCargo(_) => Some(
                "describe what runs in fdo.toml, in a table [workload.NAME], or behind `--`".into(),
            ),
            WorkloadError::NoDirectory { .. } => Some(
                "`cwd` in fdo.toml is relative to the workspace root and must exist before \
                 `prepare` runs; `{tmp}` is a fresh directory for each run"
                    .into(),
            ),
            WorkloadError::NoBinary { known, .. } => {
                Some(format!("there is `{}`", known.join("`, `")))
            }
            WorkloadError::TimedOut { .. } => Some(
                "counters make a program two to three times slower; raise `timeout` in fdo.toml \
                 or give the workload less to do"
                    .into(),
            ),
            WorkloadError::Failed { .. } => Some(
                "the workload must end with success; run the command above by hand to see why \
                 it does not"
                    .into(),
            ),
            WorkloadError::Start { .. } => Some(
                "`run` and `prepare` begin with a program: a name in PATH, a path, or `{bin:NAME}` \
                 for a binary of this workspace"
                    .into(),
            ),
            WorkloadError::Fs(error) => error.hint(),
        }
    }
}

/// Where a phase's workloads run.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The workspace root.
    pub root: &'a Path,
    /// The phase's binaries by name.
    pub bins: &'a BTreeMap<String, PathBuf>,
    /// Where fresh directories are made.
    pub tmp: &'a Path,
    /// Which of its files belong to the workload, and which to `prepare`.
    pub profile_files: ProfileFiles<'a>,
}

/// Values of `LLVM_PROFILE_FILE`.
#[derive(Debug, Clone, Copy)]
pub struct ProfileFiles<'a> {
    /// For what is trained with.
    pub run: &'a str,
    /// For what only prepares.
    pub prepare: &'a str,
}

/// A workload that did its work.
#[derive(Debug, Clone)]
pub struct Ran {
    /// How long `run` took.
    pub duration: Duration,
    /// What it left running, which was stopped then.
    pub stopped: Stopped,
}

/// Prepares and runs a workload once.
///
/// What `prepare` leaves running, a server say, runs until the end of `run`.
///
/// # Errors
///
/// [`WorkloadError`]
pub fn run_once(
    workload: &Workload,
    place: Place<'_>,
    running: &Running,
) -> Result<Ran, WorkloadError> {
    let ready = prepare(workload, place, running)?;
    let Ready { call, family, .. } = &ready;
    let connect = |command: &mut Command| running.connect(command);
    let ended = execute("run", workload, call, workload.timeout, family, &connect)?;
    Ok(Ran {
        duration: ended.wall,
        stopped: ready.stop(),
    })
}

/// A workload that is prepared and has not run yet.
#[derive(Debug)]
pub struct Ready {
    /// What runs it.
    pub call: Invocation,
    // Dropped before the directory, so that nothing runs in it any more when it goes.
    family: Family,
    tmp: tempfile::TempDir,
}

impl Ready {
    /// Stops what the workload left running, and removes its directory.
    pub fn stop(self) -> Stopped {
        let stopped = self.family.stop();
        drop(self.tmp);
        stopped
    }
}

/// Makes a workload's directory and runs `prepare`.
///
/// # Errors
///
/// [`WorkloadError`]
pub fn prepare(
    workload: &Workload,
    place: Place<'_>,
    running: &Running,
) -> Result<Ready, WorkloadError> {
    let family = Family::found();
    let connect = |command: &mut Command| running.connect(command);
    let (call, tmp) = prepare_in(&family, workload, place, &connect)?;
    Ok(Ready { call, family, tmp })
}

/// The same among the processes of a family that may hold more than this workload; `connect`
/// directs the outputs of `prepare`.
///
/// # Errors
///
/// [`WorkloadError`]
pub(super) fn prepare_in(
    family: &Family,
    workload: &Workload,
    place: Place<'_>,
    connect: &dyn Fn(&mut Command),
) -> Result<(Invocation, tempfile::TempDir), WorkloadError> {
    if let Some(dir) = &workload.cwd {
        let dir = place.root.join(dir);
        if !dir.is_dir() {
            return Err(WorkloadError::NoDirectory {
                workload: workload.name.clone(),
                dir,
            });
        }
    }
    let tmp = tempfile::Builder::new()
        .prefix(&format!("{}-", workload.name))
        .tempdir_in(place.tmp)
        .map_err(|error| FsError::new("make a directory in", place.tmp, error))?;
    let mut value = |placeholder: &Placeholder| value(workload, &place, tmp.path(), placeholder);
    if let Some(prepare) = &workload.prepare {
        let call = workload
            .invocation(prepare, place.root, &mut value)?
            .env("LLVM_PROFILE_FILE", place.profile_files.prepare);
        execute("prepare", workload, &call, None, family, connect)?;
    }
    let call = workload
        .invocation(&workload.run, place.root, &mut value)?
        .env("LLVM_PROFILE_FILE", place.profile_files.run);
    Ok((call, tmp))
}

/// Whether the workspace has the binaries that a workload names, before anything is built.
///
/// # Errors
///
/// [`WorkloadError::NoBinary`]
pub fn check_bins(workload: &Workload, workspace: &Workspace) -> Result<(), WorkloadError> {
    if workspace.has_natives() {
        // What cmake builds is known when it is configured.
        return Ok(());
    }
    match workload
        .bins()
        .into_iter()
        .find(|bin| workspace.member_with_bin(bin).is_none())
    {
        None => Ok(()),
        Some(bin) => Err(WorkloadError::NoBinary {
            workload: workload.name.clone(),
            bin: bin.to_owned(),
            known: workspace
                .packages
                .iter()
                .filter(|package| package.is_member)
                .flat_map(|package| package.bins.iter().cloned())
                .collect(),
        }),
    }
}

/// Whether the program of a call is there, where another program is to start it: that one would
/// end as if the workload had failed.
///
/// # Errors
///
/// [`WorkloadError::Start`]
pub fn check_program(workload: &Workload, call: &Invocation) -> Result<(), WorkloadError> {
    let dir = match &call.cwd {
        Some(dir) => dir.clone(),
        None => std::env::current_dir().unwrap_or_default(),
    };
    let path = call
        .env
        .iter()
        .rev()
        .find(|(name, _)| name == "PATH")
        .map_or_else(|| std::env::var_os("PATH"), |(_, value)| value.clone());
    match which::which_in(&call.program, path, dir) {
        Ok(_) => Ok(()),
        Err(_) => Err(WorkloadError::Start {
            workload: workload.name.clone(),
            source: call.start_error(std::io::ErrorKind::NotFound.into()),
        }),
    }
}

/// The calls of a workload, for `--dry-run`: `bin` says where binaries will be.
pub fn calls(
    workload: &Workload,
    root: &Path,
    bin: &dyn Fn(&str) -> PathBuf,
    profile_files: ProfileFiles<'_>,
) -> Vec<Invocation> {
    let mut value = |placeholder: &Placeholder| -> Result<OsString, std::convert::Infallible> {
        Ok(match placeholder {
            Placeholder::Bin(name) => bin(name).into(),
            Placeholder::Tmp => "{tmp}".into(),
            Placeholder::Cpus => cpus().into(),
            Placeholder::Workspace => root.into(),
        })
    };
    let mut calls = Vec::new();
    let parts = workload
        .prepare
        .iter()
        .map(|prepare| (prepare, profile_files.prepare))
        .chain([(&workload.run, profile_files.run)]);
    for (command, profile_file) in parts {
        let Ok(call) = workload.invocation(command, root, &mut value);
        calls.push(call.env("LLVM_PROFILE_FILE", profile_file));
    }
    calls
}

fn value(
    workload: &Workload,
    place: &Place<'_>,
    tmp: &Path,
    placeholder: &Placeholder,
) -> Result<OsString, WorkloadError> {
    Ok(match placeholder {
        Placeholder::Bin(name) => match place.bins.get(name) {
            Some(path) => path.into(),
            None => {
                return Err(WorkloadError::NotBuilt {
                    workload: workload.name.clone(),
                    bin: name.clone(),
                    known: place.bins.keys().cloned().collect(),
                });
            }
        },
        Placeholder::Tmp => tmp.into(),
        Placeholder::Cpus => cpus().into(),
        Placeholder::Workspace => place.root.into(),
    })
}

fn cpus() -> String {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .to_string()
}

/// Runs a call to its end.
pub(super) fn execute(
    what: &'static str,
    workload: &Workload,
    call: &Invocation,
    timeout: Option<Duration>,
    family: &Family,
    connect: &dyn Fn(&mut Command),
) -> Result<Ended, WorkloadError> {
    let mut command = call.command();
    connect(&mut command);
    let ended = family
        .run(&mut command, timeout)
        .map_err(|source| WorkloadError::Start {
            workload: workload.name.clone(),
            source: call.start_error(source),
        })?;
    match (ended, timeout) {
        (Some(ended), _) if ended.status.success() => Ok(ended),
        (Some(Ended { status, .. }), _) => Err(WorkloadError::Failed {
            what,
            workload: workload.name.clone(),
            command: call.to_string(),
            status,
        }),
        (None, timeout) => Err(WorkloadError::TimedOut {
            workload: workload.name.clone(),
            timeout: timeout.unwrap_or_default(),
            command: call.to_string(),
        }),
    }
}
