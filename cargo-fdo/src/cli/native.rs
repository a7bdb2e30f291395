//! The command lines of `cargo fdo cmake` and `cargo fdo exec`.

use super::{CargoArgs, FdoArgs, MatchArgs, ProjectArgs, ToolArgs};
use clap::{Args, ValueEnum};
use fdo_build::protocol::Phase;
use std::ffi::OsString;
use std::path::PathBuf;

/// Which build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NativePhase {
    /// With counters, to be run for `cargo fdo train --collect`
    Instrument,
    /// Plain code with line tables, to be recorded for `cargo fdo import`
    Sample,
    /// With the profile
    Optimize,
    /// By the same compilers without the profile
    Baseline,
}

impl NativePhase {
    /// The phase.
    pub fn phase(self) -> Phase {
        match self {
            NativePhase::Instrument => Phase::Instrument,
            NativePhase::Sample => Phase::Sample,
            NativePhase::Optimize => Phase::Optimize,
            NativePhase::Baseline => Phase::Baseline,
        }
    }
}

/// What both commands take.
#[derive(Debug, Clone, Args)]
pub struct NativeArgs {
    /// Which build [default: optimize, if there is a profile]
    #[arg(long, value_enum)]
    pub phase: Option<NativePhase>,
    /// What its code is called in tables and in `[package.NAME]` of fdo.toml [default: by the directory]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Target of cmake's (name or glob) that gets no profile; may be repeated
    #[arg(long, value_name = "TARGET")]
    pub exclude_target: Vec<String>,
    /// The only targets of cmake's (names or globs) that get one; may be repeated
    #[arg(long, value_name = "TARGET")]
    pub profile_target: Vec<String>,
    /// Directory below whose fdo/ profiles are kept [default: target/ of the project]
    #[arg(long, value_name = "DIR")]
    pub target_dir: Option<PathBuf>,
    /// Say only what is wrong: warnings and errors
    #[arg(short, long)]
    pub quiet: bool,
    /// Say more; print every command
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Coloring of messages
    #[arg(long, value_name = "WHEN", value_parser = ["auto", "always", "never"])]
    pub color: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub matching: MatchArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub tools: ToolArgs,
}

impl NativeArgs {
    /// The same as far as a session of cargo's arguments goes. `manifest_path`: of cargo's project
    /// around it.
    pub fn cargo(&self, manifest_path: Option<PathBuf>, jobs: Option<String>) -> CargoArgs {
        CargoArgs {
            jobs,
            verbose: self.verbose,
            project: ProjectArgs {
                target_dir: self.target_dir.clone(),
                manifest_path,
                quiet: self.quiet,
                color: self.color.clone(),
                ..ProjectArgs::default()
            },
            ..CargoArgs::default()
        }
    }

    /// The tools.
    pub fn fdo(&self) -> FdoArgs {
        FdoArgs {
            tools: self.tools.clone(),
            dry_run: false,
        }
    }
}

/// `cargo fdo cmake`
#[derive(Debug, Args)]
pub struct CmakeArgs {
    /// The directory of its CMakeLists.txt
    #[arg(short = 'S', value_name = "DIR", default_value = ".")]
    pub source: PathBuf,
    /// The build directory, one for each phase
    #[arg(short = 'B', value_name = "DIR")]
    pub build: PathBuf,
    /// cmake's generator [default: CMAKE_GENERATOR, else Ninja if there is one]
    #[arg(short = 'G', value_name = "NAME", help_heading = "cmake's arguments")]
    pub generator: Option<String>,
    /// A variable for its cache
    #[arg(
        short = 'D',
        value_name = "NAME=VALUE",
        help_heading = "cmake's arguments"
    )]
    pub define: Vec<String>,
    /// Variables to be removed from its cache
    #[arg(short = 'U', value_name = "GLOB", help_heading = "cmake's arguments")]
    pub undefine: Vec<String>,
    /// A script that fills its cache
    #[arg(short = 'C', value_name = "FILE", help_heading = "cmake's arguments")]
    pub initial_cache: Vec<PathBuf>,
    /// Its warnings: `no-dev` and the like
    #[arg(
        short = 'W',
        value_name = "WARNING",
        help_heading = "cmake's arguments"
    )]
    pub warnings: Vec<String>,
    /// What to build [default: everything]; may be repeated
    #[arg(
        short,
        long,
        value_name = "TARGET",
        num_args = 1..,
        help_heading = "cmake's arguments"
    )]
    pub target: Vec<String>,
    /// Number of parallel jobs
    #[arg(short, long, value_name = "N", help_heading = "cmake's arguments")]
    pub jobs: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub native: NativeArgs,
    /// Arguments for ninja or make
    #[arg(last = true, value_name = "ARGS", help_heading = "Arguments")]
    pub args: Vec<OsString>,
}

impl CmakeArgs {
    /// What cmake is told when it configures, beside directories and generator.
    pub fn configure_args(&self) -> Vec<String> {
        let cache = self.initial_cache.iter().map(|file| {
            // cmake runs where we do.
            format!("-C{}", file.display())
        });
        cache
            .chain(self.undefine.iter().map(|glob| format!("-U{glob}")))
            .chain(self.define.iter().map(|define| format!("-D{define}")))
            .chain(self.warnings.iter().map(|warning| format!("-W{warning}")))
            .collect()
    }
}

/// `cargo fdo exec`
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// The command configures and compiles nothing: its outcome is not judged
    #[arg(long)]
    pub configure: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub native: NativeArgs,
    /// What compiles, by CC and CXX; `{toolchain}` in it is a toolchain file for cmake
    #[arg(
        last = true,
        required = true,
        value_name = "COMMAND",
        help_heading = "Arguments"
    )]
    pub command: Vec<OsString>,
}
