//! Runs workloads under perf, each run into a recording of its own.

use super::attend::{self, Attended, End, Times};
use super::train::{Job, JobKind, say_stopped};
use super::workload::{self, OfOneWorkload, Place, Ready, WorkloadError};
use crate::config::Workload;
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use crate::profile::sample::finished;
use crate::tool::invocation::describe;
use crate::tool::perf::probe::Sampling;
use crate::tool::perf::{Limits, Perf, Whom};
use crate::tool::{Invocation, ToolError};
use crate::ui::{Ui, seconds};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// Recording went wrong.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The workload could not be prepared or started.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// What ran under perf failed.
    #[error("workload `{workload}` failed under perf ({})\n  command: {command}", describe(*status))]
    Failed {
        /// Which.
        workload: String,
        /// The call.
        command: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// It took too long.
    #[error("workload `{workload}` was stopped after its timeout of {}\n  command: {command}", humantime::format_duration(*timeout))]
    TimedOut {
        /// Which.
        workload: String,
        /// The limit.
        timeout: Duration,
        /// The call.
        command: String,
    },
    /// perf itself failed.
    #[error("perf could not record `{what}` ({})\n  command: {command}", describe(*status))]
    Perf {
        /// The workload or processes.
        what: String,
        /// The call.
        command: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// perf died before it had finished its file.
    #[error("perf was killed while it recorded `{what}` ({}); `{}` is incomplete", describe(*status), file.display())]
    Killed {
        /// The workload or processes.
        what: String,
        /// What there is.
        file: PathBuf,
        /// How it ended.
        status: ExitStatus,
    },
    /// The command of `cargo fdo record` failed; what was recorded is kept.
    #[error("the command failed ({}); what was recorded until then is in `{}`\n  command: {command}", describe(*status), file.display())]
    Load {
        /// The call.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The recording.
        file: PathBuf,
    },
    /// The user ended it.
    #[error("interrupted while `{what}` was recorded")]
    Interrupted {
        /// The workload.
        what: String,
    },
    /// perf did not start.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for RecordError {
    fn exit_code(&self) -> ExitCode {
        match self {
            RecordError::Workload(error) => error.exit_code(),
            RecordError::Tool(error) => error.exit_code(),
            RecordError::Fs(error) => error.exit_code(),
            RecordError::Perf { .. } => ExitCode::Tool,
            RecordError::Failed { .. }
            | RecordError::Load { .. }
            | RecordError::TimedOut { .. }
            | RecordError::Killed { .. }
            | RecordError::Interrupted { .. } => ExitCode::Training,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            RecordError::Workload(error) => error.hint(),
            RecordError::Tool(error) => error.hint(),
            RecordError::Fs(error) => error.hint(),
            RecordError::Failed { .. } => Some(
                "the program's own output is above; run the part behind `--` by hand to see \
                 whether it fails without perf too"
                    .into(),
            ),
            RecordError::Load { .. } => {
                Some("`cargo fdo import` takes it, if there is enough in it".into())
            }
            RecordError::TimedOut { .. } => Some(
                "raise `timeout` in fdo.toml, or let `duration` in its table [sample] end the \
                 recording of a program that runs for ever"
                    .into(),
            ),
            RecordError::Perf { .. } => Some(
                "perf's own words are above; `cargo fdo doctor --recommend` tries out what it \
                 can record here"
                    .into(),
            ),
            RecordError::Killed { file, .. } => Some(format!(
                "was memory short, or the disk full? `cargo fdo import {}` takes what is in it",
                file.display()
            )),
            RecordError::Interrupted { .. } => None,
        }
    }
}

impl OfOneWorkload for RecordError {
    fn is_of_one_workload(&self) -> bool {
        match self {
            RecordError::Workload(error) => error.is_of_one_workload(),
            RecordError::Failed { .. }
            | RecordError::TimedOut { .. }
            | RecordError::Killed { .. } => true,
            RecordError::Perf { .. }
            | RecordError::Load { .. }
            | RecordError::Interrupted { .. }
            | RecordError::Tool(_)
            | RecordError::Fs(_) => false,
        }
    }
}

/// How recordings are made.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// The program.
    pub perf: Perf,
    /// Event and frequency.
    pub sampling: Sampling,
    /// Sizes.
    pub limits: Limits,
    /// How long one run is recorded.
    pub duration: Option<Duration>,
}

