//! Builds with the profile, and proves that it was used.

use super::build::{self, BuildError, Built};
use super::census;
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use crate::plan::{PhasePlan, Slice, Slices};
use crate::profile::consumed::{self, Consumed, Language as Lang, Share};
use crate::profile::evidence::Evidence;
use crate::profile::instr_text::{InstrProfile, Record, TextError};
use crate::profile::names::{self, Unit};
use crate::settings::Cargo;
use crate::shim::evidence::{self, RustUnit};
use crate::store::campaign::{self, Campaign, CampaignError};
use crate::store::{Layout, keys};
use crate::tool::ToolError;
use crate::tool::invocation::Invocation;
use crate::tool::profdata::Profdata;
use crate::toolbox::Toolbox;
use crate::ui::{Ui, percent};
use crate::workspace::Workspace;
use fdo_build::flags::Pins;
use fdo_build::protocol::Language;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The optimised build is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum OptimizeError {
    /// Cargo failed.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The campaign can't be used.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
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
    /// The compilers used too little of the profile.
    #[error("the compilers used {} of the profile's counts, less than the {} that `min-match` asks for", percent(*used), percent(*wanted))]
    Stale {
        /// What they used.
        used: f64,
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
            OptimizeError::Tool(_) | OptimizeError::Slice { .. } => ExitCode::Profile,
            OptimizeError::Stale { .. } => ExitCode::Stale,
            OptimizeError::Fs(error) => error.exit_code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            OptimizeError::Build(error) => error.hint(),
            OptimizeError::Campaign(error) => error.hint(),
            OptimizeError::Tool(error) => error.hint(),
            OptimizeError::Slice { .. } => Some("run `cargo fdo train` again".into()),
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
    layout: &Layout,
) -> Result<Slices, OptimizeError> {
    let c_reader = toolbox.c.profdata.as_ref().unwrap_or(&toolbox.profdata);
    let make = |name: &str, reader: &Profdata| make_slice(campaign, name, reader, layout);
    let limits = campaign.manifest.limits;
    Ok(Slices {
        pins: Pins {
            hot: limits.hot,
            cold: limits.cold,
            huge_working_set: limits.huge_working_set,
            large_working_set: limits.large_working_set,
        },
        rust: make(campaign::RUST, &toolbox.profdata)?,
        c: make(campaign::C, c_reader)?,
        c_frontend: make(campaign::C_FRONTEND, c_reader)?,
    })
}

fn make_slice(
    campaign: &Campaign,
    name: &str,
    reader: &Profdata,
    layout: &Layout,
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
    if slice.file.exists() {
        return Ok(Some(slice));
    }
    // Read it once before any compiler does: rustc only warns about a damaged profile.
    campaign.slice_text(name)?;
    fs::create_dir(&layout.slices())?;
    let fresh = tempfile::Builder::new()
        .prefix(".new-")
        .tempfile_in(layout.slices())
        .map_err(|error| FsError::new("write into", &layout.slices(), error))?;
    reader.from_text(&text, fresh.path()).run()?;
    fresh
        .persist(&slice.file)
        .map_err(|error| FsError::new("write", &slice.file, error.error))?;
    Ok(Some(slice))
}

/// What the compilers made of the profile in this build.
#[derive(Debug, Clone)]
pub struct Use {
    /// Of what this build can use: everything but code of targets that it does not build.
    pub used: Consumed,
    /// Counts in code of the workspace that this build does not contain (a bench target's, say),
    /// by crate or package.
    pub elsewhere: Vec<(String, u128)>,
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
pub fn run(plan: &PhasePlan, call: Invocation, cargo: &Cargo) -> Result<Built, OptimizeError> {
    let built = build::run(call, plan.phase.name(), cargo.message_format.as_deref())?;
    let with_c = keys::packages_with_c(&plan.state)?;
    plan.orders
        .settle_keys(&plan.state, &plan.packages, &with_c)?;
    Ok(built)
}

/// How many lost functions are named.
const LOST_SHOWN: usize = 20;

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
    let mut said = Evidence::default();
    let rust_hash = slices.rust.as_ref().map_or("", |slice| &slice.hash);
    let mut built_crates: BTreeSet<String> = BTreeSet::new();
    let mut built_packages: BTreeSet<String> = BTreeSet::new();
    for artifact in &built.artifacts {
        built_crates.insert(artifact.name.replace('-', "_"));
        if let Some(package) = workspace.by_cargo_id(&artifact.package) {
            built_packages.insert(package.id());
        }
    }
    for package in &built_packages {
        for unit in evidence::load::<RustUnit>(&plan.state, package, Language::Rust) {
            if unit.slice == rust_hash && built_crates.contains(&unit.crate_name) {
                said.merge(evidence::words(&unit.words));
            }
        }
    }
    let c_hash = slices.c.as_ref().map_or("", |slice| &slice.hash);
    let mut c_packages: BTreeSet<String> = BTreeSet::new();
    for (package, objects) in census::objects(&plan.state, &plan.target_dir, built, workspace) {
        c_packages.insert(package);
        for object in objects.iter().filter(|object| object.slice == c_hash) {
            said.merge(evidence::words(&object.words));
        }
    }

    let rust = records(campaign, campaign::RUST)?;
    let c = records(campaign, campaign::C)?;
    let owners = campaign.owners();
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
            Lang::C => match owners.get(name) {
                Some(package) if !c_packages.contains(package) && is_known(workspace, package) => {
                    Place::Elsewhere(package.clone())
                }
                Some(package) => Place::Here(package.clone()),
                None => Place::Here("C of unknown origin".to_owned()),
            },
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
            Place::Here(package) => {
                if takes_part(&package, language(&record.name)) {
                    here.push(record);
                }
            }
        }
    }
    let used = consumed::consumed(
        here,
        &said,
        language,
        |name| match place(name) {
            Place::Here(package) | Place::Elsewhere(package) => package,
        },
        LOST_SHOWN,
    );
    let mut elsewhere: Vec<(String, u128)> = elsewhere.into_iter().collect();
    elsewhere.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok(Use { used, elsewhere })
}

enum Place {
    /// This build compiles it, or should.
    Here(String),
    /// Code of the workspace's graph that this build does not contain.
    Elsewhere(String),
}

/// Functions of the standard library that a crate's compilation made.
const STD: &str = "std";

fn rust_place(name: &str, workspace: &Workspace, built: &BTreeSet<String>) -> Place {
    let (prefix, symbol) = names::split(name);
    let krate = prefix
        .and_then(Unit::parse)
        .map(|unit| unit.crate_name())
        .or_else(|| names::rust_crate(symbol));
    let Some(krate) = krate else {
        return Place::Here("main and other unmangled functions".to_owned());
    };
    if matches!(krate, "std" | "core" | "alloc") {
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

fn is_known(workspace: &Workspace, id: &str) -> bool {
    workspace.packages.iter().any(|package| package.id() == id)
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

/// Judges the share of the counts that was used; `None` where the build holds no code that
/// the profile is of.
///
/// # Errors
///
/// [`OptimizeError::Stale`] below the limit, unless that is allowed.
pub fn judge(
    share: Option<f64>,
    wanted: f64,
    allow_stale: bool,
    cause: impl FnOnce() -> String,
    ui: &Ui,
) -> Result<(), OptimizeError> {
    let used = share.unwrap_or(0.0);
    if share.is_some() && used >= wanted {
        return Ok(());
    }
    let error = OptimizeError::Stale {
        used,
        wanted,
        cause: cause(),
    };
    if allow_stale {
        ui.warn(&error);
        return Ok(());
    }
    Err(error)
}
