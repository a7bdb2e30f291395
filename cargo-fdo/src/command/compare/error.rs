//! Why a variant can't take part.

use crate::error::{Diagnose, ExitCode};
use std::path::PathBuf;

/// A variant can't take part.
#[derive(Debug, thiserror::Error)]
pub(super) enum VariantError {
    #[error("`{0}` is no variant, no program and no saved result")]
    Unknown(String),
    #[error("there is no program at `{}`", .0.display())]
    NoProgram(PathBuf),
    #[error("`{}` has no program `{bin}`, which workload `{workload}` runs", dir.display())]
    NotInDirectory {
        dir: PathBuf,
        bin: String,
        workload: String,
    },
    #[error("`{0}` can't name a result: as a variant it means something else")]
    Reserved(String),
    #[error("`{name}` is compared with itself")]
    Twice { name: String },
    #[error("the profile has no part for {0}, so there is nothing to compare")]
    NoSlice(&'static str),
    #[error("there is no Rust here, so `rust-only` would be `control`")]
    NoRust,
    #[error("`{variant}` is a program, and workload `{workload}` is run by cargo")]
    NeedsCargo { variant: String, workload: String },
    #[error("the workloads run {}: it is not clear which of them `{}` is", names.join(", "), path.display())]
    Ambiguous { names: Vec<String>, path: PathBuf },
    #[error("workload `{0}` names no program of this workspace: all variants would run the same")]
    NoBin(String),
    #[error("the profile was replaced by another training while the variants were built")]
    TrainedMeanwhile,
    #[error("`cargo run` could run {}", .0.join(", "))]
    ManyPrograms(Vec<String>),
    #[error("the saved result `{name}` has no variant `{variant}`; it has {}", known.join(", "))]
    NoSuchVariant {
        name: String,
        variant: String,
        known: Vec<String>,
    },
    #[error("the saved result `{name}` does not have the workload `{workload}`")]
    NotMeasured { name: String, workload: String },
    #[error(
        "the saved result `{name}` is of another workload `{workload}`: `{then}` and not `{now}`"
    )]
    OtherWorkload {
        name: String,
        workload: String,
        then: String,
        now: String,
    },
    #[error("all variants are saved results: nothing would be measured")]
    NothingToMeasure,
}

impl Diagnose for VariantError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            VariantError::Unknown(_) | VariantError::Twice { .. } => Some(
                "variants are `release`, `control`, `rust-only`, `optimized`, a path with a `/`, \
                 or a name given to `--save`; the baseline is measured twice in any case"
                    .into(),
            ),
            VariantError::TrainedMeanwhile => Some("run it again".into()),
            VariantError::ManyPrograms(_) => Some("choose one with `--bin NAME`".into()),
            VariantError::NotMeasured { .. } | VariantError::OtherWorkload { .. } => {
                Some("measure it again: `cargo fdo compare --save NAME`".into())
            }
            VariantError::NoBin(_) => Some(
                "write `{bin:NAME}` where its program stands, in `run`, `prepare` or a value of \
                 `env`; a script can be handed the path"
                    .into(),
            ),
            VariantError::Ambiguous { .. } => {
                Some("give a directory that holds all of them".into())
            }
            VariantError::NeedsCargo { .. } => Some(
                "describe what runs in fdo.toml: `run = [\"{bin:NAME}\", …]` in a table \
                 [workload.NAME]"
                    .into(),
            ),
            _ => None,
        }
    }
}
