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
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use super::family::{Ended, Family, Stopped};
use super::services::{self, Ports, ServiceError, Services, StoppedServices};

/// A workload did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// It ended with a failure.
    #[error("{what} of workload `{workload}` failed ({})\n  command: {command}", describe(*status))]
    Failed {
        /// Which of its commands.
        what: Part,
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
    #[error("{what} of workload `{workload}` did not start")]
    Start {
        /// Which of its commands.
        what: Part,
        /// The workload.
        workload: String,
        /// Why.
        #[source]
        source: Box<ToolError>,
    },
    /// A service of it did not do its part.
    #[error("workload `{workload}`: {error}")]
    Service {
        /// The workload.
        workload: String,
        /// Which, and what happened.
        error: Box<ServiceError>,
    },
    /// A service ended while a command ran, which was stopped then.
    #[error("a service of workload `{workload}` ended while `{what}` ran")]
    ServiceEnded {
        /// The workload.
        workload: String,
        /// `run` or `prepare`.
        what: Part,
    },
    /// cargo-fdo was told to end.
    #[error("interrupted")]
    Interrupted,
    /// The fresh directory could not be made.
    #[error(transparent)]
    Fs(#[from] FsError),
}

/// One of a workload's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `run`
    Run,
    /// A step of `prepare`.
    Prepare {
        /// Which, from 1.
        step: usize,
        /// Of how many.
        of: usize,
    },
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Run => f.write_str("`run`"),
            Part::Prepare { of: 1, .. } => f.write_str("`prepare`"),
            Part::Prepare { step, of } => write!(f, "step {step} of {of} of `prepare`"),
        }
    }
}

impl Diagnose for WorkloadError {
    fn exit_code(&self) -> ExitCode {
        match self {
            WorkloadError::NoBinary { .. }
            | WorkloadError::NeedsCargo(_)
            | WorkloadError::NotBuilt { .. }
            | WorkloadError::NoDirectory { .. } => ExitCode::Usage,
            WorkloadError::Fs(error) => error.exit_code(),
            WorkloadError::Service { error, .. } => error.exit_code(),
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
            WorkloadError::Service { error, .. } => error.hint(),
            WorkloadError::ServiceEnded { .. } | WorkloadError::Interrupted => None,
            WorkloadError::Fs(error) => error.hint(),
        }
    }
}

/// An error after which other workloads may go on.
pub trait OfOneWorkload: Diagnose {
    /// Whether it is a matter of this workload alone, and not of a tool, the disk, or the command
    /// line.
    fn is_of_one_workload(&self) -> bool;
}

impl OfOneWorkload for WorkloadError {
    fn is_of_one_workload(&self) -> bool {
        match self {
            WorkloadError::Failed { .. }
            | WorkloadError::TimedOut { .. }
            | WorkloadError::NoDirectory { .. }
            | WorkloadError::Service { .. }
            | WorkloadError::ServiceEnded { .. }
            | WorkloadError::Start { .. } => true,
            WorkloadError::NoBinary { .. }
            | WorkloadError::NotBuilt { .. }
            | WorkloadError::NeedsCargo(_)
            | WorkloadError::Interrupted
            | WorkloadError::Fs(_) => false,
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
    /// Where logs of services go.
    pub logs: &'a Path,
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
    /// What there is to say of its services.
    pub services: StoppedServices,
}

/// Starts a workload's services, prepares it, and runs it once.
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
    let connect = |command: &mut Command| running.connect(command);
    let Prepared { call, services, .. } = &ready.prepared;
    let ended = execute(
        Part::Run,
        workload,
        call,
        workload.timeout,
        &ready.family,
        &connect,
    );
    let ended = ended.map_err(|error| blame(services, workload, error))?;
    let (stopped, services) = ready.stop(workload)?;
    Ok(Ran {
        duration: ended.wall,
        stopped,
        services,
    })
}

/// A workload that is prepared and has not run yet.
#[derive(Debug)]
pub struct Ready {
    // Dropped before the directory, so that nothing runs in it any more when it goes.
    family: Family,
    prepared: Prepared,
}

/// The same among the processes of a family that its owner has.
#[derive(Debug)]
pub(super) struct Prepared {
    /// What runs it.
    pub(super) call: Invocation,
    /// What runs beside it.
    pub(super) services: Services,
    /// Its directory.
    pub(super) tmp: tempfile::TempDir,
}

impl Ready {
    /// What runs it.
    pub fn call(&self) -> &Invocation {
        &self.prepared.call
    }

    /// The processes of its services.
    pub fn service_processes(&self) -> BTreeSet<i32> {
        self.prepared.services.pids()
    }

    /// Fails if a service has ended.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::Service`]
    pub(super) fn check_services(&self, workload: &Workload) -> Result<(), WorkloadError> {
        match self.prepared.services.fallen() {
            None => Ok(()),
            Some(error) => Err(of_service(workload, error)),
        }
    }

    /// Whether a service has ended.
    pub(super) fn has_fallen(&self) -> bool {
        self.family.has_fallen()
    }

    /// Stops the services and what else the workload left running, and removes its directory.
    ///
    /// # Errors
    ///
    /// A service has crashed, or left no raw profile.
    pub fn stop(self, workload: &Workload) -> Result<(Stopped, StoppedServices), WorkloadError> {
        self.check_services(workload)?;
        let services = self.prepared.services.stop(&self.family);
        let stopped = self.family.stop();
        drop(self.prepared.tmp);
        let services = services.map_err(|error| named(workload, error))?;
        Ok((stopped, services))
    }
}

/// Makes a workload's directory, starts its services, and runs `prepare`.
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
    if let Some(raw_dir) = Path::new(place.profile_files.run).parent() {
        family.heed_counters(raw_dir);
    }
    let connect = |command: &mut Command| running.connect(command);
    let prepared = prepare_in(&family, workload, place, Simulated::NO, &connect)?;
    Ok(Ready { family, prepared })
}

