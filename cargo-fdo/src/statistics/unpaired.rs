//! Values that were not measured in turn: a saved result against today's.
//!
//! Round can't be held against round, so the logarithms of each side vary by themselves: Welch's
//! interval for the difference of their means (B. L. Welch, 1947), and the bootstrap of it, in which
//! each side is drawn from itself. What the machine did differently on the two days is in neither.

use super::ratio::{Ratio, RatioError, logarithm_of};
use super::split_mix::SplitMix64;
use super::{bootstrap, moments::Moments, quantile};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Compares values of different times: how much `other` is of `baseline`.
///
/// # Errors
///
/// If there are none, or one has no logarithm.
pub fn unpaired_ratio(baseline: &[f64], other: &[f64]) -> Result<Ratio, RatioError> {
    let logarithms = |values: &[f64]| -> Result<Vec<f64>, RatioError> {
        values
            .iter()
            .enumerate()
            .map(|(at, value)| logarithm_of(at, *value))
            .collect()
    };
    let (left, right) = (logarithms(baseline)?, logarithms(other)?);
    let (Some(of_left), Some(of_right)) = (Moments::of(&left), Moments::of(&right)) else {
        return Err(RatioError::NoPairs);
    };
    let estimate = of_right.mean - of_left.mean;
    let welch = Welch::of(&[(&of_left, left.len()), (&of_right, right.len())]);
    let interval = welch.as_ref().and_then(|welch| {
        let (low, high) = welch.interval(estimate);
        let (drawn_low, drawn_high) = drawn(&left, &right)?;
        Some((low.min(drawn_low), high.max(drawn_high)))
    });
    Ok(Ratio::around(
        estimate,
        interval,
        welch.and_then(|welch| welch.p_value(estimate)),
        left.len().min(right.len()),
    ))
}

/// The standard error of a difference of means, and its degrees of freedom.
struct Welch {
    error: f64,
    degrees: f64,
}

impl Welch {
    /// `None` where a side has one value only.
    fn of(sides: &[(&Moments, usize); 2]) -> Option<Welch> {
        let mut variance = 0.0;
        let mut parts = 0.0;
        for (moments, count) in sides {
            let count = *count as f64;
            if count < 2.0 {
                return None;
            }
            // Of the mean, with the sample's n - 1.
            let of_mean = moments.stddevp.powi(2) / (count - 1.0);
            variance += of_mean;
            parts += of_mean.powi(2) / (count - 1.0);
        }
        let degrees = if parts > 0.0 {
            variance.powi(2) / parts
        } else {
            1.0
        };
        Some(Welch {
            error: variance.sqrt(),
            degrees,
        })
    }

    fn interval(&self, estimate: f64) -> (f64, f64) {
        if self.error == 0.0 {
            return (estimate, estimate);
        }
        let reach =
            StudentsT::new(0.0, 1.0, self.degrees).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975));
        (estimate - reach * self.error, estimate + reach * self.error)
    }

    fn p_value(&self, estimate: f64) -> Option<f64> {
        if self.error == 0.0 {
            return None;
        }
        let t = StudentsT::new(0.0, 1.0, self.degrees).ok()?;
        Some(2.0 * t.cdf(-(estimate / self.error).abs()))
    }
}

/// The bootstrap's interval of the difference.
fn drawn(left: &[f64], right: &[f64]) -> Option<(f64, f64)> {
    let tail = bootstrap::tail(left.len().min(right.len()))?;
    let mut generator = SplitMix64::new(bootstrap::SEED);
    let mut mean = |values: &[f64]| {
        let sum: f64 = values
            .iter()
            .map(|_| values[generator.below(values.len())])
            .sum();
        sum / values.len() as f64
    };
    let mut differences: Vec<f64> = (0..bootstrap::RESAMPLES)
        .map(|_| {
            let from = mean(left);
            mean(right) - from
        })
        .collect();
    differences.sort_unstable_by(f64::total_cmp);
    Some((
        quantile::of_sorted(&differences, tail)?,
        quantile::of_sorted(&differences, 1.0 - tail)?,
    ))
}
