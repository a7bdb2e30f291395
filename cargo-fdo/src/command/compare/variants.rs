//! What is compared with what: builds of the project, programs from elsewhere, saved results.

use super::super::build::{Purpose, optimized};
use super::super::{RUST_ONLY, Session};
use super::scenarios;
use crate::cli::compare::CompareArgs;
use crate::comparison::facts::{Comparison, Metric, Program, Role, Variant};
use crate::error::{Diagnose, ExitCode, Result};
use crate::plan::PhasePlan;
use crate::stage::build::{self, Built};
use crate::stage::evaluate::{Contestant, of_program};
use crate::stage::train::{BuildCommand, Job, JobKind};
use crate::store::campaign::{self, Campaign};
use crate::store::results;
use crate::tool::Invocation;
use crate::toolbox::Origin;
use fdo_build::protocol::Phase;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A variant can't take part.
#[derive(Debug, thiserror::Error)]
pub(super) enum VariantError {
    #[error("`{0}` is no variant, no program and no saved result")]
    Unknown(String),
    #[error("there is no program at `{}`", .0.display())]
    NoProgram(PathBuf),
    #[error("`{}` has no program `{bin}`, which workload `{workload}` runs", dir.display())]
    NotInDirectory {
        dir: PathBuf,
        bin: String,
        workload: String,
    },
    #[error("`{0}` can't name a result: as a variant it means something else")]
    Reserved(String),
    #[error("`{name}` is compared with itself")]
    Twice { name: String },
    #[error("the profile has no part for {0}, so there is nothing to compare")]
    NoSlice(&'static str),
    #[error("`{variant}` is a program, and workload `{workload}` is run by cargo")]
    NeedsCargo { variant: String, workload: String },
    #[error("the workloads run {}: it is not clear which of them `{}` is", names.join(", "), path.display())]
    Ambiguous { names: Vec<String>, path: PathBuf },
    #[error("workload `{0}` names no program of this workspace: all variants would run the same")]
    NoBin(String),
    #[error("`cargo run` could run {}", .0.join(", "))]
    ManyPrograms(Vec<String>),
    #[error("the saved result `{name}` has no variant `{variant}`; it has {}", known.join(", "))]
    NoSuchVariant {
        name: String,
        variant: String,
        known: Vec<String>,
    },
    #[error("the saved result `{name}` does not have the workload `{workload}`")]
    NotMeasured { name: String, workload: String },
    #[error(
        "the saved result `{name}` is of another workload `{workload}`: `{then}` and not `{now}`"
    )]
    OtherWorkload {
        name: String,
        workload: String,
        then: String,
        now: String,
    },
    #[error("all variants are saved results: nothing would be measured")]
    NothingToMeasure,
}

impl Diagnose for VariantError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            VariantError::Unknown(_) | VariantError::Twice { .. } => Some(
                "variants are `release`, `control`, `rust-only`, `optimized`, a path with a `/`, \
                 or a name given to `--save`; the baseline is measured twice in any case"
                    .into(),
            ),
            VariantError::ManyPrograms(_) => Some("choose one with `--bin NAME`".into()),
            VariantError::NotMeasured { .. } | VariantError::OtherWorkload { .. } => {
                Some("measure it again: `cargo fdo compare --save NAME`".into())
            }
            VariantError::NoBin(_) => Some(
                "write `{bin:NAME}` where its program stands, in `run`, `prepare` or a value of \
                 `env`; a script can be handed the path"
                    .into(),
            ),
            VariantError::Ambiguous { .. } => {
                Some("give a directory that holds all of them".into())
            }
            VariantError::NeedsCargo { .. } => Some(
                "describe what runs in fdo.toml: `run = [\"{bin:NAME}\", …]` in a table \
                 [workload.NAME]"
                    .into(),
            ),
            _ => None,
        }
    }
}

/// What the user wants to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// What plain cargo builds.
    Release,
    /// All that the optimised build has, but the profile.
    Control,
    /// The profile for Rust alone.
    RustOnly,
    /// The profile for all.
    Optimized,
    /// A program, or a directory of programs; and as it was typed.
    Path(PathBuf, String),
    /// A saved result, and which of its variants.
    Saved(String, Option<String>),
}

