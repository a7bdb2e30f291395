//! How much slower a workload is with counters: one more run without them, where that is cheap.

use super::super::Session;
use super::{bins, build_commands};
use crate::error::Result;
use crate::fs;
use crate::stage::build;
use crate::stage::instrument::Instrumented;
use crate::stage::train::{self, Job, JobKind};
use crate::stage::workload::{self, Place, ProfileFiles};
use crate::store::campaign::WorkloadEntry;
use crate::toolbox::Toolbox;
use fdo_build::flags;
use fdo_build::protocol::Phase;
use std::time::Duration;

/// A plain run is made only where building and running take at most this long together.
const CHEAP: Duration = Duration::from_secs(60);

/// Of shorter runs the time is that of starting a process, and says nothing of counters.
const MEASURABLE: Duration = Duration::from_millis(100);

/// Runs the workloads once more without counters, where that costs little. Never fails a
/// training: what can't be measured is left open.
pub(super) fn measure(
    session: &Session,
    toolbox: &Toolbox,
    instrumented: &Instrumented,
    jobs: &[Job],
    entries: &mut [WorkloadEntry],
) {
    let memory = session
        .layout
        .state(Phase::Instrument)
        .join("build-seconds");
    // The longest so far: later builds may be partial.
    let before: f64 = fs::read_if_there(&memory)
        .ok()
        .flatten()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0.0);
    let build_seconds = before.max(instrumented.built.duration.as_secs_f64());
    let _ = fs::write_quick(&memory, build_seconds.to_string().as_bytes());
    let run_seconds: f64 = entries.iter().map(|entry| entry.seconds).sum();
    if build_seconds + run_seconds > CHEAP.as_secs_f64() {
        session
            .ui
            .detail("not compared with a build without counters: that would take over a minute");
        return;
    }
    if let Err(error) = plain_runs(session, toolbox, jobs, entries) {
        session
            .ui
            .warn(format_args!("the slow-down was not measured: {error}"));
    }
}

fn plain_runs(
    session: &Session,
    toolbox: &Toolbox,
    jobs: &[Job],
    entries: &mut [WorkloadEntry],
) -> Result<()> {
    let plan = session.plan(Phase::Baseline, toolbox, None);
    session.prepare(&plan)?;
    session
        .ui
        .status("Building", "without counters, to compare");
    let commands = build_commands(jobs, session);
    let built = build::run_all(&plan, &commands, &session.cargo, None, &session.ui)?;
    let bins = bins(&built);
    let (_, stray) = flags::stray_profile_file(&session.layout.stray(Phase::Baseline));
    for (at, (job, entry)) in jobs.iter().zip(entries).enumerate() {
        let mut duration = Duration::ZERO;
        for _ in 0..job.repeat {
            let running = session
                .ui
                .running(format_args!(
                    "`{}` without counters, {} of {}",
                    job.name,
                    at + 1,
                    jobs.len()
                ))
                .muted();
            let ran = match &job.kind {
                JobKind::Cargo {
                    subcommand,
                    selection,
                } => {
                    let call = plan
                        .cargo(&session.cargo, subcommand)
                        .args(selection)
                        .arg("--quiet");
                    train::run_cargo(&job.name, &call, &running)?
                }
                JobKind::Commands(workload) => workload::run_once(
                    workload,
                    Place {
                        root: &session.workspace.root,
                        bins: &bins,
                        tmp: &session.layout.tmp(),
                        logs: &session.layout.logs(),
                        profile_files: ProfileFiles {
                            run: &stray,
                            prepare: &stray,
                        },
                    },
                    &running,
                )?,
            };
            duration += ran.duration;
        }
        if duration >= MEASURABLE {
            entry.slowdown = Some(entry.seconds / duration.as_secs_f64());
        }
    }
    Ok(())
}
