//! All runs of one scenario.

use super::callgrind;
use super::figures::FigureError;
use super::order;
use super::run::{
    Around, Lane, Measured, Scratch, count_instructions, in_words, instructions_dir, measure,
    run_simulated,
};
use super::table::Table;
use super::weather::Air;
use crate::comparison::facts::{Failure, Metric, Weather};
use crate::config::{MetricSource, Workload};
use crate::error::{Diagnose, ExitCode};
use crate::fs::FsError;
use crate::stage::family::{self, Family};
use crate::stage::services::Services;
use crate::stage::workload::{self, Place, Prepared, ProfileFiles, Simulated, WorkloadError};
use crate::tool::Invocation;
use crate::ui::{Ui, seconds};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A scenario could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// Its programs or directories are not what they should be.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// `prepare` failed.
    #[error("`{variant}`: {words}")]
    Prepare {
        /// Of which variant.
        variant: String,
        /// What happened.
        words: String,
    },
    /// A figure was not there in the first run: it never will be.
    #[error("workload `{workload}`, run by `{variant}`: {figure}")]
    Figure {
        /// The workload.
        workload: String,
        /// The variant.
        variant: String,
        /// Which figure, and where it was looked for.
        figure: FigureError,
    },
    /// One of the variants never did its work.
    #[error("workload `{workload}` failed in each of {runs} runs by `{variant}`: {words}")]
    NeverRan {
        /// The workload.
        workload: String,
        /// The variant.
        variant: String,
        /// How often it was tried.
        runs: usize,
        /// What happened the last time.
        words: String,
    },
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for EvaluateError {
    fn exit_code(&self) -> ExitCode {
        match self {
            EvaluateError::Workload(error) => error.exit_code(),
            EvaluateError::Fs(error) => error.exit_code(),
            EvaluateError::Figure { .. } => ExitCode::Usage,
            EvaluateError::Prepare { .. } | EvaluateError::NeverRan { .. } => ExitCode::Training,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            EvaluateError::Workload(error) => error.hint(),
            EvaluateError::Fs(error) => error.hint(),
            EvaluateError::Figure { .. } => Some(
                "`[workload.NAME.metrics]` in fdo.toml says what is read, and from where \
                 (`from = \"stderr\"`, `file = \"{tmp}/FILE\"`)"
                    .into(),
            ),
            EvaluateError::Prepare { .. } | EvaluateError::NeverRan { .. } => Some(
                "the workload must end with success; run the command above by hand to see why \
                 it does not"
                    .into(),
            ),
        }
    }
}

/// One of the builds.
#[derive(Debug, Clone)]
pub struct Contestant {
    /// Its name.
    pub name: String,
    /// Its programs.
    pub bins: BTreeMap<String, PathBuf>,
    /// What runs a workload that cargo knows, in this build.
    pub call: Option<Invocation>,
}

/// A scenario to measure.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The workload; of one that cargo knows, the name.
    pub workload: &'a Workload,
    /// What it prints.
    pub metrics: &'a [MetricSource],
    /// Whether it is `cargo bench` or `cargo test`.
    pub is_harness: bool,
    /// The workspace root.
    pub root: &'a Path,
    /// Where fresh directories are made.
    pub tmp: &'a Path,
    /// Where logs of services go.
    pub logs: &'a Path,
    /// Where counters of anything instrumented go, which nobody wants.
    pub stray: &'a str,
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Rounds that count.
    pub runs: u32,
    /// Rounds before.
    pub warmup: u32,
    /// The valgrind to count instructions with, and of how many runs.
    pub valgrind: Option<(&'a Path, u32)>,
}

/// What a scenario gave.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Its measures, with a column for each contestant.
    pub metrics: Vec<Metric>,
    /// Runs that failed.
    pub failures: Vec<Failure>,
    /// What else happened.
    pub weather: Weather,
    /// Rounds that all contestants ran.
    pub rounds: u32,
    /// The signal that ended it early.
    pub interrupted: Option<usize>,
}

