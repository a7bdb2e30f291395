//! Asks running instrumented programs to save their counters now.
//!
//! SIGUSR2 makes the object inside a program (`tool/signals/save_on_signal.rs`) write its raw
//! profile and begin again at zero. It ends a program that has no handler for it, so it goes only to
//! processes that are known by their [marks](super::marks) and catch it. The object counts the saves
//! in its mark when the file is written: that is how the end is seen.

use super::marks::{self, Mark};
use crate::tool::signals::MARKS;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often marks are looked at.
const STEP: Duration = Duration::from_millis(5);
/// How long the other images of a process have after one saved: a program and its libraries save
/// one after another.
const OTHER_IMAGES: Duration = Duration::from_secs(1);

/// What became of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Saved {
    /// Processes whose counters are in their raw profiles, and zero since.
    pub(super) saved: Vec<i32>,
    /// Instrumented processes that can't be asked or did not answer in time.
    pub(super) silent: Vec<i32>,
}

/// Asks the instrumented ones of `pids`, whose raw profiles go into `raw_dir`, to save and reset
/// their counters, and waits until they have. Processes without a mark are in neither list.
pub(super) fn save_counters(raw_dir: &Path, pids: &BTreeSet<i32>, patience: Duration) -> Saved {
    let dir = raw_dir.join(MARKS);
    let mut done = Saved::default();
    let mut waiting: BTreeMap<i32, Waiting> = BTreeMap::new();
    let mut silent = BTreeSet::new();
    for mark in marks::read(&dir) {
        // Another program since, or the same number in another container.
        if !pids.contains(&mark.pid) || mark.is_running() != Some(true) {
            continue;
        }
        if mark.saves_on_request && catches_usr2(mark.pid) {
            waiting.entry(mark.pid).or_default().add(mark);
        } else {
            silent.insert(mark.pid);
        }
    }
    waiting.retain(|pid, _| {
        let asked = Pid::from_raw(*pid).is_some_and(|pid| kill_process(pid, Signal::USR2).is_ok());
        if !asked {
            silent.insert(*pid);
        }
        asked
    });
    let end = Instant::now() + patience;
    while !waiting.is_empty() {
        waiting.retain(|pid, waiting| {
            let saved = waiting.is_done();
            if saved {
                silent.remove(pid);
                done.saved.push(*pid);
            }
            !saved
        });
        if Instant::now() >= end {
            break;
        }
        std::thread::sleep(STEP);
    }
    silent.extend(waiting.into_keys());
    done.saved.sort_unstable();
    done.silent = silent.into_iter().collect();
    done
}

/// Removes the marks of processes whose counters were just saved, and which are to be killed.
pub(super) fn forget(raw_dir: &Path, pids: &[i32]) {
    for mark in marks::read(&raw_dir.join(MARKS)) {
        if pids.contains(&mark.pid) {
            let _ = crate::fs::remove_file(&mark.path);
        }
    }
}

/// The images of one process.
#[derive(Debug, Default)]
struct Waiting {
    /// Their marks and the saves so far.
    open: Vec<(PathBuf, u32)>,
    /// When the first of them had saved.
    first: Option<Instant>,
}

impl Waiting {
    fn add(&mut self, mark: Mark) {
        self.open.push((mark.path, mark.saves));
    }

    fn is_done(&mut self) -> bool {
        let before = self.open.len();
        // Without its mark the process has ended, and saved.
        self.open
            .retain(|(path, saves)| marks::at(path).is_some_and(|mark| mark.saves <= *saves));
        if self.open.len() < before {
            self.first.get_or_insert_with(Instant::now);
        }
        // What never saves is of an earlier life of the process, before it executed itself.
        let waited = |first: Instant| first.elapsed() >= OTHER_IMAGES;
        self.open.is_empty() || self.first.is_some_and(waited)
    }
}

/// Whether a process has a handler for SIGUSR2 (proc(5), `SigCgt`).
fn catches_usr2(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    catches(&status, Signal::USR2.as_raw())
}

fn catches(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_caught_signal_is_sent() {
        let status = "Name:\tapp\nSigIgn:\t0000000000000800\nSigCgt:\t0000000000004000\n";
        assert!(catches(status, 15));
        assert!(!catches(status, 12));
        assert!(!catches("Name:\tapp\n", 15));
    }

    #[test]
    fn what_has_no_mark_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        // SIGUSR2 would end this test.
        let own = BTreeSet::from([std::process::id() as i32]);
        let saved = save_counters(dir.path(), &own, Duration::ZERO);
        assert_eq!(saved, Saved::default());
    }
}
