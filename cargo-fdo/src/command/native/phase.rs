//! A phase of a build by hand: the tools and the plan before it, the judgement after it.

use crate::cli::native::NativePhase;
use crate::command::Session;
use crate::command::build::{self, Purpose, Ready};
use crate::error::{Diagnose, ExitCode, Result};
use crate::fs;
use crate::plan::PhasePlan;
use crate::stage::build::Built;
use crate::store::Campaign;
use crate::store::campaign::Method;
use crate::toolbox::Toolbox;
use fdo_build::protocol::Phase;

/// Nobody said which phase, and there is no profile.
#[derive(Debug, thiserror::Error)]
#[error("there is no profile yet, and no `--phase` says what to build")]
struct NoPhase;

impl Diagnose for NoPhase {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Training
    }

    fn hint(&self) -> Option<String> {
        Some(
            "`--phase instrument` builds with counters: run the program, then `cargo fdo train --collect \
             DIR`; `--phase sample` builds it for perf: `cargo fdo record`, then `cargo fdo import FILE`"
                .into(),
        )
    }
}

/// Ready to build.
pub(super) struct Prepared {
    pub(super) plan: PhasePlan,
    pub(super) toolbox: Toolbox,
    /// In the optimize phase.
    ready: Option<Ready>,
}

/// The phase that is asked for; that of the profile, if there is one.
pub(super) fn choose(session: &Session, given: Option<NativePhase>) -> Result<Phase> {
    match given {
        Some(given) => Ok(given.phase()),
        None if Campaign::current(&session.layout, &session.cargo.target).is_ok() => {
            Ok(Phase::Optimize)
        }
        None => Err(NoPhase.into()),
    }
}

/// Finds tools and profile, and writes the orders. To be called under the lock.
pub(super) fn prepare(session: &Session, phase: Phase) -> Result<Prepared> {
    let (toolbox, ready) = match phase {
        Phase::Instrument => (session.toolbox(Method::Instrument)?, None),
        Phase::Sample => (session.toolbox(Method::Sample)?, None),
        Phase::Baseline => {
            let campaign = Campaign::current(&session.layout, &session.cargo.target);
            let method = campaign.map_or(Method::Instrument, |it| it.manifest.method);
            (session.toolbox(method)?, None)
        }
        Phase::Optimize => {
            let ready = build::ready(session)?;
            (ready.toolbox.clone(), Some(ready))
        }
    };
    if phase == Phase::Instrument {
        session.make_signal_object(&toolbox)?;
    }
    if ready.is_none() {
        session.explain_c_compiler(&toolbox);
    }
    let slices = ready.as_ref().map(|ready| &ready.slices);
    let plan = session.plan(phase, &toolbox, slices);
    session.prepare(&plan)?;
    Ok(Prepared {
        plan,
        toolbox,
        ready,
    })
}

impl Prepared {
    /// In the optimize phase: holds what the compilers said against the profile.
    pub(super) fn judge(&self, session: &Session, built: &Built) -> Result<()> {
        match &self.ready {
            Some(ready) => build::judge(session, Purpose::Build, ready, &self.plan, built),
            None => Ok(()),
        }
    }
}

/// Says how the program of this phase becomes a profile.
pub(super) fn say_next(session: &Session, phase: Phase) -> Result<()> {
    match phase {
        Phase::Instrument => {
            fs::create_dir(&session.layout.raw_by_hand())?;
            session.ui.note(format_args!(
                "run it with LLVM_PROFILE_FILE=DIR/%p-%m.profraw, then `cargo fdo train --collect DIR` in \
                 `{}`; without the variable it writes into `{}`",
                session.workspace.root.display(),
                session.layout.raw_by_hand().display()
            ));
        }
        Phase::Sample => session.ui.note(format_args!(
            "record it with `cargo fdo record`, or `perf record -e cycles:u` where cargo fdo is not, then \
             `cargo fdo import FILE` in `{}`",
            session.workspace.root.display()
        )),
        Phase::Optimize | Phase::Baseline => {}
    }
    Ok(())
}
