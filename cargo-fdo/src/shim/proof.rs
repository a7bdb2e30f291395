//! Runs a compiler so that it proves what it used of the profile.

use super::stderr;
use crate::profile::evidence::Evidence;
use crate::tool::proof;
use fdo_build::flags::sample;
use fdo_build::protocol::{Family, Proof};
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Runs it with the flags that `kind` of proof takes, and reads the proof.
pub(super) fn run(
    command: &mut Command,
    family: Family,
    kind: Proof,
    state: &Path,
) -> Result<(ExitStatus, Evidence), String> {
    match kind {
        Proof::RawCounts => stderr::run_filtered(command),
        Proof::None => Ok((status(command)?, Evidence::default())),
        Proof::Remarks | Proof::Dump => in_files(command, family, state),
    }
}

/// The compiler writes into a place of this call's own, gone afterwards.
fn in_files(
    command: &mut Command,
    family: Family,
    state: &Path,
) -> Result<(ExitStatus, Evidence), String> {
    let parent = state.join("proof");
    let fail = |error| format!("can't make a directory in `{}`: {error}", parent.display());
    std::fs::create_dir_all(&parent).map_err(fail)?;
    let dir = tempfile::tempdir_in(&parent).map_err(fail)?;
    let place = match family {
        Family::Rustc => dir.path().to_owned(),
        _ => dir.path().join("proof"),
    };
    // Before what is an input and no option, behind a `--`.
    let flags = sample::proof(family, &place);
    let args: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
    let end = args
        .iter()
        .position(|arg| arg == "--")
        .unwrap_or(args.len());
    let mut told = Command::new(command.get_program());
    told.args(&args[..end]).args(&flags).args(&args[end..]);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => told.env(name, value),
            None => told.env_remove(name),
        };
    }
    // A cache would give back the object without the file that proves it.
    told.env("CCACHE_RECACHE", "1").env("SCCACHE_RECACHE", "1");
    let status = status(&mut told)?;
    Ok((status, proof::read(family, &place)))
}

fn status(command: &mut Command) -> Result<ExitStatus, String> {
    command.status().map_err(|error| {
        let program = command.get_program().to_string_lossy();
        format!("can't start `{program}`: {error}")
    })
}
