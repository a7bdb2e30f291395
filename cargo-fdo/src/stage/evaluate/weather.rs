//! What else the machine did during a run: whoever reads a result wants to know whether it was alone.

use super::machine::meminfo;
use crate::stage::usage::Usage;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the run queue and the memory are looked at. Each look is a few microseconds.
const LOOK: Duration = Duration::from_millis(200);

/// What happened beside one run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Air {
    /// Share of the machine's processor time that others used.
    pub(super) others: f64,
    /// Share that a hypervisor gave to other machines.
    pub(super) stolen: f64,
    /// Share in which a processor waited for a disk.
    pub(super) waiting: f64,
    /// Most processes that wanted to run at a time.
    pub(super) runnable: u32,
    /// Least memory that was available, bytes.
    pub(super) available: u64,
    /// Bytes that disks read and wrote.
    pub(super) disk_bytes: u64,
}

/// Looks from now until it is asked.
#[derive(Debug)]
pub(super) struct Watch {
    before: Times,
    disk: u64,
    seen: Arc<Seen>,
    looking: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Seen {
    is_over: AtomicBool,
    runnable: AtomicU32,
    available: AtomicU64,
}

impl Watch {
    pub(super) fn start() -> Watch {
        let seen = Arc::new(Seen {
            is_over: AtomicBool::new(false),
            runnable: AtomicU32::new(0),
            available: AtomicU64::new(meminfo("MemAvailable:").unwrap_or(u64::MAX)),
        });
        let shared = Arc::clone(&seen);
        // Without a second thread there is one look less.
        let looking = std::thread::Builder::new()
            .spawn(move || {
                while !shared.is_over.load(Ordering::Relaxed) {
                    std::thread::park_timeout(LOOK);
                    shared.look();
                }
            })
            .ok();
        Watch {
            before: Times::now(),
            disk: disk_bytes(),
            seen,
            looking,
        }
    }

    /// What happened beside a run that used this much itself.
    pub(super) fn end(mut self, own: &Usage) -> Air {
        let after = Times::now();
        self.stop();
        let passed = |of: fn(&Times) -> u64| of(&after).saturating_sub(of(&self.before)) as f64;
        let all = passed(|times| times.all).max(1.0);
        let ticks = ticks_per_second() * (own.user + own.system).as_secs_f64();
        Air {
            // The kernel counts ticks: two of them are as exact as it gets.
            others: ((passed(|times| times.busy) - ticks - 2.0) / all).max(0.0),
            stolen: passed(|times| times.stolen) / all,
            waiting: passed(|times| times.waiting) / all,
            runnable: self.seen.runnable.load(Ordering::Relaxed),
            available: self.seen.available.load(Ordering::Relaxed),
            disk_bytes: disk_bytes().saturating_sub(self.disk),
        }
    }

    fn stop(&mut self) {
        self.seen.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.looking.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Seen {
    fn look(&self) {
        if self.is_over.load(Ordering::Relaxed) {
            // The run has ended: what is to be seen now is us.
            return;
        }
        if let Some(available) = meminfo("MemAvailable:") {
            self.available.fetch_min(available, Ordering::Relaxed);
        }
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let running = stat
            .lines()
            .find_map(|line| line.strip_prefix("procs_running "))
            .and_then(|number| number.trim().parse::<u32>().ok())
            // This look itself is one.
            .map_or(0, |running| running.saturating_sub(1));
        self.runnable.fetch_max(running, Ordering::Relaxed);
    }
}

/// Clock ticks since the system started, over all processors (proc(5), /proc/stat).
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    all: u64,
    busy: u64,
    waiting: u64,
    stolen: u64,
}

impl Times {
    fn now() -> Times {
        Times::parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn parse(stat: &str) -> Times {
        let numbers: Vec<u64> = stat
            .lines()
            .find_map(|line| line.strip_prefix("cpu "))
            .map(|line| {
                line.split_ascii_whitespace()
                    .map(|number| number.parse().unwrap_or(0))
                    .collect()
            })
            .unwrap_or_default();
        let of = |at: usize| numbers.get(at).copied().unwrap_or(0);
        let (user, nice, system, idle, waiting) = (of(0), of(1), of(2), of(3), of(4));
        let (interrupts, soft, stolen) = (of(5), of(6), of(7));
        // Guests are counted in user and nice already.
        let busy = user + nice + system + interrupts + soft;
        Times {
            all: busy + idle + waiting + stolen,
            busy,
            waiting,
            stolen,
        }
    }
}

fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

/// Bytes that whole disks read and wrote since the system started (/proc/diskstats, in sectors
/// of 512 bytes whatever the disk's are).
fn disk_bytes() -> u64 {
    let disks: std::collections::BTreeSet<String> = std::fs::read_dir("/sys/block")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        // What these do, another disk does.
        .filter(|name| !name.starts_with("loop") && !name.starts_with("dm-"))
        .collect();
    let text = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            disks.contains(*fields.get(2)?).then_some(())?;
            let read: u64 = fields.get(5)?.parse().ok()?;
            let written: u64 = fields.get(9)?.parse().ok()?;
            Some((read + written) * 512)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_are_not_counted_twice() {
        let times = Times::parse("cpu  10 1 5 100 4 2 3 7 6 1\ncpu0 1 1 1\n");
        assert_eq!((times.busy, times.waiting, times.stolen), (21, 4, 7));
        assert_eq!(times.all, 132);
    }

    #[test]
    fn somebody_elses_work_shows() {
        let watch = Watch::start();
        let mut busy = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        let air = watch.end(&Usage::default());
        busy.kill().unwrap();
        busy.wait().unwrap();
        // On any machine with at most some hundred processors.
        assert!(air.others > 0.001, "{air:?}");
        assert!(air.runnable > 0 && air.available > 0, "{air:?}");
    }
}
