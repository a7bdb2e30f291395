//! What perf can sample on this machine: tried out, best first.
//!
//! Branch stacks say which branches were taken, and so how often each block ran; a hardware
//! counter of cycles says where time went, with little skid; the kernel's clock works wherever
//! Linux runs, virtual machines without counters included. A trial records a short busy loop.
//! Only what is in its file counts: perf replaces `cycles` by `cpu-clock` without a word where
//! there is no such counter, and ends well.

use super::refusal::{Barrier, Cause, Refused, cause};
use super::{Limits, Perf, Whom};
use crate::fs::{self, FsError};
use crate::profile::sample::read::{self, Selection};
use crate::tool::Invocation;
use crate::tool::locate::{Identity, Places};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// How much a sample says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// The last taken branches, up to 32 of them.
    BranchStacks,
    /// An address, by a counter of the processor.
    Hardware,
    /// An address, by the kernel's clock.
    Clock,
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Quality::BranchStacks => "branch stacks",
            Quality::Hardware => "hardware samples, no branch stacks",
            Quality::Clock => "clock samples, no branch stacks",
        })
    }
}

/// When a sample is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// So often a second of each thread's time.
    Frequency(u32),
    /// After so many events.
    Period(u64),
}

/// How a sample comes by its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// The kernel follows frame pointers.
    FramePointers,
    /// The kernel copies so many bytes of the stack.
    Stack(u32),
}

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Calls::FramePointers => f.write_str("callers by frame pointers"),
            Calls::Stack(bytes) => write!(f, "callers by copies of {bytes} bytes of stack"),
        }
    }
}

/// A way to sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// The event; of user mode only if it says so (`:u`).
    pub event: String,
    /// Whether branch stacks come with each sample.
    pub branch_stacks: bool,
    /// How often.
    pub pace: Pace,
    /// What it is worth.
    pub quality: Quality,
    /// How callers come with each sample; `None` if they don't.
    #[serde(default)]
    pub calls: Option<Calls>,
    /// Whether perf can write build ids with the mappings (since 5.12); otherwise it reads all
    /// of its file again at the end to collect them.
    pub build_ids: bool,
}

impl Sampling {
    /// perf's arguments.
    pub fn arguments(&self) -> Vec<String> {
        let mut words = vec!["-e".to_owned(), self.event.clone()];
        match self.pace {
            Pace::Frequency(hertz) => words.extend(["-F".to_owned(), hertz.to_string()]),
            Pace::Period(events) => words.extend(["-c".to_owned(), events.to_string()]),
        }
        if self.branch_stacks {
            words.extend(["-j".to_owned(), "any,u".to_owned()]);
        }
        match self.calls {
            None => {}
            Some(Calls::FramePointers) => words.push("--call-graph=fp".to_owned()),
            Some(Calls::Stack(bytes)) => words.push(format!("--call-graph=dwarf,{bytes}")),
        }
        // Without it perf copies binaries into ~/.debug, which is not ours to fill.
        words.push(
            if self.build_ids {
                "--buildid-mmap"
            } else {
                "-N"
            }
            .to_owned(),
        );
        words
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.calls {
            // What it is worth is said for profiles.
            Some(calls) => calls.fmt(f)?,
            None => self.quality.fmt(f)?,
        }
        match self.pace {
            Pace::Frequency(hertz) => write!(f, ", `{}` at {hertz} Hz", self.event),
            Pace::Period(events) => write!(f, ", one in {events} of `{}`", self.event),
        }
    }
}

/// What the user asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Wanted {
    /// The event; the best one if `None`.
    pub event: Option<String>,
    /// Whether branch stacks must be there (`true`) or are not wanted (`false`).
    pub branch_stacks: Option<bool>,
    /// Samples a second.
    pub frequency: Option<u32>,
}

/// The processor, as far as its events differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpu {
    /// Last branch records by `br_inst_retired.near_taken`.
    Intel,
    /// Zen 3's branch sampling or Zen 4's last branch records.
    Amd,
    /// Others: Arm's BRBE takes them with any event.
    Other,
}

