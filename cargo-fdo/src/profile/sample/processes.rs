//! Samples by process and address, until it is certain what was mapped there.
//!
//! Each process has *generations*: between two moments at which an address began to mean something
//! else (exec, a library mapped over another one, a process number used again) all of its samples
//! can be resolved alike. So a sample is only counted in the generation of its time, by its plain
//! address, and whole tables are resolved at once: when their generation is over, when the process
//! ends, when the tables become large, at the end. Nearly every process has one generation at a
//! time. Children share their parent's mappings until either changes.

use super::branches::Edge;
use super::images::Images;
use super::maps::{Mapping, Maps};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// Distinct addresses and branches, over all processes, above which they are resolved. The entries
/// take 16 and 32 bytes and are held in tables up to twice that size.
const MAX_ENTRIES: usize = 1 << 19;

/// Processes whose mappings are remembered after they ended, because threads may outlive the main
/// one, whose end is all that the recording tells.
const MAX_ENDED: usize = 4096;

/// What happened to a process.
#[derive(Debug, Clone, Copy)]
pub(in crate::profile) enum Change {
    /// It mapped a part of a file to run.
    Map(Mapping),
    /// It began as a copy of another process.
    Fork {
        /// That process.
        parent: u32,
    },
    /// It began to run another program.
    Exec,
    /// Its main thread ended.
    Exit,
}

/// All processes of a recording, and the files that they ran.
#[derive(Default)]
pub(super) struct Processes {
    pub(super) images: Images,
    /// Samples at addresses without a file.
    pub(super) unmapped: u64,
    slots: Vec<Process>,
    by_pid: FxHashMap<u32, usize>,
    free: Vec<usize>,
    /// Pid and slot of the last sample.
    last: Option<(u32, usize)>,
    /// Entries in the tables of all generations.
    entries: usize,
    /// Pids with more than one generation.
    changed: Vec<u32>,
    ended: VecDeque<(u32, u32)>,
}

#[derive(Default)]
struct Process {
    /// Never empty but in a free slot, by time.
    generations: Vec<Generation>,
    /// How many processes had this slot before, so that a pid used again is told apart.
    life: u32,
    ended: bool,
}

#[derive(Default)]
struct Generation {
    /// Time of its beginning.
    since: u64,
    maps: Arc<Maps>,
    addresses: FxHashMap<u64, u64>,
    edges: FxHashMap<Edge, u64>,
}

impl Generation {
    fn of(since: u64, maps: Arc<Maps>) -> Generation {
        Generation {
            since,
            maps,
            ..Generation::default()
        }
    }

    fn len(&self) -> usize {
        self.addresses.len() + self.edges.len()
    }
}

impl Process {
    /// The generation that a time falls into.
    fn at(&mut self, time: u64) -> Option<&mut Generation> {
        let index = match self.generations.as_slice() {
            [_] => 0,
            several => several
                .iter()
                .rposition(|generation| generation.since <= time)
                .unwrap_or(0),
        };
        self.generations.get_mut(index)
    }

    fn begin(&mut self, time: u64, maps: Arc<Maps>) {
        if let Some(last) = self.generations.last_mut()
            && last.len() == 0
            && last.maps.is_empty()
        {
            last.maps = maps;
            return;
        }
        self.generations.push(Generation::of(time, maps));
    }
}

impl Processes {
    fn slot(&mut self, pid: u32) -> usize {
        if let Some((last, slot)) = self.last
            && last == pid
        {
            return slot;
        }
        let slot = match self.by_pid.get(&pid) {
            Some(&slot) => slot,
            None => {
                let slot = self.free.pop().unwrap_or_else(|| {
                    self.slots.push(Process::default());
                    self.slots.len() - 1
                });
                let process = &mut self.slots[slot];
                process.ended = false;
                process.generations.push(Generation::default());
                self.by_pid.insert(pid, slot);
                slot
            }
        };
        self.last = Some((pid, slot));
        slot
    }

    /// Counts a sample.
    pub(super) fn address(&mut self, pid: u32, time: u64, address: u64) {
        let slot = self.slot(pid);
        if let Some(generation) = self.slots[slot].at(time) {
            let before = generation.addresses.len();
            *generation.addresses.entry(address).or_insert(0) += 1;
            self.entries += generation.addresses.len() - before;
        }
    }

    /// Counts branches of one sample.
    pub(super) fn edges(&mut self, pid: u32, time: u64, edges: impl Iterator<Item = Edge>) {
        let slot = self.slot(pid);
        if let Some(generation) = self.slots[slot].at(time) {
            let before = generation.edges.len();
            for edge in edges {
                *generation.edges.entry(edge).or_insert(0) += 1;
            }
            self.entries += generation.edges.len() - before;
        }
    }

    /// Whether a mapping changes what is known about any address of a process.
    pub(super) fn contradicts(&self, pid: u32, mapping: &Mapping) -> bool {
        let process = self.by_pid.get(&pid).and_then(|&slot| self.slots.get(slot));
        let last = process.and_then(|process| process.generations.last());
        last.is_some_and(|last| last.maps.contradicts(mapping))
    }

