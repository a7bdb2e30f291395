//! Lines as a terminal would show them.

use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Colours and the like (ECMA-48 control sequences).
static CONTROL: LazyLock<Regex> = LazyLock::new(|| expression(r"\x1b\[[0-9;?]*[ -/]*[@-~]"));

/// A regular expression of ours; tests use each of them.
pub(super) fn expression(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the expression is right")
}

/// The lines with their numbers, from 1: without colours, and without what a carriage return
/// overwrote, as programs do that show their progress.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    text.lines().enumerate().map(|(index, line)| {
        let line = line.trim_end_matches('\r');
        let line = line.rsplit_once('\r').map_or(line, |(_, last)| last);
        (index + 1, CONTROL.replace_all(line, ""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_and_colours_are_not_seen() {
        let text = "... 10 ops\r... 20 ops\rname : 1\r\n\x1b[1;32mgreen\x1b[0m\nlast";
        let lines: Vec<_> = lines(text).collect();
        let wanted = [(1, "name : 1"), (2, "green"), (3, "last")];
        assert!(
            lines.iter().map(|(n, l)| (*n, &**l)).eq(wanted),
            "{lines:?}"
        );
    }
}
