//! Which executables and shared objects of a recording belong to a build, and which of them
//! matter.

use crate::error::{Diagnose, ExitCode};
use crate::profile::sample::recording::{ImageSamples, Recording};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Nothing in the recording can be converted.
#[derive(Debug, thiserror::Error)]
pub enum ImagesError {
    /// The build is another one.
    #[error("`{}` was built again since it was recorded: its build id was {recorded} and is {now}", path.display())]
    Rebuilt {
        /// The program.
        path: PathBuf,
        /// In the recording.
        recorded: String,
        /// Of the file.
        now: String,
    },
    /// The program that was named is not in it.
    #[error("no sample is in `{named}` (build id {id}); most are in `{most}` (build id {most_id})")]
    NotNamed {
        /// The program.
        named: String,
        /// Its build id.
        id: String,
        /// The file with most samples.
        most: String,
        /// Its build id.
        most_id: String,
    },
    /// None of the files is of this build.
    #[error("no sample is in a program of this build; most are in `{most}`")]
    Foreign {
        /// How many there are.
        samples: u64,
        /// The file with most samples.
        most: String,
    },
    /// All that are have too few.
    #[error(
        "the programs of this build have {share:.1} % of the samples, less than `min-share`; most are in `{most}`"
    )]
    TooFew {
        /// In percent.
        share: f64,
        /// The file with most samples.
        most: String,
    },
}

/// With fewer samples than this, a program may have run and not been seen.
const FEW: u64 = 100;

impl Diagnose for ImagesError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Training
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            ImagesError::Rebuilt { .. } => {
                "line numbers of one build lie about another: record this build, or name the \
                 recorded program with `--binary PATH` of `cargo fdo import`"
                    .into()
            }
            ImagesError::Foreign { samples, .. } if *samples < FEW => {
                "perf looks a few thousand times a second, and this ended too soon to be seen: train \
                 with more work, or set `repeat` in the table [sample] of fdo.toml"
                    .into()
            }
            ImagesError::Foreign { .. } => {
                "does the workload run the binary of this build ({bin:NAME})? `cargo fdo import \
                 --binary PATH` takes a program that was built elsewhere"
                    .into()
            }
            ImagesError::NotNamed { .. } => {
                "`--binary` has to name the very file that was recorded, or a copy of it: a build \
                 with other options has other addresses"
                    .into()
            }
            ImagesError::TooFew { .. } => {
                "is this where the time goes? `min-share` in the table [sample] of fdo.toml sets \
                 the limit"
                    .into()
            }
        })
    }
}

/// A file of the build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its path, with links resolved.
    pub path: PathBuf,
    /// Its GNU build id.
    pub build_id: Option<Vec<u8>>,
    /// Whether the user named it as the recorded program: then its name alone will do for a
    /// recording without build ids of another machine.
    pub named: bool,
}

/// What becomes of a file's samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// They are converted.
    Converted,
    /// There are too few.
    TooFew,
    /// It is not of this build.
    Foreign,
    /// It is a file of this build in its state of another time.
    Rebuilt,
}

/// One file of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name, or its path where it is not of the build.
    pub name: String,
    /// Its share of all samples that are in files.
    pub share: f64,
    /// What becomes of it.
    pub fate: Fate,
}

/// A file whose samples are converted.
#[derive(Debug)]
pub struct Picked {
    /// Where it is now.
    pub file: PathBuf,
    /// Its samples.
    pub samples: ImageSamples,
}

/// What was decided.
#[derive(Debug)]
pub struct Picks {
    /// All files, most samples first.
    pub rows: Vec<Row>,
    /// Those to convert, most samples first.
    pub picked: Vec<Picked>,
}

