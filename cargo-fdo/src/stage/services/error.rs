//! What can be wrong with a service.

use super::log;
use crate::config::Service;
use crate::error::{Diagnose, ExitCode};
use crate::tool::ToolError;
use crate::tool::invocation::describe;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// A service did not do its part.
#[derive(Debug)]
pub struct ServiceError {
    name: String,
    fault: Fault,
    command: Option<String>,
    log: Option<PathBuf>,
    /// The last lines of its log.
    tail: String,
}

/// What is wrong.
#[derive(Debug)]
pub(super) enum Fault {
    /// It did not start.
    Start { source: ToolError },
    /// Somebody else has its port.
    PortInUse {
        address: String,
        owner: Option<String>,
    },
    /// What says that it is ready makes no sense.
    BadCheck { words: String },
    /// It ended before it was ready, or while the workload ran.
    Ended { status: ExitStatus },
    /// It runs, but can't be used.
    NeverReady { what: String, after: Duration },
    /// It is instrumented, and left no raw profile.
    NoProfile { dir: PathBuf },
    /// The command that stops it failed.
    StopFailed { command: String, status: ExitStatus },
}

impl ServiceError {
    /// `ran`: the command and the log of one that was started.
    pub(super) fn new(service: &Service, ran: Option<(&str, &Path)>, fault: Fault) -> ServiceError {
        ServiceError {
            name: service.name.clone(),
            fault,
            command: ran.map(|(command, _)| command.to_owned()),
            log: ran.map(|(_, log)| log.to_owned()),
            tail: ran.map_or_else(String::new, |(_, path)| log::tail(path)),
        }
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "service `{}` ", self.name)?;
        match &self.fault {
            Fault::Start { source } => write!(f, "did not start: {source}")?,
            Fault::PortInUse { address, owner } => {
                write!(f, "can't have {address}: it is in use")?;
                if let Some(owner) = owner {
                    write!(f, " by {owner}")?;
                }
            }
            Fault::BadCheck { words } => write!(f, "can't be waited for: {words}")?,
            Fault::Ended { status } => {
                write!(f, "ended while it was needed ({})", describe(*status))?
            }
            Fault::NeverReady { what, after } => write!(
                f,
                "was not ready after {}: {what}",
                humantime::format_duration(*after)
            )?,
            Fault::NoProfile { dir } => {
                write!(
                    f,
                    "has counters and left no raw profile in `{}`",
                    dir.display()
                )?;
            }
            Fault::StopFailed { command, status } => write!(
                f,
                "could not be stopped by its `stop` command ({})\n  stop:    {command}",
                describe(*status)
            )?,
        }
        if let Some(command) = &self.command {
            write!(f, "\n  command: {command}")?;
        }
        if let Some(log) = &self.log {
            write!(f, "\n  log:     {}", log.display())?;
        }
        if !self.tail.is_empty() {
            write!(
                f,
                "\n  it wrote: {}",
                self.tail.replace('\n', "\n            ")
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for ServiceError {}

impl Diagnose for ServiceError {
    fn exit_code(&self) -> ExitCode {
        match &self.fault {
            Fault::BadCheck { .. } => ExitCode::Usage,
            _ => ExitCode::Training,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match &self.fault {
            Fault::Start { .. } => {
                "`run` begins with a program: a name in PATH, a path, or `{bin:NAME}`".into()
            }
            Fault::PortInUse { .. } => format!(
                "end that process, or let cargo fdo choose: `{{port:{}}}` in `run` and `ready` is \
                 a free one",
                self.name
            ),
            Fault::BadCheck { .. } => format!("see `ready` in [service.{}] of fdo.toml", self.name),
            Fault::Ended { .. } => format!(
                "run the command by hand; a service that leaves its first process behind on \
                 purpose needs `forks = true` in [service.{}]",
                self.name
            ),
            Fault::NeverReady { .. } => format!(
                "with counters a program starts more slowly: `ready = {{ …, timeout = \"2min\" }}` \
                 in [service.{}] waits longer",
                self.name
            ),
            Fault::NoProfile { .. } => {
                "a program that is killed, aborts or calls `_exit` writes no counters; on SIGTERM \
                 they are saved, also where it has no handler. Does it clear its environment or \
                 change its root directory?"
                    .into()
            }
            Fault::StopFailed { .. } => {
                "it was stopped by signals in the end; run the `stop` command by hand".into()
            }
        })
    }
}