impl Choice {
    /// The baseline, then what is held against it.
    pub(super) fn all(args: &CompareArgs, session: &Session) -> Result<Vec<Choice>> {
        let mut all = vec![Choice::parse(&args.baseline, session)?];
        for word in &args.against {
            all.push(Choice::parse(word, session)?);
        }
        if args.against.is_empty() {
            if needs_control(session)? && all[0] == Choice::Release {
                all.push(Choice::Control);
            }
            all.push(Choice::Optimized);
        }
        for (at, choice) in all.iter().enumerate() {
            if all[..at].contains(choice) {
                let name = choice.name();
                return Err(VariantError::Twice { name }.into());
            }
        }
        if all.iter().all(|choice| matches!(choice, Choice::Saved(..))) {
            return Err(VariantError::NothingToMeasure.into());
        }
        Ok(all)
    }

    /// Whether a result can have this name, and still be meant by it.
    pub(super) fn check_free(name: &str) -> Result<()> {
        let taken = ["release", "control", RUST_ONLY, "optimized", "optimised"];
        match taken.contains(&name) || name == results::LAST {
            true => Err(VariantError::Reserved(name.to_owned()).into()),
            false => Ok(()),
        }
    }

    fn parse(word: &str, session: &Session) -> Result<Choice> {
        Ok(match word {
            "release" => Choice::Release,
            "control" => Choice::Control,
            RUST_ONLY => Choice::RustOnly,
            "optimized" | "optimised" => Choice::Optimized,
            typed if typed.contains('/') => {
                let path = crate::workspace::here().join(typed);
                if !path.exists() {
                    return Err(VariantError::NoProgram(path).into());
                }
                Choice::Path(path, typed.to_owned())
            }
            _ => {
                let (name, variant) = match word.split_once(':') {
                    Some((name, variant)) => (name, Some(variant.to_owned())),
                    None => (word, None),
                };
                if !results::is_saved(&session.layout, name) {
                    return Err(VariantError::Unknown(word.to_owned()).into());
                }
                Choice::Saved(name.to_owned(), variant)
            }
        })
    }

    /// What it is at this place of the list.
    fn role(&self, at: usize) -> Role {
        match (at, self) {
            (0, _) => Role::Baseline,
            (_, Choice::Control) => Role::Control,
            _ => Role::Candidate,
        }
    }

    fn name(&self) -> String {
        match self {
            Choice::Release => "release".into(),
            Choice::Control => "control".into(),
            Choice::RustOnly => RUST_ONLY.into(),
            Choice::Optimized => "optimized".into(),
            Choice::Path(_, typed) => typed.clone(),
            Choice::Saved(name, None) => name.clone(),
            Choice::Saved(name, Some(variant)) => format!("{name}:{variant}"),
        }
    }
}

/// Whether the optimised build has more than the profile that could change its speed: another C
/// compiler.
fn needs_control(session: &Session) -> Result<bool> {
    let campaign = Campaign::current(&session.layout, &session.cargo.target)?;
    let has_c = campaign.manifest.slices.contains_key(campaign::C);
    if !has_c {
        return Ok(false);
    }
    let toolbox = session.toolbox(campaign.manifest.method)?;
    Ok(matches!(toolbox.c.origin, Origin::Auto { .. }))
}

/// One that was built, or was there.
struct Member {
    choice: Choice,
    what: String,
    bins: BTreeMap<String, PathBuf>,
    programs: Vec<Program>,
    build_seconds: Option<f64>,
    /// For workloads that cargo runs.
    plan: Option<Plan>,
    saved: Option<Box<(Comparison, usize)>>,
}

/// How cargo is called for a build.
enum Plan {
    Plain,
    Phase(Box<PhasePlan>),
}

/// All variants, ready to run.
pub(super) struct Variants {
    members: Vec<Member>,
    cargo: crate::settings::Cargo,
    /// Of the build with the profile.
    pub(super) c_compiler: Option<String>,
}

impl Variants {
    /// Builds what is to be built; `None` after a dry run.
    pub(super) fn build(
        choices: &[Choice],
        session: &Session,
        commands: &[BuildCommand],
        jobs: &[Job],
    ) -> Result<Option<Variants>> {
        for job in jobs {
            if let JobKind::Commands(workload) = &job.kind
                && workload.bins().is_empty()
            {
                return Err(VariantError::NoBin(workload.name.clone()).into());
            }
        }
        let mut members = Vec::new();
        let mut c_compiler = None;
        for choice in choices {
            let Some(member) = Member::make(choice, session, commands, jobs, &mut c_compiler)?
            else {
                continue;
            };
            members.push(member);
        }
        if session.settings.dry_run {
            return Ok(None);
        }
        let variants = Variants {
            members,
            cargo: session.cargo.clone(),
            c_compiler,
        };
        variants.check(jobs)?;
        Ok(Some(variants))
    }

