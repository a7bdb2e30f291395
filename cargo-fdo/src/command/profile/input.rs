//! Opening a file: what it is, and what is in it.

use super::ProfileError;
use super::llvm::Llvm;
use crate::error::Result;
use crate::profile::instr_text::InstrProfile;
use crate::profile::kind::{HEAD, Kind};
use crate::profile::sample::gcov::{self, GcovProfile};
use crate::profile::sample::{SampleProfile, llvm_text};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A file of a known kind, not yet read.
#[derive(Debug)]
pub(in crate::command) struct Input {
    pub(in crate::command) path: PathBuf,
    pub(in crate::command) kind: Kind,
    /// What the file says.
    pub(in crate::command) version: Option<u64>,
}

/// Kinds that can be added up and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::command) enum Family {
    /// Counters.
    Instr,
    /// LLVM's samples.
    LlvmSample,
    /// GCC's samples.
    GccSample,
    /// Addresses.
    Recording,
}

/// What is in a file.
#[derive(Debug)]
pub(in crate::command) enum Content {
    Instr(InstrProfile),
    LlvmSample(SampleProfile),
    GccSample(GcovProfile),
}

impl Content {
    /// The samples, of whatever origin.
    pub(in crate::command) fn samples(&self) -> Option<&SampleProfile> {
        match self {
            Content::Instr(_) => None,
            Content::LlvmSample(profile) => Some(profile),
            Content::GccSample(file) => Some(&file.profile),
        }
    }
}

impl Input {
    pub(in crate::command) fn open(path: &Path) -> Result<Input> {
        let fail = |source| ProfileError::Open {
            path: path.to_owned(),
            source,
        };
        crate::fs::check_is_file(path).map_err(fail)?;
        let file = std::fs::File::open(path).map_err(fail)?;
        let mut head = Vec::new();
        file.take(HEAD as u64)
            .read_to_end(&mut head)
            .map_err(fail)?;
        let Some(kind) = Kind::of(&head) else {
            return Err(ProfileError::Unknown {
                path: path.to_owned(),
            }
            .into());
        };
        Ok(Input {
            path: path.to_owned(),
            kind,
            version: kind.version(&head),
        })
    }

    /// What this can be merged and compared with.
    ///
    /// # Errors
    ///
    /// Nothing here is for such a file.
    pub(in crate::command) fn family(&self) -> Result<Family> {
        let refuse = |why| {
            Err(ProfileError::Refused {
                path: self.path.clone(),
                kind: self.kind,
                why,
            }
            .into())
        };
        match self.kind {
            Kind::LlvmRaw | Kind::LlvmIndexed | Kind::LlvmInstrText => Ok(Family::Instr),
            Kind::LlvmSampleText | Kind::LlvmSampleBinary | Kind::LlvmSampleExtBinary => {
                Ok(Family::LlvmSample)
            }
            Kind::GccSample => Ok(Family::GccSample),
            Kind::PerfData => Ok(Family::Recording),
            Kind::GccCounters => refuse("gcov-tool merges and gcov-dump shows those"),
            Kind::LlvmSampleObsolete => refuse("the LLVM that wrote it can write it as text"),
        }
    }

    /// Reads it.
    ///
    /// # Errors
    ///
    /// The file is damaged, or a recording.
    pub(in crate::command) fn read(&self, llvm: &Llvm<'_>) -> Result<Content> {
        Ok(match self.family()? {
            Family::Instr => {
                let text = match self.kind {
                    Kind::LlvmInstrText => self.bytes()?,
                    _ => self.through_llvm(llvm, &[])?,
                };
                let parsed = std::str::from_utf8(&text)
                    .map_err(|error| format!("no text at byte {}", error.valid_up_to()))
                    .and_then(|text| InstrProfile::parse(text).map_err(|e| e.to_string()));
                Content::Instr(parsed.map_err(|reason| self.damaged(reason))?)
            }
            Family::LlvmSample => {
                let text = match self.kind {
                    Kind::LlvmSampleText => self.bytes()?,
                    _ => self.through_llvm(llvm, &["--sample"])?,
                };
                let parsed = llvm_text::read(&text);
                Content::LlvmSample(parsed.map_err(|error| self.damaged(error.to_string()))?)
            }
            Family::GccSample => {
                let parsed = gcov::read(&self.bytes()?);
                Content::GccSample(parsed.map_err(|error| self.damaged(error.to_string()))?)
            }
            Family::Recording => {
                return Err(ProfileError::Recording {
                    path: self.path.clone(),
                }
                .into());
            }
        })
    }

    /// The file as LLVM's text.
    pub(in crate::command) fn through_llvm(
        &self,
        llvm: &Llvm<'_>,
        options: &[&str],
    ) -> Result<Vec<u8>> {
        llvm.make(&[&self.path], |call, output| {
            let call = call.arg("merge").args(options).arg("--text");
            call.arg(&self.path).arg("--output").arg(output)
        })
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        let read = std::fs::read(&self.path);
        Ok(read.map_err(|source| ProfileError::Open {
            path: self.path.clone(),
            source,
        })?)
    }

    fn damaged(&self, reason: String) -> ProfileError {
        ProfileError::Damaged {
            path: self.path.clone(),
            kind: self.kind,
            reason,
        }
    }
}
