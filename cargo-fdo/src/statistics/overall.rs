//! One ratio for several scenarios.

use super::ratio::{self, Ratio, RatioError};

/// How much the other program's values are of the baseline's over all scenarios, each a pair of
/// slices: baseline, other. Every scenario weighs the same, however long it runs.
///
/// A round is one pair: its ratio is the geometric mean of the scenarios' ratios in it, and rounds
/// are compared as in [`paired_ratio`](super::paired_ratio). So noise that hits all scenarios
/// of a round is seen as what it is, one event. The interval is about rounds of *these* scenarios;
/// it does not say what a scenario that nobody measured would give.
///
/// Only the rounds that all scenarios have are compared, from the first one on. Where scenarios
/// have more of their own, the estimate is not quite the geometric mean of their ratios.
pub fn overall_ratio(scenarios: &[(&[f64], &[f64])]) -> Result<Ratio, RatioError> {
    let mut sums: Option<Vec<f64>> = None;
    for (at, &(baseline, other)) in scenarios.iter().enumerate() {
        let logarithms = logarithms(baseline, other).map_err(|error| RatioError::Scenario {
            at,
            error: Box::new(error),
        })?;
        match &mut sums {
            None => sums = Some(logarithms),
            Some(sums) => {
                sums.truncate(logarithms.len());
                sums.iter_mut()
                    .zip(logarithms)
                    .for_each(|(sum, logarithm)| *sum += logarithm);
            }
        }
    }
    let count = scenarios.len() as f64;
    let means: Vec<f64> = sums
        .unwrap_or_default()
        .into_iter()
        .map(|sum| sum / count)
        .collect();
    Ratio::of_logarithms(&means)
}

/// The logarithms of one scenario's ratios.
fn logarithms(baseline: &[f64], other: &[f64]) -> Result<Vec<f64>, RatioError> {
    if baseline.len() != other.len() {
        return Err(RatioError::DifferentCounts {
            baseline: baseline.len(),
            other: other.len(),
        });
    }
    ratio::logarithms(baseline, other)
}

#[cfg(test)]
mod tests {
    use super::super::paired_ratio;
    use super::*;

    #[test]
    fn of_one_scenario_it_is_that_scenario() {
        let (baseline, other) = ([5.0, 6.0, 7.0, 8.0], [4.0, 5.5, 6.0, 7.9]);
        assert_eq!(
            overall_ratio(&[(&baseline, &other)]),
            paired_ratio(&baseline, &other)
        );
    }

    #[test]
    fn weighs_scenarios_the_same() {
        let long = ([1e6; 3], [5e5; 3]);
        let short = ([1.0; 3], [2.0; 3]);
        let ratio = overall_ratio(&[(&long.0, &long.1), (&short.0, &short.1)]).unwrap();
        assert_eq!(ratio.estimate, 1.0);
        assert_eq!(ratio.interval, Some((1.0, 1.0)));
    }

    #[test]
    fn takes_the_rounds_that_all_have() {
        let ratio = overall_ratio(&[(&[1.0; 5], &[2.0; 5]), (&[1.0; 3], &[2.0; 3])]).unwrap();
        assert_eq!(ratio.pairs, 3);
        let none = overall_ratio(&[(&[1.0], &[2.0]), (&[], &[])]);
        assert_eq!(none, Err(RatioError::NoPairs));
        assert_eq!(overall_ratio(&[]), Err(RatioError::NoPairs));
    }

    #[test]
    fn names_the_scenario_that_has_no_ratio() {
        let error = overall_ratio(&[(&[1.0], &[2.0]), (&[1.0], &[0.0])]).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("scenario 2: round 1 has the value 0")
        );
        let error = overall_ratio(&[(&[1.0], &[])]).unwrap_err();
        assert!(matches!(error, RatioError::Scenario { at: 0, .. }));
    }
}
