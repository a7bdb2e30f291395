//! cmake: which one, and what it says of a build tree.

pub mod api;

use super::Invocation;
use crate::error::{Diagnose, ExitCode};
use std::path::{Path, PathBuf};

/// There is no cmake that can be used.
#[derive(Debug, thiserror::Error)]
pub enum NoCmake {
    /// None in `PATH`.
    #[error("there is no `cmake` in PATH, and `{0}` is built by it")]
    Missing(String),
    /// Before the file API.
    #[error("cmake {0} is too old: it can't say which programs it builds")]
    Old(semver::Version),
}

impl Diagnose for NoCmake {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        Some("install cmake 3.14 or newer (Debian package cmake)".into())
    }
}

/// Looks for cmake; its version, as it says it.
///
/// # Errors
///
/// [`NoCmake`]
pub fn version(project: &str) -> Result<String, NoCmake> {
    let said = Invocation::new("cmake")
        .arg("--version")
        .probe()
        .map_err(|_| NoCmake::Missing(project.to_owned()))?;
    let line = said.stdout.lines().next().unwrap_or_default();
    let version = line.split_whitespace().last().and_then(parse);
    match version {
        // The file API with code models of version 2.
        Some(version) if version < semver::Version::new(3, 14, 0) => Err(NoCmake::Old(version)),
        _ => Ok(line.to_owned()),
    }
}

/// `3.25.1`, `3.31.0-rc2`.
fn parse(word: &str) -> Option<semver::Version> {
    semver::Version::parse(word).ok()
}

/// The value of an entry of a tree's `CMakeCache.txt`; `None` without one.
pub fn cached(dir: &Path, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(cache_file(dir)).ok()?;
    entry(&text, name).map(str::to_owned)
}

/// Where cmake keeps what it was told.
pub fn cache_file(dir: &Path) -> PathBuf {
    dir.join("CMakeCache.txt")
}

/// `NAME:TYPE=value`
fn entry<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?.strip_prefix(':')?;
        rest.split_once('=').map(|(_, value)| value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_the_cache_are_found_by_their_whole_name() {
        let text = "# a comment\nCMAKE_C_COMPILER_AR:FILEPATH=/x\n\
                    CMAKE_C_COMPILER:FILEPATH=/usr/bin/cc\nEMPTY:STRING=\n";
        assert_eq!(entry(text, "CMAKE_C_COMPILER"), Some("/usr/bin/cc"));
        assert_eq!(entry(text, "EMPTY"), Some(""));
        assert_eq!(entry(text, "CMAKE_C"), None);
    }
}
