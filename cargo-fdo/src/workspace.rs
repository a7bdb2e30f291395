//! What cargo says about the user's workspace.

use crate::error::{Diagnose, ExitCode};
use cargo_metadata::{Metadata, MetadataCommand, TargetKind};
use fdo_build::protocol;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// `cargo metadata` failed.
#[derive(Debug, thiserror::Error)]
#[error("can't read the workspace: {words}")]
pub struct WorkspaceError {
    /// What cargo says, without its `error: `.
    words: String,
}

impl From<cargo_metadata::Error> for WorkspaceError {
    fn from(error: cargo_metadata::Error) -> WorkspaceError {
        let text = match &error {
            cargo_metadata::Error::CargoMetadata { stderr } => stderr.clone(),
            other => other.to_string(),
        };
        // Before it may stand that it waited for a lock.
        let words = match text.split_once("error: ") {
            Some((_, words)) => words,
            None => &text,
        };
        WorkspaceError {
            words: words.trim().to_owned(),
        }
    }
}

impl Diagnose for WorkspaceError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Usage
    }
}

/// How to ask.
#[derive(Debug, Clone)]
pub struct Query {
    /// Cargo itself.
    pub cargo: PathBuf,
    /// `--manifest-path`.
    pub manifest_path: Option<PathBuf>,
    /// Features, `--locked` and the like: cargo's own words.
    pub options: Vec<String>,
    /// The triple, so that nothing is fetched for others.
    pub target: String,
    /// `+TOOLCHAIN`.
    pub toolchain: Option<String>,
}

/// The user's workspace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Workspace {
    /// Its root directory.
    pub root: PathBuf,
    /// The user's target directory.
    pub target_dir: PathBuf,
    /// Every package of the dependency graph.
    pub packages: Vec<Package>,
    /// Names of the members.
    pub members: Vec<String>,
    /// Members that cargo builds when no package is named.
    pub default_members: Vec<String>,
    /// Whether it is one of cargo's: a project of cmake's alone holds no Rust, and cargo is never
    /// called.
    #[serde(default = "yes")]
    pub is_cargo: bool,
}

fn yes() -> bool {
    true
}

/// One package.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Cargo's id, as in its messages.
    pub cargo_id: String,
    /// Where its manifest is.
    pub manifest_dir: PathBuf,
    /// Where it came from; `None` for a path.
    pub source: Option<String>,
    /// Whether it belongs to the workspace.
    pub is_member: bool,
    /// Whether it has a build script.
    pub has_build_script: bool,
    /// Crate names of its targets, as rustc sees them.
    pub crates: Vec<String>,
    /// Binaries.
    pub bins: Vec<String>,
    /// Examples.
    pub examples: Vec<String>,
    /// Bench targets.
    pub benches: Vec<String>,
    /// Its `links` key: it wraps a native library.
    pub links: Option<String>,
    /// Whether something else than cargo builds it: cmake, or what `cargo fdo exec` runs.
    #[serde(default)]
    pub is_native: bool,
}

impl Package {
    /// `name-version`, as in file names of ours.
    pub fn id(&self) -> String {
        protocol::package_id(&self.name, &self.version)
    }
}

impl Workspace {
    /// Asks `cargo metadata`.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError`], with cargo's own words.
    pub fn load(query: &Query) -> Result<Workspace, WorkspaceError> {
        let mut command = MetadataCommand::new();
        command.cargo_path(&query.cargo);
        if let Some(path) = &query.manifest_path {
            command.manifest_path(path);
        }
        if let Some(toolchain) = &query.toolchain {
            command.env("RUSTUP_TOOLCHAIN", toolchain);
        }
        let mut options = query.options.clone();
        options.extend(["--filter-platform".to_owned(), query.target.clone()]);
        command.other_options(options);
        Ok(Workspace::from_metadata(&command.exec()?))
    }

