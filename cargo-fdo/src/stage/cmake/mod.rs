//! Configures and builds projects by cmake.

mod configure;
mod error;
mod step;

pub use error::CmakeError;

use super::build::{Artifact, Built, NativeBuild};
use super::native;
use crate::fs;
use crate::plan::PhasePlan;
use crate::plan::native::Tree;
use crate::tool::cmake::api::{self, Configuration, Kind, Target};
use crate::ui::{Ui, plural};
use cargo_metadata::TargetKind;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// Builds a project as a phase wants it: what other orders made is compiled again.
///
/// # Errors
///
/// [`CmakeError`]; also if nothing in it was compiled by the phase's compilers.
pub fn run(plan: &PhasePlan, tree: &Tree, ui: &Ui) -> Result<Built, CmakeError> {
    let package = tree.package();
    let basis = plan.orders.of(&package, fdo_build::protocol::Language::C);
    if basis.cc.is_empty() {
        return Err(CmakeError::NoCompiler {
            project: tree.project.name.clone(),
            target: plan.target.clone(),
        });
    }
    let basis = format!("{:?} {:?} {}", basis.cc, basis.cxx, basis.basis);
    let logs = plan.state.join("logs");
    let start = Instant::now();
    let model = configure::run(tree, &basis, &logs, ui)?;
    native::drop_outdated(plan, &package, Some(&tree.dir))?;
    let unfinished = logs.join(format!("{}-unfinished", tree.project.name));
    if !tree.is_users() && unfinished.exists() {
        native::drop_unknown(plan, &package, &tree.dir)?;
    }
    fs::write_quick(&unfinished, b"")?;
    let built = build(tree, &model, &logs, start, ui)?;
    fs::remove_file(&unfinished)?;
    for native in &built.natives {
        let compiled = native::compiled(&plan.state, &package, native);
        if compiled.objects.is_empty() && compiled.unseen > 0 {
            return Err(CmakeError::NotOurs {
                project: tree.project.name.clone(),
                unseen: compiled.unseen,
                dir: tree.dir.clone(),
            });
        }
    }
    Ok(built)
}

/// Where a program will be, for what is only shown: cmake says it once it configured the tree.
pub fn place_of_program(trees: &[Tree], name: &str) -> Option<PathBuf> {
    let said = |tree: &Tree| {
        let model = api::read(&tree.dir).ok()??;
        let mut targets = model.configurations.into_iter().flat_map(|it| it.targets);
        let found = targets.find(|it| it.kind == Kind::Program && it.name == name)?;
        found.files.into_iter().next()
    };
    let guess = || Some(trees.first()?.dir.join(name));
    trees.iter().find_map(said).or_else(guess)
}

/// Builds a project as its user would.
///
/// # Errors
///
/// [`CmakeError`]
pub fn run_plain(tree: &Tree, logs: &Path, ui: &Ui) -> Result<Built, CmakeError> {
    let start = Instant::now();
    let model = configure::run(tree, "", logs, ui)?;
    build(tree, &model, logs, start, ui)
}

fn build(
    tree: &Tree,
    model: &configure::Configured,
    logs: &Path,
    start: Instant,
    ui: &Ui,
) -> Result<Built, CmakeError> {
    let wanted = wanted(tree, &model.configuration)?;
    let before: Vec<Vec<Option<SystemTime>>> = wanted.iter().map(|it| times(it)).collect();
    ui.status(
        "Compiling",
        format_args!(
            "{} by cmake ({}{})",
            tree.project.name,
            plural(
                wanted.iter().filter(|it| it.kind != Kind::Other).count(),
                "target"
            ),
            match model.configuration.name.as_str() {
                "" => String::new(),
                name => format!(", {name}"),
            }
        ),
    );
    let configuration = model.is_multi.then_some(model.configuration.name.as_str());
    let call = tree.build(configuration, ui.is_verbose());
    step::run(&call, "build", tree, logs, ui)?;
    // cmake may have configured it again.
    let after = configure::again(tree, model)?;
    let wanted = self::wanted(tree, &after)?;
    let artifacts = wanted.iter().enumerate().filter_map(|(at, target)| {
        let fresh = before.get(at) == Some(&times(target));
        artifact(tree, target, fresh)
    });
    Ok(Built {
        artifacts: artifacts.collect(),
        natives: vec![NativeBuild {
            package: tree.cargo_id(),
            dir: Some(tree.dir.clone()),
            targets: wanted.iter().map(|target| target.name.clone()).collect(),
        }],
        duration: start.elapsed(),
        ..Built::default()
    })
}

fn wanted<'m>(
    tree: &Tree,
    configuration: &'m Configuration,
) -> Result<Vec<&'m Target>, CmakeError> {
    configuration
        .closure(&tree.project.targets)
        .map_err(|name| CmakeError::NoTarget {
            project: tree.project.name.clone(),
            name,
            known: configuration
                .targets
                .iter()
                .filter(|target| target.kind != Kind::Other)
                .map(|target| target.name.clone())
                .collect(),
        })
}

fn times(target: &Target) -> Vec<Option<SystemTime>> {
    let time = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).ok();
    target.files.iter().map(time).collect()
}

/// `None` for what makes no file that somebody would run or link, or did not make it this time: targets
/// out of `all`.
fn artifact(tree: &Tree, target: &Target, fresh: bool) -> Option<Artifact> {
    let kind = match target.kind {
        Kind::Program => TargetKind::Bin,
        Kind::Shared => TargetKind::CDyLib,
        Kind::Static => TargetKind::StaticLib,
        Kind::Other => return None,
    };
    let files: Vec<PathBuf> = target
        .files
        .iter()
        .filter(|file| file.exists())
        .cloned()
        .collect();
    let first = files.first()?.clone();
    Some(Artifact {
        package: tree.cargo_id(),
        name: target.name.clone(),
        executable: (target.kind == Kind::Program).then_some(first),
        kind,
        is_test: false,
        files,
        fresh,
    })
}
