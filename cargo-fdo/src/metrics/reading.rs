//! What was read.

use super::MetricError;
use serde::{Deserialize, Serialize};

/// Which way a figure gets better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better: times, sizes, counts of events.
    Lower,
    /// More is better: what is done per second.
    Higher,
}

/// One figure of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What it is called; the same in each run of the same workload.
    pub name: String,
    /// The unit of the values, if any is known.
    pub unit: Option<String>,
    /// Which way it gets better.
    pub better: Better,
    /// What was printed, in order, all finite. Several values are a distribution. Never empty.
    pub values: Vec<f64>,
}

/// Readings in the order in which they were first seen.
#[derive(Debug, Default)]
pub(super) struct Readings(Vec<Reading>);

impl Readings {
    /// Adds a value to the reading of this name and unit. An error if it is not finite, which a
    /// change of units can make of a number.
    pub(super) fn add(
        &mut self,
        name: &str,
        unit: Option<&str>,
        better: Better,
        value: f64,
    ) -> Result<(), MetricError> {
        if !value.is_finite() {
            return Err(MetricError::NotNumber {
                metric: name.to_owned(),
                found: value.to_string(),
                line: None,
            });
        }
        let same = |reading: &&mut Reading| reading.name == name && reading.unit.as_deref() == unit;
        match self.0.iter_mut().find(same) {
            Some(reading) => reading.values.push(value),
            None => self.0.push(Reading {
                name: name.to_owned(),
                unit: unit.map(str::to_owned),
                better,
                values: vec![value],
            }),
        }
        Ok(())
    }

    /// All of them.
    pub(super) fn into_vec(self) -> Vec<Reading> {
        self.0
    }
}
