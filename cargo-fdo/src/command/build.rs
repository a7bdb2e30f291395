//! `cargo fdo build`, and `run`, `test`, `bench` of what it built.

mod cause;

use super::Session;
use super::native::NativeError;
use super::train::{build_commands, show_trees};
use crate::cli::{BuildArgs, RunArgs};
use crate::error::{Diagnose, ExitCode, Result};
use crate::fs;
use crate::plan::{PhasePlan, Slices};
use crate::profile::consumed::Language as Lang;
use crate::profile::slice::content_hash;
use crate::report::{self, UseReport};
use crate::settings::profile_dir;
use crate::stage::build::Built;
use crate::stage::optimize;
use crate::stage::train::BuildCommand;
use crate::store::Campaign;
use crate::store::campaign;
use crate::tool::invocation::describe;
use crate::toolbox::{SampleTools, Toolbox, Verdict};
use crate::ui::Ui;
use fdo_build::protocol::Phase;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;

/// The program, tests or benchmarks failed after a good build.
#[derive(Debug, thiserror::Error)]
#[error("`cargo {subcommand}` failed ({})", describe(*status))]
struct RunFailed {
    subcommand: &'static str,
    status: ExitStatus,
}

impl Diagnose for RunFailed {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Build
    }
}

/// `cargo fdo build`
///
/// # Errors
///
/// Whatever its stages raise.
pub fn run(args: &BuildArgs, toolchain: Option<String>) -> Result<()> {
    let session = Session::open(&args.cargo, &args.fdo, &args.matching, None, toolchain)?;
    let done = optimized(&session, Purpose::Build, &build_commands(&[], &session))?;
    let Some((built, _)) = done else {
        return Ok(());
    };
    if args.cargo.message_format.is_none() {
        let mut shown = false;
        for (_, program) in built.programs() {
            session.ui.data(program.display());
            shown = true;
        }
        if !shown {
            for library in built.libraries() {
                session.ui.data(library.display());
            }
        }
    }
    Ok(())
}

/// `cargo fdo run`, `test` and `bench`: builds and judges as `build` does, then lets cargo run
/// what is there.
///
/// # Errors
///
/// Whatever its stages raise, or the program's failure.
pub fn run_and(subcommand: &'static str, args: &RunArgs, toolchain: Option<String>) -> Result<()> {
    let session = Session::open(&args.cargo, &args.fdo, &args.matching, None, toolchain)?;
    if !session.builds_cargo {
        return Err(NativeError::NoCargo(format!("`cargo fdo {subcommand}`")).into());
    }
    let mut selection = session.cargo.selection.clone();
    let build_with = if subcommand == "run" {
        "build"
    } else {
        selection.push("--no-run".into());
        subcommand
    };
    let command = BuildCommand {
        subcommand: build_with,
        selection,
    };
    let Some((_, plan)) = optimized(&session, Purpose::Run, &[command])? else {
        return Ok(());
    };
    let program_args = program_arguments(subcommand, &args.args);
    let mut call = plan
        .cargo(&session.cargo, subcommand)
        .args(&session.cargo.selection);
    if !program_args.is_empty() {
        call = call.arg("--").args(program_args);
    }
    let status = call
        .command()
        .status()
        .map_err(|source| call.start_error(source))?;
    match (subcommand, status.code()) {
        (_, Some(0)) => Ok(()),
        // What ran is the user's program: its status is the answer, as with `cargo run`.
        ("run", Some(code)) => std::process::exit(code),
        _ => Err(RunFailed { subcommand, status }.into()),
    }
}

/// What stands behind cargo's `--`.
///
/// A program gets every word. Of `test FILTER -- OPTIONS`, the harness gets both parts.
fn program_arguments<'a>(subcommand: &str, args: &'a [OsString]) -> Vec<&'a OsString> {
    let separator = match subcommand {
        "run" => None,
        _ => args.iter().position(|arg| arg == "--"),
    };
    args.iter()
        .enumerate()
        .filter(|(at, _)| Some(*at) != separator)
        .map(|(_, arg)| arg)
        .collect()
}

/// What a build is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// `cargo fdo build`: the build is the result.
    Build,
    /// Something of it runs next.
    Run,
}

