//! `--sweep PARAMETER=VALUES`: each workload once with each value.

use super::scenarios::{Measured, words};
use crate::cli::sweep::Sweep;
use crate::comparison::facts::{Point, Scenario, Weather};
use crate::config::did_you_mean;
use crate::error::{Diagnose, ExitCode, Result};
use crate::stage::train::{Job, JobKind};
use crate::ui::Ui;
use std::collections::BTreeMap;

/// There is nothing to sweep over.
#[derive(Debug, thiserror::Error)]
pub(super) enum SweepError {
    #[error("workload `{workload}` has no parameter `{parameter}`{}", did_you_mean(parameter, known.iter().map(String::as_str)))]
    NoParameter {
        workload: String,
        parameter: String,
        known: Vec<String>,
    },
    #[error("none of the workloads has a parameter `{parameter}`{}", did_you_mean(parameter, known.iter().map(String::as_str)))]
    NoneHasIt {
        parameter: String,
        known: Vec<String>,
    },
}

impl Diagnose for SweepError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Usage
    }

    fn hint(&self) -> Option<String> {
        let (SweepError::NoParameter { known, .. } | SweepError::NoneHasIt { known, .. }) = self;
        Some(match known.as_slice() {
            [] => "`{NAME}` in `run` is one if the workload's table `parameters`, `scenarios` or \
                   `matrix` in fdo.toml has NAME"
                .into(),
            known => format!("there is `{}`", known.join("`, `")),
        })
    }
}

/// The jobs of a sweep.
pub(super) struct Swept {
    pub(super) jobs: Vec<Job>,
    /// By the names of the jobs: what each is, and the workload that it is made of.
    points: BTreeMap<String, (Point, String)>,
}

/// Each of these jobs with each value. All must have the parameter if the user named them; of the
/// others, those that have it run.
pub(super) fn jobs(sweep: &Sweep, all: &[Job], are_named: bool, ui: &Ui) -> Result<Swept> {
    let mut swept = Swept {
        jobs: Vec::new(),
        points: BTreeMap::new(),
    };
    let mut known: Vec<String> = Vec::new();
    let parameter = &sweep.parameter;
    for job in all {
        let workload = match &job.kind {
            JobKind::Commands(workload) => Some(workload),
            JobKind::Cargo { .. } => None,
        };
        let Some(workload) = workload.filter(|it| it.parameter(parameter).is_some()) else {
            let parameters = workload.into_iter().flat_map(|it| &it.parameters);
            let has = parameters.map(|(name, _)| name.clone());
            if are_named {
                return Err(SweepError::NoParameter {
                    workload: job.name.clone(),
                    parameter: parameter.clone(),
                    known: has.collect(),
                }
                .into());
            }
            known.extend(has);
            ui.note(format_args!(
                "workload `{}` has no parameter `{parameter}`, and is left out",
                job.name
            ));
            continue;
        };
        for value in &sweep.values {
            let mut workload = workload.with(parameter, value);
            let point = Point {
                scenario: workload.name.clone(),
                parameter: parameter.clone(),
                value: value.clone(),
            };
            workload.name = format!("{} {parameter}={value}", workload.name);
            // Combinations of a matrix that differ in this parameter alone are one.
            if swept.points.contains_key(&workload.name) {
                continue;
            }
            let name = workload.name.clone();
            swept.points.insert(name.clone(), (point, job.name.clone()));
            swept.jobs.push(Job {
                name,
                kind: JobKind::Commands(workload),
                ..job.clone()
            });
        }
    }
    if swept.jobs.is_empty() {
        known.sort();
        known.dedup();
        let parameter = parameter.clone();
        return Err(SweepError::NoneHasIt { parameter, known }.into());
    }
    Ok(swept)
}

impl Swept {
    /// Says of measured scenarios which point of which sweep they are, and puts those that failed in
    /// their places.
    pub(super) fn mark(&self, measured: &mut Measured, trained: &[String]) {
        let mut scenarios = std::mem::take(&mut measured.scenarios);
        for job in &self.jobs {
            let at = scenarios.iter().position(|it| it.name == job.name);
            let mut scenario = match at {
                Some(at) => scenarios.remove(at),
                // Neither good nor failed.
                None if measured.interrupted.is_some() => continue,
                None => failed(job),
            };
            if let Some((point, workload)) = self.points.get(&job.name) {
                scenario.sweep = Some(point.clone());
                scenario.is_trained = trained.contains(workload);
            }
            measured.scenarios.push(scenario);
        }
    }
}

/// A point without values.
fn failed(job: &Job) -> Scenario {
    let (prepare, run) = words(job);
    Scenario {
        name: job.name.clone(),
        is_trained: false,
        sweep: None,
        prepare,
        run,
        rounds: 0,
        rounds_wanted: None,
        warmup: 0,
        metrics: Vec::new(),
        failures: Vec::new(),
        weather: Weather::default(),
    }
}
