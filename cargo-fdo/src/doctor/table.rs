//! The doctor's report for people.

use super::{Report, Row, Verdict};
use crate::tool::canary::Canary;

pub(super) fn text(report: &Report) -> String {
    let cells: Vec<_> = report.rows.iter().map(cells).collect();
    let width = |column: usize| {
        cells
            .iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2)];
    let mut out = String::new();
    for ([verdict, tool, path, note], row) in cells.iter().zip(&report.rows) {
        let [first, second, third] = widths;
        out.push_str(&format!(
            "{verdict:first$}  {tool:second$}  {path:third$}  {note}\n"
        ));
        if let Some(install) = &row.install {
            out.push_str(&format!("{:first$}  `{install}`\n", ""));
        }
    }
    out.push('\n');
    out.push_str(&format!("Rust:        {}\n", fate(report.rust.as_ref())));
    match &report.c_compiler {
        Some(choice) => {
            out.push_str(&format!("Rust and C:  {}\n", fate(report.mixed.as_ref())));
            out.push_str(&format!(
                "C compiler:  `{}` and `{}`, because {}\n",
                choice.cc.command.join(" "),
                choice.cxx.command.join(" "),
                choice.why
            ));
        }
        None => out.push_str("C compiler:  none fits; only Rust can be optimised\n"),
    }
    if let Some(profdata) = &report.profdata {
        out.push_str(&format!("Profiles:    `{}`\n", profdata.program.display()));
    }
    for (at, row) in report.samples.iter().enumerate() {
        let title = if at == 0 { "Samples:" } else { "" };
        let verdict = word(row.verdict);
        let path = row.path.as_deref().unwrap_or(std::path::Path::new(""));
        out.push_str(&format!(
            "{title:13}{verdict}  {} ({}): {}\n",
            row.tool,
            path.display(),
            row.note
        ));
    }
    out
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "ok",
        Verdict::Misfit => "misfit",
        Verdict::Missing => "missing",
    }
}

fn cells(row: &Row) -> [String; 4] {
    let verdict = word(row.verdict);
    let path = row.path.as_ref();
    [
        verdict.to_owned(),
        format!("{} {}", row.tool, row.version).trim().to_owned(),
        path.map_or(String::new(), |path| path.display().to_string()),
        row.note.clone(),
    ]
}

fn fate(canary: Option<&Canary>) -> String {
    let Some(canary) = canary else {
        return "not tried".to_owned();
    };
    if let Some(failure) = &canary.failure {
        return failure.to_string();
    }
    let proof = if canary.verify {
        "each compiler names the functions that it used the profile for"
    } else {
        "the compilers can't name the functions that they used the profile for"
    };
    let steps: Vec<_> = canary.passed.iter().map(|step| step.name()).collect();
    format!(
        "a test program lives through {}; {proof}",
        steps.join(" → ")
    )
}
