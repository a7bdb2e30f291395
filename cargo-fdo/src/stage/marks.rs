//! Marks of instrumented processes whose counters are not saved yet.
//!
//! The object in instrumented programs (`tool/signals/save_on_signal.rs`) makes a file for its
//! process when that starts, and removes it when the counters are saved at its end. A mark of a
//! process that is gone says that its counters are lost, however it ended: killed, by `_exit`, by
//! `abort`, by executing another program.
//!
//! A forked child has a mark from its fork on, and most children only execute another program:
//! nothing is lost then. Nothing tells afterwards which they were, so such a mark counts if its
//! process was [seen](Marks::look) to be the same program a while after.

use crate::fs::{self, FsError};
use crate::tool::signals::MARKS;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long a process has to live after a fork to be more than the step to another program, on a
/// busy machine too.
const SETTLED: Duration = Duration::from_millis(250);

/// A process that ended without saving its counters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lost {
    /// The program's name.
    pub program: String,
    /// Its process number.
    pub pid: i32,
    /// How many times its counters were saved before.
    pub saves: u32,
    /// How it ended, where cargo-fdo was its parent at the end.
    pub end: Option<String>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) path: PathBuf,
    pub(super) pid: i32,
    /// The program's file; empty where there was no `/proc`.
    pub(super) program: PathBuf,
    /// Saves on request.
    pub(super) saves: u32,
    /// Whether SIGUSR2 makes it save.
    pub(super) saves_on_request: bool,
    /// Nothing of note has happened since a fork.
    is_fresh: bool,
}

/// The marks beside the raw profiles of one directory.
#[derive(Debug)]
pub(super) struct Marks {
    dir: PathBuf,
    /// Marks of forked processes that stayed what they were.
    settled: BTreeSet<PathBuf>,
}

impl Marks {
    /// Lets programs that write their raw profiles into `raw_dir` make marks.
    ///
    /// # Errors
    ///
    /// If the directory can't be made.
    pub(super) fn prepare(raw_dir: &Path) -> Result<(), FsError> {
        fs::create_dir(&raw_dir.join(MARKS))
    }

    /// The marks of raw profiles in `raw_dir`; there are none without [`prepare`](Marks::prepare).
    pub(super) fn of(raw_dir: &Path) -> Marks {
        Marks {
            dir: raw_dir.join(MARKS),
            settled: BTreeSet::new(),
        }
    }

    /// Whether a file below raw profiles is a mark.
    pub(super) fn are_at(file: &Path) -> bool {
        file.parent().is_some_and(|dir| dir.ends_with(MARKS))
    }

    /// Looks at forked processes that live, while a workload runs.
    pub(super) fn look(&mut self) {
        for mark in read(&self.dir) {
            if !mark.is_fresh {
                continue;
            }
            match mark.is_running() {
                Some(true) if age(&mark.path) >= SETTLED => {
                    self.settled.insert(mark.path);
                }
                // It has executed another program, after its settling if it had to wait for it.
                Some(false) => {
                    self.settled.remove(&mark.path);
                    let _ = fs::remove_file(&mark.path);
                }
                _ => {}
            }
        }
    }

    /// The processes that are gone and lost their counters.
    pub(super) fn lost(&self) -> Vec<Lost> {
        let mut lost: BTreeMap<i32, Lost> = BTreeMap::new();
        for mark in read(&self.dir) {
            let counts = !mark.is_fresh || self.settled.contains(&mark.path);
            if counts && mark.is_running() != Some(true) {
                lost.entry(mark.pid)
                    .and_modify(|lost| lost.saves = lost.saves.min(mark.saves))
                    .or_insert_with(|| mark.lost());
            }
        }
        let mut lost: Vec<Lost> = lost.into_values().collect();
        lost.sort();
        lost
    }

    /// Where the raw profiles go.
    pub(super) fn raw_dir(&self) -> &Path {
        self.dir.parent().unwrap_or(&self.dir)
    }
}

impl Mark {
    /// Whether its process lives and is the program still; `None` if it is gone.
    pub(super) fn is_running(&self) -> Option<bool> {
        let program = std::fs::read_link(format!("/proc/{}/exe", self.pid)).ok()?;
        Some(program == self.program)
    }

