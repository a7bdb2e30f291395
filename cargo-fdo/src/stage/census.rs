//! Which C and C++ objects of which package take part.

use super::binaries::Targets;
use super::build::Built;
use super::native::{self, real_path};
use crate::fs;
use crate::plan::PhasePlan;
use crate::profile::object_file::{self, Code};
use crate::profile::sample::names::canonical;
use crate::profile::sample::policy::Flavour;
use crate::shim::evidence::{self, CObject, Treatment};
use crate::shim::treatment::{excludes, names_target, target_of};
use crate::store::campaign::{Owner, Owners};
use crate::workspace::{Package, Workspace};
use fdo_build::protocol::{Language, Order};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The C and C++ of one package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// `name-version`.
    pub package: String,
    /// Objects that the shim compiled.
    pub objects: usize,
    /// Of them, with counters.
    pub instrumented: usize,
    /// Of them, left out by `c-exclude`.
    pub excluded: usize,
    /// Compilers seen.
    pub compilers: BTreeSet<String>,
    /// Objects in its static libraries that no shim saw: compiled by something else.
    pub unseen: usize,
    /// Profile flags of others that were taken off.
    pub removed_flags: BTreeSet<String>,
    /// Globs of `c-exclude` that no source of it matches.
    pub idle_globs: Vec<String>,
    /// Names and globs of `exclude-targets` and `profile-targets` that no target of it has.
    #[serde(default)]
    pub idle_targets: Vec<String>,
}

impl Row {
    /// Whether everything that should has counters.
    pub fn is_whole(&self) -> bool {
        self.unseen == 0 && self.instrumented + self.excluded == self.objects
    }
}

/// The C and C++ of one package in one build.
#[derive(Debug, Default)]
pub struct Compiled {
    /// What the shim compiled, and is still there as it was made.
    pub objects: Vec<CObject>,
    /// Objects that no shim saw: compiled by something else, some in the place of ours.
    pub unseen: usize,
}

/// The objects that belong to a build, for each package whose build script ran in it: those below
/// the script's `OUT_DIR`, and those outside of cargo's target directory (beside their sources,
/// with many makefiles).
pub fn objects(
    state: &Path,
    target_dir: &Path,
    built: &Built,
    workspace: &Workspace,
) -> BTreeMap<String, Compiled> {
    let target_dir = real_path(target_dir);
    let mut by_package: BTreeMap<String, Found> = BTreeMap::new();
    for script in &built.scripts {
        let Some(package) = workspace.by_cargo_id(&script.package) else {
            continue;
        };
        let id = package.id();
        // A build system may say where it really is; cargo keeps the links of the path.
        let out_dir = real_path(&script.out_dir);
        let found = evidence::load::<CObject>(state, &id, Language::C)
            .into_iter()
            .filter(|object| {
                let output = real_path(&object.output);
                output.starts_with(&out_dir) || !output.starts_with(&target_dir)
            })
            .filter(|object| object.output.exists());
        let package = by_package.entry(id).or_default();
        package.said.extend(found);
        // Of a build script's own libraries, which are compiled for the host, nothing is ours.
        if is_of_target(&script.out_dir, &target_dir) {
            package.look_into_libraries(&script.out_dir, &script.linked_paths);
        }
    }
    let mut all: BTreeMap<String, Compiled> = by_package
        .into_iter()
        .map(|(id, found)| (id, found.compiled()))
        .collect();
    for build in &built.natives {
        if let Some(package) = workspace.by_cargo_id(&build.package) {
            let id = package.id();
            let compiled = native::compiled(state, &id, build);
            all.insert(id, compiled);
        }
    }
    all
}

/// What the shim said of a package, and what is in the libraries that its build script links.
#[derive(Default)]
struct Found {
    said: Vec<CObject>,
    /// Members of static libraries.
    archived: Vec<Code>,
    /// Shared libraries.
    shared: Vec<Code>,
}

