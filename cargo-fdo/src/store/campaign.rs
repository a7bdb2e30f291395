//! One training, on disk: its manifest and its profiles.

mod binaries;

pub use binaries::{BinaryEntry, CmakeTarget, WorkloadShare};

use super::Layout;
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// There is no campaign to use, or it does not fit.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// Nothing was trained.
    #[error("there is no profile for {target} in `{}`", root.display())]
    None {
        /// The triple.
        target: String,
        /// Where it would be.
        root: PathBuf,
    },
    /// `current` names a campaign that is not there.
    #[error("`{}` names the profile `{id}`, which is not there", path.display())]
    Gone {
        /// The file that names it.
        path: PathBuf,
        /// The name.
        id: String,
    },
    /// Another version of cargo fdo made it.
    #[error("the profile's manifest `{}` has format {found}; this cargo fdo reads {VERSION}", path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Its manifest is damaged.
    #[error("the profile's manifest `{}` can't be read", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
    /// A profile of it is damaged.
    #[error("the profile `{}` is damaged: it is not what the training wrote", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// A profile of it can't be read.
    #[error("a part of the profile can't be read")]
    Unreadable(#[source] FsError),
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for CampaignError {
    fn exit_code(&self) -> ExitCode {
        match self {
            CampaignError::None { .. } | CampaignError::Gone { .. } => ExitCode::Training,
            CampaignError::OtherVersion { .. }
            | CampaignError::Manifest { .. }
            | CampaignError::Damaged { .. }
            | CampaignError::Unreadable(_) => ExitCode::Profile,
            CampaignError::Fs(error) => error.exit_code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            CampaignError::None { .. } => Some(
                "run `cargo fdo train --workload bench` first (or `test`, `run`, `example:NAME`, \
                 or a workload of fdo.toml)"
                    .into(),
            ),
            CampaignError::Fs(error) => error.hint(),
            _ => Some(AGAIN.into()),
        }
    }
}

const AGAIN: &str = "run `cargo fdo train` again";

/// Everything about a campaign but the counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Of this format.
    pub version: u32,
    /// Name of the campaign: a hash of its slices and its tools.
    pub id: String,
    /// How its counts were gathered.
    pub method: Method,
    /// When it was made, seconds since 1970.
    pub made: u64,
    /// The target triple.
    pub target: String,
    /// The cargo profile of the instrumented build.
    pub profile: String,
    /// `rustc -vV`.
    pub rustc: String,
    /// The C compiler, if it was profiled.
    pub c_compiler: Option<String>,
    /// The workloads.
    pub workloads: Vec<WorkloadEntry>,
    /// Workloads that were to be in it, and failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedEntry>,
    /// Raw files merged; recordings in a sampled campaign.
    pub raw_files: usize,
    /// Raw files set aside.
    pub quarantined: usize,
    /// Hot and cold limits of the whole profile.
    pub limits: LimitsEntry,
    /// Into how many codegen units rustc divided the crates.
    pub partition: Partition,
    /// Functions in it.
    pub functions: u64,
    /// Functions with a count above zero.
    pub functions_executed: u64,
    /// Blocks.
    pub blocks: u64,
    /// Blocks that make up 99 % of the counts.
    pub hot_blocks: u64,
    /// Whether the training exercised nearly nothing.
    pub thin: bool,
    /// Sum of all counts.
    pub total: u128,
    /// The hottest functions, with their greatest counts.
    pub hottest: Vec<(String, u64)>,
    /// Content hashes of the slices, by name.
    pub slices: BTreeMap<String, String>,
    /// The C and C++ of the instrumented program; empty where nothing was built for the training,
    /// or an earlier version wrote this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub c_objects: Vec<CEntry>,
    /// Programs and shared libraries that have counts, most first, and those that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub binaries: Vec<BinaryEntry>,
    /// What was sampled; of sampled campaigns only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
}

/// How a campaign's counts were gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// By counters that were compiled in.
    Instrument,
    /// By perf, from the running program.
    Sample,
}

