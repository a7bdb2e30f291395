//! Tables of a sweep: a line for each value of the parameter.

use super::grid::Grid;
use super::scale::Scale;
use crate::comparison::Comparison;
use crate::comparison::sweep::{Knee, LITTLE, Measure, Sweep};
use crate::metrics::Better;
use crate::ui::percent;

/// More measures side by side do not fit on a terminal.
const BESIDE: usize = 4;

/// The tables with their titles, and what is to be said below each.
pub(super) fn tables(
    comparison: &Comparison,
    sweeps: &[Sweep],
) -> Vec<(String, Grid, Vec<String>)> {
    let mut tables = Vec::new();
    for sweep in sweeps {
        for (number, measures) in sweep.measures.chunks(BESIDE).enumerate() {
            let again = if number > 0 { ", more" } else { "" };
            let title = format!(
                "`{}` by `{}` over `{}`{again}: mean ± STDDEVP",
                sweep.scenario, comparison.variants[sweep.variant].name, sweep.parameter
            );
            let notes = measures.iter().filter_map(|it| note(sweep, it)).collect();
            tables.push((title, grid(sweep, measures), notes));
        }
    }
    tables
}

fn grid(sweep: &Sweep, measures: &[Measure]) -> Grid {
    let scales: Vec<Scale> = measures.iter().map(scale).collect();
    let heads = measures.iter().zip(&scales).map(|(measure, scale)| {
        let unit = match scale.unit.as_str() {
            "" => String::new(),
            unit => format!(" in {unit}"),
        };
        format!("{}{unit}", measure.name)
    });
    let mut grid = Grid::new([sweep.parameter.clone()].into_iter().chain(heads));
    for (at, value) in sweep.values.iter().enumerate() {
        let mark = if sweep.outliers[at] { " *" } else { "" };
        let mut cells = vec![format!("{value}{mark}")];
        cells.extend(measures.iter().zip(&scales).map(|(measure, scale)| {
            let Some(summary) = &measure.summaries[at] else {
                return "n/a".to_owned();
            };
            let best = if measure.best == Some(at) {
                "best "
            } else {
                ""
            };
            format!(
                "{best}{} ± {}",
                scale.show(summary.mean),
                scale.show(summary.stddevp)
            )
        }));
        grid.rows.push(cells);
    }
    grid
}

fn scale(measure: &Measure) -> Scale {
    let means = measure.summaries.iter().flatten().map(|s| s.mean.abs());
    // The smallest still has its digits.
    let least = means.fold(f64::INFINITY, f64::min);
    let typical = if least.is_finite() { least } else { 0.0 };
    Scale::of(typical, measure.unit.as_deref())
}

fn note(sweep: &Sweep, measure: &Measure) -> Option<String> {
    let Sweep {
        parameter, values, ..
    } = sweep;
    let name = &measure.name;
    Some(match measure.knee? {
        Knee::Beyond(at) => format!(
            "{name} grows less than {:.0} % beyond `{parameter}` {}",
            LITTLE * 100.0,
            values[at]
        ),
        Knee::Grows { to, by } => {
            // What is not there failed.
            let more = match to + 1 == values.len() {
                true => ": try larger ones",
                false => "",
            };
            format!(
                "{name} still grows at `{parameter}` {}, by {}{more}",
                values[to],
                percent(by)
            )
        }
    })
}

const HEAD: [&str; 16] = [
    "scenario",
    "variant",
    "parameter",
    "value",
    "measure",
    "unit",
    "better",
    "values",
    "mean",
    "stddevp",
    "median",
    "p95",
    "p99",
    "min",
    "max",
    "best",
];

/// One line for each scenario, variant, value and measure.
pub(super) fn csv(comparison: &Comparison, sweeps: &[Sweep]) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let in_memory = "memory takes it";
    writer.write_record(HEAD).expect(in_memory);
    for sweep in sweeps {
        for (at, value) in sweep.values.iter().enumerate() {
            for measure in &sweep.measures {
                let Some(summary) = &measure.summaries[at] else {
                    continue;
                };
                let better = match measure.better {
                    Better::Lower => "lower",
                    Better::Higher => "higher",
                };
                let number = |number: f64| number.to_string();
                let record: [String; 16] = [
                    sweep.scenario.clone(),
                    comparison.variants[sweep.variant].name.clone(),
                    sweep.parameter.clone(),
                    value.clone(),
                    measure.name.clone(),
                    measure.unit.clone().unwrap_or_default(),
                    better.to_owned(),
                    summary.count.to_string(),
                    number(summary.mean),
                    number(summary.stddevp),
                    number(summary.median),
                    number(summary.p95),
                    number(summary.p99),
                    number(summary.min),
                    number(summary.max),
                    if measure.best == Some(at) { "best" } else { "" }.to_owned(),
                ];
                writer.write_record(&record).expect(in_memory);
            }
        }
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
