//! `cargo fdo env`: the environment with which any other build command is instrumented or
//! optimised.

use super::Session;
use crate::cli::{EnvArgs, EnvFormat, EnvPhase, FdoArgs, MatchArgs};
use crate::error::Result;
use crate::outer;
use crate::stage::optimize;
use crate::store::Campaign;
use crate::store::campaign::Method;
use crate::tool::invocation::quote;
use fdo_build::protocol::{self, Phase};
use std::ffi::OsString;

/// Runs it.
///
/// # Errors
///
/// Whatever finding the tools and the profile raises.
pub fn run(args: &EnvArgs, toolchain: Option<String>) -> Result<()> {
    let fdo = FdoArgs {
        tools: args.tools.clone(),
        dry_run: false,
    };
    let session = Session::open(&args.cargo, &fdo, &MatchArgs::default(), None, toolchain)?;
    let _lock = session.lock()?;
    let (phase, toolbox, slices) = match args.phase {
        EnvPhase::Instrument => {
            let toolbox = session.toolbox(Method::Instrument)?;
            session.make_signal_object(&toolbox)?;
            session.prove_continuous_mode(&toolbox)?;
            (Phase::Instrument, toolbox, None)
        }
        EnvPhase::Sample => (Phase::Sample, session.toolbox(Method::Sample)?, None),
        EnvPhase::Optimize => {
            let campaign = Campaign::current(&session.layout, &session.cargo.target)?;
            let toolbox = session.toolbox(campaign.manifest.method)?;
            let slices =
                optimize::prepare_slices(&campaign, &toolbox, &session.layout, &session.ui)?;
            (Phase::Optimize, toolbox, Some(slices))
        }
    };
    let plan = session.plan(phase, &toolbox, slices.as_ref());
    session.prepare(&plan)?;

    let mut variables = plan.env.clone();
    // What the cargo commands of ours say by arguments.
    let mut set = |name: &str, value: OsString| variables.push((name.to_owned(), Some(value)));
    set("CARGO_TARGET_DIR", plan.target_dir.clone().into());
    set(
        "CARGO_BUILD_TARGET",
        session.cargo.target_argument.clone().into(),
    );
    if !session.builds_cargo
        && let [project] = session.projects.as_slice()
    {
        let package = protocol::package_id(&project.name, protocol::NO_VERSION);
        set(protocol::ENV_PACKAGE, package.into());
    }
    let outer = outer::describe(variables.iter().map(|(name, _)| name.as_str()));
    variables.push((outer::ENV_OUTER.to_owned(), Some(outer.into())));
    let ui = &session.ui;
    if phase == Phase::Instrument {
        ui.note(format_args!(
            "it is for building; unset LLVM_PROFILE_FILE, or set it, to run the program: here it \
             keeps what the build runs out of `{}`",
            session.layout.raw_by_hand().display()
        ));
    }
    match args.format {
        EnvFormat::Sh => {
            for (name, value) in &variables {
                match value {
                    _ if !is_shell_name(name) => {}
                    Some(value) => ui.data(format_args!("export {name}={}", quote(value))),
                    None => ui.data(format_args!("unset {name}")),
                }
            }
        }
        EnvFormat::Env => {
            for (name, value) in &variables {
                if let Some(value) = value {
                    ui.data(format_args!("{name}={}", value.to_string_lossy()));
                }
            }
        }
        EnvFormat::Json => {
            let object: serde_json::Map<String, serde_json::Value> = variables
                .iter()
                .map(|(name, value)| {
                    let value = value.as_ref().map(|value| value.to_string_lossy());
                    (name.clone(), serde_json::json!(value))
                })
                .collect();
            let text = serde_json::to_string_pretty(&object).expect("plain data");
            ui.data(text);
        }
    }
    Ok(())
}

fn is_shell_name(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
