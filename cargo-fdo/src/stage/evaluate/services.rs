//! What services used while a workload ran beside them.

use crate::stage::services::Services;
use std::collections::BTreeMap;
use std::time::Duration;

/// Processor time of each service until now.
#[derive(Debug, Default)]
pub(super) struct Used(BTreeMap<String, u64>);

impl Used {
    pub(super) fn until_now(services: &Services) -> Used {
        let ticks = |pids: std::collections::BTreeSet<i32>| {
            pids.into_iter().filter_map(ticks_of).sum::<u64>()
        };
        Used(
            services
                .members()
                .map(|(name, pids)| (name.to_owned(), ticks(pids)))
                .collect(),
        )
    }

    /// Of each service since then.
    pub(super) fn since(&self, before: &Used) -> BTreeMap<String, Duration> {
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        self.0
            .iter()
            .map(|(name, ticks)| {
                let ticks = ticks.saturating_sub(before.0.get(name).copied().unwrap_or(0));
                (
                    name.clone(),
                    Duration::from_millis(ticks * 1000 / per_second),
                )
            })
            .collect()
    }
}

/// Clock ticks that a process has used, in its own code and in the kernel, children that it waited
/// for included: the 14th to 17th field of `/proc/PID/stat` (proc(5)).
fn ticks_of(pid: i32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, rest) = stat.rsplit_once(')')?;
    let fields = rest.split_ascii_whitespace().skip(11).take(4);
    Some(fields.filter_map(|field| field.parse::<u64>().ok()).sum())
}
