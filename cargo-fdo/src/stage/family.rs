//! The processes of one workload: all that it started, whatever became of their parents.
//!
//! A process that leaves its group and session (`setsid`, a daemon) is out of reach of a signal to
//! the group, and of Ctrl-C. So cargo-fdo adopts what loses its parent while a workload runs
//! (`PR_SET_CHILD_SUBREAPER`, prctl(2)): everything the workload started stays below it in
//! `/proc`, and is found there. A pid namespace or a cgroup would do the same, but needs rights
//! that a user may lack.
//!
//! Process numbers are used while nobody else can have got them: a child of this process keeps its
//! number until it is reaped, and only this module reaps those that it adopted.

use super::marks::{Lost, Marks};
use super::save;
use super::usage::{self, Usage};
use crate::tool::invocation::describe;
use rustix::process::{Pid, Signal, WaitOptions};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How often a signal to cargo-fdo is looked for while a command runs.
const TICK: Duration = Duration::from_millis(100);
/// How often it is looked whether stopped processes are gone.
const STEP: Duration = Duration::from_millis(10);
/// How long SIGTERM has to work; counters are saved on it.
const GRACE: Duration = Duration::from_secs(5);
/// How long saving counters may take before SIGKILL: as long as a program itself tries.
const SAVE_GRACE: Duration = Duration::from_secs(10);
/// How long SIGKILL has to work.
const KILL_GRACE: Duration = Duration::from_secs(2);

/// The processes below this one that were started after [`Family::found`].
#[derive(Debug)]
pub(super) struct Family {
    /// Children from before, such as orphans that a container's first process inherits.
    others: BTreeSet<i32>,
    /// Whether its owner ends cargo-fdo after a signal, and not this module.
    is_patient: bool,
    /// The signal that an owner was told of; 0 for none.
    told: Cell<usize>,
    /// Which of them have counters that are not saved, by directory of raw profiles.
    marks: RefCell<Vec<Marks>>,
    /// How adopted processes ended.
    ends: RefCell<BTreeMap<i32, ExitStatus>>,
    /// Services, whose end somebody waits for.
    served: RefCell<BTreeSet<i32>>,
    /// Whether a service has ended that should not have.
    fallen: RefCell<Arc<AtomicBool>>,
}

/// A service that was started.
#[derive(Debug)]
pub(super) struct Served {
    /// Its first process.
    pub(super) pid: i32,
    ended: Receiver<io::Result<Ended>>,
    over: Cell<Option<ExitStatus>>,
}

impl Served {
    /// How its first process ended, if it has.
    pub(super) fn status(&self) -> Option<ExitStatus> {
        if let Ok(Ok(ended)) = self.ended.try_recv() {
            self.over.set(Some(ended.status));
        }
        self.over.get()
    }
}

/// What was still running at the end of a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stopped {
    /// How many processes were stopped.
    pub count: usize,
    /// Processes that may not be stopped by this user, and still run.
    pub left: Vec<i32>,
    /// Instrumented processes that ended without saving their counters, whoever ended them.
    pub lost: Vec<Lost>,
}

