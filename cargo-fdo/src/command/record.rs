//! `cargo fdo record`: a recording of running programs, for `import`.
//!
//! Works outside of a cargo project too, so that it can run where the program does.

use crate::cli::RecordArgs;
use crate::config::Sample;
use crate::config::sizes;
use crate::error::{Diagnose, Error, ExitCode, Result};
use crate::fs;
use crate::profile::digest;
use crate::profile::sample::read::{InputKind, KIND_BYTES};
use crate::report;
use crate::shim::Links;
use crate::stage::attend::{self, End, Times};
use crate::stage::reading;
use crate::stage::record::{RecordError, Verdict, verdict};
use crate::tool::perf::probe::{self, Pace, Wanted};
use crate::tool::perf::{self, Limits, Perf, Whom};
use crate::tool::{Invocation, Places};
use crate::ui::{Ui, Verbosity, seconds};
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the command line asks for is not possible.
#[derive(Debug, thiserror::Error)]
enum Misuse {
    #[error("there is nothing to record: no `--pid`, no `--system`, and no command after `--`")]
    Nothing,
    #[error("there is no process {0}")]
    NoProcess(u32),
    #[error("`{option}` is not a {what}: `{value}`")]
    Value {
        option: &'static str,
        what: &'static str,
        value: String,
    },
    #[error("`{}` is no program that could be found", .0.display())]
    NoProgram(PathBuf),
    #[error("`{}` can't become the recording: {why}", path.display())]
    Output { path: PathBuf, why: &'static str },
}

impl Diagnose for Misuse {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Misuse::Nothing => "`cargo fdo record --pid PID` until Ctrl-C, or `cargo fdo record \
                                -- PROGRAM ARGUMENTS`"
                .into(),
            Misuse::NoProcess(_) => "`pgrep -f NAME` prints ids of running processes".into(),
            Misuse::Value { .. } => "such as `90s`, `5min`; `512M`, `4G`".into(),
            Misuse::NoProgram(_) => "a name in PATH, or a path".into(),
            Misuse::Output { .. } => "`-o FILE` names another one".into(),
        })
    }
}

