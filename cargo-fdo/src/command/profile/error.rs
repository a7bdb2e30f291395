//! Why a profile file can't be dealt with.

use crate::error::{Diagnose, ExitCode};
use crate::profile::kind::Kind;
use crate::tool::profdata::Refusal;
use std::path::PathBuf;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// No file, or no permission.
    #[error("can't read `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not one of ours.
    #[error("`{}` is no profile of a kind that is known", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// A profile that nothing here is for.
    #[error("`{}` holds {kind}: {why}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Its kind.
        kind: Kind,
        /// What one would do instead.
        why: &'static str,
    },
    /// A profile that can't be read.
    #[error("`{}` ({kind}): {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Its kind.
        kind: Kind,
        /// What is wrong, and where.
        reason: String,
    },
    /// Every llvm-profdata said no.
    #[error("no `llvm-profdata` takes `{}`{}", path.display(), lines(refused))]
    Llvm {
        /// The file, or the first of several.
        path: PathBuf,
        /// Who said what.
        refused: Vec<Refusal>,
    },
    /// LLVM's binary forms are read and written by LLVM.
    #[error(
        "there is no `llvm-profdata`, which reads and writes LLVM's binary profiles{}",
        lines(tried)
    )]
    NoProfdata {
        /// Those that can't be started.
        tried: Vec<Refusal>,
    },
    /// Two kinds in one merge or comparison.
    #[error("`{}` holds {kind}, `{}` {other_kind}", path.display(), other.display())]
    Mixed {
        /// The first file.
        path: PathBuf,
        /// Its kind.
        kind: Kind,
        /// One that does not go with it.
        other: PathBuf,
        /// Its kind.
        other_kind: Kind,
    },
    /// AutoFDO profiles for several GCCs in one merge.
    #[error("`{}` has version {version}, `{}` {other_version}", path.display(), other.display())]
    Versions {
        /// The first file.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// One with another.
        other: PathBuf,
        /// Its version.
        other_version: u32,
    },
    /// `--weighted-input` without a weight.
    #[error("`{0}` is not a weight from 1 on, a comma and a file")]
    Weight(String),
    /// From what was counted to what is sampled, or the like.
    #[error("`{}` ({kind}) has no {form} form: {why}", path.display())]
    NotConvertible {
        /// The file.
        path: PathBuf,
        /// Its kind.
        kind: Kind,
        /// What was asked for.
        form: String,
        /// Why not.
        why: &'static str,
    },
    /// Addresses alone say nothing.
    #[error("`{}` is a recording: `--binary` has to name the program that was recorded", path.display())]
    NeedsBinary {
        /// The recording.
        path: PathBuf,
    },
    /// `--binary` for something else.
    #[error("`--binary` is for recordings of perf, and `{}` holds {kind}", path.display())]
    NeedsNoBinary {
        /// The file.
        path: PathBuf,
        /// Its kind.
        kind: Kind,
    },
    /// A recording where a profile is wanted.
    #[error("`{}` is a recording of perf, and no profile yet", path.display())]
    Recording {
        /// The recording.
        path: PathBuf,
    },
    /// `--binary` is something else.
    #[error("`{}` is no executable or shared object that could have been recorded", path.display())]
    NotLinked {
        /// The file.
        path: PathBuf,
    },
    /// Samples are in code of other compilers only.
    #[error("no sample in `{}` is in code that {compilers} compiled, which alone read this form", path.display())]
    NoCodeFor {
        /// The program.
        path: PathBuf,
        /// Who reads the form.
        compilers: &'static str,
    },
    /// `--function` found nothing.
    #[error("`{}` has no function named `{name}`", path.display())]
    NoFunction {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        name: String,
    },
    /// Nothing to compare.
    #[error("`{}` has no counts but zeros", path.display())]
    NoCounts {
        /// The file.
        path: PathBuf,
    },
}

fn lines(refused: &[Refusal]) -> String {
    let lines = refused.iter().map(|refusal| format!("\n  {refusal}"));
    lines.collect()
}

impl Diagnose for ProfileError {
    fn exit_code(&self) -> ExitCode {
        match self {
            ProfileError::Open { .. }
            | ProfileError::Unknown { .. }
            | ProfileError::Refused { .. }
            | ProfileError::Damaged { .. }
            | ProfileError::Llvm { .. }
            | ProfileError::NoCodeFor { .. }
            | ProfileError::NoCounts { .. } => ExitCode::Profile,
            ProfileError::NoProfdata { .. } => ExitCode::Tool,
            _ => ExitCode::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            ProfileError::Unknown { .. } => Some(
                "known are LLVM's .profraw and .profdata, its text and sample profiles, and GCC's \
                 AutoFDO profiles"
                    .into(),
            ),
            ProfileError::NoProfdata { .. } => Some(
                "`rustup component add llvm-tools`, or install LLVM (Debian package `llvm`)".into(),
            ),
            ProfileError::Mixed { .. } => {
                Some("`cargo fdo profile show FILE` says what a file is".into())
            }
            ProfileError::Versions { version, .. } => Some(format!(
                "`cargo fdo profile convert --to gcov-v{version}` writes the other one in the \
                 same version"
            )),
            ProfileError::Recording { .. } => Some(
                "`cargo fdo profile convert --binary PROGRAM --to llvm-text` makes one of it, \
                 `cargo fdo import` all that a project's compilers read"
                    .into(),
            ),
            ProfileError::NoCodeFor { .. } => Some(
                "rustc and clang read `--to llvm-text`, gcc `--to gcov-v2` and the like".into(),
            ),
            _ => None,
        }
    }
}