impl Family {
    /// Adopts from now on what a command leaves behind, and stops it all where cargo-fdo itself is
    /// to end by SIGINT, SIGTERM or SIGHUP.
    pub(super) fn found() -> Family {
        super::guard::watch();
        Signals::get().idle.store(false, Ordering::SeqCst);
        // Refused by kernels before 3.4 only: then orphans are out of reach.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        Family {
            others: children_of(own_pid(), &processes()).into_iter().collect(),
            is_patient: false,
            told: Cell::new(0),
            served: RefCell::default(),
            fallen: RefCell::default(),
            marks: RefCell::default(),
            ends: RefCell::default(),
        }
    }

    /// Heeds the counters of processes whose raw profiles go into `raw_dir`: they are saved before a
    /// process is killed, and those that are lost are known at the end.
    pub(super) fn heed_counters(&self, raw_dir: &Path) {
        self.marks.borrow_mut().push(Marks::of(raw_dir));
    }

    /// The processes so far that are gone and lost their counters.
    pub(super) fn lost(&self) -> Vec<Lost> {
        let mut lost: Vec<Lost> = self.marks.borrow().iter().flat_map(Marks::lost).collect();
        let ends = self.ends.borrow();
        for lost in &mut lost {
            lost.end = ends.get(&lost.pid).map(|status| describe(*status));
        }
        lost
    }

    fn look_at_marks(&self) {
        self.marks.borrow_mut().iter_mut().for_each(Marks::look);
    }

    /// Saves the counters of what SIGTERM did not end.
    fn save_before_kill(&self, running: Vec<i32>) {
        if running.is_empty() {
            return;
        }
        let pids = running.into_iter().collect();
        for marks in &*self.marks.borrow() {
            let raw_dir = marks.raw_dir();
            let saved = save::save_counters(raw_dir, &pids, SAVE_GRACE);
            save::forget(raw_dir, &saved.saved);
        }
    }

    /// The same for an owner who has something to save when a signal comes: the command that runs
    /// then is stopped, with an error of kind `Interrupted`, and [`interrupted`](Family::interrupted)
    /// says by which.
    pub(super) fn found_by_patient_owner() -> Family {
        let mut family = Family::found();
        family.is_patient = true;
        family
    }

    /// The signal that is to end cargo-fdo, if one came while a command ran.
    pub(super) fn interrupted(&self) -> Option<usize> {
        Some(self.told.get()).filter(|signal| *signal != 0)
    }

    /// Starts a command that goes on while others run. Unless it `may_end`, its end ends what
    /// [`run`](Family::run) runs then, with an error of kind `ConnectionAborted`.
    ///
    /// # Errors
    ///
    /// If it can't be started.
    pub(super) fn serve(&self, command: &mut Command, may_end: bool) -> io::Result<Served> {
        super::orphan::end_with_us(command);
        super::guard::mark(command);
        {
            use std::os::unix::process::CommandExt;
            // Ctrl-C of a terminal goes to the group: a service ends when we end it.
            command.process_group(0);
        }
        let start = Instant::now();
        let child = command.spawn()?;
        let pid = child.id() as i32;
        self.served.borrow_mut().insert(pid);
        let (send, ended) = mpsc::channel();
        let fallen = Arc::clone(&self.fallen.borrow());
        std::thread::spawn(move || {
            let ended = usage::wait(child).map(|(status, usage)| Ended {
                status,
                wall: start.elapsed(),
                usage,
            });
            let _ = send.send(ended);
            if !may_end {
                fallen.store(true, Ordering::SeqCst);
            }
        });
        Ok(Served {
            pid,
            ended,
            over: Cell::new(None),
        })
    }

    /// The services that were started until now may end from now on.
    pub(super) fn let_go(&self) {
        self.fallen.replace(Arc::default());
    }

    /// Whether a service has ended that should not have.
    pub(super) fn has_fallen(&self) -> bool {
        self.fallen.borrow().load(Ordering::SeqCst)
    }

    /// Lets time pass, and heeds signals to cargo-fdo; an error of kind `Interrupted` if an owner is
    /// to be told of one.
    ///
    /// # Errors
    ///
    /// That one.
    pub(super) fn pause(&self, time: Duration) -> io::Result<()> {
        std::thread::sleep(time);
        self.end_by_signal();
        match self.interrupted() {
            None => Ok(()),
            Some(_) => {
                self.stop_all();
                Err(io::ErrorKind::Interrupted.into())
            }
        }
    }

    /// Runs a command to its end; `None` if it took longer than `limit` and was stopped, with all
    /// that it and earlier commands of this family started.
    ///
    /// # Errors
    ///
    /// If it can't be started.
    pub(super) fn run(
        &self,
        command: &mut Command,
        limit: Option<Duration>,
    ) -> io::Result<Option<Ended>> {
        super::orphan::end_with_us(command);
        super::guard::mark(command);
        let before = match self.served.borrow().is_empty() {
            true => BTreeSet::new(),
            false => self.members(),
        };
        let start = Instant::now();
        let child = command.spawn()?;
        let main = child.id() as i32;
        let ended = in_background(child, start);
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let left = deadline.map_or(TICK, |end| end.saturating_duration_since(Instant::now()));
            let outcome = ended.recv_timeout(left.min(TICK));
            self.end_by_signal();
            if self.interrupted().is_some() {
                self.stop_all();
                return Err(io::ErrorKind::Interrupted.into());
            }
            if self.has_fallen() && outcome.is_err() {
                self.stop_newer(&before);
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            match outcome {
                Ok(ended) => return ended.map(Some),
                Err(RecvTimeoutError::Timeout) => {
                    self.reap_orphans(main);
                    self.look_at_marks();
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the thread that waits for it is gone"));
                }
            }
            if deadline.is_some_and(|end| Instant::now() >= end) {
                self.stop_all();
                return Ok(None);
            }
        }
    }

    /// The processes of the family that live now, such as servers that `prepare` started.
    pub(super) fn members(&self) -> BTreeSet<i32> {
        self.running().into_iter().collect()
    }

    /// Stops what was started since the family had these members.
    pub(super) fn stop_newer(&self, than: &BTreeSet<i32>) -> Stopped {
        self.stop_all_but(than)
    }

    /// Stops what still runs.
    pub(super) fn stop(self) -> Stopped {
        self.stop_all()
    }

    /// Asks for an end, so that counters are saved, and enforces it where that does not help.
    fn stop_all(&self) -> Stopped {
        self.stop_all_but(&BTreeSet::new())
    }

    fn stop_all_but(&self, spared: &BTreeSet<i32>) -> Stopped {
        let running = || {
            let mut running = self.running();
            running.retain(|pid| !spared.contains(pid));
            running
        };
        let signals = Signals::get();
        self.look_at_marks();
        let mut seen = BTreeSet::new();
        let end = Instant::now() + GRACE;
        // A second Ctrl-C means: at once.
        while Instant::now() < end && signals.caught.load(Ordering::SeqCst) == 0 {
            let running = running();
            if running.is_empty() {
                break;
            }
            for pid in running {
                if seen.insert(pid) {
                    send(pid, Signal::TERM);
                }
            }
            std::thread::sleep(STEP);
        }
        if signals.caught.load(Ordering::SeqCst) == 0 {
            self.save_before_kill(running());
        }
        let end = Instant::now() + KILL_GRACE;
        loop {
            let running = running();
            if running.is_empty() || Instant::now() >= end {
                seen.extend(&running);
                return Stopped {
                    count: seen.len() - running.len(),
                    left: running,
                    lost: self.lost(),
                };
            }
            // Each time anew: one may have started another in between.
            for pid in running {
                seen.insert(pid);
                send(pid, Signal::KILL);
            }
            std::thread::sleep(STEP);
        }
    }

    /// The living processes of the family.
    fn running(&self) -> Vec<i32> {
        let processes = processes();
        let mut open = children_of(own_pid(), &processes);
        open.retain(|pid| !self.others.contains(pid));
        let mut found = Vec::new();
        while let Some(pid) = open.pop() {
            open.extend(children_of(pid, &processes));
            match processes.get(&pid) {
                Some(process) if process.lives => found.push(pid),
                Some(process)
                    if process.parent == own_pid() && !self.served.borrow().contains(&pid) =>
                {
                    self.reap(pid);
                }
                _ => {}
            }
        }
        found
    }

    /// Lets go of adopted processes that have ended. A workload may leave a great many of them,
    /// and each holds a process number.
    fn reap_orphans(&self, main: i32) {
        // Without CONFIG_PROC_CHILDREN they wait for the end of the workload.
        let lists = std::fs::read_dir("/proc/self/task").into_iter().flatten();
        for list in lists.flatten().map(|task| task.path().join("children")) {
            let children = std::fs::read_to_string(list).unwrap_or_default();
            for pid in children
                .split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .filter(|pid| *pid != main && !self.others.contains(pid))
                .filter(|pid| !self.served.borrow().contains(pid))
            {
                self.reap(pid);
            }
        }
    }

    /// Takes the status of a child that has ended.
    fn reap(&self, pid: i32) {
        let ended = Pid::from_raw(pid)
            .and_then(|pid| rustix::process::waitpid(Some(pid), WaitOptions::NOHANG).ok()?);
        // It is said of processes that lost their counters.
        if let Some((_, status)) = ended.filter(|_| !self.marks.borrow().is_empty()) {
            let status = ExitStatus::from_raw(status.as_raw());
            self.ends.borrow_mut().insert(pid, status);
        }
    }

    /// Where cargo-fdo was told to end: ends, after everything of the family.
    fn end_by_signal(&self) {
        let signal = Signals::get().caught.swap(0, Ordering::SeqCst);
        if signal == 0 {
            return;
        }
        if self.is_patient {
            self.told.set(signal);
            return;
        }
        self.stop_all();
        die(signal);
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.stop_all();
        let _ = rustix::process::set_child_subreaper(None);
        let signals = Signals::get();
        signals.idle.store(true, Ordering::SeqCst);
        // It came after the last look.
        let signal = signals.caught.swap(0, Ordering::SeqCst);
        if signal != 0 {
            die(signal);
        }
    }
}

