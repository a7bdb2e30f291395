//! Ends a service in a way that keeps its counters.

use super::error::Fault;
use super::{Place, Running, Value};
use crate::config::{Service, Stop};
use crate::stage::family::Family;
use crate::stage::save;
use crate::stage::workload::WorkloadError;
use crate::tool::Invocation;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How often it is looked whether it has ended.
const STEP: Duration = Duration::from_millis(10);
/// How long SIGKILL has to work.
const KILL_GRACE: Duration = Duration::from_secs(5);

/// What ends it, with all placeholders replaced.
#[derive(Debug)]
pub(super) enum Way {
    Signal(&'static str, Signal),
    Command(Box<Invocation>),
}

impl Way {
    pub(super) fn of(
        service: &Service,
        place: Place<'_>,
        value: Value<'_>,
    ) -> Result<Way, WorkloadError> {
        Ok(match &service.stop {
            Stop::Signal(name) => Way::Signal(name, signal(name)),
            Stop::Command(command) => {
                let call = command.invocation(value)?;
                let call = call.env("LLVM_PROFILE_FILE", place.stray_file);
                Way::Command(Box::new(call.cwd(place.root)))
            }
        })
    }
}

fn signal(name: &str) -> Signal {
    match name {
        "INT" => Signal::INT,
        "QUIT" => Signal::QUIT,
        "HUP" => Signal::HUP,
        "USR1" => Signal::USR1,
        "USR2" => Signal::USR2,
        "KILL" => Signal::KILL,
        _ => Signal::TERM,
    }
}

/// Ends it, and says what is to be said.
pub(super) fn stop(family: &Family, running: &Running) -> Result<Option<String>, WorkloadError> {
    let mut failed = None;
    let asked = match &running.stop {
        Way::Signal(name, signal) => {
            // A supervisor ends its workers itself; the signal is for the first process, and for all of
            // a service that has left that behind.
            let first = running
                .served
                .status()
                .is_none()
                .then_some(running.served.pid);
            let whom = match first {
                Some(pid) => BTreeSet::from([pid]),
                None => running.members(),
            };
            whom.into_iter().for_each(|pid| send(pid, *signal));
            format!("SIG{name}")
        }
        Way::Command(call) => {
            let limit = running.service.grace * running.patience;
            match super::bounded(call, limit).map_err(|error| call.start_error(error)) {
                Ok(Some(status)) if status.success() => {}
                // It hangs: then the service is as one that does not heed its signal.
                Ok(None) => {}
                Ok(Some(status)) => {
                    let command = call.to_string();
                    failed = Some(running.fault(Fault::StopFailed { command, status }));
                }
                Err(source) => failed = Some(running.fault(Fault::Start { source })),
            }
            "its `stop` command".to_owned()
        }
    };
    let grace = running.service.grace * running.patience;
    let mut left = wait(family, running, grace)?;
    let mut said = None;
    if !left.is_empty() {
        let saved = running.raw.as_deref().map(|raw| {
            let saved = save::save_counters(raw, &left, super::SAVING);
            save::forget(raw, &saved.saved);
            match saved.silent.is_empty() {
                true => "its counters were saved before",
                false => "not all of its counters could be saved before",
            }
        });
        let killed = left.len();
        let end = Instant::now() + KILL_GRACE;
        while !left.is_empty() && Instant::now() < end {
            // Each time anew: one may have started another in between.
            left.iter().for_each(|pid| send(*pid, Signal::KILL));
            std::thread::sleep(STEP);
            left = running.members();
        }
        said = Some(format!(
            "service `{}` did not end within {} of {asked} and was killed ({}){}",
            running.service.name,
            humantime::format_duration(grace),
            match killed {
                1 => "1 process".to_owned(),
                several => format!("{several} processes"),
            },
            saved.map_or_else(String::new, |saved| format!("; {saved}")),
        ));
    }
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(said),
    }
}

/// Its processes that are left after the time, or nothing before.
fn wait(
    family: &Family,
    running: &Running,
    limit: Duration,
) -> Result<BTreeSet<i32>, WorkloadError> {
    let start = Instant::now();
    loop {
        let left = running.members();
        if left.is_empty() || start.elapsed() >= limit {
            return Ok(left);
        }
        family.pause(STEP).map_err(|_| WorkloadError::Interrupted)?;
    }
}

fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // Gone in the meantime: all the better.
        let _ = kill_process(pid, signal);
    }
}
