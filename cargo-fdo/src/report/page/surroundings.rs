//! What one needs to do it again, and what it costs.

use super::html::Html;
use super::table::table;
use super::{Page, Training, duration};
use crate::report::comparison::environment;
use crate::report::comparison::grid::Grid;
use crate::report::comparison::tables;

/// The section.
pub(super) fn write(html: &mut Html, page: &Page<'_>) {
    if let Some(compared) = &page.compared {
        html.leaf("h3", &[], "Of the comparison");
        html.list("plain", &environment(compared.comparison));
        table(
            html,
            "Programs and their builds",
            &tables::programs(compared.comparison),
        );
    }
    if let Some(training) = &page.training {
        html.leaf("h3", &[], "Of the training");
        html.list("plain", &of_training(training));
        table(html, "Time for the training", &costs(training));
    }
}

fn of_training(training: &Training<'_>) -> Vec<String> {
    let manifest = training.manifest;
    let workloads = manifest.workloads.iter();
    let names: Vec<String> = workloads
        .map(|workload| format!("`{}`", workload.name))
        .collect();
    vec![
        manifest.rustc.lines().next().unwrap_or_default().to_owned(),
        match &manifest.c_compiler {
            Some(compiler) => format!("C by {compiler}"),
            None => "C was not profiled".into(),
        },
        format!("target {}, profile `{}`", manifest.target, manifest.profile),
        format!(
            "method `{}`, workloads {}",
            manifest.method,
            names.join(", ")
        ),
        "again: `cargo fdo train`, `cargo fdo build`, `cargo fdo compare`, `cargo fdo report`"
            .into(),
    ]
}

fn costs(training: &Training<'_>) -> Grid {
    let mut grid = Grid::new(["step", "time"]);
    let mut row = |what: String, seconds: f64| {
        grid.rows.push(vec![what, duration(seconds)]);
    };
    if let Some(seconds) = training.build_seconds {
        row("build with counters, the longest so far".into(), seconds);
    }
    for workload in training
        .manifest
        .workloads
        .iter()
        .filter(|w| w.seconds > 0.0)
    {
        row(format!("workload {}", workload.name), workload.seconds);
    }
    grid
}
