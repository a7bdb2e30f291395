//! Ends what a killed cargo-fdo leaves running.
//!
//! No handler sees SIGKILL, and the kernel's own help (`orphan`) reaches first processes only, by a
//! signal that they may ignore. So a second process of this program waits for the end of a pipe that
//! only the first one holds. When that is gone, it stops what the first one had started: processes
//! that carry its mark in their environment, and all that is below or in a session with them. They
//! get SIGTERM, by which counters are saved, and after a grace SIGKILL.
//!
//! A mark in the environment is how build servers find what a job left behind, because processes
//! inherit it whatever becomes of their parents. Compilers are started without it: a compile cache's
//! server that a build starts is the user's.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The name under which the second process runs.
pub const NAME: &str = "fdo-guard";

/// How long SIGTERM has to work.
const GRACE: Duration = Duration::from_secs(5);
/// How often it is looked.
const STEP: Duration = Duration::from_millis(50);

static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Says that the program of this process can be started under [`NAME`]: that it is cargo-fdo, and no
/// test.
pub fn allow() {
    IS_OURS.store(true, Ordering::SeqCst);
}

/// Held open until this process ends, however it does.
static PIPE: OnceLock<Option<std::io::PipeWriter>> = OnceLock::new();

/// Starts the second process, the first time.
pub(super) fn watch() {
    if IS_OURS.load(Ordering::SeqCst) {
        PIPE.get_or_init(|| start().ok());
    }
}

fn start() -> std::io::Result<std::io::PipeWriter> {
    use std::os::unix::process::CommandExt;
    let (read, write) = std::io::pipe()?;
    let program = std::env::current_exe()?;
    let mut command = Command::new(program);
    command
        .arg0(NAME)
        .arg(std::process::id().to_string())
        .stdin(read)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C of the terminal is for the first one.
        .process_group(0);
    let child = command.spawn()?;
    // It outlives us; who inherits us waits for it.
    drop(child);
    Ok(write)
}

/// Marks what a command starts as ours, where the second process is there to look for it.
pub(super) fn mark(command: &mut Command) {
    if matches!(PIPE.get(), Some(Some(_))) {
        command.env(name(std::process::id()), "1");
    }
}

/// A variable of its own for each cargo-fdo: one may run inside of another.
fn name(owner: u32) -> String {
    format!("CARGO_FDO_PROCESS_{owner}")
}

/// The second process: waits for the first one's end.
pub fn run(args: &[std::ffi::OsString]) -> ExitCode {
    let owner = args.first().and_then(|arg| arg.to_str()?.parse().ok());
    let Some(owner) = owner else {
        return ExitCode::from(2);
    };
    for signal in [
        signal_hook::consts::SIGHUP,
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
    ] {
        // A signal to all of a job ends the first one; this one ends after it.
        let _ = signal_hook::flag::register(signal, std::sync::Arc::default());
    }
    let mut nothing = [0; 16];
    let mut pipe = std::io::stdin().lock();
    loop {
        match pipe.read(&mut nothing) {
            Ok(0) => break,
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => break,
            _ => {}
        }
    }
    let mark = format!("{}=1", name(owner));
    let mut asked = BTreeSet::new();
    let end = Instant::now() + GRACE;
    loop {
        // A zombie has no environment, and needs nothing any more.
        let left = marked(Path::new("/proc"), mark.as_bytes());
        if left.is_empty() {
            return ExitCode::SUCCESS;
        }
        let is_late = Instant::now() >= end;
        for pid in left {
            if is_late {
                send(pid, rustix::process::Signal::KILL);
            } else if asked.insert(pid) {
                send(pid, rustix::process::Signal::TERM);
            }
        }
        if Instant::now() >= end + GRACE {
            return ExitCode::FAILURE;
        }
        std::thread::sleep(STEP);
    }
}

fn send(pid: i32, signal: rustix::process::Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// The processes that hold `mark` among their variables, and those below them: a program may
/// overwrite its environment, as those do that show a title of their own.
pub(super) fn marked(proc: &Path, mark: &[u8]) -> BTreeSet<i32> {
    let mut parents: BTreeMap<i32, i32> = BTreeMap::new();
    let mut found = BTreeSet::new();
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    for entry in std::fs::read_dir(proc).into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        if pid == own {
            continue;
        }
        let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environ
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark)
        {
            found.insert(pid);
        }
        let stat = std::fs::read(entry.path().join("stat")).unwrap_or_default();
        if let Some((parent, true)) = parent(&String::from_utf8_lossy(&stat)) {
            parents.insert(pid, parent);
        }
    }
    loop {
        let more: Vec<i32> = parents
            .iter()
            .filter(|(pid, parent)| found.contains(parent) && !found.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// The parent in `/proc/PID/stat`, and whether the process lives (proc(5)).
fn parent(stat: &str) -> Option<(i32, bool)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let lives = !matches!(fields.next()?, "Z" | "X");
    Some((fields.next()?.parse().ok()?, lives))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_processes_and_those_below_them_are_found() {
        let proc = tempfile::tempdir().unwrap();
        let process = |pid: i32, parent: i32, environ: &str| {
            let dir = proc.path().join(pid.to_string());
            std::fs::create_dir(&dir).unwrap();
            std::fs::write(dir.join("environ"), environ).unwrap();
            std::fs::write(dir.join("stat"), format!("{pid} (a) S {parent} 1")).unwrap();
        };
        process(1_000_001, 1, "A=1\0M=1\0");
        // It has written a title over its environment.
        process(1_000_002, 1_000_001, "title");
        process(1_000_003, 1_000_002, "");
        process(1_000_004, 1, "M=11\0XM=1\0");
        std::fs::write(proc.path().join("version"), "").unwrap();
        let found = marked(proc.path(), b"M=1");
        assert_eq!(found, BTreeSet::from([1_000_001, 1_000_002, 1_000_003]));
    }
}
