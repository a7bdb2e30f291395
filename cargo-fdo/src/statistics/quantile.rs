//! Quantiles, by linear interpolation.
//!
//! Of the nine ways in Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American
//! Statistician 50 (1996), this is type 7, the default of numpy and R: the `q`-quantile of sorted
//! values `x[0] … x[n-1]` stands at `q·(n-1)`, between its neighbours in proportion.

/// The value that a share `q` (0 to 1) of the values is below. `None` if there are no values, one
/// of them is not finite, or `q` is not from 0 to 1.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let sorted = sorted(values)?;
    (0.0..=1.0).contains(&q).then(|| of_sorted(&sorted, q))?
}

/// The values in rising order; `None` unless all are finite.
pub(super) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

/// [`quantile`] of values in rising order; `None` of no values.
pub(super) fn of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = *sorted.get(place.floor() as usize)?;
    let above = *sorted.get(place.ceil() as usize)?;
    let part = place.fract();
    // Not below + (above-below)·part: the difference of finite values can be infinite.
    Some((below * (1.0 - part) + above * part).clamp(below, above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_middle_and_between() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 0.5), Some(2.5));
        assert_eq!(quantile(&values, 0.25), Some(1.75));
        assert_eq!(quantile(&values, 1.0), Some(4.0));
    }

    #[test]
    fn of_the_largest_numbers_there_are() {
        assert_eq!(quantile(&[-f64::MAX, f64::MAX], 0.5), Some(0.0));
        assert_eq!(quantile(&[f64::MAX, f64::MAX], 0.3), Some(f64::MAX));
    }

    #[test]
    fn none_of_what_has_none() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[1.0, f64::NAN], 0.5), None);
        assert_eq!(quantile(&[1.0, f64::INFINITY], 0.5), None);
        for q in [-0.1, 1.1, f64::NAN] {
            assert_eq!(quantile(&[1.0], q), None);
        }
    }
}
