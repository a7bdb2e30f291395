//! Throw-away directories for probes, inside a directory that the caller names.

use crate::fs::{self, FsError};
use std::path::Path;
use tempfile::TempDir;

/// A new directory below `parent`, gone with the value.
pub(crate) fn dir(parent: &Path) -> Result<TempDir, FsError> {
    fs::create_dir(parent)?;
    tempfile::Builder::new()
        .prefix("probe-")
        .tempdir_in(parent)
        .map_err(|error| FsError::new("create a directory in", parent, error))
}

/// Writes a file that nobody needs after a crash, so without waiting for the disk.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), FsError> {
    std::fs::write(path, text).map_err(|error| FsError::new("write", path, error))
}
