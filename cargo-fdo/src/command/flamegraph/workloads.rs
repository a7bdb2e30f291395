//! Records workloads of the project: of the plain program with line tables, and of the program that
//! is built with the profile.

use super::{Drawn, recorder};
use crate::cli::flamegraph::FlamegraphArgs;
use crate::command::build::{self, Purpose};
use crate::command::{Session, record, train};
use crate::config::{Workload, WorkloadChoice};
use crate::error::Result;
use crate::fs;
use crate::plan::PhasePlan;
use crate::profile::stacks::Stacks;
use crate::report;
use crate::stage::flamegraph;
use crate::stage::record::{self as recording, Recorder};
use crate::stage::sample;
use crate::stage::train::Job;
use crate::stage::workload::{Place, ProfileFiles};
use crate::store::campaign::Method;
use crate::tool::Places;
use crate::tool::perf::{self, Limits, Perf};
use fdo_build::flags;
use fdo_build::protocol::Phase;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The workloads that are asked for.
pub(super) fn jobs(args: &FlamegraphArgs, session: &Session) -> Result<Vec<Job>> {
    let choices = match args.command.is_empty() {
        true => session.config.select(&args.workload)?,
        false => vec![WorkloadChoice::Named(Workload::ad_hoc(
            args.command.clone(),
        )?)],
    };
    Ok(Job::all(&choices, &session.cargo, &session.workspace)?)
}

/// Stacks of the program of the sample phase: as `cargo build --release` makes it, with line tables
/// and not stripped.
pub(super) fn plain(
    args: &FlamegraphArgs,
    session: &Session,
    jobs: &[Job],
    inlined: bool,
) -> Result<Drawn> {
    let _lock = session.lock()?;
    let recorder = of_workloads(args, session)?;
    let toolbox = session.toolbox(Method::Sample)?;
    let plan = session.plan(Phase::Sample, &toolbox, None);
    session.prepare(&plan)?;
    session.ui.status(
        "Building",
        format_args!("with line tables, in `{}`", plan.target_dir.display()),
    );
    let commands = train::build_commands(jobs, session);
    let built = sample::run(&plan, &commands, &session.cargo, &session.ui)?;
    let bins = train::bins(&built.built);
    let reading = Reading { args, inlined };
    let stacks = run(reading, session, &recorder, jobs, &plan, &bins)?;
    let what = describe(jobs);
    Ok(Drawn { what, stacks })
}

/// Stacks of the program that `cargo fdo build` makes.
pub(super) fn optimised(args: &FlamegraphArgs, session: &Session, jobs: &[Job]) -> Result<Drawn> {
    let commands = train::build_commands(jobs, session);
    let done = build::optimized(session, Purpose::Run, &commands)?;
    let _lock = session.lock()?;
    let recorder = of_workloads(args, session)?;
    let mut stacks = Stacks::default();
    if let Some((built, plan)) = done {
        let bins = train::bins(&built);
        let reading = Reading {
            args,
            inlined: true,
        };
        stacks = run(reading, session, &recorder, jobs, &plan, &bins)?;
    }
    Ok(Drawn {
        what: "the optimised program".to_owned(),
        stacks,
    })
}

fn of_workloads(args: &FlamegraphArgs, session: &Session) -> Result<Recorder> {
    let config = &session.config;
    let places = Places::of_process();
    let named = args.perf.as_deref().map(|perf| (perf, "`--perf`"));
    let named = named.or(config
        .perf
        .as_deref()
        .map(|perf| (perf, "the configuration")));
    record::check_frequency(args.frequency)?;
    let perf = Perf::locate(named, perf::variable().as_deref(), &places)?;
    fs::create_dir(&session.layout.tmp())?;
    let sampling = recorder::sampling(args, &perf, &session.layout.tmp(), &session.ui)?;
    let duration = match &args.duration {
        Some(text) => Some(record::duration(text)?),
        None => config.sample.duration,
    };
    let mut limits: Limits = config.sample.limits;
    if args.max_size.is_some() {
        limits.max_bytes = record::max_bytes(args.max_size.as_deref())?;
    }
    session.ui.status(
        "Sampling",
        format_args!("{sampling} (perf {})", perf.version),
    );
    Ok(Recorder {
        perf,
        sampling,
        limits,
        duration,
    })
}

/// How recordings are read.
#[derive(Clone, Copy)]
struct Reading<'a> {
    args: &'a FlamegraphArgs,
    inlined: bool,
}

fn run(
    reading: Reading<'_>,
    session: &Session,
    recorder: &Recorder,
    jobs: &[Job],
    plan: &PhasePlan,
    bins: &BTreeMap<String, PathBuf>,
) -> Result<Stacks> {
    // Left by a run that was killed.
    fs::remove_ours(session.layout.root(), &session.layout.raw())?;
    let raw = session.layout.raw().join(std::process::id().to_string());
    fs::create_dir(&raw)?;
    fs::create_dir(&session.layout.tmp())?;
    let (_, stray) = flags::stray_profile_file(&session.layout.stray(plan.phase));
    let place = Place {
        root: &session.workspace.root,
        bins,
        tmp: &session.layout.tmp(),
        logs: &session.layout.logs(),
        profile_files: ProfileFiles {
            run: &stray,
            prepare: &stray,
        },
    };
    let cargo_call = |subcommand: &str| plan.cargo(&session.cargo, subcommand);
    let mut stacks = Stacks::default();
    for job in jobs {
        let done = recording::run(recorder, job, &cargo_call, place, &raw, &session.ui)?;
        for file in &done.files {
            let debug_dirs = &reading.args.debug_dir;
            stacks.add(flamegraph::read(file, debug_dirs, reading.inlined)?);
            fs::remove_file(file)?;
        }
    }
    report::stacks(&session.ui, &stacks);
    fs::remove_ours(session.layout.root(), &session.layout.raw())?;
    Ok(stacks)
}

fn describe(jobs: &[Job]) -> String {
    let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
    match names.as_slice() {
        [one] => format!("workload {one}"),
        several => format!("workloads {}", several.join(", ")),
    }
}