/// The recordings of one workload.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The workload.
    pub workload: String,
    /// What its counts weigh.
    pub weight: u32,
    /// One recording a run.
    pub files: Vec<PathBuf>,
    /// How long its runs took together.
    pub duration: Duration,
}

/// Records the runs of one job, below `dir`.
///
/// `cargo_call` makes the phase's cargo command of a subcommand.
///
/// # Errors
///
/// [`RecordError`]
pub fn run(
    recorder: &Recorder,
    job: &Job,
    cargo_call: &dyn Fn(&str) -> Invocation,
    place: Place<'_>,
    dir: &Path,
    ui: &Ui,
) -> Result<Recorded, RecordError> {
    let dir = job.raw_dir(dir);
    fs::create_dir(&dir)?;
    let mut recorded = Recorded {
        workload: job.name.clone(),
        weight: job.weight,
        files: Vec::new(),
        duration: Duration::ZERO,
    };
    for round in 1..=job.repeat {
        let which = if job.repeat > 1 {
            format!(" ({round} of {})", job.repeat)
        } else {
            String::new()
        };
        ui.status("Recording", format_args!("workload `{}`{which}", job.name));
        let file = dir.join(format!("{round}.perf.data"));
        recorded.duration += match &job.kind {
            JobKind::Cargo {
                subcommand,
                selection,
            } => {
                let call = recorder.around(&cargo_call(subcommand).args(selection), &file);
                one(recorder, &job.name, &call, None, &file, &|| false, ui)?
            }
            JobKind::Commands(workload) => {
                let running = ui.running(format_args!("`{}`", job.name));
                let ready = workload::prepare(workload, place, &running)?;
                // perf and its command write to the terminal themselves.
                drop(running);
                workload::check_program(workload, ready.call())?;
                let own = dir.join(format!("{round}.load.perf.data"));
                let call = recorder.of_workload(workload, &ready, &file, &own);
                let limit = workload.timeout;
                let is_broken = || ready.has_fallen();
                let done = one(recorder, &job.name, &call, limit, &file, &is_broken, ui);
                let duration = done.map_err(|error| match ready.check_services(workload) {
                    Err(cause) => cause.into(),
                    Ok(()) => error,
                })?;
                let (stopped, services) = ready.stop(workload)?;
                say_stopped(&job.name, &stopped, &services, ui);
                if own.exists() {
                    recorded.files.push(own);
                }
                duration
            }
        };
        recorded.files.push(file);
    }
    Ok(recorded)
}

impl Recorder {
    /// perf around a command.
    fn around(&self, command: &Invocation, file: &Path) -> Invocation {
        self.perf
            .record(&self.sampling, &self.limits, file, command)
    }

    /// perf around `run`; where there are services, perf at these while it runs, and around it only if
    /// that is wanted too, into a file of its own.
    fn of_workload(
        &self,
        workload: &Workload,
        ready: &Ready,
        file: &Path,
        own: &Path,
    ) -> Invocation {
        let services: Vec<u32> = ready
            .service_processes()
            .into_iter()
            .filter_map(|pid| u32::try_from(pid).ok())
            .collect();
        if services.is_empty() {
            return self.around(ready.call(), file);
        }
        let load = match workload.profile_load {
            true => self.around(ready.call(), own),
            false => ready.call().clone(),
        };
        let whom = Whom::Processes(services);
        self.perf
            .attach(&self.sampling, &self.limits, file, &whom, Some(&load))
    }
}

