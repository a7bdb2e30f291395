//! From addresses to names: each distinct address once, file by file.

use super::collect::{Collected, Collector};
use super::files::Cause;
use super::folded::Folded;
use super::kernel::Kernel;
use super::names::plain;
use super::symbols::{self, Chain, Names};
use super::tree::Frame;
use super::{Sources, Stacks, TRUNCATED, UNKNOWN, Unnamed};
use crate::profile::sample::perf_data::sink::Done;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

/// What stands behind the names of the kernel's functions, as in other tools.
const KERNEL: &str = "_[k]";

/// Names all stacks of a recording.
pub(super) fn stacks(done: Done<Collector>, sources: Sources<'_>) -> Stacks {
    let mut collected = done.sink.finish();
    collected.files.learn(|path| done.build_ids.get(path));
    collected.kernel.build_id = done.build_ids.get(b"[kernel.kallsyms]");
    let named = Named::of(&collected, sources);

    let mut folded = Folded::default();
    let mut line = String::new();
    collected.tree.stacks(|stack, count| {
        line.clear();
        for &number in stack {
            for name in named.chains[number as usize].iter() {
                if !line.is_empty() {
                    line.push(';');
                }
                line.push_str(name);
            }
        }
        folded.count(&line, count);
    });
    let (frames, unnamed) = named.quality(&collected);
    Stacks {
        folded,
        event: done.event.name,
        samples: collected.samples,
        lost: collected.lost,
        other_events: collected.other_events,
        truncated: collected.truncated,
        has_calls: done.calls,
        inlined_in: named.inlined_in,
        cut_short_at: done.cut_short_at,
        frames,
        unnamed,
    }
}

/// Names of all frames, by their numbers.
struct Named {
    chains: Vec<Chain>,
    causes: Vec<Option<Cause>>,
    inlined_in: BTreeSet<String>,
}

impl Named {
    fn of(collected: &Collected, sources: Sources<'_>) -> Named {
        let frames = collected.tree.frames();
        let mut named = Named {
            chains: vec![Chain::default(); frames.len()],
            causes: vec![None; frames.len()],
            inlined_in: BTreeSet::new(),
        };
        let unknown: Rc<str> = UNKNOWN.into();
        // Offsets and numbers of frames, by file.
        let mut by_file: BTreeMap<u32, Vec<(u64, usize)>> = BTreeMap::new();
        let mut kernel = None;
        for (number, frame) in frames.iter().enumerate() {
            let name: Rc<str> = match *frame {
                Frame::Thread(name) => thread(collected.threads.named(name)).into(),
                Frame::Truncated => TRUNCATED.into(),
                Frame::Guest => "[guest]".into(),
                Frame::Unknown => {
                    named.causes[number] = Some(Cause::NoMapping);
                    Rc::clone(&unknown)
                }
                Frame::Kernel(address) => {
                    let kernel = kernel.get_or_insert_with(|| {
                        Kernel::running(sources.kallsyms, &collected.kernel)
                    });
                    let function = kernel.as_ref().and_then(|it| it.function(address));
                    if function.is_none() {
                        named.causes[number] = Some(Cause::Kernel);
                    }
                    format!("{}{KERNEL}", function.unwrap_or("[kernel]")).into()
                }
                Frame::Code { file, offset } => {
                    by_file.entry(file).or_default().push((offset, number));
                    continue;
                }
            };
            named.chains[number] = [name].into();
        }
        let mut names = Names::default();
        for (file, mut places) in by_file {
            places.sort_unstable();
            named.file(
                collected,
                file,
                &places,
                sources.debug_directories,
                &mut names,
            );
        }
        if !sources.inlined {
            for chain in &mut named.chains {
                *chain = chain.iter().take(1).cloned().collect();
            }
        }
        named
    }

    /// Names frames in one file.
    fn file(
        &mut self,
        collected: &Collected,
        file: u32,
        places: &[(u64, usize)],
        directories: &[PathBuf],
        names: &mut Names,
    ) {
        let Some(file) = collected.files.get(file) else {
            return;
        };
        let bracketed: Rc<str> = plain(&file.bracketed()).into();
        let offsets: Vec<u64> = places.iter().map(|(offset, _)| *offset).collect();
        let found = symbols::functions(file, &offsets, directories, names);
        let has_inlined =
            |found: &Result<Chain, Cause>| found.as_ref().is_ok_and(|it| it.len() > 1);
        if found.iter().any(has_inlined) {
            self.inlined_in.insert(file.path());
        }
        for ((_, number), found) in places.iter().zip(found) {
            self.chains[*number] = match found {
                Ok(chain) => chain,
                Err(cause) => {
                    self.causes[*number] = Some(cause);
                    [Rc::clone(&bracketed)].into()
                }
            };
        }
    }

    /// How many frames all samples have, and which of them have no name.
    fn quality(&self, collected: &Collected) -> (u64, Vec<Unnamed>) {
        let mut all = 0_u64;
        let mut unnamed: BTreeMap<(String, Cause), u64> = BTreeMap::new();
        let weights = collected.tree.weights();
        let frames = collected.tree.frames().iter().zip(weights);
        for ((frame, weight), cause) in frames.zip(&self.causes) {
            let what = match *frame {
                Frame::Thread(_) | Frame::Truncated | Frame::Guest => continue,
                Frame::Kernel(_) => "the kernel".to_owned(),
                Frame::Unknown => "memory without a file".to_owned(),
                Frame::Code { file, .. } => match collected.files.get(file) {
                    Some(file) => file.path(),
                    None => continue,
                },
            };
            all = all.saturating_add(weight);
            if let Some(cause) = cause {
                *unnamed.entry((what, *cause)).or_default() += weight;
            }
        }
        let mut unnamed: Vec<Unnamed> = unnamed
            .into_iter()
            .map(|((what, cause), frames)| Unnamed {
                what,
                cause,
                frames,
            })
            .collect();
        unnamed.sort_by_key(|unnamed| std::cmp::Reverse(unnamed.frames));
        (all, unnamed)
    }
}

/// A thread's name as the root of a stack, without blanks, as other tools write it.
pub(super) fn thread(name: &str) -> String {
    match plain(name) {
        name if name.is_empty() => UNKNOWN.to_owned(),
        name => name.replace(' ', "_"),
    }
}
