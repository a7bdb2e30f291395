//! Tables.

use super::html::Html;
use crate::report::comparison::grid::Grid;

/// A table with a caption; nothing where it has no row.
///
/// One that is wider than the page is scrolled by itself, also with the keyboard.
pub(super) fn table(html: &mut Html, caption: &str, grid: &Grid) {
    draw(html, caption, grid, "word");
}

/// The same where the first column holds what may be long, such as names of functions.
pub(super) fn of_long_names(html: &mut Html, caption: &str, grid: &Grid) {
    draw(html, caption, grid, "word long");
}

fn draw(html: &mut Html, caption: &str, grid: &Grid, first: &'static str) {
    if grid.rows.is_empty() {
        return;
    }
    // Verdicts are the only words behind numbers.
    let is_verdict = |column: usize| grid.head.get(column).is_some_and(String::is_empty);
    let class = |column: usize| match column {
        0 => first,
        column if is_verdict(column) => "word verdict-cell",
        column if column < grid.words => "word",
        _ => "number",
    };
    html.element(
        "div",
        &[
            ("class", &"wide"),
            ("role", &"region"),
            ("tabindex", &0),
            ("aria-label", &caption.replace('`', "")),
        ],
        |html| {
            html.element("table", &[], |html| {
                html.element("caption", &[], |html| html.prose(caption));
                html.element("thead", &[], |html| {
                    html.element("tr", &[], |html| {
                        for (column, head) in grid.head.iter().enumerate() {
                            let head = if head.is_empty() { "verdict" } else { head };
                            let class = class(column);
                            html.leaf("th", &[("scope", &"col"), ("class", &class)], head);
                        }
                    });
                });
                html.element("tbody", &[], |html| {
                    for row in &grid.rows {
                        html.element("tr", &[], |html| {
                            for (column, cell) in row.iter().enumerate() {
                                let class = class(column);
                                match column {
                                    0 => html.leaf(
                                        "th",
                                        &[("scope", &"row"), ("class", &class)],
                                        cell,
                                    ),
                                    _ => html.leaf("td", &[("class", &class)], cell),
                                }
                            }
                        });
                    }
                });
            });
        },
    );
}
