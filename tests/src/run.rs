//! What came out of a command.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};

/// A command that has ended, and assertions on it that show all of it when they fail.
#[derive(Debug)]
pub struct Run {
    command: String,
    output: Output,
}

impl Run {
    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Run {
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => panic!("can't run {command:?}: {error}"),
        };
        Run {
            command: format!("{command:?}"),
            output,
        }
    }

    /// Whether it ended with status 0.
    pub fn is_success(&self) -> bool {
        self.output.status.success()
    }

    /// Ended with status 0.
    #[track_caller]
    pub fn succeeds(self) -> Run {
        self.expect(self.output.status.success(), "success");
        self
    }

    /// Ended with this status.
    #[track_caller]
    pub fn fails_with(self, code: u8) -> Run {
        let wanted = format!("exit status {code}");
        self.expect(self.output.status.code() == Some(code.into()), &wanted);
        self
    }

    /// Ended with this status and an error in words that has all these parts.
    #[track_caller]
    pub fn fails_saying(self, code: u8, parts: &[&str]) -> Run {
        let run = self.fails_with(code);
        run.stderr_has("error: ");
        for part in parts {
            run.stderr_has(part);
        }
        for debug in ["Os { code", "kind: ", "Some(\"", "Err(", "src/command/"] {
            run.stderr_lacks(debug);
        }
        run
    }

    /// Was killed by this signal.
    #[track_caller]
    pub fn dies_by(self, signal: i32) -> Run {
        let wanted = format!("death by signal {signal}");
        self.expect(self.output.status.signal() == Some(signal), &wanted);
        self
    }

    /// Said this on stderr, among other things.
    #[track_caller]
    pub fn stderr_has(&self, text: &str) -> &Run {
        self.expect(
            self.stderr().contains(text),
            &format!("stderr with {text:?}"),
        );
        self
    }

    /// Did not say this on stderr.
    #[track_caller]
    pub fn stderr_lacks(&self, text: &str) -> &Run {
        let wanted = format!("stderr without {text:?}");
        self.expect(!self.stderr().contains(text), &wanted);
        self
    }

    /// Said this on stdout, among other things.
    #[track_caller]
    pub fn stdout_has(&self, text: &str) -> &Run {
        self.expect(
            self.stdout().contains(text),
            &format!("stdout with {text:?}"),
        );
        self
    }

    /// Did not say this on stdout.
    #[track_caller]
    pub fn stdout_lacks(&self, text: &str) -> &Run {
        let wanted = format!("stdout without {text:?}");
        self.expect(!self.stdout().contains(text), &wanted);
        self
    }

    /// Everything on stdout.
    #[track_caller]
    pub fn stdout(&self) -> &str {
        text("stdout", &self.output.stdout)
    }

    /// Everything on stderr.
    #[track_caller]
    pub fn stderr(&self) -> &str {
        text("stderr", &self.output.stderr)
    }

    /// Stdout as one JSON value.
    #[track_caller]
    pub fn stdout_json(&self) -> serde_json::Value {
        match serde_json::from_str(self.stdout()) {
            Ok(value) => value,
            Err(error) => self.fail(&format!("JSON on stdout ({error})")),
        }
    }

    /// Stdout as one JSON value a line, as `--message-format json` writes it.
    #[track_caller]
    pub fn stdout_events(&self) -> Vec<serde_json::Value> {
        let event = |line| match serde_json::from_str(line) {
            Ok(value) => value,
            Err(error) => self.fail(&format!("JSON lines on stdout ({error} in `{line}`)")),
        };
        self.stdout().lines().map(event).collect()
    }

    #[track_caller]
    fn expect(&self, holds: bool, wanted: &str) {
        if !holds {
            self.fail(wanted);
        }
    }

    #[track_caller]
    fn fail(&self, wanted: &str) -> ! {
        panic!(
            "expected {wanted}\n  command: {}\n  ended:   {}\n--- stdout\n{}--- stderr\n{}---",
            self.command,
            self.output.status,
            String::from_utf8_lossy(&self.output.stdout),
            String::from_utf8_lossy(&self.output.stderr),
        )
    }
}

#[track_caller]
fn text<'a>(name: &str, bytes: &'a [u8]) -> &'a str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => panic!("{name} is not text: {error}"),
    }
}
