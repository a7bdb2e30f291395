//! From values to coordinates.

use super::{MARGIN, WIDTH};

/// A linear axis. Whatever the values are, its coordinates are finite and on the drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

/// A marked value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) words: String,
}

/// About as many ticks as there is place for.
const TICKS: f64 = 5.0;

impl Axis {
    /// An axis for all of these values; those that are not finite have no part in it.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Axis {
        let mut low = f64::INFINITY;
        let mut high = f64::NEG_INFINITY;
        // Beyond that differences are no numbers any more.
        for value in values
            .into_iter()
            .filter(|value| value.abs() < f64::MAX / 8.0)
        {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // One value, or several that are as good as one, is in the middle.
        let least = (high.abs().max(low.abs()) * 1e-3).max(f64::MIN_POSITIVE * 1e3);
        let wanted = (high - low).max(least);
        let room = (wanted - (high - low)) / 2.0 + wanted * 0.04;
        (low, high) = (low - room, high + room);
        Axis {
            low,
            high,
            step: step((high - low) / TICKS),
        }
    }

    /// Where a value is. One that is beyond the axis is at its end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        let share = if share.is_nan() {
            0.5
        } else {
            share.clamp(0.0, 1.0)
        };
        MARGIN + share * (WIDTH - 2.0 * MARGIN)
    }

    /// Whether a value is on it.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Round values on the axis.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let digits = (-self.step.log10().floor()).max(0.0) as usize;
        let first = (self.low / self.step).ceil();
        (0..=12)
            .map(|number| (first + f64::from(number)) * self.step)
            .take_while(|value| *value <= self.high)
            .map(|value| Tick {
                value,
                words: words(value, digits),
            })
            .collect()
    }
}

/// The round step, one, two or five of a power of ten, that is at least this.
fn step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= least)
        .unwrap_or(10.0 * power)
}

fn words(value: f64, digits: usize) -> String {
    // Long numbers would overlap.
    if digits > 6 || value.abs() >= 1e6 {
        return format!("{value:.2e}");
    }
    // No `-0`.
    let value = if value == 0.0 { 0.0 } else { value };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(values: &[f64]) -> Vec<String> {
        let ticks = Axis::of(values.iter().copied()).ticks();
        ticks.into_iter().map(|tick| tick.words).collect()
    }

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(marks(&[0.9, 1.1]), ["0.90", "0.95", "1.00", "1.05", "1.10"]);
        assert_eq!(marks(&[0.0, 100.0]), ["0", "50", "100"]);
        assert_eq!(marks(&[-1.0, 1.0]), ["-1.0", "-0.5", "0.0", "0.5", "1.0"]);
    }

    #[test]
    fn every_value_has_a_place() {
        let sets: [&[f64]; 9] = [
            &[],
            &[0.0],
            &[7.0],
            &[7.0, 7.0, 7.0],
            &[0.0, 0.0],
            &[-3.0, 5.0],
            &[f64::NAN, 1.0, f64::INFINITY],
            &[1e-300, 1e300],
            &[f64::MAX, f64::MIN, f64::MIN_POSITIVE],
        ];
        for values in sets {
            let axis = Axis::of(values.iter().copied());
            for value in values.iter().chain(&[0.0, 1.0, f64::NAN, f64::INFINITY]) {
                let x = axis.at(*value);
                assert!(
                    (MARGIN..=WIDTH - MARGIN).contains(&x),
                    "{value} of {values:?}: {x}"
                );
            }
            let ticks = axis.ticks();
            assert!(
                !ticks.is_empty() && ticks.len() <= 8,
                "{values:?}: {ticks:?}"
            );
            assert!(
                ticks
                    .iter()
                    .all(|tick| tick.value.is_finite() && axis.holds(tick.value))
            );
            assert!(ticks.iter().all(|tick| tick.words.len() <= 10), "{ticks:?}");
        }
    }

    #[test]
    fn one_value_is_in_the_middle() {
        assert!((Axis::of([7.0]).at(7.0) - WIDTH / 2.0).abs() < 0.1);
        assert!((Axis::of([0.0]).at(0.0) - WIDTH / 2.0).abs() < 0.1);
    }
}
