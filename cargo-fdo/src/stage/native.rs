//! Objects that no build of cargo's made: which belong to a build, and which are out of date.
//!
//! cmake and make look at time stamps and know nothing of a profile. So what was compiled under other
//! orders is removed before they run, and they compile exactly that again, with Ninja and make alike,
//! and link what it is in.

use super::build::NativeBuild;
use super::census::Compiled;
use crate::fs::{self, FsError};
use crate::plan::PhasePlan;
use crate::shim::evidence::{self, CObject};
use crate::shim::treatment::{Treatment, target_of};
use fdo_build::protocol::{self, Language, Order};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Removes the objects of a package that another order made, or this one of another compiler: those that
/// a shim says it made, and that are still as it made them. `within`: a build tree, the only place to
/// look.
///
/// # Errors
///
/// If one can't be removed.
pub fn drop_outdated(
    plan: &PhasePlan,
    package: &str,
    within: Option<&Path>,
) -> Result<Dropped, FsError> {
    let mut dropped = Dropped::default();
    for object in of_package(&plan.state, package, within) {
        let order = order_of(plan, package, &object.output);
        if object.stamp == stamp(order, &object) {
            continue;
        }
        if object.is_there() {
            fs::remove_file(&object.output)?;
            dropped.removed += 1;
        } else if !object.output.exists() {
            dropped.gone += 1;
        }
    }
    Ok(dropped)
}

/// What became of outdated objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dropped {
    /// Removed.
    pub removed: usize,
    /// Not where they were made, and maybe in an archive.
    pub gone: usize,
}

/// Removes objects that another phase made in the place of this one's: a build system that compiles
/// beside the sources has one place for all phases. `others`: where the evidence of these is.
///
/// Where nothing of this phase is there, all of theirs may be in the way.
///
/// # Errors
///
/// If one can't be removed.
pub fn drop_replaced(
    plan: &PhasePlan,
    package: &str,
    others: &[PathBuf],
) -> Result<usize, FsError> {
    let ours = of_package(&plan.state, package, None);
    let is_first = known(&ours).is_empty();
    let places: BTreeSet<&PathBuf> = ours.iter().map(|object| &object.output).collect();
    let mut dropped = 0;
    for state in others {
        for object in there(state, package) {
            if is_first || places.contains(&object.output) {
                fs::remove_file(&object.output)?;
                dropped += 1;
            }
        }
    }
    Ok(dropped)
}

/// The objects of a package that are still as a phase made them.
pub fn there(state: &Path, package: &str) -> Vec<CObject> {
    let mut objects = of_package(state, package, None);
    objects.retain(CObject::is_there);
    objects
}

/// The order that applies to an object: that of its target, if this has one of its own.
fn order_of<'p>(plan: &'p PhasePlan, package: &str, output: &Path) -> &'p Order {
    let order = plan.orders.of(package, Language::C);
    if order.own_targets.is_empty() {
        return order;
    }
    let target = target_of(output).filter(|target| order.own_targets.contains(target));
    let id = target.map(|target| protocol::target_id(package, &target));
    id.and_then(|id| plan.orders.own.get(&(id, Language::C)))
        .unwrap_or(order)
}

/// What the stamp of an object would be if it were compiled now.
fn stamp(order: &Order, object: &CObject) -> String {
    let treatment = match object.treatment {
        Treatment::Assembler => Treatment::Assembler,
        then => match Treatment::of(order, None, &object.source, &object.output) {
            Treatment::Profiled if then == Treatment::Header => Treatment::Header,
            now => now,
        },
    };
    treatment.stamp(order)
}

/// Removes the objects of a tree of ours that no shim vouches for: a run that was killed left them
/// between the compiler and the evidence.
///
/// # Errors
///
/// If one can't be removed.
pub fn drop_unknown(plan: &PhasePlan, package: &str, dir: &Path) -> Result<(), FsError> {
    let known = known(&of_package(&plan.state, package, Some(dir)));
    for object in objects_in(dir)? {
        if !known.contains(&real_path(&object)) {
            fs::remove_file(&object)?;
        }
    }
    Ok(())
}

/// The objects of a build: what the shim compiled and is still as it was made, and how many there are
/// that it did not compile.
pub fn compiled(state: &Path, package: &str, build: &NativeBuild) -> Compiled {
    let said = of_package(state, package, build.dir.as_deref());
    let on_disk = match &build.dir {
        Some(dir) => objects_in(dir).unwrap_or_default(),
        None => Vec::new(),
    };
    let known = known(&said);
    let unseen = on_disk
        .iter()
        .filter(|object| target_of(object).is_some_and(|target| build.targets.contains(&target)))
        .filter(|object| !known.contains(&real_path(object)))
        .count();
    let objects = said
        .into_iter()
        .filter(|object| known.contains(&object.output));
    Compiled {
        objects: objects.collect(),
        unseen,
    }
}

/// What was said of a package's objects, wherever they are, or in one tree.
fn of_package(state: &Path, package: &str, within: Option<&Path>) -> Vec<CObject> {
    let within = within.map(real_path);
    evidence::load::<CObject>(state, package, Language::C)
        .into_iter()
        .filter(|object| {
            within
                .as_ref()
                .is_none_or(|dir| object.output.starts_with(dir))
        })
        .collect()
}

/// Those of them that hold what they were made to hold. A compiler that is run by make says where it is
/// without links.
fn known(said: &[CObject]) -> BTreeSet<PathBuf> {
    said.iter()
        .filter(|object| object.is_there())
        .map(|object| object.output.clone())
        .collect()
}

/// Objects of C and C++ that cmake's rules make: `CMakeFiles/TARGET.dir/…/source.cc.o`.
fn objects_in(dir: &Path) -> Result<Vec<PathBuf>, FsError> {
    let mut files = fs::walk(dir)?;
    files.retain(|path| is_c_object(path) && target_of(path).is_some());
    Ok(files)
}

fn is_c_object(path: &Path) -> bool {
    const SOURCES: [&str; 10] = ["c", "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "m", "mm"];
    let is_object = path.extension().is_some_and(|ending| ending == "o");
    is_object
        && path
            .file_stem()
            .and_then(|stem| Path::new(stem).extension())
            .is_some_and(|ending| SOURCES.iter().any(|known| ending == *known))
}

pub(super) fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_other_languages_are_nobodys() {
        let is_ours = |path: &str| is_c_object(Path::new(path));
        assert!(is_ours("/b/CMakeFiles/a.dir/x.cpp.o"));
        assert!(!is_ours("/b/CMakeFiles/a.dir/x.asm.o"));
        assert!(!is_ours("/b/CMakeFiles/a.dir/x.f90.o"));
        assert!(!is_ours("/b/CMakeFiles/a.dir/x.o"));
    }
}
