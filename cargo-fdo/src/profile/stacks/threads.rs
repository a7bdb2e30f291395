//! Which thread has which name, and which process has mapped what, at one moment.
//!
//! What happens is told in the order of time, so that only the present state is kept.

use crate::profile::sample::maps::Maps;
use crate::profile::sample::processes::Change;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// Processes whose mappings are remembered after their main thread ended: others may go on.
const MAX_ENDED: usize = 4096;

/// Threads and processes, as they are now.
#[derive(Debug, Default)]
pub(super) struct Threads {
    processes: FxHashMap<u32, Process>,
    /// Pids whose main threads ended, oldest first.
    ended: VecDeque<u32>,
    /// Numbers of names, by thread.
    names: FxHashMap<u32, u32>,
    /// Names by number.
    known: Vec<String>,
    numbers: FxHashMap<Vec<u8>, u32>,
}

#[derive(Debug, Default)]
struct Process {
    maps: Arc<Maps>,
    ended: bool,
}

impl Threads {
    /// What a process has mapped.
    pub(super) fn maps(&self, pid: u32) -> Arc<Maps> {
        let process = self.processes.get(&pid);
        process.map_or_else(Arc::default, |process| process.maps.clone())
    }

    /// Something happened to a process.
    pub(super) fn change(&mut self, pid: u32, change: Change) {
        match change {
            Change::Map(mapping) => {
                let process = self.processes.entry(pid).or_default();
                Arc::make_mut(&mut process.maps).insert(mapping);
            }
            Change::Fork { parent } => {
                let maps = self.maps(parent);
                self.processes.insert(pid, Process { maps, ended: false });
            }
            Change::Exec => {
                self.processes.insert(pid, Process::default());
            }
            Change::Exit => {
                if let Some(process) = self.processes.get_mut(&pid) {
                    process.ended = true;
                    self.ended.push_back(pid);
                }
                if self.ended.len() > MAX_ENDED {
                    self.forget_oldest();
                }
            }
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(pid) = self.ended.pop_front()
            && self
                .processes
                .get(&pid)
                .is_some_and(|process| process.ended)
        {
            self.processes.remove(&pid);
        }
    }

    /// A thread has a name from now on.
    pub(super) fn name(&mut self, tid: u32, name: &[u8]) {
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                let number = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
                self.numbers.insert(name.to_vec(), number);
                self.known.push(String::from_utf8_lossy(name).into_owned());
                number
            }
        };
        self.names.insert(tid, number);
    }

    /// A thread began with the name of its parent.
    pub(super) fn begin(&mut self, tid: u32, parent: u32) {
        if let Some(&name) = self.names.get(&parent) {
            self.names.insert(tid, name);
        }
    }

    /// The number of a thread's name; that of `:tid`, as perf calls it, if it has none.
    pub(super) fn name_of(&mut self, tid: u32) -> u32 {
        if let Some(&name) = self.names.get(&tid) {
            return name;
        }
        let name = match tid {
            // The kernel's idle threads, one a processor.
            0 => "swapper".to_owned(),
            // One that has ended already.
            u32::MAX => ":-1".to_owned(),
            tid => format!(":{tid}"),
        };
        self.name(tid, name.as_bytes());
        self.names.get(&tid).copied().unwrap_or_default()
    }

    /// A name by its number.
    pub(super) fn named(&self, number: u32) -> &str {
        self.known.get(number as usize).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample::maps::Mapping;

    fn mapping(start: u64) -> Mapping {
        Mapping::new(start, 0x1000, 0, Some(1)).unwrap()
    }

    #[test]
    fn children_have_mappings_and_names_of_their_parents_until_they_change() {
        let mut threads = Threads::default();
        threads.name(1, b"shell");
        threads.change(1, Change::Map(mapping(0x1000)));
        threads.begin(2, 1);
        threads.change(2, Change::Fork { parent: 1 });
        threads.change(2, Change::Map(mapping(0x8000)));
        let has = |threads: &Threads, pid, address| threads.maps(pid).find(address).is_some();
        assert!(has(&threads, 2, 0x1000) && has(&threads, 2, 0x8000) && !has(&threads, 1, 0x8000));
        threads.change(2, Change::Exec);
        threads.name(2, b"ls");
        assert!(!has(&threads, 2, 0x1000));
        let names: Vec<u32> = [1, 2, 3, 0].map(|tid| threads.name_of(tid)).into();
        let names: Vec<&str> = names.iter().map(|&name| threads.named(name)).collect();
        assert_eq!(names, ["shell", "ls", ":3", "swapper"]);
    }

    #[test]
    fn processes_that_ended_long_ago_are_forgotten() {
        let mut threads = Threads::default();
        let pids = 2 * MAX_ENDED as u32;
        for pid in 1..=pids {
            threads.change(pid, Change::Map(mapping(0x1000)));
            threads.change(pid, Change::Exit);
        }
        assert_eq!(threads.processes.len(), MAX_ENDED);
        assert!(threads.maps(1).is_empty() && !threads.maps(pids).is_empty());
    }
}
