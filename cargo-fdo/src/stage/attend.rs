//! Waits for perf while it records, and ends it so that its file is whole.
//!
//! perf finishes its file on SIGINT: it stops the command that it started with SIGTERM, reads
//! what is left in its buffers, and writes sizes and features. So nothing here kills it, except
//! where it does not react.

use super::family;
use crate::tool::{Invocation, ToolError};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How a recording came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself: the command ended, the processes are gone, or the file had its full size.
    Itself,
    /// At the wanted time.
    Time,
    /// At the deadline of the command, which should have ended before.
    Deadline,
    /// By Ctrl-C or SIGTERM.
    Interrupt,
    /// Something that the command needs is gone.
    Broken,
}

/// A recording that is over.
#[derive(Debug, Clone, Copy)]
pub struct Attended {
    /// How perf ended: as the command did, by its signal too.
    pub status: ExitStatus,
    /// Why.
    pub end: End,
    /// After which time.
    pub duration: Duration,
}

/// When perf is stopped.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    /// The recording is long enough, from when its file has a first byte: on a busy machine perf
    /// takes seconds until it records.
    pub enough: Option<Duration>,
    /// Its command takes too long, from the start of perf.
    pub deadline: Option<Duration>,
}

/// Runs perf to its end; `out` is its file. It is ended where something `is_broken`. The output of the command goes to our stderr: stdout is for data.
///
/// # Errors
///
/// If perf does not start.
pub fn run(
    call: &Invocation,
    times: Times,
    out: &Path,
    is_broken: &dyn Fn() -> bool,
) -> Result<Attended, ToolError> {
    // That of an earlier run would look like this one's.
    let _ = std::fs::remove_file(out);
    let signals = Signals::watch();
    let mut command = call.command();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::io::stderr()));
    {
        use std::os::unix::process::CommandExt;
        // A terminal sends Ctrl-C to the whole group. perf shall have one SIGINT, from us, and
        // its command none but perf's own SIGTERM.
        command.process_group(0);
    }
    super::orphan::end_with_us(&mut command);
    super::guard::mark(&mut command);
    let start = Instant::now();
    let mut child = command.spawn().map_err(|source| call.start_error(source))?;
    let (status, end) = wait(&mut child, times, out, &signals, is_broken)
        .map_err(|source| call.start_error(source))?;
    Ok(Attended {
        status,
        end,
        duration: start.elapsed(),
    })
}

