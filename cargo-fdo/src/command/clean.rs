//! `cargo fdo clean`: removes what cargo fdo made, and nothing else.

use super::{RUST_ONLY, Session};
use crate::cli::CleanArgs;
use crate::error::Result;
use crate::fs;
use fdo_build::protocol::Phase;

/// Runs it.
///
/// # Errors
///
/// If something can't be removed.
pub fn run(args: &CleanArgs, toolchain: Option<String>) -> Result<()> {
    let session = Session::of_project(args.project.clone(), toolchain)?;
    if !session.layout.root().exists() {
        session.ui.note("there is nothing of cargo fdo here");
        return Ok(());
    }
    let _lock = session.lock()?;
    let layout = &session.layout;
    let mut ours = vec![layout.raw(), layout.tmp()];
    for phase in Phase::ALL {
        ours.push(layout.phase_dir(phase));
        ours.push(layout.state(phase));
    }
    let rust_only = layout.variant(RUST_ONLY);
    ours.push(rust_only.phase_dir(Phase::Optimize));
    ours.push(rust_only.state(Phase::Optimize));
    if !args.keep_profiles {
        ours.push(layout.results());
        // Raw profiles of programs run by hand may still be collected.
        ours.push(layout.raw_by_hand());
        ours.push(layout.campaigns());
        ours.push(layout.slices());
    }
    for dir in ours {
        if dir.exists() {
            fs::remove_ours(layout.root(), &dir)?;
            session.ui.status("Removed", dir.display());
        }
    }
    if !args.keep_profiles {
        fs::remove_file(&layout.report())?;
    }
    if !args.keep_profiles && layout.current().exists() {
        std::fs::remove_file(layout.current())
            .map_err(|error| fs::FsError::new("remove", &layout.current(), error))?;
    }
    Ok(())
}
