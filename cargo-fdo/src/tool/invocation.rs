//! A tool call as a value: describe it, print it, run it, explain its failure.

use crate::error::{Diagnose, ExitCode};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How many bytes of a failed tool's words are shown.
const TAIL: usize = 4000;

/// One call of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program, as a name or path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables set (`Some`) or removed (`None`).
    pub env: Vec<(OsString, Option<OsString>)>,
    /// Where it runs; here if `None`.
    pub cwd: Option<PathBuf>,
}

/// What a captured call left.
#[derive(Debug)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// Its data.
    pub stdout: String,
    /// Its words.
    pub stderr: String,
}

/// Why a tool did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It could not be started.
    #[error("can't start `{}`", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It ended with a failure.
    #[error("`{}` failed ({})\n  command: {command}\n  stderr:  {stderr}", name(program), describe(*status))]
    Failed {
        /// The program.
        program: PathBuf,
        /// The whole call, shell-quoted.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The end of what it said.
        stderr: String,
    },
}

impl Diagnose for ToolError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        match self {
            ToolError::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => Some(
                "`cargo fdo doctor` lists the tools that are missing and their packages".into(),
            ),
            ToolError::Failed { stderr, .. } => {
                [io::ErrorKind::StorageFull, io::ErrorKind::FileTooLarge]
                    .into_iter()
                    .zip(["No space left on device", "File too large"])
                    .find(|(_, words)| stderr.contains(words))
                    .and_then(|(kind, _)| crate::fs::remedy(kind))
            }
            _ => None,
        }
    }
}

impl Invocation {
    /// A call without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Invocation {
        Invocation {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Invocation {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Invocation {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Invocation {
        // The last one counts, and is the only one to be shown.
        self.env.retain(|(known, _)| known != name.as_ref());
        self.env
            .push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Removes a variable.
    #[must_use]
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Invocation {
        self.env.push((name.as_ref().to_owned(), None));
        self
    }

    /// Where it runs.
    #[must_use]
    pub fn cwd(mut self, dir: impl Into<PathBuf>) -> Invocation {
        self.cwd = Some(dir.into());
        self
    }

    /// The same to be shown without its variables.
    #[must_use]
    pub fn without_env(&self) -> Invocation {
        Invocation {
            env: Vec::new(),
            ..self.clone()
        }
    }

    /// As a command of the standard library.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(dir) = &self.cwd {
            command.current_dir(dir);
        }
        command
    }

    /// Runs a probe: how it ends is the answer.
    ///
    /// # Errors
    ///
    /// Only if it can't be started.
    pub fn probe(&self) -> Result<Output, ToolError> {
        let output = self
            .command()
            .stdin(Stdio::null())
            .output()
            .map_err(|source| self.start_error(source))?;
        Ok(Output {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Runs a tool that answers in a moment and in a few lines, which a program of a user's choice may
    /// not do.
    ///
    /// # Errors
    ///
    /// If it does not start, or takes longer than `limit`.
    pub fn probe_within(&self, limit: Duration) -> Result<Output, ToolError> {
        /// More than any perf says of itself.
        const MOST: u64 = 1 << 20;
        let mut child = self
            .command()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| self.start_error(source))?;
        // Threads of their own: what the child started may hold the pipes open after its end.
        let read = |pipe: Box<dyn Read + Send>| {
            let (sender, receiver) = mpsc::channel();
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = pipe.take(MOST).read_to_end(&mut bytes);
                let _ = sender.send(bytes);
            });
            receiver
        };
        let stdout = child.stdout.take().map(|pipe| read(Box::new(pipe)));
        let stderr = child.stderr.take().map(|pipe| read(Box::new(pipe)));
        let start = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if start.elapsed() < limit => std::thread::sleep(Duration::from_millis(2)),
                ended => {
                    let _ = child.kill();
                    let _ = child.wait();
                    let words = format!("it had not ended after {} s", limit.as_secs());
                    let late = io::Error::new(io::ErrorKind::TimedOut, words);
                    return Err(self.start_error(ended.err().unwrap_or(late)));
                }
            }
        };
        let text = |receiver: Option<mpsc::Receiver<Vec<u8>>>| {
            let bytes = receiver.and_then(|it| it.recv_timeout(Duration::from_secs(5)).ok());
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        Ok(Output {
            status,
            stdout: text(stdout),
            stderr: text(stderr),
        })
    }

    /// Runs a tool that must succeed, and returns what it printed.
    ///
    /// # Errors
    ///
    /// [`ToolError`], with command, status and the end of its words.
    pub fn run(&self) -> Result<Output, ToolError> {
        let output = self.probe()?;
        if output.status.success() {
            return Ok(output);
        }
        Err(self.failed(output.status, &output.stderr))
    }

    /// The error for a call that ended badly.
    pub fn failed(&self, status: ExitStatus, stderr: &str) -> ToolError {
        ToolError::Failed {
            program: self.program.clone(),
            command: self.to_string(),
            status,
            stderr: tail(without_stack(stderr).trim()),
        }
    }

    /// The error for a call that did not start.
    pub fn start_error(&self, source: io::Error) -> ToolError {
        ToolError::Start {
            program: self.program.clone(),
            source,
        }
    }
}

/// Shell-quoted, as one could type it.
impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(dir) = &self.cwd {
            write!(f, "cd {} && ", quote(dir.as_os_str()))?;
        }
        let unset: Vec<_> = self
            .env
            .iter()
            .filter(|(_, value)| value.is_none())
            .collect();
        if !unset.is_empty() {
            f.write_str("env ")?;
            for (name, _) in &unset {
                write!(f, "-u {} ", quote(name))?;
            }
        }
        // A name such as `CC_x86_64-unknown-linux-gnu` is no shell variable; `env` takes it.
        let odd = |name: &OsString| name.to_string_lossy().contains('-');
        if unset.is_empty() && self.env.iter().any(|(name, _)| odd(name)) {
            f.write_str("env ")?;
        }
        for (name, value) in &self.env {
            if let Some(value) = value {
                write!(f, "{}={} ", name.to_string_lossy(), quote(value))?;
            }
        }
        f.write_str(&quote(self.program.as_os_str()))?;
        for arg in &self.args {
            write!(f, " {}", quote(arg))?;
        }
        Ok(())
    }
}

