//! What cargo and rustc said last time.
//!
//! Asking them again takes longer than a build in which nothing changed. Their answers are
//! kept in the per-user cache and hold while every file that they depend on has the time
//! stamp and size it had: the tools themselves, manifests, Cargo.lock, cargo's configuration
//! and rustup's toolchain files, also those that were not there.

use crate::profile::digest;
use crate::tool::rustc::Rustc;
use crate::workspace::Workspace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// What the answers were to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Of this very program.
    version: String,
    cwd: PathBuf,
    cargo: PathBuf,
    rustc: PathBuf,
    words: Vec<String>,
    variables: Vec<(String, String)>,
}

/// The answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answers {
    /// rustc's.
    pub rustc: Rustc,
    /// Cargo's.
    pub workspace: Workspace,
}

#[derive(Serialize, Deserialize)]
struct Memory {
    question: Question,
    files: Vec<(PathBuf, Option<Stamp>)>,
    answers: Answers,
}

/// Time of change in nanoseconds since 1970, and size.
type Stamp = (u64, u64);

impl Question {
    /// `words`: everything of the command line that changes an answer.
    pub fn new(cargo: &Path, rustc: &Path, words: Vec<String>) -> Question {
        const PREFIXES: [&str; 7] = [
            "CARGO_BUILD_",
            "CARGO_TARGET_",
            "CARGO_HOME",
            "CARGO_UNSTABLE_",
            "CARGO_RESOLVER_",
            "RUSTUP_",
            "RUSTC",
        ];
        let mut variables: Vec<(String, String)> = std::env::vars_os()
            .map(|(name, value)| {
                (
                    name.to_string_lossy().into_owned(),
                    value.to_string_lossy().into_owned(),
                )
            })
            .filter(|(name, _)| PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
            .collect();
        variables.sort();
        Question {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cwd: crate::workspace::here(),
            cargo: cargo.to_owned(),
            rustc: rustc.to_owned(),
            words,
            variables,
        }
    }

    /// The answers of last time, if they hold.
    pub fn recall(&self, cache: &Path) -> Option<Answers> {
        let text = std::fs::read(self.file(cache)).ok()?;
        let memory: Memory = serde_json::from_slice(&text).ok()?;
        let holds = memory.question == *self
            && memory
                .files
                .iter()
                .all(|(path, known)| stamp(path) == *known);
        holds.then_some(memory.answers)
    }

    /// Keeps answers. That they can't be kept is no error: the next run asks again.
    pub fn remember(&self, cache: &Path, answers: &Answers) {
        // A name without a path is rustup's proxy: what is behind it shows in no file.
        if !self.rustc.is_absolute() || !self.cargo.is_absolute() {
            return;
        }
        let files = self
            .dependencies(answers)
            .into_iter()
            .map(|path| {
                let stamp = stamp(&path);
                (path, stamp)
            })
            .collect();
        let memory = Memory {
            question: self.clone(),
            files,
            answers: answers.clone(),
        };
        if let Ok(text) = serde_json::to_vec(&memory) {
            let _ = crate::fs::write_quick(&self.file(cache), &text);
        }
    }

    fn file(&self, cache: &Path) -> PathBuf {
        let key = serde_json::to_vec(self).unwrap_or_default();
        let name = digest::short(&key, 8);
        cache.join("answers").join(format!("{name}.json"))
    }

    fn dependencies(&self, answers: &Answers) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::from([self.cargo.clone(), self.rustc.clone()]);
        files.extend(answers.rustc.identity().map(|identity| identity.path));
        let root = &answers.workspace.root;
        files.insert(root.join("Cargo.toml"));
        files.insert(root.join("Cargo.lock"));
        for package in &answers.workspace.packages {
            if package.source.is_none() {
                let dir = &package.manifest_dir;
                files.insert(dir.join("Cargo.toml"));
                // Targets are found in these.
                files.insert(dir.clone());
                for inside in ["src", "src/bin", "examples", "tests", "benches"] {
                    files.insert(dir.join(inside));
                }
                // Members beside the package. What the whole project lies in has other things,
                // and changes all the time where it is a home or /tmp.
                let around = dir
                    .parent()
                    .filter(|parent| !root.starts_with(parent) || *parent == root);
                files.extend(around.map(Path::to_owned));
            }
        }
        for dir in self.cwd.ancestors().chain(root.ancestors()) {
            for name in [
                // One that appears may be a workspace around this one.
                "Cargo.toml",
                ".cargo/config.toml",
                ".cargo/config",
                "rust-toolchain",
                "rust-toolchain.toml",
            ] {
                files.insert(dir.join(name));
            }
        }
        let home = std::env::var_os("CARGO_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(std::env::home_dir()?.join(".cargo")));
        if let Some(home) = home {
            files.insert(home.join("config.toml"));
            files.insert(home.join("config"));
        }
        files
    }
}

/// A directory's size says nothing that its time does not; its own target directory in it must
/// not make it look new, so only the time of its entries' names counts, which is what it has.
fn stamp(path: &Path) -> Option<Stamp> {
    let data = path.metadata().ok()?;
    let time = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let size = if data.is_dir() { 0 } else { data.len() };
    Some((u64::try_from(time.as_nanos()).ok()?, size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Package;

    fn answers(root: &Path) -> Answers {
        Answers {
            rustc: Rustc {
                program: root.join("rustc"),
                version: "rustc 1".into(),
                release: semver::Version::new(1, 0, 0),
                commit: None,
                host: "h".into(),
                llvm: "1.0".into(),
                llvm_major: 1,
                sysroot: root.to_owned(),
            },
            workspace: Workspace {
                root: root.to_owned(),
                target_dir: root.join("target"),
                packages: Vec::new(),
                members: Vec::new(),
                default_members: Vec::new(),
                is_cargo: true,
            },
        }
    }

    #[test]
    fn answers_hold_until_a_file_changes_or_appears() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::write(root.join("Cargo.toml"), "[workspace]").unwrap();
        let question = Question::new(&root.join("cargo"), &root.join("rustc"), Vec::new());
        let cache = root.join("cache");
        assert!(question.recall(&cache).is_none());
        question.remember(&cache, &answers(root));
        assert!(question.recall(&cache).is_some());

        let other = Question::new(&root.join("cargo"), &root.join("rustc"), vec!["-F".into()]);
        assert!(other.recall(&cache).is_none());

        std::fs::write(root.join("Cargo.lock"), "").unwrap();
        assert!(question.recall(&cache).is_none());
    }

    #[test]
    fn what_happens_beside_the_project_matters_only_if_it_can_be_a_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        std::fs::create_dir(&root).unwrap();
        let question = Question::new(&root.join("cargo"), &root.join("rustc"), Vec::new());
        let mut answers = answers(&root);
        answers.workspace.packages = vec![Package {
            name: "a".into(),
            version: "0.1.0".into(),
            cargo_id: "a".into(),
            manifest_dir: root.clone(),
            source: None,
            is_member: true,
            has_build_script: false,
            crates: Vec::new(),
            bins: Vec::new(),
            examples: Vec::new(),
            benches: Vec::new(),
            links: None,
            is_native: false,
        }];
        let cache = tempfile::tempdir().unwrap();
        question.remember(cache.path(), &answers);
        std::fs::write(dir.path().join("other"), "").unwrap();
        assert!(question.recall(cache.path()).is_some());
        std::fs::write(dir.path().join("Cargo.toml"), "[workspace]").unwrap();
        assert!(question.recall(cache.path()).is_none());

        answers.workspace.packages[0].manifest_dir = dir.path().join("members/a");
        std::fs::create_dir_all(dir.path().join("members/a")).unwrap();
        question.remember(cache.path(), &answers);
        std::fs::create_dir(dir.path().join("members/b")).unwrap();
        assert!(question.recall(cache.path()).is_none());
    }

    #[test]
    fn what_a_proxy_says_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let question = Question::new(Path::new("cargo"), Path::new("rustc"), Vec::new());
        question.remember(dir.path(), &answers(dir.path()));
        assert!(question.recall(dir.path()).is_none());
    }
}
