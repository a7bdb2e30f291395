//! stub
#![allow(missing_docs)]
use serde::{Deserialize, Serialize};
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Lower,
    Higher,
}
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub name: String,
    pub unit: Option<String>,
    pub better: Better,
    pub values: Vec<f64>,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    DbBench,
    Criterion,
    Libtest,
    Hyperfine,
    K6,
    Wrk,
    KeyValue,
}
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct MetricError;
impl Reader {
    pub const ALL: [Reader; 1] = [Reader::DbBench];
    pub fn name(self) -> &'static str {
        "db_bench"
    }
    pub fn from_name(_: &str) -> Option<Reader> {
        None
    }
    pub fn read(self, _: &str) -> Result<Vec<Reading>, MetricError> {
        Err(MetricError)
    }
}
#[derive(Debug)]
pub enum Pattern {
    Regex(String),
    Pointer(String),
}
#[derive(Debug)]
pub struct Figure {
    pub name: String,
    pub pattern: Pattern,
    pub unit: Option<String>,
    pub better: Better,
}
impl Figure {
    pub fn read(&self, _: &str) -> Result<Reading, MetricError> {
        Err(MetricError)
    }
}
impl Pattern {
    pub fn regex(s: &str) -> Result<Pattern, MetricError> {
        Ok(Pattern::Regex(s.into()))
    }
    pub fn pointer(s: &str) -> Result<Pattern, MetricError> {
        Ok(Pattern::Pointer(s.into()))
    }
}