    /// Whether one of them is built with the profile.
    pub(super) fn use_profile(&self) -> bool {
        self.members
            .iter()
            .any(|member| matches!(member.choice, Choice::RustOnly | Choice::Optimized))
    }

    /// Whether each can run each workload, before anything runs.
    fn check(&self, jobs: &[Job]) -> Result<()> {
        for job in jobs {
            self.contestants(job)?;
        }
        Ok(())
    }

    /// Who runs in turn: all that are not saved, and the first of them twice.
    pub(super) fn contestants(&self, job: &Job) -> Result<Vec<Contestant>> {
        let mut contestants = Vec::new();
        for member in self.members.iter().filter(|member| member.saved.is_none()) {
            contestants.push(member.contestant(job, &self.cargo)?);
        }
        let again = Contestant {
            name: again(&contestants[0].name),
            ..contestants[0].clone()
        };
        contestants.insert(1, again);
        Ok(contestants)
    }

    /// The variants of the result: saved ones have their place in it, and no runs yet.
    pub(super) fn facts(&self) -> Vec<Variant> {
        let mut facts: Vec<Variant> = self
            .members
            .iter()
            .enumerate()
            .map(|(at, member)| Variant {
                name: member.choice.name(),
                role: member.choice.role(at),
                what: member.what.clone(),
                programs: member.programs.clone(),
                build_seconds: member.build_seconds,
                saved: match &member.choice {
                    Choice::Saved(name, _) => Some(name.clone()),
                    _ => None,
                },
            })
            .collect();
        let measured = self.first_measured();
        let twin = Variant {
            name: again(&facts[measured].name),
            role: Role::Again,
            what: format!(
                "{} once more: the noise of this machine",
                facts[measured].name
            ),
            ..facts[measured].clone()
        };
        facts.insert(measured + 1, twin);
        facts
    }

    fn first_measured(&self) -> usize {
        let is_measured = |member: &Member| member.saved.is_none();
        self.members.iter().position(is_measured).unwrap_or(0)
    }

    /// Puts the values of saved results into their columns.
    pub(super) fn add_saved(&self, comparison: &mut Comparison) {
        let twin = self.first_measured() + 1;
        for (at, member) in self.members.iter().enumerate() {
            let Some(saved) = &member.saved else { continue };
            let (theirs, variant) = (&saved.0, saved.1);
            let column = if at >= twin { at + 1 } else { at };
            for scenario in &mut comparison.scenarios {
                let same = theirs.scenarios.iter().find(|s| s.name == scenario.name);
                for metric in &mut scenario.metrics {
                    let is_same = |other: &&Metric| {
                        other.name == metric.name
                            && other.origin == metric.origin
                            && other.unit == metric.unit
                    };
                    let values = same
                        .and_then(|scenario| scenario.metrics.iter().find(is_same))
                        .and_then(|other| other.samples.get(variant).cloned())
                        .unwrap_or_default();
                    metric.samples.insert(column, values);
                }
            }
        }
    }
}

fn again(name: &str) -> String {
    format!("{name} (again)")
}

