//! The workloads of a comparison, one after the other.

use super::super::Session;
use super::variants::Variants;
use crate::comparison::facts::Scenario;
use crate::config::{CommandLine, Template, Workload};
use crate::error::{Diagnose, Error, ExitCode, Result};
use crate::stage::evaluate::{self, Options, Task};
use crate::stage::train::{Job, JobKind};
use crate::ui::plural;
use fdo_build::flags;
use fdo_build::protocol::Phase;
use std::path::PathBuf;

/// `--instructions` without valgrind.
#[derive(Debug, thiserror::Error)]
#[error("`--instructions` needs valgrind, which is not in PATH")]
struct NoValgrind;

impl Diagnose for NoValgrind {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        Some("on Debian and Ubuntu: `apt-get install valgrind`".into())
    }
}

/// The valgrind to count instructions with, if that is wanted.
///
/// # Errors
///
/// If there is none.
pub(super) fn valgrind(is_wanted: bool) -> Result<Option<PathBuf>> {
    if !is_wanted {
        return Ok(None);
    }
    Ok(Some(which::which("valgrind").map_err(|_| NoValgrind)?))
}

/// `--dry-run`: what each variant would run, with its own program in the place of `{bin:NAME}`.
pub(super) fn show(session: &Session, jobs: &[Job]) {
    for job in jobs {
        match &job.kind {
            JobKind::Commands(workload) => {
                for command in workload.prepare.iter().chain([&workload.run]) {
                    session.ui.data(command);
                }
            }
            JobKind::Cargo { subcommand, .. } => {
                session.ui.data(format_args!("cargo {subcommand}"))
            }
        }
    }
}

/// What a job prepares and runs, as a result names it.
pub(super) fn words(job: &Job) -> (Option<String>, String) {
    match &job.kind {
        JobKind::Commands(workload) => {
            let steps: Vec<String> = workload.prepare.iter().map(ToString::to_string).collect();
            let prepare = (!steps.is_empty()).then(|| steps.join("; "));
            (prepare, workload.run.to_string())
        }
        JobKind::Cargo {
            subcommand,
            selection,
        } => {
            let words: Vec<&str> = ["cargo", subcommand]
                .into_iter()
                .chain(selection.iter().map(String::as_str))
                .collect();
            (None, words.join(" "))
        }
    }
}

/// What came of the workloads.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) scenarios: Vec<Scenario>,
    pub(super) errors: Vec<Error>,
    /// The signal that ended it early.
    pub(super) interrupted: Option<usize>,
}

/// Measures all of them. One that can't be measured does not take the others with it.
pub(super) fn run(
    session: &Session,
    jobs: &[Job],
    variants: &Variants,
    trained: &[String],
    options: Options<'_>,
) -> Measured {
    let mut measured = Measured::default();
    for job in jobs {
        match one(session, job, variants, trained, options) {
            Ok((scenario, interrupted)) => {
                measured.scenarios.push(scenario);
                measured.interrupted = interrupted;
                if interrupted.is_some() {
                    break;
                }
            }
            Err(error) => {
                if jobs.len() > 1 {
                    session.ui.warn(&error);
                }
                measured.errors.push(error);
            }
        }
    }
    measured
}

fn one(
    session: &Session,
    job: &Job,
    variants: &Variants,
    trained: &[String],
    options: Options<'_>,
) -> Result<(Scenario, Option<usize>)> {
    let contestants = variants.contestants(job)?;
    session.ui.status(
        "Measuring",
        format_args!(
            "workload `{}`, {}",
            job.name,
            match contestants.len() {
                1 => plural(options.runs as usize, "run"),
                variants => format!("{} runs of {variants} variants in turn", options.runs),
            }
        ),
    );
    let (prepare, shown) = words(job);
    let (workload, is_harness);
    match &job.kind {
        JobKind::Commands(named) => {
            workload = named.clone();
            is_harness = false;
        }
        JobKind::Cargo { subcommand, .. } => {
            is_harness = matches!(*subcommand, "bench" | "test");
            let run = CommandLine::Shell(Template::literal(shown.clone()));
            workload = Workload::new(job.name.clone(), run);
        }
    }
    let (_, stray) = flags::stray_profile_file(&session.layout.stray(Phase::Baseline));
    let task = Task {
        workload: &workload,
        metrics: &workload.metrics,
        is_harness,
        root: &session.workspace.root,
        tmp: &session.layout.tmp(),
        logs: &session.layout.logs(),
        stray: &stray,
    };
    let outcome = evaluate::run(task, &contestants, options, &session.ui)?;
    let scenario = Scenario {
        name: job.name.clone(),
        is_trained: trained.contains(&job.name),
        sweep: None,
        prepare,
        run: shown,
        rounds: outcome.rounds,
        rounds_wanted: outcome.interrupted.map(|_| options.runs),
        warmup: options.warmup,
        metrics: outcome.metrics,
        failures: outcome.failures,
        weather: outcome.weather,
    };
    Ok((scenario, outcome.interrupted))
}
