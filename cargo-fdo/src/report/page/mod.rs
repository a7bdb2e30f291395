//! The report as one HTML file: complete in itself, no script, nothing that is fetched.
//!
//! In the order in which a maintainer asks: what came out, on what figures, after what training,
//! and how to do it again.

mod chart;
mod evaluation;
mod functions;
mod html;
mod measured;
mod surroundings;
mod table;
mod training;

#[cfg(test)]
mod tests;

use crate::comparison::{Comparison, Findings};
use crate::profile::shares::Coverage;
use crate::report::UseReport;
use crate::stage::trained::Trained;
use crate::store::Manifest;
use html::Html;
use std::time::{Duration, UNIX_EPOCH};

/// What a page is made of. At least one of `compared` and `training` should be there.
#[derive(Debug)]
pub struct Page<'a> {
    /// The project's name.
    pub project: &'a str,
    /// What was measured.
    pub compared: Option<Compared<'a>>,
    /// The campaign.
    pub training: Option<Training<'a>>,
    /// How the campaign covers an evaluation.
    pub evaluation: Option<Evaluation<'a>>,
    /// What a reader should know besides.
    pub warnings: Vec<String>,
    /// How many functions are listed.
    pub top: usize,
}

/// A comparison and what follows from it.
#[derive(Debug)]
pub struct Compared<'a> {
    /// The name that it was saved under.
    pub name: &'a str,
    /// What was measured.
    pub comparison: &'a Comparison,
    /// What that says.
    pub findings: &'a Findings,
}

/// A campaign and its use.
#[derive(Debug)]
pub struct Training<'a> {
    /// The campaign.
    pub manifest: &'a Manifest,
    /// Its counts.
    pub trained: &'a Trained,
    /// What the last build with it used.
    pub used: Option<&'a UseReport>,
    /// How long the instrumented build took, seconds.
    pub build_seconds: Option<f64>,
}

/// A profile of the program where it was evaluated.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// The file.
    pub file: String,
    /// What kind of file.
    pub kind: String,
    /// Whether the training was counted: then what was inlined early has no counts of its own.
    pub is_counted: bool,
    /// What the training has of it.
    pub coverage: &'a Coverage,
}

/// Keeps a browser from fetching anything, whatever a name on the page holds.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// The page.
pub fn render(page: &Page<'_>) -> String {
    let mut html = Html::default();
    html.element("html", &[("lang", &"en")], |html| {
        html.element("head", &[], |html| {
            html.empty("meta", &[("charset", &"utf-8")]);
            let policy = "Content-Security-Policy";
            html.empty("meta", &[("http-equiv", &policy), ("content", &POLICY)]);
            let viewport = "width=device-width, initial-scale=1";
            html.empty("meta", &[("name", &"viewport"), ("content", &viewport)]);
            // Or a browser asks for one.
            html.empty("link", &[("rel", &"icon"), ("href", &"data:,")]);
            html.leaf(
                "title",
                &[],
                format_args!("{}: cargo fdo report", page.project),
            );
            html.style(include_str!("style.css"));
        });
        html.element("body", &[], |html| body(html, page));
    });
    html.into_document()
}

fn body(html: &mut Html, page: &Page<'_>) {
    let sections = sections(page);
    html.element("header", &[], |html| {
        html.leaf(
            "h1",
            &[],
            format_args!("{}: what the profile is worth", page.project),
        );
        if let Some(compared) = &page.compared {
            html.element("p", &[("class", &"soft")], |html| {
                html.prose(format_args!(
                    "Comparison `{}` of {}",
                    compared.name,
                    date(compared.comparison.made)
                ));
            });
        }
        html.element("nav", &[("aria-label", &"Sections")], |html| {
            html.element("ul", &[], |html| {
                for section in &sections {
                    html.element("li", &[], |html| {
                        html.leaf("a", &[("href", &format!("#{}", section.id))], section.title);
                    });
                }
            });
        });
    });
    html.element("main", &[], |html| {
        for section in &sections {
            html.element("section", &[("aria-labelledby", &section.id)], |html| {
                html.leaf("h2", &[("id", &section.id)], section.title);
                (section.write)(html, page);
            });
        }
    });
    html.element("footer", &[], |html| {
        let version = env!("CARGO_PKG_VERSION");
        html.leaf("p", &[], format_args!("Made by cargo-fdo {version}."));
    });
}

