//! Processes that lost their counters, in words.

use super::marks::Lost;
use crate::ui::count;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// How many are named.
const NAMED: usize = 10;

/// What became of the instrumented processes of a training.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    /// Those that saved nothing.
    whole: Vec<Lost>,
    /// Those that saved on request, and not at their end.
    rest: Vec<Lost>,
    /// All that saved or lost something.
    processes: usize,
}

impl Losses {
    /// Those of processes that wrote these raw profiles or nothing.
    pub(super) fn new(lost: impl IntoIterator<Item = Lost>, raw_profiles: &[PathBuf]) -> Losses {
        // The last that is known of each: with its end.
        let mut all: BTreeMap<i32, Lost> = BTreeMap::new();
        for lost in lost {
            match all.get(&lost.pid) {
                Some(known) if known.end.is_some() => {}
                _ => drop(all.insert(lost.pid, lost)),
            }
        }
        let mut processes: BTreeSet<i32> = raw_profiles.iter().filter_map(|at| pid(at)).collect();
        processes.extend(all.keys());
        let mut lost: Vec<Lost> = all.into_values().collect();
        lost.sort();
        let (whole, rest) = lost.into_iter().partition(|lost| lost.saves == 0);
        Losses {
            whole,
            rest,
            processes: processes.len(),
        }
    }

    /// How many processes lost all.
    pub fn count(&self) -> usize {
        self.whole.len()
    }

    /// Those that lost all: `3 of 16 processes ended without saving their counters: …`.
    pub fn sentence(&self) -> Option<String> {
        let lost = self.whole.len();
        (lost > 0).then(|| {
            format!(
                "{} of {} ended without saving {} counters: {}",
                count(lost as u64),
                instrumented(self.processes),
                if lost == 1 { "its" } else { "their" },
                names(&self.whole)
            )
        })
    }

    /// Those that lost what they counted since a save.
    pub fn rest_sentence(&self) -> Option<String> {
        (!self.rest.is_empty()).then(|| {
            format!(
                "{} saved counters on request and not at the end: {}",
                processes(self.rest.len()),
                names(&self.rest)
            )
        })
    }
}

/// `1 process`, `2 processes`.
pub fn processes(number: usize) -> String {
    match number {
        1 => "1 process".to_owned(),
        number => format!("{} processes", count(number as u64)),
    }
}

fn instrumented(number: usize) -> String {
    processes(number).replacen(' ', " instrumented ", 1)
}

/// `graphd 4711 (signal 9, SIGKILL), graphd 4712 and 5 more`.
fn names(lost: &[Lost]) -> String {
    let named: Vec<String> = lost
        .iter()
        .take(NAMED)
        .map(|lost| {
            let end = lost.end.iter().map(|end| format!(" ({end})"));
            format!("{} {}{}", lost.program, lost.pid, end.collect::<String>())
        })
        .collect();
    let more = lost.len().saturating_sub(NAMED);
    let more = match more {
        0 => String::new(),
        more => format!(" and {} more", count(more as u64)),
    };
    format!("{}{more}", named.join(", "))
}

/// The process that wrote a raw profile, by its name: `%p-%m`.
fn pid(raw_profile: &Path) -> Option<i32> {
    let (pid, _) = raw_profile.file_name()?.to_str()?.split_once('-')?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(pid: i32, saves: u32) -> Lost {
        Lost {
            program: "graphd".into(),
            pid,
            saves,
            end: None,
        }
    }

    #[test]
    fn processes_are_counted_once_whatever_their_images() {
        let raws = [
            "/r/1-77_0.profraw",
            "/r/1-78_0.profraw",
            "/r/2-77_0.profraw",
        ];
        let raws = raws.map(PathBuf::from);
        let losses = Losses::new([lost(3, 0), lost(3, 0), lost(2, 4)], &raws);
        assert_eq!(losses.count(), 1);
        assert_eq!(
            losses.sentence().unwrap(),
            "1 of 3 instrumented processes ended without saving its counters: graphd 3"
        );
        assert_eq!(
            losses.rest_sentence().unwrap(),
            "1 process saved counters on request and not at the end: graphd 2"
        );
    }

    #[test]
    fn how_a_process_ended_is_said_once_it_is_known() {
        let killed = Lost {
            end: Some("signal 9, SIGKILL".into()),
            ..lost(3, 0)
        };
        for order in [[lost(3, 0), killed.clone()], [killed, lost(3, 0)]] {
            let said = Losses::new(order, &[]).sentence().unwrap();
            assert!(said.ends_with(": graphd 3 (signal 9, SIGKILL)"), "{said}");
        }
    }

    #[test]
    fn nothing_lost_says_nothing() {
        let losses = Losses::new([], &["/r/1-77_0.profraw".into()]);
        assert_eq!((losses.sentence(), losses.rest_sentence()), (None, None));
    }

    #[test]
    fn a_great_many_are_not_all_named() {
        let losses = Losses::new((1..=12).map(|pid| lost(pid, 0)), &[]);
        let said = losses.sentence().unwrap();
        assert!(said.starts_with("12 of 12 "), "{said}");
        assert!(said.ends_with("graphd 10 and 2 more"), "{said}");
    }
}
