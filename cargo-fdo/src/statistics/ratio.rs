//! How much one program's values are of another's, and how sure that is.
//!
//! # The interval
//!
//! Rounds are few, five to thirty, so it matters what an interval promises. Without any true
//! difference, this share of intervals held 1 (2,000 experiments each, range over normal,
//! log-normal, exponential and spiky noise; 95 % is promised):
//!
//! | pairs | percentile bootstrap | expanded | Student's t | both of the last |
//! | --- | --- | --- | --- | --- |
//! | 3 | 75-76 % | 75-76 % | 94-97 % | 94-97 % |
//! | 5 | 81-85 % | 91-93 % | 94-98 % | 94-98 % |
//! | 10 | 87-91 % | 93-95 % | 95-99 % | 96-99 % |
//! | 30 | 91-95 % | 93-96 % | 95-96 % | 95-96 % |
//!
//! Means of five drawn values are never outside of the five, which all lie on one side of the
//! truth in 6 % of experiments: the bootstrap alone can't do better. Student's interval can, but is
//! symmetric, and the noise of programs is not. So the interval is the least one that holds
//! both, and a difference is significant if both say so; then the t-test's p-value is below
//! 0.05 too. A test of this module repeats part of the experiment.

use super::{bootstrap, moments::Moments, student};
use serde::{Deserialize, Serialize};

/// Logarithms of ratios that have a normal `f64`, and whose inverse has one.
const LOGARITHMS: std::ops::RangeInclusive<f64> = -708.0..=708.0;

/// How much the other program's values are of the baseline's, pair by pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The geometric mean of the pairs' ratios; 0.9 is a tenth less than the baseline.
    pub estimate: f64,
    /// Low and high end of the 95 % interval, in which the estimate lies. `None` of one pair, which
    /// says nothing about how it would vary.
    pub interval: Option<(f64, f64)>,
    /// Of the paired t-test on the logarithms: how probable a ratio at least this far from 1 is
    /// if in truth it is 1. `None` of one pair, and where all ratios are equal.
    pub p_value: Option<f64>,
    /// How many pairs.
    pub pairs: usize,
}

impl Ratio {
    /// Whether the interval does not hold 1. Never of one pair. Where all ratios are equal, as of
    /// counted instructions, the interval is that ratio alone, and whatever differs does so
    /// significantly.
    pub fn is_significant(&self) -> bool {
        self.interval
            .is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }

    /// How much the baseline is of the other.
    pub fn inverse(&self) -> Ratio {
        Ratio {
            estimate: self.estimate.recip(),
            interval: self.interval.map(|(low, high)| (high.recip(), low.recip())),
            ..*self
        }
    }

    /// Of the logarithms of ratios, all within [`LOGARITHMS`].
    pub(super) fn of_logarithms(logarithms: &[f64]) -> Result<Ratio, RatioError> {
        let Moments { mean, .. } = Moments::of(logarithms).ok_or(RatioError::NoPairs)?;
        let interval = hull(
            bootstrap::interval(logarithms),
            student::interval(logarithms),
        );
        let p_value = student::p_value(logarithms);
        Ok(Ratio::around(mean, interval, p_value, logarithms.len()))
    }

    /// Of a mean logarithm and the interval around it.
    pub(super) fn around(
        mean: f64,
        interval: Option<(f64, f64)>,
        p_value: Option<f64>,
        pairs: usize,
    ) -> Ratio {
        Ratio {
            estimate: mean.exp(),
            interval: interval.map(|(low, high)| {
                // The mean and the means of the bootstrap are rounded differently.
                let (low, high) = (low.min(mean), high.max(mean));
                // Of two pairs Student's interval can go beyond any number.
                let (least, greatest) = (*LOGARITHMS.start(), *LOGARITHMS.end());
                (low.max(least).exp(), high.min(greatest).exp())
            }),
            p_value,
            pairs,
        }
    }
}

/// The least interval that holds both.
fn hull(one: Option<(f64, f64)>, other: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let (one, other) = (one?, other?);
    Some((one.0.min(other.0), one.1.max(other.1)))
}

/// Why values have no ratio.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RatioError {
    /// There are no values, or no scenarios.
    #[error("there is nothing to compare: no round was measured with both")]
    NoPairs,
    /// Values of one round each, but not of the same rounds.
    #[error("{baseline} values of the baseline can't be paired with {other} of the other")]
    DifferentCounts {
        /// Values of the baseline.
        baseline: usize,
        /// Values of the other.
        other: usize,
    },
    /// Zero or a negative value, of which there are no ratios.
    #[error("round {} has the value {value}, and only what is above 0 has a ratio", at + 1)]
    NotPositive {
        /// Which pair, from 0.
        at: usize,
        /// The value.
        value: f64,
    },
    /// A value that is infinite or no number.
    #[error("round {} has the value {value}, which can't be compared", at + 1)]
    NotFinite {
        /// Which pair, from 0.
        at: usize,
        /// The value.
        value: f64,
    },
    /// Values whose ratio is beyond what an `f64` can hold.
    #[error("round {} has the values {baseline} and {other}, too far apart for a ratio", at + 1)]
    TooFarApart {
        /// Which pair, from 0.
        at: usize,
        /// The baseline's value.
        baseline: f64,
        /// The other's.
        other: f64,
    },
    /// One of several scenarios has no ratio.
    #[error("scenario {}: {error}", at + 1)]
    Scenario {
        /// Which scenario, from 0.
        at: usize,
        /// What is wrong with it.
        error: Box<RatioError>,
    },
}

