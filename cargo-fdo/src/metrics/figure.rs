//! A figure that the user describes, for programs whose output no reader knows.

use super::excerpt::{excerpt, shortened};
use super::{Better, MetricError, Reading, number, pointer, unit};
use regex::{Regex, RegexBuilder};
use serde_json::Value;

/// Where a figure stands in what a program prints.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// The number is the group named `value`, or else the first group. Each match gives a value.
    Regex(Regex),
    /// A JSON pointer (RFC 6901) to a number or to an array of numbers.
    Pointer(String),
}

impl Pattern {
    /// A regular expression, in which `^` and `$` are the ends of a line. An error if it is none,
    /// or does not say by a group which part is the number.
    pub fn regex(pattern: &str) -> Result<Pattern, MetricError> {
        let regex = RegexBuilder::new(pattern)
            .multi_line(true)
            .build()
            .map_err(MetricError::BadRegex)?;
        let groups = regex.captures_len() - 1;
        let named = regex.capture_names().flatten().any(|name| name == "value");
        if !named && groups != 1 {
            return Err(MetricError::BadGroups {
                pattern: pattern.to_owned(),
                groups,
            });
        }
        Ok(Pattern::Regex(regex))
    }

    /// A JSON pointer: `/metrics/latency/p95`.
    pub fn pointer(text: &str) -> Result<Pattern, MetricError> {
        pointer::check(text)?;
        Ok(Pattern::Pointer(text.to_owned()))
    }
}

/// A figure that the user describes.
///
/// What stands there may have a unit, `1.24 ms`. It is given in [`unit`](Figure::unit) then; in
/// seconds, bytes or single pieces if the figure has none. A number alone is taken to be in the
/// figure's unit.
#[derive(Debug, Clone)]
pub struct Figure {
    /// What it is called.
    pub name: String,
    /// Where it stands.
    pub pattern: Pattern,
    /// The unit that its values are given in.
    pub unit: Option<String>,
    /// Which way it gets better.
    pub better: Better,
}

impl Figure {
    /// Reads all its values. An error if there are none, or one is no number.
    pub fn read(&self, text: &str) -> Result<Reading, MetricError> {
        let found = match &self.pattern {
            Pattern::Regex(regex) => self.matches(regex, text)?,
            Pattern::Pointer(pointer) => self.pointed(pointer, text)?,
        };
        let mut reading = Reading {
            name: self.name.clone(),
            unit: self.unit.clone(),
            better: self.better,
            values: Vec::with_capacity(found.len()),
        };
        for (value, unit) in found {
            match (&self.unit, &reading.unit) {
                // Of values with different units, the first says which it is.
                (None, Some(first)) if unit.as_ref() != Some(first) => {
                    return Err(self.wrong_unit(&unit.unwrap_or_default(), first, None));
                }
                (None, None) if !reading.values.is_empty() && unit.is_some() => {
                    return Err(self.wrong_unit(&unit.unwrap_or_default(), "no unit", None));
                }
                (None, _) => reading.unit = unit,
                (Some(_), _) => {}
            }
            reading.values.push(value);
        }
        if reading.values.is_empty() {
            return Err(MetricError::NotFound {
                metric: self.name.clone(),
                excerpt: excerpt(text),
            });
        }
        Ok(reading)
    }

    /// Values with their units, one for each match.
    fn matches(&self, regex: &Regex, text: &str) -> Result<Vec<Measured>, MetricError> {
        let mut values = Vec::new();
        let (mut line, mut counted) = (1, 0);
        for captures in regex.captures_iter(text) {
            let Some(group) = captures.name("value").or_else(|| captures.get(1)) else {
                continue;
            };
            let between = text.get(counted..group.start()).unwrap_or_default();
            line += between.bytes().filter(|&byte| byte == b'\n').count();
            counted = counted.max(group.start());
            values.push(self.value(group.as_str(), Some(line))?);
        }
        Ok(values)
    }

    /// Values with their units: the number at the pointer, or those of the array there.
    fn pointed(&self, at: &str, text: &str) -> Result<Vec<Measured>, MetricError> {
        let json = pointer::parse(&self.name, text)?;
        match pointer::at(&self.name, &json, at)? {
            Value::Array(elements) if elements.is_empty() => Err(MetricError::NothingThere {
                metric: self.name.clone(),
                pointer: format!("{at}/0"),
                reached: at.to_owned(),
                there: "an empty array".to_owned(),
            }),
            Value::Array(elements) => elements.iter().map(|one| self.json(one)).collect(),
            one => Ok(vec![self.json(one)?]),
        }
    }

    /// One number of JSON; a string may hold one too.
    fn json(&self, value: &Value) -> Result<Measured, MetricError> {
        match value {
            Value::Number(number) => match number.as_f64() {
                Some(number) if number.is_finite() => Ok((number, self.unit.clone())),
                _ => Err(self.not_number(&number.to_string(), None)),
            },
            Value::String(text) => self.value(text, None),
            other => Err(self.not_number(&pointer::described(other), None)),
        }
    }

    /// A number with or without a unit.
    fn value(&self, text: &str, line: Option<usize>) -> Result<Measured, MetricError> {
        let not_number = || self.not_number(text, line);
        let (value, rest) = number::split(text.trim()).ok_or_else(not_number)?;
        let found = rest.trim_start();
        if found.split_whitespace().nth(1).is_some() || found.starts_with(|c: char| !is_unit(c)) {
            return Err(not_number());
        }
        let (value, unit) = match (&self.unit, found) {
            (None, _) => unit::normalised(value, found),
            (Some(unit), "") => (value, Some(unit.clone())),
            (Some(unit), _) => {
                let converted = unit::converted(value, found, unit);
                let value = converted.ok_or_else(|| self.wrong_unit(text, unit, line))?;
                (value, Some(unit.clone()))
            }
        };
        if !value.is_finite() {
            return Err(not_number());
        }
        Ok((value, unit))
    }

