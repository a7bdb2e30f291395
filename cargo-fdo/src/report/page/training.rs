//! What the training was, and how good.

use super::html::Html;
use super::table::table;
use super::{Training, date, duration};
use crate::profile::consumed::Language;
use crate::report::binaries::left_out;
use crate::report::comparison::grid::Grid;
use crate::report::usage::{self, UseReport};
use crate::report::{self, LONGER, THIN, Weight};
use crate::stage::lost::processes;
use crate::store::campaign::Method;
use crate::ui::{count, percent, plural};

/// How many programs and shared libraries are listed.
const BINARIES: usize = 30;

/// How many packages are listed.
const PACKAGES: usize = 30;

/// What should be known before the profile is believed.
pub(super) fn warnings(training: &Training<'_>) -> Vec<String> {
    let manifest = training.manifest;
    let mut warnings = Vec::new();
    if manifest.thin {
        warnings.push(THIN.to_owned());
    }
    for workload in &manifest.workloads {
        if workload.lost_processes > 0 {
            warnings.push(format!(
                "{} of workload `{}` ended without saving counters: what they ran is missing",
                processes(workload.lost_processes),
                workload.name
            ));
        }
    }
    if let Some(sampling) = manifest.sampling.as_ref().filter(|s| s.longer > LONGER) {
        warnings.push(format!(
            "there are few samples of the hot code: a recording {:.0} times as long would have \
             enough",
            sampling.longer.ceil()
        ));
    }
    for failed in &manifest.failed {
        warnings.push(format!(
            "`{}` failed, and is not in the profile: {}",
            failed.name, failed.words
        ));
    }
    for entry in &manifest.c_objects {
        let without = entry.objects - (entry.instrumented + entry.excluded).min(entry.objects);
        if without > 0 {
            warnings.push(format!(
                "{}: {} of C or C++ had no counters in the training",
                entry.package,
                plural(without, "object")
            ));
        }
        if entry.unseen > 0 {
            warnings.push(format!(
                "{}: {} of C or C++ compiled by something that does not go through CC or CXX, and so \
                 not trained",
                entry.package,
                plural(entry.unseen, "object")
            ));
        }
    }
    match training.used {
        Some(used) => warnings.extend(remarks(used, Weight::Warning)),
        None => warnings.push("no build has used this profile yet: `cargo fdo build` does".into()),
    }
    warnings
}

fn remarks(used: &UseReport, wanted: Weight) -> Vec<String> {
    let remarks = report::remarks(used).into_iter();
    remarks
        .filter(|(weight, _)| *weight == wanted)
        .map(|(_, words)| words)
        .collect()
}

/// The section.
pub(super) fn write(html: &mut Html, training: &Training<'_>) {
    let manifest = training.manifest;
    html.element("dl", &[], |html| {
        for (term, words) in facts(training) {
            html.leaf("dt", &[], term);
            html.element("dd", &[], |html| html.prose(words));
        }
    });
    if manifest.thin {
        html.element("p", &[], |html| {
            html.element("strong", &[], |html| {
                html.prose(format_args!("Thin: {THIN}"))
            });
        });
    }
    table(html, "Workloads", &workloads(training));
    table(html, "Programs and shared libraries", &binaries(training));
    table(html, "Counts by language", &languages(training));
    table(html, "Counts by package", &packages(training));
    if training.used.is_none() {
        html.element("p", &[("class", &"soft")], |html| {
            html.prose("What of it is used, `cargo fdo build` finds out.");
        });
    }
    if let Some(used) = training.used {
        html.list("plain", &remarks(used, Weight::Note));
    }
    table(
        html,
        "C and C++ in the program that was trained",
        &c_objects(training),
    );
    table(
        html,
        "Counts by size, as the compilers read them (copies of a function in several units are one)",
        &sizes(training),
    );
}

fn facts(training: &Training<'_>) -> Vec<(&'static str, String)> {
    let manifest = training.manifest;
    let mut facts = vec![
        (
            "profile",
            format!("`{}`, made {}", manifest.id, date(manifest.made)),
        ),
        (
            "method",
            match manifest.method {
                Method::Instrument => "counters compiled in (`instrument`)",
                Method::Sample => "samples of the running program (`sample`)",
            }
            .to_owned(),
        ),
        (
            "functions",
            format!(
                "{} of {} ran",
                count(manifest.functions_executed),
                count(manifest.functions)
            ),
        ),
        (
            "blocks",
            format!(
                "{} of {} make up 99 % of the counts",
                count(manifest.hot_blocks),
                count(manifest.blocks)
            ),
        ),
        (
            "files",
            format!(
                "{} merged, {} set aside",
                report::files(manifest, manifest.raw_files),
                manifest.quarantined
            ),
        ),
    ];
    if let Some(sampling) = &manifest.sampling {
        let stacks = match sampling.branch_stacks {
            true => "with branch stacks",
            false => "without branch stacks",
        };
        facts.push(match sampling.samples {
            0 => (
                "samples",
                "in finished profiles: how many is not known".into(),
            ),
            samples => (
                "samples",
                format!(
                    "{} of `{}`, {stacks}; {} lost; {} at known lines",
                    count(samples),
                    sampling.event,
                    count(sampling.lost),
                    percent(sampling.mapped)
                ),
            ),
        });
        if sampling.longer > 0.0 {
            facts.push((
                "density",
                match sampling.longer > 1.0 {
                    true => format!(
                        "a recording {:.1} times as long would have enough samples of all hot code",
                        sampling.longer
                    ),
                    false => "enough samples of all hot code".into(),
                },
            ));
        }
    }
    if let Some(used) = training.used {
        facts.push(("used", report::usage_lines(used).0));
    }
    facts
}

