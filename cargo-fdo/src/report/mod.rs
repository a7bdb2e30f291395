//! Facts first, then words: what training and building found, for people.

mod binaries;
pub mod comparison;
pub mod page;
mod sampling;
mod stacks;
mod tables;
mod usage;

pub use binaries::binaries;
pub use sampling::{LONGER, converted, lost_share, recording};
pub use stacks::stacks;
pub use usage::{NOTABLE, UseReport};

use crate::profile::names;
use crate::settings::MinMatch;
use crate::stage::census::Row;
use crate::stage::lost::processes;
use crate::store::Manifest;
use crate::store::campaign::{Method, WorkloadEntry};
use crate::toolbox::{Toolbox, Verdict};
use crate::ui::{Ui, count, percent, plural, seconds};
use std::time::Duration;
use tables::Table;

/// Reads what a build left of its use of the profile; what is damaged is said, and made again by the
/// next build.
pub fn last_use(ui: &Ui, text: &str) -> Option<UseReport> {
    let read = serde_json::from_str(text);
    if let Err(error) = &read {
        ui.warn(format_args!(
            "what the last build used can't be read ({error}); `cargo fdo build` finds it out again"
        ));
    }
    read.ok()
}

/// The C census of an instrumented build.
pub fn census(ui: &Ui, rows: &[Row], toolbox: &Toolbox) {
    for row in rows {
        let mut words = format!(
            "{}: {}, {} with counters",
            row.package,
            plural(row.objects + row.unseen, "object"),
            row.instrumented
        );
        if row.excluded > 0 {
            words.push_str(&format!(", {} excluded", row.excluded));
        }
        ui.status("C and C++", &words);
        if row.unseen > 0 {
            ui.warn(unseen(&row.package, row.unseen));
        }
        if row.instrumented + row.excluded < row.objects
            && let Verdict::Unprofiled { reason, remedy } = &toolbox.c.verdict
        {
            ui.detail(format_args!("built without counters: {reason}; {remedy}"));
        }
        for glob in &row.idle_globs {
            ui.warn(format_args!(
                "{}: `c-exclude` has {glob:?}, which matches none of its sources",
                row.package
            ));
        }
        for glob in &row.idle_targets {
            ui.warn(format_args!(
                "{}: `exclude-targets` or `profile-targets` has {glob:?}, and no such target was compiled",
                row.package
            ));
        }
        for flag in &row.removed_flags {
            ui.note(format_args!(
                "{}: `{flag}` was taken off its compiler calls: the flags are ours here",
                row.package
            ));
        }
    }
}

/// Languages of which the build used less than it should, where the whole is good enough because
/// another one has most of the counts.
pub fn neglected_languages(ui: &Ui, report: &UseReport, min_match: MinMatch) {
    let judged = report.judged(min_match);
    if judged.is_none_or(|judged| !judged.is_enough()) {
        return;
    }
    for (language, share) in &report.languages {
        let is_notable = report.part_of_all(share.total) >= NOTABLE;
        let wanted = min_match.of(report.is_sampled, Some(language));
        if is_notable && share.ratio() < wanted {
            ui.warn(format_args!(
                "of the counts of {language} only {} were used; they are {} of all. Was it trained \
                 with the same settings (`--profile`, `opt-level`) and toolchain?",
                percent(share.ratio()),
                percent(report.part_of_all(share.total))
            ));
        }
    }
}

fn unseen(package: &str, objects: usize) -> String {
    format!(
        "{package}: {} compiled by something that does not go through CC or CXX; \
         `fdo_build::configure()` in its build script brings them in",
        plural(objects, "object")
    )
}

/// Of a training that is not worth its name.
const THIN: &str = "this training exercised nearly nothing: a few blocks make up 99 % of the counts. \
                    Does the workload do the program's real work, on data like that of production?";