    fn from_metadata(metadata: &Metadata) -> Workspace {
        let in_graph = |id: &cargo_metadata::PackageId| match &metadata.resolve {
            Some(resolve) => resolve.nodes.iter().any(|node| node.id == *id),
            None => true,
        };
        let packages = metadata
            .packages
            .iter()
            .filter(|package| in_graph(&package.id))
            .map(|package| {
                let named = |wanted: TargetKind| {
                    package
                        .targets
                        .iter()
                        .filter(|target| target.kind.contains(&wanted))
                        .map(|target| target.name.clone())
                        .collect::<Vec<_>>()
                };
                Package {
                    name: package.name.to_string(),
                    version: package.version.to_string(),
                    cargo_id: package.id.repr.clone(),
                    manifest_dir: package
                        .manifest_path
                        .parent()
                        .map_or_else(PathBuf::new, |dir| dir.as_std_path().to_owned()),
                    source: package.source.as_ref().map(|source| source.repr.clone()),
                    is_member: metadata.workspace_members.contains(&package.id),
                    has_build_script: !named(TargetKind::CustomBuild).is_empty(),
                    crates: package
                        .targets
                        .iter()
                        .filter(|target| !target.kind.contains(&TargetKind::CustomBuild))
                        .map(|target| target.name.replace('-', "_"))
                        .collect(),
                    bins: named(TargetKind::Bin),
                    examples: named(TargetKind::Example),
                    benches: named(TargetKind::Bench),
                    links: package.links.clone(),
                    is_native: false,
                }
            })
            .collect::<Vec<_>>();
        let names = |ids: &[cargo_metadata::PackageId]| {
            metadata
                .packages
                .iter()
                .filter(|package| ids.contains(&package.id))
                .map(|package| package.name.to_string())
                .collect()
        };
        let default_members = if metadata.workspace_default_members.is_available() {
            names(&metadata.workspace_default_members)
        } else {
            names(&metadata.workspace_members)
        };
        Workspace {
            root: metadata.workspace_root.as_std_path().to_owned(),
            target_dir: metadata.target_directory.as_std_path().to_owned(),
            members: names(&metadata.workspace_members),
            default_members,
            packages,
            is_cargo: true,
        }
    }

    /// A project that cargo knows nothing of.
    pub fn without_cargo(root: &Path, target_dir: PathBuf) -> Workspace {
        Workspace {
            root: root.to_owned(),
            target_dir,
            packages: Vec::new(),
            members: Vec::new(),
            default_members: Vec::new(),
            is_cargo: false,
        }
    }

    /// Adds what something else than cargo builds, if it is not there.
    pub fn add_native(&mut self, name: &str, source: &Path) {
        if self.packages.iter().any(|package| package.name == name) {
            return;
        }
        self.packages.push(Package {
            name: name.to_owned(),
            version: protocol::NO_VERSION.to_owned(),
            cargo_id: native_id(name),
            manifest_dir: source.to_owned(),
            source: None,
            is_member: true,
            has_build_script: false,
            crates: Vec::new(),
            bins: Vec::new(),
            examples: Vec::new(),
            benches: Vec::new(),
            links: None,
            is_native: true,
        });
    }

    /// Whether there is anything that cargo does not build.
    pub fn has_natives(&self) -> bool {
        self.packages.iter().any(|package| package.is_native)
    }

    /// The package of one of cargo's ids.
    pub fn by_cargo_id(&self, id: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.cargo_id == id)
    }

    /// The package that a crate name belongs to.
    pub fn by_crate(&self, name: &str) -> Option<&Package> {
        self.packages
            .iter()
            .find(|package| package.crates.iter().any(|krate| krate == name))
    }

    /// The member that has a binary.
    pub fn member_with_bin(&self, bin: &str) -> Option<&Package> {
        self.packages
            .iter()
            .find(|package| package.is_member && package.bins.iter().any(|name| name == bin))
    }

    /// What tells apart packages of one name: manifest directory → salt.
    ///
    /// Symbol names carry it, so it must stay while a program lives: the newest package of a
    /// name, nearly always the only one, has none, whatever its version, and keeps its profile
    /// across every version bump. Older ones beside it have their version line. It depends on
    /// where a package comes from only where that is all there is, and never on where the
    /// checkout is.
    pub fn salts(&self) -> Vec<(String, String)> {
        let mut by_name: BTreeMap<&str, Vec<(Option<semver::Version>, &Package)>> = BTreeMap::new();
        for package in self.packages.iter().filter(|package| !package.is_native) {
            let version = semver::Version::parse(&package.version).ok();
            by_name
                .entry(&package.name)
                .or_default()
                .push((version, package));
        }
        let mut salts = Vec::new();
        for mut packages in by_name.into_values() {
            packages.sort_by(|a, b| {
                let place = |package: &Package| (package.source.clone(), self.place(package));
                b.0.cmp(&a.0).then_with(|| place(a.1).cmp(&place(b.1)))
            });
            let lines: Vec<String> = packages
                .iter()
                .map(|(_, package)| version_line(&package.version))
                .collect();
            for (at, (_, package)) in packages.iter().enumerate().skip(1) {
                let line = &lines[at];
                let alone = lines.iter().filter(|other| *other == line).count() == 1;
                let salt = if alone {
                    line.clone()
                } else {
                    let origin = package.source.clone();
                    let origin = origin.unwrap_or_else(|| self.place(package));
                    format!("{}@{origin}", package.version).replace(' ', "_")
                };
                salts.push((package.manifest_dir.to_string_lossy().into_owned(), salt));
            }
        }
        salts
    }

    /// A package's directory as the same in every checkout.
    fn place(&self, package: &Package) -> String {
        package
            .manifest_dir
            .strip_prefix(&self.root)
            .unwrap_or(&package.manifest_dir)
            .to_string_lossy()
            .into_owned()
    }
}

