//! cmake's file API: what a configured tree builds, and with which compilers.
//!
//! A query is an empty file that is there before the configure step; the reply is an index that names
//! the other files.

use crate::fs::{self, FsError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Asked before the configure step. The name in it keeps our replies apart from those of an editor.
const QUERY: &str = ".cmake/api/v1/query/client-cargo-fdo";
const REPLY: &str = ".cmake/api/v1/reply";

/// Asks for the code model, and from cmake 3.20 on for the compilers.
///
/// # Errors
///
/// If the files can't be written.
pub fn ask(dir: &Path) -> Result<(), FsError> {
    for question in ["codemodel-v2", "toolchains-v1"] {
        fs::write_if_changed(&dir.join(QUERY).join(question), "")?;
    }
    Ok(())
}

/// A tree's reply does not say what it should.
#[derive(Debug, thiserror::Error)]
#[error("cmake's description of `{}` can't be read: {why}", dir.display())]
pub struct ApiError {
    dir: PathBuf,
    why: String,
}

/// What cmake says of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    /// Build types, by name; one without a name where none is set.
    pub configurations: Vec<Configuration>,
    /// Whether the generator makes a tree for several build types.
    pub is_multi: bool,
    /// The generator.
    pub generator: String,
    /// The compiler of each language (`C`, `CXX`), if this cmake says it.
    pub compilers: BTreeMap<String, PathBuf>,
}

/// One build type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Configuration {
    /// `Release` or the like.
    pub name: String,
    /// All targets that are built from sources or other targets.
    pub targets: Vec<Target>,
}

/// One target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// cmake's id.
    pub id: String,
    /// What it makes.
    pub kind: Kind,
    /// Its files, whole paths; whether they are there is another question.
    pub files: Vec<PathBuf>,
    /// Ids of targets that are built before it.
    pub dependencies: Vec<String>,
    /// Whether C or C++ of its own is compiled.
    pub has_c: bool,
}

/// What a target makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A program.
    Program,
    /// A shared library, or a module that is loaded.
    Shared,
    /// An archive.
    Static,
    /// Objects for others, or something that is none of ours.
    Other,
}

impl Configuration {
    /// These targets and all that is built for them; all targets if none is named. `Err`: the first
    /// name that there is no target of.
    pub fn closure(&self, names: &[String]) -> Result<Vec<&Target>, String> {
        if names.iter().all(|name| name == "all") {
            return Ok(self.targets.iter().collect());
        }
        let mut open = Vec::new();
        for name in names {
            // cmake's own, which only the generator knows.
            if matches!(
                name.as_str(),
                "all" | "install" | "clean" | "test" | "package"
            ) {
                open.extend(self.targets.iter().map(|target| target.id.as_str()));
                continue;
            }
            let found = self.targets.iter().find(|target| target.name == *name);
            open.push(found.ok_or_else(|| name.clone())?.id.as_str());
        }
        let mut wanted = BTreeSet::new();
        while let Some(id) = open.pop() {
            if !wanted.insert(id) {
                continue;
            }
            let target = self.targets.iter().find(|target| target.id == id);
            open.extend(
                target
                    .iter()
                    .flat_map(|it| it.dependencies.iter().map(String::as_str)),
            );
        }
        let is_wanted = |target: &&Target| wanted.contains(target.id.as_str());
        Ok(self.targets.iter().filter(is_wanted).collect())
    }
}

/// Reads the reply; `None` if the tree was not configured since the question.
///
/// # Errors
///
/// If the reply is none.
pub fn read(dir: &Path) -> Result<Option<Model>, ApiError> {
    let fail = |why: String| ApiError {
        dir: dir.to_owned(),
        why,
    };
    let reply = dir.join(REPLY);
    // Of several the one whose name sorts last is the newest.
    let index = fs::list(&reply)
        .map_err(|error| fail(error.to_string()))?
        .into_iter()
        .rfind(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("index-") && name.ends_with(".json"))
        });
    let Some(index) = index else { return Ok(None) };
    let index: Index = parse(&index).map_err(fail)?;
    let mut model = Model {
        is_multi: index.cmake.generator.multi_config,
        generator: index.cmake.generator.name,
        ..Model::default()
    };
    let file_of = |kind: &str| index.objects.iter().find(|object| object.kind == kind);
    let Some(code) = file_of("codemodel") else {
        return Err(fail("it has no code model".into()));
    };
    let code: CodeModel = parse(&reply.join(&code.json_file)).map_err(fail)?;
    for configuration in code.configurations {
        let mut targets = Vec::new();
        for entry in &configuration.targets {
            let target: TargetFile = parse(&reply.join(&entry.json_file)).map_err(fail)?;
            targets.push(target.into_target(&code.paths.build));
        }
        model.configurations.push(Configuration {
            name: configuration.name,
            targets,
        });
    }
    if let Some(file) = file_of("toolchains") {
        let toolchains: Toolchains = parse(&reply.join(&file.json_file)).map_err(fail)?;
        for toolchain in toolchains.toolchains {
            if let Some(path) = toolchain.compiler.path {
                model.compilers.insert(toolchain.language, path);
            }
        }
    }
    Ok(Some(model))
}

fn parse<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = std::fs::read(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("`{}`: {error}", path.display()))
}

#[derive(Deserialize)]
struct Index {
    cmake: IndexCmake,
    objects: Vec<IndexObject>,
}

