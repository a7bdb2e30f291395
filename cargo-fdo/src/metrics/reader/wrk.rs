//! What wrk prints, and wrk2, which prints percentiles with more digits.
//!
//! ```text
//!   Thread Stats   Avg      Stdev     Max   +/- Stdev
//!     Latency    43.46ms    4.94ms  48.02ms   98.55%
//!     Req/Sec    45.82      7.42    60.00     85.00%
//!   Latency Distribution
//!      50%   43.99ms
//! Requests/sec:     91.60
//! Transfer/sec:     10.61KB
//! ```
//!
//! `Req/Sec` is of one thread. wrk's `k` is 1000, its `KB` 1024 (`src/units.c`).

use super::{Readings, not_number};
use crate::metrics::lines::{expression, lines};
use crate::metrics::{Better, MetricError, number, unit};
use regex::Regex;
use std::sync::LazyLock;

/// Average, deviation and maximum of the threads.
static THREADS: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^\s+(Latency|Req/Sec)\s+([-\d]\S*)\s+\S+\s+([-\d]\S*)\s+\S+%"));
/// A line of the distribution.
static PERCENTILE: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^\s+([\d.]+)%\s+([\d.]+[a-z]+)\s*$"));
/// A total.
static TOTAL: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^(Requests/sec|Transfer/sec):\s+(\S+)"));

/// Reads latencies in milliseconds, and rates.
pub(super) fn read(text: &str, readings: &mut Readings) -> Result<(), MetricError> {
    for (at, line) in lines(text) {
        if let Some(found) = THREADS.captures(&line) {
            let (_, [what, average, maximum]) = found.extract();
            if what == "Latency" {
                latency("Latency avg", average, at, readings)?;
                latency("Latency max", maximum, at, readings)?;
            } else {
                rate("Req/Sec avg", average, at, readings)?;
            }
        } else if let Some(found) = PERCENTILE.captures(&line) {
            let (_, [percentile, word]) = found.extract();
            let percentile = match percentile.contains('.') {
                true => percentile.trim_end_matches('0').trim_end_matches('.'),
                false => percentile,
            };
            latency(&format!("Latency p{percentile}"), word, at, readings)?;
        } else if let Some(found) = TOTAL.captures(&line) {
            let (_, [what, word]) = found.extract();
            rate(what, word, at, readings)?;
        }
    }
    Ok(())
}

/// A time.
fn latency(
    metric: &str,
    word: &str,
    line: usize,
    readings: &mut Readings,
) -> Result<(), MetricError> {
    let value = unit::duration(word, "ms").ok_or_else(|| not_number(metric, word, line))?;
    readings.add(metric, Some("ms"), Better::Lower, value)?;
    Ok(())
}

/// Requests or bytes per second.
fn rate(metric: &str, word: &str, line: usize, readings: &mut Readings) -> Result<(), MetricError> {
    let not_number = || not_number(metric, word, line);
    let (value, suffix) = number::split(word).ok_or_else(not_number)?;
    let bytes = metric == "Transfer/sec";
    let (printed, wanted) = match suffix.strip_suffix('B') {
        Some("") => ("B".to_owned(), "B"),
        Some(prefix) if bytes => (format!("{prefix}iB"), "B"),
        None if bytes => return Err(not_number()),
        _ => (suffix.to_owned(), ""),
    };
    let (value, unit) = unit::normalised(value, &printed);
    if unit.as_deref().unwrap_or_default() != wanted {
        return Err(not_number());
    }
    let unit = if bytes { "B/s" } else { "1/s" };
    readings.add(metric, Some(unit), Better::Higher, value)?;
    Ok(())
}
