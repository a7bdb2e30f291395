//! The links under which cargo-fdo runs as a compiler.
//!
//! They are in a per-user directory whose path has neither space nor quote, even where the
//! project's has: make and autotools split `$(CC)` at spaces.
//!
//! Each executable has a directory of its own, named after a hash of its path. Deleted checkouts
//! and test builds would leave theirs for ever, so each run removes old ones.

use crate::error::{Diagnose, ExitCode};
use crate::profile::digest;
use crate::shim::RUSTC_LINK;
use fdo_build::protocol::Family;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The links could not be made.
#[derive(Debug, thiserror::Error)]
#[error("can't make the compiler links in `{}`", dir.display())]
pub struct LinksError {
    dir: PathBuf,
    source: io::Error,
}

impl Diagnose for LinksError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        Some("set XDG_CACHE_HOME to a writable directory whose path has no space or quote".into())
    }
}

/// The directory of links for this very executable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    dir: PathBuf,
}

impl Links {
    /// Makes the links, or finds them made.
    ///
    /// # Errors
    ///
    /// [`LinksError`] where no usable directory can be written.
    pub fn ensure() -> Result<Links, LinksError> {
        let exe = std::env::current_exe().map_err(|source| LinksError {
            dir: PathBuf::from("/proc/self/exe"),
            source,
        })?;
        let mut last = None;
        for base in bases() {
            let dir = base.join("cargo-fdo").join("links").join(short_hash(&exe));
            if !is_plain(&dir) {
                continue;
            }
            match make(&dir, &exe) {
                Ok(()) => {
                    prune(&dir, SystemTime::now());
                    return Ok(Links { dir });
                }
                Err(source) => last = Some(LinksError { dir, source }),
            }
        }
        Err(last.unwrap_or_else(|| LinksError {
            dir: PathBuf::from("$XDG_CACHE_HOME"),
            source: io::Error::other("its path has a space or quote"),
        }))
    }

    /// The per-user directory that the links are in: for other things worth keeping.
    pub fn cache(&self) -> &Path {
        // `<base>/cargo-fdo/links/<hash>`
        self.dir.ancestors().nth(2).unwrap_or(&self.dir)
    }

    /// What `RUSTC_WRAPPER` is set to.
    pub fn rustc(&self) -> PathBuf {
        self.dir.join(RUSTC_LINK)
    }

    /// What `CC` is set to: a name of the same family, because old build scripts judge a
    /// compiler by its name.
    pub fn cc(&self, family: Family) -> PathBuf {
        self.dir.join(match family {
            Family::Clang => "clang",
            Family::Gcc => "gcc",
            _ => "cc",
        })
    }

    /// What `CXX` is set to.
    pub fn cxx(&self, family: Family) -> PathBuf {
        self.dir.join(match family {
            Family::Clang => "clang++",
            Family::Gcc => "g++",
            _ => "c++",
        })
    }
}

fn bases() -> Vec<PathBuf> {
    let mut bases = Vec::new();
    if let Some(cache) = std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()) {
        bases.push(PathBuf::from(cache));
    }
    if let Some(home) = std::env::home_dir() {
        bases.push(home.join(".cache"));
    }
    #[cfg(unix)]
    bases.push(
        std::env::temp_dir().join(format!("cargo-fdo-{}", rustix::process::getuid().as_raw())),
    );
    bases
}

fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path.to_str().is_some_and(|path| {
            path.chars()
                .all(|c| c.is_ascii_alphanumeric() || "/._-+@".contains(c))
        })
}

fn short_hash(exe: &Path) -> String {
    digest::short(exe.as_os_str().as_encoded_bytes(), 6)
}

fn make(dir: &Path, exe: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    for name in [RUSTC_LINK, "clang", "clang++", "gcc", "g++", "cc", "c++"] {
        let link = dir.join(name);
        if std::fs::read_link(&link).is_ok_and(|target| target == exe) {
            continue;
        }
        // Under another name first: a build that runs right now never finds the link gone.
        let fresh = dir.join(format!("{name}.{}", std::process::id()));
        let _ = std::fs::remove_file(&fresh);
        std::os::unix::fs::symlink(exe, &fresh)?;
        std::fs::rename(&fresh, &link)?;
    }
    Ok(())
}

/// The least age of links that are removed: a younger executable may be on its way back (built
/// anew, or on a disk that is mounted again).
const OLD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Removes the links beside `own` whose executable is gone. What can't be removed stays.
fn prune(own: &Path, now: SystemTime) {
    let beside = own.parent().and_then(|all| std::fs::read_dir(all).ok());
    for dir in beside.into_iter().flatten().flatten() {
        let dir = dir.path();
        for link in links_of_nothing(&dir, now).unwrap_or_default() {
            let _ = std::fs::remove_file(link);
        }
        // Only if it is empty now, and younger ones are being filled.
        if is_old(&dir, now) {
            let _ = std::fs::remove_dir(&dir);
        }
    }
}

/// The links in a directory that [`make`] filled, if it is old and its executable gone.
///
/// `None` for everything else: where the name is not the hash of the executable that all entries
/// lead to, somebody else made it.
fn links_of_nothing(dir: &Path, now: SystemTime) -> Option<Vec<PathBuf>> {
    if !is_old(dir, now) {
        return None;
    }
    let mut links = Vec::new();
    let mut executable: Option<PathBuf> = None;
    for entry in std::fs::read_dir(dir).ok()? {
        let link = entry.ok()?.path();
        let target = std::fs::read_link(&link).ok()?;
        if executable.get_or_insert_with(|| target.clone()) != &target {
            return None;
        }
        links.push(link);
    }
    let executable = executable?;
    let is_gone = executable
        .symlink_metadata()
        .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let is_ours = dir.file_name()? == short_hash(&executable).as_str();
    (is_gone && is_ours).then_some(links)
}

fn is_old(dir: &Path, now: SystemTime) -> bool {
    dir.symlink_metadata()
        .ok()
        .filter(std::fs::Metadata::is_dir)
        .and_then(|data| now.duration_since(data.modified().ok()?).ok())
        .is_some_and(|age| age >= OLD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_links_of_ours_to_nothing_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let all = root.path().join("links");
        let there = root.path().join("there");
        std::fs::write(&there, "").unwrap();
        let fill = |exe: &Path| {
            let dir = all.join(short_hash(exe));
            make(&dir, exe).unwrap();
            dir
        };
        let own = fill(&there);
        let gone = fill(&root.path().join("gone"));
        let with_more = fill(&root.path().join("gone, with a file"));
        std::fs::write(with_more.join("notes"), "kept").unwrap();
        let other_name = all.join("of the user");
        make(&other_name, &root.path().join("gone")).unwrap();

        let exist = || [&own, &gone, &with_more, &other_name].map(|dir| dir.exists());
        prune(&own, SystemTime::now());
        assert_eq!(exist(), [true; 4], "younger ones are kept");
        // A clock may be set back meanwhile.
        prune(&own, SystemTime::now() + OLD + Duration::from_secs(3600));
        assert_eq!(exist(), [true, false, true, true]);
        assert!(with_more.join("notes").exists() && with_more.join("clang").is_symlink());
        assert!(other_name.join("clang").is_symlink() && own.join("clang").exists());
    }

    #[test]
    fn paths_that_make_would_split_are_not_used() {
        assert!(is_plain(Path::new("/home/u/.cache/cargo-fdo")));
        assert!(!is_plain(Path::new("/home/my user/.cache")));
        assert!(!is_plain(Path::new("/home/o'neil/.cache")));
        assert!(!is_plain(Path::new("relative")));
    }
}