impl Method {
    /// The name in manifests and messages.
    pub fn name(self) -> &'static str {
        match self {
            Method::Instrument => "instrument",
            Method::Sample => "sample",
        }
    }

    /// How names of profile texts end: each form is what the compilers' own tools call it.
    fn ending(self) -> &'static str {
        match self {
            Method::Instrument => "proftext",
            Method::Sample => "sample.txt",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a sampled campaign's recordings were like.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sampling {
    /// perf's name of the event, such as `cycles:u`.
    pub event: String,
    /// Whether the samples carry branch stacks.
    pub branch_stacks: bool,
    /// Samples in all recordings.
    pub samples: u64,
    /// Samples that perf had to drop.
    pub lost: u64,
    /// Share of the samples of this program's images that became part of the profile, 0 to 1.
    pub mapped: f64,
    /// How many times as long a recording would have enough samples of all hot code; 1 if this one
    /// has.
    #[serde(default)]
    pub longer: f64,
}

/// The C and C++ of one package in the program that was trained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CEntry {
    /// `name-version`.
    pub package: String,
    /// Objects that went through our compiler.
    pub objects: usize,
    /// Of them, with counters.
    pub instrumented: usize,
    /// Of them, left out by the user's file.
    pub excluded: usize,
    /// Objects that something else compiled.
    pub unseen: usize,
}

/// One workload of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadEntry {
    /// Its name.
    pub name: String,
    /// What its counts weigh.
    pub weight: u32,
    /// Raw files.
    pub files: usize,
    /// Instrumented processes that ended without saving their counters.
    #[serde(default)]
    pub lost_processes: usize,
    /// How long it ran, seconds.
    pub seconds: f64,
    /// How much slower than a plain run, where that was measured.
    pub slowdown: Option<f64>,
}

/// A workload that failed while others trained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedEntry {
    /// Its name.
    pub name: String,
    /// What happened.
    pub words: String,
}

/// The limits, in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LimitsEntry {
    /// Counts from here on are hot.
    pub hot: u64,
    /// Counts up to here are cold.
    pub cold: u64,
    /// Over 15,000 hot blocks.
    pub huge_working_set: bool,
    /// Over 12,500 hot blocks.
    pub large_working_set: bool,
}

/// What every version of a manifest has.
#[derive(Deserialize)]
struct Format {
    version: u32,
}

/// Into how many codegen units rustc divided the crates of a training; 0 is rustc's own choice.
///
/// It decides what LLVM sees together, so what it inlines before it puts counters in, so the
/// control flow that is counted: on a program of a dozen crates, of a profile trained with 16
/// units a build with 4 could use 59 % and one with a single unit 10 %. A profile is of its
/// partition, and is used with it until the next training.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Partition {
    /// Of most packages; `None` if nothing is known.
    pub common: Option<u32>,
    /// Of the others, by name.
    pub others: BTreeMap<String, u32>,
}

impl Partition {
    /// From the packages' names and numbers. A package that has several keeps the least.
    pub fn of<'a>(units: impl IntoIterator<Item = (&'a str, u32)>) -> Partition {
        let mut by_package: BTreeMap<&str, u32> = BTreeMap::new();
        for (package, number) in units {
            let least = by_package.entry(package).or_insert(number);
            *least = number.min(*least);
        }
        let mut votes: BTreeMap<u32, usize> = BTreeMap::new();
        for number in by_package.values() {
            *votes.entry(*number).or_default() += 1;
        }
        let common = votes
            .into_iter()
            .max_by_key(|(_, votes)| *votes)
            .map(|(number, _)| number);
        let others = by_package
            .into_iter()
            .filter(|(_, number)| Some(*number) != common)
            .map(|(package, number)| (package.to_owned(), number))
            .collect();
        Partition { common, others }
    }

    /// The number of a package's crates; that of most for one that the training did not have.
    pub fn of_package(&self, name: &str) -> Option<u32> {
        self.others.get(name).copied().or(self.common)
    }
}

/// C functions by their names in the profile.
pub type Owners = BTreeMap<String, Owner>;

/// Where a C function is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The package's name, which stays when its version changes.
    pub package: String,
    /// The source, relative to the package's directory where it is in there; of an inline
    /// function that several have, the first.
    pub source: String,
    /// The target of cmake's that it was compiled for, if cmake built it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Programs and shared libraries of cmake's that it was compiled for besides.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub also: BTreeSet<String>,
}

/// The version of [`Manifest`].
pub const VERSION: u32 = 1;

// Slices, and what is in them by method:
//
// Slice        | `instrument`                | `sample`
// -------------|-----------------------------|------------------------------------------------
// `RUST`       | LLVM's text, rustc's counts | LLVM's sample text, of code that rustc compiled
// `C`          | the same for clang          | the same for clang
// `C_FRONTEND` | front-end counters          | never
// `GCC`        | never                       | LLVM's sample text with gcc's discriminators

