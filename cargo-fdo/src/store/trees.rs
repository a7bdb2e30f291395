//! What `cargo fdo cmake` and `cargo fdo exec` built, and where: so that later runs know the packages,
//! and find the programs of recordings.

use super::Layout;
use crate::fs::{self, FsError};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// All that was built by hand in a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Trees {
    /// The project's root.
    pub root: PathBuf,
    /// One entry for each directory.
    pub trees: Vec<TreeEntry>,
}

/// One directory with a build in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeEntry {
    /// The package's name.
    pub package: String,
    /// Where its sources are.
    pub source: PathBuf,
    /// The build directory.
    pub dir: PathBuf,
    /// Of which phase it is.
    pub phase: String,
}

impl Trees {
    /// What is known; nothing if the file is not there or not readable.
    pub fn load(layout: &Layout) -> Trees {
        read(&layout.trees()).unwrap_or_default()
    }

    /// The root of the project whose target directory this is, if something was built by hand in it.
    pub fn root_of(target_dir: &Path) -> Option<PathBuf> {
        Some(read(&Layout::new(target_dir, None).trees())?.root)
    }

    /// Adds an entry, in place of an older one of the same directory. A build by `cargo fdo exec` has
    /// its sources' directory, in which there may be one for each phase.
    pub fn add(&mut self, entry: TreeEntry) {
        self.trees.retain(|known| {
            known.dir != entry.dir || known.phase != entry.phase || known.package != entry.package
        });
        self.trees.push(entry);
    }

    /// Writes it.
    ///
    /// # Errors
    ///
    /// If it can't be written.
    pub fn save(&self, layout: &Layout) -> Result<(), FsError> {
        let text = serde_json::to_string_pretty(self).expect("plain data");
        fs::write_if_changed(&layout.trees(), &text)?;
        Ok(())
    }
}

fn read(path: &Path) -> Option<Trees> {
    serde_json::from_str(&fs::read_if_there(path).ok()??).ok()
}
