//! `cargo fdo train`: build with counters, run workloads, merge, publish.

mod partial;
pub(super) mod sample;
mod slowdown;

use super::Session;
use super::manifest::manifest;
use crate::cli::{ImportArgs, MatchArgs, Method, TrainArgs};
use crate::config::{self, Kind, Workload, WorkloadChoice};
use crate::error::{Error, Result};
use crate::fs;
use crate::plan::PhasePlan;
use crate::report;
use crate::settings::profile_dir;
use crate::stage::instrument::{self, Instrumented};
use crate::stage::merge::{self, Merged};
use crate::stage::origin::Origin;
use crate::stage::train::{self, BuildCommand, Job, JobKind, Raw, RawProfiles};
use crate::stage::workload::{self, Place, ProfileFiles};
use crate::stage::{build, census, cmake, collect, units};
use crate::store::campaign::{
    self, CEntry, Campaign, Content, FailedEntry, Manifest, Owners, Partition, WorkloadEntry,
};
use crate::toolbox::{Toolbox, Verdict};
use crate::ui::Ui;
use fdo_build::flags::{self, Counters};
use fdo_build::protocol::Phase;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use partial::Failures;

/// Runs it.
///
/// # Errors
///
/// Whatever its stages raise.
pub fn run(args: TrainArgs, toolchain: Option<String>) -> Result<()> {
    let session = Session::open(
        &args.cargo,
        &args.fdo,
        &MatchArgs::default(),
        args.max_loss.as_deref(),
        toolchain,
    )?;
    let method = match args.method {
        Some(Method::Sample) => config::Method::Sample,
        Some(Method::Instrument) => config::Method::Instrument,
        None => session.config.method,
    };
    if method == config::Method::Sample && !args.collect.is_empty() {
        let args = ImportArgs {
            files: args.collect,
            weighted_input: Vec::new(),
            binary: Vec::new(),
            fdo: args.fdo,
            cargo: args.cargo,
        };
        return super::import::into_campaign(&args, &session);
    }
    let choices = choices(&args, &session)?;
    let jobs = Job::all(&choices, &session.cargo, &session.workspace)?;
    for choice in &choices {
        if let WorkloadChoice::Named(workload) = choice
            && workload.kind == Kind::Evaluate
        {
            session.ui.warn(format_args!(
                "workload `{}` is there to evaluate: measured with what it was trained on, a \
                 gain looks better than it is",
                workload.name
            ));
        }
    }
    if args.collect.is_empty() {
        session.has_work()?;
    }
    if method == config::Method::Sample {
        return sample::run(&session, &args, &jobs);
    }
    let _lock = session.lock()?;
    let toolbox = session.toolbox(campaign::Method::Instrument)?;
    // What is compiled elsewhere is none of our business, and a project without C has none.
    let explained = args.collect.is_empty() && session.expects_c();
    if explained {
        session.explain_c_compiler(&toolbox);
    }
    let plan = session.plan(Phase::Instrument, &toolbox, None);
    let commands = build_commands(&jobs, &session);

    if session.settings.dry_run {
        session.make_signal_object(&toolbox)?;
        if let Some(clean) = session.prepare_dry_run(&plan)? {
            session.ui.data(clean);
        }
        show(&session, &toolbox, &plan, &commands, &jobs);
        return Ok(());
    }

    let raws;
    let mut entries = Vec::new();
    let instrumented;
    let mut failures = Failures::of(jobs.len());
    if args.collect.is_empty() {
        let start = instrument(&session, &toolbox, &plan, &commands)?;
        if !explained && !start.census.is_empty() && toolbox.c.verdict == Verdict::Fits {
            session.explain_c_compiler(&toolbox);
        }
        if args.build_only {
            return say_where(&session, &start);
        }
        let good;
        (good, raws) = run_jobs(&session, &plan, &start, &jobs, &mut failures)?;
        entries = raws.iter().map(entry).collect();
        if !args.no_overhead {
            slowdown::measure(&session, &toolbox, &start, &good, &mut entries);
        }
        instrumented = Some(start);
    } else {
        let collected = collect::run(&args.collect)?;
        train::say_lost(&collected.workload, &collected.losses, &session.ui);
        raws = vec![collected];
        entries.extend(raws.iter().map(entry));
        instrumented = None;
    }

    let failed = failures.entries();
    let owners = match &instrumented {
        Some(start) => census::owners(
            &plan.state,
            &plan.target_dir,
            &start.built,
            &session.workspace,
        ),
        None => census::all_owners(&plan.state, &session.workspace),
    };
    let c_names: BTreeSet<String> = owners.keys().cloned().collect();
    let crates: BTreeSet<String> = session
        .workspace
        .packages
        .iter()
        .flat_map(|package| package.crates.iter().cloned())
        .collect();
    let artifacts = plan.target_dir.join(&session.cargo.target);
    let origin = Origin::new(plan.state.clone(), artifacts);
    let scratch = session.layout.raw().join("merge");
    fs::create_dir(&scratch)?;
    let merged = merge::run(
        &raws,
        toolbox.profdata()?,
        merge::Known {
            crates: &crates,
            c_names: &c_names,
            origin: &origin,
        },
        session.settings.max_loss,
        &scratch,
        &session.ui,
    );
    let merged = kept_raw(
        &session,
        merged.map_err(Error::from),
        &jobs,
        "train --collect DIR",
    )?;
    for (entry, raw) in entries.iter_mut().zip(&raws) {
        let is_bad = |file: &&PathBuf| merged.quarantined.iter().any(|bad| bad.path == **file);
        entry.files -= raw.files.iter().filter(is_bad).count();
    }
    let built = instrumented.as_ref().map(|start| &start.built);
    let partition = units::partition(&plan.state, built, &session.workspace);
    let census = instrumented.iter().flat_map(|start| &start.census);
    let facts = Facts {
        workloads: entries,
        failed,
        owners,
        partition,
        c_objects: census.map(c_entry).collect(),
    };
    let campaign = publish(&session, &toolbox, &merged, facts);
    let campaign = kept_raw(&session, campaign, &jobs, "train --collect DIR")?;
    if !args.keep_raw {
        // Raw profiles that the user collected are not below this directory.
        fs::remove_ours(session.layout.root(), &session.layout.raw())?;
    }
    report::training(&session.ui, &campaign.manifest);
    failures.verdict()
}

