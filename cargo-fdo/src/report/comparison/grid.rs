//! A table that can be drawn in several ways.

/// Columns of words are left-aligned, those of numbers right.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::report) struct Grid {
    pub(in crate::report) head: Vec<String>,
    pub(in crate::report) rows: Vec<Vec<String>>,
    /// How many columns, from the left, are of words.
    pub(in crate::report) words: usize,
}

impl Grid {
    pub(in crate::report) fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Grid {
        Grid {
            head: head.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
            words: 1,
        }
    }

    /// So many columns of words, and not one.
    pub(in crate::report) fn with_words(mut self, words: usize) -> Grid {
        self.words = words;
        self
    }

    /// Columns that line up, indented; nothing where there is no row.
    pub(super) fn text(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let widths = self.widths(&|cell| cell.to_owned());
        let line =
            |cells: &[String]| format!("  {}\n", self.padded(cells, &widths, "  ").trim_end());
        let mut out = line(&self.head);
        for row in &self.rows {
            out.push_str(&line(row));
        }
        out
    }

    /// A table of GitHub's Markdown, lined up in the source too.
    pub(super) fn markdown(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        // A bar would end the cell, a star would begin an emphasis.
        let escape = |cell: &str| cell.replace('|', "\\|").replace('*', "\\*");
        let widths = self.widths(&escape);
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
            format!("| {} |\n", self.padded(&cells, &widths, " | "))
        };
        let mut out = line(&self.head);
        let rules: Vec<String> = widths
            .iter()
            .enumerate()
            .map(|(at, width)| {
                let dashes = "-".repeat(width.saturating_sub(1).max(2));
                if at < self.words {
                    format!("{dashes}-")
                } else {
                    format!("{dashes}:")
                }
            })
            .collect();
        out.push_str(&format!("| {} |\n", rules.join(" | ")));
        for row in &self.rows {
            out.push_str(&line(row));
        }
        out
    }

    fn padded(&self, cells: &[String], widths: &[usize], gap: &str) -> String {
        let cells: Vec<String> = widths
            .iter()
            .enumerate()
            .map(|(at, width)| {
                let cell = cells.get(at).map_or("", String::as_str);
                if at < self.words {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
            .collect();
        cells.join(gap)
    }

    fn widths(&self, shown: &dyn Fn(&str) -> String) -> Vec<usize> {
        (0..self.head.len())
            .map(|column| {
                [&self.head]
                    .into_iter()
                    .chain(&self.rows)
                    .filter_map(|row| row.get(column))
                    .map(|cell| shown(cell).chars().count())
                    .max()
                    .unwrap_or(0)
                    .max(3)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new(["variant", "mean"]);
        grid.rows = vec![
            vec!["a|b".into(), "12.5".into()],
            vec!["c".into(), "1 *".into()],
        ];
        grid
    }

    #[test]
    fn text_lines_up() {
        assert_eq!(
            grid().text(),
            "  variant  mean\n  a|b      12.5\n  c         1 *\n"
        );
    }

    #[test]
    fn markdown_is_a_table_whatever_is_in_it() {
        assert_eq!(
            grid().markdown(),
            "| variant | mean |\n| ------- | ---: |\n| a\\|b    | 12.5 |\n| c       | 1 \\* |\n"
        );
    }

    #[test]
    fn without_rows_there_is_nothing() {
        assert_eq!(Grid::new(["a"]).text() + &Grid::new(["a"]).markdown(), "");
    }
}
