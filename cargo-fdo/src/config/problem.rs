//! What is wrong with a configuration, and where.

use crate::error::{Diagnose, ExitCode};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Everything that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// At least one, in the order of the file.
    pub problems: Vec<Problem>,
    hint: Option<String>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where; `None` for what was said on the command line.
    pub place: Option<Place>,
    /// What, and where there is one, the nearest thing that would be right.
    pub message: String,
}

/// A position in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, as shown: relative to the current directory where it lies below it.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The character in that line, from 1.
    pub column: usize,
}

impl ConfigError {
    /// Problems with a position, such as those of [`super::Config::unknown_packages`]; `None`
    /// if there are none.
    pub fn of(problems: Vec<Problem>) -> Option<ConfigError> {
        (!problems.is_empty()).then_some(ConfigError {
            problems,
            hint: None,
        })
    }

    /// A file that is no text.
    pub(super) fn not_text(file: &str, error: &std::string::FromUtf8Error) -> ConfigError {
        let at = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..at];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        ConfigError::usage(
            format!("`{file}` is not UTF-8 in line {line}, at byte {at}"),
            "TOML files are UTF-8; save it as such",
        )
    }

    /// One problem with what was said on the command line.
    pub(super) fn usage(message: String, hint: impl Into<String>) -> ConfigError {
        let place = None;
        ConfigError::usage_all(vec![Problem { place, message }], hint)
    }

    /// Several of them.
    pub(super) fn usage_all(problems: Vec<Problem>, hint: impl Into<String>) -> ConfigError {
        ConfigError {
            problems,
            hint: Some(hint.into()),
        }
    }
}

impl Diagnose for ConfigError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Usage
    }

    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            // Nothing to list: the message of a wrong argument stands for itself.
            [only @ Problem { place: None, .. }] => return only.fmt(f),
            [_] => f.write_str("1 problem in the configuration")?,
            all => write!(f, "{} problems in the configuration", all.len())?,
        }
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// In the form that editors and terminals take for a link.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// The problems of one file, gathered while it is read.
pub(super) struct Problems<'t> {
    file: &'t Path,
    text: &'t str,
    found: Vec<Problem>,
}

impl<'t> Problems<'t> {
    /// None yet.
    pub(super) fn new(file: &'t Path, text: &'t str) -> Problems<'t> {
        Problems {
            file,
            text,
            found: Vec::new(),
        }
    }

    /// Adds one at the first byte of `span`.
    pub(super) fn add(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.found.push(Problem {
            place: Some(self.place(&span)),
            message: message.into(),
        });
    }

    /// The position of the first byte of `span`.
    pub(super) fn place(&self, span: &Range<usize>) -> Place {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        let line_start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |newline| newline + 1);
        Place {
            file: self.file.to_owned(),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            // Lossy, since a span of the parser could end inside a character.
            column: 1 + String::from_utf8_lossy(&before[line_start..])
                .chars()
                .count(),
        }
    }

    /// All of them, in the order of the file.
    pub(super) fn into_sorted(mut self) -> Vec<Problem> {
        self.found
            .sort_by(|left, right| left.place.cmp(&right.place));
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let problems = Problems::new(Path::new("f"), "aé\nbc\n");
        let at = |byte: usize| {
            let place = problems.place(&(byte..byte));
            (place.line, place.column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(3), (1, 3));
        assert_eq!(at(4), (2, 1));
        assert_eq!(at(7), (3, 1));
        assert_eq!(at(99), (3, 1));
    }

    #[test]
    fn a_problem_without_a_place_needs_no_head_line() {
        let error = ConfigError::usage("no workload `x`".into(), "h");
        assert_eq!(error.to_string(), "no workload `x`");
        assert_eq!(error.exit_code(), ExitCode::Usage);
    }
}
