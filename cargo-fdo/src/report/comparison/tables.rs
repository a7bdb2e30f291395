//! Which tables a comparison has.

use super::grid::Grid;
use super::scale::Scale;
use crate::comparison::facts::{Comparison, Metric, Role};
use crate::comparison::findings::{Change, Findings, Row, Verdict, metric_of, scenario_of};
use crate::metrics::Better;
use std::time::Duration;

/// How much a table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Detail {
    /// What fits on a terminal.
    Short,
    /// All of it.
    Full,
}

/// One for each main measure: its scenarios and variants.
pub(in crate::report) fn main(
    comparison: &Comparison,
    findings: &Findings,
    detail: Detail,
) -> Vec<(String, Grid)> {
    let mut measures: Vec<&Metric> = Vec::new();
    for metric in comparison.scenarios.iter().flat_map(|s| &s.metrics) {
        if metric.is_main && !measures.iter().any(|known| is_same(known, metric)) {
            measures.push(metric);
        }
    }
    let tables = measures.into_iter().map(|measure| {
        let rows: Vec<&Row> = findings
            .rows
            .iter()
            .filter(|row| is_same(metric_of(comparison, row), measure))
            .collect();
        // The smallest still has its digits.
        let least = rows
            .iter()
            .map(|row| row.summary.mean.abs())
            .fold(f64::INFINITY, f64::min);
        let scale = Scale::of(least, measure.unit.as_deref());
        let title = format!(
            "{}{}, {} is better",
            measure.name,
            in_unit(&scale),
            direction(measure.better)
        );
        (title, statistics(comparison, &rows, &scale, detail))
    });
    tables.collect()
}

fn is_same(left: &Metric, right: &Metric) -> bool {
    left.name == right.name && left.unit == right.unit && left.origin == right.origin
}

fn in_unit(scale: &Scale) -> String {
    match scale.unit.as_str() {
        "" => String::new(),
        unit => format!(" in {unit}"),
    }
}

pub(in crate::report) fn direction(better: Better) -> &'static str {
    match better {
        Better::Lower => "less",
        Better::Higher => "more",
    }
}

fn statistics(comparison: &Comparison, rows: &[&Row], scale: &Scale, detail: Detail) -> Grid {
    let more = |words: [&'static str; 3]| match detail {
        Detail::Full => words.to_vec(),
        Detail::Short => Vec::new(),
    };
    let mut head = vec!["scenario", "variant"];
    head.extend(["mean", "STDDEVP", "STDDEVP/mean", "median", "P95"]);
    head.extend(more(["P99", "min", "max"]));
    head.extend(["ratio", "95 % interval", "gain", ""]);
    let mut grid = Grid::new(head).with_words(2);
    for row in rows {
        let summary = &row.summary;
        let mark = if row.outliers.is_empty() { "" } else { " *" };
        let mut cells = vec![
            scenario_of(comparison, row).name.clone(),
            format!("{}{mark}", comparison.variants[row.variant].name),
            scale.show(summary.mean),
            scale.show(summary.stddevp),
            row.variation
                .map_or_else(|| "n/a".into(), |share| share_of(share.abs())),
        ];
        cells.extend([summary.median, summary.p95].map(|value| scale.show(value)));
        if detail == Detail::Full {
            let values = [summary.p99, summary.min, summary.max];
            cells.extend(values.map(|value| scale.show(value)));
        }
        let mut words = change_cells(row.change.as_ref(), row.variant);
        if let Some(apart) = row.apart {
            words[3] = verdict_word(apart).to_owned();
        }
        cells.extend(words);
        grid.rows.push(cells);
    }
    grid
}

/// Ratio, interval, gain, verdict.
fn change_cells(change: Option<&Change>, variant: usize) -> [String; 4] {
    match change {
        Some(change) => [
            format!("{:.4}", change.ratio.estimate),
            interval(change),
            signed_percent(change.gain),
            verdict_word(change.verdict).to_owned(),
        ],
        None if variant == 0 => ["1".into(), String::new(), String::new(), "baseline".into()],
        None => ["n/a".into(), String::new(), String::new(), String::new()],
    }
}

pub(in crate::report) fn interval(change: &Change) -> String {
    match change.ratio.interval {
        Some((low, high)) => format!("{low:.4} to {high:.4}"),
        None => "n/a".into(),
    }
}

/// `+8.77 %` is better, `-8.77 %` worse, whichever direction is good.
pub fn signed_percent(gain: f64) -> String {
    format!("{:+.2} %", gain * 100.0)
}

fn share_of(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

pub(in crate::report) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NoSignificantChange => "no significant change",
        Verdict::Unknown => "one run: not known",
    }
}

/// Geometric means over scenarios.
pub(in crate::report) fn overall(
    comparison: &Comparison,
    findings: &Findings,
) -> Vec<(String, Grid)> {
    let mut tables: Vec<(String, Grid)> = Vec::new();
    for overall in &findings.overall {
        let title = format!(
            "All {} scenarios: {}, geometric mean",
            overall.scenarios, overall.metric
        );
        if tables.last().is_none_or(|(last, _)| *last != title) {
            let head = ["variant", "ratio", "95 % interval", "gain", ""];
            tables.push((title, Grid::new(head)));
        }
        let Some((_, grid)) = tables.last_mut() else {
            continue;
        };
        let mut cells = vec![comparison.variants[overall.variant].name.clone()];
        cells.extend(change_cells(Some(&overall.change), overall.variant));
        grid.rows.push(cells);
    }
    tables
}