/// One word, quoted for a shell where it must be.
pub fn quote(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    match shlex::try_quote(&word) {
        Ok(quoted) => quoted.into_owned(),
        Err(_) => format!("{word:?}"),
    }
}

/// A status in words, with the signal's name where there was one.
pub fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            let name = match signal {
                1 => "SIGHUP",
                2 => "SIGINT",
                3 => "SIGQUIT",
                4 => "SIGILL",
                6 => "SIGABRT",
                7 => "SIGBUS",
                8 => "SIGFPE",
                9 => "SIGKILL",
                11 => "SIGSEGV",
                13 => "SIGPIPE",
                14 => "SIGALRM",
                15 => "SIGTERM",
                _ => return format!("signal {signal}"),
            };
            return format!("signal {signal}, {name}");
        }
    }
    match status.code() {
        Some(code) => format!("exit status {code}"),
        None => status.to_string(),
    }
}

fn name(program: &Path) -> String {
    program.file_name().map_or_else(
        || program.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Without the addresses that LLVM's tools print when they give up: they say what failed after.
fn without_stack(text: &str) -> String {
    let is_stack = |line: &str| {
        let line = line.trim_start();
        let frame = line
            .strip_prefix('#')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        frame || line.starts_with("Stack dump:") || line.starts_with("PLEASE submit a bug report")
    };
    text.lines()
        .filter(|line| !is_stack(line) && !line.starts_with("0.\tProgram arguments:"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn tail(text: &str) -> String {
    if text.len() <= TAIL {
        return text.to_owned();
    }
    let mut start = text.len() - TAIL;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    format!("[…] {}", &text[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_prints_as_one_could_type_it() {
        let call = Invocation::new("cargo")
            .env("CC_x86_64-unknown-linux-gnu", "/s/clang")
            .arg("build")
            .arg("--config=a b")
            .cwd("/w/it's");
        assert_eq!(
            call.to_string(),
            r#"cd "/w/it's" && env CC_x86_64-unknown-linux-gnu=/s/clang cargo build '--config=a b'"#
        );
    }

    #[test]
    fn a_failure_names_command_status_and_words() {
        let call = Invocation::new("sh").args(["-c", "echo no luck >&2; exit 7"]);
        let text = call.run().unwrap_err().to_string();
        assert!(text.contains("`sh` failed (exit status 7)"), "{text}");
        assert!(text.contains("no luck"), "{text}");
    }

    #[test]
    fn a_tool_that_hangs_or_floods_is_left_behind() {
        let hangs = Invocation::new("sleep").arg("600");
        let error = hangs.probe_within(Duration::from_millis(50)).unwrap_err();
        assert!(std::error::Error::source(&error).is_some(), "{error}");
        // Its pipe is closed after what it may say, and that ends it.
        let floods = Invocation::new("sh").args(["-c", "yes; echo done >&2; exit 3"]);
        let said = floods.probe_within(Duration::from_secs(600)).unwrap();
        assert_eq!(said.stdout.len(), 1 << 20);
        let quick = Invocation::new("sh").args(["-c", "echo out; echo err >&2"]);
        let said = quick.probe_within(Duration::from_secs(600)).unwrap();
        assert_eq!(
            (said.stdout.as_str(), said.stderr.as_str()),
            ("out\n", "err\n")
        );
    }
}
