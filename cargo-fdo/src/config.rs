//! What the user wants, from `fdo.toml` or the metadata in `Cargo.toml`.
//!
//! A file is read into a tree that knows where each value stands (`section`), every table
//! and value is checked (`schema`, `value`), and the outcome is either a valid [`Config`]
//! or a [`ConfigError`] with every [`Problem`], not the first one only. Nothing here runs a
//! program or looks at the workspace: whether a binary or package exists is asked later, with
//! [`Workload::bins`] and [`Config::unknown_packages`].
//!
//! # Where it comes from
//!
//! `fdo.toml` in the workspace root, or `[workspace.metadata.fdo]` or `[package.metadata.fdo]`
//! in the `Cargo.toml` beside it. Two of them at once are a problem: merging them would need
//! rules that nobody remembers. None of them is fine: every key has a default.
//!
//! # Keys
//!
//! Key                      | Default        | Value
//! -------------------------|----------------|-------------------------------------------------
//! `method`                 | `"instrument"` | `"instrument"` or `"sample"`
//! `profiles`               | `"per-binary"` | or `"merged"`: which profile a program's own C is compiled with
//! `c-compiler`             | `"auto"`       | `"auto"`, `"keep"`, or a clang: name or path
//! `continuous`             | `false`        | whether counters survive SIGKILL, for value profiles
//! `rustc-bootstrap`        | `false`        | whether `RUSTC_BOOTSTRAP` may open rustc for samples
//! `min-match`              | `0.8`          | share of the profile's counts: `0.8` or `"80%"`
//! `max-loss`               | `0.01`         | share of files or counts a merge may lose
//! `workloads`              | see [`Config::select`] | names to train with
//! `tool.llvm-profdata`     | looked for     | name or path
//! `tool.perf`              | looked for     | name or path
//! `sample.event`           | tried out      | perf's name of one event
//! `sample.branch-stacks`   | if possible    | `true`: it must be possible; `false`: without
//! `sample.frequency`       | `4000`         | samples a second
//! `sample.max-size`        | `"4G"`         | of one recording
//! `sample.duration`        | none           | how long one run is recorded, and runs
//! `sample.buffer`          | perf's         | between kernel and perf, for each processor
//! `sample.compress`        | `false`        | whether perf compresses
//! `sample.min-share`       | `0.02`         | share of the samples that makes a file matter
//! `sample.min-mapped`      | `0.5`          | share of a file's samples that need lines
//! `sample.converter`       | `"native"`     | or `"create_gcov"`, `"create_llvm_prof"`, `"llvm-profgen"`
//! `sample.merger`          | `"native"`     | or `"profile_merger"`
//! `workload.W.run`         | required       | argument vector, or a string for `sh -c`
//! `workload.W.prepare`     | none           | likewise, or an array of such steps; runs first, is not profiled
//! `workload.W.env`         | none           | table of strings
//! `workload.W.cwd`         | the root       | directory, relative to the workspace root
//! `workload.W.weight`      | `1`            | how much its counts weigh in the merged profile
//! `workload.W.timeout`     | none           | `"90s"`, `"5min"`, …
//! `workload.W.repeat`      | `1`            | how often `run` runs
//! `workload.W.kind`        | `"train"`      | `"train"` or `"evaluate"`
//! `workload.W.services`    | none           | what runs beside it, by names of services
//! `workload.W.profile-load` | `false`       | whether `run` is profiled beside services
//! `workload.W.keep-services` | `false`      | measured runs share the services of the first
//! `workload.W.metrics.M`   | none           | a figure that `run` writes, see [`MetricSource`]
//! `workload.W.parameters`  | none           | table: what `{NAME}` stands for in this workload
//! `workload.W.scenarios`   | none           | table of tables: parameters, `weight`, `kind`, `timeout`, `repeat`
//! `workload.W.matrix`      | none           | table of arrays: a scenario for each combination
//! `service.S.run`          | required       | argument vector, or a string for `sh -c`
//! `service.S.env`, `cwd`   | as workloads'  |
//! `service.S.needs`        | none           | services that are ready before it starts
//! `service.S.ready`        | at once        | `port`, `http`, `log`, `file` or `command`; `timeout` (`"30s"`)
//! `service.S.forks`        | `false`        | whether `run` ends and leaves the service behind
//! `service.S.stop-signal`  | `"SIGTERM"`    | what asks it to end
//! `service.S.stop`         | none           | a command that does, instead
//! `service.S.grace`        | `"10s"`        | how long it may take to end
//! `service.S.log`          | ours           | where its output goes
//! `cmake.N.source`         | `"."`          | directory of a `CMakeLists.txt`
//! `cmake.N.args`           | none           | arguments of the configure step
//! `cmake.N.generator`      | Ninja if there is one | cmake's `-G`
//! `cmake.N.targets`        | all            | what is built
//! `cmake.N.exclude-targets` | none          | globs of targets that get no profile
//! `cmake.N.profile-targets` | all           | globs of the only ones that do
//! `cmake.N.build-type`     | the project's, else `"Release"` | `CMAKE_BUILD_TYPE`
//! `package.P.c`            | `true`         | whether C and C++ of this package take part
//! `package.P.rust`         | `true`         | whether its Rust does
//! `package.P.cflags`       | none           | more flags for C and C++ in both phases
//! `package.P.rustflags`    | none           | likewise for rustc
//! `package.P.c-exclude`    | none           | globs of source files that get no profile
//! `package.P.counters`     | `"ir"`         | `"ir"` or `"frontend"`, see [`Counters`]
//!
//! A path with a `/` is relative to the workspace root; a bare program name is looked up in
//! `PATH`. `run`, `prepare` and the values of `env` may hold placeholders, see [`Template`].

