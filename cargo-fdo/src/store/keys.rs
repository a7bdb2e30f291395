//! Writing orders and keys: what makes cargo rebuild exactly what a change concerns.
//!
//! A key is rewritten only when its content changes, so that its time stamp tells cargo when
//! that was. It is written *before* the build that reads it. A package that turns out to hold
//! C only while it is built gets its key afterwards, with the time stamp kept: it was compiled
//! with this very order.

use crate::fs::{self, FsError};
use crate::profile::digest;
use fdo_build::protocol::{self, Language, Order};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

/// The orders of one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orders {
    /// For units of rustc.
    pub rust: Order,
    /// For C and C++ objects.
    pub c: Order,
    /// Packages (`name-version`) whose policy differs.
    pub own: BTreeMap<(String, Language), Order>,
    /// What else makes objects out of date: the version of cargo-fdo, whose evidence would be
    /// of another form, and that of the C compiler, which may be replaced in its place.
    pub basis: String,
}

/// A package as far as keys matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedPackage {
    /// `name-version`.
    pub id: String,
    /// Whether it has a build script, and so may hold C.
    pub has_build_script: bool,
}

/// A file whose content changes with any order for C, and never becomes again what it was: an object
/// out of a cache passes no shim, and the only evidence there is of it is that of the last compilation
/// of its path.
pub fn cache_key_file(state: &Path) -> PathBuf {
    state.join("cache-key")
}

/// The content of a C key while nothing is known to be compiled from C.
const NO_C: &str = "no C objects\n";

impl Orders {
    /// The order that applies to a package.
    pub fn of(&self, package: &str, language: Language) -> &Order {
        self.own
            .get(&(package.to_owned(), language))
            .unwrap_or(match language {
                Language::Rust => &self.rust,
                Language::C => &self.c,
            })
    }

    /// Writes the orders; removes own orders of packages that no longer have one.
    ///
    /// # Errors
    ///
    /// If a file can't be written.
    pub fn write(&self, state: &Path) -> Result<(), FsError> {
        let mut wanted = BTreeSet::new();
        for (language, order) in [(Language::Rust, &self.rust), (Language::C, &self.c)] {
            let path = protocol::common_order_file(state, language);
            fs::write_if_changed(&path, &order.write())?;
            wanted.insert(path);
        }
        for ((package, language), order) in &self.own {
            let path = protocol::order_file(state, package, *language);
            fs::write_if_changed(&path, &order.write())?;
            wanted.insert(path);
        }
        self.write_cache_key(state)?;
        for path in fs::list(&state.join("orders"))? {
            if !wanted.contains(&path) {
                std::fs::remove_file(&path)
                    .map_err(|error| FsError::new("remove", &path, error))?;
            }
        }
        Ok(())
    }