/// A command that ended by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    /// How.
    pub(super) status: ExitStatus,
    /// From its start to its end.
    pub(super) wall: Duration,
    /// What it used.
    pub(super) usage: Usage,
}

/// Waits for the command itself, to the moment.
fn in_background(child: Child, start: Instant) -> Receiver<io::Result<Ended>> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let ended = usage::wait(child).map(|(status, usage)| Ended {
            status,
            wall: start.elapsed(),
            usage,
        });
        // Nobody listens any more where it was stopped.
        let _ = send.send(ended);
    });
    receive
}

fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // Gone already, or another user's: what still runs at the end is said.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// A process as `/proc/PID/stat` shows it (proc(5)).
struct Process {
    parent: i32,
    /// It is no zombie.
    lives: bool,
}

fn processes() -> BTreeMap<i32, Process> {
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read(entry.path().join("stat")).ok()?;
            Some((pid, parse_stat(&String::from_utf8_lossy(&stat))?))
        })
        .collect()
}

/// `PID (NAME) STATE PARENT …`; the name may hold blanks and parentheses.
fn parse_stat(stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    Some(Process {
        parent: fields.next()?.parse().ok()?,
        lives: !matches!(state, "Z" | "X"),
    })
}

fn children_of(parent: i32, processes: &BTreeMap<i32, Process>) -> Vec<i32> {
    processes
        .iter()
        .filter(|(_, process)| process.parent == parent)
        .map(|(pid, _)| *pid)
        .collect()
}

