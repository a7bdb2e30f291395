//! Student's t: how far the mean of a few values may be from the true one.

use super::moments::Moments;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The share of experiments whose interval has the true value above its low end, and likewise
/// below its high end: 95 % in between.
const UPPER: f64 = 0.975;

/// How many standard errors from the mean a 95 % interval goes to either side; `None` below two
/// values.
pub(super) fn reach(count: usize) -> Option<f64> {
    Some(distribution(count)?.inverse_cdf(UPPER))
}

/// The interval of the true mean; `None` below two values.
pub(super) fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let moments = Moments::of(values)?;
    let reach = reach(values.len())? * moments.standard_error(values.len())?;
    Some((moments.mean - reach, moments.mean + reach))
}

/// How probable a mean at least this far from 0 is, on either side, if the true one is 0: for
/// differences of pairs, the paired t-test. `None` below two values, and of equal ones, which
/// have no spread to compare with.
pub(super) fn p_value(values: &[f64]) -> Option<f64> {
    let moments = Moments::of(values)?;
    let error = moments.standard_error(values.len())?;
    if error == 0.0 {
        return None;
    }
    let p = 2.0 * distribution(values.len())?.cdf(-(moments.mean / error).abs());
    p.is_finite().then(|| p.clamp(0.0, 1.0))
}

/// The distribution of a mean of this many values, in standard errors.
fn distribution(count: usize) -> Option<StudentsT> {
    let freedom = count.checked_sub(1)?;
    StudentsT::new(0.0, 1.0, freedom as f64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of the t distribution, 97.5 %.
    #[test]
    fn reaches_as_far_as_the_table_says() {
        let table = [
            (2, 12.706_205),
            (3, 4.302_653),
            (5, 2.776_445),
            (10, 2.262_157),
        ];
        for (count, t) in table
            .into_iter()
            .chain([(31, 2.042_272), (1001, 1.962_339)])
        {
            assert!((reach(count).unwrap() - t).abs() < 1e-6, "{count}");
        }
        assert_eq!(reach(0), None);
        assert_eq!(reach(1), None);
    }

    #[test]
    fn p_values_of_what_has_none() {
        assert_eq!(p_value(&[]), None);
        assert_eq!(p_value(&[1.0]), None);
        assert_eq!(p_value(&[1.0, 1.0, 1.0]), None);
        assert_eq!(p_value(&[-1.0, 1.0]), Some(1.0));
    }
}
