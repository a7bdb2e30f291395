//! A profile of the program where it was evaluated, held against the training.

use super::super::profile::input::{Content, Family, Input};
use super::super::profile::llvm::Llvm;
use super::super::profile::{ProfileError, convert, shares_of};
use super::Session;
use crate::cli::ReportArgs;
use crate::cli::profile::LlvmArgs;
use crate::error::Result;
use crate::profile::kind::Kind;
use crate::profile::shares::{self, Counts, Coverage};
use crate::report::page::Evaluation;
use crate::stage::trained::Trained;
use std::path::{Path, PathBuf};

/// What was read.
pub(super) struct Evaluated {
    path: PathBuf,
    kind: Kind,
    is_counted: bool,
    coverage: Coverage,
}

impl Evaluated {
    /// Reads a file of any kind that `cargo fdo profile` knows. `None` if there are no counts to
    /// compare.
    pub(super) fn read(
        path: &Path,
        args: &ReportArgs,
        session: &Session,
        toolchain: Option<&str>,
        trained: &Trained,
    ) -> Result<Option<Evaluated>> {
        let input = Input::open(path)?;
        let mut counts = Counts::new();
        if input.family()? == Family::Recording {
            let Some(binary) = &args.binary else {
                return Err(ProfileError::NeedsBinary { path: input.path }.into());
            };
            let profiles = convert::profiles(&input, binary, &session.ui)?;
            shares::add_samples(&mut counts, &profiles.llvm);
            shares::add_samples(&mut counts, &profiles.gcc);
            if trained.is_counted {
                shares::credit(&mut counts, &profiles.llvm, &trained.symbols);
                shares::credit(&mut counts, &profiles.gcc, &trained.symbols);
            }
        } else {
            let args = LlvmArgs::default();
            let content: Content = input.read(&Llvm::new(&args, toolchain))?;
            counts = shares_of(&content);
            if let Some(samples) = content.samples().filter(|_| trained.is_counted) {
                shares::credit(&mut counts, samples, &trained.symbols);
            }
        }
        let coverage = shares::coverage(&trained.symbols, &counts);
        Ok(coverage.map(|coverage| Evaluated {
            path: path.to_owned(),
            kind: input.kind,
            is_counted: trained.is_counted,
            coverage,
        }))
    }

    /// For the page.
    pub(super) fn facts(&self) -> Evaluation<'_> {
        let name = self.path.file_name().unwrap_or_default();
        Evaluation {
            file: name.to_string_lossy().into_owned(),
            kind: self.kind.to_string(),
            is_counted: self.is_counted,
            coverage: &self.coverage,
        }
    }
}
