//! k6's summaries: as JSON, and the text at the end of a test.
//!
//! JSON comes in three layouts (`internal/js/summary.go` and
//! `internal/lib/summary/machine_readable.go` of k6):
//!
//! | written by | layout |
//! | --- | --- |
//! | `--summary-export`, the old one | `metrics`: name → statistics |
//! | `handleSummary(data)` | `metrics`: name → `type`, `contains`, `values` → statistics |
//! | `--new-machine-readable-summary` (k6 1.5) | `results.metrics`: array of `name`, `type`, `contains`, `values` |
//!
//! Read are trends (times, in milliseconds, and what a script measures) with each of their
//! statistics, and counters as a rate. Gauges are settings, and rates of checks are about
//! correctness: neither is. A counter of failures is better when lower, any other one when higher.

mod json;
mod text;

use super::Readings;
use crate::metrics::{Better, MetricError};

/// Reads either.
pub(super) fn read(text: &str, readings: &mut Readings) -> Result<(), MetricError> {
    if text.trim_start().starts_with('{') {
        json::read(text, readings)
    } else {
        text::read(text, readings)
    }
}

/// Whether a name is that of a statistic of what a trend measured, not of how often.
fn is_statistic(name: &str) -> bool {
    matches!(name, "avg" | "min" | "med" | "max") || (name.starts_with("p(") && name.ends_with(')'))
}

/// Adds what a counter counted in a second.
fn add_rate(name: &str, unit: &str, rate: f64, readings: &mut Readings) -> Result<(), MetricError> {
    let failure = ["dropped", "error", "fail", "timeout", "retr"];
    let name_lower = name.to_lowercase();
    let better = if failure.iter().any(|word| name_lower.contains(word)) {
        Better::Lower
    } else {
        Better::Higher
    };
    readings.add(&format!("{name} rate"), Some(unit), better, rate)
}
