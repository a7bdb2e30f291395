//! `cargo fdo compare`: builds the variants, runs them in turn, says what came out.

mod builds;
mod choice;
mod error;
mod saved;
mod scenarios;
mod sweep;
mod variants;

use super::Session;
use super::train::build_commands;
use crate::cli::compare::{CompareArgs, CompareFormat};
use crate::comparison::facts::{Comparison, Project, Training, VERSION};
use crate::comparison::findings::{Findings, metric_of, scenario_of};
use crate::config::{Workload, WorkloadChoice};
use crate::error::{Diagnose, Error, ExitCode, Result};
use crate::report::comparison::{Format, render, signed_percent};
use crate::stage::evaluate::{end_by, machine};
use crate::stage::train::Job;
use crate::store::{Campaign, results};
use crate::tool::Invocation;
use crate::ui::plural;
use choice::Choice;
use std::time::{SystemTime, UNIX_EPOCH};
use variants::Variants;

/// The comparison was made, and its outcome is what the user does not want.
#[derive(Debug, thiserror::Error)]
enum Unwanted {
    /// Slower than allowed.
    #[error("significantly worse than allowed ({}): {}", signed_percent(-allowed), found.join("; "))]
    Regression { allowed: f64, found: Vec<String> },
    /// A gate that could not look is not passed.
    #[error("not judged, so `--fail-on-regression` can't be passed: {}", .0.join("; "))]
    NotJudged(Vec<String>),
    /// The table is there, and does not hold all.
    #[error("{} of the workloads failed; the figures are those of the others", plural(*runs, "run"))]
    Failures { runs: usize },
}

impl Diagnose for Unwanted {
    fn exit_code(&self) -> ExitCode {
        match self {
            Unwanted::Regression { .. } => ExitCode::Regression,
            Unwanted::NotJudged(_) | Unwanted::Failures { .. } => ExitCode::Training,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Unwanted::Regression { .. } => None,
            Unwanted::NotJudged(_) => Some(
                "a difference needs at least two runs of both variants that have the measure; \
                 10 are better"
                    .into(),
            ),
            Unwanted::Failures { .. } => Some(
                "a program that fails now and then is no faster for it: what it wrote is above"
                    .into(),
            ),
        }
    }
}

/// Runs it.
///
/// # Errors
///
/// Whatever its stages raise; after the result was printed, that runs failed or that it is worse
/// than `--fail-on-regression` allows.
pub fn run(args: &CompareArgs, toolchain: Option<String>) -> Result<()> {
    let session = Session::open(&args.cargo, &args.fdo, &args.matching, None, toolchain)?;
    if let Some(name) = &args.show {
        let comparison = results::load(&session.layout, name)?;
        print(args, &session, &comparison, &Findings::of(&comparison));
        return Ok(());
    }
    if let Some(name) = &args.save {
        results::check_name(name)?;
        Choice::check_free(name)?;
    }
    let choices = workloads(args, &session)?;
    let mut jobs = Job::all(&choices, &session.cargo, &session.workspace)?;
    let swept = match &args.sweep {
        Some(sweep) => {
            let are_named = !(args.workload.is_empty() && args.command.is_empty());
            Some(sweep::jobs(sweep, &jobs, are_named, &session.ui)?)
        }
        None => None,
    };
    if let Some(swept) = &swept {
        jobs.clone_from(&swept.jobs);
    }
    let wanted = Choice::all(args, &session)?;
    let valgrind = scenarios::valgrind(args.instructions.is_some())?;
    let commands = build_commands(&jobs, &session);
    let Some(variants) = Variants::build(&wanted, &session, &commands, &jobs, swept.is_none())?
    else {
        scenarios::show(&session, &jobs);
        return Ok(());
    };

    let _lock = session.lock()?;
    let campaign = variants.campaign(&session)?;
    let options = crate::stage::evaluate::Options {
        runs: args.runs,
        warmup: args.warmup,
        valgrind: valgrind.as_deref().zip(args.instructions),
    };
    crate::fs::create_dir(&session.layout.tmp())?;
    let machine = machine::look(&session.layout.tmp());
    let trained: Vec<String> = campaign
        .iter()
        .flat_map(|campaign| &campaign.manifest.workloads)
        .map(|workload| workload.name.clone())
        .collect();
    let mut measured = scenarios::run(&session, &jobs, &variants, &trained, options);
    if measured.scenarios.is_empty()
        && let Some(error) = measured.errors.pop()
    {
        return Err(error);
    }
    if let Some(swept) = &swept {
        swept.mark(&mut measured, &trained);
    }
    let mut comparison = Comparison {
        version: VERSION,
        cargo_fdo: env!("CARGO_PKG_VERSION").to_owned(),
        made: now(),
        command: command_line(),
        machine,
        project: project(&session, &variants),
        training: campaign.as_ref().map(training),
        variants: variants.facts(),
        scenarios: measured.scenarios,
    };
    variants.add_saved(&mut comparison);
    if let Some(signal) = measured.interrupted {
        // What there is, is not lost; a baseline for later it is not.
        let _ = finish(args, &session, &comparison, measured.errors, None);
        end_by(signal);
    }
    let name = args.save.as_deref();
    finish(args, &session, &comparison, measured.errors, name)
}