/// The slice for rustc.
pub const RUST: &str = "rust";
/// The slice for clang.
pub const C: &str = "c";
/// The slice for clang, front-end counters.
pub const C_FRONTEND: &str = "c-frontend";
/// The slice for gcc: samples only.
///
/// Kept as LLVM's sample text (names as gcc looks for them, discriminators as DWARF has them), and
/// written as an AutoFDO file of the version that this run's gcc reads when it is used: another gcc
/// may read another version.
pub const GCC: &str = "gcc";
/// Everything that is LLVM's.
const WHOLE: &str = "merged";
const OWNERS: &str = "c-owners.json";
const MANIFEST: &str = "manifest.json";

/// What names of unfinished campaigns begin with.
const FRESH: &str = ".new-";

/// How many campaigns are kept.
const KEPT: usize = 5;

/// A campaign on disk.
#[derive(Debug, Clone)]
pub struct Campaign {
    dir: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
}

/// What a campaign is made of.
#[derive(Debug)]
pub struct Content<'a> {
    /// The manifest.
    pub manifest: &'a Manifest,
    /// Slices by name, in the form that the method asks for.
    pub slices: Vec<(&'a str, &'a str)>,
    /// Profiles of single binaries, by name, in the same form.
    pub binaries: Vec<(&'a str, &'a str)>,
    /// The whole profile as LLVM's text; empty if none of it is LLVM's.
    pub whole: &'a str,
    /// Where C functions are from.
    pub owners: &'a Owners,
}

impl Campaign {
    /// Publishes a campaign and makes it the current one.
    ///
    /// # Errors
    ///
    /// If it can't be written; the current one stays then.
    pub fn publish(layout: &Layout, content: &Content<'_>) -> Result<Campaign, CampaignError> {
        let manifest = content.manifest;
        let dir = layout.campaign(&manifest.id);
        fs::create_dir(&layout.campaigns())?;
        // Left by a run that was killed here; we hold the lock.
        for left in fs::list(&layout.campaigns())? {
            let name = left.file_name().unwrap_or_default().as_encoded_bytes();
            if name.starts_with(FRESH.as_bytes()) {
                fs::remove_ours(layout.root(), &left)?;
            }
        }
        let fresh = tempfile::Builder::new()
            .prefix(FRESH)
            .tempdir_in(layout.campaigns())
            .map_err(|error| FsError::new("make a directory in", &layout.campaigns(), error))?;
        for (name, text) in content.slices.iter().chain(&content.binaries) {
            let file = file_name(name, manifest.method);
            fs::write_atomic(&fresh.path().join(file), text.as_bytes())?;
        }
        let whole = file_name(WHOLE, manifest.method);
        fs::write_atomic(&fresh.path().join(whole), content.whole.as_bytes())?;
        let json = |value: &dyn erased::Json| value.text();
        fs::write_atomic(&fresh.path().join(OWNERS), json(content.owners).as_bytes())?;
        fs::write_atomic(&fresh.path().join(MANIFEST), json(manifest).as_bytes())?;
        if dir.exists() {
            // The same training again: the manifest is newer, and what was damaged is whole again.
            for file in fs::list(fresh.path())? {
                let name = file.file_name().unwrap_or_default();
                fs::write_if_changed(&dir.join(name), &fs::read(&file)?)?;
            }
        } else {
            let path = fresh.keep();
            std::fs::rename(&path, &dir).map_err(|error| FsError::new("publish", &dir, error))?;
        }
        fs::write_atomic(&layout.current(), format!("{}\n", manifest.id).as_bytes())?;
        collect_garbage(layout, &manifest.id)?;
        Ok(Campaign {
            dir,
            manifest: manifest.clone(),
        })
    }

    /// The campaign that `build` uses.
    ///
    /// # Errors
    ///
    /// [`CampaignError`]: none, or damaged.
    pub fn current(layout: &Layout, target: &str) -> Result<Campaign, CampaignError> {
        let none = || CampaignError::None {
            target: target.to_owned(),
            root: layout.root().to_owned(),
        };
        let id = fs::read_if_there(&layout.current())
            .map_err(CampaignError::Unreadable)?
            .ok_or_else(none)?;
        Campaign::named(layout, id.trim())
    }