/// Prepares all contestants, and lets them run in turn.
///
/// # Errors
///
/// [`EvaluateError`]. Single runs that fail are part of the outcome.
pub fn run(
    task: Task<'_>,
    contestants: &[Contestant],
    options: Options<'_>,
    ui: &Ui,
) -> Result<Outcome, EvaluateError> {
    let scratch = Scratch::in_dir(task.tmp)
        .map_err(|error| FsError::new("make a directory in", task.tmp, error))?;
    let family = Family::found_by_patient_owner();
    let around = Around {
        workload: task.workload,
        metrics: task.metrics,
        is_harness: task.is_harness,
        family: &family,
        scratch: &scratch,
        root: task.root,
    };
    let spinner = ui.spinner(format_args!("preparing `{}`", task.workload.name));
    // Each run has services of its own, that nothing was done with before, unless they are kept.
    let is_fresh = !task.workload.services.is_empty() && !task.workload.keep_services;
    let lanes = match is_fresh {
        true => Ok(Vec::new()),
        false => contestants
            .iter()
            .map(|contestant| lane(task, contestant, Simulated::NO, &around))
            .collect::<Result<Vec<Lane>, EvaluateError>>(),
    };
    if let Some(signal) = family.interrupted() {
        end_by(signal);
    }
    let lanes = lanes?;
    let counted = options.valgrind.map_or(0, |(_, runs)| runs);
    let rounds = options.runs.max(counted) as usize;
    let mut session = Rounds {
        task,
        contestants,
        lanes: &lanes,
        around,
        table: Table::new(contestants.len(), rounds),
        outcome: Outcome::default(),
        tries: vec![(0, 0); contestants.len()],
        started: Instant::now(),
    };
    let all = (options.warmup + options.runs) as usize;
    'rounds: for round in 0..all {
        let number = (round + 1).checked_sub(options.warmup as usize);
        for at in order::of_round(round, contestants.len()) {
            let what = match number {
                None | Some(0) => "warming up".to_owned(),
                Some(number) => format!("round {number} of {}", options.runs),
            };
            spinner.set(format_args!(
                "`{}`, {what}: `{}`{}",
                task.workload.name,
                contestants[at].name,
                session.time_left(round, all)
            ));
            session.one(at, number.unwrap_or(0))?;
            if family.interrupted().is_some() {
                break 'rounds;
            }
        }
        session.outcome.rounds = u32::try_from(number.unwrap_or(0)).unwrap_or(u32::MAX);
        if round == 0 {
            session.announce(ui, all);
        }
    }
    if let Some((valgrind, runs)) = options.valgrind.filter(|_| family.interrupted().is_none()) {
        for round in 0..runs as usize {
            for (at, contestant) in contestants.iter().enumerate() {
                spinner.set(format_args!(
                    "`{}`, counting instructions: `{}`",
                    task.workload.name, contestant.name
                ));
                let counted = session.count_instructions(valgrind, at, round);
                if family.interrupted().is_some() {
                    break;
                }
                if let Err(words) = counted {
                    session.fail(at, 0, format!("instructions: {words}"));
                }
            }
        }
    }
    drop(spinner);
    let mut outcome = session.outcome;
    if let Some(signal) = family.interrupted().filter(|_| outcome.rounds == 0) {
        end_by(signal);
    }
    outcome.interrupted = family.interrupted();
    outcome.metrics = session.table.finish();
    for lane in lanes {
        // What it says no more is of use: all runs are over.
        let _ = lane.services.stop(&family);
    }
    // Servers of `prepare` end before their directories do.
    family.stop();
    Ok(outcome)
}

/// How many times as long everything may take under callgrind.
const SIMULATION: u32 = 100;