/// Compares values of the same rounds: how much `other` is of `baseline`.
pub fn paired_ratio(baseline: &[f64], other: &[f64]) -> Result<Ratio, RatioError> {
    if baseline.len() != other.len() {
        return Err(RatioError::DifferentCounts {
            baseline: baseline.len(),
            other: other.len(),
        });
    }
    Ratio::of_logarithms(&logarithms(baseline, other)?)
}

/// The logarithms of the pairs' ratios; values that have no pair are left out.
pub(super) fn logarithms(baseline: &[f64], other: &[f64]) -> Result<Vec<f64>, RatioError> {
    let pairs = baseline.iter().copied().zip(other.iter().copied());
    pairs
        .enumerate()
        .map(|(at, (baseline, other))| logarithm(at, baseline, other))
        .collect()
}

/// The logarithm of one value.
pub(super) fn logarithm_of(at: usize, value: f64) -> Result<f64, RatioError> {
    if !value.is_finite() {
        return Err(RatioError::NotFinite { at, value });
    }
    if value <= 0.0 {
        return Err(RatioError::NotPositive { at, value });
    }
    Ok(value.ln())
}

/// The logarithm of one pair's ratio.
fn logarithm(at: usize, baseline: f64, other: f64) -> Result<f64, RatioError> {
    for value in [baseline, other] {
        logarithm_of(at, value)?;
    }
    let ratio = other / baseline;
    if !ratio.is_normal() || !LOGARITHMS.contains(&ratio.ln()) {
        return Err(RatioError::TooFarApart {
            at,
            baseline,
            other,
        });
    }
    Ok(ratio.ln())
}

/// The geometric mean of ratios. `None` if there are none, or one is not finite or not above 0.
pub fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let positive = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
    if !ratios.iter().all(positive) {
        return None;
    }
    let low = ratios.iter().copied().reduce(f64::min)?;
    let high = ratios.iter().copied().reduce(f64::max)?;
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    Some(Moments::of(&logarithms)?.mean.exp().clamp(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_never_vary_differ_for_sure() {
        let ratio = paired_ratio(&[1000.0; 5], &[900.0; 5]).unwrap();
        assert!((ratio.estimate - 0.9).abs() < 1e-15);
        assert_eq!(ratio.interval, Some((ratio.estimate, ratio.estimate)));
        assert!(ratio.is_significant());
        assert_eq!(ratio.p_value, None);

        let same = paired_ratio(&[7.0, 8.0, 9.0], &[7.0, 8.0, 9.0]).unwrap();
        assert_eq!(same.estimate, 1.0);
        assert_eq!(same.interval, Some((1.0, 1.0)));
        assert!(!same.is_significant());
    }

    #[test]
    fn one_pair_is_never_sure() {
        let ratio = paired_ratio(&[10.0], &[5.0]).unwrap();
        assert_eq!((ratio.estimate, ratio.pairs), (0.5, 1));
        assert_eq!((ratio.interval, ratio.p_value), (None, None));
        assert!(!ratio.is_significant() && !ratio.inverse().is_significant());
    }

    #[test]
    fn what_has_no_ratio_says_why() {
        let error = |baseline: &[f64], other: &[f64]| {
            paired_ratio(baseline, other).unwrap_err().to_string()
        };
        assert!(error(&[], &[]).contains("nothing to compare"));
        assert!(error(&[1.0], &[]).contains("1 values of the baseline"));
        assert!(error(&[1.0, 1.0], &[1.0, 0.0]).starts_with("round 2 has the value 0"));
        assert!(error(&[-1.0], &[1.0]).contains("-1"));
        assert!(error(&[f64::NAN], &[1.0]).contains("NaN"));
        assert!(error(&[1.0], &[f64::INFINITY]).contains("inf"));
        assert!(error(&[1e300], &[1e-300]).contains("too far apart"));
        assert!(error(&[1e-300], &[1e300]).contains("too far apart"));
    }

    #[test]
    fn intervals_of_any_width_are_numbers() {
        let ratio = paired_ratio(&[1.0, 1e300], &[1e300, 1.0]).unwrap();
        let (low, high) = ratio.interval.unwrap();
        assert!(low.is_normal() && high.is_finite() && low < 1.0 && high > 1.0);
        let (low, high) = ratio.inverse().interval.unwrap();
        assert!(low.is_normal() && high.is_finite());
    }

    #[test]
    fn geometric_means() {
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        assert_eq!(geometric_mean(&[1.0, f64::NAN]), None);
        assert!((geometric_mean(&[0.5, 2.0]).unwrap() - 1.0).abs() < 1e-15);
        assert_eq!(geometric_mean(&[0.9, 0.9, 0.9]), Some(0.9));
        assert_eq!(geometric_mean(&[f64::MAX, f64::MAX]), Some(f64::MAX));
    }
}
