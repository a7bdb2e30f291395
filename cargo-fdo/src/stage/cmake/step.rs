//! One call of cmake. What it says goes into a file, and is shown where it is asked for or matters.

use super::CmakeError;
use crate::fs::{self, FsError};
use crate::plan::native::Tree;
use crate::tool::Invocation;
use crate::ui::Ui;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

/// Of a step that failed, so many lines are shown.
const SHOWN: usize = 100;

/// Runs it.
pub(super) fn run(
    call: &Invocation,
    step: &'static str,
    tree: &Tree,
    logs: &Path,
    ui: &Ui,
) -> Result<(), CmakeError> {
    let name = &tree.project.name;
    let log = logs.join(format!("{name}-{step}.log"));
    fs::create_dir(logs)?;
    ui.verbose("Running", call);
    let mut command = call.command();
    command.stdin(Stdio::null());
    let fail = |error| CmakeError::Fs(FsError::new("write", &log, error));
    if ui.is_verbose() {
        // Our stdout is for data.
        command.stdout(std::io::stderr()).stderr(std::io::stderr());
    } else {
        let file = File::create(&log).map_err(fail)?;
        let other = file.try_clone().map_err(fail)?;
        command.stdout(file).stderr(other);
    }
    let status = {
        let _spinner = ui.spinner(format_args!("cmake: {step} `{name}`"));
        command
            .status()
            .map_err(|source| call.start_error(source))?
    };
    if status.success() {
        return Ok(());
    }
    if !ui.is_verbose() {
        show(&log);
    }
    Err(CmakeError::Step {
        step,
        project: name.clone(),
        status,
        log,
    })
}

fn show(log: &Path) {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let tail = &lines[lines.len().saturating_sub(SHOWN)..];
    let mut err = std::io::stderr().lock();
    for line in tail {
        let _ = writeln!(err, "{line}");
    }
}
