//! From the samples of a build's files to profiles, for each kind of compiler.

use super::images::Picked;
use crate::error::{Diagnose, ExitCode};
use crate::fs::FsError;
use crate::profile::sample::convert;
use crate::profile::sample::image::{Image, ImageError};
use crate::profile::sample::mapped::Mapped;
use crate::profile::sample::policy::{Flavour, Policy};
use crate::profile::sample::quality::{Cause, Density, Quality};
use crate::profile::sample::{SampleProfile, debug_file, merge};
use std::path::{Path, PathBuf};

/// Samples could not become a profile.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// A program is damaged, or none.
    #[error("`{}` {source}", path.display())]
    Image {
        /// The program.
        path: PathBuf,
        /// What is wrong with it.
        source: ImageError,
    },
    /// Most of the samples are where nothing is known of the source.
    #[error(
        "only {:.1} % of the samples in `{}` are at known source lines, and `min-mapped` is {:.0} %",
        mapped * 100.0, path.display(), limit * 100.0
    )]
    LittleMapped {
        /// The program.
        path: PathBuf,
        /// The share.
        mapped: f64,
        /// What it must be.
        limit: f64,
        /// Why, probably.
        cause: Option<Cause>,
    },
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for ConvertError {
    fn exit_code(&self) -> ExitCode {
        match self {
            ConvertError::Image { .. } => ExitCode::Profile,
            ConvertError::LittleMapped { .. } => ExitCode::Training,
            ConvertError::Fs(error) => error.exit_code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            ConvertError::LittleMapped {
                cause: Some(cause), ..
            } => Some(format!("the probable cause: {cause}")),
            ConvertError::LittleMapped { .. } => {
                Some("`min-mapped` in the table [sample] of fdo.toml sets the limit".into())
            }
            ConvertError::Image { .. } => None,
            ConvertError::Fs(error) => error.hint(),
        }
    }
}

/// What came of one file's samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The file.
    pub file: PathBuf,
    /// Samples in it.
    pub samples: u64,
    /// Functions in the profiles.
    pub functions: u64,
    /// Share of the samples that are in positions of a profile, 0 to 1, of what compilers of this
    /// build can use.
    pub mapped: f64,
    /// Samples a kilobyte of the code that matters; `None` with branch stacks.
    pub density: Option<Density>,
}

/// What is expected of a conversion.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    /// The least share of the samples that must be at known lines.
    pub min_mapped: f64,
    /// Whether rustc reads samples here. If not, its line tables lack what a profile needs, and
    /// Rust is left out of the share.
    pub rust: bool,
}

/// Profiles by who reads them.
#[derive(Debug, Clone, Default)]
pub struct Profiles {
    /// Code that rustc and clang compiled.
    pub llvm: SampleProfile,
    /// Code that gcc compiled, with gcc's discriminators.
    pub gcc: SampleProfile,
}

impl Profiles {
    /// Adds others.
    pub fn add(&mut self, other: &Profiles, weight: u64) {
        merge::add(&mut self.llvm, &other.llvm, weight);
        merge::add(&mut self.gcc, &other.gcc, weight);
    }
}

/// Converts the samples of one file, twice: one program may hold code of both kinds of compiler,
/// each of which has its own discriminators and names.
///
/// # Errors
///
/// [`ConvertError`]
pub fn run(picked: &Picked, expected: Expected) -> Result<(Profiles, Outcome), ConvertError> {
    let fail = |source| ConvertError::Image {
        path: picked.file.clone(),
        source,
    };
    let data = map(&picked.file)?;
    let image = Image::mapped(&data).map_err(fail)?;
    let debug = debug_file::candidates(&picked.file, &image, &[])
        .iter()
        .filter_map(|path| map(path).ok())
        .find(|debug| debug_file::belongs(&image, debug.bytes()));
    let image = match &debug {
        Some(debug) => image.with_mapped_debug(debug).map_err(fail)?,
        None => image,
    };
    let of =
        |flavour| convert::convert(&picked.samples, &image, &Policy::of(flavour)).map_err(fail);
    let (llvm, gcc) = (of(Flavour::Llvm)?, of(Flavour::Gcc)?);
    let mapped = mapped(&llvm.quality, &gcc.quality, expected.rust);
    if mapped < expected.min_mapped || mapped == 0.0 {
        return Err(ConvertError::LittleMapped {
            path: picked.file.clone(),
            mapped,
            limit: expected.min_mapped,
            cause: cause(&llvm.quality, &gcc.quality),
        });
    }
    let main = match llvm.quality.mapped >= gcc.quality.mapped {
        true => &llvm.quality,
        false => &gcc.quality,
    };
    let outcome = Outcome {
        file: picked.file.clone(),
        samples: picked.samples.samples,
        functions: (llvm.profile.functions.len() + gcc.profile.functions.len()) as u64,
        mapped,
        density: main.density,
    };
    let profiles = Profiles {
        llvm: llvm.profile,
        gcc: gcc.profile,
    };
    Ok((profiles, outcome))
}

/// What both conversions mapped together, of all that could be of use.
fn mapped(llvm: &Quality, gcc: &Quality, rust: bool) -> f64 {
    let mapped = [
        llvm.mapped,
        llvm.below_threshold,
        gcc.mapped,
        gcc.below_threshold,
    ]
    .iter()
    .fold(0, |sum: u64, part| sum.saturating_add(*part));
    let of_no_use = if rust { 0 } else { llvm.without_declaration };
    let all = llvm.weight.saturating_sub(of_no_use);
    (mapped as f64 / all.max(1) as f64).min(1.0)
}

/// The cause, of the conversion that is to blame: for each of them, the other one's code is
/// foreign.
fn cause(llvm: &Quality, gcc: &Quality) -> Option<Cause> {
    match llvm.cause() {
        None | Some(Cause::OtherCompiler) => gcc.cause(),
        cause => cause,
    }
}

fn map(path: &Path) -> Result<Mapped, FsError> {
    Mapped::open(path).map_err(|error| FsError::new("read", path, error))
}
