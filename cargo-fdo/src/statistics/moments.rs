//! Mean and standard deviation, for values of any size.

/// Mean and standard deviation of some values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moments {
    /// The mean, never outside of the values.
    pub(super) mean: f64,
    /// Of the population: divided by the number of values.
    pub(super) stddevp: f64,
}

impl Moments {
    /// Of finite values; `None` of no values.
    ///
    /// Values are divided by a power of two about as large as the largest of them, so that sums and
    /// squares of 1e300 are finite and those of 1e-300 are not zero. Such a division rounds
    /// nothing.
    pub(super) fn of(values: &[f64]) -> Option<Moments> {
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        let count = values.len() as f64;
        let scale = power_of_two(low.abs().max(high.abs()));
        let sum: f64 = values.iter().map(|value| value / scale).sum();
        // Rounding can put the mean of equal values beside them. They would have a deviation then.
        let mean = (sum / count).clamp(low / scale, high / scale);
        let squares: f64 = values
            .iter()
            .map(|value| (value / scale - mean).powi(2))
            .sum();
        Some(Moments {
            mean: mean * scale,
            stddevp: (squares / count).sqrt() * scale,
        })
    }

    /// The standard error of the mean of `count` values that are a sample; `None` below two.
    pub(super) fn standard_error(&self, count: usize) -> Option<f64> {
        // stddev = stddevp·√(n/(n-1)), and the error is stddev/√n.
        (count > 1).then(|| self.stddevp / ((count - 1) as f64).sqrt())
    }
}

/// A power of two near a finite value; 1 for zero.
fn power_of_two(value: f64) -> f64 {
    if value == 0.0 {
        return 1.0;
    }
    // Below -1022 the power itself would lose bits, above 1023 there is none.
    2_f64.powi(value.log2().floor().clamp(-1022.0, 1023.0) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_values_it_is_the_value_and_nothing() {
        for value in [0.0, 0.1, -7.3, 1e300, f64::MAX, f64::MIN_POSITIVE, 5e-324] {
            for count in 1..20 {
                let moments = Moments::of(&vec![value; count]).unwrap();
                assert_eq!(moments.mean, value);
                assert_eq!(moments.stddevp, 0.0);
            }
        }
    }

    #[test]
    fn what_is_exact_stays_exact() {
        let moments = Moments::of(&[1.0, 2.0, 3.0, 6.0]).unwrap();
        assert_eq!(moments.mean, 3.0);
        assert_eq!(moments.stddevp, 3.5_f64.sqrt());
        assert_eq!(Moments::of(&[]), None);
    }

    #[test]
    fn the_error_wants_two_values() {
        let moments = Moments::of(&[1.0, 3.0]).unwrap();
        assert_eq!(moments.standard_error(2), Some(1.0));
        assert_eq!(moments.standard_error(1), None);
        assert_eq!(moments.standard_error(0), None);
    }
}
