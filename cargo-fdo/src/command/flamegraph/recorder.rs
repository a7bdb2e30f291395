//! How recordings for flame graphs are made: all that a recording for profiles is, with callers and,
//! where that is permitted, the kernel.

use super::Misuse;
use crate::cli::flamegraph::{CallGraph, FlamegraphArgs};
use crate::command::record;
use crate::error::{ExitCode, Result};
use crate::tool::Places;
use crate::tool::perf::Perf;
use crate::tool::perf::probe::{self, Calls, Pace, Sampling, Wanted};
use crate::ui::Ui;
use std::path::Path;

/// Samples a second. Not a round number, which programs may keep step with.
const HERTZ: u32 = 499;

/// Bytes of stack that are copied, perf's own default.
const STACK: u32 = 8192;

/// The longest copy that fits a record.
const MAX_STACK: u32 = 65_528;

/// How callers are found.
pub(super) fn calls(args: &FlamegraphArgs) -> Result<Calls> {
    match (args.call_graph, args.stack_size) {
        (Some(CallGraph::Fp), None) => Ok(Calls::FramePointers),
        (Some(CallGraph::Fp), Some(_)) => Err(Misuse::NoCopies.into()),
        (_, size) => {
            let size = size.unwrap_or(STACK);
            let usable = size.is_multiple_of(8) && (8..=MAX_STACK).contains(&size);
            match usable {
                true => Ok(Calls::Stack(size)),
                false => Err(Misuse::StackSize(size).into()),
            }
        }
    }
}

/// Tries out what perf can record here.
pub(super) fn sampling(
    args: &FlamegraphArgs,
    perf: &Perf,
    scratch: &Path,
    ui: &Ui,
) -> Result<Sampling> {
    let calls = calls(args)?;
    let places = Places::of_process();
    let find = |wanted: &Wanted| {
        let memory = record::memory(wanted);
        if !memory.as_deref().is_some_and(Path::is_file) {
            ui.detail("trying what perf can record here");
        }
        probe::find(perf, wanted, &places, scratch, memory.as_deref())
    };
    let wanted = Wanted {
        event: args.event.clone(),
        branch_stacks: Some(false),
        frequency: Some(args.frequency.unwrap_or(HERTZ)),
    };
    let mut sampling = find(&wanted)?;
    if args.event.is_none()
        && let Some(with_kernel) = sampling.event.strip_suffix(":u")
    {
        let with_kernel = Wanted {
            event: Some(with_kernel.to_owned()),
            ..wanted
        };
        match find(&with_kernel) {
            Ok(found) => sampling = found,
            Err(refused) if refused.exit_code() == ExitCode::Tool => {
                ui.note("without the kernel's part, which this user may not record");
            }
            Err(error) => return Err(error),
        }
    }
    if let (Some(wanted), Pace::Frequency(hertz)) = (args.frequency, sampling.pace)
        && hertz < wanted
    {
        ui.warn(format_args!(
            "the kernel allows {hertz} Hz at most (/proc/sys/kernel/perf_event_max_sample_rate)"
        ));
    }
    sampling.calls = Some(calls);
    Ok(sampling)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{FromArgMatches, Subcommand as _};

    fn args(words: &[&str]) -> FlamegraphArgs {
        let command = crate::cli::Command::augment_subcommands(clap::Command::new("fdo"));
        let words = [&["fdo", "flamegraph"], words].concat();
        let matches = command.try_get_matches_from(words).unwrap();
        match crate::cli::Command::from_arg_matches(&matches).unwrap() {
            crate::cli::Command::Flamegraph(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn callers_come_by_copies_unless_asked_otherwise() {
        assert_eq!(calls(&args(&[])).unwrap(), Calls::Stack(8192));
        let fp = ["--call-graph", "fp"];
        assert_eq!(calls(&args(&fp)).unwrap(), Calls::FramePointers);
        let size = |size| calls(&args(&["--stack-size", size]));
        assert_eq!(size("16384").unwrap(), Calls::Stack(16384));
        for wrong in ["0", "7", "65536"] {
            assert_eq!(size(wrong).unwrap_err().exit_code(), ExitCode::Usage);
        }
        assert!(calls(&args(&[&fp[..], &["--stack-size", "64"]].concat())).is_err());
    }

    #[test]
    fn p_is_a_process_and_packages_have_their_long_name() {
        let args = args(&["-p", "1,2", "--package", "app"]);
        assert_eq!(
            (args.pid, args.cargo.package),
            (vec![1, 2], vec!["app".to_owned()])
        );
    }
}
