//! Runs workloads against the instrumented program and keeps the raw profiles of each apart.

use crate::config::{Builtin, Workload, WorkloadChoice};
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use crate::settings::{Cargo, package_selection};
use crate::tool::invocation::describe;
use crate::tool::{Invocation, ToolError};
use crate::ui::{Running, Ui, seconds};
use crate::workspace::Workspace;
use fdo_build::flags;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::family::{Family, Stopped};
use super::lost::{Losses, processes};
use super::marks::Marks;
use super::services::StoppedServices;
use super::workload::{self, OfOneWorkload, Place, ProfileFiles, Ran, WorkloadError};

/// Training went wrong.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A workload of fdo.toml or the command line.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A workload that cargo runs.
    #[error("workload `{workload}` failed ({})\n  command: {command}", describe(*status))]
    Cargo {
        /// Which.
        workload: String,
        /// The call.
        command: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// Cargo did not start.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The workload ended well, but no raw profile is there.
    #[error("workload `{workload}` wrote no raw profile into `{}`{}", dir.display(), after_colon(losses))]
    NoProfile {
        /// Which.
        workload: String,
        /// Where it should have.
        dir: PathBuf,
        /// The processes that did not.
        losses: Losses,
    },
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for TrainError {
    fn exit_code(&self) -> ExitCode {
        match self {
            TrainError::Workload(error) => error.exit_code(),
            TrainError::Tool(error) => error.exit_code(),
            TrainError::Fs(error) => error.exit_code(),
            TrainError::Cargo { .. } | TrainError::NoProfile { .. } => ExitCode::Training,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            TrainError::Workload(error) => error.hint(),
            TrainError::Tool(error) => error.hint(),
            TrainError::Fs(error) => error.hint(),
            TrainError::Cargo { .. } => Some("the program's own output is above".into()),
            TrainError::NoProfile { losses, .. } if losses.count() > 0 => Some(
                "a process that is killed with SIGKILL, aborts or calls `_exit` or `exec` writes no \
                 counters; on SIGTERM and SIGUSR2 they are saved, unless the program has handlers \
                 of its own for these, and with `continuous = true` in fdo.toml they are saved at \
                 any moment"
                    .into(),
            ),
            TrainError::NoProfile { .. } => Some(
                "did it run the binary of this build ({bin:NAME})? A program that is killed \
                 with SIGKILL, aborts or calls `_exit` or `exec` writes no counters; on SIGTERM \
                 and SIGUSR2 they are saved"
                    .into(),
            ),
        }
    }
}

impl OfOneWorkload for TrainError {
    fn is_of_one_workload(&self) -> bool {
        match self {
            TrainError::Workload(error) => error.is_of_one_workload(),
            TrainError::Cargo { .. } | TrainError::NoProfile { .. } => true,
            TrainError::Tool(_) | TrainError::Fs(_) => false,
        }
    }
}

/// How to run the instrumented program.
#[derive(Debug, Clone)]
pub struct Job {
    /// The workload's name.
    pub name: String,
    /// What its counts weigh.
    pub weight: u32,
    /// How often it runs.
    pub repeat: u32,
    /// What runs.
    pub kind: JobKind,
}

/// What runs for a job.
#[derive(Debug, Clone)]
pub enum JobKind {
    /// A cargo command, by its words after `cargo`.
    Cargo {
        /// `bench`, `test` or `run`.
        subcommand: &'static str,
        /// Selection for it.
        selection: Vec<String>,
    },
    /// Commands of the user's.
    Commands(Workload),
}

/// What must be built for some jobs: one cargo command each, without the phase's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildCommand {
    /// `build`, `bench` or `test`.
    pub subcommand: &'static str,
    /// Selection, and `--no-run`.
    pub selection: Vec<String>,
}

/// Raw profiles of one workload.
#[derive(Debug, Clone)]
pub struct RawProfiles {
    /// The workload.
    pub workload: String,
    /// What its counts weigh.
    pub weight: u32,
    /// The files, at least one.
    pub files: Vec<PathBuf>,
    /// The processes that left none.
    pub losses: Losses,
    /// How long its runs took together.
    pub duration: Duration,
}

