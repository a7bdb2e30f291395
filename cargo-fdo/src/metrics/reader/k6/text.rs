//! The text at the end of a test.
//!
//! ```text
//! http_req_duration..............: avg=144.56ms min=104.11ms med=110.47ms max=1.14s p(95)=215.95ms
//!   { expected_response:true }...: avg=144.56ms min=104.11ms med=110.47ms max=1.14s p(95)=215.95ms
//! http_reqs......................: 180    4.36938/s
//! data_received..................: 1.3 MB 31 kB/s
//! vus............................: 1      min=1 max=19
//! ```
//!
//! An indented line is about a part of the metric before; it is called as in the JSON.

use super::{Readings, add_rate, is_statistic};
use crate::metrics::lines::{expression, lines};
use crate::metrics::reader::not_number;
use crate::metrics::{Better, MetricError, number, unit};
use regex::Regex;
use std::sync::LazyLock;

/// A metric: its name, filled up by dots, and its numbers. A mark of thresholds may come first.
static METRIC: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^\s*(?:[✓✗]\s+)?(\{.*\}|[\w./ -]*[\w)])\.{2,}:\s+(\S.*)$"));

/// Reads trends and counters.
pub(super) fn read(text: &str, readings: &mut Readings) -> Result<(), MetricError> {
    let mut whole = String::new();
    for (at, line) in lines(text) {
        let Some(found) = METRIC.captures(&line) else {
            continue;
        };
        let (_, [printed, numbers]) = found.extract();
        let name = match printed.strip_prefix('{').and_then(|p| p.strip_suffix('}')) {
            Some(part) => format!("{whole}{{{}}}", part.trim()),
            None => {
                whole = printed.to_owned();
                whole.clone()
            }
        };
        let words: Vec<&str> = numbers.split_whitespace().collect();
        if words.first().is_some_and(|word| word.contains('=')) {
            trend(&name, &words, at, readings)?;
        } else {
            counter(&name, &words, at, readings)?;
        }
    }
    Ok(())
}

/// Words like `avg=1.5ms`.
fn trend(
    name: &str,
    words: &[&str],
    line: usize,
    readings: &mut Readings,
) -> Result<(), MetricError> {
    for (statistic, word) in words.iter().filter_map(|word| word.split_once('=')) {
        if !is_statistic(statistic) {
            continue;
        }
        let metric = format!("{name} {statistic}");
        if let Some(value) = unit::duration(word, "ms") {
            readings.add(&metric, Some("ms"), Better::Lower, value)?;
        } else {
            let value = number::whole(word).ok_or_else(|| not_number(&metric, word, line))?;
            readings.add(&metric, None, Better::Lower, value)?;
        }
    }
    Ok(())
}

/// A count and a rate, `180 4.36938/s`; anything else is no counter.
fn counter(
    name: &str,
    words: &[&str],
    line: usize,
    readings: &mut Readings,
) -> Result<(), MetricError> {
    let Some((last, before)) = words.split_last() else {
        return Ok(());
    };
    let Some(printed) = last.strip_suffix("/s") else {
        return Ok(());
    };
    // `4.36938/s` is one word, `31 kB/s` two.
    let (word, size) = match (number::split(printed), before.last()) {
        (Some(_), _) => (printed, ""),
        (None, Some(word)) => (*word, printed),
        (None, None) => return Err(not_number(name, last, line)),
    };
    let value = number::whole(word).ok_or_else(|| not_number(name, word, line))?;
    let (value, size) = unit::normalised(value, size);
    let unit = size.map_or_else(|| "1/s".to_owned(), |size| format!("{size}/s"));
    add_rate(name, &unit, value, readings)
}
