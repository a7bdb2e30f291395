//! The processor's counters around one run, where the machine has them.
//!
//! Opened here and inherited by the program (perf_event_open(2): `inherit`, `enable_on_exec`), so that
//! nothing of ours runs beside it: they are off until it is executed, and count it and all its
//! descendants.

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware};
use perf_event::{Builder, Counter, ReadFormat};

/// One that can't be opened is left out: no processor of this machine has it, a virtual machine hides
/// it, or `kernel.perf_event_paranoid` forbids it.
const EVENTS: [(&str, Event); 10] = [
    ("cycles", Event::Of(Hardware::CPU_CYCLES)),
    ("instructions", Event::Of(Hardware::INSTRUCTIONS)),
    ("branches", Event::Of(Hardware::BRANCH_INSTRUCTIONS)),
    ("branch-misses", Event::Of(Hardware::BRANCH_MISSES)),
    ("cache-references", Event::Of(Hardware::CACHE_REFERENCES)),
    ("cache-misses", Event::Of(Hardware::CACHE_MISSES)),
    (
        "stalled-cycles-frontend",
        Event::Of(Hardware::STALLED_CYCLES_FRONTEND),
    ),
    (
        "stalled-cycles-backend",
        Event::Of(Hardware::STALLED_CYCLES_BACKEND),
    ),
    ("L1-icache-load-misses", Event::Misses(CacheId::L1I)),
    ("iTLB-load-misses", Event::Misses(CacheId::ITLB)),
];

#[derive(Clone, Copy)]
enum Event {
    Of(Hardware),
    Misses(CacheId),
}

/// What one run counted, by the names of `perf stat`.
pub(super) type Counts = Vec<(&'static str, f64)>;

/// Counters that wait for a program to be executed.
#[derive(Debug, Default)]
pub(super) struct Counters(Vec<(&'static str, Counter)>);

impl Counters {
    /// Opens what there is. The program has to be started by this thread.
    pub(super) fn open() -> Counters {
        let counters = EVENTS.into_iter().filter_map(|(name, event)| {
            let mut builder = match event {
                Event::Of(event) => Builder::new(event),
                Event::Misses(which) => Builder::new(Cache {
                    which,
                    operation: CacheOp::READ,
                    result: CacheResult::MISS,
                }),
            };
            Some((name, wait_for_exec(&mut builder).ok()?))
        });
        Counters(counters.collect())
    }

    /// What they counted, when the program has ended. A processor with fewer counters than events
    /// takes turns: the counts are scaled to the whole time, as `perf stat` does.
    pub(super) fn read(self) -> Counts {
        self.0
            .into_iter()
            .filter_map(|(name, mut counter)| Some((name, scaled(&mut counter)?)))
            .collect()
    }
}

fn wait_for_exec(builder: &mut Builder<'_>) -> std::io::Result<Counter> {
    builder
        .enabled(false)
        .inherit(true)
        .enable_on_exec(true)
        .read_format(ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING)
        .build()
}

fn scaled(counter: &mut Counter) -> Option<f64> {
    let read = counter.read_full().ok()?;
    let enabled = read.time_enabled()?.as_secs_f64();
    let running = read.time_running()?.as_secs_f64();
    // Never on the processor: not counted is not zero.
    (running > 0.0).then(|| read.count() as f64 * enabled / running)
}

/// Rates as people quote them: name, numerator, denominator, unit, whether more is better.
pub(super) const RATES: [(&str, &str, &str, Option<&str>, bool); 3] = [
    ("IPC", "instructions", "cycles", None, true),
    (
        "branch miss rate",
        "branch-misses",
        "branches",
        Some("%"),
        false,
    ),
    (
        "cache miss rate",
        "cache-misses",
        "cache-references",
        Some("%"),
        false,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use perf_event::events::Software;
    use std::process::Command;

    /// Hardware counters are missing on many machines; the kernel's own behave the same way.
    #[test]
    fn the_program_and_its_children_are_counted_and_we_are_not() {
        let mut builder = Builder::new(Software::PAGE_FAULTS);
        let Ok(mut counter) = wait_for_exec(&mut builder) else {
            // Perf events are not allowed here: `kernel.perf_event_paranoid`, a container.
            return;
        };
        let touched = vec![1_u8; 40 << 20];
        assert_eq!(counter.read().unwrap(), 0, "of this process");
        drop(touched);
        let script = "i=0; while [ $i -lt 50 ]; do env true; i=$((i+1)); done";
        Command::new("sh").args(["-c", script]).status().unwrap();
        // Any program that is loaded needs dozens of pages; a shell alone far less than these.
        let faults = scaled(&mut counter).unwrap();
        assert!(faults > 50.0 * 30.0, "{faults}");
    }

    #[test]
    fn what_a_machine_lacks_is_left_out() {
        let counters = Counters::open();
        Command::new("true").status().unwrap();
        for (name, count) in counters.read() {
            assert!(count > 0.0 || name.contains("miss"), "{name} {count}");
        }
    }
}
