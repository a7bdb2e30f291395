//! Where tools are: `PATH`, names with a version, and the directories of LLVM packages.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Where packages put an LLVM beside others, `*` being its major version.
///
/// The first is Debian's and Ubuntu's, and the only one that was tried; the others are
/// Fedora's, Gentoo's and Homebrew's by their package lists.
const LLVM_DIRS: [&str; 5] = [
    "/usr/lib/llvm-*/bin",
    "/usr/lib64/llvm*/bin",
    "/usr/lib/llvm/*/bin",
    "/opt/homebrew/opt/llvm@*/bin",
    "/usr/local/opt/llvm@*/bin",
];

/// Where to look for tools.
#[derive(Debug, Clone)]
pub struct Places {
    path: OsString,
    llvm_dirs: Vec<String>,
}

impl Places {
    /// The places of this process.
    pub fn of_process() -> Places {
        Places {
            path: std::env::var_os("PATH").unwrap_or_default(),
            llvm_dirs: LLVM_DIRS.map(str::to_owned).into(),
        }
    }

    /// Only the directories of `path`, a value as of `PATH`.
    pub fn only(path: impl AsRef<OsStr>) -> Places {
        Places {
            path: path.as_ref().to_owned(),
            llvm_dirs: Vec::new(),
        }
    }

    /// The program of that name or path.
    pub fn find(&self, name: impl AsRef<OsStr>) -> Option<PathBuf> {
        let here = std::env::current_dir().unwrap_or_default();
        which::which_in(name, Some(&self.path), here).ok()
    }

    /// The tools called `<name>-<major version>`, or `<name>` in an LLVM's own directory;
    /// newest first, one path a program.
    pub fn versions(&self, name: &str) -> Vec<(u32, PathBuf)> {
        let mut found = Vec::new();
        for dir in std::env::split_paths(&self.path) {
            // By name before anything else: `/usr/bin` has thousands of others, and every build
            // comes through here.
            for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
                let file = entry.file_name();
                let version = file
                    .to_str()
                    .and_then(|file| file.strip_prefix(name)?.strip_prefix('-')?.parse().ok());
                if let Some(version) = version {
                    found.push((version, entry.path()));
                }
            }
        }
        for pattern in &self.llvm_dirs {
            let Some((before, after)) = pattern.split_once('*') else {
                continue;
            };
            for dir in glob::glob(pattern).into_iter().flatten().flatten() {
                let version = dir
                    .to_str()
                    .and_then(|dir| dir.strip_prefix(before)?.strip_suffix(after)?.parse().ok());
                if let Some(version) = version {
                    found.push((version, dir.join(name)));
                }
            }
        }
        found.retain(|(_, path)| self.find(path).is_some());
        // Stable: what comes first in `PATH` stays first among equals.
        found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
        let mut seen = Vec::new();
        found.retain(|(_, path)| first_time(&mut seen, path));
        found
    }
}

/// Whether this program has not been met under another path.
///
/// A link to a program of another name (`clang` to `ccache`) is a program of its own.
pub(crate) fn first_time(seen: &mut Vec<PathBuf>, path: &Path) -> bool {
    let stem = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.split('-').next().unwrap_or_default().to_owned()
    };
    let real = match path.canonicalize() {
        Ok(real) if stem(&real) == stem(path) => real,
        _ => path.to_owned(),
    };
    let new = !seen.contains(&real);
    if new {
        seen.push(real);
    }
    new
}

/// What tells that a file is still the one that was looked at.
///
/// Not for rustup's `rustc`, which is one file for all toolchains:
/// [`Rustc::identity`](super::Rustc::identity) looks behind it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// The path as found.
    pub path: PathBuf,
    /// When it was changed, in nanoseconds since 1970.
    pub mtime: u64,
    /// Its size in bytes.
    pub size: u64,
}

impl Identity {
    /// The identity of a program, by name or path; `None` where there is none.
    pub fn of(places: &Places, program: impl AsRef<OsStr>) -> Option<Identity> {
        let path = places.find(program)?;
        let data = path.metadata().ok()?;
        let mtime = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Identity {
            path,
            mtime: u64::try_from(mtime.as_nanos()).ok()?,
            size: data.len(),
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn tool(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    #[test]
    fn versions_come_newest_first_and_other_names_do_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        for name in [
            "clang-9",
            "clang-22",
            "clang-format-23",
            "clang-cl-22",
            "clang",
        ] {
            tool(&bin.join(name));
        }
        std::fs::write(bin.join("clang-30"), "not a program").unwrap();
        tool(&dir.path().join("llvm-19/bin/clang"));
        let places = Places {
            path: bin.clone().into(),
            llvm_dirs: vec![format!("{}/llvm-*/bin", dir.path().display())],
        };
        assert_eq!(
            places.versions("clang"),
            [
                (22, bin.join("clang-22")),
                (19, dir.path().join("llvm-19/bin/clang")),
                (9, bin.join("clang-9")),
            ]
        );
    }

    #[test]
    fn one_program_under_two_paths_is_listed_once_but_a_masquerade_is_not_its_launcher() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        tool(&at("clang-22"));
        tool(&at("ccache"));
        std::os::unix::fs::symlink(at("clang-22"), at("clang")).unwrap();
        std::os::unix::fs::symlink(at("ccache"), at("clang-18")).unwrap();
        std::os::unix::fs::symlink(at("ccache"), at("clang-19")).unwrap();
        let mut seen = Vec::new();
        let new: Vec<_> = ["clang", "clang-22", "clang-18", "clang-19"]
            .into_iter()
            .filter(|name| first_time(&mut seen, &at(name)))
            .collect();
        assert_eq!(new, ["clang", "clang-18", "clang-19"]);
    }

    #[test]
    fn identity_follows_content() {
        let dir = tempfile::tempdir().unwrap();
        tool(&dir.path().join("cc"));
        let places = Places::only(dir.path());
        let before = Identity::of(&places, "cc").unwrap();
        std::fs::write(dir.path().join("cc"), "#!/bin/sh\nexit 1\n").unwrap();
        assert_ne!(Identity::of(&places, "cc").unwrap(), before);
        assert_eq!(Identity::of(&places, "absent"), None);
    }
}