impl Cpu {
    /// By the content of `/proc/cpuinfo`.
    pub fn of(cpuinfo: &str) -> Cpu {
        if cpuinfo.contains("GenuineIntel") {
            Cpu::Intel
        } else if cpuinfo.contains("AuthenticAMD") || cpuinfo.contains("HygonGenuine") {
            Cpu::Amd
        } else {
            Cpu::Other
        }
    }
}

/// Samples a second, perf's own default.
///
/// Measured on a virtual machine with the clock, a sample costs the program 6 µs: 4000 Hz make it
/// 2 to 3 % slower, 15,000 Hz 8 to 10 %.
const HERTZ: u32 = 4_000;

/// A fixed number of events for Zen 3, whose branch sampling has no frequencies; a prime, so that
/// no loop keeps step with it.
const ZEN3_PERIOD: u64 = 200_003;

/// What a trial's file held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Samples.
    pub samples: u64,
    /// Whether they carry branches.
    pub branch_stacks: bool,
    /// Whether it was the kernel's clock after all.
    pub clock: bool,
}

/// The ways to try, best first.
fn ways(wanted: &Wanted, cpu: Cpu, max_hertz: Option<u32>) -> Vec<Sampling> {
    let way = |event: &str, branch_stacks: bool, quality: Quality| {
        let hertz = wanted.frequency.unwrap_or(HERTZ);
        Sampling {
            event: event.to_owned(),
            branch_stacks,
            // perf lowers it by itself, and warns.
            pace: Pace::Frequency(max_hertz.map_or(hertz, |max| hertz.min(max))),
            quality,
            calls: None,
            build_ids: true,
        }
    };
    let stacks = wanted.branch_stacks != Some(false);
    let plain = wanted.branch_stacks != Some(true);
    let mut ways = Vec::new();
    if let Some(event) = &wanted.event {
        if stacks {
            ways.push(way(event, true, Quality::BranchStacks));
        }
        if plain {
            let quality = if is_clock(event) {
                Quality::Clock
            } else {
                Quality::Hardware
            };
            ways.push(way(event, false, quality));
        }
        return ways;
    }
    if stacks {
        let stack = |event: &str| way(event, true, Quality::BranchStacks);
        match cpu {
            Cpu::Intel => ways.extend([
                stack("br_inst_retired.near_taken:uppp"),
                // The same of a perf that was built without names, and without PEBS.
                stack("cpu/event=0xc4,umask=0x20/u"),
                stack("cycles:u"),
            ]),
            Cpu::Amd => {
                // ex_ret_brn_tkn
                ways.push(stack("cpu/event=0xc4/u"));
                let mut zen3 = stack("cpu/branch-brs/u");
                zen3.pace = Pace::Period(ZEN3_PERIOD);
                ways.push(zen3);
                ways.push(stack("cycles:u"));
            }
            Cpu::Other => ways.push(stack("cycles:u")),
        }
    }
    if plain {
        ways.push(way("cycles:u", false, Quality::Hardware));
        ways.push(way("cpu-clock:u", false, Quality::Clock));
    }
    ways
}

/// Whether it is an event of the kernel's timers.
pub fn is_clock(event: &str) -> bool {
    event.starts_with("cpu-clock") || event.starts_with("task-clock")
}

