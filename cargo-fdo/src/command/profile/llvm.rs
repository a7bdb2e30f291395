//! LLVM's binary forms, through the first llvm-profdata that takes them.
//!
//! Outside of a project there is no compiler that a tool must fit: whoever reads the file will do.

use super::ProfileError;
use crate::cli::profile::LlvmArgs;
use crate::error::Result;
use crate::fs::FsError;
use crate::tool::profdata::{self, Refusal, complaints};
use crate::tool::{Invocation, Places, Rustc};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Where to find one, sought when it is first needed.
pub(in crate::command) struct Llvm<'a> {
    explicit: Option<&'a Path>,
    toolchain: Option<&'a str>,
    candidates: OnceCell<Vec<PathBuf>>,
    scratch: OnceCell<TempDir>,
}

impl<'a> Llvm<'a> {
    pub(in crate::command) fn new(args: &'a LlvmArgs, toolchain: Option<&'a str>) -> Llvm<'a> {
        Llvm {
            explicit: args.llvm_profdata.as_deref(),
            toolchain,
            candidates: OnceCell::new(),
            scratch: OnceCell::new(),
        }
    }

    /// A place for files that nobody else sees.
    pub(in crate::command) fn scratch(&self) -> Result<&Path> {
        if self.scratch.get().is_none() {
            let made = tempfile::Builder::new().prefix("cargo-fdo-").tempdir();
            let dir = made.map_err(|error| {
                FsError::new("make a directory in", &std::env::temp_dir(), error)
            })?;
            return Ok(self.scratch.get_or_init(|| dir).path());
        }
        Ok(self.scratch.get().expect("just looked").path())
    }

    /// Calls candidates until one succeeds, and returns what it wrote.
    ///
    /// `call` adds arguments, the path of the output among them; `inputs` are what it reads.
    pub(in crate::command) fn make(
        &self,
        inputs: &[&Path],
        call: impl Fn(Invocation, &Path) -> Invocation,
    ) -> Result<Vec<u8>> {
        let output = self.scratch()?.join("output");
        let mut refused = Vec::new();
        let mut started = false;
        for program in self.candidates() {
            let _ = std::fs::remove_file(&output);
            let refuse = |reason: String| Refusal {
                program: program.clone(),
                llvm_major: None,
                reason,
            };
            let ended = match call(Invocation::new(program), &output).probe() {
                Ok(ended) => ended,
                Err(error) => {
                    refused.push(refuse(error.to_string()));
                    continue;
                }
            };
            started = true;
            match std::fs::read(&output) {
                Ok(written) if ended.status.success() && !written.is_empty() => return Ok(written),
                _ => {
                    let first = complaints(&ended.stderr, inputs).into_iter().next();
                    let reason = match first {
                        Some((_, reason)) => reason,
                        None => ended
                            .stderr
                            .lines()
                            .next()
                            .unwrap_or("wrote nothing")
                            .to_owned(),
                    };
                    refused.push(refuse(reason));
                }
            }
        }
        if !started {
            return Err(ProfileError::NoProfdata { tried: refused }.into());
        }
        let path = inputs.first().map(|path| path.to_path_buf());
        Err(ProfileError::Llvm {
            path: path.unwrap_or_default(),
            refused,
        }
        .into())
    }

    fn candidates(&self) -> &[PathBuf] {
        self.candidates.get_or_init(|| {
            let variable = std::env::var_os("LLVM_PROFDATA").filter(|value| !value.is_empty());
            let named = self.explicit.map(Path::to_owned);
            if let Some(named) = named.or(variable.map(PathBuf::from)) {
                return vec![named];
            }
            let places = Places::of_process();
            let found = match self.rustc() {
                Some(rustc) => profdata::candidates(&rustc, &places),
                None => profdata::newest_first(&places),
            };
            // Candidates are also listed to say what could be installed.
            found
                .into_iter()
                .filter(|path| places.find(path).is_some())
                .collect()
        })
    }

    /// Its component comes first; without a rustc there is none.
    fn rustc(&self) -> Option<Rustc> {
        let configuration = cargo_config2::Config::load().ok()?;
        let (_, program) =
            crate::command::session::programs(self.toolchain, &configuration).ok()?;
        Rustc::inspect(&program).ok()
    }
}
