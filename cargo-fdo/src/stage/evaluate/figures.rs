//! Figures that a workload itself writes.

use crate::config::{Described, MetricSource, Placeholder, Wanted, WrittenTo};
use crate::metrics::{Figure, MetricError, Pattern, Reader, Reading};
use std::convert::Infallible;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A longer output is refused: a figure beyond would be missed.
const LONGEST: u64 = 64 << 20;

/// Where the outputs of one run are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outputs<'a> {
    pub(super) stdout: &'a Path,
    pub(super) stderr: &'a Path,
    /// `{tmp}`
    pub(super) tmp: &'a Path,
    /// `{workspace}`
    pub(super) workspace: &'a Path,
    /// Where the workload ran.
    pub(super) cwd: &'a Path,
}

/// A figure could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// It is not in the text.
    #[error("metric `{metric}`, in {place}: {why}")]
    Metric {
        /// Its key in fdo.toml.
        metric: String,
        /// Where it was looked for.
        place: String,
        /// Why.
        why: Box<MetricError>,
    },
    /// Its file is one of an earlier run.
    #[error("metric `{metric}`: this run did not write `{}`, which an earlier one left", path.display())]
    Stale {
        /// Its key in fdo.toml.
        metric: String,
        /// The file.
        path: PathBuf,
    },
    /// Two entries of fdo.toml read figures of one name.
    #[error("metric `{metric}` reads a figure `{figure}`, and so does another")]
    Twice {
        /// The key in fdo.toml of the second.
        metric: String,
        /// The figure.
        figure: String,
    },
    /// There is no text.
    #[error("metric `{metric}`: can't read `{}`: {why}", path.display())]
    File {
        /// Its key in fdo.toml.
        metric: String,
        /// The file.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
}

/// What the files of a workload's figures were before a run.
#[derive(Debug, Default)]
pub(super) struct Before(Vec<(PathBuf, Stamp)>);

/// Tells one writing of a file from the next.
type Stamp = (u64, i64, i64, u64);

impl Before {
    /// Looks at those that are there.
    pub(super) fn look(sources: &[MetricSource], outputs: Outputs<'_>) -> Before {
        let files = sources
            .iter()
            .filter(|source| matches!(source.from, WrittenTo::File(_)))
            .map(|source| place(source, outputs).1);
        Before(
            files
                .filter_map(|path| Some((path.clone(), stamp(&path)?)))
                .collect(),
        )
    }

    fn has(&self, path: &Path) -> bool {
        let now = stamp(path);
        self.0
            .iter()
            .any(|(known, then)| known == path && now == Some(*then))
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    use std::os::unix::fs::MetadataExt;
    let file = path.metadata().ok()?;
    Some((file.ino(), file.mtime(), file.mtime_nsec(), file.len()))
}

/// All figures of one run, in the order of fdo.toml; `before`: what there was before it.
///
/// # Errors
///
/// The first that is not there, or not of this run.
pub(super) fn read(
    sources: &[MetricSource],
    outputs: Outputs<'_>,
    before: &Before,
) -> Result<Vec<Reading>, FigureError> {
    let mut readings = Vec::new();
    for source in sources {
        let (place, path) = place(source, outputs);
        if before.has(&path) {
            return Err(FigureError::Stale {
                metric: source.name.clone(),
                path,
            });
        }
        let text = read_text(&path).map_err(|error| FigureError::File {
            metric: source.name.clone(),
            path,
            why: error,
        })?;
        let found = read_one(source, &text).map_err(|error| FigureError::Metric {
            metric: source.name.clone(),
            place,
            why: Box::new(error),
        })?;
        let is_known = |figure: &Reading| {
            let known: &Vec<Reading> = &readings;
            known.iter().any(|other| other.name == figure.name)
        };
        if let Some(twice) = found.iter().find(|figure| is_known(figure)) {
            return Err(FigureError::Twice {
                metric: source.name.clone(),
                figure: twice.name.clone(),
            });
        }
        readings.extend(found);
    }
    Ok(readings)
}

/// What benchmark harnesses print, if one did: for workloads without a table of metrics.
pub(super) fn of_harness(outputs: Outputs<'_>) -> Vec<Reading> {
    let text = read_text(outputs.stdout).unwrap_or_default();
    [Reader::Criterion, Reader::Libtest]
        .into_iter()
        .filter_map(|reader| reader.read(&text).ok())
        .flatten()
        .collect()
}

fn read_one(source: &MetricSource, text: &str) -> Result<Vec<Reading>, MetricError> {
    let figure = |pattern, described: &Described| Figure {
        name: source.name.clone(),
        pattern,
        unit: described.unit.clone(),
        better: described.better,
    };
    match &source.what {
        Wanted::All(reader) => reader.read(text),
        Wanted::Regex(regex, described) => {
            Ok(vec![figure(Pattern::regex(regex)?, described).read(text)?])
        }
        Wanted::Pointer(pointer, described) => Ok(vec![
            figure(Pattern::pointer(pointer)?, described).read(text)?,
        ]),
    }
}

fn place(source: &MetricSource, outputs: Outputs<'_>) -> (String, PathBuf) {
    match &source.from {
        WrittenTo::Stdout => ("its standard output".into(), outputs.stdout.to_owned()),
        WrittenTo::Stderr => ("its standard error".into(), outputs.stderr.to_owned()),
        WrittenTo::File(template) => {
            let Ok(path) = template.expand(&mut |placeholder: &Placeholder| {
                Ok::<OsString, Infallible>(match placeholder {
                    Placeholder::Tmp => outputs.tmp.into(),
                    Placeholder::Dir(name) => outputs.tmp.join(name).into(),
                    _ => outputs.workspace.into(),
                })
            });
            let path = outputs.cwd.join(path);
            (format!("`{}`", path.display()), path)
        }
    }
}

fn read_text(path: &Path) -> std::io::Result<String> {
    // Opening a pipe would wait for somebody to write.
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(std::io::Error::other("it is longer than 64 MB"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last lines of what a failed run wrote, to be shown.
pub(super) fn last_lines(outputs: Outputs<'_>, count: usize) -> String {
    let of = |path| {
        let text = read_end(path).unwrap_or_default();
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    };
    match of(outputs.stderr) {
        words if words.is_empty() => of(outputs.stdout),
        words => words,
    }
}

/// The last kilobytes of a text.
fn read_end(path: &Path) -> std::io::Result<String> {
    const END: u64 = 16 << 10;
    use std::io::Seek;
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(std::io::SeekFrom::Start(length.saturating_sub(END)))?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