    fn lost(&self) -> Lost {
        let name = self.program.file_name().unwrap_or_default();
        Lost {
            program: if name.is_empty() {
                "a program".to_owned()
            } else {
                name.to_string_lossy().into_owned()
            },
            pid: self.pid,
            saves: self.saves,
            end: None,
        }
    }
}

fn age(path: &Path) -> Duration {
    let changed = path.metadata().and_then(|data| data.modified());
    changed
        .ok()
        .and_then(|changed| SystemTime::now().duration_since(changed).ok())
        .unwrap_or_default()
}

/// The marks in a directory, those that are whole.
pub(super) fn read(dir: &Path) -> Vec<Mark> {
    let files = fs::list(dir).unwrap_or_default();
    files.iter().filter_map(|path| at(path)).collect()
}

/// The mark in a file; `None` if it is gone, since its process has saved its counters.
pub(super) fn at(path: &Path) -> Option<Mark> {
    parse(path.to_owned(), &std::fs::read(path).ok()?)
}

/// `SAVES STATE` and the program's path: `0000000002 rs\n/…/target/release/app`.
fn parse(path: PathBuf, bytes: &[u8]) -> Option<Mark> {
    use std::os::unix::ffi::OsStrExt;
    let (pid, _) = path.file_name()?.to_str()?.split_once('-')?;
    let pid = pid.parse().ok()?;
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (saves, state) = std::str::from_utf8(&bytes[..end]).ok()?.split_once(' ')?;
    let [state, on_request] = *state.as_bytes() else {
        return None;
    };
    Some(Mark {
        pid,
        program: PathBuf::from(std::ffi::OsStr::from_bytes(&bytes[end + 1..])),
        saves: saves.parse().ok()?,
        saves_on_request: on_request == b's',
        is_fresh: state == b'f',
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_if_it_is_whole() {
        let at = || PathBuf::from("/raw/running/4711-0");
        let mark = parse(at(), b"0000000002 rs\n/a b/app").unwrap();
        assert_eq!((mark.pid, mark.saves), (4711, 2));
        assert!(mark.saves_on_request && !mark.is_fresh);
        assert_eq!(mark.program, Path::new("/a b/app"));
        let mark = parse(at(), b"0000000000 f-\n").unwrap();
        assert!(!mark.saves_on_request && mark.is_fresh);
        assert_eq!(mark.lost().program, "a program");
        for bad in [&b""[..], b"0000000002 r", b"0000000002 rs", b"x rs\n/app"] {
            assert!(parse(at(), bad).is_none(), "{bad:?}");
        }
        assert!(parse("/raw/running/notes.txt".into(), b"0000000002 rs\n/app").is_none());
    }

    #[test]
    fn what_is_gone_is_lost_unless_it_only_forked_and_what_lives_is_not() {
        let dir = tempfile::tempdir().unwrap();
        Marks::prepare(dir.path()).unwrap();
        let own = std::process::id();
        let program = std::env::current_exe().unwrap();
        let put = |name: &str, text: String| {
            std::fs::write(dir.path().join(MARKS).join(name), text).unwrap();
        };
        // No process has these numbers: they are above the kernel's limit.
        put("999999991-0", "0000000000 rs\n/x/graphd".into());
        put("999999991-1", "0000000003 rs\n/x/graphd".into());
        put("999999992-0", "0000000000 fs\n/x/graphd".into());
        put(
            &format!("{own}-0"),
            format!("0000000000 rs\n{}", program.display()),
        );
        // Executed this test since.
        put(&format!("{own}-1"), "0000000000 fs\n/bin/other".into());
        let mut marks = Marks::of(dir.path());
        marks.look();
        let lost = Lost {
            program: "graphd".into(),
            pid: 999_999_991,
            saves: 0,
            end: None,
        };
        assert_eq!(marks.lost(), [lost]);
        assert!(!dir.path().join(MARKS).join(format!("{own}-1")).exists());
        // A fork that is seen to stay the same program counts.
        put(
            &format!("{own}-2"),
            format!("0000000000 fs\n{}", program.display()),
        );
        std::thread::sleep(SETTLED * 2);
        marks.look();
        assert_eq!(marks.settled.len(), 1);
    }

    #[test]
    fn without_marks_nothing_is_lost() {
        let mut marks = Marks::of(Path::new("/nonexistent"));
        marks.look();
        assert_eq!(marks.lost(), []);
    }
}
