//! Why a project could not be built by cmake.

use crate::error::{Diagnose, ExitCode};
use crate::fs::FsError;
use crate::tool::ToolError;
use crate::tool::cmake::NoCmake;
use crate::tool::cmake::api::ApiError;
use crate::tool::invocation::describe;
use std::path::PathBuf;
use std::process::ExitStatus;

/// A project could not be built by cmake as this phase wants it.
#[derive(Debug, thiserror::Error)]
pub enum CmakeError {
    /// No cmake that can be used.
    #[error(transparent)]
    Missing(#[from] NoCmake),
    /// A step failed, after what it said was shown.
    #[error("cmake could not {step} `{project}` ({}); all that it said is in `{}`", describe(*status), log.display())]
    Step {
        /// `configure` or `build`.
        step: &'static str,
        /// Which project.
        project: String,
        /// How it ended.
        status: ExitStatus,
        /// Its words.
        log: PathBuf,
    },
    /// No `CMakeLists.txt` where one should be.
    #[error("`{}` has no CMakeLists.txt", .0.display())]
    NoProject(PathBuf),
    /// A target that the project does not have.
    #[error("`{project}` has no target `{name}`{}", crate::config::nearest::did_you_mean(name, known.iter().map(String::as_str)))]
    NoTarget {
        /// Which project.
        project: String,
        /// The name.
        name: String,
        /// What it has.
        known: Vec<String>,
    },
    /// cmake uses another compiler than it was told.
    #[error("the {language} compiler of `{project}` is `{}`, whatever CC and CXX say, so that nothing of it would be profiled", path.display())]
    ForcedCompiler {
        /// Which project.
        project: String,
        /// `C` or `C++`.
        language: &'static str,
        /// What it uses.
        path: PathBuf,
    },
    /// A build directory that was configured before, without us.
    #[error("`{}` is configured for the compiler `{}`, and cmake keeps the one that a build directory began with", dir.display(), path.display())]
    ForeignTree {
        /// The build directory.
        dir: PathBuf,
        /// What it uses.
        path: PathBuf,
    },
    /// Objects that no shim compiled, and none that one did.
    #[error(
        "none of the {unseen} objects of `{project}` was compiled by cargo fdo's compilers in this phase"
    )]
    NotOurs {
        /// Which project.
        project: String,
        /// How many.
        unseen: usize,
        /// The build directory.
        dir: PathBuf,
    },
    /// No compiler is planned for C.
    #[error("there is no C compiler for {target} to build `{project}` with")]
    NoCompiler {
        /// Which project.
        project: String,
        /// The triple.
        target: String,
    },
    /// cmake's answer can't be read.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The step said well, and the tree has no description.
    #[error("cmake configured `{}`, but left no description of what it builds there", .0.display())]
    NoReply(PathBuf),
    /// cmake did not start.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for CmakeError {
    fn exit_code(&self) -> ExitCode {
        match self {
            CmakeError::Missing(error) => error.exit_code(),
            CmakeError::Tool(error) => error.exit_code(),
            CmakeError::Fs(error) => error.exit_code(),
            CmakeError::Step { .. } | CmakeError::NotOurs { .. } => ExitCode::Build,
            CmakeError::Api(_) | CmakeError::NoReply(_) => ExitCode::Tool,
            CmakeError::NoProject(_)
            | CmakeError::NoTarget { .. }
            | CmakeError::ForcedCompiler { .. }
            | CmakeError::ForeignTree { .. }
            | CmakeError::NoCompiler { .. } => ExitCode::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            CmakeError::Missing(error) => error.hint(),
            CmakeError::Tool(error) => error.hint(),
            CmakeError::Fs(error) => error.hint(),
            CmakeError::Step { .. } => Some(
                "its own messages are above; `-v` shows each compiler call. Where plain cmake builds it \
                 and this does not, `exclude-targets` in fdo.toml leaves a target alone"
                    .into(),
            ),
            CmakeError::NoProject(_) => {
                Some("`source` in the table [cmake.NAME] of fdo.toml says where it is".into())
            }
            CmakeError::NoTarget { known, .. } => {
                Some(format!("it has `{}`", known.join("`, `")))
            }
            CmakeError::ForcedCompiler { path, .. } => Some(format!(
                "its CMakeLists.txt, a toolchain file, a preset or an argument sets CMAKE_C_COMPILER or \
                 CMAKE_CXX_COMPILER: remove that, and name the compiler by CC and CXX in the \
                 environment (CC={})",
                path.display()
            )),
            CmakeError::ForeignTree { .. } => {
                Some("name another build directory, one for each phase".into())
            }
            CmakeError::NotOurs { dir, .. } => Some(format!(
                "a rule of the project calls a compiler by its own name; or they were there before: \
                 `cmake --build {} --target clean` removes them",
                dir.display()
            )),
            CmakeError::NoCompiler { target, .. } => {
                Some(format!("set CC_{target} and CXX_{target}"))
            }
            CmakeError::Api(_) | CmakeError::NoReply(_) => {
                Some("cmake 3.14 and later do; is there an older one in PATH?".into())
            }
        }
    }
}
