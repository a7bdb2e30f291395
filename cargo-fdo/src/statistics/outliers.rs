//! Values that stand apart from the others.
//!
//! The fences are those of Tukey, "Exploratory Data Analysis" (1977): one and a half, and three,
//! interquartile ranges (IQR) beyond the quartiles. Of normal noise 0.7 % of values lie beyond the
//! inner fences and one in 400,000 beyond the outer ones.
//!
//! Outliers are shown, never dropped: a pause of the program's own allocator looks just like one
//! of the machine.

use super::quantile;

/// A value beyond Tukey's inner fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlier {
    /// Which of the values, from 0.
    pub at: usize,
    /// Beyond the outer fences, 3 IQR, not only the inner ones, 1.5 IQR.
    pub severe: bool,
}

/// The outliers, in the order of the values. None where values are fewer than four, since there
/// are no quartiles to speak of, or one is not finite.
///
/// If more than half of the values are equal, the IQR may be zero and everything else an outlier.
pub fn outliers(values: &[f64]) -> Vec<Outlier> {
    if values.len() < 4 {
        return Vec::new();
    }
    let Some(fences) = Fences::of(values) else {
        return Vec::new();
    };
    let beyond = |(low, high): (f64, f64), value: f64| value < low || value > high;
    values
        .iter()
        .enumerate()
        .filter(|&(_, &value)| beyond(fences.inner, value))
        .map(|(at, &value)| Outlier {
            at,
            severe: beyond(fences.outer, value),
        })
        .collect()
}

/// Tukey's fences. Infinite where the range of the values is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fences {
    /// 1.5 IQR beyond the quartiles.
    pub(super) inner: (f64, f64),
    /// 3 IQR beyond the quartiles.
    pub(super) outer: (f64, f64),
}

impl Fences {
    /// The fences of values; `None` if there are none, or one is not finite.
    pub(super) fn of(values: &[f64]) -> Option<Fences> {
        let sorted = quantile::sorted(values)?;
        let first = quantile::of_sorted(&sorted, 0.25)?;
        let third = quantile::of_sorted(&sorted, 0.75)?;
        let range = third - first;
        let at = |factor: f64| (first - factor * range, third + factor * range);
        Some(Fences {
            inner: at(1.5),
            outer: at(3.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mild_and_severe_on_both_sides() {
        // Quartiles 3 and 7: inner fences -3 and 13, outer ones -9 and 19.
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        assert_eq!(outliers(&values), []);
        let with = |low: f64, high: f64| {
            let values = [low, 3.0, 3.0, 4.0, 5.0, 6.0, 7.0, 7.0, high];
            outliers(&values)
        };
        let found = |at, severe| Outlier { at, severe };
        assert_eq!(with(-3.0, 13.0), []);
        assert_eq!(with(-4.0, 20.0), [found(0, false), found(8, true)]);
        assert_eq!(with(-10.0, 14.0), [found(0, true), found(8, false)]);
    }

    #[test]
    fn few_values_have_none() {
        assert_eq!(outliers(&[]), []);
        assert_eq!(outliers(&[1.0, 1.0, 900.0]), []);
        assert_eq!(outliers(&[1.0, 1.0, 1.0, 900.0, f64::NAN]), []);
    }
}