pub mod cmake;
mod metrics;
pub(crate) mod nearest;
mod problem;
mod sample;
mod scenarios;
mod schema;
mod section;
mod select;
mod service;
mod shell;
pub mod sizes;
mod source;
pub mod starter;
mod template;
mod value;
mod workload;

#[cfg(test)]
mod tests;

pub use metrics::{Described, MetricSource, Wanted, WrittenTo};
pub(crate) use nearest::did_you_mean;
pub use problem::{ConfigError, Place, Problem};
pub use sample::Sample;
pub use select::{Builtin, NotBuiltin, WorkloadChoice};
pub use service::{Ready, Service, Stop};
pub use template::{Placeholder, Template};
pub use workload::{AD_HOC, CommandLine, Kind, Scenario, Workload};

use crate::fs;
use fdo_build::flags::Counters;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The name of our own configuration file.
pub const FILE: &str = "fdo.toml";

/// A valid configuration.
///
/// Made by [`load`] and [`Config::parse`], or all defaults by [`Config::default`]. That a
/// binary or package it names exists is not part of "valid".
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file it came from; `None` if there is none and all is default.
    pub file: Option<PathBuf>,
    /// How counts are gathered.
    pub method: Method,
    /// Which profile the code of a single program or shared library is compiled with.
    pub profiles: Profiles,
    /// Which compiler C and C++ are built with.
    pub c_compiler: CCompilerChoice,
    /// Whether counters are saved at every moment, so that they survive SIGKILL.
    pub continuous: bool,
    /// Whether crates may be compiled with `RUSTC_BOOTSTRAP` set where rustc's option for samples
    /// is unstable.
    pub rustc_bootstrap: bool,
    /// The least share of the profile's counts that the compilers must have used, 0 to 1.
    pub min_match: Option<f64>,
    /// The greatest share of files or counts that a merge may lose, 0 to 1.
    pub max_loss: f64,
    /// What to train with unless the command line says otherwise; valid names, no duplicates.
    pub default_workloads: Vec<String>,
    /// The `llvm-profdata` to use; looked for if `None`.
    pub profdata: Option<PathBuf>,
    /// The `perf` to use; looked for if `None`.
    pub perf: Option<PathBuf>,
    /// How samples are taken and converted.
    pub sample: Sample,
    /// The named workloads; one with scenarios is here as `WORKLOAD/SCENARIO`, once for each.
    pub workloads: BTreeMap<String, Workload>,
    /// What cmake builds.
    pub cmake: BTreeMap<String, cmake::CmakeProject>,
    /// What is special about which package. [`Config::policy`] knows the default.
    pub packages: BTreeMap<String, PackagePolicy>,
    /// Where each of `packages` is named, for problems that show later.
    package_places: BTreeMap<String, Place>,
}

/// How counts are gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// Counters are compiled in.
    #[default]
    Instrument,
    /// perf records the running program.
    Sample,
}

