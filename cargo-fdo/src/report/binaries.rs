//! Which programs and shared libraries a profile is of.

use super::tables::Table;
use crate::store::Manifest;
use crate::store::campaign::BinaryEntry;
use crate::ui::{count, percent};

/// How many binaries are listed; a test suite has dozens.
const LISTED: usize = 12;

/// How many of them have a column of their own where each workload is a row.
const COLUMNS: usize = 6;

/// Tables of the binaries' shares, of the whole and of each workload; nothing if there is one alone.
/// `files`: whether to name the profiles of each.
pub fn binaries(manifest: &Manifest, files: bool) -> Vec<String> {
    let binaries = &manifest.binaries;
    if binaries.len() < 2 {
        return Vec::new();
    }
    let mut table = Table::new(["binary", "share", "functions", ""]);
    for binary in binaries.iter().take(LISTED) {
        table.row([
            binary.name.clone(),
            percent(binary.share),
            count(binary.functions),
            remark(binary, files),
        ]);
    }
    let mut lines = table.lines();
    if binaries.len() > LISTED {
        lines.push(format!("and {} more", binaries.len() - LISTED));
    }
    lines.extend(by_workload(binaries));
    lines
}

fn remark(binary: &BinaryEntry, files: bool) -> String {
    match left_out(binary) {
        Some(why) => why.to_owned(),
        None if files => binary.files.join(" "),
        None => String::new(),
    }
}

/// Why a binary is not in the profile; `None` if it is.
pub(super) fn left_out(binary: &BinaryEntry) -> Option<&'static str> {
    binary.left_out.then_some(match binary.share > 0.0 {
        true => "left out: fewer samples than `min-share`",
        false => "left out: no samples",
    })
}

/// A row for each workload, where there are several.
fn by_workload(binaries: &[BinaryEntry]) -> Vec<String> {
    let shown = &binaries[..binaries.len().min(COLUMNS)];
    let workloads = binaries.first().map_or(&[][..], |first| &first.workloads);
    if workloads.len() < 2 {
        return Vec::new();
    }
    let head = std::iter::once("workload".to_owned());
    let mut table = Table::of(head.chain(shown.iter().map(|it| it.name.clone())).collect());
    for (at, workload) in workloads.iter().enumerate() {
        let name = std::iter::once(workload.workload.clone());
        let share = |binary: &BinaryEntry| {
            let share = binary.workloads.get(at).map_or(0.0, |it| it.share);
            percent(share)
        };
        table.push(name.chain(shown.iter().map(share)).collect());
    }
    table.lines()
}
