//! Which project a run is about: one of cargo's, or one that holds no Rust.
//!
//! Of a directory and those around it the first with a `Cargo.toml` or an `fdo.toml` says so. One with
//! both is cargo's, and so is one with neither, whose error is cargo's to give.

use crate::config;
use crate::store::Trees;
use std::path::{Path, PathBuf};

/// Whose project it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Project {
    /// Cargo finds it.
    Cargo,
    /// It has this root, and no Rust.
    Alone(PathBuf),
}

/// Looks for the project of a directory; `None` without any. `target_dir`: of the command line or the
/// environment.
pub fn find(start: &Path, target_dir: Option<&Path>) -> Option<Project> {
    let mut without_cmake = None;
    for dir in start.ancestors() {
        if dir.join("Cargo.toml").is_file() {
            return Some(Project::Cargo);
        }
        if let Ok(text) = std::fs::read_to_string(dir.join(config::FILE)) {
            if has_cmake(&text) {
                return Some(Project::Alone(dir.to_owned()));
            }
            without_cmake.get_or_insert(dir);
        }
        // Made by `cargo fdo cmake` or `cargo fdo exec`.
        if Trees::root_of(&dir.join("target")).is_some_and(|root| root == dir) {
            return Some(Project::Alone(dir.to_owned()));
        }
    }
    // One beside a member's Cargo.toml was passed by before; this one has no other meaning.
    let found = without_cmake.map(Path::to_owned);
    found
        .or_else(|| Trees::root_of(target_dir?))
        .map(Project::Alone)
}

/// The project of the directory that `cargo fdo` runs in.
pub fn here(manifest_path: Option<&Path>, target_dir: Option<&Path>) -> Project {
    if manifest_path.is_some() {
        return Project::Cargo;
    }
    let variable = target_dir_variable();
    let target_dir = target_dir.or(variable.as_deref());
    find(&crate::workspace::here(), target_dir).unwrap_or(Project::Cargo)
}

/// `CARGO_TARGET_DIR`
pub fn target_dir_variable() -> Option<PathBuf> {
    let dir = std::env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty())?;
    Some(crate::workspace::here().join(dir))
}

/// A file with mistakes still says what it is of.
fn has_cmake(text: &str) -> bool {
    match text.parse::<toml::Table>() {
        Ok(table) => table.contains_key("cmake"),
        Err(_) => text
            .lines()
            .any(|line| line.trim_start().starts_with("[cmake.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_file_says_whose_project_it_is() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("rust/Cargo.toml", "[workspace]");
        write("rust/member/fdo.toml", "min-match = 0.5");
        write("rust/cpp/fdo.toml", "[cmake.cpp]");
        write("cpp/fdo.toml", "[cmake.x]\n");
        write("cpp/lib/a.c", "");
        write("broken/fdo.toml", "[cmake.x]\nsource = \n");
        write("exec/fdo.toml", "[workload.a]\nrun = \"true\"\n");
        let find = |dir: &str| find(&root.join(dir), None);
        assert_eq!(find("rust/member"), Some(Project::Cargo));
        assert_eq!(
            find("rust/cpp"),
            Some(Project::Alone(root.join("rust/cpp")))
        );
        assert_eq!(find("cpp/lib"), Some(Project::Alone(root.join("cpp"))));
        assert_eq!(find("broken"), Some(Project::Alone(root.join("broken"))));
        assert_eq!(find("exec"), Some(Project::Alone(root.join("exec"))));
    }
}