    /// Writes [`cache_key_file`], anew if any order for C changed.
    fn write_cache_key(&self, state: &Path) -> Result<(), FsError> {
        let path = cache_key_file(state);
        let digest = self.c_digest();
        if fs::read_if_there(&path)?.is_some_and(|key| key.starts_with(&digest)) {
            return Ok(());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_nanos();
        let key = format!("{digest} {now} {}\n", process::id());
        fs::write_atomic(&path, key.as_bytes())
    }

    /// Says whether orders for C are the same, for caches of objects.
    pub fn c_digest(&self) -> String {
        let own = self
            .own
            .iter()
            .filter(|((_, language), _)| *language == Language::C);
        let own = own.map(|((package, _), order)| format!("{package}\n{}", order.write()));
        let all: Vec<String> = std::iter::once(self.c.write()).chain(own).collect();
        digest::short(format!("{}\n{}", self.basis, all.join("\n")).as_bytes(), 16)
    }

    /// What a package's key says; `holds_c` matters for C only.
    fn key(&self, package: &str, language: Language, holds_c: bool) -> String {
        if language == Language::C && !holds_c {
            return NO_C.to_owned();
        }
        let order = self.of(package, language);
        let content = order.write() + &self.basis;
        format!("{}\n", digest::short(content.as_bytes(), 16))
    }

    /// The packages whose C objects are out of date: what was compiled under another key.
    ///
    /// # Errors
    ///
    /// If a key can't be read.
    pub fn outdated_c(
        &self,
        state: &Path,
        packages: &[KeyedPackage],
        with_c: &BTreeSet<String>,
    ) -> Result<Vec<String>, FsError> {
        let mut outdated = Vec::new();
        for package in packages
            .iter()
            .filter(|package| with_c.contains(&package.id))
        {
            let path = protocol::key_file(state, &package.id, Language::C);
            let new = self.key(&package.id, Language::C, true);
            if fs::read_if_there(&path)?.is_some_and(|old| old != new) {
                outdated.push(package.id.clone());
            }
        }
        Ok(outdated)
    }

    /// Writes the keys that changed. Call it after the outdated C objects are gone: a run
    /// that is killed in between finds them outdated again.
    ///
    /// # Errors
    ///
    /// If a key can't be written.
    pub fn write_keys(
        &self,
        state: &Path,
        packages: &[KeyedPackage],
        with_c: &BTreeSet<String>,
    ) -> Result<(), FsError> {
        let own: BTreeSet<&str> = self.own.keys().map(|(id, _)| id.as_str()).collect();
        // A graph has hundreds of packages and, mostly, one order for each language.
        let [rust, c, none] = [
            (Language::Rust, true),
            (Language::C, true),
            (Language::C, false),
        ]
        .map(|(language, holds_c)| self.key("", language, holds_c));
        for package in packages {
            let holds_c = with_c.contains(&package.id);
            let write = |language, common: &str| {
                let path = protocol::key_file(state, &package.id, language);
                if own.contains(package.id.as_str()) {
                    fs::write_if_changed(&path, &self.key(&package.id, language, holds_c))
                } else {
                    fs::write_if_changed(&path, common)
                }
            };
            write(Language::Rust, &rust)?;
            if package.has_build_script {
                write(Language::C, if holds_c { &c } else { &none })?;
            }
        }
        Ok(())
    }

    /// After a build: gives packages that turned out to hold C their key, without making
    /// cargo think that anything changed.
    ///
    /// # Errors
    ///
    /// If a key can't be written.
    pub fn settle_keys(
        &self,
        state: &Path,
        packages: &[KeyedPackage],
        with_c: &BTreeSet<String>,
    ) -> Result<(), FsError> {
        for package in packages
            .iter()
            .filter(|package| with_c.contains(&package.id))
        {
            let path = protocol::key_file(state, &package.id, Language::C);
            let new = self.key(&package.id, Language::C, true);
            if fs::read_if_there(&path)?.as_deref() == Some(NO_C) {
                let fail = |error| FsError::new("keep the time of", &path, error);
                let time = std::fs::metadata(&path)
                    .and_then(|data| data.modified())
                    .map_err(fail)?;
                fs::write_atomic(&path, new.as_bytes())?;
                std::fs::File::options()
                    .write(true)
                    .open(&path)
                    .and_then(|file| file.set_modified(time))
                    .map_err(fail)?;
            }
        }
        Ok(())
    }
}

/// The packages that the shims saw compile C in a phase.
///
/// # Errors
///
/// If the evidence can't be listed.
pub fn packages_with_c(state: &Path) -> Result<BTreeSet<String>, FsError> {
    Ok(fs::list(&state.join("evidence"))?
        .iter()
        .filter_map(|path| path.file_name()?.to_str()?.strip_suffix(".c"))
        .map(str::to_owned)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fdo_build::protocol::Family;
    use std::time::{Duration, SystemTime};

    fn orders(slice: &str) -> Orders {
        let mut c = Order::nothing(Family::Clang);
        c.slice = slice.to_owned();
        Orders {
            rust: Order::nothing(Family::Rustc),
            c,
            own: BTreeMap::new(),
            basis: String::new(),
        }
    }

    fn package(id: &str) -> KeyedPackage {
        KeyedPackage {
            id: id.into(),
            has_build_script: true,
        }
    }

    #[test]
    fn a_new_c_slice_concerns_the_packages_with_c_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let packages = [package("sqlite-1"), package("serde-1")];
        let with_c = BTreeSet::from(["sqlite-1".to_owned()]);
        orders("a")
            .write_keys(dir.path(), &packages, &with_c)
            .unwrap();
        let read =
            |id| std::fs::read_to_string(protocol::key_file(dir.path(), id, Language::C)).unwrap();
        let (sqlite, serde) = (read("sqlite-1"), read("serde-1"));

        let new = orders("b");
        assert_eq!(
            new.outdated_c(dir.path(), &packages, &with_c).unwrap(),
            ["sqlite-1"]
        );
        new.write_keys(dir.path(), &packages, &with_c).unwrap();
        assert_ne!(read("sqlite-1"), sqlite);
        assert_eq!(read("serde-1"), serde);
        assert!(
            new.outdated_c(dir.path(), &packages, &with_c)
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn a_key_settled_after_the_build_keeps_its_time() {
        let dir = tempfile::tempdir().unwrap();
        let packages = [package("sqlite-1")];
        orders("a")
            .write_keys(dir.path(), &packages, &BTreeSet::new())
            .unwrap();
        let path = protocol::key_file(dir.path(), "sqlite-1", Language::C);
        let old = SystemTime::now() - Duration::from_secs(1000);
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(old)
            .unwrap();

        let with_c = BTreeSet::from(["sqlite-1".to_owned()]);
        orders("a")
            .settle_keys(dir.path(), &packages, &with_c)
            .unwrap();
        let age = std::fs::metadata(&path).unwrap().modified().unwrap();
        assert!(age.duration_since(old).unwrap_or_default() < Duration::from_secs(1));
        assert!(
            orders("a")
                .outdated_c(dir.path(), &packages, &with_c)
                .unwrap()
                .is_empty()
        );
    }
}
