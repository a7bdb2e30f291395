//! What is compared with what: builds of the project, programs from elsewhere, saved results.

use super::builds::{plain, plain_call, with_profile};
use super::choice::Choice;
use super::error::VariantError;
use super::saved;
use crate::command::Session;
use crate::command::train::show_trees;
use crate::comparison::facts::{Comparison, Metric, Program, Role, Variant};
use crate::error::Result;
use crate::plan::PhasePlan;
use crate::settings::Cargo;
use crate::stage::build;
use crate::stage::evaluate::{Contestant, of_program};
use crate::stage::train::{BuildCommand, Job, JobKind};
use crate::store::campaign::{self, Campaign};
use crate::store::results;
use crate::tool::Invocation;
use fdo_build::protocol::Phase;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// One that was built, or was there.
struct Member {
    choice: Choice,
    what: String,
    bins: BTreeMap<String, PathBuf>,
    programs: Vec<Program>,
    build_seconds: Option<f64>,
    /// For workloads that cargo runs.
    plan: Option<Plan>,
    /// The campaign that it is built with, by its id.
    campaign: Option<String>,
    /// What compiled C with the profile.
    c_compiler: Option<String>,
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
    cargo: Cargo,
    /// Whether the first that is measured runs twice.
    has_twin: bool,
}

impl Variants {
    /// Builds what is to be built; `None` after a dry run.
    pub(super) fn build(
        choices: &[Choice],
        session: &Session,
        commands: &[BuildCommand],
        jobs: &[Job],
        has_twin: bool,
    ) -> Result<Option<Variants>> {
        for job in jobs {
            if let JobKind::Commands(workload) = &job.kind
                && workload.bins().is_empty()
            {
                return Err(VariantError::NoBin(workload.name.clone()).into());
            }
        }
        let mut members = Vec::new();
        for choice in choices {
            members.extend(Member::make(choice, session, commands, jobs)?);
        }
        if session.settings.dry_run {
            return Ok(None);
        }
        let variants = Variants {
            members,
            cargo: session.cargo.clone(),
            has_twin,
        };
        variants.check(jobs)?;
        Ok(Some(variants))
    }

    /// The campaign that variants were built with, if one uses the profile. To be asked under the lock
    /// that the runs are made under: builds let go of theirs.
    ///
    /// # Errors
    ///
    /// If another run has trained in the meantime: its program may stand where ours was.
    pub(super) fn campaign(&self, session: &Session) -> Result<Option<Campaign>> {
        let mut built_with = self.members.iter().filter_map(|m| m.campaign.as_ref());
        let Some(first) = built_with.next() else {
            return Ok(None);
        };
        let campaign = Campaign::current(&session.layout, &session.cargo.target)?;
        match [first]
            .into_iter()
            .chain(built_with)
            .all(|id| *id == campaign.manifest.id)
        {
            true => Ok(Some(campaign)),
            false => Err(VariantError::TrainedMeanwhile.into()),
        }
    }

    /// What compiled C with the profile, if anything did.
    pub(super) fn c_compiler(&self) -> Option<String> {
        self.members
            .iter()
            .find_map(|member| member.c_compiler.clone())
    }

    /// Whether each can run each workload, before anything runs.
    fn check(&self, jobs: &[Job]) -> Result<()> {
        for job in jobs {
            self.contestants(job)?;
        }
        Ok(())
    }

    /// Who runs in turn: all that are not saved, and the first of them twice but for a sweep.
    pub(super) fn contestants(&self, job: &Job) -> Result<Vec<Contestant>> {
        let mut contestants = Vec::new();
        for member in self.members.iter().filter(|member| member.saved.is_none()) {
            contestants.push(member.contestant(job, &self.cargo)?);
        }
        if !self.has_twin {
            return Ok(contestants);
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
        if !self.has_twin {
            return facts;
        }
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
            let column = if self.has_twin && at >= twin {
                at + 1
            } else {
                at
            };
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
    ) -> Result<Option<Member>> {
        let (mut campaign_id, mut c_compiler) = (None, None);
        let say = |what: &str| {
            session
                .ui
                .status("Building", format_args!("`{}`: {what}", choice.name()))
        };
        let (what, built, plan) = match choice {
            Choice::Release => {
                let what = match (session.builds_cargo, session.projects.is_empty()) {
                    (false, _) => "what plain cmake builds".to_owned(),
                    (_, true) => format!(
                        "what plain cargo builds (`--profile {}`)",
                        session.cargo.profile
                    ),
                    _ => "what plain cargo and plain cmake build".to_owned(),
                };
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
                    show_trees(&plan, &session.ui);
                    for command in commands {
                        let call = plan.cargo(&session.cargo, command.subcommand);
                        session.ui.data(call.args(&command.selection));
                    }
                    return Ok(None);
                }
                session.prepare(&plan)?;
                let built = build::run_all(&plan, commands, &session.cargo, None, &session.ui)?;
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
                c_compiler = version.filter(|_| is_all && has_c);
                campaign_id = Some(campaign.manifest.id.clone());
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
            campaign: campaign_id,
            c_compiler,
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
            campaign: None,
            c_compiler: None,
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
            saved::check(name, &comparison, job)?;
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
            campaign: None,
            c_compiler: None,
            saved: Some(Box::new((comparison, at))),
        })
    }

    fn contestant(&self, job: &Job, cargo: &Cargo) -> Result<Contestant> {
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