impl Found {
    /// Libraries in a script's own directory, where it tells rustc to look for them.
    fn look_into_libraries(&mut self, out_dir: &Path, linked: &[PathBuf]) {
        let dirs: BTreeSet<&PathBuf> = linked
            .iter()
            .filter(|dir| dir.starts_with(out_dir))
            .collect();
        for path in dirs
            .into_iter()
            .flat_map(|dir| fs::list(dir).unwrap_or_default())
        {
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("a") => self
                    .archived
                    .extend(object_file::archive_code(&path).unwrap_or_default()),
                Some("so") => {
                    if let Ok(bytes) = std::fs::read(&path) {
                        self.shared.push(Code::of(&bytes));
                    }
                }
                _ => {}
            }
        }
    }

    fn compiled(mut self) -> Compiled {
        // A package may have two scripts' runs, and each finds what is outside.
        self.said.sort_by(|a, b| a.output.cmp(&b.output));
        self.said.dedup_by(|a, b| a.output == b.output);
        let (mut objects, replaced): (Vec<CObject>, Vec<CObject>) =
            self.said.into_iter().partition(CObject::is_there);
        let ours: BTreeSet<String> = objects.iter().map(|object| object.code.clone()).collect();
        let is_foreign = |code: &&Code| !ours.contains(&code.id);
        let foreign: Vec<&Code> = self.archived.iter().filter(is_foreign).collect();
        // A linker has no choice but among definitions; where somebody else's is there too, or the
        // one that was linked into a shared library has another size, ours may be what an earlier run
        // of the script left in a directory that it does not use any more.
        let mut others = BTreeSet::new();
        if !foreign.is_empty() || !self.shared.is_empty() {
            let archived: BTreeSet<&String> = self.archived.iter().map(|code| &code.id).collect();
            objects.retain(|object| {
                let in_archive = archived.contains(&object.code);
                if !foreign.is_empty() && !in_archive {
                    return false;
                }
                let Ok(bytes) = std::fs::read(&object.output) else {
                    return false;
                };
                let code = Code::of(&bytes);
                if foreign.iter().any(|other| agrees(&code, other).is_some()) {
                    return false;
                }
                if in_archive {
                    return true;
                }
                let linked: Vec<(&Code, bool)> = self
                    .shared
                    .iter()
                    .filter_map(|library| Some((library, agrees(&code, library)?)))
                    .collect();
                let is_linked = linked.is_empty() || linked.iter().any(|(_, agrees)| *agrees);
                if !is_linked {
                    others.extend(linked.iter().map(|(library, _)| &library.id));
                }
                is_linked
            });
        }
        let unseen = foreign.len().max(replaced.len()) + others.len();
        Compiled { objects, unseen }
    }
}

/// Whether functions that both define have the same sizes; `None` if there is none.
fn agrees(ours: &Code, other: &Code) -> Option<bool> {
    if ours.id == other.id {
        return Some(true);
    }
    let both = ours
        .functions
        .iter()
        .filter_map(|(name, size)| Some(other.functions.get(name)? == size));
    both.reduce(|all, same| all && same)
}

/// Counts what the instrumented build holds.
pub fn take(plan: &PhasePlan, built: &Built, workspace: &Workspace) -> Vec<Row> {
    let seen = objects(&plan.state, &plan.target_dir, built, workspace);
    let mut rows = Vec::new();
    for (package, compiled) in seen {
        let mut row = row(&package, &compiled);
        let dir = workspace
            .packages
            .iter()
            .find(|known| known.id() == package)
            .map(|known| known.manifest_dir.as_path());
        let globs = &plan.orders.of(&package, Language::C).exclude;
        row.idle_globs = globs
            .iter()
            .filter(|glob| {
                let glob = std::slice::from_ref(*glob);
                let mut sources = compiled.objects.iter().map(|object| &object.source);
                !sources.any(|source| excludes(glob, dir, source))
            })
            .cloned()
            .collect();
        row.idle_targets = idle_targets(plan.orders.of(&package, Language::C), &compiled);
        if row.objects + row.unseen > 0 {
            rows.push(row);
        }
    }
    rows
}

/// Names of the counted C functions, and where they are from. `targets`: the programs and shared
/// libraries that cmake makes.
pub fn owners(
    state: &Path,
    target_dir: &Path,
    built: &Built,
    workspace: &Workspace,
    targets: &Targets,
) -> Owners {
    let mut owners = Owners::new();
    for (id, compiled) in objects(state, target_dir, built, workspace) {
        if let Some(package) = workspace.packages.iter().find(|known| known.id() == id) {
            own(&mut owners, package, compiled.objects, targets);
        }
    }
    owners
}

