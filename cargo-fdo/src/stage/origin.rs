//! Which functions the instrumented build counts: what tells a raw profile of another program,
//! where no crate's name does.

use crate::fs;
use crate::profile::object_file;
use crate::shim::evidence::{self, CObject, Treatment};
use crate::store::keys;
use fdo_build::protocol::Language;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The functions that are counted in anything which the instrumented phase made, of whatever
/// build. Looked up when it is first asked: it reads whole programs.
#[derive(Debug)]
pub struct Origin {
    state: PathBuf,
    artifacts: PathBuf,
    names: OnceCell<Option<BTreeSet<String>>>,
}

impl Origin {
    /// `state`: the phase's evidence. `artifacts`: cargo's target directory of the phase, with the
    /// triple.
    pub fn new(state: PathBuf, artifacts: PathBuf) -> Origin {
        Origin {
            state,
            artifacts,
            names: OnceCell::new(),
        }
    }

    /// Whether any of these functions is counted; `None` where nobody knows, because nothing was
    /// built here or not all objects tell.
    pub fn holds_any<'a>(&self, mut functions: impl Iterator<Item = &'a str>) -> Option<bool> {
        let names = self.names.get_or_init(|| self.look()).as_ref()?;
        Some(functions.any(|function| names.contains(function)))
    }

    fn look(&self) -> Option<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        let mut is_built = false;
        for package in keys::packages_with_c(&self.state).ok()? {
            is_built = true;
            for object in evidence::load::<CObject>(&self.state, &package, Language::C) {
                if object.treatment == Treatment::Profiled && is_silent(&object) {
                    return None;
                }
                names.extend(object.counted);
            }
        }
        // Rust functions without a mangled name are in no evidence: the programs and libraries
        // tell.
        for image in self.images() {
            if let Some(counted) = std::fs::read(image)
                .ok()
                .and_then(|bytes| object_file::counters(&bytes).ok())
            {
                is_built |= counted.has_counters;
                names.extend(counted.names);
            }
        }
        is_built.then_some(names)
    }

    /// Programs and shared libraries, where cargo puts them.
    fn images(&self) -> impl Iterator<Item = PathBuf> {
        let profiles = fs::list(&self.artifacts).unwrap_or_default();
        profiles
            .into_iter()
            .flat_map(|profile| [profile.join("deps"), profile.join("examples"), profile])
            .flat_map(|dir| fs::list(&dir).unwrap_or_default())
            .filter(|path| is_image(path))
    }
}

/// Whether an object may count functions that its evidence does not name: bitcode of a build with
/// link-time optimisation, or one that is gone.
fn is_silent(object: &CObject) -> bool {
    object.counted.is_empty()
        && std::fs::read(&object.output).map_or(true, |bytes| object_file::is_bitcode(&bytes))
}

/// An ELF file that is no object file (`e_type`, elf(5)).
fn is_image(path: &Path) -> bool {
    const OBJECT: u8 = 1;
    let mut head = [0; 18];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    let [.., little, big] = head;
    // The number is small, so one of its bytes is zero, whichever comes first.
    read.is_ok() && head.starts_with(b"\x7fELF") && little | big != OBJECT
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &[u8] = include_bytes!("../../tests-data/elf64.o");

    /// An instrumented object that passes for a shared library.
    fn library() -> Vec<u8> {
        let mut bytes = OBJECT.to_vec();
        bytes[16] = 3;
        bytes
    }

    #[test]
    fn images_tell_what_they_count() {
        let dir = tempfile::tempdir().unwrap();
        let release = dir.path().join("target/release");
        std::fs::create_dir_all(release.join("deps")).unwrap();
        let holds = |function| {
            Origin::new(dir.path().join("state"), dir.path().join("target"))
                .holds_any([function].into_iter())
        };
        assert_eq!(holds("global"), None, "nothing was built");
        std::fs::write(release.join("deps/a.o"), OBJECT).unwrap();
        std::fs::write(release.join("notes"), "text").unwrap();
        assert_eq!(
            holds("global"),
            None,
            "objects are on their way into something"
        );
        std::fs::write(release.join("liba.so"), library()).unwrap();
        assert_eq!(holds("global"), Some(true));
        assert_eq!(holds("other"), Some(false));
    }
}