/// Builds with the profile and judges its use. `None` after a dry run.
///
/// # Errors
///
/// Whatever its stages raise; [`ExitCode::Stale`] if too little of the profile was used.
pub(super) fn optimized(
    session: &Session,
    purpose: Purpose,
    commands: &[BuildCommand],
) -> Result<Option<(Built, PhasePlan)>> {
    session.has_work()?;
    let _lock = session.lock()?;
    let ready = ready(session)?;
    let plan = session.plan(Phase::Optimize, &ready.toolbox, Some(&ready.slices));
    if session.settings.dry_run {
        if let Some(clean) = session.prepare_dry_run(&plan)? {
            session.ui.data(clean);
        }
        show_trees(&plan, &session.ui);
        for command in commands {
            let call = plan.cargo(&session.cargo, command.subcommand);
            session.ui.data(call.args(&command.selection));
        }
        return Ok(None);
    }
    session.prepare(&plan)?;
    let built = optimize::run(&plan, commands, &session.cargo, &session.ui)?;
    judge(session, purpose, &ready, &plan, &built)?;
    Ok(Some((built, plan)))
}

/// A campaign, and what this run's compilers read of it.
pub(super) struct Ready {
    pub(super) campaign: Campaign,
    pub(super) toolbox: Toolbox,
    pub(super) slices: Slices,
}

/// Finds the campaign and the tools for it, and says what is not as it was at the training.
pub(super) fn ready(session: &Session) -> Result<Ready> {
    let ui = &session.ui;
    let campaign = Campaign::current(&session.layout, &session.cargo.target)?;
    let toolbox = session.toolbox(campaign.manifest.method)?;
    let has = |name| campaign.manifest.slices.contains_key(name);
    // `train` said which compiler that is.
    let is_news = toolbox.c.verdict != Verdict::Fits
        || campaign.manifest.c_compiler.as_ref() != Some(&toolbox.c.version);
    if is_news && session.profiles_c() && (has(campaign::C) || has(campaign::GCC)) {
        session.explain_c_compiler(&toolbox);
    }
    if has(campaign::RUST) {
        session.explain_rustc(&toolbox);
    }
    explain_differences(ui, &campaign, &toolbox);
    let slices = optimize::prepare_slices(
        &campaign,
        &toolbox,
        session.config.profiles,
        &session.layout,
        &session.ui,
    )?;
    Ok(Ready {
        campaign,
        toolbox,
        slices,
    })
}

/// Holds what the compilers said against the profile, shows it, and judges it.
pub(super) fn judge(
    session: &Session,
    purpose: Purpose,
    ready: &Ready,
    plan: &PhasePlan,
    built: &Built,
) -> Result<()> {
    let ui = &session.ui;
    let Ready {
        campaign,
        toolbox,
        slices,
    } = ready;
    let basis = basis(campaign, built, plan);
    // What names no artifacts does not say what is new in it.
    let last = if built.all_fresh() && !built.artifacts.is_empty() {
        remembered(plan, &basis)
    } else {
        None
    };
    let report = match last {
        Some(report) => report,
        None => {
            let found = optimize::measure(
                plan,
                slices,
                campaign,
                built,
                &session.workspace,
                &|package, language| takes_part(session, toolbox, package, language),
            )?;
            warn_of_plain_code(session, built)?;
            let report = UseReport::new(&found, &campaign.manifest, basis, &absent(toolbox));
            remember(plan, &report)?;
            report
        }
    };
    // Before a program's own output, a build without news is one line.
    let min_match = session.settings.min_match;
    let judged = report.judged(min_match);
    let is_stale = judged.is_none_or(|judged| !judged.is_enough());
    if purpose == Purpose::Build || !built.all_fresh() || is_stale {
        report::usage(ui, &report, toolbox.verify);
        report::neglected_languages(ui, &report, min_match);
    }
    if toolbox.verify {
        optimize::judge(
            judged,
            min_match,
            session.settings.allow_stale,
            || cause::of(session, &report, campaign, toolbox),
            ui,
        )?;
    } else {
        ui.warn("this compiler does not say which functions used the profile: not checked");
    }
    Ok(())
}

