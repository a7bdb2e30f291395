//! Where a service's output goes.

use super::{Place, Value};
use crate::config::Service;
use crate::fs;
use crate::stage::workload::WorkloadError;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How much of it an error shows.
const TAIL_LINES: usize = 15;
const TAIL_BYTES: u64 = 8192;

/// The file, whose directory is there then.
pub(super) fn place(
    service: &Service,
    place: Place<'_>,
    value: Value<'_>,
) -> Result<PathBuf, WorkloadError> {
    let path = match &service.log {
        Some(template) => place.root.join(template.expand(value)?),
        None => place.logs.join(format!("{}.log", service.name)),
    };
    if let Some(dir) = path.parent() {
        fs::create_dir(dir)?;
    }
    Ok(path)
}

/// Its last lines.
pub(super) fn tail(path: &Path) -> String {
    let mut bytes = Vec::new();
    let _ = std::fs::File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        file.read_to_end(&mut bytes)
    });
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let from = lines.len().saturating_sub(TAIL_LINES);
    lines[from..].join("\n").trim().to_owned()
}
