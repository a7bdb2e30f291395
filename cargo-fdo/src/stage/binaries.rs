//! Which program or shared library a part of a profile is of, and which target of cmake's made it.

use super::convert::Profiles;
use super::images::Made;
use super::merge::{Image, OfImage};
use super::native::real_path;
use crate::profile::instr_text::Record;
use crate::profile::object_file;
use crate::profile::sample::{SampleProfile, limits, llvm_text};
use crate::profile::summary::Summary;
use crate::store::campaign::{
    self, BinaryEntry, CmakeTarget, LimitsEntry, Method, Owner, Owners, WorkloadShare,
};
use crate::tool::cmake::api::{self, Kind, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The programs and shared libraries that cmake makes in some trees.
#[derive(Debug, Clone, Default)]
pub struct Targets(BTreeMap<PathBuf, CmakeTarget>);

impl Targets {
    /// Asks cmake's replies in trees of projects. A tree without a reply, or a damaged one, makes
    /// nothing that would be known: the next configure step says so. `takes_part`: whether a target of
    /// a project is to be profiled.
    pub fn read(
        trees: impl IntoIterator<Item = (String, PathBuf)>,
        takes_part: impl Fn(&str, &str) -> bool,
    ) -> Targets {
        let mut targets = Targets::default();
        for (project, dir) in trees {
            let Ok(Some(model)) = api::read(&dir) else {
                continue;
            };
            let all = model.configurations.into_iter().flat_map(|it| it.targets);
            let is_image = |it: &Target| matches!(it.kind, Kind::Program | Kind::Shared);
            for target in all.filter(|it| is_image(it) && takes_part(&project, &it.name)) {
                for file in target.files {
                    let of = CmakeTarget {
                        project: project.clone(),
                        name: target.name.clone(),
                    };
                    targets.0.insert(real_path(&file), of);
                }
            }
        }
        targets
    }

    /// Files of targets with these names.
    pub fn named<'a>(&'a self, names: &'a BTreeSet<String>) -> impl Iterator<Item = &'a Path> {
        let all = self.0.iter();
        all.filter(|(_, target)| names.contains(&target.name))
            .map(|(file, _)| file.as_path())
    }

    /// The target that makes a file.
    pub fn of(&self, file: &Path) -> Option<&CmakeTarget> {
        self.0.get(file)
    }

    /// Whether a project has such a target.
    pub fn has(&self, project: &str, name: &str) -> bool {
        let mut all = self.0.values();
        all.any(|target| target.project == project && target.name == name)
    }
}

/// A program or shared library, with the counts that are its own.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// Its file's name.
    pub name: String,
    /// The target that made it.
    pub target: Option<CmakeTarget>,
    /// Its counts, or samples, in each workload, times the workload's weight.
    pub counts: BTreeMap<String, u128>,
    /// Functions with counts.
    pub functions: u64,
    /// Whether it has too few of them to be in the profile.
    pub left_out: bool,
    /// Limits of its own profile.
    pub limits: LimitsEntry,
    /// Its profile, by what readers the name of the file names; empty for the only ones.
    pub wholes: Vec<(&'static str, String)>,
    /// What its own objects can use, by the slice of the whole profile that it stands for.
    pub own: Vec<(&'static str, String)>,
}

/// A campaign's profile by program and shared library.
#[derive(Debug, Clone, Default)]
pub struct Division {
    /// Most counts first.
    pub entries: Vec<BinaryEntry>,
    /// Slices for the objects of single targets, by name.
    pub slices: Vec<(String, String)>,
    /// Whole profiles, by name.
    pub wholes: Vec<(String, String)>,
}

impl Division {
    /// Names the parts' profiles. The only one that is in the profile needs none: the campaign's is its
    /// own.
    /// `totals`: of which the parts have their shares, by workload.
    pub fn of(parts: Vec<Part>, totals: &BTreeMap<String, u128>, method: Method) -> Division {
        let sum = |counts: &BTreeMap<String, u128>| counts.values().sum::<u128>();
        let share = |part: u128, all: u128| part as f64 / all.max(1) as f64;
        let all = sum(totals);
        let is_only = parts.iter().filter(|part| !part.left_out).count() < 2;
        let mut parts = parts;
        parts.sort_by(|a, b| {
            (sum(&b.counts).cmp(&sum(&a.counts))).then_with(|| a.name.cmp(&b.name))
        });
        let mut names = BTreeSet::new();
        let mut division = Division::default();
        for part in parts {
            let key = key(&part.name, &mut names);
            let mut entry = BinaryEntry {
                share: share(sum(&part.counts), all),
                workloads: totals
                    .iter()
                    .map(|(workload, all)| WorkloadShare {
                        workload: workload.clone(),
                        share: share(part.counts.get(workload).copied().unwrap_or(0), *all),
                    })
                    .collect(),
                name: part.name,
                target: part.target,
                functions: part.functions,
                left_out: part.left_out,
                files: Vec::new(),
                own: BTreeMap::new(),
                limits: part.limits,
            };
            if !is_only {
                for (readers, text) in part.wholes {
                    let name = match readers {
                        "" => key.clone(),
                        readers => format!("{key}.{readers}"),
                    };
                    entry.files.push(campaign::file_name(&name, method));
                    division.wholes.push((name, text));
                }
                for (slice, text) in part.own {
                    let name = format!("{key}.own-{slice}");
                    entry.own.insert(slice.to_owned(), name.clone());
                    division.slices.push((name, text));
                }
            }
            division.entries.push(entry);
        }
        division
    }

    /// Leaves no profiles of single binaries, only their shares.
    pub fn merged_only(&mut self) {
        self.slices.clear();
        self.wholes.clear();
        for entry in &mut self.entries {
            entry.files.clear();
            entry.own.clear();
        }
    }
}

/// Names and texts as they are published.
pub fn pairs(texts: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    texts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
}

/// A name for files: that of the binary, with a number where another one has it too.
fn key(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() || "-_.+".contains(c) {
        true => c,
        false => '-',
    };
    let name: String = name.chars().map(plain).collect();
    let name = format!("binary-{name}");
    let mut numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut key = name.clone();
    while !taken.insert(key.clone()) {
        key = numbered.next().unwrap_or_default();
    }
    key
}

/// Whether a function is compiled for a target of cmake's.
pub fn is_of(owner: &Owner, target: &CmakeTarget) -> bool {
    owner.package == target.project
        && (owner.target.as_ref() == Some(&target.name) || owner.also.contains(&target.name))
}

/// What instrumented programs and shared libraries counted, and which they are.
pub fn of_images(
    images: Vec<OfImage>,
    made: &[Made],
    targets: &Targets,
    owners: &Owners,
) -> Division {
    let known = Known::new(made);
    let mut totals: BTreeMap<String, u128> = BTreeMap::new();
    let mut parts = Vec::new();
    for image in images {
        for (workload, count) in &image.counts {
            *totals.entry(workload.clone()).or_default() += count;
        }
        let file = known.find(&image.image);
        let target = file.and_then(|file| targets.of(&file.path)).cloned();
        let mut part = Part {
            name: name_of(file.map(|file| file.path.as_path())),
            target,
            counts: image.counts,
            ..Part::default()
        };
        if let Some(profile) = image.profile {
            let summary = Summary::of(&profile.records);
            part.limits = summary.limits().into();
            let ran = |record: &&Record| record.total() > 0;
            part.functions = profile.records.iter().filter(ran).count() as u64;
            if let Some(target) = &part.target {
                let mut own = profile.like();
                let is_own = |name: &str| owners.get(name).is_some_and(|it| is_of(it, target));
                let records = profile.records.iter();
                own.records = records.filter(|it| is_own(&it.name)).cloned().collect();
                own.sort();
                if !own.records.is_empty() {
                    part.own.push((campaign::C, own.to_text()));
                }
            }
            if !file.is_some_and(is_harness) {
                let mut profile = profile;
                profile.sort();
                part.wholes.push(("", profile.to_text()));
            }
        }
        parts.push(part);
    }
    Division::of(parts, &totals, Method::Instrument)
}

/// What was recorded of one file of a build. `profiles`: what its samples became; `None` if they are
/// too few.
pub fn of_recorded(
    file: &Path,
    counts: BTreeMap<String, u128>,
    profiles: Option<&Profiles>,
    targets: &Targets,
    owners: &Owners,
) -> Part {
    let mut part = Part {
        name: name_of(Some(file)),
        target: targets.of(file).cloned(),
        counts,
        left_out: profiles.is_none(),
        ..Part::default()
    };
    let Some(Profiles { llvm, gcc }) = profiles else {
        return part;
    };
    part.functions = (llvm.functions.len() + gcc.functions.len()) as u64;
    part.limits = limits::limits([llvm, gcc]).into();
    for (profile, readers, slice) in [(llvm, "", campaign::C), (gcc, "gcc", campaign::GCC)] {
        if profile.functions.is_empty() {
            continue;
        }
        part.wholes.push((readers, llvm_text::write(profile).text));
        if let Some(target) = &part.target {
            let is_own = |name: &str| owners.get(name).is_some_and(|it| is_of(it, target));
            let functions = profile.functions.iter();
            let own = SampleProfile {
                functions: functions
                    .filter(|(name, _)| is_own(name))
                    .map(|(name, samples)| (name.clone(), samples.clone()))
                    .collect(),
            };
            if !own.functions.is_empty() {
                part.own.push((slice, llvm_text::write(&own).text));
            }
        }
    }
    part
}

/// Of a test or benchmark nobody uses the profile alone, and there may be many.
fn is_harness(file: &Made) -> bool {
    file.path.parent().is_some_and(|dir| dir.ends_with("deps"))
}

fn name_of(file: Option<&Path>) -> String {
    file.and_then(Path::file_name).map_or_else(
        || "unknown".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// The files of a build, as their raw profiles know them.
struct Known<'a> {
    made: &'a [Made],
    /// By the functions that they count; looked up where there is no build id.
    by_functions: std::cell::OnceCell<BTreeMap<String, Option<&'a Made>>>,
}

impl<'a> Known<'a> {
    fn new(made: &'a [Made]) -> Known<'a> {
        Known {
            made,
            by_functions: std::cell::OnceCell::new(),
        }
    }

    /// The file that raw profiles are of: by its build id, or else by its functions, where these
    /// are no other file's.
    fn find(&self, image: &Image) -> Option<&'a Made> {
        let is_same = |made: &&Made| image.build_id.is_some() && made.build_id == image.build_id;
        if let Some(made) = self.made.iter().find(is_same) {
            return Some(made);
        }
        let by_functions = self.by_functions.get_or_init(|| {
            let mut by_functions: BTreeMap<String, Option<&Made>> = BTreeMap::new();
            for made in self.made {
                let bytes = std::fs::read(&made.path).unwrap_or_default();
                if let Some(functions) = object_file::functions_id(&bytes) {
                    by_functions
                        .entry(functions)
                        // A program and the link to it in `deps/` are one.
                        .and_modify(|known| {
                            *known = known.filter(|known| known.build_id == made.build_id);
                        })
                        .or_insert(Some(made));
                }
            }
            by_functions
        });
        by_functions.get(&image.functions).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, counts: &[(&str, u128)]) -> Part {
        Part {
            name: name.into(),
            counts: counts
                .iter()
                .map(|(workload, count)| ((*workload).to_owned(), *count))
                .collect(),
            wholes: vec![("", "whole".into()), ("gcc", "of gcc".into())],
            own: vec![(campaign::C, "own".into())],
            ..Part::default()
        }
    }

    #[test]
    fn each_binary_has_its_share_and_files_of_its_own() {
        let totals = BTreeMap::from([("a".to_owned(), 80), ("b".to_owned(), 20)]);
        let parts = vec![
            part("server", &[("a", 10)]),
            part("server", &[("a", 60), ("b", 5)]),
        ];
        let division = Division::of(parts, &totals, Method::Sample);
        let [first, second] = &division.entries[..] else {
            panic!("{division:?}");
        };
        assert_eq!((first.share, second.share), (0.65, 0.1));
        assert_eq!(
            (first.workloads[1].share, second.workloads[1].share),
            (0.25, 0.0)
        );
        assert_eq!(
            second.files,
            [
                "binary-server-2.sample.txt",
                "binary-server-2.gcc.sample.txt"
            ]
        );
        assert_eq!(first.own["c"], "binary-server.own-c");
        assert_eq!(division.slices.len(), 2);
    }

    #[test]
    fn of_one_binary_the_whole_profile_is_its_own() {
        let totals = BTreeMap::from([("a".to_owned(), 1)]);
        let left_out = Part {
            name: "idle".into(),
            left_out: true,
            ..Part::default()
        };
        let parts = vec![left_out, part("app", &[("a", 1)])];
        let division = Division::of(parts, &totals, Method::Sample);
        assert!(division.slices.is_empty() && division.wholes.is_empty());
        assert!(division.entries[0].files.is_empty());
        assert!(division.entries[1].left_out);
    }

    #[test]
    fn a_function_may_be_of_several_targets() {
        let owner = Owner {
            package: "graph".into(),
            source: "main.cc".into(),
            target: Some("metad".into()),
            also: BTreeSet::from(["storaged".to_owned()]),
        };
        let is_of = |project: &str, name: &str| {
            let target = CmakeTarget {
                project: project.into(),
                name: name.into(),
            };
            super::is_of(&owner, &target)
        };
        assert!(is_of("graph", "metad") && is_of("graph", "storaged"));
        assert!(!is_of("graph", "graphd") && !is_of("other", "metad"));
    }
}