fn one(
    recorder: &Recorder,
    workload: &str,
    call: &Invocation,
    deadline: Option<Duration>,
    file: &Path,
    is_broken: &dyn Fn() -> bool,
    ui: &Ui,
) -> Result<Duration, RecordError> {
    ui.verbose("Running", call);
    let times = Times {
        enough: recorder.duration,
        deadline,
    };
    let attended = attend::run(call, times, file, is_broken)?;
    match verdict(&attended, file, recorder.limits.max_bytes) {
        Verdict::Done => {}
        Verdict::Full => ui.warn(format_args!(
            "the recording of `{workload}` reached its greatest size after {}, and the workload \
             was stopped; `max-size` in the table [sample] of fdo.toml sets it, a lower \
             `frequency` makes it smaller",
            seconds(attended.duration)
        )),
        Verdict::Stopped => ui.detail(format_args!(
            "stopped after the wanted {}",
            seconds(attended.duration)
        )),
        Verdict::Late => {
            return Err(RecordError::TimedOut {
                workload: workload.to_owned(),
                timeout: deadline.unwrap_or_default(),
                command: call.to_string(),
            });
        }
        Verdict::Interrupted => {
            return Err(RecordError::Interrupted {
                what: workload.to_owned(),
            });
        }
        Verdict::NoFile => {
            return Err(RecordError::Perf {
                what: workload.to_owned(),
                command: call.to_string(),
                status: attended.status,
            });
        }
        Verdict::Unfinished => {
            return Err(RecordError::Killed {
                what: workload.to_owned(),
                file: file.to_owned(),
                status: attended.status,
            });
        }
        Verdict::Failed => {
            return Err(RecordError::Failed {
                workload: workload.to_owned(),
                command: call.to_string(),
                status: attended.status,
            });
        }
    }
    Ok(attended.duration)
}

/// What became of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is whole, and its command ended well.
    Done,
    /// It is whole, and was stopped at its greatest size.
    Full,
    /// It is whole, and was stopped at the wanted time.
    Stopped,
    /// Its command took too long.
    Late,
    /// The user ended it; it is whole.
    Interrupted,
    /// perf wrote nothing: it failed before it started the command.
    NoFile,
    /// perf died before it had written sizes and features.
    Unfinished,
    /// It is whole, but its command failed.
    Failed,
}

/// Tells by perf's end and its file.
pub fn verdict(attended: &Attended, file: &Path, max_bytes: Option<u64>) -> Verdict {
    let size = file.metadata().map_or(0, |data| data.len());
    if size == 0 {
        return match attended.end {
            End::Interrupt => Verdict::Interrupted,
            _ => Verdict::NoFile,
        };
    }
    match attended.end {
        End::Interrupt if is_whole(file) => Verdict::Interrupted,
        End::Deadline => Verdict::Late,
        End::Time if is_whole(file) => Verdict::Stopped,
        End::Itself if attended.status.success() => {
            if is_whole(file) {
                Verdict::Done
            } else {
                Verdict::Unfinished
            }
        }
        _ if !is_whole(file) => Verdict::Unfinished,
        // perf stops at the first record beyond it, and by a SIGTERM to its command.
        _ if ended_by_term(attended.status) && max_bytes.is_some_and(|max| size >= max) => {
            Verdict::Full
        }
        _ => Verdict::Failed,
    }
}

fn ended_by_term(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    const SIGTERM: i32 = 15;
    // A shell that ran perf's command says it as 128 + 15.
    status.signal() == Some(SIGTERM) || status.code() == Some(128 + SIGTERM)
}

/// Whether perf finished the file: only then it has the size of its data in its header.
fn is_whole(file: &Path) -> bool {
    std::fs::File::open(file)
        .and_then(|file| finished::is_finished(io::BufReader::new(file)))
        .unwrap_or(false)
}
