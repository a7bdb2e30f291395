//! `cargo fdo import`: a campaign of recordings and profiles that were made elsewhere.

use super::Session;
use super::sampled::{self, Input, Material, Recorded};
use super::train::sample::perf;
use crate::cli::{ImportArgs, MatchArgs};
use crate::error::{Diagnose, ExitCode, Result};
use crate::profile::sample::read::{InputKind, KIND_BYTES};
use crate::profile::sample::{gcov, llvm_text};
use crate::report;
use crate::stage::convert::Profiles;
use crate::stage::images::Made;
use crate::stage::sample;
use crate::stage::{census, units};
use crate::store::campaign::{Method, WorkloadEntry};
use crate::tool::Invocation;
use crate::ui::plural;
use fdo_build::protocol::Phase;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A file can't be imported.
#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error("`{0}` is not `N,FILE`, with a whole number from 1")]
    Weight(String),
    #[error("there is no build to compare with: `{}` has no program", .0.display())]
    NoBuild(PathBuf),
    #[error("`{}` is no executable or shared object that could have been recorded", .0.display())]
    NotLinked(PathBuf),
    #[error("`{}` can't be imported: it is {kind}", path.display())]
    Kind { path: PathBuf, kind: &'static str },
    #[error("`{}` can't be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Diagnose for ImportError {
    fn exit_code(&self) -> ExitCode {
        match self {
            ImportError::Weight(_) | ImportError::NotLinked(_) => ExitCode::Usage,
            ImportError::NoBuild(_) => ExitCode::Training,
            ImportError::Kind { .. } | ImportError::Unreadable { .. } => ExitCode::Profile,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            ImportError::Weight(_) => Some("for example `-w 3,night.perf.data`".into()),
            ImportError::NoBuild(_) => Some(
                "`cargo fdo train --method sample --build-only` builds the program that is to be \
                 recorded; `--binary PATH` names another one"
                    .into(),
            ),
            ImportError::NotLinked(_) => None,
            ImportError::Kind { .. } => Some(
                "it takes perf.data, the text of `perf script`, and sampled profiles of LLVM's \
                 and GCC's form; `cargo fdo train --collect` takes raw profiles of counters"
                    .into(),
            ),
            ImportError::Unreadable { .. } => None,
        }
    }
}

/// Runs it.
///
/// # Errors
///
/// What can't be read, or belongs to no program of this project.
pub fn run(args: &ImportArgs, toolchain: Option<String>) -> Result<()> {
    let session = Session::open(
        &args.cargo,
        &args.fdo,
        &MatchArgs::default(),
        None,
        toolchain,
    )?;
    into_campaign(args, &session)
}

/// The same in a session that is open already: `train --method sample --collect`.
pub(super) fn into_campaign(args: &ImportArgs, session: &Session) -> Result<()> {
    let mut files: Vec<(PathBuf, u32)> = args.files.iter().cloned().map(|it| (it, 1)).collect();
    for input in &args.weighted_input {
        files.push(weighted(input)?);
    }
    // All files before anything is built or tried out.
    let mut material = Material::default();
    for (path, weight) in files {
        let weight = u64::from(weight);
        match read(&path, session)? {
            None => material.recordings.push(Input {
                path: path.clone(),
                weight,
                workload: name(&path),
            }),
            Some(profiles) => material.profiles.push((profiles, weight)),
        }
        material.workloads.push(WorkloadEntry {
            name: name(&path),
            weight: u32::try_from(weight).unwrap_or(u32::MAX),
            files: 1,
            lost_processes: 0,
            seconds: 0.0,
            slowdown: None,
        });
    }
    if !material.recordings.is_empty() && !material.profiles.is_empty() {
        session.ui.warn(
            "counts of a finished profile and of a recording have scales of their own, and are added \
             up as they are: `-w N,FILE` weighs them",
        );
    }
    let _lock = session.lock()?;
    let toolbox = session.toolbox(Method::Sample)?;
    session.explain_rustc(&toolbox);
    let state = session.layout.state(Phase::Sample);
    let mut made = Vec::new();
    for path in &args.binary {
        let file = sample::look(path).ok_or_else(|| ImportError::NotLinked(path.clone()))?;
        made.push(Made {
            named: true,
            ..file
        });
    }
    if made.is_empty() {
        made = sample::made(&session.places_of(Phase::Sample))?;
    }
    if made.is_empty() && !material.recordings.is_empty() {
        let place = session.layout.phase_dir(Phase::Sample);
        return Err(ImportError::NoBuild(place).into());
    }
    if session.settings.dry_run {
        session.ui.note(format_args!(
            "{} would become the profile; nothing was changed",
            plural(material.workloads.len(), "file")
        ));
        return Ok(());
    }
    let targets = session.targets_of(Phase::Sample);
    let recorded = Recorded {
        made,
        owners: census::all_owners(&state, &session.workspace, &targets),
        targets,
        ran: BTreeSet::new(),
        partition: units::partition(&state, None, &session.workspace),
    };
    let campaign = sampled::publish(session, &toolbox, material, &recorded, &|| perf(session))?;
    report::training(&session.ui, &campaign.manifest);
    Ok(())
}

