//! Runs a compiler, keeps the words that prove the profile was used, passes the rest on.

use crate::profile::evidence::{Evidence, Filter};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitStatus, Stdio};

/// Runs a compiler whose evidence is wanted; its other words reach our own stderr unchanged.
pub(super) fn run_filtered(command: &mut Command) -> Result<(ExitStatus, Evidence), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("can't start `{program}`: {error}"))?;
    let pipe = child.stderr.take().expect("stderr was asked for");
    let mut filter = Filter::default();
    let mut reader = BufReader::with_capacity(1 << 16, pipe);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => {
                if let Some(rest) = filter.line(&line) {
                    // A reader that went away must not fail the compilation.
                    let _ = std::io::stderr().write_all(&rest);
                }
            }
            Err(error) => return Err(format!("can't read what `{program}` says: {error}")),
        }
    }
    let status = child
        .wait()
        .map_err(|error| format!("can't wait for `{program}`: {error}"))?;
    Ok((status, filter.finish()))
}