/// The same for all packages of the graph, whatever build it was: for raw profiles that were
/// made by a program of an earlier run.
pub fn all_owners(state: &Path, workspace: &Workspace, targets: &Targets) -> Owners {
    let mut owners = Owners::new();
    for package in &workspace.packages {
        let objects = evidence::load::<CObject>(state, &package.id(), Language::C);
        own(&mut owners, package, objects, targets);
    }
    owners
}

fn own(owners: &mut Owners, package: &Package, objects: Vec<CObject>, targets: &Targets) {
    let mut all: Vec<(CObject, Option<String>, bool)> = objects
        .into_iter()
        .map(|object| {
            let target = target_of(&object.output).filter(|_| package.is_native);
            let is_image = target
                .as_ref()
                .is_some_and(|target| targets.has(&package.name, target));
            (object, target, is_image)
        })
        .collect();
    // A function that several targets compile is of the one that is profiled, and of a library that
    // goes into several binaries rather than of one of these.
    all.sort_by_key(|(object, _, is_image)| (object.treatment != Treatment::Profiled, *is_image));
    for (object, target, is_image) in all {
        let owner = Owner {
            package: package.name.clone(),
            // As the same in every checkout, where it can be.
            source: Path::new(&object.source)
                .strip_prefix(&package.manifest_dir)
                .map_or(object.source.clone(), |path| path.display().to_string()),
            target,
            also: BTreeSet::new(),
        };
        for name in object.counted {
            // gcc leaves of some functions nothing but parts and copies, which a profile is not of.
            for name in [canonical(&name, Flavour::Llvm), name] {
                let first = owners.entry(name).or_insert_with(|| owner.clone());
                if let Some(target) = owner.target.as_ref().filter(|_| is_image)
                    && first.package == owner.package
                    && first.target.as_ref() != Some(target)
                    && !first.also.contains(target)
                {
                    first.also.insert(target.clone());
                }
            }
        }
    }
}

fn row(package: &str, compiled: &Compiled) -> Row {
    // Assembler and headers are seen, but nothing to instrument.
    let is_c =
        |object: &&CObject| !matches!(object.treatment, Treatment::Assembler | Treatment::Header);
    let objects: Vec<&CObject> = compiled.objects.iter().filter(is_c).collect();
    let has = |treatment| move |object: &&&CObject| object.treatment == treatment;
    Row {
        package: package.to_owned(),
        objects: objects.len(),
        instrumented: objects
            .iter()
            .filter(has(Treatment::Profiled))
            .filter(|object| !object.counted.is_empty() || !has_functions(&object.output))
            .count(),
        excluded: objects.iter().filter(has(Treatment::Excluded)).count(),
        compilers: objects
            .iter()
            .map(|object| object.compiler.clone())
            .collect(),
        unseen: compiled.unseen,
        removed_flags: objects
            .iter()
            .flat_map(|object| object.removed.iter().cloned())
            .collect(),
        idle_globs: Vec::new(),
        idle_targets: Vec::new(),
    }
}

/// What an order says of targets that are not there.
fn idle_targets(order: &Order, compiled: &Compiled) -> Vec<String> {
    let targets: BTreeSet<String> = compiled
        .objects
        .iter()
        .filter_map(|object| target_of(&object.output))
        .collect();
    let globs = order.exclude_targets.iter().chain(&order.profile_targets);
    globs
        .filter(|glob| !targets.iter().any(|target| names_target(glob, target)))
        .cloned()
        .collect()
}

/// An object of data alone has nothing to count.
fn has_functions(object: &Path) -> bool {
    std::fs::read(object)
        .ok()
        .and_then(|bytes| object_file::defined_functions(&bytes).ok())
        .is_some_and(|functions| !functions.is_empty())
}

/// Whether an `OUT_DIR` is of a unit for the target: cargo has `TRIPLE/PROFILE/build/…` for these, and
/// `PROFILE/build/…` for the host's.
fn is_of_target(out_dir: &Path, target_dir: &Path) -> bool {
    let out_dir = real_path(out_dir);
    let below = out_dir.strip_prefix(target_dir).unwrap_or(&out_dir);
    below
        .components()
        .nth(1)
        .is_none_or(|part| part.as_os_str() != "build")
}
