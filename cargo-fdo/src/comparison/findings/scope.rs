//! Which values are held against which.

use crate::comparison::facts::Metric;
use crate::statistics::{self, Ratio};

/// One variant's values of a measure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Values {
    /// One for each round: the mean of that run's values. `None` where the run failed.
    pub(super) rounds: Vec<Option<f64>>,
    /// All of them.
    pub(super) all: Vec<f64>,
}

impl Values {
    pub(super) fn of(samples: &[Vec<f64>]) -> Values {
        Values {
            rounds: samples
                .iter()
                .map(|run| (!run.is_empty()).then(|| run.iter().sum::<f64>() / run.len() as f64))
                .collect(),
            all: samples.iter().flatten().copied().collect(),
        }
    }

    /// Rounds that are far from the others, from 1.
    pub(super) fn outliers(&self) -> Vec<u32> {
        let there: Vec<(u32, f64)> = (1..)
            .zip(&self.rounds)
            .filter_map(|(round, value)| Some((round, (*value)?)))
            .collect();
        let values: Vec<f64> = there.iter().map(|(_, value)| *value).collect();
        statistics::outliers(&values)
            .iter()
            .map(|outlier| there[outlier.at].0)
            .collect()
    }
}

/// `other` by `baseline`: over the rounds that both have, or, where they did not run in turn, over
/// all rounds of each. `None` where a ratio means nothing.
pub(super) fn ratio(baseline: &Values, other: &Values, is_paired: bool) -> Option<Ratio> {
    if is_paired {
        let (left, right): (Vec<f64>, Vec<f64>) = baseline
            .rounds
            .iter()
            .zip(&other.rounds)
            .filter_map(|(left, right)| Some(((*left)?, (*right)?)))
            .unzip();
        statistics::paired_ratio(&left, &right).ok()
    } else {
        let there = |values: &Values| values.rounds.iter().copied().flatten().collect::<Vec<_>>();
        statistics::unpaired_ratio(&there(baseline), &there(other)).ok()
    }
}

/// The baseline's and a variant's values of the same measure in several scenarios, for the rounds in
/// which all of them have one.
pub(super) fn common_rounds(metrics: &[&Metric], variant: usize) -> Vec<(Vec<f64>, Vec<f64>)> {
    let columns: Vec<(Values, Values)> = metrics
        .iter()
        .filter_map(|metric| {
            let of = |at: usize| metric.samples.get(at).map(|samples| Values::of(samples));
            Some((of(0)?, of(variant)?))
        })
        .collect();
    let rounds = columns
        .iter()
        .flat_map(|(left, right)| [left.rounds.len(), right.rounds.len()])
        .min()
        .unwrap_or(0);
    let in_all: Vec<usize> = (0..rounds)
        .filter(|&round| {
            columns
                .iter()
                .all(|(left, right)| left.rounds[round].is_some() && right.rounds[round].is_some())
        })
        .collect();
    let pick = |values: &Values| in_all.iter().filter_map(|&at| values.rounds[at]).collect();
    columns
        .iter()
        .map(|(left, right)| (pick(left), pick(right)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::facts::Origin;
    use crate::metrics::Better;

    #[test]
    fn a_failed_run_takes_its_round_out_and_nothing_else() {
        let left = Values::of(&[vec![1.0], vec![2.0], vec![3.0], vec![4.0]]);
        let right = Values::of(&[vec![2.0], vec![], vec![6.0], vec![8.0]]);
        let ratio = ratio(&left, &right, true).unwrap();
        assert_eq!((ratio.pairs, ratio.estimate), (3, 2.0));
        assert_eq!(right.all.len(), 3);
    }

    #[test]
    fn several_values_of_a_run_are_one_round() {
        let values = Values::of(&[vec![1.0, 3.0], vec![2.0]]);
        assert_eq!(values.rounds, [Some(2.0), Some(2.0)]);
        assert_eq!(values.all, [1.0, 3.0, 2.0]);
    }

    #[test]
    fn an_outlier_is_named_by_its_round() {
        let mut samples = vec![vec![10.0]; 9];
        for (at, run) in samples.iter_mut().enumerate() {
            run[0] += at as f64 / 100.0;
        }
        samples[1] = Vec::new();
        samples.push(vec![20.0]);
        assert_eq!(Values::of(&samples).outliers(), [10]);
    }

    #[test]
    fn scenarios_share_rounds() {
        let metric = |samples: &[&[f64]]| Metric {
            name: "t".into(),
            unit: None,
            better: Better::Lower,
            origin: Origin::Kernel,
            is_main: true,
            samples: samples
                .iter()
                .map(|rounds| {
                    let of = |value: &f64| if *value > 0.0 { vec![*value] } else { vec![] };
                    rounds.iter().map(of).collect()
                })
                .collect(),
        };
        let (a, b) = (
            metric(&[&[1.0, 2.0, 3.0], &[1.5, 2.5, 3.5]]),
            metric(&[&[4.0, 0.0, 6.0], &[4.5, 5.5, 6.5]]),
        );
        assert_eq!(
            common_rounds(&[&a, &b], 1),
            [
                (vec![1.0, 3.0], vec![1.5, 3.5]),
                (vec![4.0, 6.0], vec![4.5, 6.5])
            ]
        );
    }
}
