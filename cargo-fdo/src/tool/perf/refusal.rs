//! Why perf did not record: no permission, no such hardware, or something else.
//!
//! perf says it in sentences of its own, which have changed over its versions; what the kernel
//! allows is read beside them, because it decides the remedy.

use crate::error::{Diagnose, ExitCode};
use std::path::Path;

/// What perf's refusal comes down to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The kernel, or what stands before it, forbids it to this user.
    Permission,
    /// The machine does not have the event, or no branch stacks.
    Hardware,
    /// Something else, in perf's words.
    Other,
}

/// Tells by perf's words what kind of refusal it is.
pub fn cause(words: &str) -> Cause {
    const PERMISSION: [&str; 6] = [
        "perf_event_paranoid",
        "Permission denied",
        "Operation not permitted",
        "No permission",
        "operations is limited",
        "Permission error",
    ];
    const HARDWARE: [&str; 8] = [
        "not supported",
        "doesn't support",
        "does not support",
        "event syntax error",
        "No such device",
        "Unable to find",
        "unknown tracepoint",
        "Invalid argument",
    ];
    let has = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    if has(&PERMISSION) {
        Cause::Permission
    } else if has(&HARDWARE) {
        Cause::Hardware
    } else {
        Cause::Other
    }
}

/// perf can't record here.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The kernel forbids it.
    #[error("perf is not permitted to record: {words}")]
    Permission {
        /// perf's.
        words: String,
        /// What stands in the way.
        barrier: Barrier,
    },
    /// What was asked for is not in this machine.
    #[error("this machine can't record {wanted}: {words}")]
    Hardware {
        /// `branch stacks` or an event.
        wanted: String,
        /// perf's.
        words: String,
    },
    /// perf recorded, and nothing was in its file.
    #[error("perf recorded a busy program and took no sample of it ({tried})")]
    Nothing {
        /// Events.
        tried: String,
    },
    /// Something else.
    #[error("perf can't record: {words}")]
    Other {
        /// perf's.
        words: String,
    },
}

impl Diagnose for Refused {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Refused::Permission { barrier, .. } => barrier.remedy(),
            Refused::Hardware { .. } => {
                "virtual machines seldom have the counters of their host's processor; without \
                 `event` and `branch-stacks` in the table [sample] of fdo.toml, samples are \
                 taken by the clock, which works everywhere"
                    .into()
            }
            Refused::Nothing { .. } => {
                "`perf record -e cpu-clock:u -- PROGRAM` by hand shows whether the kernel \
                 samples at all; `--method instrument` does without"
                    .into()
            }
            Refused::Other { .. } => "`train --method instrument` does without perf".into(),
        })
    }
}

/// What keeps this user from sampling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Barrier {
    /// A container's filter of system calls.
    Container,
    /// The kernel's setting, by its value.
    Paranoid(i32),
    /// Neither can be seen.
    Unknown,
}

impl Barrier {
    /// What this machine has.
    ///
    /// `paranoid`: the content of `/proc/sys/kernel/perf_event_paranoid`; `status`: that of
    /// `/proc/self/status`. Above 2 is an addition of distributions, and forbids everything;
    /// with up to 2, a process may sample itself and its children in user mode.
    pub fn of(paranoid: Option<&str>, status: Option<&str>, in_container: bool) -> Barrier {
        // 2: a filter decides which calls pass.
        let filtered = status.is_some_and(|status| {
            status
                .lines()
                .filter_map(|line| line.strip_prefix("Seccomp:"))
                .any(|mode| mode.trim() == "2")
        });
        let level = paranoid.and_then(|text| text.trim().parse().ok());
        match level {
            Some(level) if level > 2 => Barrier::Paranoid(level),
            _ if filtered || in_container => Barrier::Container,
            Some(level) => Barrier::Paranoid(level),
            None => Barrier::Unknown,
        }
    }

    /// The same, read from `/proc`.
    pub fn here() -> Barrier {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        let in_container = ["/.dockerenv", "/run/.containerenv"]
            .iter()
            .any(|mark| Path::new(mark).exists());
        Barrier::of(
            read("/proc/sys/kernel/perf_event_paranoid").as_deref(),
            read("/proc/self/status").as_deref(),
            in_container,
        )
    }

    /// What to do.
    fn remedy(&self) -> String {
        match self {
            Barrier::Container => {
                "this is a container whose seccomp profile holds back perf_event_open: start it \
                 with `--cap-add PERFMON` (or `--security-opt seccomp=unconfined`), or record \
                 outside of it and `cargo fdo import` the file"
                    .into()
            }
            Barrier::Paranoid(level) => format!(
                "kernel.perf_event_paranoid is {level}: `sysctl kernel.perf_event_paranoid=2` \
                 as root lets users sample their own programs (0 the whole system), or give perf \
                 the capability CAP_PERFMON; `--method instrument` does without"
            ),
            Barrier::Unknown => {
                "the capability CAP_PERFMON allows it; `--method instrument` does without".into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perfs_sentences_have_their_cause() {
        for words in [
            "Access to performance monitoring and observability operations is limited.",
            "You may not have permission to collect stats.\nConsider tweaking \
             /proc/sys/kernel/perf_event_paranoid",
            "The sys_perf_event_open() syscall returned with 1 (Operation not permitted) for \
             event (cpu-clock:u).",
        ] {
            assert_eq!(cause(words), Cause::Permission, "{words}");
        }
        for words in [
            "cpu-clock:u: PMU Hardware or event type doesn't support branch stack sampling.",
            "event syntax error: '...near_taken:uppp'",
            "The cycles event is not supported.",
        ] {
            assert_eq!(cause(words), Cause::Hardware, "{words}");
        }
        assert_eq!(
            cause("failed to mmap with 12 (Cannot allocate memory)"),
            Cause::Other
        );
    }

    #[test]
    fn the_remedy_is_that_of_what_stands_in_the_way() {
        let filtered = Some("Name:\tcargo\nSeccomp:\t2\n");
        let free = Some("Seccomp:\t0\n");
        assert_eq!(Barrier::of(Some("3\n"), free, false), Barrier::Paranoid(3));
        assert_eq!(Barrier::of(Some("3"), filtered, true), Barrier::Paranoid(3));
        assert_eq!(Barrier::of(Some("2"), filtered, false), Barrier::Container);
        assert_eq!(Barrier::of(Some("2"), free, true), Barrier::Container);
        assert_eq!(Barrier::of(Some("2"), free, false), Barrier::Paranoid(2));
        assert_eq!(Barrier::of(None, None, false), Barrier::Unknown);
        assert!(Barrier::Container.remedy().contains("--cap-add PERFMON"));
        assert!(Barrier::Paranoid(3).remedy().contains("paranoid=2"));
    }
}
