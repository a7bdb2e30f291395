//! Why a figure could not be read.

/// Why a figure could not be read, or its description is no use.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MetricError {
    /// Nothing that was printed looks like it.
    #[error("`{metric}` is not in what was printed, which is{excerpt}")]
    NotFound {
        /// The figure, or the reader.
        metric: String,
        /// First and last lines of the text.
        excerpt: String,
    },
    /// It is there, but what stands in its place is no finite number.
    #[error("`{metric}` is `{found}`{}, which is not a number", on_line(*line))]
    NotNumber {
        /// The figure.
        metric: String,
        /// What stands there, shortened.
        found: String,
        /// The line, from 1; `None` within JSON.
        line: Option<usize>,
    },
    /// A number in a unit that can't become the figure's.
    #[error("`{metric}` is `{found}`{}, which can't be given in {unit}", on_line(*line))]
    WrongUnit {
        /// The figure.
        metric: String,
        /// What stands there, shortened.
        found: String,
        /// The figure's unit.
        unit: String,
        /// The line, from 1; `None` within JSON.
        line: Option<usize>,
    },
    /// The text should be JSON.
    #[error(
        "`{metric}` wants JSON, and line {line}, column {column} is not: {reason}; what was printed is{excerpt}"
    )]
    NotJson {
        /// The figure, or the reader.
        metric: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What the parser says.
        reason: String,
        /// First and last lines of the text.
        excerpt: String,
    },
    /// JSON that has nothing where the figure should be.
    #[error("`{metric}`: nothing is at `{pointer}` of the JSON; `{reached}` is {there}")]
    NothingThere {
        /// The figure, or the reader.
        metric: String,
        /// The whole pointer.
        pointer: String,
        /// As much of it as leads somewhere.
        reached: String,
        /// What is there.
        there: String,
    },
    /// The user's regular expression is none.
    #[error("{0}")]
    BadRegex(regex::Error),
    /// The user's regular expression does not say which part of the match is the number.
    #[error(
        "`{pattern}` has {groups} groups; the number has to be the only one, or be named: `(?<value>…)`"
    )]
    BadGroups {
        /// The expression.
        pattern: String,
        /// How many groups it has.
        groups: usize,
    },
    /// The user's JSON pointer is none.
    #[error("`{pointer}` is not a JSON pointer: {reason}")]
    BadPointer {
        /// The text.
        pointer: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// Where, if it is known.
fn on_line(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(" on line {line}"))
}
