//! The configure step: run when something changed that cmake would not see, and checked.

use super::{CmakeError, step};
use crate::fs;
use crate::plan::native::Tree;
use crate::profile::digest;
use crate::tool::cmake::api::{self, Configuration, Model};
use crate::tool::cmake::{self, cache_file, cached};
use crate::ui::Ui;
use std::path::{Path, PathBuf};

/// What a project is built with where neither it nor its user says.
const DEFAULT: &str = "Release";

/// Variables that cmake reads when it configures a directory for the first time.
const READ_ONCE: [&str; 9] = [
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "CMAKE_TOOLCHAIN_FILE",
    "CMAKE_BUILD_TYPE",
    "CMAKE_GENERATOR",
    "CMAKE_PREFIX_PATH",
    "CC",
    "CXX",
];

/// A tree that is ready to be built.
pub(super) struct Configured {
    pub configuration: Configuration,
    pub is_multi: bool,
}

/// Configures a tree where that is needed. `basis`: says which compilers are behind the shims.
pub(super) fn run(
    tree: &Tree,
    basis: &str,
    logs: &Path,
    ui: &Ui,
) -> Result<Configured, CmakeError> {
    let project = &tree.project;
    if !project.source.join("CMakeLists.txt").is_file() {
        return Err(CmakeError::NoProject(project.source.clone()));
    }
    let version = cmake::version(&project.name)?;
    refuse_foreign(tree)?;
    let memory = Memory::new(tree, basis, &version);
    let file = logs.join(format!("{}-configured", project.name));
    let before = fs::read_if_there(&file)?;
    if before.as_deref() == Some(&memory.text())
        && cache_file(&tree.dir).is_file()
        && !tree.is_users()
        && let Some(model) = api::read(&tree.dir)?
    {
        check_compilers(tree, &model)?;
        return Ok(configured(tree, model, None));
    }
    if !tree.is_users() && tree.dir.exists() {
        forget(tree, &memory, before.as_deref())?;
    }
    // A configure step that fails must be repeated.
    fs::remove_file(&file)?;
    fs::create_dir(&tree.dir)?;
    api::ask(&tree.dir)?;
    ui.status(
        "Configuring",
        format_args!("{} ({})", project.name, project.source.display()),
    );
    let mut build_type = project.build_type.clone();
    step::run(
        &tree.configure(build_type.as_deref()),
        "configure",
        tree,
        logs,
        ui,
    )?;
    let mut model = read(tree)?;
    check_compilers(tree, &model)?;
    let is_unset = model.configurations.iter().all(|it| it.name.is_empty());
    if build_type.is_none() && is_unset && !model.is_multi {
        // Unoptimised code, which nobody measures.
        ui.note(format_args!(
            "`{}` names no build type: it is built as {DEFAULT}",
            project.name
        ));
        build_type = Some(DEFAULT.to_owned());
        step::run(
            &tree.configure(build_type.as_deref()),
            "configure",
            tree,
            logs,
            ui,
        )?;
        model = read(tree)?;
    }
    fs::write_quick(&file, memory.text().as_bytes())?;
    Ok(configured(tree, model, build_type))
}

/// The same tree after its build: cmake configures it again by itself where its files changed.
pub(super) fn again(tree: &Tree, before: &Configured) -> Result<Configuration, CmakeError> {
    let model = read(tree)?;
    let build_type = Some(before.configuration.name.clone());
    Ok(configured(tree, model, build_type).configuration)
}

fn read(tree: &Tree) -> Result<Model, CmakeError> {
    api::read(&tree.dir)?.ok_or_else(|| CmakeError::NoReply(tree.dir.clone()))
}

/// The configuration that is built: of several the one that is asked for.
fn configured(tree: &Tree, model: Model, build_type: Option<String>) -> Configured {
    let wanted = tree.project.build_type.clone().or(build_type);
    let wanted = wanted.unwrap_or_else(|| DEFAULT.to_owned());
    let named = model.configurations.iter().find(|it| it.name == wanted);
    let configuration = named.or(model.configurations.first()).cloned();
    Configured {
        configuration: configuration.unwrap_or_default(),
        is_multi: model.is_multi,
    }
}

/// A directory of the user's that began with other compilers keeps them.
fn refuse_foreign(tree: &Tree) -> Result<(), CmakeError> {
    let Some(shims) = tree.shims.as_ref().filter(|_| tree.is_users()) else {
        return Ok(());
    };
    for (name, shim) in names(shims) {
        let Some(path) = cached(&tree.dir, name).map(PathBuf::from) else {
            continue;
        };
        if path != *shim && !path.as_os_str().is_empty() {
            return Err(CmakeError::ForeignTree {
                dir: tree.dir.clone(),
                path,
            });
        }
    }
    Ok(())
}

fn names(shims: &(PathBuf, PathBuf)) -> [(&'static str, &PathBuf); 2] {
    [
        ("CMAKE_C_COMPILER", &shims.0),
        ("CMAKE_CXX_COMPILER", &shims.1),
    ]
}

/// Fails if cmake took others than the compilers that it was told, before anything is compiled for
/// nothing.
fn check_compilers(tree: &Tree, model: &Model) -> Result<(), CmakeError> {
    let Some(shims) = &tree.shims else {
        return Ok(());
    };
    let languages = [("C", "C"), ("CXX", "C++")];
    for ((key, language), (name, shim)) in languages.into_iter().zip(names(shims)) {
        // Before cmake 3.20 only the cache tells.
        let path = match model.compilers.is_empty() {
            true => cached(&tree.dir, name).map(PathBuf::from),
            false => model.compilers.get(key).cloned(),
        };
        if let Some(path) = path
            && path != *shim
        {
            return Err(CmakeError::ForcedCompiler {
                project: tree.project.name.clone(),
                language,
                path,
            });
        }
    }
    Ok(())
}

/// What a tree of ours was configured with.
struct Memory {
    /// With another of these, nothing in the tree is worth keeping.
    tree: String,
    /// With others, what cmake was told is forgotten, and what was compiled is not.
    arguments: String,
}

impl Memory {
    fn new(tree: &Tree, basis: &str, version: &str) -> Memory {
        let project = &tree.project;
        let set = |name: &str| {
            let ours = tree.env.iter().find(|(known, _)| known == name);
            match ours {
                Some((_, value)) => value.clone(),
                None => std::env::var_os(name),
            }
        };
        let variables: Vec<_> = READ_ONCE.iter().map(|name| set(name)).collect();
        let hash = |text: String| digest::short(text.as_bytes(), 16);
        Memory {
            tree: hash(format!(
                "{:?} {:?} {:?} {variables:?} {basis} {version}",
                project.source, project.generator, tree.shims
            )),
            arguments: hash(format!("{:?} {:?}", project.args, project.build_type)),
        }
    }

    fn text(&self) -> String {
        format!("{}\n{}\n", self.tree, self.arguments)
    }
}

/// Removes what a tree of ours must not keep from its last configuration.
fn forget(tree: &Tree, memory: &Memory, before: Option<&str>) -> Result<(), CmakeError> {
    let same_tree = before.is_some_and(|text| text.lines().next() == Some(&memory.tree));
    if same_tree {
        return Ok(fs::remove_file(&cache_file(&tree.dir))?);
    }
    let root = tree.dir.parent().unwrap_or(&tree.dir);
    Ok(fs::remove_ours(root, &tree.dir)?)
}