/// Says where the raw profiles or recordings of several workloads are, of which nothing became.
fn kept_raw<T>(session: &Session, outcome: Result<T>, jobs: &[Job], by: &str) -> Result<T> {
    if outcome.is_err() && jobs.len() > 1 {
        session.ui.note(format_args!(
            "what the workloads left is in `{}` until the next training; `cargo fdo {by}` takes it",
            session.layout.raw().display()
        ));
    }
    outcome
}

fn choices(args: &TrainArgs, session: &Session) -> Result<Vec<WorkloadChoice>> {
    if !args.collect.is_empty() {
        return Ok(Vec::new());
    }
    if !args.command.is_empty() {
        return Ok(vec![WorkloadChoice::Named(Workload::ad_hoc(
            args.command.clone(),
        )?)]);
    }
    match session.config.select(&args.workload) {
        Ok(choices) => Ok(choices),
        // Without workloads, the programs themselves can still be built.
        Err(_) if args.build_only && args.workload.is_empty() => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn build_commands(jobs: &[Job], session: &Session) -> Vec<BuildCommand> {
    let mut commands: Vec<BuildCommand> = Vec::new();
    if !session.builds_cargo {
        return commands;
    }
    for job in jobs {
        if let Some(command) = job.build(&session.cargo, &session.workspace)
            && !commands.contains(&command)
        {
            commands.push(command);
        }
    }
    if jobs.is_empty() {
        commands.push(BuildCommand {
            subcommand: "build",
            selection: session.cargo.selection.clone(),
        });
    }
    commands
}

fn instrument(
    session: &Session,
    toolbox: &Toolbox,
    plan: &PhasePlan,
    commands: &[BuildCommand],
) -> Result<Instrumented> {
    session.make_signal_object(toolbox)?;
    session.prove_continuous_mode(toolbox)?;
    session.prepare(plan)?;
    session.ui.status(
        "Building",
        format_args!("with counters, in `{}`", plan.target_dir.display()),
    );
    let frontend: Vec<String> = session
        .config
        .packages
        .iter()
        .filter(|(_, policy)| policy.counters == Counters::Frontend)
        .map(|(name, _)| name.clone())
        .collect();
    let done = instrument::run(
        plan,
        commands,
        &session.cargo,
        &session.workspace,
        &frontend,
        &session.ui,
    )?;
    report::census(&session.ui, &done.census, toolbox);
    Ok(done)
}

fn say_where(session: &Session, done: &Instrumented) -> Result<()> {
    fs::create_dir(&session.layout.raw_by_hand())?;
    let pattern = train::profile_file(Path::new("DIR"), session.config.continuous);
    session.ui.note(format_args!(
        "run it with LLVM_PROFILE_FILE={pattern}, then `cargo fdo train --collect DIR`; \
         without the variable it writes into `{}`",
        session.layout.raw_by_hand().display()
    ));
    if session.cargo.message_format.is_none() {
        for (_, program) in done.built.programs() {
            session.ui.data(program.display());
        }
    }
    Ok(())
}

pub(super) fn bins(built: &build::Built) -> BTreeMap<String, PathBuf> {
    built
        .programs()
        .map(|(artifact, path)| (artifact.name.clone(), path.clone()))
        .collect()
}

fn run_jobs(
    session: &Session,
    plan: &PhasePlan,
    instrumented: &Instrumented,
    jobs: &[Job],
    failures: &mut Failures,
) -> Result<(Vec<Job>, Vec<RawProfiles>)> {
    // Left by a run that was killed.
    fs::remove_ours(session.layout.root(), &session.layout.raw())?;
    // A directory of this run's own: what that one started may still be running, and would count
    // in ours.
    let raw = session.layout.raw().join(std::process::id().to_string());
    fs::create_dir(&raw)?;
    fs::create_dir(&session.layout.tmp())?;
    let bins = bins(&instrumented.built);
    let (_, stray) = flags::stray_profile_file(&session.layout.stray(Phase::Instrument));
    let (mut good, mut all) = (Vec::new(), Vec::new());
    for (at, job) in jobs.iter().enumerate() {
        let place = Place {
            root: &session.workspace.root,
            bins: &bins,
            tmp: &session.layout.tmp(),
            logs: &session.layout.logs(),
            profile_files: ProfileFiles {
                run: "",
                prepare: &stray,
            },
        };
        let cargo_call = |subcommand: &str| plan.cargo(&session.cargo, subcommand);
        let position = (at + 1, jobs.len());
        let into = Raw {
            dir: &raw,
            continuous: session.config.continuous,
        };
        match train::run(job, &cargo_call, place, into, position, &session.ui) {
            Ok(profiles) => {
                good.push(job.clone());
                all.push(profiles);
            }
            Err(error) => failures.take(&job.name, error, &session.ui)?,
        }
    }
    failures.check()?;
    Ok((good, all))
}

fn entry(raw: &RawProfiles) -> WorkloadEntry {
    WorkloadEntry {
        name: raw.workload.clone(),
        weight: raw.weight,
        files: raw.files.len(),
        lost_processes: raw.losses.count(),
        seconds: raw.duration.as_secs_f64(),
        slowdown: None,
    }
}

fn c_entry(row: &census::Row) -> CEntry {
    CEntry {
        package: row.package.clone(),
        objects: row.objects,
        instrumented: row.instrumented,
        excluded: row.excluded,
        unseen: row.unseen,
    }
}

/// What a campaign says beside its counts.
struct Facts {
    workloads: Vec<WorkloadEntry>,
    failed: Vec<FailedEntry>,
    owners: Owners,
    partition: Partition,
    c_objects: Vec<CEntry>,
}

fn publish(
    session: &Session,
    toolbox: &Toolbox,
    merged: &Merged,
    facts: Facts,
) -> Result<Campaign> {
    let slices: Vec<(&'static str, &str)> = [
        (campaign::RUST, &merged.rust),
        (campaign::C, &merged.c),
        (campaign::C_FRONTEND, &merged.c_frontend),
    ]
    .into_iter()
    .filter_map(|(name, text)| Some((name, text.as_deref()?)))
    .collect();
    let method = campaign::Method::Instrument;
    let manifest = Manifest {
        workloads: facts.workloads,
        failed: facts.failed,
        raw_files: merged.files,
        quarantined: merged.quarantined.len(),
        partition: facts.partition,
        c_objects: facts.c_objects,
        ..manifest(
            session,
            toolbox,
            method,
            &slices,
            merged.limits,
            &merged.quality,
        )
    };
    Ok(Campaign::publish(
        &session.layout,
        &Content {
            manifest: &manifest,
            slices,
            whole: &merged.whole,
            owners: &facts.owners,
        },
    )?)
}

/// Where a program of a phase will be.
pub(super) fn place_of_program(session: &Session, plan: &PhasePlan, bin: &str) -> PathBuf {
    let of_cargo = || {
        let dir = plan.target_dir.join(&session.cargo.target);
        dir.join(profile_dir(&session.cargo.profile)).join(bin)
    };
    match session.workspace.member_with_bin(bin) {
        Some(_) => of_cargo(),
        None => cmake::place_of_program(&plan.trees, bin).unwrap_or_else(of_cargo),
    }
}

/// What cmake would be told.
pub(super) fn show_trees(plan: &PhasePlan, ui: &Ui) {
    for tree in &plan.trees {
        ui.data(tree.configure(tree.project.build_type.as_deref()));
        ui.data(tree.build(None, false));
    }
}

/// `--dry-run`.
fn show(
    session: &Session,
    toolbox: &Toolbox,
    plan: &PhasePlan,
    commands: &[BuildCommand],
    jobs: &[Job],
) {
    let ui = &session.ui;
    show_trees(plan, ui);
    for command in commands {
        ui.data(
            plan.cargo(&session.cargo, command.subcommand)
                .args(&command.selection),
        );
    }
    let (_, stray) = flags::stray_profile_file(&session.layout.stray(Phase::Instrument));
    for job in jobs {
        let raw = job.raw_dir(&session.layout.raw());
        let pattern = train::profile_file(&raw, session.config.continuous);
        match &job.kind {
            JobKind::Cargo {
                subcommand,
                selection,
            } => ui.data(
                plan.cargo(&session.cargo, subcommand)
                    .args(selection)
                    .env("LLVM_PROFILE_FILE", &pattern),
            ),
            JobKind::Commands(workload) => {
                for call in workload::calls(
                    workload,
                    &session.workspace.root,
                    &|bin| place_of_program(session, plan, bin),
                    ProfileFiles {
                        run: &pattern,
                        prepare: &stray,
                    },
                ) {
                    ui.data(call);
                }
            }
        }
    }
    let scratch = session.layout.raw().join("merge/ir");
    if let Some(profdata) = &toolbox.profdata {
        ui.data(profdata.merge_to_text(
            &scratch.join("inputs.txt"),
            crate::tool::profdata::FailureMode::Any,
            &scratch.join("merged.proftext"),
        ));
    }
}
