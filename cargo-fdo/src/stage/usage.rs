//! What a process used, as the kernel accounts it to the one that waits for it (wait4(2)).

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// What a process and those of its descendants used that it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Usage {
    /// Processor time in its own code.
    pub(super) user: Duration,
    /// Processor time in the kernel.
    pub(super) system: Duration,
    /// The most memory that one of these processes had at a time, bytes.
    pub(super) peak_memory: u64,
    /// How often it gave the processor away: it waited for something.
    pub(super) voluntary_switches: u64,
    /// How often the processor was taken from it: others wanted to run.
    pub(super) involuntary_switches: u64,
    /// Pages that were there, and only had to be mapped.
    pub(super) minor_faults: u64,
    /// Pages that had to be read from a disk.
    pub(super) major_faults: u64,
}

/// Waits for a child's end.
///
/// The standard library waits without asking for this, and crates for it leave the switches out.
///
/// # Errors
///
/// If it was waited for before.
pub(super) fn wait(child: Child) -> io::Result<(ExitStatus, Usage)> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both point to memory of this function, of the types that wait4 writes.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if waited == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all zeros is a valid `rusage`, and wait4 has written one.
    let usage = unsafe { usage.assume_init() };
    Ok((ExitStatus::from_raw(status), Usage::of(&usage)))
}

impl Usage {
    fn of(usage: &libc::rusage) -> Usage {
        let count = |number: libc::c_long| u64::try_from(number).unwrap_or(0);
        let time = |time: libc::timeval| {
            let micros = u64::try_from(time.tv_usec).unwrap_or(0);
            Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0))
                + Duration::from_micros(micros)
        };
        Usage {
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            // Linux counts kilobytes.
            peak_memory: count(usage.ru_maxrss) * 1024,
            voluntary_switches: count(usage.ru_nvcsw),
            involuntary_switches: count(usage.ru_nivcsw),
            minor_faults: count(usage.ru_minflt),
            major_faults: count(usage.ru_majflt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn status_and_use_of_a_child_with_children() {
        // 30 MB in a child of the child, and a loop that takes some time.
        let script = "dd if=/dev/zero of=/dev/null bs=30M count=1 2>/dev/null; \
                      i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 7";
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let (status, usage) = wait(child).unwrap();
        assert_eq!(status.code(), Some(7));
        assert!(usage.peak_memory > 30 << 20, "{usage:?}");
        assert!(usage.user + usage.system > Duration::ZERO, "{usage:?}");
        assert!(usage.voluntary_switches > 0, "it waited for dd: {usage:?}");
        assert!(usage.minor_faults > 0);
    }

    #[test]
    fn a_signal_is_seen() {
        let child = Command::new("sh")
            .args(["-c", "kill -9 $$"])
            .spawn()
            .unwrap();
        assert_eq!(wait(child).unwrap().0.signal(), Some(9));
    }
}
