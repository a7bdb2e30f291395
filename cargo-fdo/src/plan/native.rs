//! What cmake builds, as data: where, how, with which compilers.

use super::PhasePlan;
use crate::config::cmake::CmakeProject;
use crate::settings::Cargo;
use crate::tool::Invocation;
use crate::workspace;
use fdo_build::protocol;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A project that this run builds by cmake, the same in every phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its name, as that of a package.
    pub name: String,
    /// The directory of its `CMakeLists.txt`.
    pub source: PathBuf,
    /// The build directory, where the user named one.
    pub dir: Option<PathBuf>,
    /// cmake's `-G`; cmake's own choice if `None`.
    pub generator: Option<String>,
    /// For the configure step.
    pub args: Vec<String>,
    /// What the user says of `CMAKE_BUILD_TYPE`.
    pub build_type: Option<String>,
    /// What is built; everything if empty.
    pub targets: Vec<String>,
    /// How many compilers run at once.
    pub jobs: Option<String>,
    /// For the native build tool.
    pub native_args: Vec<OsString>,
}

impl Project {
    /// A project of fdo.toml. `ninja`: whether there is one.
    pub fn new(config: &CmakeProject, root: &Path, ninja: bool) -> Project {
        let source = root.join(&config.source);
        Project {
            name: config.name.clone(),
            // `.` at the end of a path would be in names of directories.
            source: source.components().collect(),
            dir: None,
            generator: generator(config.generator.clone(), ninja),
            args: config.args.clone(),
            build_type: config.build_type.clone(),
            targets: config.targets.clone(),
            jobs: None,
            native_args: Vec::new(),
        }
    }

    /// Its build in a phase.
    pub fn tree(&self, plan: &PhasePlan, shims: (PathBuf, PathBuf)) -> Tree {
        Tree {
            env: environment(plan, &self.name),
            shims: Some(shims),
            ..self.plain(&plan.target_dir)
        }
    }

    /// Its build as the user would build it, with nothing of ours, below `target_dir`.
    pub fn plain(&self, target_dir: &Path) -> Tree {
        Tree {
            project: self.clone(),
            dir: match &self.dir {
                Some(dir) => dir.clone(),
                None => native_dir(target_dir).join(&self.name),
            },
            env: Vec::new(),
            shims: None,
        }
    }
}

/// Ninja where there is one: it is faster, and the user may say otherwise as always.
pub fn generator(given: Option<String>, ninja: bool) -> Option<String> {
    let by_variable = || std::env::var_os("CMAKE_GENERATOR").is_some_and(|name| !name.is_empty());
    given.or_else(|| (ninja && !by_variable()).then(|| "Ninja".to_owned()))
}

/// Where the build trees of projects are that cargo does not build, below a phase's target directory.
pub fn native_dir(target_dir: &Path) -> PathBuf {
    target_dir.join("cmake")
}

/// One build directory of cmake's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// What is built there.
    pub project: Project,
    /// Where.
    pub dir: PathBuf,
    /// Variables for cmake and all that it runs.
    pub env: Vec<(String, Option<OsString>)>,
    /// The compilers that it must see; `None` for the user's own.
    pub shims: Option<(PathBuf, PathBuf)>,
}

impl Tree {
    /// The package that the objects are counted under.
    pub fn package(&self) -> String {
        protocol::package_id(&self.project.name, protocol::NO_VERSION)
    }

    /// The same where cargo's ids stand.
    pub fn cargo_id(&self) -> String {
        workspace::native_id(&self.project.name)
    }

    /// Whether the directory is the user's, and more than ours in it.
    pub fn is_users(&self) -> bool {
        self.project.dir.is_some()
    }

    /// The configure step. `build_type`: what else the project would be built without.
    pub fn configure(&self, build_type: Option<&str>) -> Invocation {
        let project = &self.project;
        let mut call = Invocation::new("cmake")
            .arg("-S")
            .arg(&project.source)
            .arg("-B")
            .arg(&self.dir);
        if let Some(generator) = &project.generator {
            call = call.args(["-G", generator]);
        }
        call = call.args(&project.args);
        if let Some(build_type) = build_type {
            call = call.arg(format!("-DCMAKE_BUILD_TYPE={build_type}"));
        }
        self.with_env(call)
    }

