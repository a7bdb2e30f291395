//! Something of the user's that runs on a terminal, with a line below its output that says what it
//! is and how long it has taken.
//!
//! Two writers on one terminal would write into each other's lines. So the program writes into a
//! pipe, and its lines come out above ours, one whole line after the other. Off a terminal there
//! is no line and no pipe.

use super::{Spinner, Ui};
use std::fmt::Display;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// A line without an end is printed in parts of this many bytes.
const LONGEST_LINE: usize = 64 * 1024;

/// How long to wait for what is left in the pipe when all that could write is stopped.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The line, until it is dropped.
#[derive(Debug)]
pub struct Running {
    relay: Option<Relay>,
    color: bool,
}

#[derive(Debug)]
struct Relay {
    spinner: Spinner,
    to: PipeWriter,
    done: Receiver<()>,
}

impl Ui {
    /// Shows a line while programs run whose outputs are [connected](Running::connect) to it.
    pub fn running(&self, message: impl Display) -> Running {
        let relay = self
            .progress
            .then(|| Relay::start(self.spinner(message)).ok())
            .flatten();
        Running {
            relay,
            color: self.color,
        }
    }
}

impl Running {
    /// Directs a program's outputs: both to stderr, because our stdout is for data.
    pub fn connect(&self, command: &mut Command) {
        let pipe = || Some(Stdio::from(self.relay.as_ref()?.to.try_clone().ok()?));
        let or_stderr = |pipe: Option<Stdio>| pipe.unwrap_or_else(|| io::stderr().into());
        command
            .stdin(Stdio::null())
            .stdout(or_stderr(pipe()))
            .stderr(or_stderr(pipe()));
        if self.relay.is_some() && self.color && std::env::var_os("CARGO_TERM_COLOR").is_none() {
            // Cargo sees no terminal any more.
            command.env("CARGO_TERM_COLOR", "always");
        }
    }
}

impl Relay {
    fn start(spinner: Spinner) -> io::Result<Relay> {
        let (from, to) = io::pipe()?;
        let (ended, done) = mpsc::channel();
        let bar = spinner.0.clone();
        std::thread::spawn(move || {
            relay(from, |lines| {
                let print = || io::stderr().lock().write_all(lines);
                // A terminal that is gone is no error of the program that runs.
                let _ = match &bar {
                    Some(bar) => bar.suspend(print),
                    None => print(),
                };
            });
            let _ = ended.send(());
        });
        Ok(Relay { spinner, to, done })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(Relay { spinner, to, done }) = self.relay.take() {
            drop(to);
            // Where somebody still holds the pipe, its words come when they come.
            let _ = done.recv_timeout(LAST_WORDS);
            drop(spinner);
        }
    }
}

/// Hands whole lines on until the pipe's end; there also what has none.
fn relay(mut from: PipeReader, mut print: impl FnMut(&[u8])) {
    let mut waiting = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        let read = match from.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(read) => read,
        };
        waiting.extend_from_slice(&chunk[..read]);
        let whole = waiting
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        if whole > 0 {
            print(&waiting[..whole]);
            waiting.drain(..whole);
        } else if waiting.len() >= LONGEST_LINE {
            waiting.push(b'\n');
            print(&waiting);
            waiting.clear();
        }
    }
    if !waiting.is_empty() {
        waiting.push(b'\n');
        print(&waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_are_handed_on() {
        let (from, mut to) = io::pipe().unwrap();
        let (send, printed) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            relay(from, |lines| send.send(lines.to_vec()).unwrap());
        });
        to.write_all(b"one\ntw").unwrap();
        assert_eq!(printed.recv().unwrap(), b"one\n");
        to.write_all(b"o\nend").unwrap();
        assert_eq!(printed.recv().unwrap(), b"two\n");
        drop(to);
        assert_eq!(printed.recv().unwrap(), b"end\n");
        thread.join().unwrap();
    }

    #[test]
    fn a_line_without_an_end_does_not_grow_for_ever() {
        let (from, mut to) = io::pipe().unwrap();
        let thread = std::thread::spawn(move || {
            let mut longest = 0;
            relay(from, |lines| longest = longest.max(lines.len()));
            longest
        });
        to.write_all(&[b'x'; 5 * LONGEST_LINE]).unwrap();
        drop(to);
        assert!(thread.join().unwrap() <= LONGEST_LINE + 8192 + 1);
    }
}
