//! A comparison, to be read: on a terminal, in a pull request, by a spreadsheet, by a program.

mod csv;
mod environment;
pub(super) mod grid;
mod scale;
mod sweep;
pub(super) mod tables;
#[cfg(test)]
mod tests;

use crate::comparison::sweep::Sweep;
use crate::comparison::{Comparison, Findings};
use crate::ui::plural;
use grid::Grid;
use serde::Serialize;
use tables::Detail;

pub use environment::lines as environment;
pub use scale::Scale;
pub use tables::signed_percent;

/// In which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Columns that line up.
    Text,
    /// Tables to paste into a pull request.
    Markdown,
    /// Everything: all values of all runs, and what follows from them.
    Json,
    /// One line for each scenario, measure and variant.
    Csv,
}

/// A comparison with its findings, as `--format json` prints them.
#[derive(Debug, Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    findings: &'a Findings,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sweeps: &'a [Sweep],
}

/// The whole comparison as one text, with an end of line.
pub fn render(comparison: &Comparison, findings: &Findings, format: Format) -> String {
    let sweeps = &crate::comparison::sweep::of(comparison, findings)[..];
    match format {
        Format::Text => words(comparison, findings, sweeps, &TEXT),
        Format::Markdown => words(comparison, findings, sweeps, &MARKDOWN),
        Format::Csv if !sweeps.is_empty() => sweep::csv(comparison, sweeps),
        Format::Csv => csv::render(comparison, findings),
        Format::Json => {
            let whole = Whole {
                comparison,
                findings,
                sweeps,
            };
            let mut text = serde_json::to_string_pretty(&whole).expect("plain data");
            text.push('\n');
            text
        }
    }
}

/// How text for people is marked up.
struct Markup {
    draw: fn(&Grid) -> String,
    detail: Detail,
    /// Before a heading.
    head: &'static str,
    /// After a heading.
    gap: &'static str,
    /// Before a line of a list.
    item: &'static str,
}

const TEXT: Markup = Markup {
    draw: Grid::text,
    detail: Detail::Short,
    head: "",
    gap: "",
    item: "  ",
};

const MARKDOWN: Markup = Markup {
    draw: Grid::markdown,
    detail: Detail::Full,
    head: "### ",
    gap: "\n",
    item: "- ",
};

fn words(
    comparison: &Comparison,
    findings: &Findings,
    sweeps: &[Sweep],
    markup: &Markup,
) -> String {
    let mut out = String::new();
    let mut part = |title: &str, body: &str| {
        if body.is_empty() {
            return;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        let Markup { head, gap, .. } = markup;
        out.push_str(&format!("{head}{title}\n{gap}{body}"));
    };
    let list = |lines: &[String]| -> String {
        let item = markup.item;
        lines
            .iter()
            .map(|line| format!("{item}{}\n", line.replace('\n', "\n  ")))
            .collect()
    };
    let draw = markup.draw;
    for (title, grid, notes) in sweep::tables(comparison, sweeps) {
        let notes = match notes.is_empty() {
            true => String::new(),
            false => format!("{}{}", markup.gap, list(&notes)),
        };
        part(&title, &format!("{}{notes}", draw(&grid)));
    }
    // Of one variant there is nothing to compare.
    let tables = match sweeps.is_empty() || comparison.variants.len() > 1 {
        false => Default::default(),
        true => [
            tables::main(comparison, findings, markup.detail),
            tables::overall(comparison, findings),
            tables::circumstances(comparison, findings),
        ],
    };
    for (title, grid) in tables.iter().flatten() {
        part(title, &draw(grid));
    }
    part("Programs", &draw(&tables::programs(comparison)));
    part("Measured on", &list(&environment::lines(comparison)));
    if !findings.warnings.is_empty() {
        let title = plural(findings.warnings.len(), "warning");
        part(&title, &list(&findings.warnings));
    }
    let conclusions = tables::verdict(comparison, findings).into_iter();
    let conclusions: Vec<String> = conclusions.map(|conclusion| conclusion.words).collect();
    part("In short", &list(&conclusions));
    out
}
