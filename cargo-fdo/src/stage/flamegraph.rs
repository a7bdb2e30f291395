//! From recordings to pictures of where the time goes.

use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use crate::profile::sample::read::ReadError;
use crate::profile::stacks::folded::Folded;
use crate::profile::stacks::{self, Sources, Stacks};
use inferno::{differential, flamegraph};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// There is nothing to draw.
#[derive(Debug, thiserror::Error)]
pub enum FlamegraphError {
    /// A file is no recording, or damaged.
    #[error("`{}` can't be drawn", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: ReadError,
    },
    /// Nothing is in it.
    #[error("`{}` holds no samples", .0.display())]
    Empty(PathBuf),
    /// There are samples, but none that can be drawn.
    #[error("the picture could not be made")]
    Drawing(#[source] io::Error),
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for FlamegraphError {
    fn exit_code(&self) -> ExitCode {
        match self {
            FlamegraphError::Unreadable { .. } => ExitCode::Profile,
            FlamegraphError::Empty(_) => ExitCode::Training,
            FlamegraphError::Drawing(_) => ExitCode::Internal,
            FlamegraphError::Fs(error) => error.exit_code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            FlamegraphError::Unreadable { .. } => Some(
                "a recording is made by `perf record -g`, a text by `perf script` without `-F`, or \
                 by this command with `--folded`"
                    .into(),
            ),
            FlamegraphError::Empty(_) => Some(
                "did the program run, and use the processor for more than some milliseconds? A \
                 program that waits is not sampled; `--frequency` looks more often"
                    .into(),
            ),
            FlamegraphError::Drawing(_) => None,
            FlamegraphError::Fs(error) => error.hint(),
        }
    }
}

/// Reads the stacks of a file of any kind that is known, with or without inlined functions.
///
/// # Errors
///
/// It can't be read, or has no samples.
pub fn read(path: &Path, debug_dirs: &[PathBuf], inlined: bool) -> Result<Stacks, FlamegraphError> {
    let file = File::open(path).map_err(|error| FsError::new("read", path, error))?;
    let sources = Sources {
        debug_directories: debug_dirs,
        inlined,
        ..Sources::default()
    };
    let unreadable = |source| FlamegraphError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let read = match stacks::read(file, sources) {
        Err(ReadError::Empty) => return Err(FlamegraphError::Empty(path.to_owned())),
        read => read.map_err(unreadable)?,
    };
    if read.folded.total() == 0 {
        return Err(FlamegraphError::Empty(path.to_owned()));
    }
    Ok(read)
}

/// What stands in a picture beside the stacks.
#[derive(Debug, Clone)]
pub struct Labels {
    /// Above it.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
}

/// Draws stacks; the picture is an SVG that a browser lets one search and zoom in.
///
/// # Errors
///
/// [`FlamegraphError::Drawing`]
pub fn draw(folded: &Folded, labels: &Labels) -> Result<Vec<u8>, FlamegraphError> {
    svg(&folded.text(), labels)
}

/// Folded stacks with two counts each, as the difference is drawn. The new ones are scaled so that
/// both have as many samples in all: what is shown is where the time goes, not how long it took.
///
/// # Errors
///
/// [`FlamegraphError::Drawing`]
pub fn difference(before: &Folded, after: &Folded) -> Result<String, FlamegraphError> {
    let after = after.scaled_to(before.total());
    let mut text = Vec::new();
    differential::from_readers(
        differential::Options::default(),
        before.text().as_bytes(),
        after.text().as_bytes(),
        &mut text,
    )
    .map_err(FlamegraphError::Drawing)?;
    let text = String::from_utf8_lossy(&text);
    // They come in the order of a table of hashes.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    Ok(lines.join("\n") + "\n")
}

/// Draws what [`difference`] made.
///
/// # Errors
///
/// [`FlamegraphError::Drawing`]
pub fn draw_difference(text: &str, labels: &Labels) -> Result<Vec<u8>, FlamegraphError> {
    svg(text, labels)
}

fn svg(folded: &str, labels: &Labels) -> Result<Vec<u8>, FlamegraphError> {
    let mut options = flamegraph::Options::default();
    options.title.clone_from(&labels.title);
    options.subtitle = Some(labels.subtitle.clone());
    // One function has one colour in all pictures.
    options.hash = true;
    let mut picture = Vec::new();
    flamegraph::from_lines(&mut options, folded.lines(), &mut picture)
        .map_err(|error| FlamegraphError::Drawing(io::Error::other(error.to_string())))?;
    Ok(picture)
}

/// Writes a picture or a text.
///
/// # Errors
///
/// If that fails.
pub fn write(path: &Path, content: &[u8]) -> Result<(), FlamegraphError> {
    Ok(fs::write_output(path, content)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(stacks: &[(&str, u64)]) -> Folded {
        let mut folded = Folded::default();
        for (stack, count) in stacks {
            folded.count(stack, *count);
        }
        folded
    }

    fn labels() -> Labels {
        Labels {
            title: "a & b".into(),
            subtitle: "<12> samples".into(),
        }
    }

    #[test]
    fn a_picture_has_the_names_and_the_labels() {
        let stacks = folded(&[("sh;main;f<T>", 3), ("sh;main", 1)]);
        let picture = draw(&stacks, &labels()).unwrap();
        let picture = String::from_utf8(picture).unwrap();
        for part in [
            "a &amp; b",
            "&lt;12&gt; samples",
            "f&lt;T&gt; (3 samples, 75.00%)",
        ] {
            assert!(picture.contains(part), "{part}: {picture}");
        }
    }

    #[test]
    fn a_difference_is_of_shares() {
        let before = folded(&[("a;b", 80), ("a;c", 20)]);
        let after = folded(&[("a;b", 8), ("a;d", 32)]);
        let text = difference(&before, &after).unwrap();
        assert_eq!(text, "a;b 80 20\na;c 20 0\na;d 0 80\n");
        let picture = draw_difference(&text, &labels()).unwrap();
        assert!(String::from_utf8(picture).unwrap().contains("-60.00%"));
    }
}
