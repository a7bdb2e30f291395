//! The three layouts of k6's JSON.

use super::{Readings, add_rate, is_statistic};
use crate::metrics::{Better, MetricError, pointer};
use serde_json::{Map, Value};

/// Metrics of k6 itself that are times; only newer layouts say what a metric contains.
const TIMES: [&str; 9] = [
    "http_req_",
    "iteration_duration",
    "group_duration",
    "ws_connecting",
    "ws_session_duration",
    "ws_ping",
    "grpc_req_duration",
    "browser_http_req_duration",
    "browser_web_vital_",
];

/// Reads whichever layout it is.
pub(super) fn read(text: &str, readings: &mut Readings) -> Result<(), MetricError> {
    let json = pointer::parse("k6", text)?;
    if let Some(metrics) = json.pointer("/results/metrics").and_then(Value::as_array) {
        let duration = json.pointer("/config/duration").and_then(Value::as_f64);
        for metric in metrics {
            if let Some(name) = metric.get("name").and_then(Value::as_str) {
                read_metric(name, metric, duration, readings)?;
            }
        }
        return Ok(());
    }
    let metrics = pointer::at("k6", &json, "/metrics")?;
    for (name, metric) in metrics.as_object().into_iter().flatten() {
        read_metric(name, metric, None, readings)?;
    }
    Ok(())
}

/// One metric. `duration` is that of the test in seconds, where counters have no rates.
fn read_metric(
    name: &str,
    metric: &Value,
    duration: Option<f64>,
    readings: &mut Readings,
) -> Result<(), MetricError> {
    let values = metric.get("values").unwrap_or(metric);
    let Some(values) = values.as_object() else {
        return Ok(());
    };
    let contains = metric.get("contains").and_then(Value::as_str);
    match metric
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_else(|| kind(values))
    {
        "trend" => {
            let time = match contains {
                Some(contains) => contains == "time",
                None => TIMES.iter().any(|start| name.starts_with(start)),
            };
            let unit = match contains {
                Some("data") => Some("B"),
                _ => time.then_some("ms"),
            };
            for (statistic, value) in values.iter().filter(|(name, _)| is_statistic(name)) {
                let metric = format!("{name} {statistic}");
                let value = number(&metric, value)?;
                readings.add(&metric, unit, Better::Lower, value)?;
            }
        }
        "counter" => {
            let unit = match contains {
                Some("data") => "B/s",
                None if name.starts_with("data_") => "B/s",
                _ => "1/s",
            };
            let rate = match (values.get("rate"), values.get("count"), duration) {
                (Some(rate), ..) => number(name, rate)?,
                (None, Some(count), Some(seconds)) if seconds > 0.0 => {
                    number(name, count)? / seconds
                }
                _ => return Ok(()),
            };
            add_rate(name, unit, rate, readings)?;
        }
        _ => {}
    }
    Ok(())
}

/// The type of a metric of the old layout, by what it has.
fn kind(values: &Map<String, Value>) -> &'static str {
    if values.contains_key("avg") || values.keys().any(|name| name.starts_with("p(")) {
        "trend"
    } else if values.contains_key("rate") && values.contains_key("count") {
        "counter"
    } else {
        ""
    }
}

fn number(metric: &str, value: &Value) -> Result<f64, MetricError> {
    let number = value.as_f64().filter(|number| number.is_finite());
    number.ok_or_else(|| MetricError::NotNumber {
        metric: metric.to_owned(),
        found: pointer::described(value),
        line: None,
    })
}
