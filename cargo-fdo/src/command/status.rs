//! `cargo fdo status`: which profile there is, of what, and how good it is.

use super::Session;
use crate::cli::StatusArgs;
use crate::error::Result;
use crate::fs;
use crate::profile::names;
use crate::report::{self, UseReport};
use crate::store::Campaign;
use crate::ui::{count, percent, seconds};
use fdo_build::protocol::Phase;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Runs it.
///
/// # Errors
///
/// If there is no campaign, or it can't be read.
pub fn run(args: &StatusArgs, toolchain: Option<String>) -> Result<()> {
    let session = Session::of_project(args.project.clone(), toolchain)?;
    let campaign = Campaign::current(&session.layout, &session.cargo.target)?;
    let manifest = &campaign.manifest;
    let last_use: Option<UseReport> =
        fs::read_if_there(&session.layout.state(Phase::Optimize).join("use.json"))?
            .and_then(|text| report::last_use(&session.ui, &text))
            .filter(|report: &UseReport| report.campaign == manifest.id);
    let ui = &session.ui;
    if args.json {
        let value = serde_json::json!({
            "version": 1,
            "campaign": manifest,
            "directory": campaign.dir(),
            "used": last_use,
        });
        ui.data(serde_json::to_string_pretty(&value).expect("plain data"));
        return Ok(());
    }
    let age = SystemTime::now()
        .duration_since(UNIX_EPOCH + Duration::from_secs(manifest.made))
        .unwrap_or_default();
    ui.data(format_args!(
        "profile {} ({}), {} old",
        manifest.id,
        manifest.method,
        seconds(age)
    ));
    ui.data(format_args!("  files      {}", campaign.dir().display()));
    ui.data(format_args!("  target     {}", manifest.target));
    ui.data(format_args!(
        "  rustc      {}",
        manifest.rustc.lines().next().unwrap_or_default()
    ));
    ui.data(format_args!(
        "  C and C++  {}",
        manifest.c_compiler.as_deref().unwrap_or("not profiled")
    ));
    if let Some(sampling) = &manifest.sampling
        && sampling.samples == 0
    {
        ui.data("  samples    in finished profiles, so that it is not known how many");
    } else if let Some(sampling) = &manifest.sampling {
        let stacks = match sampling.branch_stacks {
            true => "branch stacks",
            false => "no branch stacks",
        };
        ui.data(format_args!(
            "  samples    {} of `{}`, {stacks}; {} lost; {} at known lines",
            count(sampling.samples),
            sampling.event,
            count(sampling.lost),
            percent(sampling.mapped)
        ));
    }
    for workload in &manifest.workloads {
        ui.data(format_args!(
            "  workload   {} (weight {}, {})",
            workload.name,
            workload.weight,
            report::left(manifest, workload)
        ));
    }
    for failed in &manifest.failed {
        let words = failed.words.lines().next().unwrap_or_default();
        ui.data(format_args!("  failed     {}: {words}", failed.name));
    }
    ui.data(format_args!(
        "  functions  {} of {} ran",
        count(manifest.functions_executed),
        count(manifest.functions)
    ));
    ui.data(format_args!(
        "  hot        {} of {} blocks make up 99 % of the counts{}",
        count(manifest.hot_blocks),
        count(manifest.blocks),
        if manifest.thin {
            ": nearly nothing was exercised"
        } else {
            ""
        }
    ));
    for line in report::binaries(manifest, true) {
        ui.data(format_args!("  {line}"));
    }
    if !manifest.hottest.is_empty() {
        ui.data("functions with the hottest blocks");
    }
    for (name, most) in manifest.hottest.iter().take(5) {
        ui.data(format_args!("  {:>15}  {}", count(*most), shown(name)));
    }
    match &last_use {
        Some(used) => {
            let (sum, packages) = report::usage_lines(used);
            ui.data(format_args!("  used       {sum}"));
            for line in packages {
                ui.data(format_args!("             {line}"));
            }
            report::usage_remarks(ui, used);
        }
        None => ui.note("`cargo fdo build` has not used it yet"),
    }
    if !session.rustc.version.eq(&manifest.rustc) {
        ui.warn("it was trained with another rustc");
    }
    Ok(())
}

/// A function's name, cut where it is longer than a line: generic ones have no limit.
fn shown(name: &str) -> String {
    const LONGEST: usize = 100;
    let name = names::demangled(name);
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}