impl Member {
    /// `None` for builds of a dry run.
    fn make(
        choice: &Choice,
        session: &Session,
        commands: &[BuildCommand],
        jobs: &[Job],
        c_compiler: &mut Option<String>,
    ) -> Result<Option<Member>> {
        let say = |what: &str| {
            session
                .ui
                .status("Building", format_args!("`{}`: {what}", choice.name()))
        };
        let (what, built, plan) = match choice {
            Choice::Release => {
                let what = format!(
                    "what plain cargo builds (`--profile {}`)",
                    session.cargo.profile
                );
                say(&what);
                let Some(built) = plain(session, commands)? else {
                    return Ok(None);
                };
                (what, built, Plan::Plain)
            }
            Choice::Control => {
                let campaign = Campaign::current(&session.layout, &session.cargo.target)?;
                let _lock = session.lock()?;
                let toolbox = session.toolbox(campaign.manifest.method)?;
                let what = match toolbox.c.version.is_empty() {
                    true => "no profile, all else as in the optimised build".to_owned(),
                    false => format!(
                        "no profile, all else as in the optimised build: C by {}",
                        toolbox.c.version
                    ),
                };
                say(&what);
                let plan = session.plan(Phase::Baseline, &toolbox, None);
                if session.settings.dry_run {
                    session.prepare_dry_run(&plan)?;
                    for command in commands {
                        let call = plan.cargo(&session.cargo, command.subcommand);
                        session.ui.data(call.args(&command.selection));
                    }
                    return Ok(None);
                }
                session.prepare(&plan)?;
                let built = build::run_all(&plan, commands, &session.cargo, None)?;
                (what, built, Plan::Phase(Box::new(plan)))
            }
            Choice::RustOnly | Choice::Optimized => {
                let campaign = Campaign::current(&session.layout, &session.cargo.target)?;
                let is_all = *choice == Choice::Optimized;
                if !is_all && !campaign.manifest.slices.contains_key(campaign::RUST) {
                    return Err(VariantError::NoSlice("Rust").into());
                }
                let slices = &campaign.manifest.slices;
                let has_c = slices.keys().any(|name| name != campaign::RUST);
                let has_rust = slices.contains_key(campaign::RUST);
                let what = match (is_all, has_rust, has_c) {
                    (true, true, true) => "the profile for Rust and C",
                    (true, true, false) => "the profile for Rust",
                    (true, false, _) => "the profile for C",
                    (false, ..) => "the profile for Rust alone, C as plain cargo builds it",
                };
                say(what);
                let Some((built, plan, version)) = with_profile(session, commands, is_all)? else {
                    return Ok(None);
                };
                if is_all && has_c {
                    *c_compiler = version;
                }
                (what.to_owned(), built, Plan::Phase(Box::new(plan)))
            }
            Choice::Path(path, _) => return Member::of_path(choice, path, jobs).map(Some),
            Choice::Saved(name, variant) => {
                return Member::of_saved(choice, name, variant.as_deref(), session, jobs).map(Some);
            }
        };
        let bins: BTreeMap<String, PathBuf> = built
            .programs()
            .map(|(artifact, path)| (artifact.name.clone(), path.clone()))
            .collect();
        Ok(Some(Member {
            choice: choice.clone(),
            what,
            programs: bins
                .iter()
                .map(|(name, path)| of_program(name, path))
                .collect(),
            bins,
            // Of a part of the build the time says nothing.
            build_seconds: built
                .artifacts
                .iter()
                .all(|artifact| !artifact.fresh)
                .then_some(built.duration.as_secs_f64()),
            plan: Some(plan),
            saved: None,
        }))
    }

    fn of_path(choice: &Choice, path: &Path, jobs: &[Job]) -> Result<Member> {
        let mut bins = BTreeMap::new();
        let mut all = BTreeSet::new();
        for job in jobs {
            let JobKind::Commands(workload) = &job.kind else {
                continue;
            };
            let names = workload.bins();
            all.extend(names.iter().map(|name| (*name).to_owned()));
            if !path.is_dir() && all.len() > 1 {
                return Err(VariantError::Ambiguous {
                    names: all.into_iter().collect(),
                    path: path.to_owned(),
                }
                .into());
            }
            for name in names {
                let file = if path.is_dir() {
                    path.join(name)
                } else {
                    path.to_owned()
                };
                if !file.is_file() {
                    return Err(VariantError::NotInDirectory {
                        dir: path.to_owned(),
                        bin: name.to_owned(),
                        workload: workload.name.clone(),
                    }
                    .into());
                }
                bins.insert(name.to_owned(), file);
            }
        }
        Ok(Member {
            choice: choice.clone(),
            what: "a program from elsewhere".into(),
            programs: bins
                .iter()
                .map(|(name, path)| of_program(name, path))
                .collect(),
            bins,
            build_seconds: None,
            plan: None,
            saved: None,
        })
    }

    /// Without a variant's name: the best of the saved ones, which the last is.
    fn of_saved(
        choice: &Choice,
        name: &str,
        variant: Option<&str>,
        session: &Session,
        jobs: &[Job],
    ) -> Result<Member> {
        let comparison = results::load(&session.layout, name)?;
        for job in jobs {
            check_saved(name, &comparison, job)?;
        }
        let at = match variant {
            None => comparison.variants.len().checked_sub(1),
            Some(wanted) => comparison.variants.iter().position(|v| v.name == wanted),
        };
        let Some(at) = at else {
            return Err(VariantError::NoSuchVariant {
                name: name.to_owned(),
                variant: variant.unwrap_or_default().to_owned(),
                known: comparison.variants.iter().map(|v| v.name.clone()).collect(),
            }
            .into());
        };
        let theirs = &comparison.variants[at];
        Ok(Member {
            choice: choice.clone(),
            what: format!(
                "`{}` of the saved result `{name}`: {}",
                theirs.name, theirs.what
            ),
            bins: BTreeMap::new(),
            programs: theirs.programs.clone(),
            build_seconds: theirs.build_seconds,
            plan: None,
            saved: Some(Box::new((comparison, at))),
        })
    }

