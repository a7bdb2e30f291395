//! Runs cargo and reads its messages.

use super::cmake::{self, CmakeError};
use super::harness;
use super::train::BuildCommand;
use crate::error::{Diagnose, ExitCode};
use crate::fs::FsError;
use crate::plan::PhasePlan;
use crate::settings::Cargo;
use crate::store::keys;
use crate::tool::invocation::describe;
use crate::tool::{Invocation, ToolError};
use crate::ui::Ui;
use crate::workspace;
use cargo_metadata::{Message, TargetKind};
use fdo_build::protocol::{self, Language, Order};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Cargo could not build.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Cargo ended with a failure, after saying why.
    #[error("the {phase} build failed ({})", describe(*status))]
    Failed {
        /// Which build.
        phase: String,
        /// How cargo ended.
        status: ExitStatus,
    },
    /// Cargo did not run.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// Its messages could not be read.
    #[error("can't read cargo's messages")]
    Messages(#[source] std::io::Error),
    /// A workload of harnesses without anything in them.
    #[error(
        "`cargo {subcommand}` has nothing to run here: {}",
        nothing_of(subcommand)
    )]
    NothingToRun {
        /// `bench` or `test`.
        subcommand: &'static str,
    },
    /// What cmake builds could not be built.
    #[error(transparent)]
    Cmake(#[from] CmakeError),
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for BuildError {
    fn exit_code(&self) -> ExitCode {
        match self {
            BuildError::Failed { .. } => ExitCode::Build,
            BuildError::Tool(error) => error.exit_code(),
            BuildError::Messages(_) => ExitCode::Build,
            BuildError::Cmake(error) => error.exit_code(),
            BuildError::NothingToRun { .. } => ExitCode::Usage,
            BuildError::Fs(error) => error.exit_code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            BuildError::Failed { .. } => Some(
                "cargo's own messages are above; where plain `cargo build` works and this does \
                 not, `-v` shows each compiler call, and `[package.NAME]` with `c = false` in \
                 fdo.toml leaves the C of one package alone"
                    .into(),
            ),
            BuildError::NothingToRun { .. } => Some(
                "name a workload that does the program's work: `--workload run`, \
                 `--workload example:NAME`, one of fdo.toml, or a command behind `--`"
                    .into(),
            ),
            BuildError::Cmake(error) => error.hint(),
            BuildError::Fs(error) => error.hint(),
            BuildError::Tool(error) => error.hint(),
            BuildError::Messages(_) => None,
        }
    }
}

fn nothing_of(subcommand: &str) -> &'static str {
    match subcommand {
        "bench" => "no package that it builds has a benchmark",
        _ => "no package that it builds has a test",
    }
}

/// One artifact that cargo made, or found made.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// Cargo's package id.
    pub package: String,
    /// The target's name.
    pub name: String,
    /// Whether it is a binary, example, test or bench: something to run.
    pub kind: TargetKind,
    /// Built as a test harness.
    pub is_test: bool,
    /// Its files.
    pub files: Vec<PathBuf>,
    /// The program.
    pub executable: Option<PathBuf>,
    /// Not compiled now: it was up to date.
    pub fresh: bool,
}

/// What a build script said.
#[derive(Debug, Clone)]
pub struct ScriptRun {
    /// Cargo's package id.
    pub package: String,
    /// Where it put things.
    pub out_dir: PathBuf,
    /// Libraries it links, `static=name` and the like.
    pub linked_libs: Vec<String>,
    /// Where they are.
    pub linked_paths: Vec<PathBuf>,
}

/// What was built by something else than cargo.
#[derive(Debug, Clone)]
pub struct NativeBuild {
    /// The package id, where cargo's would stand.
    pub package: String,
    /// The build tree; `None` where objects may be anywhere.
    pub dir: Option<PathBuf>,
    /// Targets of cmake's that are part of it.
    pub targets: BTreeSet<String>,
}

/// A build that succeeded.
#[derive(Debug, Clone, Default)]
pub struct Built {
    /// All units' artifacts.
    pub artifacts: Vec<Artifact>,
    /// All build scripts' outputs.
    pub scripts: Vec<ScriptRun>,
    /// What other build systems made.
    pub natives: Vec<NativeBuild>,
    /// How long it took.
    pub duration: Duration,
}

impl Built {
    /// Whether cargo found everything up to date.
    pub fn all_fresh(&self) -> bool {
        self.artifacts.iter().all(|artifact| artifact.fresh)
    }

    /// Programs to ship: binaries and examples, no harnesses.
    pub fn programs(&self) -> impl Iterator<Item = (&Artifact, &PathBuf)> {
        self.artifacts.iter().filter_map(|artifact| {
            let executable = artifact.executable.as_ref()?;
            (!artifact.is_test && matches!(artifact.kind, TargetKind::Bin | TargetKind::Example))
                .then_some((artifact, executable))
        })
    }

    /// Shared and static libraries of the kind that other programs load or link.
    pub fn libraries(&self) -> impl Iterator<Item = &PathBuf> {
        self.artifacts
            .iter()
            .filter(|artifact| matches!(artifact.kind, TargetKind::CDyLib | TargetKind::StaticLib))
            .flat_map(|artifact| &artifact.files)
    }

