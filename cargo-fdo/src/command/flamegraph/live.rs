//! Records running processes, the system, or a command.

use super::{Drawn, NothingOfIt, recorder};
use crate::cli::flamegraph::FlamegraphArgs;
use crate::command::record;
use crate::error::Result;
use crate::fs::FsError;
use crate::report;
use crate::stage::attend::{self, Times};
use crate::stage::flamegraph;
use crate::stage::record::{RecordError, Verdict, verdict};
use crate::tool::Places;
use crate::tool::perf::{self, Limits, Perf, probe};
use crate::ui::{Ui, seconds};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// What came of a recording.
pub(super) struct Live {
    pub(super) drawn: Drawn,
    /// How the command ended, if it failed.
    pub(super) load_failed: Option<ExitStatus>,
}

/// Runs it.
pub(super) fn record(args: &FlamegraphArgs, ui: &Ui) -> Result<Live> {
    let whom = record::whom(args.system, &args.pid)?;
    let load = record::command(&args.command)?;
    let limits = Limits {
        max_bytes: record::max_bytes(args.max_size.as_deref())?,
        ..Limits::default()
    };
    let enough = args.duration.as_deref().map(record::duration).transpose()?;
    record::check_frequency(args.frequency)?;
    recorder::calls(args)?;

    let places = Places::of_process();
    let named = args.perf.as_deref().map(|perf| (perf, "`--perf`"));
    let perf = Perf::locate(named, perf::variable().as_deref(), &places)?;
    let scratch = scratch(args)?;
    let sampling = recorder::sampling(args, &perf, scratch.path(), ui)?;
    let out = match &args.keep {
        Some(file) => record::output(&std::path::absolute(file).unwrap_or(file.clone()))?,
        None => scratch.path().join("perf.data"),
    };
    let call = match (&whom, &load) {
        (Some(whom), load) => {
            probe::try_to_attach(&perf, &sampling, whom, scratch.path())?;
            perf.attach(&sampling, &limits, &out, whom, load.as_ref())
        }
        (None, Some(command)) => perf.record(&sampling, &limits, &out, command),
        (None, None) => return Err(record::nothing()),
    };
    let what = record::what(whom.as_ref(), load.as_ref());
    ui.status("Recording", format_args!("{what} ({sampling})"));
    if load.is_none() && enough.is_none() {
        ui.detail("until they end, or Ctrl-C");
    }
    ui.verbose("Running", &call);
    let times = Times {
        enough,
        deadline: None,
    };
    let earlier = match args.keep {
        Some(_) => record::keep(&out)?,
        None => None,
    };
    let attended = match attend::run(&call, times, &out, &|| false) {
        Ok(attended) => attended,
        Err(error) => {
            record::give_back(earlier.as_deref(), &out)?;
            return Err(error.into());
        }
    };
    let failed = |status| RecordError::Perf {
        what: what.clone(),
        command: call.to_string(),
        status,
    };
    let mut load_failed = None;
    match verdict(&attended, &out, limits.max_bytes) {
        Verdict::NoFile => {
            record::give_back(earlier.as_deref(), &out)?;
            return Err(failed(attended.status).into());
        }
        Verdict::Unfinished => ui.warn("perf was killed while it recorded"),
        Verdict::Failed | Verdict::Late => load_failed = Some(attended.status),
        Verdict::Full => ui.note("the recording reached its greatest size (`--max-size`)"),
        Verdict::Done | Verdict::Stopped | Verdict::Interrupted => {}
    }
    ui.status(
        "Recorded",
        format_args!("for {}", seconds(attended.duration)),
    );
    let stacks = match (flamegraph::read(&out, &args.debug_dir, true), load_failed) {
        (Ok(stacks), _) => stacks,
        // Why there is nothing is what matters.
        (Err(_), Some(status)) => return Err(NothingOfIt(status).into()),
        (Err(error), None) => return Err(error.into()),
    };
    report::stacks(ui, &stacks);
    Ok(Live {
        drawn: Drawn { what, stacks },
        load_failed,
    })
}

/// A directory for the recording, on the disk that the picture goes to: `/tmp` may be memory.
fn scratch(args: &FlamegraphArgs) -> Result<tempfile::TempDir> {
    let output = args.output.as_deref().unwrap_or(Path::new(""));
    let parent = output.parent().filter(|dir| dir.is_dir());
    let dir = match parent {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        _ => PathBuf::from("."),
    };
    let made = tempfile::Builder::new()
        .prefix(".cargo-fdo-")
        .tempdir_in(&dir);
    Ok(made.map_err(|error| FsError::new("make a directory in", &dir, error))?)
}
