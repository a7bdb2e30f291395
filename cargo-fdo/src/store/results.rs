//! Comparisons that were saved, by name.

use super::Layout;
use crate::comparison::Comparison;
use crate::comparison::facts::VERSION;
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The last comparison has this name.
pub const LAST: &str = "last";

/// And the last sweep this one: a report is of a comparison.
pub const LAST_SWEEP: &str = "last-sweep";

/// A result can't be saved or read.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// It can't be a file's name.
    #[error(
        "`{0}` can't name a result: only letters, digits, `-`, `_` and `.` can, after a letter or digit"
    )]
    Name(String),
    /// No file.
    #[error("there is no saved result `{name}`{}", there_is(known))]
    None {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Another version of cargo fdo wrote it.
    #[error("the result `{}` has format {found}; this cargo fdo reads {VERSION}", path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
    },
    /// It is damaged, or no result.
    #[error("`{}` is no saved result", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for ResultError {
    fn exit_code(&self) -> ExitCode {
        match self {
            ResultError::Name(_) | ResultError::None { .. } => ExitCode::Usage,
            ResultError::OtherVersion { .. } | ResultError::Damaged { .. } => ExitCode::Profile,
            ResultError::Fs(error) => error.exit_code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            ResultError::Name(_) => None,
            ResultError::None { .. } => {
                Some("`cargo fdo compare --save NAME` makes one; a path has a `/` in it".into())
            }
            ResultError::OtherVersion { .. } | ResultError::Damaged { .. } => {
                Some("measure it again: `cargo fdo compare --save NAME`".into())
            }
            ResultError::Fs(error) => error.hint(),
        }
    }
}

fn there_is(known: &[String]) -> String {
    match known {
        [] => String::new(),
        known => format!(", but `{}`", known.join("`, `")),
    }
}

/// What every version has.
#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

/// Saves a comparison under a name, in the place of an older one.
///
/// # Errors
///
/// [`ResultError`]
pub fn save(layout: &Layout, name: &str, comparison: &Comparison) -> Result<PathBuf, ResultError> {
    check_name(name)?;
    let path = file(layout, name);
    fs::create_dir(&layout.results())?;
    let text = serde_json::to_string(comparison).expect("plain data");
    fs::write_atomic(&path, text.as_bytes())?;
    Ok(path)
}

/// Whether a name can be saved under, before anything is measured.
///
/// # Errors
///
/// [`ResultError::Name`]
pub fn check_name(name: &str) -> Result<(), ResultError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain) {
        Ok(())
    } else {
        Err(ResultError::Name(name.to_owned()))
    }
}

/// Whether there is one of that name.
pub fn is_saved(layout: &Layout, name: &str) -> bool {
    check_name(name).is_ok() && file(layout, name).is_file()
}

/// Reads a saved comparison.
///
/// # Errors
///
/// [`ResultError`]
pub fn load(layout: &Layout, name: &str) -> Result<Comparison, ResultError> {
    check_name(name)?;
    let path = file(layout, name);
    match fs::read_if_there(&path)? {
        Some(text) => parse(&path, &text),
        None => Err(ResultError::None {
            name: name.to_owned(),
            known: names(layout),
        }),
    }
}

/// Reads the JSON of a comparison, with findings or without.
///
/// # Errors
///
/// [`ResultError`]
pub fn parse(path: &Path, text: &str) -> Result<Comparison, ResultError> {
    let damaged = |source| ResultError::Damaged {
        path: path.to_owned(),
        source,
    };
    let Versioned { version } = serde_json::from_str(text).map_err(damaged)?;
    if version != u64::from(VERSION) {
        return Err(ResultError::OtherVersion {
            path: path.to_owned(),
            found: version,
        });
    }
    let comparison: Comparison = serde_json::from_str(text).map_err(damaged)?;
    match wrong_in(&comparison) {
        None => Ok(comparison),
        Some(words) => Err(damaged(serde::de::Error::custom(words))),
    }
}

/// What no comparison of ours can be like, in words.
fn wrong_in(comparison: &Comparison) -> Option<String> {
    let columns = comparison.variants.len();
    if columns == 0 {
        return Some("it has no variants".into());
    }
    comparison.scenarios.iter().find_map(|scenario| {
        let metric = scenario
            .metrics
            .iter()
            .find(|metric| metric.samples.len() != columns)?;
        Some(format!(
            "`{}` of `{}` has values of {} variants, and there are {columns}",
            metric.name,
            scenario.name,
            metric.samples.len()
        ))
    })
}

fn names(layout: &Layout) -> Vec<String> {
    let files = fs::list(&layout.results()).unwrap_or_default();
    files
        .iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect()
}

fn file(layout: &Layout, name: &str) -> PathBuf {
    layout.results().join(format!("{name}.json"))
}