    /// Everything that runs, harnesses included.
    pub fn executables(&self) -> impl Iterator<Item = &PathBuf> {
        self.artifacts
            .iter()
            .filter_map(|artifact| artifact.executable.as_ref())
    }

    /// The order for C by which an artifact of another build system was made; `None` for cargo's.
    pub fn order_of<'p>(&self, plan: &'p PhasePlan, artifact: &Artifact) -> Option<&'p Order> {
        let is_native = self.natives.iter().any(|it| it.package == artifact.package);
        let name = artifact
            .package
            .strip_prefix(workspace::NATIVE)
            .filter(|_| is_native)?;
        let id = protocol::package_id(name, protocol::NO_VERSION);
        Some(plan.orders.of(&id, Language::C))
    }

    /// Adds another build of the same phase.
    pub fn absorb(&mut self, other: Built) {
        self.artifacts.extend(other.artifacts);
        self.scripts.extend(other.scripts);
        self.natives.extend(other.natives);
        self.duration += other.duration;
    }
}

/// Runs a phase's builds: what cmake makes, then cargo's commands, one after the other; and brings the keys up to date with what they
/// compiled. `user_format`: as for [`run`].
///
/// # Errors
///
/// [`BuildError`]
pub fn run_all(
    plan: &PhasePlan,
    commands: &[BuildCommand],
    cargo: &Cargo,
    user_format: Option<&str>,
    ui: &Ui,
) -> Result<Built, BuildError> {
    let of_target = plan.target_dir.join(&cargo.target);
    let mut built = run_trees(plan, ui)?;
    for &BuildCommand {
        subcommand,
        ref selection,
    } in commands
    {
        let call = plan.cargo(cargo, subcommand).args(selection);
        let done = run(call, plan.phase.name(), user_format)?;
        if !harness::has_work(&done, subcommand, &of_target) {
            return Err(BuildError::NothingToRun { subcommand });
        }
        built.absorb(done);
    }
    settle_keys(plan)?;
    Ok(built)
}

/// Builds what cmake builds in a phase.
///
/// # Errors
///
/// [`BuildError`]
pub fn run_trees(plan: &PhasePlan, ui: &Ui) -> Result<Built, BuildError> {
    let mut built = Built::default();
    for tree in &plan.trees {
        built.absorb(cmake::run(plan, tree, ui)?);
    }
    Ok(built)
}

/// After a build: C that is new in it has keys from now on.
pub(super) fn settle_keys(plan: &PhasePlan) -> Result<(), FsError> {
    let with_c = keys::packages_with_c(&plan.state)?;
    plan.orders
        .settle_keys(&plan.state, &plan.packages, &with_c)
}

/// Runs a cargo command that builds. Its messages for people go to stderr as always; with
/// `user_format` the JSON that the user asked for goes to stdout too.
///
/// # Errors
///
/// [`BuildError`]
pub fn run(call: Invocation, phase: &str, user_format: Option<&str>) -> Result<Built, BuildError> {
    let wants_json = user_format.is_some_and(|format| format.starts_with("json"));
    let format = match user_format {
        Some(format) if wants_json => format,
        _ => "json-render-diagnostics",
    };
    let call = call.args(["--message-format", format]);
    let start = Instant::now();
    let mut child = call
        .command()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|source| call.start_error(source))?;
    let pipe = child.stdout.take().expect("stdout was asked for");
    let mut built = Built::default();
    for line in BufReader::new(pipe).split(b'\n') {
        let line = line.map_err(BuildError::Messages)?;
        if wants_json {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(&line).and_then(|()| out.write_all(b"\n"));
        }
        match serde_json::from_slice::<Message>(&line) {
            Ok(Message::CompilerArtifact(artifact)) => built.artifacts.push(Artifact {
                package: artifact.package_id.repr,
                name: artifact.target.name.clone(),
                is_test: artifact.profile.test,
                kind: artifact
                    .target
                    .kind
                    .into_iter()
                    .next()
                    .unwrap_or(TargetKind::Lib),
                files: artifact.filenames.into_iter().map(Into::into).collect(),
                executable: artifact.executable.map(Into::into),
                fresh: artifact.fresh,
            }),
            Ok(Message::BuildScriptExecuted(script)) => built.scripts.push(ScriptRun {
                package: script.package_id.repr,
                out_dir: script.out_dir.into(),
                linked_libs: script
                    .linked_libs
                    .iter()
                    .map(|lib| lib.to_string())
                    .collect(),
                linked_paths: script
                    .linked_paths
                    .iter()
                    // `native=/dir` and the like.
                    .map(|path| {
                        let path = path.as_str();
                        PathBuf::from(path.split_once('=').map_or(path, |(_, path)| path))
                    })
                    .collect(),
            }),
            // Tests' output, or messages of a later cargo.
            _ => {}
        }
    }
    let status = child.wait().map_err(|source| call.start_error(source))?;
    built.duration = start.elapsed();
    if !status.success() {
        return Err(BuildError::Failed {
            phase: phase.to_owned(),
            status,
        });
    }
    Ok(built)
}
