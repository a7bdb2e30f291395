//! Charts as SVG in the page: plain coordinates, colours by CSS, every figure also in a table.

mod axis;
mod dots;
mod forest;

pub(super) use dots::{Strip, dots};
pub(super) use forest::{Effect, Mark, forest};

use super::html::Html;
use axis::Axis;

/// Units of the drawing from left to right; a narrow screen has about as many pixels.
const WIDTH: f64 = 440.0;
/// Left and right of the axis.
const MARGIN: f64 = 12.0;
/// From one variant to the next.
const ROW: f64 = 46.0;
/// From the top of a row to its middle, where the values are; above it is the name.
const MIDDLE: f64 = 30.0;
/// Below the rows: ticks and the axis' title.
const FOOT: f64 = 40.0;
/// More letters of a name would run into what is at the right.
const NAME: usize = 34;

/// A chart: what it shows in a few words, and all of it in words for those who don't see it.
pub(super) struct Caption {
    /// Distinct in the page.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) words: String,
}

/// The frame of a chart with so many rows.
fn svg(html: &mut Html, caption: &Caption, rows: usize, inner: impl FnOnce(&mut Html, f64)) {
    let bottom = ROW * rows as f64 + 4.0;
    let Caption { id, title, words } = caption;
    html.element(
        "svg",
        &[
            ("viewBox", &format!("0 0 {WIDTH} {}", bottom + FOOT)),
            ("role", &"img"),
            ("aria-labelledby", &format!("{id}-title {id}-words")),
        ],
        |html| {
            html.leaf("title", &[("id", &format!("{id}-title"))], title);
            html.leaf("desc", &[("id", &format!("{id}-words"))], words);
            inner(html, bottom);
        },
    );
}

/// Ticks, their lines and the title of an axis.
fn draw_axis(html: &mut Html, axis: &Axis, bottom: f64, title: &str) {
    for tick in axis.ticks() {
        let x = place(axis.at(tick.value));
        html.empty(
            "line",
            &[
                ("class", &"tick"),
                ("x1", &x),
                ("x2", &x),
                ("y1", &0),
                ("y2", &bottom),
            ],
        );
        html.leaf(
            "text",
            &[
                ("class", &"label"),
                ("x", &x),
                ("y", &(bottom + 14.0)),
                ("text-anchor", &"middle"),
            ],
            &tick.words,
        );
    }
    html.leaf(
        "text",
        &[
            ("class", &"label"),
            ("x", &(WIDTH / 2.0)),
            ("y", &(bottom + 32.0)),
            ("text-anchor", &"middle"),
        ],
        title,
    );
}

/// The line above a row's values: whose they are, and what they come to.
fn draw_name(html: &mut Html, row: usize, name: &str, right: &str) {
    let y = place(ROW * row as f64 + 14.0);
    let shown = match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    };
    html.leaf(
        "text",
        &[("class", &"name"), ("x", &MARGIN), ("y", &y)],
        shown,
    );
    html.leaf(
        "text",
        &[
            ("class", &"label"),
            ("x", &(WIDTH - MARGIN)),
            ("y", &y),
            ("text-anchor", &"end"),
        ],
        right,
    );
}

/// The height of a row's values.
fn middle(row: usize) -> f64 {
    ROW * row as f64 + MIDDLE
}

/// A coordinate, to a tenth of a unit.
fn place(coordinate: f64) -> String {
    let text = format!("{coordinate:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}
