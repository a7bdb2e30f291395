//! What the values of a comparison say: computed from the facts alone, so that a saved comparison
//! says the same again.

mod scope;
#[cfg(test)]
pub(crate) mod tests;
mod warnings;

use super::facts::{Comparison, Metric, Role, Scenario};
use crate::metrics::Better;
use crate::statistics::{self, Ratio, Summary};
use scope::Values;
use serde::Serialize;

/// All that is concluded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    /// One for each scenario, measure and variant; in the order of the facts.
    pub rows: Vec<Row>,
    /// Over all scenarios that have the same main measure; empty if it is one.
    pub overall: Vec<Overall>,
    /// The significant change for the worse, of a main measure, that is greatest: its place in
    /// `rows`.
    pub worst: Option<usize>,
    /// What a reader should know before believing the table.
    pub warnings: Vec<String>,
}

/// One variant's values of one measure in one scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Index of the scenario.
    pub scenario: usize,
    /// Index of the measure in it.
    pub metric: usize,
    /// Index of the variant.
    pub variant: usize,
    /// Of all values: where a run gives several, of all of them.
    pub summary: Summary,
    /// STDDEVP by mean.
    pub variation: Option<f64>,
    /// Rounds with a value that is far from the others, from 1. They are in the figures all the
    /// same.
    pub outliers: Vec<u32>,
    /// To the baseline; not of the baseline itself, nor where values are zero or negative.
    pub change: Option<Change>,
    /// Where there is no ratio: whether all values lie on one side of all of the baseline's.
    pub apart: Option<Verdict>,
}

/// How a variant differs from the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The variant's value by the baseline's.
    pub ratio: Ratio,
    /// By which share it is better; negative: worse.
    pub gain: f64,
    /// What follows.
    pub verdict: Verdict,
    /// Whether the runs were made in turn, so that round can be held against round.
    pub is_paired: bool,
}

/// What a change amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval lies on the good side of 1.
    Better,
    /// The interval lies on the bad side of 1.
    Worse,
    /// The interval holds 1.
    NoSignificantChange,
    /// One run: there is no interval.
    Unknown,
}

/// The geometric mean over scenarios.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overall {
    /// The measure's name.
    pub metric: String,
    /// Index of the variant.
    pub variant: usize,
    /// How many scenarios have it.
    pub scenarios: usize,
    /// How it differs.
    pub change: Change,
}

impl Findings {
    /// Computes everything.
    pub fn of(comparison: &Comparison) -> Findings {
        let mut rows = Vec::new();
        for (at, scenario) in comparison.scenarios.iter().enumerate() {
            for (number, metric) in scenario.metrics.iter().enumerate() {
                rows.extend(rows_of(comparison, (at, number), metric));
            }
        }
        let worst = worst(comparison, &rows);
        Findings {
            overall: overall(comparison),
            worst,
            warnings: warnings::of(comparison, &rows),
            rows,
        }
    }

    /// The rows of one measure.
    pub fn of_metric(&self, scenario: usize, metric: usize) -> impl Iterator<Item = &Row> {
        self.rows
            .iter()
            .filter(move |row| row.scenario == scenario && row.metric == metric)
    }

    /// Main measures of candidates of which nothing can be said: too few runs, or missing on one side.
    pub fn not_judged(&self, comparison: &Comparison) -> Vec<String> {
        let mut open = Vec::new();
        for (at, scenario) in comparison.scenarios.iter().enumerate() {
            for (number, metric) in scenario.metrics.iter().enumerate() {
                for (variant, of) in comparison.variants.iter().enumerate() {
                    if !metric.is_main || of.role != Role::Candidate {
                        continue;
                    }
                    let row = self
                        .of_metric(at, number)
                        .find(|row| row.variant == variant);
                    let verdict = row.and_then(|row| {
                        let change = row.change.map(|change| change.verdict);
                        change.or(row.apart)
                    });
                    if verdict.is_none_or(|verdict| verdict == Verdict::Unknown) {
                        open.push(format!(
                            "{} of `{}` by `{}`",
                            metric.name, scenario.name, of.name
                        ));
                    }
                }
            }
        }
        open
    }

    /// Changes of main measures for the worse that are significant and greater than `share`, of
    /// candidates; and those for the worse that have no ratio, from zero say, whatever the share.
    pub fn regressions<'f>(
        &'f self,
        comparison: &'f Comparison,
        share: f64,
    ) -> impl Iterator<Item = &'f Row> {
        self.rows.iter().filter(move |row| {
            let is_worse = row
                .change
                .is_some_and(|change| change.verdict == Verdict::Worse && -change.gain > share);
            is_main_of_candidate(comparison, row) && (is_worse || row.apart == Some(Verdict::Worse))
        })
    }
}

/// The measure of a row.
pub fn metric_of<'c>(comparison: &'c Comparison, row: &Row) -> &'c Metric {
    &scenario_of(comparison, row).metrics[row.metric]
}

/// The scenario of a row.
pub fn scenario_of<'c>(comparison: &'c Comparison, row: &Row) -> &'c Scenario {
    &comparison.scenarios[row.scenario]
}

