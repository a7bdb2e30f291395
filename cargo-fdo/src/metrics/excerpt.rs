//! Enough of a text to see what it is.

/// Lines shown of each end.
const LINES: usize = 3;
/// Characters shown of a line, or of a word.
const WIDTH: usize = 100;

/// The first and the last lines of a text, to be put right after the `is` of an error message.
pub(super) fn excerpt(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    if lines.is_empty() {
        return " nothing".to_owned();
    }
    let shown = |lines: &[&str]| -> String {
        let lines = lines
            .iter()
            .map(|line| format!("\n    {}", shortened(line)));
        lines.collect()
    };
    let hidden = lines.len().saturating_sub(2 * LINES);
    if hidden == 0 {
        return format!(":{}", shown(&lines));
    }
    let (first, last) = (&lines[..LINES], &lines[LINES + hidden..]);
    format!(
        ":{}\n    … {hidden} more lines …{}",
        shown(first),
        shown(last)
    )
}

/// A line that fits into a message: control characters are replaced, too long an end is left out.
pub(super) fn shortened(line: &str) -> String {
    let line = line.trim_end();
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = line.chars().take(WIDTH).map(clean).collect();
    if line.chars().nth(WIDTH).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_long_text_and_all_of_a_short_one() {
        assert_eq!(excerpt(" \n\n"), " nothing");
        assert_eq!(excerpt("one\n\ntwo\n"), ":\n    one\n    two");
        let long: Vec<String> = (1..=9).map(|line| format!("line {line}")).collect();
        let shown = excerpt(&long.join("\n"));
        assert!(shown.starts_with(":\n    line 1\n    line 2\n    line 3\n    … 3 more lines …"));
        assert!(shown.ends_with("…\n    line 7\n    line 8\n    line 9"));
    }

    #[test]
    fn long_lines_are_cut_and_control_characters_harmless() {
        assert_eq!(shortened("a\x1b[31mb"), "a [31mb");
        assert_eq!(shortened(&"µ".repeat(500)).chars().count(), WIDTH + 1);
    }
}
