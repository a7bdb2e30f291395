//! `[workload.NAME.metrics]`: which figures that a workload prints are measured too.
//!
//! ```toml
//! [workload.readrandom.metrics]
//! db_bench = { reader = "db_bench" }                       # all that this tool prints
//! p95 = { regex = 'p95: ([0-9.]+) ms', unit = "ms" }       # one figure
//! rps = { pointer = "/summary/rps", file = "{tmp}/out.json", better = "higher" }
//! ```

use super::problem::Problems;
use super::section::Item;
use super::template::{Placeholder, Template};
use super::value;
use crate::metrics::{Better, Pattern, Reader};

/// A figure, or several, that a workload writes somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricSource {
    /// Its key in the file, and the figure's name.
    pub name: String,
    /// How it is found.
    pub what: Wanted,
    /// Where.
    pub from: WrittenTo,
}

/// How a figure is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Everything that a known tool prints.
    All(Reader),
    /// What a regular expression captures; a valid one.
    Regex(String, Described),
    /// What is at a place of a JSON text; a valid RFC 6901 pointer.
    Pointer(String, Described),
}

/// What the user says of a figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// Of its values.
    pub unit: Option<String>,
    /// Which direction is good.
    pub better: Better,
}

/// Where a workload writes figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenTo {
    /// Its standard output.
    Stdout,
    /// Its standard error.
    Stderr,
    /// A file; relative to the workload's directory.
    File(Template),
}

/// All of a workload, in the order of the file.
pub(super) fn metrics(
    item: &Item<'_>,
    problems: &mut Problems<'_>,
    parameters: &[String],
) -> Option<Vec<MetricSource>> {
    let section = item.section(problems)?;
    let items = section.items();
    let sources = items
        .iter()
        .filter_map(|item| source(item, problems, parameters));
    Some(sources.collect())
}

fn source(
    item: &Item<'_>,
    problems: &mut Problems<'_>,
    parameters: &[String],
) -> Option<MetricSource> {
    let mut section = item.section(problems)?;
    if item.key.is_empty() || item.key.chars().any(char::is_control) {
        section.wrong(problems, "can't be the name of a figure");
    }
    let reader = section.read("reader", problems, |item, problems| {
        let choices: Vec<(&str, Reader)> = Reader::ALL
            .iter()
            .map(|reader| (reader.name(), *reader))
            .collect();
        value::choice(item, problems, &choices)
    });
    let regex = section.read("regex", problems, |item, problems| {
        checked(item, problems, "a regular expression", |text| {
            Pattern::regex(text)
                .map(drop)
                .map_err(|error| error.to_string())
        })
    });
    let pointer = section.read("pointer", problems, |item, problems| {
        checked(item, problems, "a JSON pointer such as \"/a/0\"", |text| {
            Pattern::pointer(text)
                .map(drop)
                .map_err(|error| error.to_string())
        })
    });
    let from = section.read("from", problems, |item, problems| {
        let choices = [("stdout", WrittenTo::Stdout), ("stderr", WrittenTo::Stderr)];
        let names = [("stdout", 0), ("stderr", 1)];
        value::choice(item, problems, &names).map(|at: usize| choices[at].1.clone())
    });
    let file = section.read("file", problems, |item, problems| {
        let file = value::template(item, problems, "the path of a file", parameters)?;
        let allowed = |placeholder: &Placeholder| {
            matches!(
                placeholder,
                Placeholder::Tmp | Placeholder::Dir(_) | Placeholder::Workspace
            )
        };
        if !file.placeholders().all(allowed) {
            item.wrong(
                problems,
                "can hold `{tmp}`, `{dir:NAME}`, `{workspace}` and parameters only",
            );
            return None;
        }
        Some(file)
    });
    let unit = section.read("unit", problems, |item, problems| {
        value::text(item, problems, "a unit such as \"ms\"").map(str::to_owned)
    });
    let better = section.read("better", problems, |item, problems| {
        let choices = [("lower", Better::Lower), ("higher", Better::Higher)];
        value::choice(item, problems, &choices)
    });
    let given = ["reader", "regex", "pointer"].map(|key| section.get(key).is_some());
    let tells_more = section.get("unit").is_some() || section.get("better").is_some();
    match given.iter().filter(|given| **given).count() {
        1 => {}
        0 => section.wrong(problems, "needs one of `reader`, `regex` and `pointer`"),
        _ => section.wrong(
            problems,
            "can have only one of `reader`, `regex` and `pointer`",
        ),
    }
    if given[0] && tells_more {
        section.wrong(
            problems,
            "can't have `unit` or `better`: its reader knows them",
        );
    }
    if from.is_some() && file.is_some() {
        section.wrong(problems, "can have only one of `from` and `file`");
    }
    section.finish(problems);
    let described = Described {
        unit,
        better: better.unwrap_or(Better::Lower),
    };
    let what = match (reader, regex, pointer) {
        (Some(reader), ..) => Wanted::All(reader),
        (_, Some(regex), _) => Wanted::Regex(regex, described),
        (_, _, Some(pointer)) => Wanted::Pointer(pointer, described),
        _ => return None,
    };
    Some(MetricSource {
        name: item.key.clone(),
        what,
        from: match file {
            Some(file) => WrittenTo::File(file),
            None => from.unwrap_or(WrittenTo::Stdout),
        },
    })
}

/// A text that `check` accepts.
fn checked(
    item: &Item<'_>,
    problems: &mut Problems<'_>,
    what: &str,
    check: impl FnOnce(&str) -> Result<(), String>,
) -> Option<String> {
    let text = value::text(item, problems, what)?;
    if let Err(words) = check(text) {
        item.wrong(
            problems,
            &format!("is no {}: {words}", what.trim_start_matches("a ")),
        );
        return None;
    }
    Some(text.to_owned())
}
