//! Numbers that people can read: one unit for a whole column, four digits that mean something.

/// How a column's values are written.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// What a value is divided by.
    by: f64,
    /// The unit after that; empty where there is none.
    pub unit: String,
    /// Digits after the point.
    digits: usize,
}

impl Scale {
    /// A scale for values around `typical`, given in `unit`.
    pub fn of(typical: f64, unit: Option<&str>) -> Scale {
        let steps: &[(f64, &str)] = match unit {
            Some("s") => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
            Some("ms") => &[(1e3, "s"), (1.0, "ms"), (1e-3, "µs"), (1e-6, "ns")],
            Some("µs" | "us") => &[(1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns")],
            Some("ns") => &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")],
            Some("B") => &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")],
            None => &[(1e9, "G"), (1e6, "M"), (1.0, "")],
            Some(_) => &[],
        };
        let size = typical.abs();
        let (by, unit) = steps
            .iter()
            .find(|(by, _)| size >= *by)
            .or(steps.last().filter(|_| size > 0.0))
            .map_or((1.0, unit.unwrap_or_default()), |(by, unit)| (*by, *unit));
        let scaled = size / by;
        let digits = match scaled {
            s if s >= 1000.0 || s == 0.0 => 0,
            s if s >= 100.0 => 1,
            s if s >= 10.0 => 2,
            s if s >= 0.1 => 3,
            _ => 6,
        };
        // Counts of small things are whole.
        let whole = unit.is_empty() && typical.fract() == 0.0 && scaled < 1e6;
        Scale {
            by,
            unit: unit.to_owned(),
            digits: if whole { 0 } else { digits },
        }
    }

    /// A value in the unit, as a number.
    pub fn scaled(&self, value: f64) -> f64 {
        value / self.by
    }

    /// A value without its unit.
    pub fn show(&self, value: f64) -> String {
        let text = format!("{:.*}", self.digits, value / self.by);
        let (sign, rest) = match text.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", text.as_str()),
        };
        let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
        let whole = whole
            .parse()
            .map_or_else(|_| whole.to_owned(), crate::ui::count);
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{sign}{whole}{point}{fraction}")
    }

    /// A value with its unit.
    pub fn with_unit(&self, value: f64) -> String {
        match self.unit.as_str() {
            "" => self.show(value),
            unit => format!("{} {unit}", self.show(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_in_a_fitting_unit() {
        let shown = |value: f64, unit| Scale::of(value, unit).with_unit(value);
        assert_eq!(shown(0.412_345, Some("s")), "412.3 ms");
        assert_eq!(shown(12.3456, Some("s")), "12.35 s");
        assert_eq!(shown(0.000_004_113, Some("s")), "4.113 µs");
        assert_eq!(shown(4.113, Some("µs")), "4.113 µs");
        assert_eq!(shown(243_105.0, Some("ops/s")), "243,105 ops/s");
        assert_eq!(shown(451_858_278.0, None), "451.9 M");
        assert_eq!(shown(61_000_000.0, Some("B")), "61.00 MB");
        assert_eq!(shown(17.0, None), "17");
        assert_eq!(shown(1.234, None), "1.234");
        assert_eq!(shown(0.0, Some("s")), "0 s");
    }

    #[test]
    fn a_column_has_one_unit() {
        let scale = Scale::of(0.5, Some("s"));
        assert_eq!(scale.show(0.001_234), "1.2");
        assert_eq!(scale.show(1.5), "1,500.0");
        assert_eq!(scale.show(-0.5), "-500.0");
    }
}