fn rows_of(comparison: &Comparison, at: (usize, usize), metric: &Metric) -> Vec<Row> {
    let all: Vec<Values> = metric.samples.iter().map(|s| Values::of(s)).collect();
    let is_saved = |variant: usize| {
        comparison
            .variants
            .get(variant)
            .is_some_and(|variant| variant.saved.is_some())
    };
    let mut rows = Vec::new();
    for (variant, values) in all.iter().enumerate() {
        let Some(summary) = Summary::of(&values.all) else {
            continue;
        };
        // The twin is held against what it is the twin of, which a saved baseline is not.
        let is_twin = |at: usize| comparison.variants[at].role == Role::Again;
        let base = match is_twin(variant) {
            true => variant.saturating_sub(1),
            false => 0,
        };
        let change = (variant > 0)
            .then(|| {
                let is_paired = !is_saved(base) && !is_saved(variant);
                let ratio = scope::ratio(&all[base], values, is_paired)?;
                Change::new(ratio, metric.better, is_paired)
            })
            .flatten();
        rows.push(Row {
            scenario: at.0,
            metric: at.1,
            variant,
            variation: summary.variation(),
            summary,
            outliers: values.outliers(),
            apart: change
                .is_none()
                .then(|| apart(&all[base], values, metric.better))
                .flatten()
                .filter(|_| variant > 0),
            change,
        });
    }
    rows
}

/// Errors that were none and are five now have no ratio, and are worse all the same.
fn apart(baseline: &Values, other: &Values, better: Better) -> Option<Verdict> {
    /// Of two rounds each, one of six orders is this one by chance.
    const ENOUGH: usize = 3;
    let (left, right) = (Summary::of(&baseline.all)?, Summary::of(&other.all)?);
    let is_less = right.max < left.min;
    let is_more = right.min > left.max;
    if left.count.min(right.count) < ENOUGH {
        return Some(Verdict::Unknown);
    }
    if !(is_less || is_more) {
        return Some(Verdict::NoSignificantChange);
    }
    match (better, is_less) {
        (Better::Lower, true) | (Better::Higher, false) => Some(Verdict::Better),
        _ => Some(Verdict::Worse),
    }
}

impl Change {
    fn new(ratio: Ratio, better: Better, is_paired: bool) -> Option<Change> {
        let gain = match better {
            Better::Lower => 1.0 - ratio.estimate,
            Better::Higher => ratio.estimate - 1.0,
        };
        let verdict = match ratio.interval {
            None => Verdict::Unknown,
            Some(_) if !ratio.is_significant() => Verdict::NoSignificantChange,
            Some(_) if gain > 0.0 => Verdict::Better,
            Some(_) => Verdict::Worse,
        };
        gain.is_finite().then_some(Change {
            ratio,
            gain,
            verdict,
            is_paired,
        })
    }
}

fn is_main_of_candidate(comparison: &Comparison, row: &Row) -> bool {
    metric_of(comparison, row).is_main && comparison.variants[row.variant].role == Role::Candidate
}

fn worst(comparison: &Comparison, rows: &[Row]) -> Option<usize> {
    rows.iter()
        .enumerate()
        .filter(|(_, row)| is_main_of_candidate(comparison, row))
        .filter_map(|(at, row)| Some((at, row.change?)))
        .filter(|(_, change)| change.verdict == Verdict::Worse)
        .min_by(|(_, left), (_, right)| left.gain.total_cmp(&right.gain))
        .map(|(at, _)| at)
}

/// Geometric means of the main measures that more than one scenario has.
fn overall(comparison: &Comparison) -> Vec<Overall> {
    let mut names: Vec<(&str, Better)> = Vec::new();
    for metric in comparison.scenarios.iter().flat_map(|s| &s.metrics) {
        if metric.is_main && !names.iter().any(|(name, _)| *name == metric.name) {
            names.push((&metric.name, metric.better));
        }
    }
    let mut found = Vec::new();
    for (name, better) in names {
        let metrics: Vec<&Metric> = comparison
            .scenarios
            .iter()
            .filter_map(|scenario| {
                scenario
                    .metrics
                    .iter()
                    .find(|m| m.is_main && m.name == name)
            })
            .collect();
        if metrics.len() < 2 {
            continue;
        }
        for variant in 1..comparison.variants.len() {
            let is_saved = |at: usize| comparison.variants[at].saved.is_some();
            if is_saved(0) || is_saved(variant) {
                continue;
            }
            let pairs: Vec<(Vec<f64>, Vec<f64>)> = scope::common_rounds(&metrics, variant);
            let pairs: Vec<(&[f64], &[f64])> =
                pairs.iter().map(|(a, b)| (&a[..], &b[..])).collect();
            let change = statistics::overall_ratio(&pairs)
                .ok()
                .and_then(|ratio| Change::new(ratio, better, true));
            found.extend(change.map(|change| Overall {
                metric: name.to_owned(),
                variant,
                scenarios: metrics.len(),
                change,
            }));
        }
    }
    found
}
