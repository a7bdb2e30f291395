//! `cargo fdo cmake`: any phase of an unmodified cmake project, in a build directory of the user's.

use super::{phase, place};
use crate::cli::native::CmakeArgs;
use crate::command::sampled;
use crate::error::Result;
use crate::fs;
use crate::plan::native::{self, Project};
use crate::report;
use crate::stage::{build, instrument, optimize, sample};
use crate::tool::Places;
use fdo_build::protocol::Phase;

/// Runs it.
///
/// # Errors
///
/// Whatever its stages raise.
pub fn run(args: &CmakeArgs, toolchain: Option<String>) -> Result<()> {
    let opened = place::open(&args.native, &args.source, args.jobs.clone(), toolchain)?;
    let (mut session, source) = opened;
    let name = place::adopt(&mut session, &args.native, &source)?;
    let phase = phase::choose(&session, args.native.phase)?;
    let dir = crate::workspace::here().join(&args.build);
    // As the compilers in it will say it.
    fs::create_dir(&dir)?;
    let dir = dir.canonicalize().unwrap_or(dir);
    let _lock = session.lock()?;
    place::check_phase(&session, &dir, phase)?;
    let ninja = Places::of_process().find("ninja").is_some();
    let known = dir.join("CMakeCache.txt").exists() && args.generator.is_none();
    session.projects = vec![Project {
        // A directory keeps its generator.
        generator: match known {
            true => None,
            false => native::generator(args.generator.clone(), ninja),
        },
        source: source.clone(),
        dir: Some(dir.clone()),
        args: args.configure_args(),
        build_type: None,
        targets: args.target.clone(),
        jobs: native::jobs(&session.cargo),
        native_args: args.args.clone(),
        name: name.clone(),
    }];
    let prepared = phase::prepare(&session, phase)?;
    place::register(&session, &name, &source, &dir, phase)?;
    let (plan, cargo, ui) = (&prepared.plan, &session.cargo, &session.ui);
    let built = match phase {
        Phase::Instrument => {
            let done = instrument::run(plan, &[], cargo, &session.workspace, &[], ui)?;
            report::census(ui, &done.census, &prepared.toolbox);
            done.built
        }
        Phase::Sample => {
            let done = sample::run(plan, &[], cargo, ui)?;
            sampled::check_readers(&prepared.toolbox, &plan.state)?;
            done.built
        }
        Phase::Optimize => optimize::run(plan, &[], cargo, ui)?,
        Phase::Baseline => build::run_trees(plan, ui)?,
    };
    prepared.judge(&session, &built)?;
    phase::say_next(&session, phase)?;
    let mut shown = false;
    for (_, program) in built.programs() {
        ui.data(program.display());
        shown = true;
    }
    if !shown {
        for library in built.libraries() {
            ui.data(library.display());
        }
    }
    Ok(())
}