/// What stands for a workload.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn weighted(input: &str) -> Result<(PathBuf, u32)> {
    let bad = || ImportError::Weight(input.to_owned());
    let (weight, path) = input.split_once(',').ok_or_else(bad)?;
    match weight.parse() {
        Ok(weight) if weight > 0 && !path.is_empty() => Ok((path.into(), weight)),
        _ => Err(bad().into()),
    }
}

/// A profile; `None` for a recording, which is read later, as a stream.
fn read(path: &Path, session: &Session) -> Result<Option<Profiles>> {
    let unreadable = |source: Box<dyn std::error::Error + Send + Sync>| ImportError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let fail = |error| unreadable(Box::new(error));
    crate::fs::check_is_file(path).map_err(fail)?;
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(KIND_BYTES as u64).read_to_end(&mut start))
        .map_err(fail)?;
    let whole = || std::fs::read(path).map_err(fail);
    let mut profiles = Profiles::default();
    if gcov::recognises(&start) {
        let file = gcov::read(&whole()?).map_err(|error| unreadable(Box::new(error)))?;
        profiles.gcc = file.profile;
        return Ok(Some(profiles));
    }
    if llvm_text::recognises(&start) {
        profiles.llvm = llvm_text::read(&whole()?).map_err(|error| unreadable(Box::new(error)))?;
        return Ok(Some(profiles));
    }
    let kind = match InputKind::of(&start) {
        InputKind::LlvmSample => {
            profiles.llvm = binary(path, session)?;
            return Ok(Some(profiles));
        }
        InputKind::RawProfile | InputKind::IndexedProfile => "a profile of counters",
        InputKind::Gcov => "gcc's counters (.gcda), or damaged",
        InputKind::Elf => "a program",
        InputKind::Compressed => "compressed as a whole; decompress it first",
        // The reader of recordings says more precisely what is wrong.
        _ => return Ok(None),
    };
    Err(ImportError::Kind {
        path: path.to_owned(),
        kind,
    }
    .into())
}

/// LLVM's binary forms, through the newest llvm-profdata.
fn binary(path: &Path, session: &Session) -> Result<crate::profile::sample::SampleProfile> {
    let places = crate::tool::Places::of_process();
    let program = session
        .settings
        .profdata
        .clone()
        .or_else(|| {
            places
                .versions("llvm-profdata")
                .into_iter()
                .next()
                .map(|it| it.1)
        })
        .unwrap_or_else(|| "llvm-profdata".into());
    let said = Invocation::new(program)
        .args(["merge", "--sample", "--text", "-o", "-"])
        .arg(path)
        .run()?;
    llvm_text::parse(&said.stdout).map_err(|error| {
        ImportError::Unreadable {
            path: path.to_owned(),
            source: Box::new(error),
        }
        .into()
    })
}