/// Which profile the code of a single program or shared library is compiled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Profiles {
    /// Its own, where it is known which code that is.
    #[default]
    PerBinary,
    /// That of all.
    Merged,
}

/// Which compiler C and C++ are built with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CCompilerChoice {
    /// The project's own where its profile fits rustc's, else a clang that does.
    #[default]
    Auto,
    /// The project's own; what does not fit stays without a profile.
    Keep,
    /// This clang: a bare name, or a path with the workspace root already in front.
    Program(PathBuf),
}

/// What is special about one package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackagePolicy {
    /// Whether its C and C++ take part.
    pub c: bool,
    /// Whether its Rust takes part.
    pub rust: bool,
    /// More flags for its C and C++, in the instrument and the optimize phase.
    pub cflags: Vec<String>,
    /// More flags for its Rust, in the instrument and the optimize phase.
    pub rustflags: Vec<String>,
    /// C and C++ source files that get no profile.
    pub c_exclude: Vec<glob::Pattern>,
    /// Which counters its C and C++ get.
    pub counters: Counters,
}

impl PackagePolicy {
    const DEFAULT: PackagePolicy = PackagePolicy {
        c: true,
        rust: true,
        cflags: Vec::new(),
        rustflags: Vec::new(),
        c_exclude: Vec::new(),
        counters: Counters::Ir,
    };
}

impl Default for PackagePolicy {
    fn default() -> Self {
        PackagePolicy::DEFAULT
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            file: None,
            method: Method::default(),
            profiles: Profiles::default(),
            c_compiler: CCompilerChoice::default(),
            continuous: false,
            rustc_bootstrap: false,
            min_match: None,
            max_loss: 0.01,
            default_workloads: Vec::new(),
            profdata: None,
            perf: None,
            sample: Sample::default(),
            workloads: BTreeMap::new(),
            cmake: BTreeMap::new(),
            packages: BTreeMap::new(),
            package_places: BTreeMap::new(),
        }
    }
}

/// Reads the configuration of the workspace in `root`.
///
/// # Errors
///
/// [`ConfigError`] with all problems, or [`fs::FsError`] where a file can't be read.
pub fn load(root: &Path) -> crate::error::Result<Config> {
    let own = match std::fs::read(root.join(FILE)) {
        Ok(bytes) => {
            Some(String::from_utf8(bytes).map_err(|error| ConfigError::not_text(FILE, &error))?)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(fs::FsError::new("read", &root.join(FILE), error).into()),
    };
    let manifest = fs::read_if_there(&root.join("Cargo.toml"))?;
    Ok(source::config(root, own.as_deref(), manifest.as_deref())?)
}

impl Config {
    /// Reads the text of an `fdo.toml` in the workspace `root`.
    ///
    /// # Errors
    ///
    /// All problems in it.
    pub fn parse(root: &Path, text: &str) -> Result<Config, ConfigError> {
        source::config(root, Some(text), None)
    }

    /// What holds for a package, whether it is named in the configuration or not.
    pub fn policy(&self, package: &str) -> &PackagePolicy {
        static DEFAULT: PackagePolicy = PackagePolicy::DEFAULT;
        self.packages.get(package).unwrap_or(&DEFAULT)
    }

    /// Leaves the C and C++ of these packages without a profile.
    pub fn leave_c_alone<'n>(&mut self, packages: impl Iterator<Item = &'n String>) {
        for name in packages {
            let policy = self.policy(name).clone();
            self.packages
                .insert(name.clone(), PackagePolicy { c: false, ..policy });
        }
    }

    /// One problem for each `[package.NAME]` that is not among `known`, the packages of the
    /// dependency graph: its settings would silently do nothing.
    pub fn unknown_packages(&self, known: &BTreeSet<String>) -> Vec<Problem> {
        let mut problems: Vec<_> = self
            .packages
            .keys()
            .filter(|name| !known.contains(*name))
            .map(|name| Problem {
                place: self.package_places.get(name).cloned(),
                message: format!(
                    "no package `{name}` among the dependencies{}",
                    nearest::did_you_mean(name, known.iter().map(String::as_str))
                ),
            })
            .collect();
        problems.sort_by(|left, right| left.place.cmp(&right.place));
        problems
    }
}
