//! What a comparison found: the verdict, the charts, the tables.

use super::chart::{self, Caption, Effect, Mark, Strip};
use super::html::Html;
use super::table::table;
use crate::comparison::facts::{Comparison, Metric, Role, Scenario};
use crate::comparison::findings::{Change, Findings, Row, Verdict};
use crate::report::comparison::Scale;
use crate::report::comparison::grid::Grid;
use crate::report::comparison::tables::{self, Detail};
use crate::ui::plural;
use std::cmp::Reverse;

/// One sentence for each candidate, then what else follows.
pub(super) fn verdict(html: &mut Html, comparison: &Comparison, findings: &Findings) {
    let (candidates, others): (Vec<_>, Vec<_>) = tables::verdict(comparison, findings)
        .into_iter()
        .partition(|conclusion| conclusion.role == Some(Role::Candidate));
    let words = |list: Vec<tables::Conclusion>| -> Vec<String> {
        list.into_iter()
            .map(|conclusion| conclusion.words)
            .collect()
    };
    let candidates = words(candidates);
    if candidates.is_empty() {
        html.leaf("p", &[], "Nothing could be held against the baseline.");
    }
    html.list("verdict", &candidates);
    html.list("also", &words(others));
}

/// How to read them.
const LEGEND: &str = "In the first chart of each pair every value is a dot, and the upright line is the mean; its \
                      axis need not begin at 0. In the second is the ratio to the baseline with its 95 % \
                      interval: a disc is better, a square worse, a ring no significant change. An arrow \
                      at the end of an interval: it goes on. All figures are in the tables below.";

/// All charts: a pair for each main measure of each scenario.
pub(super) fn charts(html: &mut Html, comparison: &Comparison, findings: &Findings) {
    html.leaf("p", &[("class", &"soft")], LEGEND);
    for (at, scenario) in comparison.scenarios.iter().enumerate() {
        for (number, metric) in scenario.metrics.iter().enumerate() {
            let rows: Vec<&Row> = findings.of_metric(at, number).collect();
            if metric.is_main && !rows.is_empty() {
                let measured = Measured {
                    comparison,
                    scenario,
                    metric,
                    rows,
                    id: format!("s{at}m{number}"),
                };
                measured.draw(html);
            }
        }
    }
}

/// One main measure of one scenario.
struct Measured<'a> {
    comparison: &'a Comparison,
    scenario: &'a Scenario,
    metric: &'a Metric,
    rows: Vec<&'a Row>,
    id: String,
}

impl Measured<'_> {
    fn draw(&self, html: &mut Html) {
        let what = format!("{} of `{}`", self.metric.name, self.scenario.name);
        let direction = tables::direction(self.metric.better);
        html.element("h3", &[], |html| {
            html.prose(format_args!("{what}, {direction} is better"));
        });
        html.element("div", &[("class", &"charts")], |html| {
            html.element("figure", &[], |html| {
                self.values(html);
            });
            if self.rows.iter().any(|row| row.change.is_some()) {
                html.element("figure", &[], |html| {
                    self.ratios(html);
                });
            }
        });
    }

    fn values(&self, html: &mut Html) {
        let least = self
            .rows
            .iter()
            .map(|row| row.summary.mean.abs())
            .fold(f64::INFINITY, f64::min);
        let scale = Scale::of(least, self.metric.unit.as_deref());
        let strips: Vec<Strip<'_>> = self
            .rows
            .iter()
            .map(|row| {
                let samples = self.metric.samples.get(row.variant);
                let values = samples.into_iter().flatten().flatten();
                let variant = &self.comparison.variants[row.variant];
                Strip {
                    name: &variant.name,
                    words: format!("mean {}", scale.with_unit(row.summary.mean)),
                    class: match variant.role {
                        Role::Baseline | Role::Again => "baseline",
                        Role::Control => "control",
                        Role::Candidate => "candidate",
                    },
                    values: values.map(|value| scale.scaled(*value)).collect(),
                    mean: scale.scaled(row.summary.mean),
                }
            })
            .collect();
        let title = match scale.unit.as_str() {
            "" => self.metric.name.clone(),
            unit => format!("{} in {unit}", self.metric.name),
        };
        let words = strips
            .iter()
            .map(|strip| format!("{}: {} of {}", strip.name, strip.words, values(strip)));
        let caption = Caption {
            id: format!("{}v", self.id),
            title: format!("Values of {} in {}", self.metric.name, self.scenario.name),
            words: words.collect::<Vec<_>>().join("; "),
        };
        chart::dots(html, &caption, &title, &strips);
    }

    fn ratios(&self, html: &mut Html) {
        let effects: Vec<Effect<'_>> = self
            .rows
            .iter()
            .filter_map(|row| {
                let name = &self.comparison.variants[row.variant].name;
                match &row.change {
                    Some(change) => Some(effect(name, change)),
                    // So that both charts have the same rows.
                    None if row.variant == 0 => Some(Effect {
                        name,
                        words: "baseline".into(),
                        mark: Mark::Open,
                        ratio: 1.0,
                        interval: None,
                    }),
                    None => None,
                }
            })
            .collect();
        let words = self.rows.iter().filter_map(|row| {
            let change = row.change.as_ref()?;
            Some(format!(
                "{}: ratio {:.4}, interval {}, {}",
                self.comparison.variants[row.variant].name,
                change.ratio.estimate,
                tables::interval(change),
                tables::verdict_word(change.verdict)
            ))
        });
        let baseline = &self.comparison.variants[0].name;
        let caption = Caption {
            id: format!("{}r", self.id),
            title: format!(
                "Ratios to {baseline}: {} in {}",
                self.metric.name, self.scenario.name
            ),
            words: words.collect::<Vec<_>>().join("; "),
        };
        let title = format!(
            "ratio to {baseline}, {} is better",
            tables::direction(self.metric.better)
        );
        chart::forest(html, &caption, &title, &effects);
    }
}