    /// Applies a change; those of one process come in order of time.
    pub(super) fn change(&mut self, pid: u32, time: u64, change: Change) {
        match change {
            Change::Map(mapping) => {
                let slot = self.slot(pid);
                let process = &mut self.slots[slot];
                let Some(last) = process.generations.last_mut() else {
                    return;
                };
                if last.maps.contradicts(&mapping) {
                    let mut maps = last.maps.clone();
                    Arc::make_mut(&mut maps).insert(mapping);
                    process.begin(time, maps);
                    self.changed.push(pid);
                } else {
                    Arc::make_mut(&mut last.maps).insert(mapping);
                }
            }
            Change::Fork { parent } => {
                let parent = self.slot(parent);
                let maps = match self.slots[parent].at(time) {
                    Some(generation) => generation.maps.clone(),
                    None => Arc::default(),
                };
                self.begin(pid, time, maps);
            }
            Change::Exec => self.begin(pid, time, Arc::default()),
            Change::Exit => {
                let slot = self.slot(pid);
                let process = &mut self.slots[slot];
                if !process.ended {
                    process.ended = true;
                    self.ended.push_back((pid, process.life));
                }
            }
        }
    }

    fn begin(&mut self, pid: u32, time: u64, maps: Arc<Maps>) {
        let slot = self.slot(pid);
        let process = &mut self.slots[slot];
        if process.ended {
            process.ended = false;
            process.life = process.life.wrapping_add(1);
        }
        process.begin(time, maps);
        if process.generations.len() > 1 {
            self.changed.push(pid);
        }
    }

    /// No more samples and changes of `time` or before will come: resolves what is over.
    pub(super) fn settle(&mut self, time: u64) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.retain(|pid| {
            let Some(&slot) = self.by_pid.get(pid) else {
                return false;
            };
            let generations = &mut self.slots[slot].generations;
            let over = generations
                .iter()
                .skip(1)
                .take_while(|next| next.since <= time)
                .count();
            let over: Vec<Generation> = generations.drain(..over).collect();
            let remain = generations.len();
            for generation in over {
                self.entries = self.entries.saturating_sub(generation.len());
                self.resolve(generation);
            }
            remain > 1
        });
        self.changed = changed;
        while self.ended.len() > MAX_ENDED {
            self.forget_oldest();
        }
        if self.entries > MAX_ENTRIES {
            self.shrink();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((pid, life)) = self.ended.pop_front() else {
            return;
        };
        let Some(&slot) = self.by_pid.get(&pid) else {
            return;
        };
        let process = &mut self.slots[slot];
        if !process.ended || process.life != life {
            return;
        }
        process.life = process.life.wrapping_add(1);
        let generations = std::mem::take(&mut process.generations);
        self.by_pid.remove(&pid);
        self.free.push(slot);
        self.last = None;
        for generation in generations {
            self.entries = self.entries.saturating_sub(generation.len());
            self.resolve(generation);
        }
    }

    /// Resolves all tables, but those of processes without a mapping: theirs may still come
    /// (`perf record --tail-synthesize`).
    fn shrink(&mut self) {
        self.resolve_all(false);
        if self.entries > MAX_ENTRIES / 2 {
            self.resolve_all(true);
        }
    }

    fn resolve_all(&mut self, without_maps_too: bool) {
        let mut slots = std::mem::take(&mut self.slots);
        self.entries = 0;
        for generation in slots.iter_mut().flat_map(|slot| &mut slot.generations) {
            if without_maps_too || !generation.maps.is_empty() {
                let empty = Generation::of(generation.since, generation.maps.clone());
                self.resolve(std::mem::replace(generation, empty));
            } else {
                self.entries += generation.len();
            }
        }
        self.slots = slots;
    }

    fn resolve(&mut self, generation: Generation) {
        let maps = &generation.maps;
        for (address, count) in generation.addresses {
            match place(maps, address) {
                Some((image, offset)) => self.images.add_address(image, offset, count),
                None => self.unmapped += count,
            }
        }
        for (edge, count) in generation.edges {
            let to = place(maps, edge.to);
            self.images.add_branch(place(maps, edge.from), to, count);
            if let (Some((image, first)), Some((other, last))) = (to, place(maps, edge.until))
                && image == other
                && last.wrapping_sub(first) == edge.until.wrapping_sub(edge.to)
            {
                self.images.add_range(image, (first, last), count);
            }
        }
    }

    /// Resolves everything.
    pub(super) fn finish(&mut self) {
        self.resolve_all(true);
    }
}

/// The file and the offset in it of an address.
fn place(maps: &Maps, address: u64) -> Option<(u32, u64)> {
    let mapping = maps.find(address)?;
    Some((mapping.image?, address.wrapping_add(mapping.shift)))
}