/// Means of what was measured beside, and the ratio of each to the baseline's.
pub(in crate::report) fn circumstances(
    comparison: &Comparison,
    findings: &Findings,
) -> Vec<(String, Grid)> {
    let mut tables = Vec::new();
    for (at, scenario) in comparison.scenarios.iter().enumerate() {
        let mut head = vec!["mean".to_owned()];
        head.extend(comparison.variants.iter().map(|v| v.name.clone()));
        let mut grid = Grid::new(head);
        for (number, metric) in scenario.metrics.iter().enumerate() {
            if metric.is_main {
                continue;
            }
            let rows: Vec<&Row> = findings.of_metric(at, number).collect();
            let typical = rows.first().map_or(0.0, |row| row.summary.mean);
            let scale = Scale::of(typical, metric.unit.as_deref());
            let mut cells = vec![format!("{}{}", metric.name, in_unit(&scale))];
            cells.extend((0..comparison.variants.len()).map(|variant| {
                rows.iter()
                    .find(|row| row.variant == variant)
                    .map_or_else(|| "n/a".into(), |row| scale.show(row.summary.mean))
            }));
            grid.rows.push(cells);
        }
        tables.push((format!("`{}`: beside", scenario.name), grid));
    }
    tables
}

/// Sizes and build times.
pub(in crate::report) fn programs(comparison: &Comparison) -> Grid {
    let mut grid = Grid::new(["program", "size", "code", "built in"]);
    for variant in &comparison.variants {
        if variant.role == Role::Again {
            continue;
        }
        let built = variant.build_seconds.map_or_else(
            || "was there".to_owned(),
            |seconds| crate::ui::seconds(Duration::try_from_secs_f64(seconds).unwrap_or_default()),
        );
        let bytes = |bytes: u64| Scale::of(bytes as f64, Some("B")).with_unit(bytes as f64);
        for program in &variant.programs {
            grid.rows.push(vec![
                format!("{}, {}", variant.name, program.name),
                bytes(program.bytes),
                program.text_bytes.map_or_else(|| "n/a".into(), bytes),
                built.clone(),
            ]);
        }
    }
    grid
}

/// A sentence that can be quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) struct Conclusion {
    /// Of which variant; of none in particular where it is the worst regression of all.
    pub(in crate::report) role: Option<Role>,
    pub(in crate::report) words: String,
}

/// What follows, one sentence for each candidate, and the worst regression.
pub(in crate::report) fn verdict(comparison: &Comparison, findings: &Findings) -> Vec<Conclusion> {
    let baseline = &comparison.variants[0].name;
    let mut sentences = Vec::new();
    for (at, variant) in comparison.variants.iter().enumerate() {
        if !matches!(variant.role, Role::Candidate | Role::Control) {
            continue;
        }
        let of_all = findings
            .overall
            .iter()
            .filter(|overall| overall.variant == at)
            .map(|overall| {
                let what = format!("{}, all scenarios", overall.metric);
                (what, overall.change)
            });
        let is_in_all = |row: &Row| {
            let name = &metric_of(comparison, row).name;
            findings
                .overall
                .iter()
                .any(|overall| overall.metric == *name)
        };
        let of_one = findings
            .rows
            .iter()
            .filter(|row| row.variant == at && metric_of(comparison, row).is_main)
            .filter(|row| !is_in_all(row))
            .filter_map(|row| {
                let name = &metric_of(comparison, row).name;
                let what = format!("{name} of `{}`", scenario_of(comparison, row).name);
                Some((what, row.change?))
            });
        let without_ratio = findings
            .rows
            .iter()
            .filter(|row| row.variant == at && metric_of(comparison, row).is_main)
            .filter_map(|row| {
                let name = &metric_of(comparison, row).name;
                let scenario = &scenario_of(comparison, row).name;
                let verdict = verdict_word(row.apart?);
                Some(format!("{name} of `{scenario}`: {verdict} in every run"))
            });
        let parts: Vec<String> = of_all
            .chain(of_one)
            .map(sentence)
            .chain(without_ratio)
            .collect();
        if !parts.is_empty() {
            sentences.push(Conclusion {
                role: Some(variant.role),
                words: format!("`{}` to `{baseline}`: {}", variant.name, parts.join("; ")),
            });
        }
    }
    if let Some(row) = findings.worst.map(|at| &findings.rows[at])
        && let Some(change) = row.change
    {
        sentences.push(Conclusion {
            role: None,
            words: format!(
                "worst: `{}`, {} of `{}`, {} ({})",
                comparison.variants[row.variant].name,
                metric_of(comparison, row).name,
                scenario_of(comparison, row).name,
                signed_percent(change.gain),
                interval(&change)
            ),
        });
    }
    sentences
}

fn sentence((what, change): (String, Change)) -> String {
    match change.verdict {
        Verdict::NoSignificantChange => {
            format!("{what}: no significant change ({})", interval(&change))
        }
        Verdict::Unknown => format!(
            "{what}: {} {} in one run, which proves nothing",
            share_of(change.gain.abs()),
            if change.gain < 0.0 { "worse" } else { "better" }
        ),
        Verdict::Better | Verdict::Worse => format!(
            "{what}: {} {} (ratio {})",
            share_of(change.gain.abs()),
            verdict_word(change.verdict),
            interval(&change)
        ),
    }
}
