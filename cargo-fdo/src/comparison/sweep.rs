//! What a sweep says: a scenario run with one value of a parameter after the other.

use super::facts::{Comparison, Metric, Origin, Scenario};
use super::findings::{Findings, Row};
use crate::metrics::Better;
use crate::statistics::Summary;
use serde::Serialize;

/// A measure that grows by less than this from some value on grows no more.
pub const LITTLE: f64 = 0.03;

/// One scenario over the values of a parameter, by one variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sweep {
    /// The scenario.
    pub scenario: String,
    /// The parameter.
    pub parameter: String,
    /// Index of the variant.
    pub variant: usize,
    /// Its values, in the order in which they ran.
    pub values: Vec<String>,
    /// For each value, whether a run is far from the others of its value.
    pub outliers: Vec<bool>,
    /// What was measured.
    pub measures: Vec<Measure>,
}

/// One measure over the values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measure {
    /// Its name.
    pub name: String,
    /// Of its values.
    pub unit: Option<String>,
    /// Which direction is good.
    pub better: Better,
    /// Whether it is what the sweep is about.
    pub is_main: bool,
    /// For each value of the parameter; none where no run gave it.
    pub summaries: Vec<Option<Summary>>,
    /// The value that is best: its place. Of main measures only.
    pub best: Option<usize>,
    /// From where on more brings nothing. Of main measures of which more is better, over growing
    /// numbers.
    pub knee: Option<Knee>,
}

/// Where a measure stops growing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Knee {
    /// After the value at this place it grows by less than [`LITTLE`].
    Beyond(usize),
    /// It grows up to the last value that ran.
    Grows {
        /// The place of that.
        to: usize,
        /// By which share, from the one before.
        by: f64,
    },
}

/// All sweeps of a comparison.
pub fn of(comparison: &Comparison, findings: &Findings) -> Vec<Sweep> {
    let mut sweeps: Vec<Sweep> = Vec::new();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for scenario in &comparison.scenarios {
        let Some(point) = &scenario.sweep else {
            continue;
        };
        let key = (point.scenario.as_str(), point.parameter.as_str());
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let points: Vec<(usize, &Scenario, &str)> = comparison
            .scenarios
            .iter()
            .enumerate()
            .filter_map(|(at, scenario)| {
                let point = scenario.sweep.as_ref()?;
                let same = (point.scenario.as_str(), point.parameter.as_str()) == key;
                same.then_some((at, scenario, point.value.as_str()))
            })
            .collect();
        for variant in 0..comparison.variants.len() {
            sweeps.push(Sweep {
                scenario: point.scenario.clone(),
                parameter: point.parameter.clone(),
                variant,
                values: points
                    .iter()
                    .map(|(.., value)| (*value).to_owned())
                    .collect(),
                outliers: points
                    .iter()
                    .map(|(at, scenario, _)| {
                        let is_far = |row: &Row| {
                            (row.scenario, row.variant) == (*at, variant)
                                && scenario.metrics[row.metric].is_main
                                && !row.outliers.is_empty()
                        };
                        findings.rows.iter().any(is_far)
                    })
                    .collect(),
                measures: measures(&points, variant, findings),
            });
        }
    }
    sweeps
}

fn measures(
    points: &[(usize, &Scenario, &str)],
    variant: usize,
    findings: &Findings,
) -> Vec<Measure> {
    let mut kinds: Vec<&Metric> = Vec::new();
    for metric in points.iter().flat_map(|(_, scenario, _)| &scenario.metrics) {
        let is_wall = metric.origin == Origin::Kernel && metric.name == "wall time";
        let is_shown = metric.is_main || is_wall;
        if is_shown && !kinds.iter().any(|known| is_same(known, metric)) {
            kinds.push(metric);
        }
    }
    kinds.sort_by_key(|metric| !metric.is_main);
    let numbers = growing(points.iter().map(|(.., value)| *value));
    kinds
        .into_iter()
        .map(|kind| {
            let summaries: Vec<Option<Summary>> = points
                .iter()
                .map(|(at, scenario, _)| {
                    let number = scenario.metrics.iter().position(|it| is_same(it, kind))?;
                    let mut rows = findings.of_metric(*at, number);
                    let row = rows.find(|row| row.variant == variant)?;
                    Some(row.summary.clone())
                })
                .collect();
            let means: Vec<Option<f64>> = summaries
                .iter()
                .map(|summary| summary.as_ref().map(|summary| summary.mean))
                .collect();
            let has_knee = kind.is_main && kind.better == Better::Higher && numbers;
            Measure {
                name: kind.name.clone(),
                unit: kind.unit.clone(),
                better: kind.better,
                is_main: kind.is_main,
                best: kind.is_main.then(|| best(&means, kind.better)).flatten(),
                knee: has_knee.then(|| knee(&means)).flatten(),
                summaries,
            }
        })
        .collect()
}

