//! Where a build by hand belongs: the project whose profile it makes or uses, and its name there.

use crate::cli::native::NativeArgs;
use crate::command::Session;
use crate::config::cmake::CmakeProject;
use crate::error::{Diagnose, ExitCode, Result};
use crate::profile::digest;
use crate::project::{self, Project};
use crate::store::{TreeEntry, Trees};
use fdo_build::protocol::Phase;
use std::path::{Path, PathBuf};

/// A build can't be where it is asked for.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlaceError {
    #[error("`{}` is a build of phase `{then}`, not `{now}`", dir.display())]
    OtherPhase {
        dir: PathBuf,
        then: String,
        now: Phase,
    },
    #[error("there is no directory `{}`", .0.display())]
    Missing(PathBuf),
    #[error("`{0}` is another package of this project")]
    Taken(String),
}

impl Diagnose for PlaceError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            PlaceError::OtherPhase { .. } => Some(
                "each phase has a build directory of its own: name another one with `-B`".into(),
            ),
            PlaceError::Missing(_) => None,
            PlaceError::Taken(_) => Some("choose another `--name`".into()),
        }
    }
}

/// Opens the project of a directory: of the nearest fdo.toml or Cargo.toml, else of the directory
/// itself.
pub(super) fn open(
    args: &NativeArgs,
    dir: &Path,
    jobs: Option<String>,
    toolchain: Option<String>,
) -> Result<(Session, PathBuf)> {
    let dir = dir
        .canonicalize()
        .map_err(|_| PlaceError::Missing(dir.to_owned()))?;
    let found = project::find(&dir, None);
    let manifest = match found {
        Some(Project::Cargo) => dir
            .ancestors()
            .map(|around| around.join("Cargo.toml"))
            .find(|manifest| manifest.is_file()),
        _ => None,
    };
    let project = found.unwrap_or_else(|| Project::Alone(dir.clone()));
    let cargo = args.cargo(manifest, jobs);
    let session = Session::of(
        &project,
        &cargo,
        &args.fdo(),
        &args.matching,
        None,
        toolchain,
    )?;
    Ok((session, dir))
}

/// Makes a directory's code the only thing that the session builds, under a name of its own.
///
/// A `[cmake.NAME]` of this directory names it, and says which targets are profiled.
pub(super) fn adopt(session: &mut Session, args: &NativeArgs, source: &Path) -> Result<String> {
    let root = session.workspace.root.clone();
    let real = |project: &CmakeProject| root.join(&project.source).canonicalize().ok();
    let mut configured = session.config.cmake.values();
    let configured = configured
        .find(|project| real(project).as_deref() == Some(source))
        .cloned();
    let name = match (&args.name, &configured) {
        (Some(name), _) => name.clone(),
        (None, Some(project)) => project.name.clone(),
        (None, None) => free_name(session, source),
    };
    let taken = session.workspace.packages.iter().any(|package| {
        package.name == name && (!package.is_native || !is_same(&package.manifest_dir, source))
    });
    if taken {
        return Err(PlaceError::Taken(name).into());
    }
    let mut project = configured.unwrap_or_default();
    project.name.clone_from(&name);
    project
        .exclude_targets
        .extend(args.exclude_target.iter().cloned());
    project
        .profile_targets
        .extend(args.profile_target.iter().cloned());
    session.workspace.add_native(&name, source);
    session.config.cmake.insert(name.clone(), project);
    session.builds_cargo = false;
    session.projects.clear();
    Ok(name)
}

fn is_same(known: &Path, source: &Path) -> bool {
    known.canonicalize().is_ok_and(|known| known == source)
}

/// What cmake calls the project, or the directory's name as far as it can be one; with a mark of the
/// place where another package has it.
fn free_name(session: &Session, source: &Path) -> String {
    let lists = std::fs::read_to_string(source.join("CMakeLists.txt")).unwrap_or_default();
    let name = match project_name(&lists) {
        Some(name) => name.into(),
        None => source.file_name().unwrap_or_default().to_string_lossy(),
    };
    let plain = |c: char| match c.is_ascii_alphanumeric() || "-_.+".contains(c) {
        true => c,
        false => '-',
    };
    let name: String = name.chars().map(plain).collect();
    let name = name.trim_start_matches(['-', '.', '+', '_']);
    let name = if name.is_empty() { "project" } else { name };
    let is_other = |package: &crate::workspace::Package| {
        package.name == name && (!package.is_native || !is_same(&package.manifest_dir, source))
    };
    match session.workspace.packages.iter().any(is_other) {
        false => name.to_owned(),
        true => format!(
            "{name}-{}",
            digest::short(source.as_os_str().as_encoded_bytes(), 4)
        ),
    }
}

/// Remembers where a build is.
pub(super) fn register(
    session: &Session,
    name: &str,
    source: &Path,
    dir: &Path,
    phase: Phase,
) -> Result<()> {
    let mut trees = Trees::load(&session.layout);
    trees.root.clone_from(&session.workspace.root);
    trees.add(TreeEntry {
        package: name.to_owned(),
        source: source.to_owned(),
        dir: dir.to_owned(),
        phase: phase.name().to_owned(),
    });
    Ok(trees.save(&session.layout)?)
}

/// Fails if a build directory is of another phase.
pub(super) fn check_phase(session: &Session, dir: &Path, phase: Phase) -> Result<()> {
    let trees = Trees::load(&session.layout).trees;
    match trees
        .into_iter()
        .find(|tree| tree.dir == dir && tree.phase != phase.name())
    {
        Some(tree) if dir.join("CMakeCache.txt").exists() => Err(PlaceError::OtherPhase {
            dir: dir.to_owned(),
            then: tree.phase,
            now: phase,
        }
        .into()),
        _ => Ok(()),
    }
}

/// The first word of `project(…)`: many a directory is called `cmake` or `src`.
fn project_name(lists: &str) -> Option<&str> {
    let lower = lists.to_ascii_lowercase();
    let call = lower.match_indices("project").find_map(|(at, word)| {
        let starts = lower[..at].rsplit('\n').next()?.trim().is_empty();
        let rest = lower[at + word.len()..].trim_start().strip_prefix('(')?;
        starts.then_some(lists.len() - rest.len())
    })?;
    let name = lists[call..].split_whitespace().next()?;
    let name = name.trim_end_matches(')').trim_matches('"');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    (!name.is_empty() && name.chars().all(is_plain)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_called_as_cmake_calls_it() {
        let name = |text| project_name(text);
        assert_eq!(
            name("# project(no)\n\nPROJECT (LZ4 LANGUAGES C)\n"),
            Some("LZ4")
        );
        assert_eq!(name("  project(\n  \"a-b\"\n  C)"), Some("a-b"));
        assert_eq!(name("project(x)"), Some("x"));
        assert_eq!(name("set(my_project x)\nproject(${NAME} C)"), None);
        assert_eq!(name("project"), None);
    }
}