    /// The build step. `configuration`: of a generator for several.
    pub fn build(&self, configuration: Option<&str>, verbose: bool) -> Invocation {
        let project = &self.project;
        let mut call = Invocation::new("cmake").arg("--build").arg(&self.dir);
        if let Some(configuration) = configuration {
            call = call.args(["--config", configuration]);
        }
        if !project.targets.is_empty() {
            call = call.arg("--target").args(&project.targets);
        }
        if let Some(jobs) = &project.jobs {
            call = call.args(["--parallel", jobs]);
        }
        if verbose {
            call = call.arg("--verbose");
        }
        if !project.native_args.is_empty() {
            call = call.arg("--").args(&project.native_args);
        }
        self.with_env(call)
    }

    fn with_env(&self, call: Invocation) -> Invocation {
        with(call, &self.env)
    }
}

fn with(mut call: Invocation, env: &[(String, Option<OsString>)]) -> Invocation {
    for (name, value) in env {
        call = match value {
            Some(value) => call.env(name, value),
            None => call.env_remove(name),
        };
    }
    call
}

/// Variables for a build that is not cargo's: those of the phase without what is for cargo and rustc.
pub fn environment(plan: &PhasePlan, package: &str) -> Vec<(String, Option<OsString>)> {
    let is_for_cargo = |name: &str| {
        name.starts_with("RUSTC_WRAPPER")
            || name.starts_with("CARGO_BUILD_")
            || name.starts_with("CC_")
            || name.starts_with("CXX_")
    };
    let mut env: Vec<(String, Option<OsString>)> = plan
        .env
        .iter()
        .filter(|(name, _)| !is_for_cargo(name))
        .cloned()
        .collect();
    let package = protocol::package_id(package, protocol::NO_VERSION);
    env.push((protocol::ENV_PACKAGE.to_owned(), Some(package.into())));
    env
}

/// How many jobs cmake is told: what cargo would be, or one for each processor.
pub fn jobs(cargo: &Cargo) -> Option<String> {
    let mut options = cargo.build_options.iter();
    let given = options.find(|word| *word == "--jobs").and(options.next());
    let number = |text: &String| text.parse::<i64>().ok();
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as i64);
    let variable = std::env::var("CARGO_BUILD_JOBS").ok();
    let wanted = given
        .and_then(number)
        .or(variable.as_ref().and_then(number));
    let jobs = match wanted {
        Some(jobs) if jobs > 0 => jobs,
        // As cargo has it: all but so many.
        Some(fewer) if fewer < 0 => (cpus + fewer).max(1),
        // cmake reads it itself.
        _ if std::env::var_os("CMAKE_BUILD_PARALLEL_LEVEL").is_some() => return None,
        _ => cpus,
    };
    Some(jobs.to_string())
}

/// What the release build of a comparison is called beside the phases.
pub const RELEASE: &str = "release";

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> Project {
        let config = CmakeProject {
            name: "db".into(),
            source: "./cpp/.".into(),
            args: vec!["-DWITH_X=OFF".into()],
            targets: vec!["metad".into(), "graphd".into()],
            ..CmakeProject::default()
        };
        Project::new(&config, Path::new("/p"), false)
    }

    #[test]
    fn the_commands_are_those_that_one_would_type() {
        let tree = project().plain(Path::new("/p/target/fdo/release"));
        assert_eq!(
            tree.configure(Some("Release")).to_string(),
            "cmake -S /p/cpp -B /p/target/fdo/release/cmake/db '-DWITH_X=OFF' '-DCMAKE_BUILD_TYPE=Release'"
        );
        assert_eq!(
            tree.build(None, false).to_string(),
            "cmake --build /p/target/fdo/release/cmake/db --target metad graphd"
        );
    }

    #[test]
    fn the_generator_is_ninja_unless_somebody_says_otherwise() {
        assert_eq!(
            generator(Some("Unix Makefiles".into()), true).as_deref(),
            Some("Unix Makefiles")
        );
        assert_eq!(generator(None, false), None);
    }
}
