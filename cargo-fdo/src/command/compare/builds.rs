//! Runs the builds of a comparison: by plain cargo, and with the profile.

use crate::command::Session;
use crate::command::build::{Purpose, optimized};
use crate::error::Result;
use crate::plan::PhasePlan;
use crate::settings::Cargo;
use crate::stage::build::{self, BuildError, Built};
use crate::stage::cmake;
use crate::stage::train::BuildCommand;
use crate::store::Campaign;
use crate::tool::Invocation;

/// Cargo as the user would call it: nothing of ours, into the user's own target directory.
pub(super) fn plain_call(cargo: &Cargo, subcommand: &str) -> Invocation {
    let mut call = cargo
        .command(subcommand)
        .args(["--profile", &cargo.profile]);
    if cargo.other_target.is_some() {
        call = call.args(["--target", &cargo.target_argument]);
    }
    if let Some(dir) = &cargo.target_dir {
        call = call.arg("--target-dir").arg(dir);
    }
    call.args(&cargo.build_options).args(&cargo.output_options)
}

/// `None` after a dry run.
pub(super) fn plain(session: &Session, commands: &[BuildCommand]) -> Result<Option<Built>> {
    let mut all = Built::default();
    let dir = session.layout.release();
    for project in &session.projects {
        let tree = project.plain(&dir);
        if session.settings.dry_run {
            session
                .ui
                .data(tree.configure(tree.project.build_type.as_deref()));
            session.ui.data(tree.build(None, false));
            continue;
        }
        let logs = dir.join("logs");
        let built = cmake::run_plain(&tree, &logs, &session.ui);
        all.absorb(built.map_err(BuildError::from)?);
    }
    for command in commands {
        let call = plain_call(&session.cargo, command.subcommand).args(&command.selection);
        if session.settings.dry_run {
            session.ui.data(call);
            continue;
        }
        all.absorb(build::run(call, "release", None)?);
    }
    Ok((!session.settings.dry_run).then_some(all))
}

/// The build, its plan, and the C compiler; `None` after a dry run.
pub(super) fn with_profile(
    session: &Session,
    commands: &[BuildCommand],
    is_all: bool,
) -> Result<Option<(Built, PhasePlan, Option<String>)>> {
    let other;
    let session = if is_all {
        session
    } else {
        other = session.rust_only();
        &other
    };
    let done = optimized(session, Purpose::Run, commands)?;
    let Some((all, plan)) = done else {
        return Ok(None);
    };
    let campaign = Campaign::current(&session.layout, &session.cargo.target)?;
    let toolbox = session.toolbox(campaign.manifest.method)?;
    let version = Some(toolbox.c.version).filter(|version| !version.is_empty());
    Ok(Some((all, plan, version)))
}
