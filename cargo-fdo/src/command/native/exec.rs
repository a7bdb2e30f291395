//! `cargo fdo exec`: any command that compiles by `CC` and `CXX`, or takes a toolchain file of cmake's.

use super::{phase, place};
use crate::cli::native::ExecArgs;
use crate::command::{Session, sampled};
use crate::error::{Diagnose, ExitCode, Result};
use crate::fs;
use crate::plan::native;
use crate::report;
use crate::shim::evidence::{CObject, Treatment};
use crate::stage::build::{Built, NativeBuild};
use crate::stage::{census, native as objects};
use crate::tool::Invocation;
use crate::tool::invocation::describe;
use crate::ui::plural;
use crate::workspace;
use fdo_build::protocol::{self, Language, Phase};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::SystemTime;

/// The command did not do what it is for.
#[derive(Debug, thiserror::Error)]
enum ExecError {
    #[error("the command failed ({})\n  command: {command}", describe(*status))]
    Failed { command: String, status: ExitStatus },
    #[error(
        "nothing was compiled by our compilers, and no object is there that they compiled before"
    )]
    Nothing,
    #[error("nothing was compiled: {} of another phase are there, where those of phase `{phase}` would be", plural(*objects, "object"))]
    OtherPhase { objects: usize, phase: Phase },
    #[error("none of the {} has {what}", plural(*objects, "object"))]
    NotProfiled { objects: usize, what: &'static str },
    #[error("there is no C compiler to compile with")]
    NoCompiler,
}

impl Diagnose for ExecError {
    fn exit_code(&self) -> ExitCode {
        match self {
            ExecError::NotProfiled { .. } | ExecError::NoCompiler => ExitCode::Tool,
            _ => ExitCode::Build,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            ExecError::Failed { .. } => Some("its own words are above".into()),
            ExecError::Nothing => Some(
                "does it name a compiler itself? `make CC=\"$CC\"` in a shell, or {toolchain} as cmake's \
                 toolchain file, hand ours on; a build that was up to date before needs a `make clean` \
                 first; and a step that only configures is run with `--configure`"
                    .into(),
            ),
            ExecError::OtherPhase { .. } => {
                Some("remove them (`make clean`), or build in another directory".into())
            }
            ExecError::NotProfiled { .. } | ExecError::NoCompiler => {
                Some("`cargo fdo doctor` says which compilers fit".into())
            }
        }
    }
}

/// Runs it.
///
/// # Errors
///
/// The command's failure, or what the judgement of the phase raises.
pub fn run(args: &ExecArgs, toolchain: Option<String>) -> Result<()> {
    let here = workspace::here();
    let (mut session, here) = place::open(&args.native, &here, None, toolchain)?;
    let name = place::adopt(&mut session, &args.native, &here)?;
    let phase = phase::choose(&session, args.native.phase)?;
    let _lock = session.lock()?;
    let prepared = phase::prepare(&session, phase)?;
    let plan = &prepared.plan;
    if prepared.toolbox.c.cc.is_empty() {
        return Err(ExecError::NoCompiler.into());
    }
    place::register(&session, &name, &here, &here, phase)?;
    let package = protocol::package_id(&name, protocol::NO_VERSION);
    let dropped = objects::drop_outdated(plan, &package, None)?;
    if dropped.gone > 0 {
        session.ui.warn(format_args!(
            "{} of another profile or compiler are not where they were compiled to; if they are in an \
             archive, that is out of date: `make clean` once",
            plural(dropped.gone, "object")
        ));
    }
    let others = Phase::ALL.into_iter().filter(|other| *other != phase);
    let others: Vec<PathBuf> = others.map(|other| session.layout.state(other)).collect();
    objects::drop_replaced(plan, &package, &others)?;

    let start = SystemTime::now();
    let call = call(args, &session, plan, &name)?;
    session.ui.verbose("Running", &call);
    let status = call
        .command()
        .status()
        .map_err(|source| call.start_error(source))?;
    if !status.success() {
        let command = call.without_env().to_string();
        return Err(ExecError::Failed { command, status }.into());
    }
    if args.configure {
        return Ok(());
    }
    let built = Built {
        natives: vec![NativeBuild {
            package: workspace::native_id(&name),
            dir: None,
            targets: Default::default(),
        }],
        ..Built::default()
    };
    let compiled = objects::compiled(&plan.state, &package, &built.natives[0]);
    let is_new = fs::list(&protocol::evidence_dir(&plan.state, &package, Language::C))?
        .iter()
        .filter(|file| {
            let time = file.metadata().and_then(|data| data.modified());
            time.is_ok_and(|time| time >= start)
        })
        .count();
    if is_new == 0 {
        let in_the_way = others
            .iter()
            .map(|state| objects::there(state, &package).len());
        let in_the_way = in_the_way.sum();
        if compiled.objects.is_empty() {
            return Err(match in_the_way {
                0 => ExecError::Nothing,
                objects => ExecError::OtherPhase { objects, phase },
            }
            .into());
        }
    }
    session.ui.status(
        "Compiled",
        format_args!(
            "{} of {} by cargo fdo's compilers",
            // Some are compiled to be thrown away.
            is_new.min(compiled.objects.len()),
            plural(compiled.objects.len(), "object")
        ),
    );
    check(&session, phase, &prepared, &built, &compiled.objects)?;
    prepared.judge(&session, &built)?;
    phase::say_next(&session, phase)
}

