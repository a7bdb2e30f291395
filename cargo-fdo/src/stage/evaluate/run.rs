//! One measured run.

use super::callgrind;
use super::counters::{Counters, Counts};
use super::figures::{self, FigureError, Outputs};
use super::services::Used;
use super::weather::{Air, Watch};
use crate::config::{MetricSource, Workload};
use crate::metrics::Reading;
use crate::stage::family::{Ended, Family};
use crate::stage::services::Services;
use crate::stage::workload::{Part, blame, execute};
use crate::tool::Invocation;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a build of the program runs in.
#[derive(Debug)]
pub(super) struct Lane {
    /// What runs.
    pub(super) call: Invocation,
    /// What runs beside it.
    pub(super) services: Services,
    /// Its directory.
    pub(super) tmp: tempfile::TempDir,
}

/// Where runs put what they write, one after the other.
#[derive(Debug)]
pub(super) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(super) fn in_dir(dir: &Path) -> std::io::Result<Scratch> {
        tempfile::Builder::new()
            .prefix("outputs-")
            .tempdir_in(dir)
            .map(Scratch)
    }

    fn stdout(&self) -> PathBuf {
        self.0.path().join("stdout")
    }

    fn stderr(&self) -> PathBuf {
        self.0.path().join("stderr")
    }

    /// Directs a program's outputs into our files. What can't be made is nowhere.
    pub(super) fn connect(&self, command: &mut Command) {
        let file = |path| File::create(path).map_or_else(|_| Stdio::null(), Stdio::from);
        command
            .stdin(Stdio::null())
            .stdout(file(self.stdout()))
            .stderr(file(self.stderr()));
    }
}

/// What is the same for all runs of a scenario.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) workload: &'a Workload,
    /// What to read of its outputs.
    pub(super) metrics: &'a [MetricSource],
    /// Whether it is a harness, whose figures are read if there are any.
    pub(super) is_harness: bool,
    pub(super) family: &'a Family,
    pub(super) scratch: &'a Scratch,
    /// `{workspace}`
    pub(super) root: &'a Path,
}

/// What one run gave.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) ended: Ended,
    /// Processor time of each service meanwhile.
    pub(super) services: BTreeMap<String, Duration>,
    /// `None` of a program that is smaller than we are: a process has its parent's memory until it
    /// executes another program, and the kernel counts that too (`exec_mmap` in fs/exec.c).
    pub(super) peak_memory: Option<u64>,
    pub(super) counts: Counts,
    pub(super) air: Air,
    pub(super) readings: Result<Vec<Reading>, FigureError>,
}

/// Runs it.
///
/// # Errors
///
/// In words, with the program's own last ones: it failed, was too slow, or did not start.
pub(super) fn measure(lane: &Lane, around: &Around<'_>) -> Result<Measured, String> {
    let Around {
        workload,
        family,
        scratch,
        ..
    } = around;
    let before = family.members();
    let (stdout, stderr) = (scratch.stdout(), scratch.stderr());
    let written = outputs(&stdout, &stderr, lane, around);
    let files = figures::Before::look(around.metrics, written.0);
    let inherited = own_memory();
    let before_run = Used::until_now(&lane.services);
    let watch = Watch::start();
    let counters = Counters::open();
    let connect = |command: &mut Command| scratch.connect(command);
    let ended = execute(
        Part::Run,
        workload,
        &lane.call,
        workload.timeout,
        family,
        &connect,
    );
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => {
            family.stop_newer(&before);
            let error = blame(&lane.services, workload, error);
            return Err(in_words(&error, lane, around));
        }
    };
    let counts = counters.read();
    let services = Used::until_now(&lane.services).since(&before_run);
    let mut usage = ended.usage;
    // They are no others.
    usage.user += services.values().sum::<Duration>();
    let air = watch.end(&usage);
    // What it left running would disturb the next one.
    family.stop_newer(&before);
    let peak_memory = ended.usage.peak_memory;
    Ok(Measured {
        ended,
        services,
        peak_memory: (peak_memory > inherited).then_some(peak_memory),
        counts,
        air,
        readings: written.read(around, &files),
    })
}

/// Counts the instructions of one run.
///
/// # Errors
///
/// In words.
pub(super) fn count_instructions(
    valgrind: &Path,
    lane: &Lane,
    around: &Around<'_>,
) -> Result<u64, String> {
    let dir = instructions_dir(around.scratch)?;
    let before = around.family.members();
    let call = callgrind::wrap(valgrind, &lane.call, &dir);
    let connect = |command: &mut Command| around.scratch.connect(command);
    // Fifty times as slow: the workload's own limit is not meant for this.
    let ended = execute(
        Part::Run,
        around.workload,
        &call,
        None,
        around.family,
        &connect,
    );
    around.family.stop_newer(&before);
    match ended {
        Ok(_) => callgrind::total(&dir),
        Err(error) => Err(in_words(&error, lane, around)),
    }
}

/// Runs the load of services that are simulated; it is as it always is.
///
/// # Errors
///
/// In words.
pub(super) fn run_simulated(lane: &Lane, around: &Around<'_>) -> Result<(), String> {
    let before = around.family.members();
    let connect = |command: &mut Command| around.scratch.connect(command);
    let ended = execute(
        Part::Run,
        around.workload,
        &lane.call,
        None,
        around.family,
        &connect,
    );
    around.family.stop_newer(&before);
    match ended {
        Ok(_) => Ok(()),
        Err(error) => {
            let error = blame(&lane.services, around.workload, error);
            Err(in_words(&error, lane, around))
        }
    }
}

/// An empty directory for callgrind's files.
pub(super) fn instructions_dir(scratch: &Scratch) -> Result<PathBuf, String> {
    let dir = scratch.0.path().join("callgrind");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir(&dir).map_err(|error| error.to_string())?;
    Ok(dir)
}

/// An error with what the program said last.
pub(super) fn in_words(error: &dyn std::error::Error, lane: &Lane, around: &Around<'_>) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    let (stdout, stderr) = (around.scratch.stdout(), around.scratch.stderr());
    let last = figures::last_lines(outputs(&stdout, &stderr, lane, around).0, 5);
    if !last.is_empty() {
        words.push_str("\n  it wrote: ");
        words.push_str(&last.replace('\n', "\n            "));
    }
    words
}

struct Written<'a>(Outputs<'a>);

fn outputs<'a>(
    stdout: &'a Path,
    stderr: &'a Path,
    lane: &'a Lane,
    around: &Around<'a>,
) -> Written<'a> {
    Written(Outputs {
        stdout,
        stderr,
        tmp: lane.tmp.path(),
        workspace: around.root,
        cwd: lane.call.cwd.as_deref().unwrap_or(around.root),
    })
}

impl Written<'_> {
    fn read(
        &self,
        around: &Around<'_>,
        before: &figures::Before,
    ) -> Result<Vec<Reading>, FigureError> {
        let mut readings = figures::read(around.metrics, self.0, before)?;
        if around.is_harness && around.metrics.is_empty() {
            readings.extend(figures::of_harness(self.0));
        }
        Ok(readings)
    }
}

/// Bytes of memory that this process has, and a little more for what it needs to start another.
fn own_memory() -> u64 {
    const LITTLE: u64 = 256 << 10;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Option<u64> = statm
        .split_ascii_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    pages.map_or(0, |pages| {
        pages * rustix::param::page_size() as u64 + LITTLE
    })
}
