//! What the stacks of a recording are worth, for people.

use crate::profile::stacks::{Cause, Stacks};
use crate::ui::{Ui, count, percent};

/// Share of dropped samples from which it is said aloud.
const MUCH_LOST: f64 = 0.02;

/// Share of frames without names from which it is said aloud.
const MUCH_UNNAMED: f64 = 0.2;

/// Share of samples without their outer callers from which it is said aloud.
const MUCH_TRUNCATED: f64 = 0.2;

/// Files without names that are listed.
const LISTED: usize = 4;

/// Says how many samples there are, and all that makes a picture of them less than it could be.
pub fn stacks(ui: &Ui, stacks: &Stacks) {
    let event = match stacks.event.as_str() {
        "" => "an event without a name",
        name => name,
    };
    ui.status(
        "Samples",
        format_args!(
            "{} of `{event}`, {} lost",
            count(stacks.samples),
            count(stacks.lost)
        ),
    );
    if let Some(at) = stacks.cut_short_at {
        ui.warn(format_args!(
            "the recording is cut short at byte {}: perf was killed, or the disk was full; what \
             came before is drawn",
            count(at)
        ));
    }
    let lost = share(stacks.lost, stacks.samples.saturating_add(stacks.lost));
    if lost > MUCH_LOST {
        ui.warn(format_args!(
            "perf lost {} of the samples: it could not write as fast as they came; a lower \
             `--frequency` or a smaller `--stack-size` helps",
            percent(lost)
        ));
    }
    if stacks.other_events > 0 {
        ui.note(format_args!(
            "{} samples are of other events, and left out",
            count(stacks.other_events)
        ));
    }
    if !stacks.has_calls {
        ui.warn(
            "the samples don't say who called: only the functions themselves are drawn; record \
             with `perf record --call-graph dwarf`, or by this command",
        );
        unnamed(ui, stacks);
        return;
    }
    let truncated = share(stacks.truncated, stacks.samples);
    if truncated > MUCH_TRUNCATED {
        ui.warn(format_args!(
            "{} of the stacks are cut off, and stand below [truncated]: a larger `--stack-size` \
             copies more, and code of files that are not here, or was made at run time, can't be \
             unwound",
            percent(truncated)
        ));
    } else if stacks.truncated > 0 {
        ui.detail(format_args!(
            "{} of the stacks are cut off",
            percent(truncated)
        ));
    }
    unnamed(ui, stacks);
}

fn unnamed(ui: &Ui, stacks: &Stacks) {
    let all = stacks.unnamed_share();
    if all == 0.0 {
        return;
    }
    let words = format!("{} of the frames have no name", percent(all));
    if all < MUCH_UNNAMED {
        ui.detail(words);
    } else {
        ui.warn(words);
    }
    for part in stacks.unnamed.iter().take(LISTED) {
        let of_all = share(part.frames, stacks.frames);
        ui.detail(format_args!(
            "{}: {} {}",
            percent(of_all),
            part.what,
            part.cause
        ));
    }
    if stacks.unnamed.len() > LISTED {
        ui.detail(format_args!("and {} more", stacks.unnamed.len() - LISTED));
    }
    let stripped = |cause| {
        stacks
            .unnamed
            .first()
            .is_some_and(|first| first.cause == cause)
    };
    if all >= MUCH_UNNAMED && stripped(Cause::NoSymbols) {
        ui.detail("packages with debug information, or `--debug-dir`, give them names");
    }
}

fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}