    /// A campaign by its id.
    ///
    /// # Errors
    ///
    /// [`CampaignError`]: gone, or damaged.
    pub fn named(layout: &Layout, id: &str) -> Result<Campaign, CampaignError> {
        let gone = || CampaignError::Gone {
            path: layout.current(),
            id: id.to_owned(),
        };
        // A name of ours, so that nothing outside is taken for a campaign.
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(gone());
        }
        let dir = layout.campaign(id);
        let path = dir.join(MANIFEST);
        let text = fs::read_if_there(&path)
            .map_err(CampaignError::Unreadable)?
            .ok_or_else(gone)?;
        // The version first: another one may have other fields.
        match serde_json::from_str(&text) {
            Ok(Format { version: VERSION }) => {}
            Ok(Format { version: found }) => {
                return Err(CampaignError::OtherVersion { path, found });
            }
            Err(source) => return Err(CampaignError::Manifest { path, source }),
        }
        let manifest = serde_json::from_str(&text)
            .map_err(|source| CampaignError::Manifest { path, source })?;
        Ok(Campaign { dir, manifest })
    }

    /// A slice's file and content hash.
    pub fn slice(&self, name: &str) -> Option<(PathBuf, &str)> {
        let hash = self.manifest.slices.get(name)?;
        let file = file_name(name, self.manifest.method);
        Some((self.dir.join(file), hash))
    }

    /// A slice's text, checked against its hash.
    ///
    /// # Errors
    ///
    /// If it can't be read or was changed.
    pub fn slice_text(&self, name: &str) -> Result<Option<String>, CampaignError> {
        let Some((path, hash)) = self.slice(name) else {
            return Ok(None);
        };
        let text = fs::read(&path).map_err(CampaignError::Unreadable)?;
        if crate::profile::slice::content_hash(&text) != hash {
            return Err(CampaignError::Damaged { path });
        }
        Ok(Some(text))
    }

    /// Where C functions are from.
    ///
    /// # Errors
    ///
    /// If it can't be read or is damaged.
    pub fn owners(&self) -> Result<Owners, CampaignError> {
        let path = self.dir.join(OWNERS);
        let text = fs::read(&path).map_err(CampaignError::Unreadable)?;
        serde_json::from_str(&text).map_err(|_| CampaignError::Damaged { path })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

/// Where C functions are from, of the campaign that a profile file is in; `None` elsewhere.
pub fn owners_beside(file: &Path) -> Option<Owners> {
    let text = fs::read_if_there(&file.parent()?.join(OWNERS)).ok()??;
    serde_json::from_str(&text).ok()
}

/// The file of a profile, by its name, in a campaign's directory.
pub fn file_name(name: &str, method: Method) -> String {
    format!("{name}.{}", method.ending())
}

mod erased {
    use serde::Serialize;

    pub(super) trait Json {
        fn text(&self) -> String;
    }

    impl<T: Serialize> Json for T {
        fn text(&self) -> String {
            serde_json::to_string_pretty(self).expect("plain data")
        }
    }
}

/// Keeps the newest campaigns and the slices that they name.
fn collect_garbage(layout: &Layout, current: &str) -> Result<(), FsError> {
    let mut campaigns: Vec<(u64, PathBuf, Manifest)> = fs::list(&layout.campaigns())?
        .into_iter()
        .filter_map(|dir| {
            let text = fs::read_if_there(&dir.join(MANIFEST)).ok()??;
            let manifest: Manifest = serde_json::from_str(&text).ok()?;
            Some((manifest.made, dir, manifest))
        })
        .collect();
    campaigns.sort_by_key(|(made, ..)| std::cmp::Reverse(*made));
    let (kept, old): (Vec<_>, Vec<_>) = campaigns
        .into_iter()
        .enumerate()
        .partition(|(at, (_, _, manifest))| *at < KEPT || manifest.id == current);
    for (_, (_, dir, _)) in old {
        fs::remove_ours(layout.root(), &dir)?;
    }
    let named: Vec<String> = kept
        .into_iter()
        .flat_map(|(_, (_, _, manifest))| manifest.slices.into_values())
        .collect();
    for path in fs::list(&layout.slices())? {
        let is_named = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| named.iter().any(|hash| name.starts_with(hash.as_str())));
        if !is_named {
            std::fs::remove_file(&path).map_err(|error| FsError::new("remove", &path, error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_that_of_most_packages_and_of_the_others() {
        let partition = Partition::of([("a", 16), ("b", 1), ("c", 16), ("b", 4)]);
        assert_eq!(partition.of_package("a"), Some(16));
        assert_eq!(partition.of_package("b"), Some(1));
        assert_eq!(partition.of_package("new"), Some(16));
        assert_eq!(Partition::of([]).of_package("a"), None);
    }
}