/// What a training gave.
pub fn training(ui: &Ui, manifest: &Manifest) {
    for workload in &manifest.workloads {
        let slowdown = match workload.slowdown {
            Some(factor) => format!(", {factor:.1} times as long as without counters"),
            None => String::new(),
        };
        let time = if workload.seconds > 0.0 {
            format!(" in {}", seconds(Duration::from_secs_f64(workload.seconds)))
        } else {
            String::new()
        };
        ui.status(
            "Trained",
            format_args!(
                "`{}`{time}{slowdown}, {}",
                workload.name,
                left(manifest, workload)
            ),
        );
    }
    ui.status(
        "Profile",
        format_args!(
            "{} of {} functions ran; 99 % of the counts are in {} of {} blocks",
            count(manifest.functions_executed),
            count(manifest.functions),
            count(manifest.hot_blocks),
            count(manifest.blocks)
        ),
    );
    for line in binaries(manifest, false) {
        ui.detail(line);
    }
    if manifest.thin {
        ui.warn(THIN);
    }
    ui.status(
        "Finished",
        format_args!("training; `cargo fdo build` uses profile {}", manifest.id),
    );
}

/// What a workload left: `13 raw profiles, 3 processes without one`.
pub fn left(manifest: &Manifest, workload: &WorkloadEntry) -> String {
    let files = files(manifest, workload.files);
    match workload.lost_processes {
        0 => files,
        lost => format!("{files}, {} without one", processes(lost)),
    }
}

/// A number of raw profiles, or of what a sampled profile is made of.
pub fn files(manifest: &Manifest, number: usize) -> String {
    let noun = match manifest.method {
        Method::Instrument => "raw profile",
        Method::Sample => "recording",
    };
    plural(number, noun)
}

/// How much of the profile a build used.
pub fn usage(ui: &Ui, report: &UseReport, verified: bool) {
    if !verified {
        return;
    }
    let (sum, packages) = usage_lines(report);
    ui.status("Profile", sum);
    for line in packages {
        ui.detail(line);
    }
    usage_remarks(ui, report);
}

/// How much was used: in a sentence, and by package.
pub fn usage_lines(report: &UseReport) -> (String, Vec<String>) {
    let mut languages: Vec<String> = report
        .languages
        .iter()
        .map(|(name, share)| format!("{name} {}", percent(share.ratio())))
        .collect();
    let absent = report.absent.iter();
    languages.extend(absent.map(|name| format!("{name} takes no part")));
    let sum = match report.is_empty() {
        true => "holds nothing of the code in this build".to_owned(),
        false => format!(
            "{} of the counts were used ({})",
            percent(report.all.ratio()),
            languages.join(", ")
        ),
    };
    let mut table = Table::new(["package", "of all counts", "used"]);
    for row in &report.packages {
        table.row([
            row.name.clone(),
            percent(report.part_of_all(row.share.total)),
            percent(row.share.ratio()),
        ]);
    }
    if let Some(rest) = &report.other_packages {
        table.row([
            format!("{} more", rest.packages),
            percent(report.part_of_all(rest.share.total)),
            percent(rest.share.ratio()),
        ]);
    }
    (sum, table.lines())
}

/// How much a remark matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// It should be mended.
    Warning,
    /// It explains.
    Note,
}

/// Says what is to be said of a use besides.
pub fn usage_remarks(ui: &Ui, report: &UseReport) {
    for (weight, words) in remarks(report) {
        match weight {
            Weight::Warning => ui.warn(words),
            Weight::Note => ui.note(words),
        }
    }
}

/// What is to be said of a use besides.
pub fn remarks(report: &UseReport) -> Vec<(Weight, String)> {
    let mut remarks: Vec<(Weight, String)> = report
        .unseen
        .iter()
        .map(|(package, objects)| (Weight::Warning, unseen(package, *objects)))
        .collect();
    if report.elsewhere_ratio > 0.2 {
        let words = format!(
            "{} of the profile's counts are of code that this build does not contain ({}): \
             a workload that runs the program itself trains better",
            percent(report.elsewhere_ratio),
            report.elsewhere.join(", ")
        );
        remarks.push((Weight::Warning, words));
    }
    if let Some((now, then)) = report.other_units {
        let name = |number| match number {
            0 => "left to rustc".to_owned(),
            number => number.to_string(),
        };
        let words = format!(
            "`codegen-units` is {} now and was {} at the training: this build does as the training \
             did, because the profile fits no other division of the crates; the next training \
             takes the new setting",
            name(now),
            name(then)
        );
        remarks.push((Weight::Note, words));
    }
    for lost in report.lost.iter().take(3) {
        if lost.part < 0.01 {
            break;
        }
        let words = format!(
            "lost: `{}`, {} of the counts: {}",
            names::demangled(&lost.name),
            percent(lost.part),
            lost.reason
        );
        remarks.push((Weight::Note, words));
    }
    remarks
}
