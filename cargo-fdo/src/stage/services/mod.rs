//! Services of a workload: started in order, waited for, watched, and stopped in a way that keeps
//! the counters of instrumented programs.
//!
//! ```text
//! start   each after what it needs, ready before the next one starts
//! prepare by the workload; what they counted meanwhile is dropped
//! run     by the workload; a service that ends now has crashed
//! stop    in the reverse order; who does not heed its signal is asked for its counters first
//! ```

mod error;
mod log;
pub(super) mod ports;
mod ready;
mod stop;

pub(super) use error::ServiceError;
pub(super) use ports::Ports;

use super::family::{Family, Served};
use super::marks::Marks;
use super::save;
use super::workload::WorkloadError;
use crate::config::{Placeholder, Service, Template};
use crate::profile::object_file;
use crate::tool::Invocation;
use error::Fault;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The value of a placeholder.
pub(super) type Value<'a> = &'a mut dyn FnMut(&Placeholder) -> Result<OsString, WorkloadError>;

/// The call that runs a service by something else, by its name and own call.
pub(super) type Wrap<'a> = &'a dyn Fn(&str, &Invocation) -> Invocation;

/// Where services run.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The workspace root.
    pub(super) root: &'a Path,
    /// Where their logs go.
    pub(super) logs: &'a Path,
    /// `LLVM_PROFILE_FILE` of the workload; each service has a directory of its own beside.
    pub(super) profile_file: &'a str,
    /// That of commands which only ask or stop a service.
    pub(super) stray_file: &'a str,
    /// What each service is started by, instead of by itself: a simulator that counts
    /// instructions, say.
    pub(super) wrap: Option<Wrap<'a>>,
    /// How many times as long everything may take.
    pub(super) patience: u32,
}

/// How long saving counters may take: as long as a program itself tries.
const SAVING: Duration = Duration::from_secs(10);

/// Services that run.
#[derive(Debug, Default)]
pub(super) struct Services {
    running: Vec<Running>,
    /// What there is to say of their start.
    words: Vec<String>,
}

/// A service that was started.
#[derive(Debug)]
struct Running {
    service: Service,
    /// The value of [`MARK`] in its processes.
    mark: String,
    served: Served,
    command: String,
    log: PathBuf,
    /// Where its raw profiles go, if its program has counters.
    raw: Option<PathBuf>,
    stop: stop::Way,
    patience: u32,
}

/// What there is to say of services that were stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoppedServices {
    /// Who had to be killed, what became of its counters, and the like.
    pub words: Vec<String>,
}

impl Services {
    /// Starts services, each after what it needs.
    ///
    /// # Errors
    ///
    /// One does not start, ends, or is not ready in time. Those before it still run: the family
    /// stops them.
    pub(super) fn start(
        family: &Family,
        services: &[Service],
        place: Place<'_>,
        value: Value<'_>,
    ) -> Result<Services, WorkloadError> {
        let mut started = Services::default();
        for service in services {
            let call = call_of(service, place.root, place.profile_file, value)?;
            let programs = programs(service, value)?;
            let ready = ready::Check::of(service, place, value)?;
            if let Some(address) = ready.address() {
                ports::check_is_free(&address).map_err(|owner| {
                    ServiceError::new(
                        service,
                        None,
                        Fault::PortInUse {
                            address: address.clone(),
                            owner,
                        },
                    )
                })?;
            }
            let log = log::place(service, place, value)?;
            let raw = profile_dir(place.profile_file, &service.name)
                .filter(|_| programs.iter().any(|program| has_counters(program)));
            if let Some(raw) = &raw {
                Marks::prepare(raw)?;
                family.heed_counters(raw);
            }
            let stop = stop::Way::of(service, place, value)?;
            let shown = call.to_string();
            let started_by = match place.wrap {
                Some(wrap) => wrap(&service.name, &call),
                None => call,
            };
            let mark = mark(&service.name);
            let served = spawn(family, service, &mark, &started_by, &log)?;
            let running = Running {
                service: service.clone(),
                mark,
                served,
                command: shown,
                log,
                raw,
                stop,
                patience: place.patience,
            };
            started.running.push(running);
            let running = started.running.last().expect("it was pushed");
            ready::wait(family, running, &ready)?;
        }
        Ok(started)
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// The first that has ended while it should not have.
    pub(super) fn fallen(&self) -> Option<ServiceError> {
        self.running.iter().find_map(Running::fallen)
    }

    /// All their processes.
    pub(super) fn pids(&self) -> BTreeSet<i32> {
        self.running.iter().flat_map(Running::members).collect()
    }

    /// The processes of each, by its name.
    pub(super) fn members(&self) -> impl Iterator<Item = (&str, BTreeSet<i32>)> {
        self.running
            .iter()
            .map(|running| (running.service.name.as_str(), running.members()))
    }

    /// Drops what instrumented services have counted until now.
    pub(super) fn forget_preparation(&mut self) {
        for running in &self.running {
            let Some(raw) = &running.raw else { continue };
            let saved = save::save_counters(raw, &running.members(), SAVING);
            let written = crate::fs::walk(raw).unwrap_or_default();
            for file in written.iter().filter(|file| !Marks::are_at(file)) {
                let _ = crate::fs::remove_file(file);
            }
            if !saved.silent.is_empty() {
                self.words.push(format!(
                    "what `prepare` did is in the profile of service `{}`, which does not save its \
                     counters on SIGUSR2",
                    running.service.name
                ));
            }
        }
    }

    /// Stops them, the last one first.
    ///
    /// # Errors
    ///
    /// An instrumented one left no raw profile, or what stops one failed. All are stopped then too.
    pub(super) fn stop(self, family: &Family) -> Result<StoppedServices, WorkloadError> {
        family.let_go();
        let mut said = StoppedServices { words: self.words };
        let mut first = None;
        for running in self.running.iter().rev() {
            match stop::stop(family, running) {
                Ok(words) => said.words.extend(words),
                Err(error) => first = first.or(Some(error)),
            }
        }
        for running in &self.running {
            if let Some(raw) = &running.raw
                && crate::fs::walk(raw)
                    .unwrap_or_default()
                    .iter()
                    .all(|file| Marks::are_at(file))
            {
                first = first.or(Some(
                    running.fault(Fault::NoProfile { dir: raw.clone() }).into(),
                ));
            }
        }
        first.map_or(Ok(said), Err)
    }
}

impl Running {
    fn fallen(&self) -> Option<ServiceError> {
        let status = self.served.status()?;
        let is_left_behind = self.service.forks && status.success();
        (!is_left_behind).then(|| self.fault(Fault::Ended { status }))
    }

