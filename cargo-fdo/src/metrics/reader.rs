//! Readers of what well-known benchmark programs print.

mod criterion;
mod db_bench;
mod hyperfine;
mod k6;
mod key_value;
mod libtest;
#[cfg(test)]
mod tests;
mod wrk;

use super::excerpt::{excerpt, shortened};
use super::reading::{Reading, Readings};
use super::{MetricError, number};

/// A format that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// RocksDB's `db_bench` and the reports of its `benchmark.sh`.
    DbBench,
    /// Benchmarks with the criterion crate.
    Criterion,
    /// Benchmarks of rustc's own test harness, `#[bench]`.
    Libtest,
    /// The JSON of `hyperfine --export-json`.
    Hyperfine,
    /// k6's summaries, as JSON or text.
    K6,
    /// The HTTP load generators wrk and wrk2.
    Wrk,
    /// Lines of a name and a number, and what `perf stat` prints.
    KeyValue,
}

impl Reader {
    /// All of them.
    pub const ALL: [Reader; 7] = [
        Reader::DbBench,
        Reader::Criterion,
        Reader::Libtest,
        Reader::Hyperfine,
        Reader::K6,
        Reader::Wrk,
        Reader::KeyValue,
    ];

    /// Its name in fdo.toml.
    pub fn name(self) -> &'static str {
        match self {
            Reader::DbBench => "db_bench",
            Reader::Criterion => "criterion",
            Reader::Libtest => "libtest",
            Reader::Hyperfine => "hyperfine",
            Reader::K6 => "k6",
            Reader::Wrk => "wrk",
            Reader::KeyValue => "key-value",
        }
    }

    /// The reader of this name.
    pub fn from_name(name: &str) -> Option<Reader> {
        Reader::ALL.into_iter().find(|reader| reader.name() == name)
    }

    /// Reads all figures, in the order of the text. Never none: that is an error, as is a figure
    /// that is no number. A figure that occurs several times is one reading of several values.
    pub fn read(self, text: &str) -> Result<Vec<Reading>, MetricError> {
        let mut readings = Readings::default();
        match self {
            Reader::DbBench => db_bench::read(text, &mut readings),
            Reader::Criterion => criterion::read(text, &mut readings),
            Reader::Libtest => libtest::read(text, &mut readings),
            Reader::Hyperfine => hyperfine::read(text, &mut readings),
            Reader::K6 => k6::read(text, &mut readings),
            Reader::Wrk => wrk::read(text, &mut readings),
            Reader::KeyValue => key_value::read(text, &mut readings),
        }?;
        let readings = readings.into_vec();
        if readings.is_empty() {
            return Err(MetricError::NotFound {
                metric: self.name().to_owned(),
                excerpt: excerpt(text),
            });
        }
        Ok(readings)
    }
}

/// What a word of the text says, where a number has to be.
fn number(metric: &str, word: &str, line: usize) -> Result<f64, MetricError> {
    number::whole(word).ok_or_else(|| not_number(metric, word, line))
}

/// A word where a number has to be.
fn not_number(metric: &str, word: &str, line: usize) -> MetricError {
    MetricError::NotNumber {
        metric: metric.to_owned(),
        found: shortened(word),
        line: Some(line),
    }
}
