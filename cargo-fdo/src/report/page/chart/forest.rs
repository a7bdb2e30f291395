//! Ratios to the baseline with their intervals, and the line at 1.

use super::{Axis, Caption, draw_axis, draw_name, middle, place, svg};
use crate::report::page::html::Html;

/// One variant's ratio.
pub(in crate::report::page) struct Effect<'a> {
    pub(in crate::report::page) name: &'a str,
    /// Beside the name.
    pub(in crate::report::page) words: String,
    /// How it is drawn: a class of the style sheet, and with it the shape.
    pub(in crate::report::page) mark: Mark,
    pub(in crate::report::page) ratio: f64,
    pub(in crate::report::page) interval: Option<(f64, f64)>,
}

/// What a mark says: by its form, and by its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report::page) enum Mark {
    /// A filled disc.
    Better,
    /// A filled square.
    Worse,
    /// A ring.
    Open,
}

/// An interval may reach so many times as far as any ratio; what is beyond would squeeze the rest
/// into nothing.
const REACH: f64 = 4.0;

/// Draws them all.
pub(in crate::report::page) fn forest(
    html: &mut Html,
    caption: &Caption,
    title: &str,
    effects: &[Effect<'_>],
) {
    let axis = axis(effects);
    svg(html, caption, effects.len(), |html, bottom| {
        draw_axis(html, &axis, bottom, title);
        let x = place(axis.at(1.0));
        html.empty(
            "line",
            &[
                ("class", &"one"),
                ("x1", &x),
                ("x2", &x),
                ("y1", &0),
                ("y2", &bottom),
            ],
        );
        for (row, effect) in effects.iter().enumerate() {
            draw_name(html, row, effect.name, &effect.words);
            draw(html, &axis, middle(row), effect);
        }
    });
}

fn axis(effects: &[Effect<'_>]) -> Axis {
    let ratios = || effects.iter().map(|effect| effect.ratio).chain([1.0]);
    let far = ratios()
        .map(|ratio| (ratio - 1.0).abs())
        .fold(0.0, f64::max)
        * REACH;
    let ends = effects
        .iter()
        .filter_map(|effect| effect.interval)
        .flat_map(|(low, high)| [low, high])
        .filter(|end| (end - 1.0).abs() <= far.max(0.1));
    Axis::of(ratios().chain(ends))
}

fn draw(html: &mut Html, axis: &Axis, y: f64, effect: &Effect<'_>) {
    let class = match effect.mark {
        Mark::Better => "better",
        Mark::Worse => "worse",
        Mark::Open => "open",
    };
    if let Some((low, high)) = effect.interval {
        let (from, to) = (axis.at(low), axis.at(high));
        html.empty(
            "line",
            &[
                ("class", &format!("interval {class}")),
                ("x1", &place(from)),
                ("x2", &place(to)),
                ("y1", &y),
                ("y2", &y),
            ],
        );
        // A bar where the interval ends, an arrow where it goes on.
        for (value, x, outward) in [(low, from, -1.0), (high, to, 1.0)] {
            let inward = if axis.holds(value) {
                0.0
            } else {
                -6.0 * outward
            };
            let (x, bent) = (place(x), place(x + inward));
            let path = format!("M{bent} {}L{x} {y}L{bent} {}", y - 5.0, y + 5.0);
            html.empty(
                "path",
                &[("class", &format!("interval {class}")), ("d", &path)],
            );
        }
    }
    let x = axis.at(effect.ratio);
    let class = format!("mark {class}");
    if effect.mark == Mark::Worse {
        html.empty(
            "rect",
            &[
                ("class", &class),
                ("x", &place(x - 5.0)),
                ("y", &place(y - 5.0)),
                ("width", &10),
                ("height", &10),
            ],
        );
    } else {
        html.empty(
            "circle",
            &[
                ("class", &class),
                ("cx", &place(x)),
                ("cy", &y),
                ("r", &5.5),
            ],
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(ratio: f64, interval: Option<(f64, f64)>) -> String {
        let caption = Caption {
            id: "c".into(),
            title: "t".into(),
            words: "w".into(),
        };
        let effect = Effect {
            name: "optimized",
            words: String::new(),
            mark: Mark::Better,
            ratio,
            interval,
        };
        let mut html = Html::default();
        forest(&mut html, &caption, "ratio", &[effect]);
        html.into_document()
    }

    #[test]
    fn coordinates_are_finite_whatever_the_interval() {
        for (ratio, interval) in [
            (1.0, None),
            (1.0, Some((1.0, 1.0))),
            (0.9, Some((0.89, 0.91))),
            (1.0, Some((1e-300, 1e300))),
            (1e300, Some((f64::MIN_POSITIVE, f64::MAX))),
            (0.5, Some((0.0, f64::INFINITY))),
        ] {
            let text = drawn(ratio, interval);
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }

    #[test]
    fn the_line_at_one_is_always_there() {
        assert!(axis(&[]).holds(1.0));
        assert!(drawn(0.2, Some((0.19, 0.21))).contains("class=\"one\""));
    }

    #[test]
    fn an_endless_interval_does_not_squeeze_the_others() {
        let text = drawn(0.9, Some((0.0001, 9000.0)));
        // Both ends are arrows, and the axis is about the ratio.
        assert!(text.contains("0.90"), "{text}");
        assert!(!text.contains("9000"), "{text}");
    }
}
