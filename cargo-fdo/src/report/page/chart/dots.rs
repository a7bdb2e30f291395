//! Every value of every variant, as a dot.

use super::{Axis, Caption, MARGIN, ROW, WIDTH, draw_axis, draw_name, middle, place, svg};
use crate::report::page::html::Html;
use std::fmt::Write as _;

/// The values of one variant, in the unit of the axis.
pub(in crate::report::page) struct Strip<'a> {
    pub(in crate::report::page) name: &'a str,
    /// Beside the name.
    pub(in crate::report::page) words: String,
    /// How it is drawn: a class of the style sheet.
    pub(in crate::report::page) class: &'static str,
    pub(in crate::report::page) values: Vec<f64>,
    pub(in crate::report::page) mean: f64,
}

/// More dots than this of one variant are one blot; every so-manieth is drawn then.
const MOST: usize = 1_500;

/// Draws all values; the mean is a line across them.
pub(in crate::report::page) fn dots(
    html: &mut Html,
    caption: &Caption,
    title: &str,
    strips: &[Strip<'_>],
) {
    let values = strips.iter().flat_map(|strip| &strip.values).copied();
    let axis = Axis::of(values.chain(strips.iter().map(|strip| strip.mean)));
    svg(html, caption, strips.len(), |html, bottom| {
        draw_axis(html, &axis, bottom, title);
        for (row, strip) in strips.iter().enumerate() {
            draw_name(html, row, strip.name, &strip.words);
            let y = middle(row);
            html.empty(
                "line",
                &[
                    ("class", &"rule"),
                    ("x1", &MARGIN),
                    ("x2", &(WIDTH - MARGIN)),
                    ("y1", &y),
                    ("y2", &y),
                ],
            );
            html.empty(
                "path",
                &[
                    ("class", &format!("dots {}", strip.class)),
                    ("d", &path(&axis, y, &strip.values)),
                ],
            );
            let x = place(axis.at(strip.mean));
            html.empty(
                "line",
                &[
                    ("class", &"mean"),
                    ("x1", &x),
                    ("x2", &x),
                    ("y1", &(y - 10.0)),
                    ("y2", &(y + 10.0)),
                ],
            );
        }
    });
}

/// One path for all dots of a strip: lines of no length with round ends.
fn path(axis: &Axis, y: f64, values: &[f64]) -> String {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    // Of sorted values every so-manieth has the same distribution.
    sorted.sort_by(f64::total_cmp);
    let every = sorted.len().div_ceil(MOST).max(1);
    let last = sorted.last().copied();
    let mut path = String::new();
    for (at, value) in sorted.iter().step_by(every).chain(&last).enumerate() {
        let x = place(axis.at(*value));
        let _ = write!(path, "M{x} {}h0", place(y + jitter(at)));
    }
    path
}

/// How far a dot is moved up or down, so that equal values are seen: always the same, and with
/// neighbours far from each other (the golden ratio's multiples).
fn jitter(at: usize) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_895;
    let height = ROW - super::MIDDLE - 8.0;
    ((at as f64 + 1.0) * RATIO).fract().mul_add(2.0, -1.0) * height
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_the_same_each_time_and_within_their_row() {
        assert_eq!(jitter(5), jitter(5));
        for at in 0..1000 {
            assert!(jitter(at).abs() <= 9.0);
        }
        assert!((jitter(0) - jitter(1)).abs() > 2.0);
    }

    #[test]
    fn equal_values_one_value_zeros_and_none() {
        for values in [
            vec![2.0; 5],
            vec![3.0],
            vec![0.0, 0.0],
            vec![],
            vec![f64::NAN],
        ] {
            let strip = Strip {
                name: "a",
                words: String::new(),
                class: "x",
                mean: values.first().copied().unwrap_or(0.0),
                values,
            };
            let caption = Caption {
                id: "c".into(),
                title: "t".into(),
                words: "w".into(),
            };
            let mut html = Html::default();
            dots(&mut html, &caption, "s", &[strip]);
            let text = html.into_document();
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }

    #[test]
    fn many_values_are_thinned_and_keep_their_ends() {
        let values: Vec<f64> = (0..100_000).map(f64::from).collect();
        let path = path(&Axis::of(values.clone()), 0.0, &values);
        assert!(path.matches('M').count() <= MOST + 1);
        let last = place(Axis::of(values.clone()).at(99_999.0));
        assert!(path.contains(&format!("M{last} ")));
    }
}