/// Runs it.
///
/// # Errors
///
/// Wrong usage, perf's refusals, or a recording without samples.
pub fn run(args: &RecordArgs) -> Result<()> {
    let verbosity = match (args.quiet, args.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, 0) => Verbosity::Normal,
        (false, _) => Verbosity::Verbose,
    };
    let ui = Ui::new(verbosity, None);
    let whom = whom(args.system, &args.pid)?;
    let command = command(&args.command)?;
    if whom.is_none() && command.is_none() {
        return Err(Misuse::Nothing.into());
    }
    let limits = Limits {
        max_bytes: max_bytes(args.max_size.as_deref())?,
        ..Limits::default()
    };
    let enough = match &args.duration {
        None => None,
        Some(text) => Some(duration(text)?),
    };
    check_frequency(args.frequency)?;
    let here = std::env::current_dir().unwrap_or_default();
    let out = output(&here.join(args.output.as_deref().unwrap_or(Path::new("perf.data"))))?;

    let places = Places::of_process();
    let named = args.perf.as_deref().map(|perf| (perf, "`--perf`"));
    let perf = Perf::locate(named, perf::variable().as_deref(), &places)?;
    let wanted = Wanted {
        event: args.event.clone(),
        branch_stacks: None,
        frequency: args.frequency,
    };
    let scratch = tempfile::Builder::new().prefix("cargo-fdo-").tempdir();
    let scratch = scratch
        .map_err(|error| fs::FsError::new("make a directory in", &std::env::temp_dir(), error))?;
    let memory = memory(&wanted);
    if !memory.as_deref().is_some_and(Path::is_file) {
        ui.detail("trying what perf can record here");
    }
    let sampling = probe::find(&perf, &wanted, &places, scratch.path(), memory.as_deref())?;
    let call = match (&whom, &command) {
        (Some(whom), load) => {
            probe::try_to_attach(&perf, &sampling, whom, scratch.path())?;
            perf.attach(&sampling, &limits, &out, whom, load.as_ref())
        }
        (None, Some(command)) => perf.record(&sampling, &limits, &out, command),
        (None, None) => return Err(Misuse::Nothing.into()),
    };
    if let (Some(wanted), Pace::Frequency(hertz)) = (args.frequency, sampling.pace)
        && hertz < wanted
    {
        ui.warn(format_args!(
            "the kernel allows {hertz} Hz at most (/proc/sys/kernel/perf_event_max_sample_rate)"
        ));
    }
    ui.status(
        "Recording",
        format_args!("{} ({sampling})", what(whom.as_ref(), command.as_ref())),
    );
    if command.is_none() && enough.is_none() {
        ui.detail("until they end, or Ctrl-C");
    }
    ui.verbose("Running", &call);
    let earlier = keep(&out)?;
    let times = Times {
        enough,
        deadline: None,
    };
    let attended = match attend::run(&call, times, &out, &|| false) {
        Ok(attended) => attended,
        Err(error) => {
            give_back(earlier.as_deref(), &out)?;
            return Err(error.into());
        }
    };
    let mut failed = false;
    match verdict(&attended, &out, limits.max_bytes) {
        Verdict::NoFile => {
            give_back(earlier.as_deref(), &out)?;
            return Err(RecordError::Perf {
                what: what(whom.as_ref(), command.as_ref()),
                command: call.to_string(),
                status: attended.status,
            }
            .into());
        }
        Verdict::Unfinished => {
            return Err(RecordError::Killed {
                what: what(whom.as_ref(), command.as_ref()),
                file: out,
                status: attended.status,
            }
            .into());
        }
        Verdict::Failed | Verdict::Late => failed = true,
        Verdict::Full => ui.note("the recording reached its greatest size (`--max-size`)"),
        Verdict::Done | Verdict::Stopped | Verdict::Interrupted => {}
    }
    // perf says that all is well when it is not; the file says what there is.
    let read = reading::recording(&out).and_then(|recording| {
        ui.status(
            "Recorded",
            format_args!("for {}", seconds(attended.duration)),
        );
        report::recording(&ui, &recording, &[]);
        reading::check_samples(&recording, &out)
    });
    if let Err(error) = read {
        // Nothing worth an earlier recording, which the next one would push out for good.
        if let Some(earlier) = &earlier {
            rename(earlier, &out)?;
        }
        return Err(match attended.end {
            End::Interrupt => RecordError::Interrupted {
                what: what(whom.as_ref(), command.as_ref()),
            }
            .into(),
            _ => error.into(),
        });
    }
    if let Some(earlier) = earlier {
        ui.note(format_args!(
            "the earlier recording is `{}`",
            earlier.display()
        ));
    }
    if failed {
        ui.data(out.display());
        return Err(RecordError::Load {
            command: command
                .map(|command| command.to_string())
                .unwrap_or_default(),
            status: attended.status,
            file: out,
        }
        .into());
    }
    ui.status(
        "Finished",
        format_args!(
            "recording; `cargo fdo import {}` makes a profile of it where the program was built",
            Invocation::new(&out)
        ),
    );
    ui.data(out.display());
    Ok(())
}

/// There is nothing to record.
pub(super) fn nothing() -> Error {
    Misuse::Nothing.into()
}

/// Where it is remembered what perf can record here. There may be no project, and trying all that
/// it can not takes seconds.
pub(super) fn memory(wanted: &Wanted) -> Option<PathBuf> {
    let wanted = serde_json::to_vec(wanted).ok()?;
    let dir = Links::ensure().ok()?.cache().join("perf");
    fs::create_dir(&dir).ok()?;
    Some(dir.join(format!("{}.json", digest::short(&wanted, 8))))
}

