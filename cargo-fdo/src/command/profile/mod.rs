//! `cargo fdo profile`: merges, shows, compares and converts profile files of every kind we know,
//! in or outside of a project.

pub(super) mod convert;
mod diff;
mod error;
pub(super) mod input;
pub(super) mod llvm;
mod merge;
mod packages;
mod show;

pub use error::ProfileError;

use crate::cli::CargoArgs;
use crate::cli::profile::{ProfileArgs, ProfileCommand};
use crate::error::Result;
use crate::fs::{self, FsError};
use crate::profile::shares::{self, Counts};
use crate::settings;
use input::Content;
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

/// Each function's own counts, by symbol.
pub(super) fn shares_of(content: &Content) -> Counts {
    let mut counts = Counts::new();
    match content {
        Content::Instr(profile) => shares::add_records(&mut counts, &profile.records),
        Content::LlvmSample(profile) => shares::add_samples(&mut counts, profile),
        Content::GccSample(file) => shares::add_samples(&mut counts, &file.profile),
    }
    counts
}

/// Writes a profile where the user wants it; `-` is stdout.
fn put(output: &Path, profile: &[u8]) -> Result<()> {
    if output == Path::new("-") {
        let mut stdout = std::io::stdout().lock();
        let written = stdout.write_all(profile).and_then(|()| stdout.flush());
        return Ok(written.map_err(|error| FsError::new("write to", Path::new("stdout"), error))?);
    }
    Ok(fs::write_output(output, profile)?)
}
