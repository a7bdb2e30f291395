//! Lines of a name and a number, as programs print that nobody wrote a reader for.
//!
//! ```text
//! latency_p95: 1.24 ms
//! ops/sec = 1234
//! ```
//!
//! The name starts with a letter and ends at the first `=` or `:` (`::` belongs to it); a number
//! follows, a unit of one word may, and nothing else: `started: 3 of 4` is no figure. All other
//! lines are left alone. Which way a figure gets better is guessed (`direction.rs`).
//!
//! What `perf stat` prints is read too: ` 1,234      cycles`, ` 0.81 msec task-clock`,
//! ` 0.011 seconds time elapsed`. Events that were not counted have words for numbers and are left
//! out.

use super::Readings;
use crate::metrics::lines::{expression, lines};
use crate::metrics::{MetricError, direction, number, unit};
use regex::Regex;
use std::sync::LazyLock;

/// An event: the wide gap is the empty column of units. A comment of derived numbers and a
/// deviation, both in `#…` or `(…)`, may follow.
static EVENT: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"^ +([\d.,]+)(?: {2,}| (msec|nsec|Joules|MiB) +)([A-Za-z]\S*)\s*(?:#.*|\(.*\)\s*)?$",
    )
});
/// The times at the end.
static TIMES: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^ +([\d.]+) (?:\+- \S+ )?seconds (time elapsed|user|sys)\b"));

/// Longer names are sentences.
const LONGEST_NAME: usize = 80;

/// Reads all lines that are a figure.
pub(super) fn read(text: &str, readings: &mut Readings) -> Result<(), MetricError> {
    for (_, line) in lines(text) {
        let figure = named(&line)
            .or_else(|| event(&line))
            .or_else(|| time(&line));
        let Some((name, value, unit)) = figure else {
            continue;
        };
        let (value, unit) = unit::normalised(value, unit);
        let better = direction::better(name, unit.as_deref());
        readings.add(name, unit.as_deref(), better, value)?;
    }
    Ok(())
}

/// Name, value and unit of a line that has its name first.
fn named(line: &str) -> Option<(&str, f64, &str)> {
    let end = separator(line)?;
    let (name, rest) = (line.get(..end)?.trim(), line.get(end + 1..)?.trim());
    if !name.starts_with(char::is_alphabetic) || name.chars().nth(LONGEST_NAME).is_some() {
        return None;
    }
    let (value, unit) = number::split(rest)?;
    let unit = unit.trim_start();
    let is_unit = |c: char| c.is_alphanumeric() || matches!(c, '%' | '/' | '°' | '_' | '-' | '^');
    let fits = unit.chars().all(is_unit) && !unit.starts_with(|c: char| c.is_numeric() || c == '-');
    fits.then_some((name, value, unit))
}

/// Where the name ends: at a `=` or a `:` that is not one of two.
fn separator(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    (0..bytes.len()).find(|&at| match bytes[at] {
        b'=' => true,
        b':' => {
            let before = at.checked_sub(1).and_then(|at| bytes.get(at));
            before != Some(&b':') && bytes.get(at + 1) != Some(&b':')
        }
        _ => false,
    })
}

/// An event that perf counted.
fn event(line: &str) -> Option<(&str, f64, &str)> {
    let found = EVENT.captures(line)?;
    let name = found.get(3)?.as_str();
    let unit = found.get(2).map_or("", |unit| unit.as_str());
    Some((name, number::whole(&found[1])?, unit))
}

/// A time that perf took.
fn time(line: &str) -> Option<(&str, f64, &str)> {
    let found = TIMES.captures(line)?;
    Some((found.get(2)?.as_str(), number::whole(&found[1])?, "s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_figure_and_what_is_not() {
        assert_eq!(
            named("latency_p95: 1.24 ms"),
            Some(("latency_p95", 1.24, "ms"))
        );
        assert_eq!(named("ops/sec = 1,234"), Some(("ops/sec", 1234.0, "")));
        assert_eq!(named("  a b=5%"), Some(("a b", 5.0, "%")));
        assert_eq!(named("map::get: 3ns/op"), Some(("map::get", 3.0, "ns/op")));
        for line in [
            "",
            ":",
            "=",
            "a:",
            "a: b",
            "1: 2",
            "started: 3 of 4",
            "time: 12:30:11",
            "a: 1.2.3",
            "http://host:80",
            "a: 1,5",
            "a: 3 -",
            "::",
            "a::1",
            "on: 2024-01-02",
            "µ",
        ] {
            assert_eq!(named(line), None, "{line}");
        }
    }
}
