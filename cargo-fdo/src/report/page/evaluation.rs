//! What is hot where the program is evaluated, and was not where it was trained.

use super::Evaluation;
use super::functions::name;
use super::html::Html;
use super::table::of_long_names;
use crate::profile::shares::{HOT, Missing};
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
        is_counted,
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
            "Of `{file}` ({kind}), {}{} is in functions that the training counted under their own \
             names. Function by function the two have {} in common.",
            if *is_counted { "at least " } else { "" },
            percent(coverage.ran),
            percent(coverage.overlap)
        ));
    });
    if *is_counted {
        html.leaf(
            "p",
            &[("class", &"soft")],
            "Shares of the two kinds are alike, never the same: counters count how often code ran, \
             samples where time went. Small functions are inlined before counters are put in, and \
             their counts may be their callers': what is inlined here too is taken for trained where \
             its caller was.",
        );
    }
    let (unknown, known): (Vec<&Missing>, Vec<&Missing>) = coverage
        .missing
        .iter()
        .partition(|missing| *is_counted && missing.trained.is_none());
    html.element("p", &[], |html| {
        html.text(format_args!(
            "{} with {} or more of it had less than a tenth of that share in the training{}.",
            plural(known.len(), "function"),
            percent(HOT),
            shown(known.len(), top)
        ));
    });
    table(html, "Hot in evaluation, hardly trained", &known, top);
    if unknown.is_empty() {
        return;
    }
    html.element("details", &[], |html| {
        html.leaf(
            "summary",
            &[],
            format_args!(
                "{} more with that share and no counters of their own{}",
                plural(unknown.len(), "function"),
                shown(unknown.len(), top)
            ),
        );
        html.leaf(
            "p",
            &[("class", &"soft")],
            "They were inlined everywhere before counters were put in, or are not in the program that \
             was trained: their names can't tell.",
        );
        table(html, "Hot in evaluation, without counters", &unknown, top);
    });
}

/// What is to be said where not all of a list is shown.
fn shown(number: usize, top: usize) -> String {
    match number > top {
        true => format!("; the hottest {top} are listed"),
        false => String::new(),
    }
}

fn table(html: &mut Html, caption: &str, list: &[&Missing], top: usize) {
    let mut grid = Grid::new(["function", "here", "in the training"]);
    for function in list.iter().take(top) {
        grid.rows.push(vec![
            name(&function.name),
            percent(function.share),
            match function.trained {
                None => "not there".into(),
                Some(0.0) => "never ran".into(),
                Some(share) => percent(share),
            },
        ]);
    }
    of_long_names(html, caption, &grid);
}