    fn not_number(&self, found: &str, line: Option<usize>) -> MetricError {
        MetricError::NotNumber {
            metric: self.name.clone(),
            found: shortened(found),
            line,
        }
    }

    fn wrong_unit(&self, found: &str, unit: &str, line: Option<usize>) -> MetricError {
        MetricError::WrongUnit {
            metric: self.name.clone(),
            found: shortened(found),
            unit: unit.to_owned(),
            line,
        }
    }
}

/// A value and its unit.
type Measured = (f64, Option<String>);

/// Whether a unit can start with it: `1.2.3` and `12:30` are no numbers with units.
fn is_unit(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '%' | '/' | '°')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(pattern: Pattern, unit: Option<&str>) -> Figure {
        Figure {
            name: "p95".to_owned(),
            pattern,
            unit: unit.map(str::to_owned),
            better: Better::Lower,
        }
    }

    fn regex(pattern: &str, unit: Option<&str>) -> Figure {
        figure(Pattern::regex(pattern).unwrap(), unit)
    }

    fn pointer(text: &str) -> Figure {
        figure(Pattern::pointer(text).unwrap(), None)
    }

    #[test]
    fn every_match_is_a_value() {
        let text = "run 1\np95: 1,250 us\nrun 2\np95: 1.5 ms\n";
        let reading = regex("^p95: (.*)$", Some("ms")).read(text).unwrap();
        assert_eq!(reading.values, [1.25, 1.5]);
        assert_eq!(reading.unit.as_deref(), Some("ms"));
        let reading = regex("^p95: (.*)$", None).read(text).unwrap();
        assert_eq!(reading.values, [0.00125, 0.0015]);
        assert_eq!(reading.unit.as_deref(), Some("s"));
        let reading = regex(r"run (\d)", None).read(text).unwrap();
        assert_eq!((reading.values, reading.unit), (vec![1.0, 2.0], None));
        let named = regex(r"(run) (?<value>\d)\n(p)", None).read(text).unwrap();
        assert_eq!(named.values, [1.0, 2.0]);
    }

    #[test]
    fn what_can_not_be_read_says_where() {
        let text = "one\ntwo\np95: n/a\n";
        let error = regex("p95: (.*)", None).read(text).unwrap_err();
        let wanted = "`p95` is `n/a` on line 3, which is not a number";
        assert_eq!(error.to_string(), wanted);
        let error = regex("p99: (.*)", None).read(text).unwrap_err();
        let wanted = "`p95` is not in what was printed, which is:\n    one\n    two\n    p95: n/a";
        assert_eq!(error.to_string(), wanted);
        let error = regex("p99: (.*)", None).read("").unwrap_err();
        assert!(error.to_string().ends_with("which is nothing"));
        let error = regex("(.*)", Some("ms")).read("12 MB").unwrap_err();
        let wanted = "`p95` is `12 MB` on line 1, which can't be given in ms";
        assert_eq!(error.to_string(), wanted);
        for text in ["1.2.3", "12:30", "1 2", "1 ms or so", "1e999", ""] {
            let error = regex("^(.*)$", None).read(text).unwrap_err();
            assert!(matches!(
                error,
                MetricError::NotNumber { line: Some(1), .. }
            ));
        }
    }

    #[test]
    fn values_without_a_unit_of_the_figure_have_one_in_common() {
        let read = |text| regex("(?m)^(.*)$", None).read(text);
        assert_eq!(read("1 ms\n2 s").unwrap().values, [0.001, 2.0]);
        for text in ["1 ms\n2", "1\n2 ms", "1 ms\n1 MB"] {
            assert!(matches!(read(text), Err(MetricError::WrongUnit { .. })));
        }
    }

    #[test]
    fn patterns_are_checked() {
        let error = |pattern| Pattern::regex(pattern).unwrap_err();
        assert!(matches!(error("("), MetricError::BadRegex(_)));
        assert!(matches!(
            error("a"),
            MetricError::BadGroups { groups: 0, .. }
        ));
        assert!(matches!(
            error("(a)(b)"),
            MetricError::BadGroups { groups: 2, .. }
        ));
        assert!(Pattern::regex("(?:a)(b)").is_ok());
        assert!(Pattern::pointer("a").is_err());
    }

    #[test]
    fn numbers_and_arrays_of_json() {
        let text = r#"{"p95": 1.5, "all": [1, 2e0, "3"], "none": [], "word": "x", "deep": [[1]]}"#;
        let values = |at| pointer(at).read(text).map(|reading| reading.values);
        assert_eq!(values("/p95"), Ok(vec![1.5]));
        assert_eq!(values("/all"), Ok(vec![1.0, 2.0, 3.0]));
        assert_eq!(values("/all/1"), Ok(vec![2.0]));
        for (at, part) in [
            ("/none", "`/none` is an empty array"),
            ("/word", "`x`, which is not a number"),
            ("/deep", "`an array of 1`, which is not a number"),
            ("/p99", "an object with the keys all, deep, none, p95, word"),
        ] {
            let error = values(at).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(matches!(
            pointer("").read("{"),
            Err(MetricError::NotJson { .. })
        ));
    }
}
