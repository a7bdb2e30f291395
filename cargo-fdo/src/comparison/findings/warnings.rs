//! What a reader should know before believing a table.

use super::{Change, Row, Verdict, metric_of, scenario_of};
use crate::comparison::facts::{Comparison, Origin, Role, Scenario};
use crate::statistics::quantile;
use crate::ui::{percent, plural};

/// Others may use this share of the machine before it is worth a word.
const OTHERS: f64 = 0.05;
/// A hypervisor may give this share away.
const STOLEN: f64 = 0.01;
/// A processor may wait for a disk this long.
const WAITING: f64 = 0.10;
/// With less than this share of the memory left, a machine begins to swap.
const MEMORY: f64 = 0.05;
/// With fewer pairs an interval is hardly better than a guess.
const FEW: usize = 5;

pub(super) fn of(comparison: &Comparison, rows: &[Row]) -> Vec<String> {
    let mut warnings = Vec::new();
    for scenario in &comparison.scenarios {
        if scenario.is_trained {
            // Once for all points of a sweep.
            let point = scenario.sweep.as_ref();
            let words = format!(
                "the profile was trained with `{}`: measured with what it was trained on, a gain \
                 looks better than it is; a workload of `kind = \"evaluate\"` has other data",
                point.map_or(&scenario.name, |point| &point.scenario)
            );
            if !warnings.contains(&words) {
                warnings.push(words);
            }
        }
        if let Some(wanted) = scenario.rounds_wanted {
            warnings.push(format!(
                "`{}` was interrupted after {} of {wanted} rounds",
                scenario.name, scenario.rounds
            ));
        }
        warnings.extend(failures(scenario));
        warnings.extend(weather(scenario, comparison.machine.memory));
    }
    for row in rows {
        let role = comparison.variants[row.variant].role;
        if role == Role::Again
            && metric_of(comparison, row).is_main
            && let Some(Change { gain, verdict, .. }) = row.change
            && matches!(verdict, Verdict::Better | Verdict::Worse)
        {
            warnings.push(format!(
                "`{}`, {}: the baseline differs from itself by {}, and its interval says that \
                 this is no accident; differences of that size mean nothing here",
                scenario_of(comparison, row).name,
                metric_of(comparison, row).name,
                percent(gain.abs())
            ));
        }
    }
    warnings.extend(noise(comparison, rows));
    warnings.extend(without_ratio(comparison, rows));
    warnings.extend(outliers(comparison, rows));
    warnings.extend(saved(comparison));
    let fewest = rows
        .iter()
        // Counts of instructions hardly differ from run to run.
        .filter(|row| {
            let metric = metric_of(comparison, row);
            metric.is_main && metric.origin != Origin::Callgrind
        })
        .filter_map(|row| Some(row.change?.ratio))
        .map(|ratio| ratio.pairs)
        .min();
    if let Some(pairs) = fewest.filter(|pairs| *pairs < FEW) {
        warnings.push(format!(
            "{} of each variant can't tell much: `--runs 10` or more",
            plural(pairs, "run")
        ));
    }
    warnings
}

fn failures(scenario: &Scenario) -> Option<String> {
    let first = scenario.failures.first()?;
    Some(format!(
        "`{}`: {} failed, and is not in the figures; first `{}`: {}",
        scenario.name,
        plural(scenario.failures.len(), "run"),
        first.variant,
        first.words
    ))
}

fn weather(scenario: &Scenario, memory: Option<u64>) -> Vec<String> {
    let weather = &scenario.weather;
    let greatest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let mut warnings = Vec::new();
    let mut say = |values: &[f64], limit: f64, what: &str| {
        let Some(median) = quantile(values, 0.5).filter(|median| *median > limit) else {
            return;
        };
        warnings.push(format!(
            "`{}`: the machine was not quiet: {what} {} of it (median over the runs; up to {})",
            scenario.name,
            percent(median),
            percent(greatest(values))
        ));
    };
    say(&weather.others, OTHERS, "other programs used");
    say(&weather.stolen, STOLEN, "its host gave other machines");
    say(&weather.waiting, WAITING, "waiting for disks took");
    if let (Some(least), Some(memory)) = (weather.available.iter().min(), memory)
        && (*least as f64) < MEMORY * memory as f64
    {
        warnings.push(format!(
            "`{}`: memory was short: {} MB were left",
            scenario.name,
            least / 1_000_000
        ));
    }
    warnings
}

/// Gains that are smaller than what the baseline may differ from itself by.
fn noise(comparison: &Comparison, rows: &[Row]) -> Vec<String> {
    let again = rows
        .iter()
        .filter(|row| comparison.variants[row.variant].role == Role::Again)
        .filter(|row| metric_of(comparison, row).is_main);
    let warnings = again.filter_map(|again| {
        let (low, high) = again.change?.ratio.interval?;
        let noise = (1.0 - low).max(high - 1.0);
        let least = rows
            .iter()
            .filter(|row| (row.scenario, row.metric) == (again.scenario, again.metric))
            .filter(|row| comparison.variants[row.variant].role == Role::Candidate)
            .filter_map(|row| row.change)
            .filter(|change| matches!(change.verdict, Verdict::Better | Verdict::Worse))
            .map(|change| change.gain.abs())
            .reduce(f64::min)?;
        (least < noise).then(|| {
            format!(
                "`{}`, {}: the baseline may differ from itself by {} here, and a difference of {} is \
                 called one; more `--runs`, or a quieter machine, make sure of it",
                scenario_of(comparison, again).name,
                metric_of(comparison, again).name,
                percent(noise),
                percent(least)
            )
        })
    });
    warnings.collect()
}

/// Main measures that can't be judged by ratios.
fn without_ratio(comparison: &Comparison, rows: &[Row]) -> Vec<String> {
    let mut named = Vec::new();
    for row in rows {
        let metric = metric_of(comparison, row);
        if metric.is_main && row.apart.is_some() {
            named.push(format!(
                "`{}`, {}: zeros or negative values have no ratio; a variant is called better or worse only \
                 if all of its values are on one side of all of the baseline's",
                scenario_of(comparison, row).name,
                metric.name
            ));
        }
    }
    named.dedup();
    named
}

fn outliers(comparison: &Comparison, rows: &[Row]) -> Option<String> {
    let count: usize = rows
        .iter()
        .filter(|row| metric_of(comparison, row).is_main)
        .map(|row| row.outliers.len())
        .sum();
    (count > 0).then(|| match count {
        1 => "1 value is far from the others of its variant, which has a *; it counts all the same"
            .to_owned(),
        count => format!(
            "{count} values are far from the others of their variants, which have a *; they \
                 count all the same"
        ),
    })
}

fn saved(comparison: &Comparison) -> Vec<String> {
    let saved = comparison.variants.iter().filter_map(|variant| {
        let from = variant.saved.as_ref()?;
        Some(format!(
            "`{}` was measured before (`{from}`), not in turn with the others: what has changed on \
             the machine since then is in the ratios",
            variant.name
        ))
    });
    saved.collect()
}
