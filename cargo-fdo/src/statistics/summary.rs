//! A set of values in a few numbers.

use super::moments::Moments;
use super::quantile;
use serde::{Deserialize, Serialize};

/// A set of finite values in a few numbers, all in the unit of the values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many values.
    pub count: usize,
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation of the population: divided by the count, not by one less. The
    /// values are all that was measured, and this describes them; what is concluded from them
    /// has intervals of its own ([`Ratio`](super::Ratio)).
    pub stddevp: f64,
    /// Half of the values are below.
    pub median: f64,
    /// 95 % of the values are below.
    pub p95: f64,
    /// 99 % of the values are below. Of up to a hundred values it is between the two largest.
    pub p99: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

impl Summary {
    /// Summarises values. `None` if there are none, or one is not finite.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let sorted = quantile::sorted(values)?;
        let Moments { mean, stddevp } = Moments::of(&sorted)?;
        Some(Summary {
            count: values.len(),
            mean,
            stddevp,
            median: quantile::of_sorted(&sorted, 0.5)?,
            p95: quantile::of_sorted(&sorted, 0.95)?,
            p99: quantile::of_sorted(&sorted, 0.99)?,
            min: *sorted.first()?,
            max: *sorted.last()?,
        })
    }

    /// The coefficient of variation, `stddevp` as a share of the mean's size. `None` where the
    /// mean is 0, or so small that the share is no finite number.
    pub fn variation(&self) -> Option<f64> {
        let share = self.stddevp / self.mean.abs();
        (self.mean != 0.0 && share.is_finite()).then_some(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_nothing_or_what_is_not_finite_there_is_none() {
        assert_eq!(Summary::of(&[]), None);
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Summary::of(&[1.0, value]), None);
        }
    }

    #[test]
    fn variation_is_a_share_of_the_mean() {
        let variation = |values: &[f64]| Summary::of(values).unwrap().variation();
        assert_eq!(variation(&[1.0, 3.0]), Some(0.5));
        assert_eq!(variation(&[-1.0, -3.0]), Some(0.5));
        assert_eq!(variation(&[-1.0, 1.0]), None);
        assert_eq!(variation(&[0.0]), None);
        assert_eq!(variation(&[5.0, 5.0]), Some(0.0));
    }
}
