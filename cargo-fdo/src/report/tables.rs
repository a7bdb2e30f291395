//! Columns that line up.

/// A small table: the first column is left-aligned, the others right.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new<const N: usize>(head: [&str; N]) -> Table {
        Table {
            rows: vec![head.map(str::to_owned).into()],
        }
    }

    /// For columns that are known when it is made.
    pub(super) fn of(head: Vec<String>) -> Table {
        Table { rows: vec![head] }
    }

    pub(super) fn push(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(super) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// The lines; none if there is nothing but the head.
    pub(super) fn lines(&self) -> Vec<String> {
        if self.rows.len() < 2 {
            return Vec::new();
        }
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        self.rows
            .iter()
            .map(|row| {
                let cells: Vec<String> = row
                    .iter()
                    .zip(&widths)
                    .enumerate()
                    .map(|(column, (cell, width))| {
                        if column == 0 {
                            format!("{cell:<width$}")
                        } else {
                            format!("{cell:>width$}")
                        }
                    })
                    .collect();
                cells.join("  ").trim_end().to_owned()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["package", "used"]);
        table.row(["a".into(), "100 %".into()]);
        assert_eq!(table.lines(), ["package   used", "a        100 %"]);
    }

    #[test]
    fn an_empty_table_prints_nothing() {
        assert!(Table::new(["package"]).lines().is_empty());
    }
}
