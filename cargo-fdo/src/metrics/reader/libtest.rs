//! What rustc's own test harness prints about `#[bench]` functions.
//!
//! ```text
//! test copies   ... bench:       1,418.92 ns/iter (+/- 23.99) = 46217 MB/s
//! ```
//!
//! The value is the median of the harness's samples; the deviation, their range, is not read.

use super::{Readings, number};
use crate::metrics::lines::{expression, lines};
use crate::metrics::{Better, MetricError};
use regex::Regex;
use std::sync::LazyLock;

/// A benchmark's line, up to its time.
static BENCH: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^test (.+?)\s+\.\.\. bench:\s+(\S+) ns/iter"));
/// The end of the line of a benchmark that says how many bytes it works on.
static THROUGHPUT: LazyLock<Regex> = LazyLock::new(|| expression(r"\) = (\S+) MB/s"));

/// Reads nanoseconds, and throughput where there is one.
pub(super) fn read(text: &str, readings: &mut Readings) -> Result<(), MetricError> {
    for (at, line) in lines(text) {
        let Some(found) = BENCH.captures(&line) else {
            continue;
        };
        let (_, [name, word]) = found.extract();
        let value = number(name, word, at)?;
        readings.add(name, Some("ns/iter"), Better::Lower, value)?;
        if let Some(found) = THROUGHPUT.captures(&line) {
            let metric = format!("{name} throughput");
            let value = number(&metric, &found[1], at)?;
            readings.add(&metric, Some("MB/s"), Better::Higher, value)?;
        }
    }
    Ok(())
}