/// Divides the files of a recording. A file is of the build if its build id says so, or, where
/// either side has none, its path.
///
/// # Errors
///
/// [`ImagesError`]: there is nothing to convert.
pub fn pick(recording: Recording, made: &[Made], min_share: f64) -> Result<Picks, ImagesError> {
    let mut images = recording.images;
    images.sort_by_key(|image| std::cmp::Reverse(image.samples));
    let all: u64 = images
        .iter()
        .fold(0, |sum: u64, image| sum.saturating_add(image.samples));
    let share = |samples: u64| samples as f64 / all.max(1) as f64;
    let most = images
        .first()
        .map_or_else(|| "nothing".to_owned(), |image| display(&image.path));
    let most_id = hex(images.first().and_then(|image| image.build_id.as_deref()));
    let mut picks = Picks {
        rows: Vec::new(),
        picked: Vec::new(),
    };
    let mut rebuilt = None;
    let mut too_few = 0.0;
    for image in images {
        let share = share(image.samples);
        let (fate, file) = match find(&image, made) {
            Found::Same(made) if share >= min_share => (Fate::Converted, Some(made)),
            Found::Same(made) => {
                too_few += share;
                (Fate::TooFew, Some(made))
            }
            Found::Other(made) => {
                rebuilt.get_or_insert_with(|| ImagesError::Rebuilt {
                    path: made.path.clone(),
                    recorded: hex(image.build_id.as_deref()),
                    now: hex(made.build_id.as_deref()),
                });
                (Fate::Rebuilt, Some(made))
            }
            Found::None => (Fate::Foreign, None),
        };
        picks.rows.push(Row {
            name: file
                .and_then(|made| made.path.file_name())
                .map_or_else(|| display(&image.path), |name| display(name.as_bytes())),
            share,
            fate,
        });
        if let (Fate::Converted, Some(made)) = (fate, file) {
            picks.picked.push(Picked {
                file: made.path.clone(),
                samples: image,
            });
        }
    }
    if !picks.picked.is_empty() {
        return Ok(picks);
    }
    Err(match rebuilt {
        Some(error) => error,
        None if too_few > 0.0 => ImagesError::TooFew {
            share: too_few * 100.0,
            most,
        },
        None => match made.iter().find(|made| made.named) {
            Some(named) => ImagesError::NotNamed {
                named: named.path.display().to_string(),
                id: hex(named.build_id.as_deref()),
                most,
                most_id,
            },
            None => ImagesError::Foreign { samples: all, most },
        },
    })
}

/// Samples of a recording by the files of the build that they are in.
pub fn of_files(recording: &Recording, made: &[Made]) -> Vec<(PathBuf, u64)> {
    let images = recording.images.iter();
    images
        .filter_map(|image| match find(image, made) {
            Found::Same(made) => Some((made.path.clone(), image.samples)),
            _ => None,
        })
        .collect()
}

/// Whether any sample of a recording is in a file of the build.
pub fn has_ours(recording: &Recording, made: &[Made]) -> bool {
    let mut images = recording.images.iter();
    images.any(|image| image.samples > 0 && !matches!(find(image, made), Found::None))
}

enum Found<'a> {
    Same(&'a Made),
    Other(&'a Made),
    None,
}

fn find<'a>(image: &ImageSamples, made: &'a [Made]) -> Found<'a> {
    if let Some(id) = &image.build_id
        && let Some(made) = made.iter().find(|made| made.build_id.as_ref() == Some(id))
    {
        return Found::Same(made);
    }
    let path = Path::new(OsStr::from_bytes(&image.path));
    // What the kernel adds to the path of a file that was replaced while it ran.
    let replaced = image.path.ends_with(b" (deleted)");
    let path = match path
        .to_str()
        .and_then(|path| path.strip_suffix(" (deleted)"))
    {
        Some(path) => Path::new(path),
        None => path,
    };
    let is_namesake = |made: &&Made| {
        made.named && image.build_id.is_none() && made.path.file_name() == path.file_name()
    };
    let of_path = made.iter().find(|made| made.path == path);
    match of_path.or_else(|| made.iter().find(is_namesake)) {
        None => Found::None,
        Some(made) if replaced || (image.build_id.is_some() && made.build_id.is_some()) => {
            Found::Other(made)
        }
        Some(made) => Found::Same(made),
    }
}

