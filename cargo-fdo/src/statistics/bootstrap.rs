//! The bootstrap: how far means of values drawn from the values themselves spread.
//!
//! Nothing is assumed about the shape of the noise, which Student's interval takes as symmetric.
//! The ends of the plain percentile interval are too near with few values. They are moved
//! outwards as in Hesterberg, "What Teachers Should Know About the Bootstrap" (2014), the
//! *expanded percentile interval*: to the quantile Φ(−√(n/(n−1))·t) of the means instead of 2.5 %,
//! t being Student's for n−1 degrees. With five values that is 0.1 %.

use super::split_mix::SplitMix64;
use super::{moments::Moments, quantile, student};
use statrs::distribution::{ContinuousCDF, Normal};

/// How many sets of values are drawn. With five values, 0.1 % of them, 19 means, are beyond an
/// end of the interval.
pub(super) const RESAMPLES: usize = 20_000;

/// Where the generator starts: the digits of π. Any number would do, as long as it stays.
pub(super) const SEED: u64 = 3_141_592_653_589_793;

/// The expanded percentile interval of the mean of finite values; `None` below two.
///
/// Each of the [`RESAMPLES`] means is of `n` values at the next `n` indices of the generator
/// ([`SplitMix64::below`]); the quantiles of the means are interpolated as all others here.
pub(super) fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let tail = tail(values.len())?;
    let Moments { stddevp, .. } = Moments::of(values)?;
    if stddevp == 0.0 {
        // Means of equal values would differ in their last digits.
        return Some((values[0], values[0]));
    }
    let mut generator = SplitMix64::new(SEED);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn = values.iter().map(|_| values[generator.below(values.len())]);
            drawn.sum::<f64>() / values.len() as f64
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    Some((
        quantile::of_sorted(&means, tail)?,
        quantile::of_sorted(&means, 1.0 - tail)?,
    ))
}

/// The share of means beyond either end; `None` below two values.
pub(super) fn tail(count: usize) -> Option<f64> {
    let t = student::reach(count)?;
    let count = count as f64;
    Some(Normal::standard().cdf(-(count / (count - 1.0)).sqrt() * t))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_have_their_ends_farther_out() {
        assert_eq!(tail(1), None);
        assert!((tail(5).unwrap() - 0.000_954).abs() < 1e-6);
        assert!((tail(10).unwrap() - 0.008_549).abs() < 1e-5);
        assert!((tail(100_000).unwrap() - 0.025).abs() < 1e-5);
    }

    #[test]
    fn lies_within_the_values_and_is_the_same_each_time() {
        let values = [-3.0, 1.0, 2.0, 2.5, 9.0];
        let (low, high) = interval(&values).unwrap();
        assert!(-3.0 <= low && low < high && high <= 9.0);
        assert_eq!(interval(&values), Some((low, high)));
        assert_eq!(interval(&[0.1; 6]), Some((0.1, 0.1)));
        assert_eq!(interval(&[0.1]), None);
        assert_eq!(interval(&[]), None);
    }
}
