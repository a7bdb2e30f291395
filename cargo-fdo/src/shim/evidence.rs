//! What the shims saw, for the stages to judge: one small file for each compiled unit.
//!
//! Written after the compiler succeeded, under a temporary name first: a unit whose evidence
//! is missing counts as not proven.

pub use super::treatment::Treatment;
use crate::profile::digest;
use crate::profile::evidence::Evidence;
use crate::profile::object_file;
use fdo_build::protocol::{self, Language};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::Write;
use std::path::{Path, PathBuf};

/// One crate that rustc compiled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RustUnit {
    /// `--crate-name`.
    pub crate_name: String,
    /// Crate name and extra file name: how cargo's artifacts are called.
    pub unit: String,
    /// Where rustc put what it made.
    pub out_dir: PathBuf,
    /// The slice it was compiled with; empty where there was none.
    pub slice: String,
    /// The number of codegen units that cargo asked for; 0 where it left that to rustc.
    pub codegen_units: u32,
    /// What the compiler said of the profile, as [`Evidence::to_text`] writes it.
    pub words: String,
}

/// One object that a C compiler made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CObject {
    /// The object file, absolute.
    pub output: PathBuf,
    /// What it holds, by [`object_file::code_id`]: what is at that place later may be another
    /// compiler's.
    pub code: String,
    /// The source, absolute.
    pub source: String,
    /// The compiler, as run.
    pub compiler: String,
    /// What was done.
    pub treatment: Treatment,
    /// [`Treatment::stamp`] of the order that it was done by.
    #[serde(default)]
    pub stamp: String,
    /// The slice it was compiled with; empty where there was none.
    pub slice: String,
    /// Profile flags of others (forwarded by the cc crate, say) that were taken off.
    pub removed: Vec<String>,
    /// Names of the functions that have counters; in the sample phase, of all functions.
    pub counted: Vec<String>,
    /// What the compiler said of the profile, as [`Evidence::to_text`] writes it.
    pub words: String,
}

impl RustUnit {
    /// What this compilation may have made, by cargo's rules for names.
    pub fn outputs(&self) -> impl Iterator<Item = PathBuf> {
        let unit = &self.unit;
        [
            format!("lib{unit}.rlib"),
            format!("lib{unit}.rmeta"),
            format!("lib{unit}.a"),
            format!("lib{unit}.so"),
            format!("lib{unit}.dylib"),
            unit.clone(),
            format!("{unit}.exe"),
            format!("{unit}.dll"),
            format!("{unit}.lib"),
        ]
        .into_iter()
        .map(|name| self.out_dir.join(name))
    }

    /// Writes the evidence of this unit, over that of its last compilation.
    pub(super) fn save(&self, state: &Path, package: &str) -> Result<(), String> {
        save(
            &protocol::evidence_dir(state, package, Language::Rust),
            &self.unit,
            self,
        )
    }
}

impl CObject {
    /// Whether the file is still what this compilation made.
    pub fn is_there(&self) -> bool {
        std::fs::read(&self.output).is_ok_and(|bytes| object_file::code_id(&bytes) == self.code)
    }

    /// Writes the evidence of this object, over that of its last compilation.
    pub(super) fn save(&self, state: &Path, package: &str) -> Result<(), String> {
        let name = digest::short(self.output.as_os_str().as_encoded_bytes(), 8);
        save(
            &protocol::evidence_dir(state, package, Language::C),
            &name,
            self,
        )
    }
}

/// What a compiler said; words that can't be read prove nothing.
pub fn words(text: &str) -> Evidence {
    Evidence::parse(text).unwrap_or_default()
}

fn save(dir: &Path, name: &str, value: &impl Serialize) -> Result<(), String> {
    let fail =
        |error: std::io::Error| format!("can't write evidence into `{}`: {error}", dir.display());
    std::fs::create_dir_all(dir).map_err(fail)?;
    let text = serde_json::to_vec(value).map_err(|error| fail(error.into()))?;
    let mut file = tempfile::NamedTempFile::new_in(dir).map_err(fail)?;
    file.write_all(&text).map_err(fail)?;
    file.persist(dir.join(format!("{name}.json")))
        .map_err(|error| fail(error.error))?;
    Ok(())
}

/// The first file of evidence in a phase's state that can't be read.
pub fn damaged(state: &Path) -> Option<PathBuf> {
    crate::fs::walk(&state.join("evidence"))
        .unwrap_or_default()
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .find(|path| {
            let value = std::fs::read(path)
                .ok()
                .and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
            value.is_none()
        })
}

/// All evidence of one kind that was left for one package; files that can't be read are
/// skipped, and so prove nothing.
pub fn load<T: DeserializeOwned>(state: &Path, package: &str, language: Language) -> Vec<T> {
    let dir = protocol::evidence_dir(state, package, language);
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    paths.sort();
    paths
        .iter()
        .filter_map(|path| serde_json::from_slice(&std::fs::read(path).ok()?).ok())
        .collect()
}