fn values(strip: &Strip<'_>) -> String {
    plural(strip.values.len(), "value")
}

fn effect<'a>(name: &'a str, change: &Change) -> Effect<'a> {
    Effect {
        name,
        words: beside(change),
        mark: match change.verdict {
            Verdict::Better => Mark::Better,
            Verdict::Worse => Mark::Worse,
            Verdict::NoSignificantChange | Verdict::Unknown => Mark::Open,
        },
        ratio: change.ratio.estimate,
        interval: change.ratio.interval,
    }
}

fn beside(change: &Change) -> String {
    match change.verdict {
        Verdict::Better | Verdict::Worse => format!(
            "{:.2} % {}",
            change.gain.abs() * 100.0,
            tables::verdict_word(change.verdict)
        ),
        Verdict::NoSignificantChange | Verdict::Unknown => {
            tables::verdict_word(change.verdict).to_owned()
        }
    }
}

/// All figures.
pub(super) fn tables(html: &mut Html, comparison: &Comparison, findings: &Findings) {
    for (title, grid) in tables::main(comparison, findings, Detail::Full) {
        table(html, &title, &grid);
    }
    for (title, grid) in tables::overall(comparison, findings) {
        table(html, &title, &grid);
    }
    html.element("details", &[], |html| {
        html.leaf(
            "summary",
            &[],
            "What was measured beside: circumstances of the runs",
        );
        for (title, grid) in tables::circumstances(comparison, findings) {
            table(html, &title, &grid);
        }
        table(html, "What else the machine did", &weather(comparison));
        table(html, "Runs that failed", &failures(comparison));
    });
    html.element("details", &[], |html| {
        html.leaf("summary", &[], "All values, by round");
        for scenario in &comparison.scenarios {
            for metric in scenario.metrics.iter().filter(|metric| metric.is_main) {
                let title = format!("{} of `{}`", metric.name, scenario.name);
                let unit = metric.unit.as_ref();
                let title = unit.map_or(title.clone(), |unit| format!("{title}, in {unit}"));
                table(html, &title, &rounds(comparison, metric));
            }
        }
    });
}

/// The value of each round; where a run gave several, their mean and number.
fn rounds(comparison: &Comparison, metric: &Metric) -> Grid {
    let mut head = vec!["round".to_owned()];
    head.extend(
        comparison
            .variants
            .iter()
            .map(|variant| variant.name.clone()),
    );
    let mut grid = Grid::new(head);
    let rounds = metric.samples.iter().map(Vec::len).max().unwrap_or(0);
    for round in 0..rounds {
        let cells: Vec<String> = metric
            .samples
            .iter()
            .map(
                |variant| match variant.get(round).map_or(&[][..], Vec::as_slice) {
                    [] => "n/a".to_owned(),
                    [one] => short(*one),
                    many => {
                        let mean = many.iter().sum::<f64>() / many.len() as f64;
                        format!("{} (mean of {})", short(mean), many.len())
                    }
                },
            )
            .collect();
        // Instructions are counted in some of the rounds only.
        if cells.iter().any(|cell| cell != "n/a") {
            grid.rows
                .push([vec![(round + 1).to_string()], cells].concat());
        }
    }
    grid
}

/// As measured, without digits that mean nothing.
fn short(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn weather(comparison: &Comparison) -> Grid {
    let mut grid = Grid::new([
        "scenario",
        "processor used by others",
        "given to other machines",
        "waiting for disks",
        "most runnable",
        "least memory",
    ]);
    for scenario in &comparison.scenarios {
        let weather = &scenario.weather;
        let share = |values: &[f64]| {
            let greatest = values.iter().copied().max_by(f64::total_cmp);
            let median = crate::statistics::quantile(values, 0.5);
            median.zip(greatest).map_or_else(
                || "n/a".to_owned(),
                |(median, most)| format!("{:.2} %, up to {:.2} %", median * 100.0, most * 100.0),
            )
        };
        let bytes = |bytes: u64| Scale::of(bytes as f64, Some("B")).with_unit(bytes as f64);
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "n/a".into());
        grid.rows.push(vec![
            scenario.name.clone(),
            share(&weather.others),
            share(&weather.stolen),
            share(&weather.waiting),
            or_none(weather.runnable.iter().max().map(u32::to_string)),
            or_none(weather.available.iter().min().copied().map(bytes)),
        ]);
    }
    grid
}

/// How many failures are shown.
const FAILURES: usize = 50;

fn failures(comparison: &Comparison) -> Grid {
    let mut grid = Grid::new(["scenario", "variant", "round", "what happened"]).with_words(4);
    let mut all: Vec<_> = comparison
        .scenarios
        .iter()
        .flat_map(|scenario| {
            scenario
                .failures
                .iter()
                .map(move |failure| (scenario, failure))
        })
        .collect();
    all.sort_by_key(|(_, failure)| Reverse(failure.round));
    for (scenario, failure) in all.into_iter().rev().take(FAILURES) {
        grid.rows.push(vec![
            scenario.name.clone(),
            failure.variant.clone(),
            failure.round.to_string(),
            failure.words.clone(),
        ]);
    }
    grid
}
