//! The functions that the training spent its counts on, and what became of these.

use super::Training;
use super::html::Html;
use super::table::of_long_names;
use crate::profile::names;
use crate::report::comparison::grid::Grid;
use crate::report::usage::{self, HotRow, UseReport};
use crate::stage::trained::Function;
use crate::ui::{count, percent};
use std::collections::HashMap;

/// The section.
pub(super) fn write(html: &mut Html, training: &Training<'_>, top: usize) {
    let trained = training.trained;
    let shown = &trained.functions[..top.min(trained.functions.len())];
    let sum: u128 = shown.iter().map(|function| function.count).sum();
    html.leaf(
        "p",
        &[],
        format_args!(
            "{} of {} functions with counts; they have {} of all counts.",
            count(shown.len() as u64),
            count(trained.functions.len() as u64),
            percent(trained.share(sum))
        ),
    );
    let fates = Fates::of(training.used);
    let head = [
        "function",
        "package",
        "language",
        "build",
        "of all counts",
        "counts",
    ];
    let mut grid = Grid::new(head).with_words(4);
    for function in shown {
        grid.rows.push(vec![
            name(&function.name),
            function.package.clone(),
            usage::name(function.language).to_owned(),
            fates.of_function(function),
            percent(trained.share(function.count)),
            u64::try_from(function.count).map_or_else(|_| function.count.to_string(), count),
        ]);
    }
    of_long_names(html, "Functions with most counts", &grid);
}

/// A name for the page: generic functions of Rust have no longest one.
pub(super) fn name(name: &str) -> String {
    const LONGEST: usize = 1_000;
    let name = names::demangled(name);
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// What the last build did with functions.
struct Fates<'a> {
    known: HashMap<&'a str, &'a HotRow>,
    /// Functions with less are not in it for want of place.
    least: Option<u128>,
}

impl<'a> Fates<'a> {
    fn of(used: Option<&'a UseReport>) -> Fates<'a> {
        let rows = used.map_or(&[][..], |used| &used.hottest);
        Fates {
            // Of those of one name that with most counts, which comes first.
            known: rows.iter().rev().map(|row| (&*row.name, row)).collect(),
            least: used
                .filter(|used| used.is_complete())
                .map(|_| rows.last().map_or(0, |row| row.count)),
        }
    }

    fn of_function(&self, function: &Function) -> String {
        match self.known.get(&*function.name) {
            Some(HotRow { lost: None, .. }) => "used".into(),
            Some(HotRow {
                lost: Some(why), ..
            }) => format!("lost: {why}"),
            None if self.least.is_some_and(|least| function.count >= least) => {
                "not in this build, or left out".into()
            }
            None => "n/a".into(),
        }
    }
}
