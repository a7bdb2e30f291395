//! From recordings and converted profiles to a campaign: what `train --method sample` and `import`
//! share.

use super::Session;
use super::manifest::manifest;
use crate::error::{Diagnose, ExitCode, Result};
use crate::fs;
use crate::profile::names;
use crate::profile::sample::limits;
use crate::profile::sample::recording::Recording;
use crate::profile::sample::{SampleProfile, gcov, llvm_text, slice};
use crate::report;
use crate::stage::binaries::{self, Division, Part, Targets};
use crate::stage::convert::{self, Expected, Profiles};
use crate::stage::images::{self, Made};
use crate::stage::reading;
use crate::store::campaign::{
    self, Campaign, Content, FailedEntry, Manifest, Method, Owners, Partition, WorkloadEntry,
};
use crate::store::keys;
use crate::tool::perf::Perf;
use crate::tool::perf::probe::Sampling;
use crate::tool::sample_converter::{self, Converter, Merger, Proved, Readers};
use crate::toolbox::Toolbox;
use fdo_build::flags::sample;
use fdo_build::protocol::Family;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// There is nothing to make a profile of.
#[derive(Debug, thiserror::Error)]
#[error("no compiler of this project can use samples of it")]
struct NothingLeft;

impl Diagnose for NothingLeft {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Training
    }

    fn hint(&self) -> Option<String> {
        Some(
            "rustc's option for samples is unstable: `rustc-bootstrap = true` in fdo.toml opens it; \
             `rust = false` and `c = false` there leave code out"
                .into(),
        )
    }
}

/// A profile is of another program.
#[derive(Debug, thiserror::Error)]
#[error("the profile holds none of this workspace's own code, but code of {}", .0.join(", "))]
struct Foreign(Vec<String>);

impl Diagnose for Foreign {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Profile
    }

    fn hint(&self) -> Option<String> {
        Some(
            "nothing was changed; `cargo fdo import` takes recordings and profiles \
             of programs of the workspace that it runs in"
                .into(),
        )
    }
}

/// Fails if nothing of a profile is of the workspace and something is of crates that it does not know.
fn check_ours(session: &Session, profile: &SampleProfile, owners: &Owners) -> Result<()> {
    let mut others = BTreeSet::new();
    for name in profile.functions.keys() {
        if owners.contains_key(name) {
            return Ok(());
        }
        let Some(krate) = names::rust_crate(name) else {
            continue;
        };
        match session.workspace.by_crate(krate) {
            Some(package) if package.is_member => return Ok(()),
            Some(_) => {}
            None if SYSROOT.contains(&krate) => {}
            None => _ = others.insert(format!("`{krate}`")),
        }
    }
    match others.is_empty() {
        true => Ok(()),
        false => Err(Foreign(others.into_iter().take(3).collect()).into()),
    }
}

/// Crates that every program has.
const SYSROOT: [&str; 8] = [
    "std",
    "core",
    "alloc",
    "std_detect",
    "hashbrown",
    "gimli",
    "addr2line",
    "rustc_demangle",
];

/// What a campaign is made of.
#[derive(Debug, Default)]
pub(super) struct Material {
    /// Recordings.
    pub recordings: Vec<Input>,
    /// Profiles that others made, and how much each weighs.
    pub profiles: Vec<(Profiles, u64)>,
    /// What to say of where they come from.
    pub workloads: Vec<WorkloadEntry>,
    /// What failed meanwhile.
    pub failed: Vec<FailedEntry>,
}

/// A recording.
#[derive(Debug)]
pub(super) struct Input {
    /// The file.
    pub path: PathBuf,
    /// How much it weighs.
    pub weight: u64,
    /// The workload that was recorded, or what stands for it.
    pub workload: String,
}

/// The build that was recorded.
#[derive(Debug)]
pub(super) struct Recorded {
    /// Its files.
    pub made: Vec<Made>,
    /// Where C functions are from.
    pub owners: Owners,
    /// The programs and shared libraries that cmake made.
    pub targets: Targets,
    /// Names of targets whose programs ran, so that they are named where they have no sample.
    pub ran: BTreeSet<String>,
    /// Into how many units rustc divided the crates.
    pub partition: Partition,
}

