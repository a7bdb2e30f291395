//! `cargo fdo doctor`: takes a canary through the tools, in or outside of a project.

use crate::cli::{CargoArgs, DoctorArgs};
use crate::doctor::{examine, process_env, recommend};
use crate::error::{Diagnose, ExitCode, Result};
use crate::settings;

/// The canary of Rust alone did not live.
#[derive(Debug, thiserror::Error)]
#[error("Rust programs can't be profiled with the tools of this machine")]
struct Unfit;

impl Diagnose for Unfit {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        Some("the rows above that are not `ok` name what to install".into())
    }
}

/// Runs it.
///
/// # Errors
///
/// If not even Rust can be profiled.
pub fn run(args: &DoctorArgs, toolchain: Option<String>) -> Result<()> {
    let ui = settings::ui(&CargoArgs::default());
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut env = process_env(&variable);
    if let Ok(configuration) = cargo_config2::Config::load() {
        env.rustc = super::session::programs(toolchain.as_deref(), &configuration)?.1;
    }
    let report = {
        let _spinner = ui.spinner("trying the tools out");
        examine(&env)
    };
    let advice = args.recommend.then(|| {
        let _spinner = ui.spinner("trying perf out");
        let facts = recommend::facts(&report, &env.rustc, &env.places);
        (recommend::advise(&facts), facts)
    });
    if args.json {
        let mut value = serde_json::to_value(&report).expect("plain data");
        if let Some((advice, facts)) = &advice {
            value["advice"] = serde_json::to_value(advice).expect("plain data");
            value["facts"] = serde_json::to_value(facts).expect("plain data");
        }
        ui.data(serde_json::to_string_pretty(&value).expect("plain data"));
    } else {
        ui.data(report.text().trim_end());
        if let Some((advice, _)) = &advice {
            ui.data("");
            ui.data(recommend::text(advice).trim_end());
        }
    }
    match report.exit_code() {
        None => Ok(()),
        Some(_) => Err(Unfit.into()),
    }
}
