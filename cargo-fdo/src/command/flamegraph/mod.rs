//! `cargo fdo flamegraph`: a picture of where the time goes, and of who calls it.
//!
//! What is drawn comes from files, from programs that run (`live.rs`, which needs no project), or
//! from workloads of the project (`workloads.rs`).

mod live;
mod recorder;
mod workloads;

use super::Session;
use crate::cli::flamegraph::FlamegraphArgs;
use crate::cli::{FdoArgs, MatchArgs};
use crate::error::{Diagnose, ExitCode, Result};
use crate::fs;
use crate::profile::stacks::Stacks;
use crate::report;
use crate::settings;
use crate::stage::flamegraph::{self, Labels};
use crate::tool::invocation::describe;
use crate::ui::{Ui, count, percent};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// What the command line asks for is not possible.
#[derive(Debug, thiserror::Error)]
enum Misuse {
    #[error("two files are drawn as one only with `--diff`")]
    TwoFiles,
    #[error("`--diff` of files needs two: the old and the new")]
    OneFile,
    #[error("a stack is copied in whole words, 8 to 65528 bytes; `--stack-size` is {0}")]
    StackSize(u32),
    #[error("`--stack-size` is for `--call-graph dwarf`, which copies stacks")]
    NoCopies,
    #[error("recordings of workloads are not kept")]
    Keep,
    #[error("`--{0}` is written to the file that is read")]
    Same(&'static str),
    #[error("two of `--output`, `--folded` and `--keep` are the same file")]
    OneForTwo,
}

impl Diagnose for Misuse {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Misuse::TwoFiles | Misuse::OneFile => {
                "`cargo fdo flamegraph --diff OLD NEW`, each a recording or folded stacks".into()
            }
            Misuse::StackSize(_) => {
                "perf's own size is 8192; deep stacks need 16384 or more".into()
            }
            Misuse::Keep => {
                "`--folded FILE` keeps what is drawn; `cargo fdo train --method sample \
                             --build-only` builds the program for a recording by hand"
                    .into()
            }
            Misuse::NoCopies => "leave one of the two out".into(),
            Misuse::Same(_) | Misuse::OneForTwo => "choose another name".into(),
        })
    }
}

/// The command that was recorded failed. There is a picture all the same.
#[derive(Debug, thiserror::Error)]
#[error("the command failed ({}); what was recorded until then is drawn in `{}`", describe(*status), picture.display())]
struct LoadFailed {
    status: ExitStatus,
    picture: PathBuf,
}

impl Diagnose for LoadFailed {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Training
    }
}

/// The command failed before anything of it was recorded.
#[derive(Debug, thiserror::Error)]
#[error("the command failed ({}), and nothing of it was recorded", describe(*.0))]
struct NothingOfIt(ExitStatus);

impl Diagnose for NothingOfIt {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Training
    }
}

/// Stacks, and what they are of.
struct Drawn {
    what: String,
    stacks: Stacks,
}

/// Runs it.
///
/// # Errors
///
/// Wrong usage, perf's refusals, recordings that hold nothing, or whatever the stages of a build
/// raise.
pub fn run(args: FlamegraphArgs, toolchain: Option<String>) -> Result<()> {
    let ui = settings::ui(&args.cargo);
    check(&args)?;
    let file = |path: &Path| -> Result<Drawn> {
        let stacks = flamegraph::read(path, &args.debug_dir, true)?;
        report::stacks(&ui, &stacks);
        let name = path.file_name().unwrap_or(path.as_os_str());
        Ok(Drawn {
            what: name.to_string_lossy().into_owned(),
            stacks,
        })
    };
    match args.files.as_slice() {
        [old, new] => return difference(&args, &ui, &file(old)?, &file(new)?, ""),
        [one] => return one_graph(&args, &ui, &file(one)?),
        _ => {}
    }
    let is_workload = |word: &std::ffi::OsString| word.to_string_lossy().contains("{bin:");
    let live = args.system || !args.pid.is_empty() || !args.command.is_empty();
    if live && !args.command.iter().any(is_workload) {
        let live = live::record(&args, &ui)?;
        one_graph(&args, &ui, &live.drawn)?;
        return match live.load_failed {
            None => Ok(()),
            Some(status) => Err(LoadFailed {
                status,
                picture: output(&args),
            }
            .into()),
        };
    }
    if args.keep.is_some() {
        return Err(Misuse::Keep.into());
    }
    let fdo = FdoArgs {
        tools: args.tools.clone(),
        dry_run: false,
    };
    let matching = MatchArgs::default();
    let session = Session::open(&args.cargo, &fdo, &matching, None, toolchain)?;
    let jobs = workloads::jobs(&args, &session)?;
    if !args.diff {
        let plain = workloads::plain(&args, &session, &jobs, true)?;
        return one_graph(&args, &ui, &plain);
    }
    let optimised = workloads::optimised(&args, &session, &jobs)?;
    let ours = |path: &String| Path::new(path).starts_with(session.layout.root());
    let inlined = optimised.stacks.inlined_in.iter().any(ours);
    if !inlined {
        ui.note(
            "the optimised program has no debug information: functions that were inlined are left \
             out on both sides, and such as are inlined on one only seem to move; `debug = 1` in \
             its profile in Cargo.toml shows them",
        );
    }
    let plain = workloads::plain(&args, &session, &jobs, inlined)?;
    let note = match inlined {
        true => "",
        false => {
            "; inlined functions are left out, and code inlined on one side only seems to move"
        }
    };
    difference(&args, &ui, &plain, &optimised, note)
}