/// perf, where it is needed to try a converter out.
pub(super) type Recorder<'a> = &'a dyn Fn() -> Result<(Perf, Sampling)>;

/// Reads, converts, merges, publishes.
pub(super) fn publish(
    session: &Session,
    toolbox: &Toolbox,
    material: Material,
    recorded: &Recorded,
    recorder: Recorder<'_>,
) -> Result<Campaign> {
    let files = material.recordings.len() + material.profiles.len();
    let Converted {
        mut profiles,
        facts,
        parts,
        totals,
    } = convert(session, toolbox, &material.recordings, recorded, recorder)?;
    let mut binaries = Division::of(parts, &totals, Method::Sample);
    if !material.profiles.is_empty() {
        // Of these nobody knows which binary they are of: only the whole has all.
        binaries.merged_only();
    }
    merge(session, &mut profiles, &material.profiles)?;
    check_ours(session, &profiles.llvm, &recorded.owners)?;
    let c_names: BTreeSet<String> = recorded.owners.keys().cloned().collect();
    let (rust, c) = slice::split(profiles.llvm.clone(), &c_names);
    let parts = [
        (campaign::RUST, rust),
        (campaign::C, c),
        (campaign::GCC, profiles.gcc),
    ];
    let parts: Vec<(&'static str, SampleProfile)> = parts
        .into_iter()
        .filter(|(_, profile)| !profile.functions.is_empty())
        .collect();
    let only_rust = parts.iter().all(|(name, profile)| {
        *name == campaign::RUST && profile.functions.keys().all(|name| names::is_rust(name))
    });
    if parts.is_empty() || only_rust && !rust_reads(toolbox) {
        return Err(NothingLeft.into());
    }
    let texts: Vec<(&'static str, String)> = parts
        .iter()
        .map(|(name, profile)| (*name, llvm_text::write(profile).text))
        .collect();
    let limits = limits::limits(parts.iter().map(|(_, profile)| profile));
    let all: Vec<&SampleProfile> = parts.iter().map(|(_, profile)| profile).collect();
    let quality = limits::quality(all.iter().copied());
    let slices: Vec<(&str, &str)> = texts
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .chain(binaries::pairs(&binaries.slices))
        .collect();
    let manifest = Manifest {
        binaries: binaries.entries,
        workloads: material.workloads,
        failed: material.failed,
        raw_files: files,
        partition: recorded.partition.clone(),
        sampling: Some(facts),
        ..manifest(session, toolbox, Method::Sample, &slices, limits, &quality)
    };
    let whole = match profiles.llvm.functions.is_empty() {
        true => String::new(),
        false => llvm_text::write(&profiles.llvm).text,
    };
    Ok(Campaign::publish(
        &session.layout,
        &Content {
            manifest: &manifest,
            slices,
            binaries: binaries::pairs(&binaries.wholes).collect(),
            whole: &whole,
            owners: &recorded.owners,
        },
    )?)
}

/// What recordings became.
#[derive(Default)]
struct Converted {
    profiles: Profiles,
    facts: campaign::Sampling,
    /// By program and shared library of the build.
    parts: Vec<Part>,
    /// Samples in files by workload, times the workload's weight.
    totals: BTreeMap<String, u128>,
}

/// Profiles of all recordings. Those with and those without branch stacks are converted apart:
/// their counts follow other rules.
fn convert(
    session: &Session,
    toolbox: &Toolbox,
    files: &[Input],
    recorded: &Recorded,
    recorder: Recorder<'_>,
) -> Result<Converted> {
    let mut facts = campaign::Sampling::default();
    if files.is_empty() {
        return Ok(Converted::default());
    }
    let mut counts: BTreeMap<PathBuf, BTreeMap<String, u128>> = BTreeMap::new();
    let mut totals: BTreeMap<String, u128> = BTreeMap::new();
    let mut by_file: BTreeMap<PathBuf, Profiles> = BTreeMap::new();
    let mut sums = [Recording::default(), Recording::default()];
    // As recorded: what is converted has some of them several times.
    let mut recorded_samples = [(0_u64, 0_u64); 2];
    for Input {
        path: file,
        weight,
        workload,
    } in files
    {
        let recording = reading::recording(file)?;
        reading::check_samples(&recording, file)?;
        // Of a single one `pick` says it.
        if files.len() > 1 && !images::has_ours(&recording, &recorded.made) {
            session.ui.warn(format_args!(
                "`{}` has no sample in a program of this build, and adds nothing to the profile: \
                 does its workload run `{{bin:NAME}}`, and long enough to be seen?",
                file.display()
            ));
        }
        let weighted = |samples: u64| u128::from(samples) * u128::from(*weight);
        let all: u64 = recording.images.iter().map(|image| image.samples).sum();
        *totals.entry(workload.clone()).or_default() += weighted(all);
        for (of, samples) in images::of_files(&recording, &recorded.made) {
            let of = counts.entry(of).or_default();
            *of.entry(workload.clone()).or_default() += weighted(samples);
        }
        facts.samples = facts.samples.saturating_add(recording.samples);
        facts.lost = facts.lost.saturating_add(recording.lost_samples);
        let which = usize::from(recording.event.branch_stacks);
        let (samples, lost) = &mut recorded_samples[which];
        *samples = samples.saturating_add(recording.samples);
        *lost = lost.saturating_add(recording.lost_samples);
        sums[which].absorb(recording, *weight);
    }
    let config = &session.config.sample;
    let external = external(session, toolbox, recorder)?;
    let expected = Expected {
        min_mapped: config.min_mapped,
        rust: rust_reads(toolbox),
    };
    let (mut mapped, mut all) = (0.0, 0.0);
    let sums = sums.into_iter().zip(recorded_samples);
    for (sum, (samples, lost_samples)) in sums.filter(|(sum, _)| sum.samples > 0) {
        facts.event.clone_from(&sum.event.name);
        facts.branch_stacks |= sum.event.branch_stacks;
        let weighted = sum.samples;
        let shown = Recording {
            samples,
            lost_samples,
            ..sum.without_images()
        };
        let picks = images::pick(sum, &recorded.made, config.min_share)?;
        report::recording(&session.ui, &shown, &picks.rows);
        for picked in &picks.picked {
            let (found, mut outcome) = convert::run(picked, expected)?;
            // A weight makes no sample.
            outcome.density = outcome
                .density
                .map(|density| density.of_part(samples, weighted));
            report::converted(&session.ui, &outcome);
            mapped += outcome.mapped * outcome.samples as f64;
            all += outcome.samples as f64;
            if let Some(density) = outcome.density {
                facts.longer = facts.longer.max(density.factor());
            }
            // Of what another converter makes, ours only says how good it is.
            let of = by_file.entry(picked.file.clone()).or_default();
            of.add(&without(found, external.as_ref()), 1);
        }
        if let Some(proved) = &external {
            for input in files {
                for picked in &picks.picked {
                    let others = by_other(session, proved, &picked.file, &input.path)?;
                    let of = by_file.entry(picked.file.clone()).or_default();
                    of.add(&others, input.weight);
                }
            }
        }
    }
    facts.mapped = if all > 0.0 { mapped / all } else { 0.0 };
    let mut profiles = Profiles::default();
    for of in by_file.values() {
        profiles.add(of, 1);
    }
    for file in recorded.targets.named(&recorded.ran) {
        if file.exists() {
            counts.entry(file.to_owned()).or_default();
        }
    }
    let parts = counts.into_iter().map(|(file, counts)| {
        let profiles = by_file.get(&file);
        binaries::of_recorded(&file, counts, profiles, &recorded.targets, &recorded.owners)
    });
    Ok(Converted {
        parts: parts.collect(),
        profiles,
        facts,
        totals,
    })
}

/// Whether rustc takes samples.
fn rust_reads(toolbox: &Toolbox) -> bool {
    let samples = toolbox.samples.as_ref();
    samples.is_some_and(|samples| samples.rust.reads().is_some())
}

/// Fails if no compiler took part in a build that could use its samples.
pub(super) fn check_readers(toolbox: &Toolbox, state: &Path) -> Result<()> {
    if !rust_reads(toolbox) && keys::packages_with_c(state)?.is_empty() {
        return Err(NothingLeft.into());
    }
    Ok(())
}

/// Proves the converter and the merger of the configuration, before anything long is done for them.
pub(super) fn prove(session: &Session, toolbox: &Toolbox, recorder: Recorder<'_>) -> Result<()> {
    external(session, toolbox, recorder)?;
    if session.config.sample.merger == Merger::ProfileMerger {
        sample_converter::prove_merger(scratch(session)?.path())?;
    }
    Ok(())
}

/// The converter of the configuration, proved, if it is not ours.
fn external(
    session: &Session,
    toolbox: &Toolbox,
    recorder: Recorder<'_>,
) -> Result<Option<Proved>> {
    let converter = session.config.sample.converter;
    if converter == Converter::Native {
        return Ok(None);
    }
    let (perf, sampling) = recorder()?;
    let mut compile = toolbox.c.cc.clone();
    if compile.is_empty() {
        compile.push("cc".to_owned());
    }
    compile.extend(match toolbox.c.family {
        Family::Clang => sample::clang_record(),
        _ => sample::gcc_record(),
    });
    fs::create_dir(&session.layout.tmp())?;
    let scratch = scratch(session)?;
    let proved =
        sample_converter::prove(converter, None, &compile, &perf, &sampling, scratch.path())?;
    Ok(Some(proved))
}

fn scratch(session: &Session) -> Result<tempfile::TempDir> {
    fs::create_dir(&session.layout.tmp())?;
    Ok(tempfile::Builder::new()
        .prefix("samples-")
        .tempdir_in(session.layout.tmp())
        .map_err(|error| fs::FsError::new("make a directory in", &session.layout.tmp(), error))?)
}

fn without(mut profiles: Profiles, external: Option<&Proved>) -> Profiles {
    match external.and_then(Proved::readers) {
        Some(Readers::Llvm) => profiles.llvm = SampleProfile::default(),
        Some(Readers::Gcc) => profiles.gcc = SampleProfile::default(),
        None => {}
    }
    profiles
}

fn by_other(
    session: &Session,
    proved: &Proved,
    binary: &Path,
    recording: &Path,
) -> Result<Profiles> {
    let scratch = scratch(session)?;
    let mut profiles = Profiles::default();
    let Some(readers) = proved.readers() else {
        return Ok(profiles);
    };
    let profile = proved.convert(readers, binary, recording, scratch.path())?;
    match readers {
        Readers::Llvm => profiles.llvm = profile,
        Readers::Gcc => profiles.gcc = profile,
    }
    Ok(profiles)
}

/// Adds profiles that were converted elsewhere.
fn merge(session: &Session, into: &mut Profiles, others: &[(Profiles, u64)]) -> Result<()> {
    let by_other = session.config.sample.merger == Merger::ProfileMerger;
    if !by_other || into.gcc.functions.is_empty() && others.len() < 2 {
        for (other, weight) in others {
            into.add(other, *weight);
        }
        return Ok(());
    }
    // It has no weights: a file is listed as often as it weighs.
    let scratch = scratch(session)?;
    sample_converter::prove_merger(scratch.path())?;
    let mut files = Vec::new();
    let own = std::mem::take(&mut into.gcc);
    let gcc =
        std::iter::once((&own, 1)).chain(others.iter().map(|(it, weight)| (&it.gcc, *weight)));
    for (at, (profile, weight)) in gcc.enumerate() {
        if profile.functions.is_empty() {
            continue;
        }
        let path = scratch.path().join(format!("{at}.afdo"));
        let file = gcov::GcovProfile::new(gcov::Version::V1, profile.clone());
        fs::write_quick(&path, &gcov::write(&file).bytes)?;
        files.extend(std::iter::repeat_n(
            path,
            usize::try_from(weight).unwrap_or(1),
        ));
    }
    for (other, weight) in others {
        let llvm = Profiles {
            llvm: other.llvm.clone(),
            gcc: SampleProfile::default(),
        };
        into.add(&llvm, *weight);
    }
    if !files.is_empty() {
        into.gcc = sample_converter::merge_gcov(&files, scratch.path())?;
    }
    Ok(())
}
