//! Reads recordings, and says which files in them matter.

use super::workload::OfOneWorkload;
use crate::error::{Diagnose, ExitCode};
use crate::fs::FsError;
use crate::profile::sample::read::{self, Selection};
use crate::profile::sample::recording::Recording;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A recording is of no use.
#[derive(Debug, thiserror::Error)]
pub enum ReadingError {
    /// It can't be read.
    #[error("`{}` can't be read as a recording", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Nothing is in it.
    #[error("`{}` holds no samples{}", path.display(), kernel_only(*kernel))]
    Empty {
        /// The file.
        path: PathBuf,
        /// Samples in the kernel, which are of no use here.
        kernel: u64,
    },
    /// It can't be opened.
    #[error(transparent)]
    Fs(#[from] FsError),
}

fn kernel_only(samples: u64) -> String {
    match samples {
        0 => String::new(),
        _ => format!(" of programs, only {samples} of the kernel"),
    }
}

impl Diagnose for ReadingError {
    fn exit_code(&self) -> ExitCode {
        match self {
            ReadingError::Unreadable { .. } => ExitCode::Profile,
            ReadingError::Empty { .. } => ExitCode::Training,
            ReadingError::Fs(error) => error.exit_code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            ReadingError::Unreadable { .. } => None,
            ReadingError::Empty { .. } => Some(
                "did the program run, and use the processor for more than some milliseconds? \
                 A program that waits is not sampled; words of perf above, as of a `buffer` \
                 that it did not get, say more"
                    .into(),
            ),
            ReadingError::Fs(error) => error.hint(),
        }
    }
}

impl OfOneWorkload for ReadingError {
    fn is_of_one_workload(&self) -> bool {
        !matches!(self, ReadingError::Fs(_))
    }
}

/// That there are samples in a recording, where that is quickly seen: one without any is small.
///
/// # Errors
///
/// [`ReadingError`]
pub fn check_small(path: &Path) -> Result<(), ReadingError> {
    const SMALL: u64 = 4 << 20;
    let data = path.metadata();
    if data
        .map_err(|error| FsError::new("read", path, error))?
        .len()
        > SMALL
    {
        return Ok(());
    }
    check_samples(&recording(path)?, path)
}

/// Reads a recording.
///
/// # Errors
///
/// [`ReadingError`]
pub fn recording(path: &Path) -> Result<Recording, ReadingError> {
    let file = File::open(path).map_err(|error| FsError::new("read", path, error))?;
    read::read(file, &Selection::default()).map_err(|error| ReadingError::Unreadable {
        path: path.to_owned(),
        source: Box::new(error),
    })
}

/// That there are samples of programs.
///
/// # Errors
///
/// [`ReadingError::Empty`]
pub fn check_samples(recording: &Recording, path: &Path) -> Result<(), ReadingError> {
    if recording.samples > recording.kernel_samples {
        return Ok(());
    }
    Err(ReadingError::Empty {
        path: path.to_owned(),
        kernel: recording.kernel_samples,
    })
}