/// Success that did nothing: a program that is no other than without its profile.
fn warn_of_plain_code(session: &Session, built: &Built) -> Result<()> {
    let cargo = &session.cargo;
    let dir = profile_dir(&cargo.profile);
    let layout = &session.layout;
    let target_dir = layout.root().parent().unwrap_or(layout.root());
    let dirs = [
        layout.phase_dir(Phase::Baseline).join(&cargo.target),
        target_dir.join(&cargo.target),
        target_dir.to_owned(),
    ];
    let plain = |name: &str| dirs.iter().map(|base| base.join(dir).join(name)).collect();
    for (program, twin) in optimize::same_as_plain(built, &plain)? {
        session.ui.warn(format_args!(
            "the code of `{}` is that of the plain `{}`: its profile changed nothing",
            program.display(),
            twin.display()
        ));
    }
    Ok(())
}

/// Languages of which the profile is not used because no tool of this run can; that was said.
fn absent(toolbox: &Toolbox) -> Vec<Lang> {
    let reads_samples = |samples: &SampleTools| samples.rust.reads().is_some();
    match &toolbox.samples {
        Some(samples) if !reads_samples(samples) => vec![Lang::Rust],
        _ => Vec::new(),
    }
}

/// Whether a package's code of a language should use the profile.
///
/// Only what the user's file says of the package takes its counts out of the account, not what some
/// tool of this run can't do.
fn takes_part(session: &Session, toolbox: &Toolbox, package: &str, language: Lang) -> bool {
    let name = session
        .workspace
        .packages
        .iter()
        .find(|known| known.id() == package)
        .map_or(package, |known| known.name.as_str());
    let policy = session.config.policy(name);
    match language {
        // Without its unstable option rustc reads no samples, and that was said.
        Lang::Rust => {
            policy.rust
                && toolbox
                    .samples
                    .as_ref()
                    .is_none_or(|samples| samples.rust.reads().is_some())
        }
        // Whatever compiles it now: another compiler than that of the training loses the counts, and
        // it must show.
        Lang::C => policy.c,
    }
}

/// Says what is not as it was at the training and may cost matches.
fn explain_differences(ui: &Ui, campaign: &Campaign, toolbox: &Toolbox) {
    let manifest = &campaign.manifest;
    if manifest.rustc != toolbox.rustc.version {
        ui.warn(format_args!(
            "the profile was trained with {}, this is {}",
            first_line(&manifest.rustc),
            first_line(&toolbox.rustc.version)
        ));
    }
    if let Some(then) = &manifest.c_compiler
        && toolbox.c.verdict == Verdict::Fits
        && *then != toolbox.c.version
    {
        ui.warn(format_args!(
            "the C profile was trained with {then}, this is {}",
            toolbox.c.version
        ));
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// What the findings of a build depend on, beside the compilers' words: if nothing was
/// compiled and this is the same, the last findings hold.
fn basis(campaign: &Campaign, built: &Built, plan: &PhasePlan) -> String {
    let mut parts: Vec<String> = built
        .artifacts
        .iter()
        .flat_map(|artifact| artifact.files.iter().map(|file| (&artifact.package, file)))
        .map(|(package, file)| {
            // Other settings give another program under the same name.
            let time = std::fs::metadata(file).and_then(|data| data.modified());
            format!("{package} {} {:?}", file.display(), time.ok())
        })
        .collect();
    // Cargo names them in the order in which its threads come to them.
    parts.sort();
    parts.push(campaign.manifest.id.clone());
    parts.push(format!("{:?}", plan.orders));
    content_hash(&parts.join("\n"))
}

/// The findings of the last build, if they still hold.
fn remembered(plan: &PhasePlan, basis: &str) -> Option<UseReport> {
    let text = fs::read_if_there(&report_file(plan)).ok()??;
    let report: UseReport = serde_json::from_str(&text).ok()?;
    (report.basis == basis && report.is_complete()).then_some(report)
}

fn remember(plan: &PhasePlan, report: &UseReport) -> Result<()> {
    let text = serde_json::to_string_pretty(report).expect("plain data");
    Ok(fs::write_atomic(&report_file(plan), text.as_bytes())?)
}

fn report_file(plan: &PhasePlan) -> PathBuf {
    plan.state.join("use.json")
}
