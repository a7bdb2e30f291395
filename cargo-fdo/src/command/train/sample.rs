//! `train --method sample`: build with line tables, run workloads under perf, convert, publish.

use super::super::Session;
use super::super::sampled::{self, Input, Material, Recorded};
use super::partial::Failures;
use super::{bins, build_commands, kept_raw, place_of_program, show_trees};
use crate::cli::TrainArgs;
use crate::error::Result;
use crate::fs;
use crate::report;
use crate::stage::record::{self, Recorder};
use crate::stage::sample::{self, Sampled};
use crate::stage::train::{Job, JobKind};
use crate::stage::workload::{self, Place, ProfileFiles};
use crate::stage::{census, reading, units};
use crate::store::campaign::{Method, WorkloadEntry};
use crate::tool::Places;
use crate::tool::perf::probe::{self, Sampling};
use crate::tool::perf::{self, Perf, Whom};
use fdo_build::flags;
use fdo_build::protocol::Phase;
use std::path::PathBuf;

/// Runs it.
pub(super) fn run(session: &Session, args: &TrainArgs, jobs: &[Job]) -> Result<()> {
    let _lock = session.lock()?;
    // First what costs a second and may be refused.
    let recorder = match args.build_only {
        true => None,
        false => Some(recorder(session)?),
    };
    let toolbox = session.toolbox(Method::Sample)?;
    if session.expects_c() {
        session.explain_c_compiler(&toolbox);
    }
    session.explain_rustc(&toolbox);
    let plan = session.plan(Phase::Sample, &toolbox, None);
    let commands = build_commands(jobs, session);
    let cargo_call = |subcommand: &str| plan.cargo(&session.cargo, subcommand);

    if session.settings.dry_run {
        if let Some(clean) = session.prepare_dry_run(&plan)? {
            session.ui.data(clean);
        }
        show_trees(&plan, &session.ui);
        for command in &commands {
            session
                .ui
                .data(cargo_call(command.subcommand).args(&command.selection));
        }
        if let Some(recorder) = &recorder {
            let place = |bin: &str| place_of_program(session, &plan, bin);
            show(session, recorder, jobs, &cargo_call, &place);
        }
        return Ok(());
    }

    if let Some(recorder) = &recorder {
        sampled::prove(session, &toolbox, &|| {
            Ok((recorder.perf.clone(), recorder.sampling.clone()))
        })?;
    }
    session.prepare(&plan)?;
    session.ui.status(
        "Building",
        format_args!("with line tables, in `{}`", plan.target_dir.display()),
    );
    let built = sample::run(&plan, &commands, &session.cargo, &session.ui)?;
    sampled::check_readers(&toolbox, &plan.state)?;
    let Some(recorder) = recorder else {
        return say_where(session, &built);
    };
    session.ui.status(
        "Sampling",
        format_args!("{} (perf {})", recorder.sampling, recorder.perf.version),
    );

    // Left by a run that was killed.
    fs::remove_ours(session.layout.root(), &session.layout.raw())?;
    let raw = session.layout.raw().join(std::process::id().to_string());
    fs::create_dir(&raw)?;
    fs::create_dir(&session.layout.tmp())?;
    let bins = bins(&built.built);
    let (_, stray) = flags::stray_profile_file(&session.layout.stray(Phase::Sample));
    let place = Place {
        root: &session.workspace.root,
        bins: &bins,
        tmp: &session.layout.tmp(),
        logs: &session.layout.logs(),
        profile_files: ProfileFiles {
            run: &stray,
            prepare: &stray,
        },
    };
    let mut material = Material::default();
    let mut failures = Failures::of(jobs.len());
    for job in jobs {
        let job = Job {
            repeat: job.repeat.saturating_mul(session.config.sample.repeat),
            ..job.clone()
        };
        let done = match record::run(&recorder, &job, &cargo_call, place, &raw, &session.ui) {
            Ok(done) => done,
            Err(error) => {
                failures.take(&job.name, error, &session.ui)?;
                continue;
            }
        };
        if let Some(error) = done
            .files
            .iter()
            .find_map(|file| reading::check_small(file).err())
        {
            failures.take(&job.name, error, &session.ui)?;
            continue;
        }
        material.workloads.push(WorkloadEntry {
            name: done.workload.clone(),
            weight: done.weight,
            files: done.files.len(),
            lost_processes: 0,
            seconds: done.duration.as_secs_f64(),
            slowdown: None,
        });
        let weight = u64::from(done.weight);
        let inputs = done.files.into_iter().map(|path| Input {
            path,
            weight,
            workload: done.workload.clone(),
        });
        material.recordings.extend(inputs);
    }
    failures.check()?;
    material.failed = failures.entries();
    let targets = session.targets_of(Phase::Sample);
    let recorded = Recorded {
        made: sample::made(&session.places_of(Phase::Sample))?,
        owners: census::owners(
            &plan.state,
            &plan.target_dir,
            &built.built,
            &session.workspace,
            &targets,
        ),
        targets,
        ran: jobs.iter().flat_map(programs).collect(),
        partition: units::partition(&plan.state, Some(&built.built), &session.workspace),
    };
    let campaign = sampled::publish(session, &toolbox, material, &recorded, &|| {
        Ok((recorder.perf.clone(), recorder.sampling.clone()))
    });
    let campaign = kept_raw(session, campaign, jobs, "import FILE…")?;
    if !args.keep_raw {
        fs::remove_ours(session.layout.root(), &session.layout.raw())?;
    }
    report::training(&session.ui, &campaign.manifest);
    failures.verdict()
}