/// Where perf will write: a place for a new file, or a recording that makes room.
pub(super) fn output(path: &Path) -> Result<PathBuf> {
    let no = |why| {
        Misuse::Output {
            path: path.to_owned(),
            why,
        }
        .into()
    };
    // perf would replace a link, and what it names stays.
    let file = match path.canonicalize() {
        Ok(file) => file,
        Err(_) if path.parent().is_some_and(Path::is_dir) && !path.is_symlink() => {
            return Ok(path.to_owned());
        }
        Err(_) if path.is_symlink() => return Err(no("it is a link to nothing")),
        Err(_) => return Err(no("its directory is not there")),
    };
    let mut start = Vec::new();
    let opened = std::fs::metadata(&file).and_then(|there| match there.is_file() {
        true => std::fs::File::open(&file).map(Some),
        false => Ok(None),
    });
    match opened {
        Ok(Some(file)) => {
            let _ = file.take(KIND_BYTES as u64).read_to_end(&mut start);
        }
        Ok(None) => return Err(no("it is not a file")),
        Err(_) => return Err(no("it can't be read")),
    }
    match InputKind::of(&start) {
        _ if start.is_empty() => Ok(file),
        InputKind::PerfData | InputKind::PerfDataBigEndian | InputKind::PerfDataV1 => Ok(file),
        _ => Err(no("there is a file of another kind")),
    }
}

/// Makes room for a recording as perf does: an earlier one gets the ending `.old`.
pub(super) fn keep(out: &Path) -> Result<Option<PathBuf>> {
    if std::fs::metadata(out).is_ok_and(|there| there.len() > 0) {
        let mut old = out.as_os_str().to_owned();
        old.push(".old");
        let old = PathBuf::from(old);
        if old.exists() && !old.is_file() {
            return Err(Misuse::Output {
                path: out.to_owned(),
                why: "the earlier one can't be kept under its name with `.old`",
            }
            .into());
        }
        rename(out, &old)?;
        return Ok(Some(old));
    }
    Ok(None)
}

/// Nothing was recorded: the earlier recording has its name again.
pub(super) fn give_back(earlier: Option<&Path>, out: &Path) -> Result<()> {
    match earlier {
        Some(earlier) if !out.exists() => rename(earlier, out),
        _ => Ok(()),
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    Ok(std::fs::rename(from, to).map_err(|error| fs::FsError::new("rename", from, error))?)
}

/// The greatest size of a recording.
pub(super) fn max_bytes(text: Option<&str>) -> Result<Option<u64>> {
    let Some(text) = text else {
        return Ok(Sample::default().limits.max_bytes);
    };
    let bytes = sizes::bytes(text).ok_or_else(|| Misuse::Value {
        option: "--max-size",
        what: "size with a unit",
        value: text.to_owned(),
    })?;
    Ok(Some(bytes))
}

/// Fails for no samples a second.
pub(super) fn check_frequency(hertz: Option<u32>) -> Result<()> {
    if hertz == Some(0) {
        return Err(Misuse::Value {
            option: "--frequency",
            what: "number of samples a second",
            value: "0".to_owned(),
        }
        .into());
    }
    Ok(())
}

/// Which running processes are recorded, if any.
pub(super) fn whom(system: bool, pids: &[u32]) -> Result<Option<Whom>> {
    if system {
        return Ok(Some(Whom::System));
    }
    for pid in pids {
        if !Path::new(&format!("/proc/{pid}")).exists() {
            return Err(Misuse::NoProcess(*pid).into());
        }
    }
    Ok((!pids.is_empty()).then(|| Whom::Processes(pids.to_vec())))
}

/// The call of a command that is there.
pub(super) fn command(words: &[OsString]) -> Result<Option<Invocation>> {
    let Some((program, rest)) = words.split_first() else {
        return Ok(None);
    };
    if which::which(program).is_err() {
        return Err(Misuse::NoProgram(program.into()).into());
    }
    Ok(Some(Invocation::new(program).args(rest)))
}

/// How long to record.
pub(super) fn duration(text: &str) -> Result<Duration> {
    match humantime::parse_duration(text) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err(Misuse::Value {
            option: "--duration",
            what: "time",
            value: text.to_owned(),
        }
        .into()),
    }
}

/// What is recorded, for people.
pub(super) fn what(whom: Option<&Whom>, command: Option<&Invocation>) -> String {
    match whom {
        Some(Whom::System) => "the whole system".to_owned(),
        Some(Whom::Processes(pids)) => {
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            let noun = if pids.len() == 1 {
                "process"
            } else {
                "processes"
            };
            format!("{noun} {}", pids.join(", "))
        }
        None => command.map_or_else(String::new, Invocation::to_string),
    }
}