/// Prepares a contestant.
fn lane(
    task: Task<'_>,
    contestant: &Contestant,
    simulated: Simulated<'_>,
    around: &Around<'_>,
) -> Result<Lane, EvaluateError> {
    let place = Place {
        root: task.root,
        bins: &contestant.bins,
        tmp: task.tmp,
        logs: &task.logs.join(&contestant.name),
        profile_files: ProfileFiles {
            run: task.stray,
            prepare: task.stray,
        },
    };
    if let Some(call) = &contestant.call {
        let tmp = tempfile::Builder::new()
            .prefix("compare-")
            .tempdir_in(task.tmp)
            .map_err(|error| FsError::new("make a directory in", task.tmp, error))?;
        // Criterion would compare with, and replace, what the user measured before.
        let criterion = tmp.path().join("criterion");
        return Ok(Lane {
            call: call
                .clone()
                .env("LLVM_PROFILE_FILE", task.stray)
                .env("CRITERION_HOME", criterion),
            services: Services::default(),
            tmp,
        });
    }
    let connect = |command: &mut Command| around.scratch.connect(command);
    match workload::prepare_in(around.family, task.workload, place, simulated, &connect) {
        Ok(Prepared {
            call,
            services,
            tmp,
        }) => Ok(Lane {
            call,
            services,
            tmp,
        }),
        Err(
            error @ (WorkloadError::Failed { .. }
            | WorkloadError::Start { .. }
            | WorkloadError::Service { .. }),
        ) => {
            let nowhere = Lane {
                call: Invocation::new(""),
                services: Services::default(),
                tmp: tempfile::tempdir_in(task.tmp)
                    .map_err(|error| FsError::new("make a directory in", task.tmp, error))?,
            };
            Err(EvaluateError::Prepare {
                variant: contestant.name.clone(),
                words: in_words(&error, &nowhere, around),
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// Ends this process as a signal does that ended a comparison early.
pub fn end_by(signal: usize) -> ! {
    family::die(signal)
}

/// After this many failures and no success a contestant is given up.
const PATIENCE: usize = 3;

struct Rounds<'a> {
    task: Task<'a>,
    contestants: &'a [Contestant],
    /// None where each run has its own.
    lanes: &'a [Lane],
    around: Around<'a>,
    table: Table,
    outcome: Outcome,
    /// Good and failed runs of each.
    tries: Vec<(usize, usize)>,
    started: Instant,
}

impl Rounds<'_> {
    /// One run of a contestant; round 0 does not count.
    fn one(&mut self, at: usize, round: usize) -> Result<(), EvaluateError> {
        match self.measured(at) {
            Ok(measured) => self.take(at, round, measured),
            Err(_) if self.around.family.interrupted().is_some() => Ok(()),
            Err(words) => {
                self.tries[at].1 += 1;
                let (good, failed) = self.tries[at];
                if good == 0 && failed >= PATIENCE {
                    return Err(EvaluateError::NeverRan {
                        workload: self.around.workload.name.clone(),
                        variant: self.contestants[at].name.clone(),
                        runs: failed,
                        words,
                    });
                }
                self.fail(at, round, words);
                Ok(())
            }
        }
    }

    fn measured(&self, at: usize) -> Result<Measured, String> {
        if let Some(lane) = self.lanes.get(at) {
            return measure(lane, &self.around);
        }
        let contestant = &self.contestants[at];
        let before = self.around.family.members();
        let lane = lane(self.task, contestant, Simulated::NO, &self.around).map_err(|error| {
            self.around.family.stop_newer(&before);
            self.around.family.let_go();
            error.to_string()
        })?;
        let measured = measure(&lane, &self.around);
        let stopped = lane.services.stop(self.around.family);
        // Also what `prepare` left.
        self.around.family.stop_newer(&before);
        let measured = measured?;
        stopped.map_err(|error| error.to_string())?;
        Ok(measured)
    }

    fn count_instructions(
        &mut self,
        valgrind: &Path,
        at: usize,
        round: usize,
    ) -> Result<(), String> {
        if self.task.workload.services.is_empty() {
            let count = count_instructions(valgrind, &self.lanes[at], &self.around)?;
            self.table.add_instructions(at, round, None, count);
            return Ok(());
        }
        let dir = instructions_dir(self.around.scratch)?;
        let of_service = |name: &str| dir.join(name);
        let wrap = |name: &str, call: &Invocation| {
            let dir = of_service(name);
            // Where it can't be made, valgrind says so.
            let _ = std::fs::create_dir(&dir);
            callgrind::wrap(valgrind, call, &dir)
        };
        let simulated = Simulated {
            wrap: Some(&wrap),
            patience: SIMULATION,
        };
        let before = self.around.family.members();
        let counted = lane(self.task, &self.contestants[at], simulated, &self.around)
            .map_err(|error| {
                self.around.family.let_go();
                error.to_string()
            })
            .and_then(|lane| {
                let names: Vec<String> = lane
                    .services
                    .members()
                    .map(|(name, _)| name.to_owned())
                    .collect();
                let zeroed = lane
                    .services
                    .pids()
                    .into_iter()
                    .try_for_each(|pid| callgrind::zero(valgrind, pid));
                let ran = zeroed.and_then(|()| run_simulated(&lane, &self.around));
                let stopped = lane.services.stop(self.around.family);
                ran?;
                stopped.map_err(|error| error.to_string())?;
                Ok(names)
            });
        self.around.family.stop_newer(&before);
        let mut total = 0;
        for name in counted? {
            let count = callgrind::total(&of_service(&name))?;
            total += count;
            self.table.add_instructions(at, round, Some(&name), count);
        }
        self.table.add_instructions(at, round, None, total);
        Ok(())
    }

    fn take(&mut self, at: usize, round: usize, measured: Measured) -> Result<(), EvaluateError> {
        let Air {
            others,
            stolen,
            waiting,
            runnable,
            available,
            disk_bytes,
        } = measured.air;
        let readings = measured.readings.as_deref().unwrap_or_default();
        if let Some(words) = self.table.other_unit(readings) {
            self.fail(at, round, words);
            return Ok(());
        }
        let is_first = self.tries[at].0 == 0;
        self.tries[at].0 += 1;
        if round > 0 {
            let weather = &mut self.outcome.weather;
            weather.others.push(others);
            weather.stolen.push(stolen);
            weather.waiting.push(waiting);
            weather.runnable.push(runnable);
            weather.available.push(available);
            weather.disk_bytes.push(disk_bytes);
            self.table.add(at, round - 1, &measured);
        }
        match measured.readings {
            Err(figure) if is_first => Err(EvaluateError::Figure {
                workload: self.around.workload.name.clone(),
                variant: self.contestants[at].name.clone(),
                figure,
            }),
            Err(error) => {
                self.fail(at, round, error.to_string());
                Ok(())
            }
            Ok(_) => Ok(()),
        }
    }

    fn fail(&mut self, at: usize, round: usize, words: String) {
        self.outcome.failures.push(Failure {
            variant: self.contestants[at].name.clone(),
            round: u32::try_from(round).unwrap_or(u32::MAX),
            words,
        });
    }

    fn left(&self, rounds_done: usize, all: usize) -> Option<Duration> {
        let done = u32::try_from(rounds_done).ok().filter(|done| *done > 0)?;
        Some(self.started.elapsed() / done * u32::try_from(all - rounds_done).ok()?)
    }

    fn time_left(&self, rounds_done: usize, all: usize) -> String {
        self.left(rounds_done, all)
            .map_or_else(String::new, |left| {
                format!(", about {} left", seconds(left))
            })
    }

    /// Long comparisons say so at once.
    fn announce(&self, ui: &Ui, all: usize) {
        const LONG: Duration = Duration::from_secs(60);
        if let Some(left) = self.left(1, all).filter(|left| *left > LONG) {
            ui.detail(format_args!(
                "about {} for {} more rounds of {} variants",
                seconds(left),
                all - 1,
                self.contestants.len()
            ));
        }
    }
}
