//! Builds with the profile, and proves that it was used.

pub(super) mod sum;

use super::build::{self, BuildError, Built};
use super::train::BuildCommand;
use super::{census, own, sampled, units};
use crate::config::Profiles;
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use crate::plan::{PhasePlan, Slice, Slices};
use crate::profile::consumed::{self, Consumed, Language as Lang, Share};
use crate::profile::evidence::Evidence;
use crate::profile::instr_text::{InstrProfile, Record, TextError};
use crate::profile::names::{self, Unit};
use crate::profile::object_file;
use crate::profile::sample::llvm_text;
use crate::settings::{Cargo, MinMatch};
use crate::shim::evidence;
use crate::shim::treatment::{excludes, target_is_excluded};
use crate::store::Layout;
use crate::store::campaign::{self, Campaign, CampaignError, Method, Owner};
use crate::tool::ToolError;
use crate::tool::profdata::Profdata;
use crate::toolbox::{NoProfdata, Toolbox};
use crate::ui::{Ui, percent};
use crate::workspace::Workspace;
use fdo_build::flags::Pins;
use fdo_build::protocol::Language;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use sum::{Found, Sum};

/// The optimised build is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum OptimizeError {
    /// Cargo failed.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The campaign can't be used.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// The tools are not those for this profile.
    #[error(transparent)]
    Tools(#[from] NoProfdata),
    /// A tool failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A slice is not a profile.
    #[error("the profile `{}` can't be read: {source}", path.display())]
    Slice {
        /// The file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: TextError,
    },
    /// A slice of a sampled profile is none.
    #[error("the profile `{}` can't be read: {source}", path.display())]
    Samples {
        /// The file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: llvm_text::TextError,
    },
    /// llvm-profdata was content, but there is no profile.
    #[error("`{}` said that all was well, but made no profile of `{}`", tool.display(), text.display())]
    NoIndex {
        /// The tool.
        tool: PathBuf,
        /// What it read.
        text: PathBuf,
    },
    /// The compilers used too little of the profile.
    #[error("the compilers used {} of the profile's counts{}, less than the {} that `min-match` asks for", percent(*used), of(language), percent(*wanted))]
    Stale {
        /// What they used.
        used: f64,
        /// The language that decides, if not all together.
        language: Option<String>,
        /// The limit.
        wanted: f64,
        /// What explains it best.
        cause: String,
    },
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for OptimizeError {
    fn exit_code(&self) -> ExitCode {
        match self {
            OptimizeError::Build(error) => error.exit_code(),
            OptimizeError::Campaign(error) => error.exit_code(),
            OptimizeError::Tool(_)
            | OptimizeError::Slice { .. }
            | OptimizeError::Samples { .. } => ExitCode::Profile,
            OptimizeError::Tools(error) => error.exit_code(),
            OptimizeError::NoIndex { .. } => ExitCode::Tool,
            OptimizeError::Stale { .. } => ExitCode::Stale,
            OptimizeError::Fs(error) => error.exit_code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            OptimizeError::Build(error) => error.hint(),
            OptimizeError::Campaign(error) => error.hint(),
            OptimizeError::Tool(error) => error.hint(),
            OptimizeError::Slice { .. } | OptimizeError::Samples { .. } => {
                Some("run `cargo fdo train` again".into())
            }
            OptimizeError::Tools(error) => error.hint(),
            OptimizeError::NoIndex { .. } => Some("`cargo fdo doctor` tries it out".into()),
            OptimizeError::Stale { cause, .. } => Some(format!(
                "{cause}; train again, or accept it with `--allow-stale` or `--min-match`"
            )),
            OptimizeError::Fs(error) => error.hint(),
        }
    }
}

/// Turns a campaign's slices into what each compiler of this run reads.
///
/// # Errors
///
/// [`OptimizeError`]
pub fn prepare_slices(
    campaign: &Campaign,
    toolbox: &Toolbox,
    profiles: Profiles,
    layout: &Layout,
    ui: &Ui,
) -> Result<Slices, OptimizeError> {
    let pins = Pins::from(campaign.manifest.limits);
    if campaign.manifest.method == Method::Sample {
        return sampled::prepare(campaign, toolbox, profiles, pins, layout);
    }
    let reader = toolbox.profdata()?;
    let c_reader = toolbox.c.profdata.as_ref().unwrap_or(reader);
    let make = |name: &str, reader: &Profdata| make_slice(campaign, name, reader, layout, ui);
    Ok(Slices {
        method: Method::Instrument,
        pins,
        partition: campaign.manifest.partition.clone(),
        rust: make(campaign::RUST, reader)?,
        c: make(campaign::C, c_reader)?,
        c_frontend: make(campaign::C_FRONTEND, c_reader)?,
        gcc: None,
        gcc_major: 0,
        own: own::slices(
            campaign,
            profiles,
            |name| make(name, c_reader),
            |_| Ok(None),
        )?,
    })
}

fn make_slice(
    campaign: &Campaign,
    name: &str,
    reader: &Profdata,
    layout: &Layout,
    ui: &Ui,
) -> Result<Option<Slice>, OptimizeError> {
    let Some((text, hash)) = campaign.slice(name) else {
        return Ok(None);
    };
    let version = reader
        .llvm_major
        .map_or_else(|| "unknown".to_owned(), |major| major.to_string());
    let slice = Slice {
        hash: hash.to_owned(),
        file: layout
            .slices()
            .join(format!("{hash}-llvm{version}.profdata")),
    };
    let sum = Sum::beside(&slice.file);
    match sum.check(&slice.file)? {
        Found::Whole => return Ok(Some(slice)),
        Found::Nothing => {}
        Found::Damaged => ui.warn(format_args!(
            "`{}` was damaged; it is made again from the campaign's text",
            slice.file.display()
        )),
    }
    // Read it once before any compiler does: rustc only warns about a damaged profile.
    campaign.slice_text(name)?;
    fs::create_dir(&layout.slices())?;
    let fresh = tempfile::Builder::new()
        .prefix(".new-")
        .tempfile_in(layout.slices())
        .map_err(|error| FsError::new("write into", &layout.slices(), error))?;
    reader.from_text(&text, fresh.path()).run()?;
    let content =
        std::fs::read(fresh.path()).map_err(|error| FsError::new("read", fresh.path(), error))?;
    if !content.starts_with(INDEXED) {
        return Err(OptimizeError::NoIndex {
            tool: reader.program.clone(),
            text,
        });
    }
    // Before the file that it describes: a run that is killed in between makes both again.
    sum.write(&content)?;
    fresh
        .persist(&slice.file)
        .map_err(|error| FsError::new("write", &slice.file, error.error))?;
    Ok(Some(slice))
}

/// How an indexed profile begins.
const INDEXED: &[u8] = b"\xfflprofi\x81";

/// What the compilers made of the profile in this build.
#[derive(Debug, Clone)]
pub struct Use {
    /// Of what this build can use: everything but code of targets that it does not build.
    pub used: Consumed,
    /// Counts in code of the workspace that this build does not contain (a bench target's, say),
    /// by crate or package.
    pub elsewhere: Vec<(String, u128)>,
    /// Packages with objects that no shim saw, and how many: what was compiled by another compiler
    /// can't use the profile.
    pub unseen: Vec<(String, usize)>,
    /// A number of codegen units that the user's settings ask for and the one that the profile
    /// is of, where they differ.
    pub other_units: Option<(u32, u32)>,
}

impl Use {
    /// Share of the counts that were consumed.
    pub fn ratio(&self) -> f64 {
        self.used.all.ratio()
    }

    /// Share of all counts that this build has no code for.
    pub fn elsewhere_ratio(&self) -> f64 {
        let elsewhere: u128 = self.elsewhere.iter().map(|(_, count)| count).sum();
        let all = elsewhere + self.used.all.total;
        if all == 0 {
            0.0
        } else {
            elsewhere as f64 / all as f64
        }
    }

    /// The share of one language.
    pub fn language(&self, language: Lang) -> Share {
        self.used
            .languages
            .get(&language)
            .copied()
            .unwrap_or_default()
    }
}

/// Runs the build.
///
/// # Errors
///
/// [`OptimizeError`]
pub fn run(
    plan: &PhasePlan,
    commands: &[BuildCommand],
    cargo: &Cargo,
    ui: &Ui,
) -> Result<Built, OptimizeError> {
    let mut built = build::run_trees(plan, ui)?;
    for command in commands {
        let call = plan
            .cargo(cargo, command.subcommand)
            .args(&command.selection);
        let format = cargo.message_format.as_deref();
        built.absorb(build::run(call, plan.phase.name(), format)?);
    }
    build::settle_keys(plan)?;
    Ok(built)
}

/// How many lost functions are named.
pub(super) const LOST_SHOWN: usize = 20;

/// Holds what the compilers said against the profile.
///
/// # Errors
///
/// If a slice can't be read.
pub fn measure(
    plan: &PhasePlan,
    slices: &Slices,
    campaign: &Campaign,
    built: &Built,
    workspace: &Workspace,
    takes_part: &dyn Fn(&str, Lang) -> bool,
) -> Result<Use, OptimizeError> {
    if slices.method == Method::Sample {
        return sampled::measure(plan, slices, campaign, built, workspace, takes_part);
    }
    let mut said = Evidence::default();
    let rust_hash = slices.rust.as_ref().map_or("", |slice| &slice.hash);
    let mut built_crates: BTreeSet<String> = BTreeSet::new();
    for artifact in &built.artifacts {
        built_crates.insert(artifact.name.replace('-', "_"));
    }
    let units = units::of_build(&plan.state, built, workspace);
    for (_, unit) in units.iter().filter(|(_, unit)| unit.slice == rust_hash) {
        said.merge(evidence::words(&unit.words));
    }
    let c_hash = slices.c.as_ref().map_or("", |slice| &slice.hash);
    let mut c_packages: BTreeSet<String> = BTreeSet::new();
    let mut unseen = Vec::new();
    let objects = census::objects(&plan.state, &plan.target_dir, built, workspace);
    for (package, compiled) in &objects {
        for object in &compiled.objects {
            if object.slice == c_hash {
                said.merge(evidence::words(&object.words));
            }
        }
        if compiled.unseen > 0 {
            unseen.push((package.clone(), compiled.unseen));
        }
        c_packages.insert(package.clone());
    }

    let rust = records(campaign, campaign::RUST)?;
    let mut c = records(campaign, campaign::C)?;
    let mut of_targets = Vec::new();
    for own in &slices.own {
        if let Some(slice) = &own.c
            && let Some(of) = own::look(own, &slice.hash, plan, built, &objects)
        {
            of_targets.push((of, records(campaign, &own.c_name)?));
        }
    }
    own::subtract(&mut c, of_targets.iter().flat_map(|(_, records)| records));
    let owners = campaign.owners()?;
    let in_rust: BTreeSet<&str> = rust.iter().map(|record| record.name.as_str()).collect();
    let language = |name: &str| {
        if in_rust.contains(name) {
            Lang::Rust
        } else {
            Lang::C
        }
    };
    let place = |name: &str| -> Place {
        match language(name) {
            Lang::Rust => rust_place(name, workspace, &built_crates),
            Lang::C => c_place(owners.get(name), plan, workspace, &c_packages),
        }
    };

    let mut elsewhere: BTreeMap<String, u128> = BTreeMap::new();
    let mut counted = BTreeSet::new();
    let mut here: Vec<&Record> = Vec::new();
    for record in rust.iter().chain(&c) {
        match place(&record.name) {
            Place::Elsewhere(owner) => {
                let (name, hash) = crate::profile::slice::group_key(record);
                if counted.insert((name.into_owned(), hash)) {
                    *elsewhere.entry(owner).or_default() += record.total();
                }
            }
            Place::LeftOut => {}
            Place::Here(package) => {
                if takes_part(&package, language(&record.name)) {
                    here.push(record);
                }
            }
        }
    }
    let mut used = consumed::consumed(
        here,
        &said,
        language,
        |name| match place(name) {
            Place::Here(package) | Place::Elsewhere(package) => package,
            Place::LeftOut => String::new(),
        },
        LOST_SHOWN,
    );
    for (of, records) in &of_targets {
        if !of.is_built {
            let sum: u128 = records.iter().map(Record::total).sum();
            *elsewhere.entry(of.package.clone()).or_default() += sum;
        } else if takes_part(&of.package, Lang::C) {
            let package = |_: &str| of.package.clone();
            let part = consumed::consumed(records, &of.said, |_| Lang::C, package, LOST_SHOWN);
            used.absorb(part, LOST_SHOWN);
        }
    }
    let mut elsewhere: Vec<(String, u128)> = elsewhere.into_iter().collect();
    elsewhere.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let other_units = units.iter().find_map(|(package, unit)| {
        let trained = slices.partition.of_package(&package.name)?;
        (unit.slice == rust_hash && unit.codegen_units != trained)
            .then_some((unit.codegen_units, trained))
    });
    Ok(Use {
        used,
        elsewhere,
        unseen,
        other_units,
    })
}

pub(super) enum Place {
    /// This build compiles it, or should.
    Here(String),
    /// Code of the workspace's graph that this build does not contain.
    Elsewhere(String),
    /// The user's settings keep the profile from it.
    LeftOut,
}

pub(super) fn c_place(
    owner: Option<&Owner>,
    plan: &PhasePlan,
    workspace: &Workspace,
    built: &BTreeSet<String>,
) -> Place {
    let Some(Owner {
        package,
        source,
        target,
        also: _,
    }) = owner
    else {
        return Place::Here("C of unknown origin".to_owned());
    };
    let named = || workspace.packages.iter().filter(|p| p.name == *package);
    // Of several versions the one that was compiled.
    let Some(found) = named().find(|p| built.contains(&p.id())).or(named().next()) else {
        return Place::Here(format!("{package} (not in this workspace)"));
    };
    let id = found.id();
    let order = plan.orders.of(&id, Language::C);
    let is_excluded = excludes(&order.exclude, Some(&found.manifest_dir), source)
        || target.is_some() && target_is_excluded(order, target.as_deref());
    if is_excluded {
        Place::LeftOut
    } else if built.contains(&id) {
        Place::Here(id)
    } else {
        Place::Elsewhere(id)
    }
}

/// Functions of the standard library that a crate's compilation made.
pub(super) const STD: &str = "std";

pub(super) fn rust_place(name: &str, workspace: &Workspace, built: &BTreeSet<String>) -> Place {
    let (prefix, symbol) = names::split(name);
    let krate = prefix
        .and_then(Unit::parse)
        .map(|unit| unit.crate_name())
        .or_else(|| names::rust_crate(symbol));
    let Some(krate) = krate else {
        return Place::Here("main and others that name no crate".to_owned());
    };
    // `__rustc` is what rustc itself makes, such as the way from `alloc` to the allocator.
    if matches!(krate, "std" | "core" | "alloc" | "__rustc") {
        return Place::Here(STD.to_owned());
    }
    match workspace.by_crate(krate) {
        Some(package) if built.contains(krate) => Place::Here(package.id()),
        // A bench or test target, a binary that was not asked for.
        Some(_) => Place::Elsewhere(krate.to_owned()),
        // Of another program: lost, and it must show.
        None => Place::Here(format!("{krate} (not in this workspace)")),
    }
}

fn records(campaign: &Campaign, name: &str) -> Result<Vec<Record>, OptimizeError> {
    let Some(text) = campaign.slice_text(name)? else {
        return Ok(Vec::new());
    };
    InstrProfile::parse(&text)
        .map(|profile| profile.records)
        .map_err(|source| OptimizeError::Slice {
            path: campaign
                .slice(name)
                .map(|(path, _)| path)
                .unwrap_or_default(),
            source,
        })
}

/// Programs of this build whose code is that of a plain build that lies around: the profile
/// changed nothing in them. `plain` gives the places where a plain program of that name may be.
///
/// # Errors
///
/// If an optimised program can't be read.
pub fn same_as_plain(
    built: &Built,
    plain: &dyn Fn(&str) -> Vec<PathBuf>,
) -> Result<Vec<(PathBuf, PathBuf)>, FsError> {
    let mut same = Vec::new();
    for (artifact, program) in built.programs() {
        let bytes = std::fs::read(program).map_err(|error| FsError::new("read", program, error))?;
        let Ok(code) = object_file::text_hash(&bytes) else {
            continue;
        };
        // A plain program that is not there, or is of another kind, is nothing to compare with.
        let twin = plain(&artifact.name).into_iter().find(|path| {
            std::fs::read(path)
                .ok()
                .and_then(|bytes| object_file::text_hash(&bytes).ok())
                .is_some_and(|other| other == code)
        });
        if let Some(twin) = twin {
            same.push((program.clone(), twin));
        }
    }
    Ok(same)
}

/// What decides whether a build used enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged<'r> {
    /// Used part, 0 to 1.
    pub share: f64,
    /// What `min-match` asks for.
    pub wanted: f64,
    /// Of which language; of all counts if of none.
    pub language: Option<&'r str>,
}

impl Judged<'_> {
    /// Whether it used enough.
    pub fn is_enough(&self) -> bool {
        self.share >= self.wanted
    }
}

fn of(language: &Option<String>) -> String {
    language
        .as_ref()
        .map_or_else(String::new, |language| format!(" of {language}"))
}

/// Judges the share of the counts that was used; `None` where the build holds no code that
/// the profile is of.
///
/// # Errors
///
/// [`OptimizeError::Stale`] below the limit, unless that is allowed.
pub fn judge(
    judged: Option<Judged<'_>>,
    min_match: MinMatch,
    allow_stale: bool,
    cause: impl FnOnce() -> String,
    ui: &Ui,
) -> Result<(), OptimizeError> {
    if judged.is_some_and(|judged| judged.is_enough()) {
        return Ok(());
    }
    let error = OptimizeError::Stale {
        used: judged.map_or(0.0, |judged| judged.share),
        language: judged.and_then(|judged| judged.language.map(str::to_owned)),
        wanted: judged.map_or(min_match.of(false, None), |judged| judged.wanted),
        cause: cause(),
    };
    if allow_stale {
        ui.warn(&error);
        return Ok(());
    }
    Err(error)
}