fn check(args: &FlamegraphArgs) -> Result<()> {
    match (args.files.len(), args.diff) {
        (2, false) => return Err(Misuse::TwoFiles.into()),
        (1, true) => return Err(Misuse::OneFile.into()),
        _ => {}
    }
    let same = |path: &Option<PathBuf>| {
        let path = path.as_ref().and_then(|path| path.canonicalize().ok());
        let mut files = args
            .files
            .iter()
            .filter_map(|file| file.canonicalize().ok());
        path.is_some_and(|path| files.any(|file| file == path))
    };
    let outputs = [Some(output(args)), args.folded.clone(), args.keep.clone()];
    let absolute: Vec<PathBuf> = outputs
        .into_iter()
        .flatten()
        .map(|path| std::path::absolute(&path).unwrap_or(path))
        .collect();
    if (1..absolute.len()).any(|at| absolute[..at].contains(&absolute[at])) {
        return Err(Misuse::OneForTwo.into());
    }
    for path in [&args.output, &args.folded, &args.keep]
        .into_iter()
        .flatten()
    {
        fs::check_output(path)?;
    }
    if same(&args.output) {
        return Err(Misuse::Same("output").into());
    }
    if same(&args.folded) {
        return Err(Misuse::Same("folded").into());
    }
    Ok(())
}

fn one_graph(args: &FlamegraphArgs, ui: &Ui, drawn: &Drawn) -> Result<()> {
    let labels = Labels {
        title: title(args, format!("Flame graph of {}", drawn.what)),
        subtitle: subtitle(&drawn.stacks),
    };
    let picture = flamegraph::draw(&drawn.stacks.folded, &labels)?;
    finish(args, ui, &picture, || Ok(drawn.stacks.folded.text()))
}

fn difference(args: &FlamegraphArgs, ui: &Ui, old: &Drawn, new: &Drawn, note: &str) -> Result<()> {
    if old.stacks.event != new.stacks.event
        && !old.stacks.event.is_empty()
        && !new.stacks.event.is_empty()
    {
        ui.warn(format_args!(
            "`{}` and `{}` are different events: their shares say different things",
            old.stacks.event, new.stacks.event
        ));
    }
    let labels = Labels {
        title: title(args, format!("From {} to {}", old.what, new.what)),
        subtitle: format!(
            "{}, then {}, scaled to the same number; red: more of the time, blue: less{note}",
            subtitle(&old.stacks),
            subtitle(&new.stacks)
        ),
    };
    let text = flamegraph::difference(&old.stacks.folded, &new.stacks.folded)?;
    let picture = flamegraph::draw_difference(&text, &labels)?;
    finish(args, ui, &picture, || Ok(text.clone()))
}

/// Writes what was asked for.
fn finish(
    args: &FlamegraphArgs,
    ui: &Ui,
    picture: &[u8],
    folded: impl Fn() -> Result<String>,
) -> Result<()> {
    if let Some(path) = &args.folded {
        flamegraph::write(path, folded()?.as_bytes())?;
    }
    let output = output(args);
    flamegraph::write(&output, picture)?;
    ui.status(
        "Finished",
        "flame graph; a browser shows it, searches and zooms",
    );
    ui.data(output.display());
    Ok(())
}

/// Where the picture goes.
fn output(args: &FlamegraphArgs) -> PathBuf {
    let given = args.output.clone();
    given.unwrap_or_else(|| PathBuf::from("flamegraph.svg"))
}

fn title(args: &FlamegraphArgs, otherwise: String) -> String {
    args.title.clone().unwrap_or(otherwise)
}

/// Samples, event and loss.
fn subtitle(stacks: &Stacks) -> String {
    let mut words = format!("{} samples", count(stacks.samples));
    if !stacks.event.is_empty() {
        words.push_str(&format!(" of {}", stacks.event));
    }
    if stacks.lost > 0 {
        let all = stacks.samples.saturating_add(stacks.lost);
        let share = stacks.lost as f64 / all as f64;
        words.push_str(&format!(", {} more lost", percent(share)));
    }
    words
}
