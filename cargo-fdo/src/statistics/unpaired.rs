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

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: [f64; 6] = [412.1, 409.7, 430.2, 411.0, 415.5, 408.8];
    const AFTER: [f64; 4] = [391.0, 388.2, 395.5, 402.1];

    /// `scipy.stats.ttest_ind(log(AFTER), log(BEFORE), equal_var=False)` of scipy 1.17.1.
    #[test]
    fn agrees_with_welchs_test_of_scipy() {
        let near =
            |one: f64, other: f64| assert!((one / other - 1.0).abs() < 1e-9, "{one} {other}");
        let ratio = unpaired_ratio(&BEFORE, &AFTER).unwrap();
        near(ratio.estimate, 0.950_972_063_034_694);
        near(ratio.p_value.unwrap(), 0.002_042_590_727_050_683);
        assert_eq!(ratio.pairs, 4);
        let (low, high) = ratio.interval.unwrap();
        assert!(low <= 0.927_053_418_644_033 && high >= 0.975_507_825_638_805);
        // The bootstrap adds little to it here.
        assert!(low > 0.91 && high < 0.985, "{low} {high}");
        assert!(ratio.is_significant());
    }

    #[test]
    fn counts_that_never_vary_differ_for_sure() {
        let ratio = unpaired_ratio(&[100.0; 3], &[90.0; 2]).unwrap();
        assert_eq!(ratio.interval, Some((ratio.estimate, ratio.estimate)));
        assert!(ratio.is_significant() && ratio.p_value.is_none());
        assert!(
            !unpaired_ratio(&[7.0; 3], &[7.0; 3])
                .unwrap()
                .is_significant()
        );
    }

    #[test]
    fn what_has_no_ratio_says_why() {
        assert_eq!(unpaired_ratio(&[], &[1.0]), Err(RatioError::NoPairs));
        assert_eq!(unpaired_ratio(&[1.0], &[2.0]).unwrap().interval, None);
        let error = unpaired_ratio(&[1.0, 0.0], &[1.0, 2.0]).unwrap_err();
        assert!(matches!(error, RatioError::NotPositive { at: 1, .. }));
        assert!(unpaired_ratio(&[f64::NAN], &[1.0]).is_err());
    }
}