/// Saves, prints, and judges.
fn finish(
    args: &CompareArgs,
    session: &Session,
    comparison: &Comparison,
    errors: Vec<Error>,
    name: Option<&str>,
) -> Result<()> {
    let last = match args.sweep {
        Some(_) => results::LAST_SWEEP,
        None => results::LAST,
    };
    for name in [Some(last), name].into_iter().flatten() {
        let path = results::save(&session.layout, name, comparison)?;
        if name == last {
            session.ui.verbose("Saved", path.display());
        } else {
            session.ui.status("Saved", format_args!("as `{name}`"));
        }
    }
    let findings = Findings::of(comparison);
    print(args, session, comparison, &findings);
    if let Some(error) = errors.into_iter().next() {
        return Err(error);
    }
    let failed: usize = comparison.scenarios.iter().map(|s| s.failures.len()).sum();
    if let Some(allowed) = args.fail_on_regression {
        let found: Vec<String> = findings
            .regressions(comparison, allowed)
            .map(|row| {
                format!(
                    "{} of `{}` by `{}`, {}",
                    metric_of(comparison, row).name,
                    scenario_of(comparison, row).name,
                    comparison.variants[row.variant].name,
                    row.change.map_or_else(
                        || "in every run".to_owned(),
                        |change| signed_percent(change.gain)
                    )
                )
            })
            .collect();
        if !found.is_empty() {
            return Err(Unwanted::Regression { allowed, found }.into());
        }
        let open: Vec<String> = findings.not_judged(comparison);
        if !open.is_empty() {
            return Err(Unwanted::NotJudged(open).into());
        }
    }
    match failed {
        0 => Ok(()),
        runs => Err(Unwanted::Failures { runs }.into()),
    }
}

fn print(args: &CompareArgs, session: &Session, comparison: &Comparison, findings: &Findings) {
    let text = render(comparison, findings, format(args.format));
    session.ui.data(text.trim_end_matches('\n'));
    if !matches!(args.format, CompareFormat::Text | CompareFormat::Markdown) {
        // There they are in the text.
        for warning in &findings.warnings {
            session.ui.warn(warning);
        }
    }
}

fn format(format: CompareFormat) -> Format {
    match format {
        CompareFormat::Text => Format::Text,
        CompareFormat::Markdown => Format::Markdown,
        CompareFormat::Json => Format::Json,
        CompareFormat::Csv => Format::Csv,
    }
}

fn workloads(args: &CompareArgs, session: &Session) -> Result<Vec<WorkloadChoice>> {
    if args.command.is_empty() {
        return Ok(session.config.select_to_evaluate(&args.workload)?);
    }
    let sweep = args.sweep.iter();
    let parameters: Vec<String> = sweep.map(|sweep| sweep.parameter.clone()).collect();
    let workload = Workload::ad_hoc_with(args.command.clone(), &parameters)?;
    Ok(vec![WorkloadChoice::Named(workload)])
}

fn project(session: &Session, variants: &Variants) -> Project {
    let root = &session.workspace.root;
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    Project {
        name: name.into_owned(),
        revision: revision(root),
        rustc: session
            .rustc
            .version
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
        c_compiler: variants.c_compiler(),
        target: session.cargo.target.clone(),
        profile: session.cargo.profile.clone(),
    }
}

/// What git calls the sources, where they are under git.
fn revision(root: &std::path::Path) -> Option<String> {
    let described = Invocation::new("git")
        .args([
            "describe",
            "--always",
            "--dirty",
            "--abbrev=12",
            "--exclude=*",
        ])
        .cwd(root)
        .probe()
        .ok()?;
    let words = described.stdout.trim();
    (described.status.success() && !words.is_empty()).then(|| words.to_owned())
}

fn training(campaign: &Campaign) -> Training {
    let manifest = &campaign.manifest;
    Training {
        id: manifest.id.clone(),
        method: manifest.method.name().to_owned(),
        workloads: manifest.workloads.iter().map(|w| w.name.clone()).collect(),
        seconds: manifest.workloads.iter().map(|w| w.seconds).sum(),
        made: manifest.made,
    }
}

/// As it was typed: cargo starts us by our path.
fn command_line() -> Vec<String> {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let words = words.skip_while(|word| word == "fdo");
    ["cargo", "fdo"]
        .map(str::to_owned)
        .into_iter()
        .chain(words)
        .collect()
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