/// The children of a process that are no zombies.
pub(super) fn running_children_of(parent: i32) -> Vec<Pid> {
    let processes = processes();
    let children = children_of(parent, &processes).into_iter();
    children
        .filter(|pid| processes.get(pid).is_some_and(|process| process.lives))
        .filter_map(Pid::from_raw)
        .collect()
}

/// Signals to cargo-fdo that end it.
struct Signals {
    /// Whether there is no family: then they do what they always do.
    idle: Arc<AtomicBool>,
    /// The last one that came while there was; 0 for none.
    caught: Arc<AtomicUsize>,
}

impl Signals {
    fn get() -> &'static Signals {
        static SIGNALS: OnceLock<Signals> = OnceLock::new();
        SIGNALS.get_or_init(|| {
            let signals = Signals {
                idle: Arc::new(AtomicBool::new(true)),
                caught: Arc::new(AtomicUsize::new(0)),
            };
            let ignored = ignored_signals();
            for signal in [SIGHUP, SIGINT, SIGTERM] {
                // `nohup` and shells that start us in the background want some to be ignored.
                if ignored & (1 << (signal - 1)) == 0 {
                    // Where one can't be caught, it does what it always does.
                    let _ = flag::register_conditional_default(signal, signals.idle.clone());
                    let _ = flag::register_usize(signal, signals.caught.clone(), signal as usize);
                }
            }
            signals
        })
    }
}

/// A bit for each ignored signal, from 1 on.
fn ignored_signals() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let mask = status
                .lines()
                .find_map(|line| line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        })
        .unwrap_or(0)
}

/// Ends as the signal would have ended this process, so that a shell sees it.
pub(super) fn die(signal: usize) -> ! {
    let _ = low_level::emulate_default_handler(signal as i32);
    std::process::exit(128 + signal as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let process = parse_stat("17 (a) S (b)) R 4 17 17 0").unwrap();
        assert!(process.parent == 4 && process.lives);
        assert!(!parse_stat("17 (sh) Z 1 0").unwrap().lives);
        assert!(parse_stat("17 (sh").is_none());
    }

    #[test]
    fn this_process_is_among_its_parents_children() {
        let processes = processes();
        let parent = processes[&own_pid()].parent;
        assert!(children_of(parent, &processes).contains(&own_pid()));
    }
}
