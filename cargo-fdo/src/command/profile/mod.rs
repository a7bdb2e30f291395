//! `cargo fdo profile`: merges, shows, compares and converts profile files of every kind we know,
//! in or outside of a project.

mod convert;
mod diff;
mod error;
mod input;
mod llvm;
mod merge;
mod show;

pub use error::ProfileError;

use crate::cli::CargoArgs;
use crate::cli::profile::{ProfileArgs, ProfileCommand};
use crate::error::Result;
use crate::fs::{self, FsError};
use crate::settings;
use std::io::Write as _;
use std::path::Path;

/// Runs it.
///
/// # Errors
///
/// If a file can't be read, made sense of or written.
pub fn run(args: &ProfileArgs, toolchain: Option<&str>) -> Result<()> {
    let ui = settings::ui(&CargoArgs::default());
    match &args.command {
        ProfileCommand::Merge(args) => merge::run(args, toolchain, &ui),
        ProfileCommand::Show(args) => show::run(args, toolchain, &ui),
        ProfileCommand::Diff(args) => diff::run(args, toolchain, &ui),
        ProfileCommand::Convert(args) => convert::run(args, toolchain, &ui),
    }
}

/// Writes a profile where the user wants it; `-` is stdout.
fn put(output: &Path, profile: &[u8]) -> Result<()> {
    if output == Path::new("-") {
        let mut stdout = std::io::stdout().lock();
        let written = stdout.write_all(profile).and_then(|()| stdout.flush());
        return Ok(written.map_err(|error| FsError::new("write to", Path::new("stdout"), error))?);
    }
    let dir = output.parent().filter(|dir| !dir.as_os_str().is_empty());
    if let Some(dir) = dir.filter(|dir| !dir.is_dir()) {
        let error = std::io::ErrorKind::NotFound.into();
        return Err(FsError::new("write into", dir, error).into());
    }
    Ok(fs::write_atomic(output, profile)?)
}