/// The first way that works. `try_out` records, and says what was in the file, or perf's words.
fn choose(
    ways: Vec<Sampling>,
    wanted: &Wanted,
    barrier: &dyn Fn() -> Barrier,
    try_out: &dyn Fn(&Sampling) -> Result<Seen, String>,
) -> Result<Sampling, Refused> {
    let mut tried = Vec::new();
    let mut refusal = None;
    for mut way in ways {
        let mut outcome = try_out(&way);
        if let Err(words) = &outcome
            && words.contains("unknown option")
        {
            way.build_ids = false;
            outcome = try_out(&way);
        }
        match outcome {
            Ok(seen) => {
                let as_asked = (!way.branch_stacks || seen.branch_stacks)
                    && (way.quality == Quality::Clock || !seen.clock);
                if seen.samples > 0 && as_asked {
                    return Ok(way);
                }
                if seen.samples > 0 && !as_asked {
                    let lacks = if seen.clock {
                        "perf took the clock instead"
                    } else {
                        "the samples have no branches"
                    };
                    refusal = Some(format!("`{}`: {lacks}, not supported", way.event));
                } else {
                    tried.push(way.event);
                    refusal = None;
                }
            }
            // The last words count: what works everywhere is tried last.
            Err(words) => refusal = Some(words),
        }
    }
    let Some(words) = refusal else {
        return Err(Refused::Nothing {
            tried: tried.join(", "),
        });
    };
    let wanted = match (&wanted.event, wanted.branch_stacks) {
        (_, Some(true)) => "branch stacks".to_owned(),
        (Some(event), _) => format!("`{event}`"),
        _ => "any event".to_owned(),
    };
    Err(refused(&words, wanted, barrier))
}

fn refused(words: &str, wanted: String, barrier: &dyn Fn() -> Barrier) -> Refused {
    let gist = gist(words);
    match cause(words) {
        Cause::Permission => Refused::Permission {
            words: gist,
            barrier: barrier(),
        },
        Cause::Hardware => Refused::Hardware {
            wanted,
            words: gist,
        },
        Cause::Other => Refused::Other { words: gist },
    }
}

/// The first line of perf's words that says something.
fn gist(words: &str) -> String {
    words
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && *line != "Error:")
        .unwrap_or("it ended without a word")
        .chars()
        // A terminal would obey them.
        .filter(|char| !char.is_control())
        .collect()
}

/// How long a trial may take, on a machine with much other work.
const TRIAL: Duration = Duration::from_secs(60);

/// Records a busy loop of about a tenth of a second.
fn trial(perf: &Perf, way: &Sampling, scratch: &Path) -> Result<Seen, String> {
    let out = scratch.join("trial.data");
    let _ = std::fs::remove_file(&out);
    let load =
        Invocation::new("sh").args(["-c", "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done"]);
    // A low frequency that the user wants would leave such a short recording empty.
    let mut often = way.clone();
    if let Pace::Frequency(hertz) = &mut often.pace {
        *hertz = (*hertz).max(HERTZ);
    }
    let call = perf.record(&often, &Limits::default(), &out, &load);
    let said = call
        .probe_within(TRIAL)
        .map_err(|error| error.to_string())?;
    if !said.status.success() {
        return Err(if said.stderr.trim().is_empty() {
            format!(
                "`{call}` ended with {} and without a word",
                crate::tool::invocation::describe(said.status)
            )
        } else {
            said.stderr
        });
    }
    let file = std::fs::File::open(&out).map_err(|_| {
        format!(
            "`{}` said that all was well, and wrote nothing",
            perf.program.display()
        )
    })?;
    let recording = read::read(file, &Selection::default())
        .map_err(|error| format!("what it recorded can't be read: {error}"))?;
    Ok(Seen {
        samples: recording.samples - recording.kernel_samples,
        branch_stacks: recording
            .images
            .iter()
            .any(|image| !image.branches.is_empty()),
        clock: is_clock(&recording.event.name),
    })
}

/// Tries out whether running processes, or the system, may be recorded.
///
/// # Errors
///
/// [`Refused`], with perf's words.
pub fn try_to_attach(
    perf: &Perf,
    way: &Sampling,
    whom: &Whom,
    scratch: &Path,
) -> Result<(), Refused> {
    let out = scratch.join("attach.data");
    let load = Invocation::new("true");
    let call = perf.attach(way, &Limits::default(), &out, whom, Some(&load));
    let words = match call.probe_within(TRIAL) {
        Ok(said) if said.status.success() => return Ok(()),
        Ok(said) if said.stderr.trim().is_empty() => format!(
            "`{call}` ended with {} and without a word",
            crate::tool::invocation::describe(said.status)
        ),
        Ok(said) => said.stderr,
        Err(error) => error.to_string(),
    };
    Err(refused(
        &words,
        "these processes".to_owned(),
        &Barrier::here,
    ))
}

