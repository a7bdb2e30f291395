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
use crate::settings;

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