    fn contestant(&self, job: &Job, cargo: &crate::settings::Cargo) -> Result<Contestant> {
        let call = match &job.kind {
            JobKind::Commands(_) => None,
            JobKind::Cargo {
                subcommand: "run", ..
            } => Some(Invocation::new(self.program_of(job)?)),
            JobKind::Cargo {
                subcommand,
                selection,
            } => {
                let call = match &self.plan {
                    None => {
                        return Err(VariantError::NeedsCargo {
                            variant: self.choice.name(),
                            workload: job.name.clone(),
                        }
                        .into());
                    }
                    Some(Plan::Plain) => plain_call(cargo, subcommand),
                    Some(Plan::Phase(plan)) => plan.cargo(cargo, subcommand),
                };
                Some(call.arg("--quiet").args(selection))
            }
        };
        Ok(Contestant {
            name: self.choice.name(),
            bins: self.bins.clone(),
            call,
        })
    }

    /// The program that `cargo run` would run: started without cargo, which would be measured too.
    fn program_of(&self, job: &Job) -> Result<PathBuf> {
        if let Choice::Path(path, _) = &self.choice
            && path.is_file()
        {
            return Ok(path.clone());
        }
        let example = job.name.strip_prefix("example:");
        let mut found: Vec<(&String, &PathBuf)> = self
            .bins
            .iter()
            .filter(|(name, _)| example.is_none_or(|example| example == name.as_str()))
            .collect();
        match (found.pop(), found.is_empty()) {
            (Some((_, path)), true) => Ok(path.clone()),
            _ => Err(VariantError::ManyPrograms(self.bins.keys().cloned().collect()).into()),
        }
    }
}

/// Whether a saved result is of this very workload.
fn check_saved(name: &str, comparison: &Comparison, job: &Job) -> Result<()> {
    let Some(saved) = comparison.scenarios.iter().find(|s| s.name == job.name) else {
        return Err(VariantError::NotMeasured {
            name: name.to_owned(),
            workload: job.name.clone(),
        }
        .into());
    };
    let (prepare, run) = scenarios::words(job);
    let whole = |prepare: &Option<String>, run: &str| match prepare {
        Some(prepare) => format!("{prepare}; {run}"),
        None => run.to_owned(),
    };
    let (then, now) = (whole(&saved.prepare, &saved.run), whole(&prepare, &run));
    if then != now {
        return Err(VariantError::OtherWorkload {
            name: name.to_owned(),
            workload: job.name.clone(),
            then,
            now,
        }
        .into());
    }
    Ok(())
}

/// Cargo as the user would call it: nothing of ours, into the user's own target directory.
fn plain_call(cargo: &crate::settings::Cargo, subcommand: &str) -> Invocation {
    let mut call = cargo
        .command(subcommand)
        .args(["--profile", &cargo.profile]);
    if cargo.other_target.is_some() {
        call = call.args(["--target", &cargo.target_argument]);
    }
    if let Some(dir) = &cargo.target_dir {
        call = call.arg("--target-dir").arg(dir);
    }
    call.args(&cargo.build_options).args(&cargo.output_options)
}

/// `None` after a dry run.
fn plain(session: &Session, commands: &[BuildCommand]) -> Result<Option<Built>> {
    let mut all = Built::default();
    for command in commands {
        let call = plain_call(&session.cargo, command.subcommand).args(&command.selection);
        if session.settings.dry_run {
            session.ui.data(call);
            continue;
        }
        all.absorb(build::run(call, "release", None)?);
    }
    Ok((!session.settings.dry_run).then_some(all))
}

/// The build, its plan, and the C compiler; `None` after a dry run.
fn with_profile(
    session: &Session,
    commands: &[BuildCommand],
    is_all: bool,
) -> Result<Option<(Built, PhasePlan, Option<String>)>> {
    let other;
    let session = if is_all {
        session
    } else {
        other = session.rust_only();
        &other
    };
    let mut all = Built::default();
    let mut last = None;
    for command in commands {
        let done = optimized(
            session,
            Purpose::Run,
            command.subcommand,
            &command.selection,
        )?;
        if let Some((built, plan)) = done {
            all.absorb(built);
            last = Some(plan);
        }
    }
    let Some(plan) = last else { return Ok(None) };
    let campaign = Campaign::current(&session.layout, &session.cargo.target)?;
    let toolbox = session.toolbox(campaign.manifest.method)?;
    let version = Some(toolbox.c.version).filter(|version| !version.is_empty());
    Ok(Some((all, plan, version)))
}