fn is_same(left: &Metric, right: &Metric) -> bool {
    left.name == right.name && left.unit == right.unit && left.origin == right.origin
}

/// Whether these are numbers, each greater than the one before.
fn growing<'a>(values: impl Iterator<Item = &'a str>) -> bool {
    let numbers: Option<Vec<f64>> = values.map(|value| value.parse().ok()).collect();
    numbers.is_some_and(|numbers| numbers.windows(2).all(|pair| pair[0] < pair[1]))
}

/// The place of the best of several.
fn best(means: &[Option<f64>], better: Better) -> Option<usize> {
    let known = means.iter().enumerate();
    let known: Vec<(usize, f64)> = known
        .filter_map(|(at, mean)| Some((at, (*mean)?)))
        .collect();
    if known.len() < 2 {
        return None;
    }
    let best = known.into_iter().reduce(|best, next| {
        let is_better = match better {
            Better::Lower => next.1 < best.1,
            Better::Higher => next.1 > best.1,
        };
        if is_better { next } else { best }
    });
    best.map(|(at, _)| at)
}

fn knee(means: &[Option<f64>]) -> Option<Knee> {
    let known = means.iter().enumerate();
    let known: Vec<(usize, f64)> = known
        .filter_map(|(at, mean)| Some((at, (*mean)?)))
        .collect();
    let (last, before) = known.split_last()?;
    for (place, (at, mean)) in before.iter().enumerate() {
        let most = known[place + 1..]
            .iter()
            .map(|(_, mean)| *mean)
            .fold(f64::NEG_INFINITY, f64::max);
        if most <= mean * (1.0 + LITTLE) {
            return Some(Knee::Beyond(*at));
        }
    }
    let by = last.1 / before.last()?.1 - 1.0;
    by.is_finite().then_some(Knee::Grows { to: last.0, by })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_is_the_first_value_after_which_little_is_gained() {
        let of = |means: &[f64]| knee(&means.iter().map(|mean| Some(*mean)).collect::<Vec<_>>());
        assert_eq!(
            of(&[100.0, 190.0, 300.0, 305.0, 290.0]),
            Some(Knee::Beyond(2))
        );
        assert_eq!(of(&[100.0, 99.0, 150.0, 151.0]), Some(Knee::Beyond(2)));
        assert_eq!(of(&[100.0, 50.0]), Some(Knee::Beyond(0)));
        assert_eq!(of(&[100.0, 150.0]), Some(Knee::Grows { to: 1, by: 0.5 }));
        assert_eq!(of(&[100.0]), None);
        assert_eq!(of(&[]), None);
        assert_eq!(knee(&[Some(1.0), None, Some(1.0)]), Some(Knee::Beyond(0)));
    }

    #[test]
    fn the_best_follows_the_direction_and_needs_something_to_be_better_than() {
        let means = [None, Some(3.0), Some(1.0), Some(3.0)];
        assert_eq!(best(&means, Better::Higher), Some(1));
        assert_eq!(best(&means, Better::Lower), Some(2));
        assert_eq!(best(&[None, Some(1.0)], Better::Lower), None);
    }

    #[test]
    fn only_numbers_that_grow_have_a_knee() {
        assert!(growing(["1", "2.5", "1e2"].into_iter()));
        assert!(!growing(["1", "1"].into_iter()));
        assert!(!growing(["2", "1"].into_iter()));
        assert!(!growing(["lru", "clock"].into_iter()));
    }
}