/// How services run that are not run as they are.
#[derive(Clone, Copy)]
pub(super) struct Simulated<'a> {
    /// What each is started by, by its name and call.
    pub(super) wrap: Option<services::Wrap<'a>>,
    /// How many times as long everything may take.
    pub(super) patience: u32,
}

impl Simulated<'_> {
    /// They run as they are.
    pub(super) const NO: Simulated<'static> = Simulated {
        wrap: None,
        patience: 1,
    };
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
    simulated: Simulated<'_>,
    connect: &dyn Fn(&mut Command),
) -> Result<Prepared, WorkloadError> {
    let services = workload.services.iter();
    for dir in services
        .map(|service| &service.cwd)
        .chain([&workload.cwd])
        .flatten()
    {
        let dir = place.root.join(dir);
        if !dir.is_dir() {
            return Err(WorkloadError::NoDirectory {
                workload: workload.name.clone(),
                dir,
            });
        }
    }
    let tmp = tempfile::Builder::new()
        .prefix(&format!("{}-", Workload::file_name(&workload.name)))
        .tempdir_in(place.tmp)
        .map_err(|error| FsError::new("make a directory in", place.tmp, error))?;
    let ports = Ports::default();
    let mut value =
        |placeholder: &Placeholder| value(workload, &place, tmp.path(), &ports, placeholder);
    for dir in workload.dirs() {
        crate::fs::create_dir(&tmp.path().join(dir))?;
    }
    let mut services = Services::start(
        family,
        &workload.services,
        services::Place {
            root: place.root,
            logs: &place.logs.join(Workload::file_name(&workload.name)),
            profile_file: place.profile_files.run,
            stray_file: place.profile_files.prepare,
            wrap: simulated.wrap,
            patience: simulated.patience,
        },
        &mut value,
    )
    .map_err(|error| named(workload, error))?;
    for (at, step) in workload.prepare.iter().enumerate() {
        let call = workload
            .invocation(step, place.root, &mut value)?
            .env("LLVM_PROFILE_FILE", place.profile_files.prepare);
        let what = Part::Prepare {
            step: at + 1,
            of: workload.prepare.len(),
        };
        execute(what, workload, &call, None, family, connect)
            .map_err(|error| blame(&services, workload, error))?;
    }
    if !workload.prepare.is_empty() {
        services.forget_preparation();
    }
    let profile_file = match workload.profiles_run() {
        true => place.profile_files.run,
        false => place.profile_files.prepare,
    };
    let call = workload
        .invocation(&workload.run, place.root, &mut value)?
        .env("LLVM_PROFILE_FILE", profile_file);
    Ok(Prepared {
        call,
        services,
        tmp,
    })
}

/// The cause of a failure, where a service has ended: the load's own words say only that nobody
/// answered.
pub(super) fn blame(
    services: &Services,
    workload: &Workload,
    error: WorkloadError,
) -> WorkloadError {
    /// A load may notice before we do.
    const LATE: Duration = Duration::from_millis(300);
    if services.is_empty() || matches!(error, WorkloadError::Interrupted) {
        return error;
    }
    let start = std::time::Instant::now();
    loop {
        if let Some(fallen) = services.fallen() {
            return of_service(workload, fallen);
        }
        if start.elapsed() >= LATE {
            return error;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn of_service(workload: &Workload, error: ServiceError) -> WorkloadError {
    WorkloadError::Service {
        workload: workload.name.clone(),
        error: Box::new(error),
    }
}

impl From<ServiceError> for WorkloadError {
    fn from(source: ServiceError) -> WorkloadError {
        WorkloadError::Service {
            workload: String::new(),
            error: Box::new(source),
        }
    }
}

/// Says of which workload a service is.
fn named(workload: &Workload, error: WorkloadError) -> WorkloadError {
    match error {
        WorkloadError::Service { error, .. } => of_service(workload, *error),
        other => other,
    }
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
            what: Part::Run,
            workload: workload.name.clone(),
            source: Box::new(call.start_error(std::io::ErrorKind::NotFound.into())),
        }),
    }
}

/// The calls of a workload, for `--dry-run`, those of its services first: `bin` says where binaries
/// will be.
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
            Placeholder::Port(_) => placeholder.to_string().into(),
            Placeholder::Dir(name) => format!("{{tmp}}/{name}").into(),
        })
    };
    let mut calls = Vec::new();
    for service in &workload.services {
        let Ok(call) = services::call_of(service, root, profile_files.run, &mut value);
        calls.push(call);
    }
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
    ports: &Ports,
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
        Placeholder::Port(name) => ports.of(name).to_string().into(),
        Placeholder::Dir(name) => tmp.join(name).into(),
    })
}

fn cpus() -> String {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .to_string()
}

/// Runs a call to its end.
pub(super) fn execute(
    what: Part,
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
        .map_err(|source| match source.kind() {
            ErrorKind::ConnectionAborted => WorkloadError::ServiceEnded {
                workload: workload.name.clone(),
                what,
            },
            _ => WorkloadError::Start {
                what,
                workload: workload.name.clone(),
                source: Box::new(call.start_error(source)),
            },
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