#[derive(Deserialize)]
struct IndexCmake {
    generator: IndexGenerator,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IndexGenerator {
    name: String,
    #[serde(default)]
    multi_config: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IndexObject {
    kind: String,
    json_file: String,
}

#[derive(Deserialize)]
struct CodeModel {
    configurations: Vec<CodeConfiguration>,
    paths: Paths,
}

#[derive(Deserialize)]
struct Paths {
    build: PathBuf,
}

#[derive(Deserialize)]
struct CodeConfiguration {
    #[serde(default)]
    name: String,
    #[serde(default)]
    targets: Vec<TargetEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TargetEntry {
    json_file: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TargetFile {
    name: String,
    id: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    artifacts: Vec<ArtifactEntry>,
    #[serde(default)]
    dependencies: Vec<Dependency>,
    #[serde(default)]
    compile_groups: Vec<CompileGroup>,
}

#[derive(Deserialize)]
struct ArtifactEntry {
    path: PathBuf,
}

#[derive(Deserialize)]
struct Dependency {
    id: String,
}

#[derive(Deserialize)]
struct CompileGroup {
    language: String,
}

#[derive(Deserialize)]
struct Toolchains {
    toolchains: Vec<Toolchain>,
}

#[derive(Deserialize)]
struct Toolchain {
    language: String,
    #[serde(default)]
    compiler: Compiler,
}

#[derive(Deserialize, Default)]
struct Compiler {
    path: Option<PathBuf>,
}

impl TargetFile {
    fn into_target(self, build: &Path) -> Target {
        Target {
            kind: match self.kind.as_str() {
                "EXECUTABLE" => Kind::Program,
                "SHARED_LIBRARY" | "MODULE_LIBRARY" => Kind::Shared,
                "STATIC_LIBRARY" => Kind::Static,
                _ => Kind::Other,
            },
            // Relative to the top of the build tree where they are in it.
            files: self
                .artifacts
                .iter()
                .map(|file| build.join(&file.path))
                .collect(),
            dependencies: self.dependencies.into_iter().map(|it| it.id).collect(),
            has_c: self
                .compile_groups
                .iter()
                .any(|group| matches!(group.language.as_str(), "C" | "CXX")),
            name: self.name,
            id: self.id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, name: &str, text: &str) {
        fs::write_quick(&dir.join(REPLY).join(name), text.as_bytes()).unwrap();
    }

    /// What cmake 3.25 replies, shortened.
    fn reply(dir: &Path) {
        write(
            dir,
            "index-2026-01-01T10-00-00-0001.json",
            r#"{"cmake":{"generator":{"multiConfig":false,"name":"Ninja"}},
                "objects":[{"jsonFile":"codemodel-v2-1.json","kind":"codemodel"},
                           {"jsonFile":"toolchains-v1-1.json","kind":"toolchains"}],"reply":{}}"#,
        );
        write(dir, "index-2026-01-01T09-00-00-0001.json", "an older one");
        write(
            dir,
            "codemodel-v2-1.json",
            r#"{"configurations":[{"name":"Release","targets":[
                 {"jsonFile":"t-tool.json"},{"jsonFile":"t-lib.json"},{"jsonFile":"t-other.json"}]}],
                "paths":{"build":"/b","source":"/s"}}"#,
        );
        write(
            dir,
            "t-tool.json",
            r#"{"name":"tool","id":"tool::@1","type":"EXECUTABLE","artifacts":[{"path":"bin/tool"}],
                "compileGroups":[{"language":"CXX"}],"dependencies":[{"id":"lib::@1"}]}"#,
        );
        write(
            dir,
            "t-lib.json",
            r#"{"name":"lib","id":"lib::@1","type":"SHARED_LIBRARY","artifacts":[{"path":"/out/lib.so"}],
                "compileGroups":[{"language":"C"}]}"#,
        );
        write(
            dir,
            "t-other.json",
            r#"{"name":"docs","id":"docs::@1","type":"UTILITY"}"#,
        );
        write(
            dir,
            "toolchains-v1-1.json",
            r#"{"toolchains":[{"language":"CXX","compiler":{"path":"/usr/bin/c++","id":"GNU"}},
                              {"language":"RC","compiler":{}}]}"#,
        );
    }

    #[test]
    fn a_reply_names_targets_files_and_compilers() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read(dir.path()).unwrap().is_none());
        reply(dir.path());
        let model = read(dir.path()).unwrap().unwrap();
        assert_eq!(model.compilers["CXX"], Path::new("/usr/bin/c++"));
        let release = &model.configurations[0];
        assert_eq!(release.targets[0].files, [PathBuf::from("/b/bin/tool")]);
        assert_eq!(release.targets[1].files, [PathBuf::from("/out/lib.so")]);
        assert_eq!(release.targets[1].kind, Kind::Shared);
    }

    #[test]
    fn what_a_target_needs_is_built_with_it() {
        let dir = tempfile::tempdir().unwrap();
        reply(dir.path());
        let model = read(dir.path()).unwrap().unwrap();
        let names = |wanted: &[&str]| -> Result<Vec<String>, String> {
            let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
            let found = model.configurations[0].closure(&wanted)?;
            Ok(found.iter().map(|target| target.name.clone()).collect())
        };
        assert_eq!(names(&["tool"]).unwrap(), ["tool", "lib"]);
        assert_eq!(names(&["lib"]).unwrap(), ["lib"]);
        assert_eq!(names(&[]).unwrap().len(), 3);
        assert_eq!(names(&["tol"]), Err("tol".to_owned()));
    }
}
