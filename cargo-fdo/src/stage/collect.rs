//! Raw profiles that were made elsewhere: by hand, on another machine, in a container.

use super::lost::Losses;
use super::marks::Marks;
use super::train::RawProfiles;
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Nothing to collect.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// A path that does not exist.
    #[error("there is no `{}`", .0.display())]
    Missing(PathBuf),
    /// No raw profile below a directory.
    #[error("no `.profraw` file in `{}`", .0.display())]
    Empty(PathBuf),
    /// Files could not be listed.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for CollectError {
    fn exit_code(&self) -> ExitCode {
        match self {
            CollectError::Fs(error) => error.exit_code(),
            _ => ExitCode::Training,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            CollectError::Fs(error) => error.hint(),
            _ => Some(
                "run the program of `cargo fdo train --build-only` with \
                 LLVM_PROFILE_FILE=DIR/%p-%m.profraw and pass DIR"
                    .into(),
            ),
        }
    }
}

/// Takes files as they are named, and every `.profraw` below directories. Which processes lost
/// their counters is known where their directory had one for marks.
///
/// # Errors
///
/// [`CollectError`]
pub fn run(paths: &[PathBuf]) -> Result<RawProfiles, CollectError> {
    let mut files = Vec::new();
    let mut lost = Vec::new();
    for path in paths {
        if path.is_dir() {
            lost.extend(Marks::of(path).lost());
            let found: Vec<PathBuf> = fs::walk(path)?
                .into_iter()
                .filter(|file| is_raw(file))
                .collect();
            if found.is_empty() {
                return Err(CollectError::Empty(path.clone()));
            }
            files.extend(found);
        } else if path.is_file() {
            files.push(path.clone());
        } else {
            return Err(CollectError::Missing(path.clone()));
        }
    }
    files.sort();
    files.dedup();
    Ok(RawProfiles {
        workload: "collected".into(),
        weight: 1,
        losses: Losses::new(lost, &files),
        files,
        duration: Duration::ZERO,
    })
}

fn is_raw(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "profraw")
}