fn display(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

fn hex(id: Option<&[u8]>) -> String {
    match id {
        None => "none".to_owned(),
        Some(id) => id
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(path: &str, id: Option<u8>, samples: u64) -> ImageSamples {
        ImageSamples {
            path: path.into(),
            build_id: id.map(|id| vec![id; 20]),
            samples,
            ..ImageSamples::default()
        }
    }

    fn made(path: &str, id: Option<u8>) -> Made {
        Made {
            path: path.into(),
            build_id: id.map(|id| vec![id; 20]),
            named: false,
        }
    }

    fn picked(images: Vec<ImageSamples>, made: &[Made]) -> Result<Picks, ImagesError> {
        let recording = Recording {
            images,
            ..Recording::default()
        };
        pick(recording, made, 0.05)
    }

    #[test]
    fn a_named_program_that_was_not_recorded_is_told_with_both_build_ids() {
        let named = Made {
            named: true,
            ..made("/t/app", Some(1))
        };
        let error = picked(vec![image("/srv/app", Some(2), 500)], &[named]).unwrap_err();
        let words = error.to_string();
        for part in ["`/t/app`", "0101", "`/srv/app`", "0202"] {
            assert!(words.contains(part), "{words}");
        }
    }

    #[test]
    fn a_build_id_finds_its_file_wherever_it_ran() {
        let images = vec![
            image("/usr/lib/libc.so.6", Some(9), 20),
            image("/srv/app", Some(1), 70),
            image("/t/helper", Some(2), 3),
            image("/t/plain", None, 7),
        ];
        let made = [
            made("/t/app", Some(1)),
            made("/t/helper", Some(2)),
            made("/t/plain", Some(3)),
        ];
        let picks = picked(images, &made).unwrap();
        let rows: Vec<_> = picks
            .rows
            .iter()
            .map(|row| (row.name.as_str(), row.fate))
            .collect();
        assert_eq!(
            rows,
            [
                ("app", Fate::Converted),
                ("/usr/lib/libc.so.6", Fate::Foreign),
                ("plain", Fate::Converted),
                ("helper", Fate::TooFew),
            ]
        );
        let files: Vec<_> = picks.picked.iter().map(|picked| &*picked.file).collect();
        assert_eq!(files, [Path::new("/t/app"), Path::new("/t/plain")]);
    }

    #[test]
    fn a_file_that_was_built_again_is_no_match() {
        for recorded in [
            image("/t/app", Some(2), 10),
            image("/t/app (deleted)", None, 10),
        ] {
            let error = picked(vec![recorded], &[made("/t/app", Some(1))]).unwrap_err();
            let words = error.to_string();
            assert!(
                words.contains("built again since") && words.contains("010101010101"),
                "{words}"
            );
        }
    }

    #[test]
    fn a_named_program_is_found_by_its_name_where_there_is_no_build_id() {
        let mut named = made("/kept/app", Some(1));
        assert!(picked(vec![image("/srv/app", None, 10)], &[named.clone()]).is_err());
        named.named = true;
        assert!(picked(vec![image("/srv/app", None, 10)], &[named.clone()]).is_ok());
        assert!(picked(vec![image("/srv/app", Some(2), 10)], &[named]).is_err());
    }

    #[test]
    fn nothing_of_this_build_and_too_little_of_it_are_told_apart() {
        let others = || image("/usr/bin/other", Some(7), 99);
        let made = [made("/t/app", Some(1))];
        let error = picked(vec![others()], &made).unwrap_err();
        assert!(matches!(&error, ImagesError::Foreign { most, .. } if most == "/usr/bin/other"));
        let error = picked(vec![others(), image("/t/app", Some(1), 1)], &made).unwrap_err();
        assert!(matches!(error, ImagesError::TooFew { .. }), "{error}");
        assert!(picked(Vec::new(), &made).is_err());
    }
}
