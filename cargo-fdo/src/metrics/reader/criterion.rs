//! What benchmarks with the criterion crate print.
//!
//! ```text
//! fib 20                  time:   [14.704 µs 14.784 µs 14.898 µs]
//! sum of a slice/iterator/1000
//!                         time:   [78.052 ns 79.015 ns 79.985 ns]
//!                         thrpt:  [93.149 GiB/s 94.294 GiB/s 95.456 GiB/s]
//!                         change: [−0.7265% +0.5586% +2.7406%] (p = 0.73 > 0.05)
//! ```
//!
//! The estimate is the one in the middle; the ends of criterion's own interval are about one
//! process, and how processes differ is what rounds show. What `time` measures may be something
//! else than time: it stays in the unit that is printed then. Changes are of percents without a
//! unit and so are not taken for times.

use super::{Readings, number};
use crate::metrics::lines::{expression, lines};
use crate::metrics::{Better, MetricError, unit};
use regex::Regex;
use std::sync::LazyLock;

/// An estimate between the ends of its interval, each with a unit.
static ESTIMATE: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^(.*?)\s*(time|thrpt):\s+\[\S+ \S+ (\S+) (\S+) \S+ \S+\]"));

/// Reads times, in nanoseconds, and throughput.
pub(super) fn read(text: &str, readings: &mut Readings) -> Result<(), MetricError> {
    let mut before = String::new();
    let mut current = String::new();
    for (at, line) in lines(text) {
        let Some(found) = ESTIMATE.captures(&line) else {
            if !line.starts_with(' ') {
                before = line.trim().to_owned();
            }
            continue;
        };
        let (_, [name, what, word, printed]) = found.extract();
        if what == "time" {
            // A long name has a line of its own.
            current = if name.is_empty() {
                std::mem::take(&mut before)
            } else {
                name.to_owned()
            };
        }
        if current.is_empty() {
            continue;
        }
        if what == "time" {
            let value = number(&current, word, at)?;
            match unit::converted(value, printed, "ns") {
                Some(value) => readings.add(&current, Some("ns"), Better::Lower, value)?,
                None => readings.add(&current, Some(printed), Better::Lower, value)?,
            }
        } else {
            let metric = format!("{current} throughput");
            let (value, unit) = unit::normalised(number(&metric, word, at)?, printed);
            readings.add(&metric, unit.as_deref(), Better::Higher, value)?;
        }
    }
    Ok(())
}
