//! What of a project is built by cargo, and what by cmake.

use crate::config::Config;
use crate::error::{Diagnose, ExitCode, Result};
use crate::plan::native::{self, Project};
use crate::settings::Cargo;
use crate::tool::Places;
use crate::workspace::Workspace;
use std::collections::BTreeSet;

/// The command line or fdo.toml asks for what the project does not have.
#[derive(Debug, thiserror::Error)]
pub(in crate::command) enum NativeError {
    /// Something of cargo's, and there is no Rust.
    #[error("{0} is cargo's, and this project has no Cargo.toml")]
    NoCargo(String),
    /// Neither a Cargo.toml nor a `[cmake.NAME]`.
    #[error("nothing says what to build: there is no Cargo.toml, and fdo.toml has no [cmake.NAME]")]
    NothingToBuild,
    /// Two packages of one name.
    #[error("[cmake.{0}] has the name of a package that cargo builds")]
    Taken(String),
}

impl Diagnose for NativeError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            NativeError::NoCargo(_) => {
                "workloads are tables [workload.NAME] in fdo.toml, and `targets` in [cmake.NAME] says \
                 what is built"
                    .into()
            }
            NativeError::NothingToBuild => {
                "add `[cmake.NAME]` with `source = \"DIR\"`, or build it by `cargo fdo cmake` or \
                 `cargo fdo exec`"
                    .into()
            }
            NativeError::Taken(_) => "its settings would be those of both: choose another".into(),
        })
    }
}

/// What a run builds.
pub(in crate::command) struct Selected {
    /// By cmake.
    pub(in crate::command) native: Vec<Project>,
    /// Whether anything by cargo.
    pub(in crate::command) cargo: bool,
}

/// Adds the projects of fdo.toml to the workspace, and takes those that the command line selects out of
/// what cargo is told.
pub(in crate::command) fn select(
    cargo: &mut Cargo,
    workspace: &mut Workspace,
    config: &Config,
) -> Result<Selected> {
    for project in config.cmake.values() {
        let is_taken = |package: &crate::workspace::Package| package.name == project.name;
        if workspace.packages.iter().any(is_taken) {
            return Err(NativeError::Taken(project.name.clone()).into());
        }
        workspace.add_native(&project.name, &workspace.root.join(&project.source));
    }
    let words = Words::split(std::mem::take(&mut cargo.selection), config);
    let by_name = words.has_package && !words.whole;
    let is_wanted = |name: &String| {
        !words.excluded.contains(name) && (!by_name || words.included.contains(name))
    };
    let ninja = Places::of_process().find("ninja").is_some();
    let jobs = native::jobs(cargo);
    let native = config
        .cmake
        .values()
        .filter(|project| is_wanted(&project.name))
        .map(|project| Project {
            jobs: jobs.clone(),
            ..Project::new(project, &workspace.root, ninja)
        })
        .collect();
    cargo.selection = words.for_cargo;
    let only_native = by_name && !cargo.selection.iter().any(|word| word == "--package");
    if !workspace.is_cargo
        && let Some(word) = cargo.selection.first()
    {
        return Err(NativeError::NoCargo(format!("`{word}`")).into());
    }
    Ok(Selected {
        native,
        cargo: workspace.is_cargo && !only_native,
    })
}

/// What `-p`, `--exclude` and `--workspace` say.
struct Words {
    for_cargo: Vec<String>,
    included: BTreeSet<String>,
    excluded: BTreeSet<String>,
    has_package: bool,
    whole: bool,
}

impl Words {
    fn split(selection: Vec<String>, config: &Config) -> Words {
        let mut words = Words {
            for_cargo: Vec::new(),
            included: BTreeSet::new(),
            excluded: BTreeSet::new(),
            has_package: false,
            whole: false,
        };
        let mut rest = selection.into_iter().peekable();
        while let Some(word) = rest.next() {
            words.has_package |= word == "--package";
            words.whole |= word == "--workspace";
            let is_choice = word == "--package" || word == "--exclude";
            match rest.peek().filter(|next| config.cmake.contains_key(*next)) {
                Some(name) if is_choice => {
                    let name = name.clone();
                    rest.next();
                    match word.as_str() {
                        "--package" => words.included.insert(name),
                        _ => words.excluded.insert(name),
                    };
                }
                _ => words.for_cargo.push(word),
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn cargo_is_told_of_its_own_packages_only() {
        let config = Config::parse(Path::new("/p"), "[cmake.db]\n[cmake.web]\n").unwrap();
        let split =
            |line: &str| Words::split(line.split(' ').map(str::to_owned).collect(), &config);
        let words = split("--package app --package db --exclude web --bin db");
        assert_eq!(words.for_cargo, ["--package", "app", "--bin", "db"]);
        assert_eq!(words.included, BTreeSet::from(["db".to_owned()]));
        assert_eq!(words.excluded, BTreeSet::from(["web".to_owned()]));
    }
}
