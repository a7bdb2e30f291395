//! What RocksDB's `db_bench` prints, and the reports of `tools/benchmark.sh`.
//!
//! A line for each benchmark, of which newer versions have more (`Stats::Report` in
//! `tools/db_bench_tool.cc`):
//!
//! ```text
//! readrandom   :       4.113 micros/op 243105 ops/sec;   26.9 MB/s (1000000 of 1000000 found)
//! readrandom   :       4.113 micros/op 243105 ops/sec 4.113 seconds 1000000 operations;   26.9 MB/s
//! ```
//!
//! MB/s is ops/sec times the size of a pair, and left out. `--histogram` prints percentiles after
//! the line, one table for each kind of operation. Those of `--statistics` are about the database's
//! inside and not read. `benchmark[X5]` gives five values; its averages are not read.

use super::{Readings, number};
use crate::metrics::lines::{expression, lines};
use crate::metrics::{Better, MetricError};
use regex::Regex;
use std::sync::LazyLock;

/// A benchmark's line.
static RESULT: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^(\w\S*)\s*:\s*(\S+) micros/op\s+(\S+) ops/sec"));
/// What a histogram is of.
static HISTOGRAM: LazyLock<Regex> = LazyLock::new(|| expression(r"^Microseconds per (\w+):"));
/// One of its percentiles.
static PERCENTILE: LazyLock<Regex> = LazyLock::new(|| expression(r"(P[0-9.]+): (\S+)"));

/// Columns of a report that are read: names in older and newer versions, what we call them, unit.
const COLUMNS: [(&[&str], &str, &str, Better); 7] = [
    (&["ops_sec", "ops/sec"], "ops/sec", "ops/s", Better::Higher),
    (&["usec_op", "usec/op"], "micros/op", "µs/op", Better::Lower),
    (&["p50"], "P50", "µs", Better::Lower),
    (&["p99"], "P99", "µs", Better::Lower),
    (&["p99.9"], "P99.9", "µs", Better::Lower),
    (&["p99.99"], "P99.99", "µs", Better::Lower),
    (&["pmax"], "max", "µs", Better::Lower),
];

/// Reads lines and reports.
pub(super) fn read(text: &str, readings: &mut Readings) -> Result<(), MetricError> {
    // Of the table being read: the benchmark, and the kind of operation.
    let mut benchmark = None;
    let mut operation = None;
    let mut report = None;
    for (at, line) in lines(text) {
        if let Some(found) = RESULT.captures(&line) {
            let (_, [name, micros, ops]) = found.extract();
            for (what, word, unit, better) in [
                ("ops/sec", ops, "ops/s", Better::Higher),
                ("micros/op", micros, "µs/op", Better::Lower),
            ] {
                let metric = format!("{name} {what}");
                let value = number(&metric, word.trim_end_matches(';'), at)?;
                readings.add(&metric, Some(unit), better, value)?;
            }
            benchmark = Some(name.to_owned());
            operation = None;
            report = None;
        } else if let Some(found) = HISTOGRAM.captures(&line) {
            operation = Some(found[1].to_owned());
        } else if line.starts_with("Percentiles:") {
            if let (Some(benchmark), Some(operation)) = (&benchmark, operation.take()) {
                for found in PERCENTILE.captures_iter(&line) {
                    let (_, [percentile, word]) = found.extract();
                    let metric = format!("{benchmark} {operation} {percentile}");
                    let value = number(&metric, word, at)?;
                    readings.add(&metric, Some("µs"), Better::Lower, value)?;
                }
            }
        } else if let Some(header) = Report::of(&line) {
            report = Some(header);
        } else if let Some(report) = &report {
            report.row(&line, at, readings)?;
        }
    }
    Ok(())
}

/// The header of a report.
struct Report {
    /// Its columns, in lower case.
    columns: Vec<String>,
    /// Which of them is the benchmark's name.
    test: usize,
}

impl Report {
    fn of(line: &str) -> Option<Report> {
        let columns: Vec<String> = line.split('\t').map(str::to_lowercase).collect();
        let first = columns.first()?;
        let test = columns.iter().position(|column| column == "test")?;
        (first == "ops_sec" || first == "ops/sec").then_some(Report { columns, test })
    }

    /// Reads a line that has as many columns as the header needs for a name. A benchmark that
    /// failed has the word for its first number.
    fn row(&self, line: &str, at: usize, readings: &mut Readings) -> Result<(), MetricError> {
        let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
        let Some(test) = cells.get(self.test).filter(|test| !test.is_empty()) else {
            return Ok(());
        };
        for (column, cell) in self.columns.iter().zip(&cells) {
            let known = COLUMNS
                .iter()
                .find(|(names, ..)| names.contains(&&**column));
            let Some((_, what, unit, better)) = known else {
                continue;
            };
            if cell.is_empty() || *cell == "NA" {
                continue;
            }
            let metric = format!("{test} {what}");
            readings.add(&metric, Some(unit), *better, number(&metric, cell, at)?)?;
        }
        Ok(())
    }
}
