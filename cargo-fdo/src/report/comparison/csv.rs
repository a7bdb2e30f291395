//! One line for each scenario, measure and variant (RFC 4180).

use crate::comparison::findings::{Verdict, metric_of, scenario_of};
use crate::comparison::{Comparison, Findings};

const HEAD: [&str; 18] = [
    "scenario",
    "measure",
    "unit",
    "variant",
    "values",
    "mean",
    "stddevp",
    "stddevp_by_mean",
    "median",
    "p95",
    "p99",
    "min",
    "max",
    "ratio",
    "ratio_low",
    "ratio_high",
    "gain",
    "verdict",
];

pub(super) fn render(comparison: &Comparison, findings: &Findings) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let in_memory = "memory takes it";
    writer.write_record(HEAD).expect(in_memory);
    for row in &findings.rows {
        let metric = metric_of(comparison, row);
        let summary = &row.summary;
        let number = |number: f64| number.to_string();
        let maybe = |value: Option<f64>| value.map(number).unwrap_or_default();
        let change = row.change.as_ref();
        let interval = change.and_then(|change| change.ratio.interval);
        let verdict = change.map_or("", |change| match change.verdict {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NoSignificantChange => "no-significant-change",
            Verdict::Unknown => "unknown",
        });
        let record: [String; 18] = [
            scenario_of(comparison, row).name.clone(),
            metric.name.clone(),
            metric.unit.clone().unwrap_or_default(),
            comparison.variants[row.variant].name.clone(),
            summary.count.to_string(),
            number(summary.mean),
            number(summary.stddevp),
            maybe(row.variation),
            number(summary.median),
            number(summary.p95),
            number(summary.p99),
            number(summary.min),
            number(summary.max),
            maybe(change.map(|change| change.ratio.estimate)),
            maybe(interval.map(|(low, _)| low)),
            maybe(interval.map(|(_, high)| high)),
            maybe(change.map(|change| change.gain)),
            verdict.to_owned(),
        ];
        writer.write_record(&record).expect(in_memory);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
