//! One training, on disk: its manifest and its profiles.

use super::Layout;
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    #[error("the profile `{}` is damaged: its content does not match its name", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for CampaignError {
    fn exit_code(&self) -> ExitCode {
        match self {
            CampaignError::None { .. } => ExitCode::Training,
            CampaignError::Manifest { .. } | CampaignError::Damaged { .. } => ExitCode::Profile,
            CampaignError::Fs(_) => ExitCode::Profile,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            CampaignError::None { .. } => Some(
                "run `cargo fdo train --workload bench` first (or `test`, `run`, `example:NAME`, \
                 or a workload of fdo.toml)"
                    .into(),
            ),
            CampaignError::Fs(error) => error.hint().or_else(|| Some(AGAIN.into())),
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
    /// `instrument` or `sample`.
    pub method: String,
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
    /// Raw files merged.
    pub raw_files: usize,
    /// Raw files set aside.
    pub quarantined: usize,
    /// Hot and cold limits of the whole profile.
    pub limits: LimitsEntry,
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
    /// How long it ran, seconds.
    pub seconds: f64,
    /// How much slower than a plain run, where that was measured.
    pub slowdown: Option<f64>,
}

/// The limits, in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// The version of [`Manifest`].
pub const VERSION: u32 = 1;

/// The slice for rustc.
pub const RUST: &str = "rust";
/// The slice for clang.
pub const C: &str = "c";
/// The slice for clang, front-end counters.
pub const C_FRONTEND: &str = "c-frontend";
const WHOLE: &str = "merged.proftext";
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
    /// Slices by name.
    pub slices: Vec<(&'static str, &'a str)>,
    /// The whole profile as text.
    pub whole: &'a str,
    /// C function → package.
    pub owners: &'a BTreeMap<String, String>,
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
        for (name, text) in &content.slices {
            fs::write_atomic(&fresh.path().join(slice_name(name)), text.as_bytes())?;
        }
        fs::write_atomic(&fresh.path().join(WHOLE), content.whole.as_bytes())?;
        let json = |value: &dyn erased::Json| value.text();
        fs::write_atomic(&fresh.path().join(OWNERS), json(content.owners).as_bytes())?;
        fs::write_atomic(&fresh.path().join(MANIFEST), json(manifest).as_bytes())?;
        if dir.exists() {
            // The same training again: only the manifest may be newer.
            fs::write_atomic(&dir.join(MANIFEST), json(manifest).as_bytes())?;
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
        let id = fs::read_if_there(&layout.current())?.ok_or_else(none)?;
        let dir = layout.campaign(id.trim());
        let path = dir.join(MANIFEST);
        let text = fs::read_if_there(&path)?.ok_or_else(none)?;
        let manifest = serde_json::from_str(&text)
            .map_err(|source| CampaignError::Manifest { path, source })?;
        Ok(Campaign { dir, manifest })
    }

    /// A slice's file and content hash.
    pub fn slice(&self, name: &str) -> Option<(PathBuf, &str)> {
        let hash = self.manifest.slices.get(name)?;
        Some((self.dir.join(slice_name(name)), hash))
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
        let text = fs::read(&path)?;
        if crate::profile::slice::content_hash(&text) != hash {
            return Err(CampaignError::Damaged { path });
        }
        Ok(Some(text))
    }

    /// C function → package.
    pub fn owners(&self) -> BTreeMap<String, String> {
        fs::read_if_there(&self.dir.join(OWNERS))
            .ok()
            .flatten()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn slice_name(name: &str) -> String {
    format!("{name}.proftext")
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