/// Whether the objects are what the phase is for.
fn check(
    session: &Session,
    phase: Phase,
    prepared: &phase::Prepared,
    built: &Built,
    objects: &[CObject],
) -> Result<()> {
    let what = match phase {
        Phase::Instrument => {
            let rows = census::take(&prepared.plan, built, &session.workspace);
            report::census(&session.ui, &rows, &prepared.toolbox);
            (rows.iter().all(|row| row.instrumented == 0)).then_some("counters")
        }
        Phase::Sample => {
            sampled::check_readers(&prepared.toolbox, &prepared.plan.state)?;
            let is_plain = |object: &CObject| object.treatment != Treatment::Profiled;
            objects
                .iter()
                .all(is_plain)
                .then_some("line tables of ours")
        }
        Phase::Optimize | Phase::Baseline => None,
    };
    match what {
        None => Ok(()),
        Some(what) => Err(ExecError::NotProfiled {
            objects: objects.len(),
            what,
        }
        .into()),
    }
}

fn call(
    args: &ExecArgs,
    session: &Session,
    plan: &crate::plan::PhasePlan,
    name: &str,
) -> Result<Invocation> {
    let env = native::environment(plan, name);
    let value = |name: &str| {
        env.iter()
            .find(|it| it.0 == name)
            .and_then(|it| it.1.clone())
    };
    let file = plan.state.join(format!("{name}-toolchain.cmake"));
    let text = toolchain_file(
        value("CC").map(PathBuf::from).as_deref(),
        value("CXX").map(PathBuf::from).as_deref(),
        std::env::var_os("CMAKE_TOOLCHAIN_FILE")
            .map(PathBuf::from)
            .as_deref(),
    );
    fs::write_if_changed(&file, &text)?;
    session
        .ui
        .detail(format_args!("toolchain file: {}", file.display()));
    let mut words = args.command.iter().map(|word| filled(word, &file));
    let program = words.next().unwrap_or_default();
    let mut call = Invocation::new(program).args(words);
    for (name, value) in env {
        call = match value {
            Some(value) => call.env(name, value),
            None => call.env_remove(name),
        };
    }
    Ok(call)
}

/// What cmake reads before it looks for a compiler: the user's own first.
fn toolchain_file(cc: Option<&Path>, cxx: Option<&Path>, theirs: Option<&Path>) -> String {
    let quoted = |path: &Path| {
        let text = path.display().to_string();
        format!(
            "\"{}\"",
            text.replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('$', "\\$")
        )
    };
    let mut text = String::from("# Made by cargo fdo for one phase of a build.\n");
    if let Some(theirs) = theirs.filter(|path| !path.as_os_str().is_empty()) {
        text.push_str(&format!("include({})\n", quoted(theirs)));
    }
    for (variable, path) in [("CMAKE_C_COMPILER", cc), ("CMAKE_CXX_COMPILER", cxx)] {
        if let Some(path) = path {
            text.push_str(&format!("set({variable} {})\n", quoted(path)));
        }
    }
    text
}

/// A word with the toolchain file for `{toolchain}`.
fn filled(word: &OsString, file: &Path) -> OsString {
    const PLACEHOLDER: &[u8] = b"{toolchain}";
    let bytes = word.as_bytes();
    let Some(at) = bytes
        .windows(PLACEHOLDER.len())
        .position(|part| part == PLACEHOLDER)
    else {
        return word.clone();
    };
    let mut out = bytes[..at].to_vec();
    out.extend_from_slice(file.as_os_str().as_bytes());
    out.extend_from_slice(&bytes[at + PLACEHOLDER.len()..]);
    OsString::from_vec(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_toolchain_file_comes_before_the_compilers() {
        let text = toolchain_file(
            Some(Path::new("/l/clang")),
            Some(Path::new("/l/clang++")),
            Some(Path::new("/my $tools/t.cmake")),
        );
        assert_eq!(
            text.lines().skip(1).collect::<Vec<_>>(),
            [
                "include(\"/my \\$tools/t.cmake\")",
                "set(CMAKE_C_COMPILER \"/l/clang\")",
                "set(CMAKE_CXX_COMPILER \"/l/clang++\")"
            ]
        );
    }

    #[test]
    fn the_placeholder_stands_inside_of_a_word_too() {
        let filled = |word: &str| filled(&word.into(), Path::new("/s/t.cmake"));
        assert_eq!(filled("-DX={toolchain}"), "-DX=/s/t.cmake");
        assert_eq!(filled("make"), "make");
    }
}