/// What the findings depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Basis {
    version: String,
    perf: Option<Identity>,
    kernel: String,
    user: u32,
    paranoid: Option<String>,
    hertz: u32,
    max_hertz: Option<u32>,
    cpu: String,
    wanted: Wanted,
}

#[derive(Serialize, Deserialize)]
struct Remembered {
    basis: Basis,
    sampling: Sampling,
}

/// The best way to sample here, tried out, or remembered in `memory` from an earlier trial.
///
/// A refusal is not remembered: the next run may be permitted.
///
/// # Errors
///
/// [`Refused`], or that `scratch` or `memory` can't be written.
pub fn find(
    perf: &Perf,
    wanted: &Wanted,
    places: &Places,
    scratch: &Path,
    memory: Option<&Path>,
) -> crate::error::Result<Sampling> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let max_hertz = read("/proc/sys/kernel/perf_event_max_sample_rate")
        .and_then(|text| text.trim().parse().ok());
    let basis = Basis {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        perf: Identity::of(places, &perf.program),
        kernel: super::kernel(),
        user: rustix::process::geteuid().as_raw(),
        paranoid: read("/proc/sys/kernel/perf_event_paranoid"),
        hertz: wanted.frequency.unwrap_or(HERTZ),
        max_hertz,
        cpu: model(&cpuinfo),
        wanted: wanted.clone(),
    };
    if let Some(memory) = memory
        && let Some(sampling) = remembered(memory, &basis)
    {
        return Ok(sampling);
    }
    fs::create_dir(scratch)?;
    let dir = tempfile::Builder::new()
        .prefix("perf-")
        .tempdir_in(scratch)
        .map_err(|error| FsError::new("make a directory in", scratch, error))?;
    let sampling = choose(
        ways(wanted, Cpu::of(&cpuinfo), max_hertz),
        wanted,
        &Barrier::here,
        &|way| trial(perf, way, dir.path()),
    )?;
    if let Some(memory) = memory {
        let text = serde_json::to_string_pretty(&Remembered {
            basis,
            sampling: sampling.clone(),
        })
        .expect("plain data");
        fs::write_quick(memory, text.as_bytes())?;
    }
    Ok(sampling)
}

fn remembered(memory: &Path, basis: &Basis) -> Option<Sampling> {
    let text = fs::read_if_there(memory).ok()??;
    let remembered: Remembered = serde_json::from_str(&text).ok()?;
    (remembered.basis == *basis).then_some(remembered.sampling)
}

