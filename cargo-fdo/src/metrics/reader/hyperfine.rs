//! What `hyperfine --export-json` writes (`-` writes it to stdout).
//!
//! A reading for each command: the times of its runs, in seconds, or their mean if the file
//! has no times.

use super::Readings;
use crate::metrics::{Better, MetricError, pointer};
use serde_json::Value;

/// Reads the times of all commands.
pub(super) fn read(text: &str, readings: &mut Readings) -> Result<(), MetricError> {
    let json = pointer::parse("hyperfine", text)?;
    let results = pointer::at("hyperfine", &json, "/results")?;
    for (index, result) in results.as_array().into_iter().flatten().enumerate() {
        let command = pointer::at("hyperfine", &json, &format!("/results/{index}/command"))?;
        let name = command
            .as_str()
            .map_or_else(|| command.to_string(), str::to_owned);
        let times = match result.get("times").and_then(Value::as_array) {
            Some(times) if !times.is_empty() => times.iter().collect(),
            _ => vec![pointer::at(&name, result, "/mean")?],
        };
        for time in times {
            let Some(seconds) = time.as_f64().filter(|seconds| seconds.is_finite()) else {
                return Err(MetricError::NotNumber {
                    metric: name,
                    found: pointer::described(time),
                    line: None,
                });
            };
            readings.add(&name, Some("s"), Better::Lower, seconds)?;
        }
    }
    Ok(())
}