fn workloads(training: &Training<'_>) -> Grid {
    let mut grid = Grid::new(["workload", "weight", "files", "time", "slower by counting"]);
    for workload in &training.manifest.workloads {
        grid.rows.push(vec![
            workload.name.clone(),
            workload.weight.to_string(),
            match workload.lost_processes {
                0 => count(workload.files as u64),
                lost => format!(
                    "{}; {} without",
                    count(workload.files as u64),
                    processes(lost)
                ),
            },
            match workload.seconds > 0.0 {
                true => duration(workload.seconds),
                false => "n/a".into(),
            },
            workload
                .slowdown
                .map_or_else(|| "n/a".into(), |factor| format!("{factor:.2} times")),
        ]);
    }
    grid
}

/// Nothing where all counts are of one.
fn binaries(training: &Training<'_>) -> Grid {
    let mut grid = Grid::new(["binary", "of all counts", "functions", "remark"]);
    let binaries = &training.manifest.binaries;
    for binary in binaries
        .iter()
        .filter(|_| binaries.len() > 1)
        .take(BINARIES)
    {
        grid.rows.push(vec![
            binary.name.clone(),
            percent(binary.share),
            count(binary.functions),
            left_out(binary).unwrap_or_default().to_owned(),
        ]);
    }
    grid
}

fn languages(training: &Training<'_>) -> Grid {
    let trained = training.trained;
    let mut grid = Grid::new(["language", "of all counts", "functions", "used"]);
    for language in [Language::Rust, Language::C] {
        let counts = trained.count_of(language);
        let packages = trained.packages.iter();
        let functions: usize = packages
            .filter(|package| package.language == language)
            .map(|package| package.functions)
            .sum();
        let name = usage::name(language);
        let used = training.used.map_or_else(unknown, |used| {
            let mut languages = used.languages.iter();
            match languages.find(|(found, _)| found == name) {
                Some((_, part)) => percent(part.ratio()),
                None => "takes no part".into(),
            }
        });
        if functions > 0 {
            grid.rows.push(vec![
                name.to_owned(),
                percent(trained.share(counts)),
                count(functions as u64),
                used,
            ]);
        }
    }
    grid
}

fn unknown() -> String {
    "n/a".into()
}

fn packages(training: &Training<'_>) -> Grid {
    let trained = training.trained;
    let mut grid =
        Grid::new(["package", "language", "of all counts", "functions", "used"]).with_words(2);
    let (top, others) = trained
        .packages
        .split_at_checked(PACKAGES)
        .unwrap_or((&trained.packages, &[]));
    for package in top {
        grid.rows.push(vec![
            package.name.clone(),
            usage::name(package.language).to_owned(),
            percent(trained.share(package.count)),
            count(package.functions as u64),
            training
                .used
                .map_or_else(unknown, |used| used_of(used, &package.name)),
        ]);
    }
    if !others.is_empty() {
        let functions: usize = others.iter().map(|package| package.functions).sum();
        grid.rows.push(vec![
            format!("{} more", others.len()),
            String::new(),
            percent(trained.share(others.iter().map(|package| package.count).sum())),
            count(functions as u64),
            String::new(),
        ]);
    }
    grid
}

/// Builds name the packages with most counts only.
fn used_of(used: &UseReport, package: &str) -> String {
    let mut packages = used.packages.iter();
    match packages.find(|row| row.name == package) {
        Some(row) => percent(row.share.ratio()),
        None if used.other_packages.is_some() => unknown(),
        None => "not in this build".into(),
    }
}

fn c_objects(training: &Training<'_>) -> Grid {
    let head = [
        "package",
        "objects",
        "with counters",
        "left out",
        "by other compilers",
    ];
    let mut grid = Grid::new(head);
    for entry in &training.manifest.c_objects {
        let numbers = [
            entry.objects,
            entry.instrumented,
            entry.excluded,
            entry.unseen,
        ];
        let cells = numbers.map(|number| count(number as u64));
        grid.rows
            .push([vec![entry.package.clone()], cells.to_vec()].concat());
    }
    grid
}

fn sizes(training: &Training<'_>) -> Grid {
    let summary = &training.trained.summary;
    let mut grid = Grid::new(["count of", "blocks", "of all blocks", "of all counts"]);
    for class in summary.magnitudes() {
        grid.rows.push(vec![
            match class.least {
                0 => "0: never ran".into(),
                least => format!("{} to {}", count(least), count(class.greatest())),
            },
            count(class.blocks),
            percent(class.blocks as f64 / summary.blocks.max(1) as f64),
            percent(class.total as f64 / summary.total.max(1) as f64),
        ]);
    }
    grid
}