/// A part of the page.
struct Section {
    id: &'static str,
    title: &'static str,
    write: fn(&mut Html, &Page<'_>),
}

/// Those that this page has something for.
fn sections(page: &Page<'_>) -> Vec<Section> {
    let is_compared = page.compared.is_some();
    let is_trained = page.training.is_some();
    [
        (
            true,
            "verdict",
            "In short",
            verdict as fn(&mut Html, &Page<'_>),
        ),
        (is_compared, "charts", "Measured", charts),
        (is_compared, "figures", "All figures", figures),
        (is_trained, "training", "Training", training),
        (
            is_trained,
            "functions",
            "Hottest functions of the training",
            functions,
        ),
        (
            is_trained,
            "evaluation",
            "Hot in evaluation, not trained",
            evaluation,
        ),
        (
            true,
            "surroundings",
            "Environment, commands, costs",
            surroundings::write,
        ),
    ]
    .into_iter()
    .filter(|(is_there, ..)| *is_there)
    .map(|(_, id, title, write)| Section { id, title, write })
    .collect()
}

fn verdict(html: &mut Html, page: &Page<'_>) {
    match &page.compared {
        Some(compared) => measured::verdict(html, compared.comparison, compared.findings),
        None => html.element("p", &[], |html| {
            html.prose(
                "Nothing was measured yet: `cargo fdo compare` measures what the profile gains.",
            );
        }),
    }
    if page.training.is_none() {
        html.element("p", &[], |html| {
            html.prose(
                "There is no training here to describe: `cargo fdo train` makes one. What follows is the \
                 comparison alone.",
            );
        });
    }
    let mut warnings = page.warnings.clone();
    if let Some(training) = &page.training {
        warnings.extend(training::warnings(training));
    }
    if let Some(compared) = &page.compared {
        warnings.extend(compared.findings.warnings.iter().cloned());
    }
    if warnings.is_empty() {
        return;
    }
    html.element("div", &[("class", &"warnings")], |html| {
        html.leaf("h3", &[], crate::ui::plural(warnings.len(), "warning"));
        let rest = warnings.split_off(warnings.len().min(WARNINGS));
        html.list("plain", &warnings);
        if !rest.is_empty() {
            html.element("details", &[], |html| {
                html.leaf("summary", &[], format_args!("{} more", rest.len()));
                html.list("plain", &rest);
            });
        }
    });
}

/// So many warnings are shown at once.
const WARNINGS: usize = 12;

fn charts(html: &mut Html, page: &Page<'_>) {
    if let Some(compared) = &page.compared {
        measured::charts(html, compared.comparison, compared.findings);
    }
}

fn figures(html: &mut Html, page: &Page<'_>) {
    if let Some(compared) = &page.compared {
        measured::tables(html, compared.comparison, compared.findings);
    }
}

fn training(html: &mut Html, page: &Page<'_>) {
    if let Some(training) = &page.training {
        training::write(html, training);
    }
}

fn functions(html: &mut Html, page: &Page<'_>) {
    if let Some(training) = &page.training {
        functions::write(html, training, page.top);
    }
}

fn evaluation(html: &mut Html, page: &Page<'_>) {
    evaluation::write(html, page.evaluation.as_ref(), page.top);
}

/// A time, to the minute that matters and the second that tells runs apart.
fn date(seconds: u64) -> String {
    // Years beyond 9999 can't be written.
    let time = UNIX_EPOCH + Duration::from_secs(seconds.min(253_402_300_799));
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.replace('T', " ").replace('Z', " UTC")
}

/// A duration in seconds, which may be any number where it is read from a file.
fn duration(seconds: f64) -> String {
    crate::ui::seconds(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}
