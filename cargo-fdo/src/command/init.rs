//! `cargo fdo init`: a starter fdo.toml from what the workspace holds.

use super::Session;
use crate::cli::{InitArgs, ProjectArgs};
use crate::config::starter::{StarterFacts, starter};
use crate::error::{Diagnose, ExitCode, Result};
use crate::fs;
use std::path::PathBuf;

/// There is one already.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is there already", .0.display())]
struct Exists(PathBuf);

impl Diagnose for Exists {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Usage
    }

    fn hint(&self) -> Option<String> {
        Some("`cargo fdo init --print` shows the starter without writing it".into())
    }
}

/// Runs it.
///
/// # Errors
///
/// If there is an fdo.toml, or none can be written.
pub fn run(args: &InitArgs, toolchain: Option<String>) -> Result<()> {
    let project = ProjectArgs {
        manifest_path: args.manifest_path.clone(),
        ..ProjectArgs::default()
    };
    let session = Session::of_project(project, toolchain)?;
    let members = session
        .workspace
        .packages
        .iter()
        .filter(|package| package.is_member);
    let mut facts = StarterFacts::default();
    for member in members {
        facts.bins.extend(member.bins.iter().cloned());
        facts.examples.extend(member.examples.iter().cloned());
        facts.benches.extend(member.benches.iter().cloned());
    }
    facts.c_packages = session
        .workspace
        .packages
        .iter()
        .filter(|package| package.links.is_some() && package.has_build_script)
        .map(|package| package.name.clone())
        .collect();
    let text = starter(&facts);
    if args.print {
        session.ui.data(text.trim_end());
        return Ok(());
    }
    let path = session.workspace.root.join(crate::config::FILE);
    if path.exists() {
        return Err(Exists(path).into());
    }
    fs::write_atomic(&path, text.as_bytes())?;
    session.ui.status("Created", path.display());
    session
        .ui
        .note("`cargo fdo doctor` checks the tools, `cargo fdo train` uses the file");
    Ok(())
}