    fn fault(&self, fault: Fault) -> ServiceError {
        ServiceError::new(&self.service, Some((&self.command, &self.log)), fault)
    }

    /// Its processes: those that carry its mark, and those below them.
    fn members(&self) -> BTreeSet<i32> {
        let mark = format!("{MARK}={}", self.mark);
        let mut members = super::guard::marked(Path::new("/proc"), mark.as_bytes());
        if self.served.status().is_none() {
            members.insert(self.served.pid);
        }
        members
    }
}

/// The variable that says of which service a process is.
const MARK: &str = "CARGO_FDO_SERVICE";

/// Another one for each start: the builds of a comparison have services of the same name at the same time.
fn mark(service: &str) -> String {
    static STARTS: AtomicU32 = AtomicU32::new(0);
    let start = STARTS.fetch_add(1, Ordering::Relaxed);
    format!("{}/{start}/{service}", std::process::id())
}

/// The call of a service, as it will be.
///
/// # Errors
///
/// Those of `value`.
pub(super) fn call_of<E>(
    service: &Service,
    root: &Path,
    profile_file: &str,
    value: &mut dyn FnMut(&Placeholder) -> Result<OsString, E>,
) -> Result<Invocation, E> {
    let mut call = service.run.invocation(value)?;
    for (name, template) in &service.env {
        call = call.env(name, template.expand(value)?);
    }
    if let Some(dir) = profile_dir(profile_file, &service.name) {
        call = call.env("LLVM_PROFILE_FILE", beside(profile_file, &dir));
    }
    Ok(call.cwd(match &service.cwd {
        Some(dir) => root.join(dir),
        None => root.to_owned(),
    }))
}

/// The directory of a service's own beside the workload's raw profiles.
fn profile_dir(profile_file: &str, service: &str) -> Option<PathBuf> {
    Some(Path::new(profile_file).parent()?.join(service))
}

fn beside(profile_file: &str, dir: &Path) -> PathBuf {
    dir.join(Path::new(profile_file).file_name().unwrap_or_default())
}

/// The programs of the workspace that `run` names: it may be words for a shell.
fn programs(service: &Service, value: Value<'_>) -> Result<Vec<PathBuf>, WorkloadError> {
    let bins = service.run.templates().iter().flat_map(Template::bins);
    bins.map(|bin| Ok(value(&Placeholder::Bin(bin.to_owned()))?.into()))
        .collect()
}

fn has_counters(program: &Path) -> bool {
    std::fs::read(program).is_ok_and(|bytes| {
        object_file::counters(&bytes).is_ok_and(|counters| counters.has_counters)
    })
}

fn spawn(
    family: &Family,
    service: &Service,
    mark: &str,
    call: &Invocation,
    log: &Path,
) -> Result<Served, WorkloadError> {
    let file = File::create(log)
        .and_then(|file| Ok((file.try_clone()?, file)))
        .map_err(|error| crate::fs::FsError::new("write", log, error))?;
    let mut command = call.command();
    command
        .env(MARK, mark)
        .stdin(Stdio::null())
        .stdout(file.0)
        .stderr(file.1);
    family.serve(&mut command, service.forks).map_err(|source| {
        let source = call.start_error(source);
        ServiceError::new(service, None, Fault::Start { source }).into()
    })
}

/// Runs a command to its end; `None` if it took longer than `limit` and was killed.
fn bounded(call: &Invocation, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    const STEP: Duration = Duration::from_millis(10);
    let mut command = call.command();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    super::orphan::end_with_us(&mut command);
    super::guard::mark(&mut command);
    let mut child = command.spawn()?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(STEP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_hangs_is_given_up() {
        let sh = |script: &str| Invocation::new("sh").args(["-c", script]);
        let status = bounded(&sh("exit 3"), Duration::from_secs(60)).unwrap();
        assert_eq!(status.and_then(|status| status.code()), Some(3));
        let hangs = bounded(
            &Invocation::new("sleep").arg("600"),
            Duration::from_millis(50),
        );
        assert!(hangs.unwrap().is_none());
    }
}
