//! What a recording holds, for people.

use super::tables::Table;
use crate::profile::sample::recording::{ImageSamples, Recording};
use crate::stage::convert::Outcome;
use crate::stage::images::{Fate, Row};
use crate::ui::{Ui, count, percent};

/// How many files are listed.
const LISTED: usize = 8;

/// Share of dropped samples from which it is said aloud.
const MUCH_LOST: f64 = 0.02;

/// How many times as long a recording should be for it to be said aloud.
pub const LONGER: f64 = 1.5;

/// Samples, loss, and the files that they are in; `rows` say what becomes of them, if anything
/// was decided.
pub fn recording(ui: &Ui, recording: &Recording, rows: &[Row]) {
    let kind = if recording.event.branch_stacks {
        "branch stacks"
    } else {
        "no branch stacks"
    };
    let event = match recording.event.name.as_str() {
        "" => "an event without a name",
        name => name,
    };
    ui.status(
        "Samples",
        format_args!(
            "{} of `{event}`, {kind}; {} lost",
            count(recording.samples),
            percent(lost_share(recording))
        ),
    );
    if let Some(at) = recording.cut_short_at {
        ui.warn(format_args!(
            "the recording is cut short at byte {}: perf was killed, or the disk was full; what \
             came before is used",
            count(at)
        ));
    }
    if lost_share(recording) > MUCH_LOST {
        ui.warn(format_args!(
            "perf lost {} of the samples: the machine was too busy to write them; a larger \
             `buffer` or a lower `frequency` in the table [sample] of fdo.toml helps",
            percent(lost_share(recording))
        ));
    }
    let mut table = Table::new(["file", "samples", ""]);
    if rows.is_empty() {
        let mut images: Vec<&ImageSamples> = recording.images.iter().collect();
        images.sort_by_key(|image| std::cmp::Reverse(image.samples));
        let all = recording.samples.max(1) as f64;
        for image in images.iter().take(LISTED) {
            let path = String::from_utf8_lossy(&image.path).into_owned();
            table.row([path, percent(image.samples as f64 / all), String::new()]);
        }
    }
    for row in rows.iter().take(LISTED) {
        table.row([
            row.name.clone(),
            percent(row.share),
            words(&row.fate).to_owned(),
        ]);
    }
    for line in table.lines() {
        ui.detail(line.trim_end());
    }
    let more = rows.len().max(recording.images.len());
    if more > LISTED {
        ui.detail(format_args!("and {} more", more - LISTED));
    }
}

fn words(fate: &Fate) -> &'static str {
    match fate {
        Fate::Converted => "becomes profile",
        Fate::TooFew => "left out: fewer than `min-share`",
        Fate::Foreign => "not of this build",
        Fate::Rebuilt => "of another build of this program",
    }
}

/// Share of the samples that perf had to drop.
pub fn lost_share(recording: &Recording) -> f64 {
    let all = recording.samples.saturating_add(recording.lost_samples);
    if all == 0 {
        return 0.0;
    }
    recording.lost_samples as f64 / all as f64
}

/// What came of one file's samples.
pub fn converted(ui: &Ui, outcome: &Outcome) {
    let name = outcome.file.file_name().unwrap_or_default();
    ui.status(
        "Converted",
        format_args!(
            "{}: {} of its samples are at known lines, in {} functions",
            name.display(),
            percent(outcome.mapped),
            count(outcome.functions)
        ),
    );
    if let Some(density) = outcome.density
        && density.factor() > LONGER
    {
        ui.warn(format_args!(
            "{} samples a kilobyte of {}'s hot code are few: {:.0} times as long a recording, \
             or a higher `frequency`, would give a better profile (of workloads: `repeat` in the \
             table [sample] of fdo.toml)",
            count(density.0),
            name.display(),
            density.factor().ceil()
        ));
    }
}
