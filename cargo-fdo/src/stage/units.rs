//! The crates of a build, as the shim saw rustc compile them.

use super::build::Built;
use crate::shim::evidence::{self, RustUnit};
use crate::store::campaign::Partition;
use crate::workspace::{Package, Workspace};
use fdo_build::protocol::Language;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The units of rustc's that a build consists of, with their packages.
pub fn of_build<'a>(
    state: &Path,
    built: &Built,
    workspace: &'a Workspace,
) -> Vec<(&'a Package, RustUnit)> {
    let packages: BTreeMap<&str, &Package> = built
        .artifacts
        .iter()
        .filter_map(|artifact| {
            let package = workspace.by_cargo_id(&artifact.package)?;
            Some((package.cargo_id.as_str(), package))
        })
        .collect();
    let made = Made::of(built);
    let mut units = Vec::new();
    for package in packages.into_values() {
        let found = evidence::load::<RustUnit>(state, &package.id(), Language::Rust);
        units.extend(
            found
                .into_iter()
                .filter(|unit| made.holds(unit))
                .map(|unit| (package, unit)),
        );
    }
    units
}

/// Into how many units the crates of a build were divided; without a build, those of every
/// build that left evidence.
pub fn partition(state: &Path, built: Option<&Built>, workspace: &Workspace) -> Partition {
    let units = match built {
        Some(built) => of_build(state, built, workspace),
        None => workspace
            .packages
            .iter()
            .flat_map(|package| {
                evidence::load::<RustUnit>(state, &package.id(), Language::Rust)
                    .into_iter()
                    .map(move |unit| (package, unit))
            })
            .collect(),
    };
    Partition::of(
        units
            .iter()
            .map(|(package, unit)| (package.name.as_str(), unit.codegen_units)),
    )
}

/// The files that a build consists of.
///
/// Evidence of other units lies beside theirs: those of the same crates under other profile
/// settings, which cargo keeps too, and which prove nothing about this build.
struct Made {
    /// As cargo calls them.
    paths: BTreeSet<PathBuf>,
    /// Programs and libraries to ship have a second name without the unit's hash: a hard link,
    /// or a copy where there are none.
    copies: Vec<(PathBuf, same_file::Id)>,
}

impl Made {
    fn of(built: &Built) -> Made {
        let paths: BTreeSet<PathBuf> = built
            .artifacts
            .iter()
            .flat_map(|artifact| artifact.files.iter().chain(&artifact.executable))
            .cloned()
            .collect();
        let copies = paths
            .iter()
            .filter_map(|path| Some((path.clone(), same_file::Id::of(path)?)))
            .collect();
        Made { paths, copies }
    }

    fn holds(&self, unit: &RustUnit) -> bool {
        unit.outputs().any(|output| {
            self.paths.contains(&output)
                || same_file::Id::of(&output).is_some_and(|id| {
                    self.copies
                        .iter()
                        .any(|(path, other)| id.is_same(other) || id.is_copy(&output, other, path))
                })
        })
    }
}

mod same_file {
    use std::path::Path;

    /// What tells files apart.
    pub(super) struct Id {
        #[cfg(unix)]
        node: (u64, u64),
        /// It has another name, which is the one to be found.
        is_linked: bool,
        len: u64,
    }

    impl Id {
        pub(super) fn of(path: &Path) -> Option<Id> {
            #[cfg(unix)]
            use std::os::unix::fs::MetadataExt;
            let data = std::fs::metadata(path).ok()?;
            Some(Id {
                #[cfg(unix)]
                node: (data.dev(), data.ino()),
                #[cfg(unix)]
                is_linked: data.nlink() > 1,
                #[cfg(not(unix))]
                is_linked: false,
                len: data.len(),
            })
        }

        /// Two names of one file.
        pub(super) fn is_same(&self, other: &Id) -> bool {
            #[cfg(unix)]
            let same = self.node == other.node;
            #[cfg(not(unix))]
            let same = false;
            same && self.len == other.len
        }

        /// Two files with one content, which builds under other settings may have too: asked
        /// only where the other file is a copy, and no link.
        pub(super) fn is_copy(&self, path: &Path, other: &Id, other_path: &Path) -> bool {
            let read = std::fs::read;
            !other.is_linked
                && self.len == other.len
                && read(path).is_ok_and(|a| read(other_path).is_ok_and(|b| a == b))
        }
    }
}
