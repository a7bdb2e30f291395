//! What the user sees: words on stderr in cargo's manner, data on stdout.

mod running;

pub use running::Running;

use crate::error::{Diagnose, Error};
use crate::fs::FsError;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Warnings and errors only.
    Quiet,
    /// Steps and results.
    Normal,
    /// Every command too.
    Verbose,
}

/// The one place that writes to the terminal.
#[derive(Debug, Clone)]
pub struct Ui {
    verbosity: Verbosity,
    color: bool,
    progress: bool,
}

#[derive(Clone, Copy)]
enum Style {
    Good,
    Warning,
    Error,
    Note,
}

impl Ui {
    /// `color`: what `--color` or `CARGO_TERM_COLOR` says, if anything.
    pub fn new(verbosity: Verbosity, color: Option<&str>) -> Ui {
        let terminal = std::io::stderr().is_terminal();
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let color = match color {
            Some("always") => true,
            Some("never") => false,
            _ => terminal && !set("NO_COLOR") && std::env::var("TERM").as_deref() != Ok("dumb"),
        };
        Ui {
            verbosity,
            color,
            progress: terminal && !set("CI") && verbosity >= Verbosity::Normal,
        }
    }

    /// Whether every command is said.
    pub fn is_verbose(&self) -> bool {
        self.verbosity >= Verbosity::Verbose
    }

    /// A step, as cargo prints one: the verb right-aligned in twelve columns.
    pub fn status(&self, verb: &str, what: impl Display) {
        if self.verbosity >= Verbosity::Normal {
            self.line(&format!("{verb:>12}"), Style::Good, &format!(" {what}"));
        }
    }

    /// More about the step above.
    pub fn detail(&self, what: impl Display) {
        if self.verbosity >= Verbosity::Normal {
            self.raw(&format!("             {what}"));
        }
    }

    /// Said only with `-v`.
    pub fn verbose(&self, verb: &str, what: impl Display) {
        if self.verbosity >= Verbosity::Verbose {
            self.line(&format!("{verb:>12}"), Style::Good, &format!(" {what}"));
        }
    }

    /// Something the user should know before trusting the result.
    pub fn warn(&self, what: impl Display) {
        self.line("warning", Style::Warning, &format!(": {what}"));
    }

    /// Context to the line above.
    pub fn note(&self, what: impl Display) {
        if self.verbosity >= Verbosity::Normal {
            self.line("note", Style::Note, &format!(": {what}"));
        }
    }

    /// The end of a failed run: message, causes, advice.
    pub fn error(&self, error: &Error) {
        self.line("error", Style::Error, &format!(": {error}"));
        for cause in error.causes() {
            self.raw(&format!("  caused by: {cause}"));
        }
        if let Some(hint) = error.hint() {
            self.line("hint", Style::Note, &format!(": {hint}"));
        }
    }

    /// Data: the one thing that goes to stdout.
    pub fn data(&self, line: impl Display) {
        let mut out = std::io::stdout().lock();
        let written = writeln!(out, "{line}").and_then(|()| out.flush());
        match written {
            // A reader that went away (`| head`) is no error of ours.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                let error = FsError::new("write to", Path::new("stdout"), error);
                let code = error.exit_code();
                self.error(&error.into());
                // What was to be printed is the command's result.
                std::process::exit(code as i32);
            }
            _ => {}
        }
    }

    /// A spinner with the elapsed time while something long runs; nothing off a terminal.
    pub fn spinner(&self, message: impl Display) -> Spinner {
        if !self.progress {
            return Spinner(None);
        }
        let bar = indicatif::ProgressBar::new_spinner().with_message(message.to_string());
        bar.set_style(
            indicatif::ProgressStyle::with_template("{spinner:>12} {msg} [{elapsed}]")
                .expect("the template is a constant"),
        );
        bar.enable_steady_tick(Duration::from_millis(120));
        Spinner(Some(bar))
    }

    /// Whether stderr is a terminal that progress may be drawn on.
    pub fn draws_progress(&self) -> bool {
        self.progress
    }

    fn line(&self, head: &str, style: Style, rest: &str) {
        if self.color {
            let code = match style {
                Style::Good => "1;32",
                Style::Warning => "1;33",
                Style::Error => "1;31",
                Style::Note => "1;36",
            };
            self.raw(&format!("\x1b[{code}m{head}\x1b[0m{rest}"));
        } else {
            self.raw(&format!("{head}{rest}"));
        }
    }

    fn raw(&self, line: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }
}

/// Ends its line when dropped.
#[derive(Debug)]
pub struct Spinner(Option<indicatif::ProgressBar>);

impl Spinner {
    /// Replaces the words.
    pub fn set(&self, message: impl Display) {
        if let Some(bar) = &self.0 {
            bar.set_message(message.to_string());
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

/// A duration for people: `850 ms`, `12.3 s`, `4 min 05 s`.
pub fn seconds(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1000.0)
    } else if seconds < 60.0 {
        format!("{seconds:.1} s")
    } else {
        format!(
            "{} min {:02} s",
            duration.as_secs() / 60,
            duration.as_secs() % 60
        )
    }
}

/// A count for people: `4,314`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 file`, `2 files`.
pub fn plural(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(number as u64))
}

/// A share for people: `99.98 %`, never rounded up to 100.
pub fn percent(share: f64) -> String {
    let floored = (share * 10_000.0).floor() / 100.0;
    if floored >= 100.0 {
        "100 %".to_owned()
    } else {
        format!("{floored:.2} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(4314), "4,314");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(plural(1, "file"), "1 file");
        assert_eq!(seconds(Duration::from_millis(245_200)), "4 min 05 s");
    }

    #[test]
    fn a_share_below_one_never_reads_as_all() {
        assert_eq!(percent(0.999_999), "99.99 %");
        assert_eq!(percent(1.0), "100 %");
    }
}