impl Job {
    /// The jobs of chosen workloads, whose programs the workspace has.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::NoBinary`]
    pub fn all(
        choices: &[WorkloadChoice],
        cargo: &Cargo,
        workspace: &Workspace,
    ) -> Result<Vec<Job>, WorkloadError> {
        let jobs: Vec<Job> = choices
            .iter()
            .map(|choice| Job::new(choice, cargo))
            .collect();
        for job in &jobs {
            match &job.kind {
                JobKind::Commands(workload) => workload::check_bins(workload, workspace)?,
                JobKind::Cargo { .. } if !workspace.is_cargo => {
                    return Err(WorkloadError::NeedsCargo(job.name.clone()));
                }
                JobKind::Cargo { .. } => {}
            }
        }
        Ok(jobs)
    }

    /// The job of a chosen workload.
    pub fn new(choice: &WorkloadChoice, cargo: &Cargo) -> Job {
        let builtin = |name: String, subcommand, selection| Job {
            name,
            weight: 1,
            repeat: 1,
            kind: JobKind::Cargo {
                subcommand,
                selection,
            },
        };
        match choice {
            WorkloadChoice::Named(workload) => Job {
                name: workload.name.clone(),
                weight: workload.weight,
                repeat: workload.repeat,
                kind: JobKind::Commands(workload.clone()),
            },
            WorkloadChoice::Builtin(Builtin::Bench) => {
                builtin("bench".into(), "bench", cargo.selection.clone())
            }
            WorkloadChoice::Builtin(Builtin::Test) => {
                builtin("test".into(), "test", cargo.selection.clone())
            }
            WorkloadChoice::Builtin(Builtin::Run) => {
                builtin("run".into(), "run", cargo.selection.clone())
            }
            WorkloadChoice::Builtin(Builtin::Example(example)) => {
                let mut selection = package_selection(&cargo.selection);
                selection.extend(["--example".to_owned(), example.clone()]);
                builtin(format!("example:{example}"), "run", selection)
            }
        }
    }

    /// Where its raw profiles go, below `raw`.
    pub fn raw_dir(&self, raw: &Path) -> PathBuf {
        raw.join(Workload::file_name(&self.name))
    }

    /// What must be built before it runs.
    ///
    /// `None` if all its programs are built by something else than cargo.
    pub fn build(&self, cargo: &Cargo, workspace: &Workspace) -> Option<BuildCommand> {
        Some(match &self.kind {
            JobKind::Cargo {
                subcommand: "run",
                selection,
            } => BuildCommand {
                subcommand: "build",
                selection: selection.clone(),
            },
            JobKind::Cargo {
                subcommand,
                selection,
            } => {
                let mut selection = selection.clone();
                selection.push("--no-run".into());
                BuildCommand {
                    subcommand,
                    selection,
                }
            }
            JobKind::Commands(workload) => {
                let mut bins = workload.bins();
                if bins.is_empty() {
                    return Some(BuildCommand {
                        subcommand: "build",
                        selection: cargo.selection.clone(),
                    });
                }
                if workspace.has_natives() {
                    bins.retain(|bin| workspace.member_with_bin(bin).is_some());
                    if bins.is_empty() {
                        return None;
                    }
                }
                let mut selection = package_selection(&cargo.selection);
                if selection.is_empty() {
                    let owners: BTreeSet<&str> = bins
                        .iter()
                        .filter_map(|bin| Some(workspace.member_with_bin(bin)?.name.as_str()))
                        .collect();
                    for owner in owners {
                        selection.extend(["--package".to_owned(), owner.to_owned()]);
                    }
                }
                for bin in bins {
                    selection.extend(["--bin".to_owned(), bin.to_owned()]);
                }
                BuildCommand {
                    subcommand: "build",
                    selection,
                }
            }
        })
    }
}

/// Where raw profiles go.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    /// The directory of all jobs.
    pub dir: &'a Path,
    /// Whether programs have counters that survive SIGKILL.
    pub continuous: bool,
}

/// The value of `LLVM_PROFILE_FILE` for raw profiles in `dir`.
pub fn profile_file(dir: &Path, continuous: bool) -> String {
    if continuous {
        flags::continuous_profile_file(dir)
    } else {
        flags::raw_profile_file(dir)
    }
}

