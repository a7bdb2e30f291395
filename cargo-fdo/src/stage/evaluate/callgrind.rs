//! Instructions that a program executes, counted by valgrind's callgrind: the same number on any
//! machine, however busy, where time is too noisy to show a small gain.

use crate::tool::Invocation;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

/// The call that runs `call` under callgrind, with all processes that it starts; what is counted
/// goes into `dir`, one file for each.
pub(super) fn wrap(valgrind: &Path, call: &Invocation, dir: &Path) -> Invocation {
    let file = |option: &str, name: &str| {
        let mut word = OsString::from(option);
        // valgrind takes % for a placeholder: the directory is ours and has none.
        word.push(dir.join(name));
        word
    };
    let mut wrapped = call.clone();
    let program = std::mem::replace(&mut wrapped.program, valgrind.to_owned());
    let mut args: Vec<OsString> = vec![
        "--tool=callgrind".into(),
        "--trace-children=yes".into(),
        file("--callgrind-out-file=", "callgrind.%p"),
        file("--log-file=", "valgrind.%p"),
        "--".into(),
        program.into(),
    ];
    args.append(&mut wrapped.args);
    wrapped.args = args;
    wrapped
}

/// Sets the counts of a running process to zero.
///
/// # Errors
///
/// In words: valgrind's helper is missing, or the process does not answer.
pub(super) fn zero(valgrind: &Path, pid: i32) -> Result<(), String> {
    // It lies beside valgrind, in every distribution.
    let helper = valgrind.with_file_name("callgrind_control");
    let call = Invocation::new(helper).arg("--zero").arg(pid.to_string());
    let done = call.probe().map_err(|error| error.to_string())?;
    match done.status.success() && !done.stdout.contains("Error") {
        true => Ok(()),
        false => Err(format!("`{call}` failed: {}", done.stderr.trim())),
    }
}

/// The instructions in all files of a directory.
///
/// # Errors
///
/// In words: nothing was counted, with valgrind's own last words; or not all of it, because a process
/// was killed or still ran at the end.
pub(super) fn total(dir: &Path) -> Result<u64, String> {
    let mut total = 0_u64;
    let mut counted = BTreeSet::new();
    let mut started = BTreeMap::new();
    let entries = crate::fs::list(dir).map_err(|error| error.to_string())?;
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let text = std::fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        if let Some(process) = name.strip_prefix("callgrind.") {
            let Some(count) = of_file(&text) else {
                continue;
            };
            total = total.saturating_add(count);
            // `PID`, or `PID.PART`.
            counted.insert(process.split('.').next().unwrap_or(process).to_owned());
        } else if let Some(process) = name.strip_prefix("valgrind.") {
            started.insert(process.to_owned(), last_words(&text));
        }
    }
    if counted.is_empty() {
        let words = started.into_values().next_back().unwrap_or_default();
        return Err(match words.as_str() {
            "" => "valgrind wrote no counts".into(),
            words => format!("valgrind wrote no counts: {words}"),
        });
    }
    let lost = started
        .keys()
        .filter(|process| !counted.contains(*process))
        .count();
    if lost > 0 {
        return Err(format!(
            "{lost} of {} processes left no counts: killed, or still running at the end",
            started.len()
        ));
    }
    Ok(total)
}

/// The sum of a file in callgrind's format: `totals:`, in older versions `summary:` too.
fn of_file(text: &str) -> Option<u64> {
    let line = |key: &str| text.lines().rev().find_map(|line| line.strip_prefix(key));
    line("totals:")
        .or_else(|| line("summary:"))?
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()
}

/// `==PID== words`
fn last_words(log: &str) -> String {
    log.lines()
        .rev()
        .map(|line| {
            line.rsplit_once("== ")
                .map_or(line, |(_, words)| words)
                .trim()
        })
        .find(|words| !words.is_empty() && !words.starts_with("=="))
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_keeps_its_arguments() {
        let call = Invocation::new("/b/app").args(["--", "x"]).env("A", "1");
        let wrapped = wrap(Path::new("/v"), &call, Path::new("/t"));
        assert_eq!(wrapped.program, Path::new("/v"));
        assert_eq!(wrapped.args[4..], ["--", "/b/app", "--", "x"]);
        assert_eq!(wrapped.env, call.env);
    }

    #[test]
    fn counts_of_all_processes_are_added() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        assert!(total(dir.path()).is_err());
        write("valgrind.1", "==1== Callgrind\n==1== \n==1== bad option\n");
        assert_eq!(
            total(dir.path()).unwrap_err(),
            "valgrind wrote no counts: bad option"
        );
        write("callgrind.1", "events: Ir\nfn=x\n1 2\ntotals: 40\n");
        write("callgrind.2", "events: Ir\nsummary: 2\n");
        assert_eq!(total(dir.path()).unwrap(), 42);
        // One that was killed.
        write("callgrind.3", "torn");
        write("valgrind.3", "==3== Callgrind\n");
        assert_eq!(
            total(dir.path()).unwrap_err(),
            "1 of 2 processes left no counts: killed, or still running at the end"
        );
    }
}