fn wait(
    child: &mut Child,
    times: Times,
    out: &Path,
    signals: &Signals,
    is_broken: &dyn Fn() -> bool,
) -> std::io::Result<(ExitStatus, End)> {
    const STEP: Duration = Duration::from_millis(10);
    /// On a busy machine perf takes seconds until it records; one that takes minutes never will.
    const START: Duration = Duration::from_secs(120);
    /// perf may have gigabytes to write, so this is long.
    const GRACE: Duration = Duration::from_secs(120);
    /// perf asks its command by SIGTERM, and waits for it without end.
    const GRACE_OF_COMMAND: Duration = Duration::from_secs(5);
    let start = Instant::now();
    let mut recording: Option<Instant> = None;
    let passed = |limit: Option<Duration>, since: Instant| {
        limit.is_some_and(|limit| since.elapsed() >= limit)
    };
    let end = loop {
        if let Some(status) = child.try_wait()? {
            use std::os::unix::process::ExitStatusExt;
            // A perf that was killed could not stop its command.
            if status.signal().is_some()
                && let Some(group) = pid(child)
            {
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
            }
            return Ok((status, End::Itself));
        }
        if signals.came() {
            break End::Interrupt;
        }
        if is_broken() {
            break End::Broken;
        }
        if passed(times.deadline, start) {
            break End::Deadline;
        }
        if recording.is_none() && out.metadata().is_ok_and(|file| file.len() > 0) {
            recording = Some(Instant::now());
        }
        let is_over = match recording {
            Some(since) => passed(times.enough, since),
            None => times.enough.is_some() && passed(Some(START), start),
        };
        if is_over {
            break End::Time;
        }
        std::thread::sleep(STEP);
    };
    send(child, Signal::INT);
    let asked = Instant::now();
    while asked.elapsed() < GRACE {
        if let Some(status) = child.try_wait()? {
            // A command that ignores SIGTERM outlives its perf, and would disturb what follows.
            if let Some(group) = pid(child) {
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
            }
            return Ok((status, end));
        }
        if asked.elapsed() >= GRACE_OF_COMMAND
            && let Ok(perf) = i32::try_from(child.id())
        {
            for command in family::running_children_of(perf) {
                // Gone in the meantime: all the better.
                let _ = kill_process(command, Signal::KILL);
            }
        }
        std::thread::sleep(STEP);
    }
    if let Some(group) = pid(child) {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    Ok((child.wait()?, end))
}

fn send(child: &Child, signal: Signal) {
    if let Some(pid) = pid(child) {
        // Gone already: nothing to stop.
        let _ = kill_process(pid, signal);
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Holds Ctrl-C, SIGTERM and SIGHUP back while perf runs; elsewhere they end us as ever.
struct Signals {
    came: Arc<AtomicBool>,
    idle: Arc<AtomicBool>,
}

impl Signals {
    fn watch() -> Signals {
        static FLAGS: OnceLock<(Arc<AtomicBool>, Arc<AtomicBool>)> = OnceLock::new();
        let (came, idle) = FLAGS.get_or_init(|| {
            let came = Arc::new(AtomicBool::new(false));
            let idle = Arc::new(AtomicBool::new(true));
            for signal in [SIGINT, SIGTERM, SIGHUP] {
                // Without a handler it ends us, and perf's file is whole all the same if the
                // terminal told perf too.
                let _ = flag::register_conditional_default(signal, Arc::clone(&idle));
                let _ = flag::register(signal, Arc::clone(&came));
            }
            (came, idle)
        });
        came.store(false, Ordering::SeqCst);
        idle.store(false, Ordering::SeqCst);
        Signals {
            came: Arc::clone(came),
            idle: Arc::clone(idle),
        }
    }

    fn came(&self) -> bool {
        self.came.load(Ordering::SeqCst)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.idle.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn sh(script: &str) -> Invocation {
        Invocation::new("sh").args(["-c", script])
    }

    #[test]
    fn what_ends_by_itself_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let done = run(&sh("exit 7"), Times::default(), &out, &|| false).unwrap();
        assert_eq!((done.status.code(), done.end), (Some(7), End::Itself));
    }

    #[test]
    fn enough_and_too_long_are_sigint_and_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let script = format!(
            "trap 'exit 3' INT; echo x > '{}'; while :; do sleep 0.01; done",
            out.display()
        );
        let times = Times {
            enough: Some(Duration::from_millis(20)),
            deadline: None,
        };
        let done = run(&sh(&script), times, &out, &|| false).unwrap();
        assert_eq!((done.status.code(), done.end), (Some(3), End::Time));
        // Without a file it is not recording yet.
        let times = Times {
            enough: Some(Duration::from_millis(1)),
            deadline: Some(Duration::from_millis(30)),
        };
        let done = run(&Invocation::new("sleep").arg("30"), times, &out, &|| false).unwrap();
        assert_eq!((done.status.signal(), done.end), (Some(2), End::Deadline));
    }

    #[test]
    fn what_perf_started_does_not_outlive_a_killed_one() {
        let dir = tempfile::tempdir().unwrap();
        let (out, pid) = (dir.path().join("out"), dir.path().join("pid"));
        let script = format!("sleep 60 & echo $! > '{}'; kill -9 $$", pid.display());
        run(&sh(&script), Times::default(), &out, &|| false).unwrap();
        let pid = std::fs::read_to_string(pid).unwrap();
        let state = format!("/proc/{}/stat", pid.trim());
        let start = Instant::now();
        // Gone, or dead and not yet waited for.
        while std::fs::read_to_string(&state).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(start.elapsed() < Duration::from_secs(50), "it lives");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