/// Runs one job; its raw profiles go below `raw`.
///
/// `position`: which one it is, of how many.
/// `cargo_call` makes the phase's cargo command of a subcommand.
///
/// # Errors
///
/// [`TrainError`]: it failed, or left nothing.
pub fn run(
    job: &Job,
    cargo_call: &dyn Fn(&str) -> Invocation,
    place: Place<'_>,
    raw: Raw<'_>,
    position: (usize, usize),
    ui: &Ui,
) -> Result<RawProfiles, TrainError> {
    let dir = job.raw_dir(raw.dir);
    fs::create_dir(&dir)?;
    Marks::prepare(&dir)?;
    let pattern = profile_file(&dir, raw.continuous);
    let mut duration = Duration::ZERO;
    let mut lost = Vec::new();
    for round in 1..=job.repeat {
        let which = if job.repeat > 1 {
            format!(" ({round} of {})", job.repeat)
        } else {
            String::new()
        };
        ui.status("Training", format_args!("workload `{}`{which}", job.name));
        let (number, all) = position;
        let running = ui.running(format_args!("`{}`{which}, {number} of {all}", job.name));
        let ran = match &job.kind {
            JobKind::Cargo {
                subcommand,
                selection,
            } => {
                let call = cargo_call(subcommand)
                    .args(selection)
                    .env("LLVM_PROFILE_FILE", &pattern);
                run_cargo(&job.name, &call, &running)?
            }
            JobKind::Commands(workload) => {
                let files = ProfileFiles {
                    run: &pattern,
                    prepare: place.profile_files.prepare,
                };
                workload::run_once(
                    workload,
                    Place {
                        profile_files: files,
                        ..place
                    },
                    &running,
                )?
            }
        };
        drop(running);
        duration += ran.duration;
        say_stopped(&job.name, &ran.stopped, &ran.services, ui);
        lost.extend(ran.stopped.lost);
    }
    let mut files = fs::walk(&dir)?;
    files.retain(|file| !Marks::are_at(file));
    let losses = Losses::new(lost, &files);
    if files.is_empty() {
        return Err(TrainError::NoProfile {
            workload: job.name.clone(),
            dir,
            losses,
        });
    }
    say_lost(&job.name, &losses, ui);
    ui.verbose(
        "Trained",
        format_args!(
            "workload `{}` in {}, {} raw profiles",
            job.name,
            seconds(duration),
            files.len()
        ),
    );
    Ok(RawProfiles {
        workload: job.name.clone(),
        weight: job.weight,
        files,
        losses,
        duration,
    })
}

/// Says which processes lost their counters.
pub fn say_lost(workload: &str, losses: &Losses, ui: &Ui) {
    if let Some(sentence) = losses.sentence() {
        ui.warn(format_args!(
            "workload `{workload}`: {sentence}; what they ran is missing in the profile"
        ));
    }
    if let Some(sentence) = losses.rest_sentence() {
        ui.note(format_args!("workload `{workload}`: {sentence}"));
    }
}

fn after_colon(losses: &Losses) -> String {
    losses
        .sentence()
        .map(|sentence| format!(": {sentence}"))
        .unwrap_or_default()
}

/// Says what had to be stopped after a workload.
pub(super) fn say_stopped(workload: &str, stopped: &Stopped, services: &StoppedServices, ui: &Ui) {
    for words in &services.words {
        ui.warn(words);
    }
    if stopped.count > 0 {
        ui.note(format_args!(
            "workload `{workload}` left {} running, which this run stopped",
            processes(stopped.count)
        ));
    }
    if !stopped.left.is_empty() {
        let numbers: Vec<String> = stopped.left.iter().map(i32::to_string).collect();
        ui.warn(format_args!(
            "workload `{workload}` left {} running, which can't be stopped: {}",
            processes(stopped.left.len()),
            numbers.join(", ")
        ));
    }
}

/// Runs a cargo command that runs programs of the user's.
///
/// # Errors
///
/// If it fails.
pub fn run_cargo(workload: &str, call: &Invocation, running: &Running) -> Result<Ran, TrainError> {
    let family = Family::found();
    let pattern = call
        .env
        .iter()
        .rev()
        .find(|(name, _)| name == "LLVM_PROFILE_FILE");
    let pattern = pattern.and_then(|(_, pattern)| pattern.as_ref());
    if let Some(raw_dir) = pattern.and_then(|pattern| Path::new(pattern).parent()) {
        family.heed_counters(raw_dir);
    }
    let mut command = call.command();
    running.connect(&mut command);
    let start = Instant::now();
    let ended = family
        .run(&mut command, None)
        .map_err(|source| call.start_error(source))?;
    match ended {
        Some(ended) if !ended.status.success() => Err(TrainError::Cargo {
            workload: workload.to_owned(),
            command: call.to_string(),
            status: ended.status,
        }),
        _ => Ok(Ran {
            duration: start.elapsed(),
            stopped: family.stop(),
            services: StoppedServices::default(),
        }),
    }
}