/// The processor's name; of Arm its part number.
fn model(cpuinfo: &str) -> String {
    ["model name", "CPU part"]
        .iter()
        .find_map(|key| {
            let line = cpuinfo.lines().find(|line| line.starts_with(key))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn seen(samples: u64, branch_stacks: bool, clock: bool) -> Result<Seen, String> {
        Ok(Seen {
            samples,
            branch_stacks,
            clock,
        })
    }

    fn chosen(
        wanted: &Wanted,
        cpu: Cpu,
        machine: &dyn Fn(&Sampling) -> Result<Seen, String>,
    ) -> Result<Sampling, Refused> {
        let barrier = || Barrier::Paranoid(3);
        choose(ways(wanted, cpu, Some(100_000)), wanted, &barrier, machine)
    }

    const NO_STACKS: &str =
        "Error:\ncycles:u: PMU Hardware or event type doesn't support branch stack sampling.";

    /// A virtual machine without counters, where perf falls back by itself.
    fn guest(way: &Sampling) -> Result<Seen, String> {
        match way.branch_stacks {
            true => Err(NO_STACKS.to_owned()),
            false => seen(400, false, true),
        }
    }

    #[test]
    fn branch_stacks_come_first_where_the_file_has_them() {
        let machine = |way: &Sampling| {
            if way.event.starts_with("br_inst") {
                return Err("event syntax error: 'br_inst'".to_owned());
            }
            seen(100, way.branch_stacks, false)
        };
        let way = chosen(&Wanted::default(), Cpu::Intel, &machine).unwrap();
        assert_eq!(way.event, "cpu/event=0xc4,umask=0x20/u");
        assert_eq!(way.quality, Quality::BranchStacks);
        let without = Wanted {
            branch_stacks: Some(false),
            ..Wanted::default()
        };
        let way = chosen(&without, Cpu::Intel, &machine).unwrap();
        assert_eq!(
            (way.event.as_str(), way.quality),
            ("cycles:u", Quality::Hardware)
        );
    }

    #[test]
    fn cycles_that_are_the_clock_in_truth_are_called_the_clock() {
        let way = chosen(&Wanted::default(), Cpu::Amd, &guest).unwrap();
        assert_eq!(
            (way.event.as_str(), way.quality),
            ("cpu-clock:u", Quality::Clock)
        );
        assert_eq!(way.pace, Pace::Frequency(HERTZ));
    }

    #[test]
    fn what_was_asked_for_and_is_not_there_is_an_error() {
        let wanted = Wanted {
            branch_stacks: Some(true),
            ..Wanted::default()
        };
        let error = chosen(&wanted, Cpu::Amd, &guest).unwrap_err().to_string();
        assert!(
            error.starts_with("this machine can't record branch stacks: cycles:u"),
            "{error}"
        );
        let wanted = Wanted {
            event: Some("cycles:u".into()),
            ..Wanted::default()
        };
        let error = chosen(&wanted, Cpu::Amd, &guest).unwrap_err().to_string();
        assert!(
            error.contains("`cycles:u`") && error.contains("the clock instead"),
            "{error}"
        );
    }

    #[test]
    fn no_permission_and_no_samples_are_told_apart() {
        let forbidden = |_: &Sampling| {
            Err("Error:\nAccess to performance monitoring operations is limited.".to_owned())
        };
        let error = chosen(&Wanted::default(), Cpu::Intel, &forbidden).unwrap_err();
        assert!(matches!(error, Refused::Permission { .. }), "{error}");
        // The clock has the last word.
        let idle = |way: &Sampling| match way.branch_stacks {
            true => Err(NO_STACKS.to_owned()),
            false => seen(0, false, true),
        };
        let error = chosen(&Wanted::default(), Cpu::Intel, &idle).unwrap_err();
        assert!(matches!(error, Refused::Nothing { .. }), "{error}");
    }

    #[test]
    fn a_perf_without_the_option_for_build_ids_records_without() {
        let calls = RefCell::new(0);
        let old = |way: &Sampling| {
            *calls.borrow_mut() += 1;
            if way.build_ids {
                return Err("Error: unknown option `buildid-mmap'".to_owned());
            }
            guest(way)
        };
        let way = chosen(&Wanted::default(), Cpu::Other, &old).unwrap();
        assert!(!way.build_ids && way.arguments().contains(&"-N".to_owned()));
        assert_eq!(*calls.borrow(), 6);
    }

    #[test]
    fn the_kernels_limit_holds() {
        let wanted = Wanted {
            frequency: Some(50_000),
            ..Wanted::default()
        };
        let all = ways(&wanted, Cpu::Other, Some(7000));
        assert!(
            all.iter().all(|way| way.pace == Pace::Frequency(7000)),
            "{all:?}"
        );
    }

    #[test]
    fn processors_are_known_by_cpuinfo() {
        let amd = "vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\n";
        assert_eq!(
            (Cpu::of(amd), model(amd)),
            (Cpu::Amd, "AMD EPYC".to_owned())
        );
        assert_eq!(Cpu::of("CPU part\t: 0xd4f\n"), Cpu::Other);
    }
}