/// The id of a package that is not cargo's, where cargo's ids stand.
pub fn native_id(name: &str) -> String {
    format!("{NATIVE}{name}")
}

/// How such an id begins.
pub const NATIVE: &str = "native+";

/// The part of a version that cargo allows once in a graph.
fn version_line(version: &str) -> String {
    match semver::Version::parse(version) {
        Ok(v) if v.major == 0 && v.minor == 0 => format!("0.0.{}", v.patch),
        Ok(v) if v.major == 0 => format!("0.{}", v.minor),
        Ok(v) => v.major.to_string(),
        Err(_) => version.to_owned(),
    }
}

/// The binary that `--manifest-path` or the current directory belongs to is found by cargo;
/// this is where cargo runs.
pub fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| Path::new(".").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, source: Option<&str>, dir: &str) -> Package {
        Package {
            name: name.into(),
            version: version.into(),
            cargo_id: format!("{name} {version}"),
            manifest_dir: dir.into(),
            source: source.map(str::to_owned),
            is_member: false,
            has_build_script: false,
            crates: vec![name.into()],
            bins: vec![],
            examples: vec![],
            benches: vec![],
            links: None,
            is_native: false,
        }
    }

    fn salts(packages: Vec<Package>) -> Vec<(String, String)> {
        let workspace = Workspace {
            root: "/w".into(),
            target_dir: "/w/target".into(),
            packages,
            members: vec![],
            default_members: vec![],
            is_cargo: true,
        };
        workspace.salts()
    }

    #[test]
    fn a_package_alone_with_its_name_has_no_salt_whatever_its_version() {
        assert!(salts(vec![package("a", "0.1.0", None, "/w/a")]).is_empty());
        assert!(salts(vec![package("a", "0.2.0", None, "/w/a")]).is_empty());
    }

    #[test]
    fn the_newest_of_a_name_has_no_salt_and_older_ones_have_their_version_line() {
        let found = salts(vec![
            package("a", "1.0.3", Some("registry+x"), "/r/a-1.0.3"),
            package("a", "2.0.0", Some("registry+x"), "/r/a-2.0.0"),
            package("a", "0.3.1", Some("registry+x"), "/r/a-0.3.1"),
        ]);
        assert_eq!(
            found,
            [("/r/a-1.0.3", "1"), ("/r/a-0.3.1", "0.3")]
                .map(|(dir, salt)| (dir.to_owned(), salt.to_owned()))
        );
    }

    #[test]
    fn packages_of_one_name_and_version_line_are_told_apart_by_their_origin() {
        let found = salts(vec![
            package("b", "0.3.1", Some("registry+x"), "/r/b"),
            package("b", "0.3.1", None, "/w/vendor/b"),
            package("b", "0.3.0", None, "/w/old/b"),
        ]);
        let salts: std::collections::BTreeSet<&str> =
            found.iter().map(|(_, salt)| salt.as_str()).collect();
        assert_eq!(salts.len(), 2, "{found:?}");
        assert!(!salts.contains(""));
        assert!(!found.iter().any(|(_, salt)| salt.contains("/w/")));
    }
}