/// perf and what it can do here.
pub(in super::super) fn perf(session: &Session) -> Result<(Perf, Sampling)> {
    let places = Places::of_process();
    let named = session.config.perf.as_deref();
    let named = named.map(|perf| (perf, "the configuration"));
    let perf = Perf::locate(named, perf::variable().as_deref(), &places)?;
    let sampling = probe::find(
        &perf,
        &session.config.sample.wanted,
        &places,
        &session.layout.tmp(),
        Some(&session.layout.perf()),
    )?;
    Ok((perf, sampling))
}

fn recorder(session: &Session) -> Result<Recorder> {
    let (perf, sampling) = perf(session)?;
    Ok(Recorder {
        perf,
        sampling,
        limits: session.config.sample.limits,
        duration: session.config.sample.duration,
    })
}

/// The names of programs that a job runs: its services', and its own where that is profiled.
fn programs(job: &Job) -> Vec<String> {
    match &job.kind {
        JobKind::Commands(workload) => workload.bins().into_iter().map(str::to_owned).collect(),
        JobKind::Cargo { .. } => Vec::new(),
    }
}

fn say_where(session: &Session, done: &Sampled) -> Result<()> {
    session.ui.note(
        "record it with `cargo fdo record`, or `perf record -e cycles:u` where cargo fdo is not, \
         then `cargo fdo import FILE`",
    );
    if session.cargo.message_format.is_none() {
        for (_, program) in done.built.programs() {
            session.ui.data(program.display());
        }
    }
    Ok(())
}

/// `--dry-run`: the workloads under perf.
fn show(
    session: &Session,
    recorder: &Recorder,
    jobs: &[Job],
    cargo_call: &dyn Fn(&str) -> crate::tool::Invocation,
    place: &dyn Fn(&str) -> PathBuf,
) {
    let (_, stray) = flags::stray_profile_file(&session.layout.stray(Phase::Sample));
    for job in jobs {
        let out = job.raw_dir(&session.layout.raw()).join("1.perf.data");
        let under_perf = |call| {
            recorder
                .perf
                .record(&recorder.sampling, &recorder.limits, &out, &call)
        };
        match &job.kind {
            JobKind::Cargo {
                subcommand,
                selection,
            } => session
                .ui
                .data(under_perf(cargo_call(subcommand).args(selection))),
            JobKind::Commands(workload) => {
                let files = ProfileFiles {
                    run: &stray,
                    prepare: &stray,
                };
                let root = &session.workspace.root;
                let mut calls = workload::calls(workload, root, place, files);
                // The last one is the run.
                let run = calls.pop();
                for call in calls {
                    session.ui.data(call);
                }
                let Some(run) = run else { continue };
                if workload.services.is_empty() {
                    session.ui.data(under_perf(run));
                } else {
                    // Their numbers are not known yet.
                    let names = workload
                        .services
                        .iter()
                        .map(|it| format!("{{pid of {}}}", it.name));
                    let names: Vec<String> = names.collect();
                    let (sampling, limits) = (&recorder.sampling, &recorder.limits);
                    let whom = Whom::Processes(Vec::new());
                    let mut call = recorder
                        .perf
                        .attach(sampling, limits, &out, &whom, Some(&run));
                    if let Some(at) = call.args.iter().position(|arg| arg == "-p") {
                        call.args[at + 1] = names.join(",").into();
                    }
                    session.ui.data(call);
                }
            }
        }
    }
}
