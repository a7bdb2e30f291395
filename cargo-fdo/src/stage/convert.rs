//! From the samples of a build's files to profiles, for each kind of compiler.

use super::debug_file;
use super::images::Picked;
use crate::error::{Diagnose, ExitCode};
use crate::fs::FsError;
use crate::profile::sample::convert::{self, Flavour, Policy};
use crate::profile::sample::image::{Image, ImageError};
use crate::profile::sample::{SampleProfile, merge};
use memmap2::Mmap;
use std::fs::File;
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
        "only {:.1} % of the samples in `{}` are in functions with line information ({cause}); \
         `min-mapped` is {:.0} %",
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
        cause: Cause,
    },
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

/// Why little of a recording could be mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The file has no debug information.
    NoLines,
    /// It has some, but not where the samples are.
    OtherLines,
    /// Samples are where the file has no code: it is another build.
    OtherBuild,
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Cause::NoLines => "it has no line tables",
            Cause::OtherLines => "its line tables do not cover the code that ran",
            Cause::OtherBuild => "it is probably another build than the recorded one",
        })
    }
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
                cause: Cause::NoLines,
                ..
            } => Some(
                "`cargo fdo train --method sample --build-only` builds it with line tables; a \
                 stripped program needs its debug file beside it, under the name in its \
                 `.gnu_debuglink`, or in /usr/lib/debug/.build-id"
                    .into(),
            ),
            ConvertError::LittleMapped {
                cause: Cause::OtherLines,
                ..
            } => Some(
                "is the time spent in libraries that were compiled without line tables (a \
                 prebuilt C library, assembler)? `min-mapped` in the table [sample] of fdo.toml \
                 sets the limit"
                    .into(),
            ),
            ConvertError::LittleMapped { .. } => {
                Some("record this build, or name the recorded program with `--binary`".into())
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
    /// Share of the samples that are in positions of a profile, 0 to 1.
    pub mapped: f64,
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
pub fn run(picked: &Picked, min_mapped: f64) -> Result<(Profiles, Outcome), ConvertError> {
    let fail = |source| ConvertError::Image {
        path: picked.file.clone(),
        source,
    };
    let data = map(&picked.file)?;
    let image = Image::read(&data).map_err(fail)?;
    let debug = debug_file(&picked.file, &image);
    let image = match &debug {
        Some(debug) => image.with_debug(debug).map_err(fail)?,
        None => image,
    };
    let of = |flavour| convert::convert(&picked.samples, &image, &Policy::of(flavour)).map_err(fail);
    let (llvm, gcc) = (of(Flavour::Llvm)?, of(Flavour::Gcc)?);

    // With branch stacks the weights are executed bytes, so shares are of their own sum.
    let mapped = llvm.quality.mapped.saturating_add(gcc.quality.mapped);
    let unmapped = llvm
        .quality
        .without_lines
        .saturating_add(gcc.quality.without_lines);
    let nowhere = match picked.samples.ranges.is_empty() {
        true => picked
            .samples
            .samples
            .saturating_sub(mapped.saturating_add(unmapped)),
        false => 0,
    };
    let all = mapped.saturating_add(unmapped).saturating_add(nowhere);
    let share = mapped as f64 / all.max(1) as f64;
    let outcome = Outcome {
        file: picked.file.clone(),
        samples: picked.samples.samples,
        functions: (llvm.profile.functions.len() + gcc.profile.functions.len()) as u64,
        mapped: share,
    };
    if share < min_mapped || mapped == 0 {
        return Err(ConvertError::LittleMapped {
            path: picked.file.clone(),
            mapped: share,
            limit: min_mapped,
            cause: cause(picked, &image, &debug),
        });
    }
    let profiles = Profiles {
        llvm: llvm.profile,
        gcc: gcc.profile,
    };
    Ok((profiles, outcome))
}

fn cause(picked: &Picked, image: &Image<'_>, debug: &Option<Mmap>) -> Cause {
    let outside = picked
        .samples
        .addresses
        .iter()
        .filter(|(offset, _)| image.address(**offset).is_none())
        .fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
    let has_lines = debug.is_some()
        || File::open(&picked.file)
            .ok()
            .and_then(crate::profile::linked_file::read)
            .is_some_and(|file| file.has_lines);
    if outside > picked.samples.samples / 2 {
        Cause::OtherBuild
    } else if !has_lines {
        Cause::NoLines
    } else {
        Cause::OtherLines
    }
}

/// Debug information of the same build in a file apart.
fn debug_file(program: &Path, image: &Image<'_>) -> Option<Mmap> {
    let link = image.debug_link.as_ref().map(|(name, _)| name.as_str());
    let id = image.build_id.as_deref();
    debug_file::candidates(program, id, link)
        .iter()
        .find_map(|path| {
            let data = map(path).ok()?;
            let other = Image::read(&data).ok()?;
            // Without ids on both sides the name must do.
            (other.build_id == image.build_id).then_some(())?;
            Some(data)
        })
}

/// Maps a file, so that only what is looked at takes memory.
fn map(path: &Path) -> Result<Mmap, FsError> {
    let fail = |error| FsError::new("read", path, error);
    let file = File::open(path).map_err(fail)?;
    // SAFETY: A file that changes while it is mapped gives other bytes, which every reader of
    // `profile/` takes as it finds them; one that is cut short ends us by SIGBUS. Linkers replace
    // their output and do not write into it, and builds of this target directory wait for our
    // lock.
    unsafe { Mmap::map(&file) }.map_err(fail)
}
