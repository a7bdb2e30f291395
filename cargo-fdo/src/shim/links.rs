//! The links under which cargo-fdo runs as a compiler.
//!
//! They are in a per-user directory whose path has neither space nor quote, even where the
//! project's has: make and autotools split `$(CC)` at spaces.

use crate::error::{Diagnose, ExitCode};
use crate::profile::digest;
use crate::shim::RUSTC_LINK;
use fdo_build::protocol::Family;
use std::io;
use std::path::{Path, PathBuf};

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
                Ok(()) => return Ok(Links { dir }),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_make_would_split_are_not_used() {
        assert!(is_plain(Path::new("/home/u/.cache/cargo-fdo")));
        assert!(!is_plain(Path::new("/home/my user/.cache")));
        assert!(!is_plain(Path::new("/home/o'neil/.cache")));
        assert!(!is_plain(Path::new("relative")));
    }
}
