//! What is hot where the program is evaluated, and was not where it was trained.

use super::Evaluation;
use super::functions::name;
use super::html::Html;
use super::table::of_long_names;
use crate::profile::shares::{HOT, LITTLE};
use crate::report::comparison::grid::Grid;
use crate::ui::{percent, plural};

/// What to do to have this section.
const HOW: &str = "Record a run of an evaluation, and name its file: `cargo fdo record -- PROGRAM …`, \
                   then `cargo fdo report --evaluate-profile perf.data --binary PROGRAM`. A sampled \
                   profile of production or a profile of counters will do as well.";

/// The section.
pub(super) fn write(html: &mut Html, evaluation: Option<&Evaluation<'_>>, top: usize) {
    let Some(Evaluation {
        file,
        kind,
        coverage,
    }) = evaluation
    else {
        html.leaf(
            "p",
            &[],
            "Not known: no profile of an evaluation was given.",
        );
        return html.element("p", &[], |html| html.prose(HOW));
    };
    html.element("p", &[], |html| {
        html.prose(format_args!(
            "Of `{file}` ({kind}), {} is in functions that the training ran. Function by function the \
             two have {} in common.",
            percent(coverage.ran),
            percent(coverage.overlap)
        ));
    });
    html.element("p", &[("class", &"soft")], |html| {
        html.prose(
            "Counters count how often code ran, samples where time went: shares of the two kinds are \
             alike, and never the same. What is inlined counts for its own function.",
        );
    });
    let missing = &coverage.missing;
    if missing.is_empty() {
        return html.leaf(
            "p",
            &[],
            format_args!(
                "Every function with {} or more of it was trained with at least a tenth of that share.",
                percent(HOT)
            ),
        );
    }
    html.element("p", &[], |html| {
        html.text(format_args!(
            "{} with {} or more of it had less than {} of that share in the training{}.",
            plural(missing.len(), "function"),
            percent(HOT),
            percent(LITTLE),
            match missing.len() > top {
                true => format!("; the hottest {top} are listed"),
                false => String::new(),
            }
        ));
    });
    let mut grid = Grid::new(["function", "here", "in the training"]);
    for function in missing.iter().take(top) {
        grid.rows.push(vec![
            name(&function.name),
            percent(function.share),
            match function.trained {
                None => "not known to it".into(),
                Some(0.0) => "never ran".into(),
                Some(share) => percent(share),
            },
        ]);
    }
    of_long_names(html, "Hot in evaluation, hardly trained", &grid);
}
