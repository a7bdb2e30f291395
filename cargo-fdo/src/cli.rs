//! The command line as clap sees it. No decisions: `settings` makes them.

pub mod compare;
pub mod flamegraph;
pub mod native;
pub mod profile;
pub mod report;
pub mod sweep;

use clap::{Args, Parser, Subcommand, ValueEnum};
use compare::CompareArgs;
use flamegraph::FlamegraphArgs;
use profile::ProfileArgs;
pub use report::ReportArgs;
use std::ffi::OsString;
use std::path::PathBuf;

/// Feedback-directed optimisation of Rust programs together with the C and C++ inside them
#[derive(Debug, Parser)]
#[command(
    name = "cargo-fdo",
    bin_name = "cargo fdo",
    version,
    after_help = "Exit codes: 0 ok, 2 usage or config, 3 tool or toolchain unfit, 4 build failed, \
                  5 no profile or training failed, 6 profile unreadable or too much lost, \
                  7 profile stale (below min-match), \
                  8 slower than --fail-on-regression allows, 101 internal bug"
)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// `--color`, for the one message that is printed when the run is over.
    pub fn color(&self) -> Option<String> {
        let project = match &self.command {
            Command::Doctor(_) | Command::Init(_) | Command::Profile(_) | Command::Record(_) => {
                return None;
            }
            Command::Cmake(args) => return args.native.color.clone(),
            Command::Exec(args) => return args.native.color.clone(),
            Command::Train(args) => &args.cargo.project,
            Command::Import(args) => &args.cargo.project,
            Command::Build(args) => &args.cargo.project,
            Command::Run(args) | Command::Test(args) | Command::Bench(args) => &args.cargo.project,
            Command::Compare(args) => &args.cargo.project,
            Command::Report(args) => &args.project,
            Command::Status(args) => &args.project,
            Command::Env(args) => &args.cargo.project,
            Command::Clean(args) => &args.project,
            Command::Flamegraph(args) => &args.cargo.project,
        };
        project.color.clone()
    }
}

/// The subcommands, in the order in which one meets them.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Take a tiny program through every tool and say which fit together
    Doctor(DoctorArgs),
    /// Write a starter fdo.toml from what the workspace holds
    Init(InitArgs),
    /// Build for training, run workloads, make a profile of what they did
    Train(TrainArgs),
    /// Record running programs with perf, for `import`
    Record(RecordArgs),
    /// Make a profile of recordings and sampled profiles from elsewhere
    Import(ImportArgs),
    /// Build with the profile, and show how much of it was used
    Build(BuildArgs),
    /// Run a binary or example, built with the profile
    Run(RunArgs),
    /// Run the tests, built with the profile
    Test(RunArgs),
    /// Run the benchmarks, built with the profile
    Bench(RunArgs),
    /// Measure what the profile gained, with error bars
    Compare(CompareArgs),
    /// Draw where the time goes and who calls it, of workloads, processes or the system
    Flamegraph(Box<FlamegraphArgs>),
    /// Write what was trained and measured as one HTML file
    Report(ReportArgs),
    /// Configure and build any phase of a cmake project, in a build directory of yours
    Cmake(Box<native::CmakeArgs>),
    /// Run any command that compiles C and C++, with the compilers of a phase
    Exec(Box<native::ExecArgs>),
    /// Show which profile there is, of what, and how good it is
    Status(StatusArgs),
    /// Print the environment with which any build command is instrumented or optimised
    Env(EnvArgs),
    /// Merge, show, compare and convert profile files of any kind
    Profile(ProfileArgs),
    /// Remove the builds and profiles of cargo fdo, and nothing else
    Clean(CleanArgs),
}

/// Those of cargo's arguments that say which project it is, how to read it and how to speak.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Cargo's arguments")]
pub struct ProjectArgs {
    /// Target triple [default: the host]
    #[arg(long, value_name = "TRIPLE")]
    pub target: Vec<String>,
    /// Directory for all generated artifacts; ours go into fdo/ below it
    #[arg(long, value_name = "DIR")]
    pub target_dir: Option<PathBuf>,
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Require that Cargo.lock is up to date
    #[arg(long)]
    pub locked: bool,
    /// Run without the network
    #[arg(long)]
    pub offline: bool,
    /// `--locked` and `--offline`
    #[arg(long)]
    pub frozen: bool,
    /// Override a configuration value
    #[arg(long, value_name = "KEY=VALUE")]
    pub config: Vec<String>,
    /// Unstable flags of cargo
    #[arg(short = 'Z', value_name = "FLAG")]
    pub unstable: Vec<String>,
    /// Say only what is wrong: warnings and errors
    #[arg(short, long)]
    pub quiet: bool,
    /// Coloring of messages
    #[arg(long, value_name = "WHEN", value_parser = ["auto", "always", "never"])]
    pub color: Option<String>,
}

/// Cargo's own arguments, handed through.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Cargo's arguments")]
pub struct CargoArgs {
    /// Package to build
    #[arg(short, long, value_name = "SPEC")]
    pub package: Vec<String>,
    /// All packages of the workspace
    #[arg(long)]
    pub workspace: bool,
    /// Packages to leave out
    #[arg(long, value_name = "SPEC")]
    pub exclude: Vec<String>,
    /// Only the library
    #[arg(long)]
    pub lib: bool,
    /// Only this binary
    #[arg(long, value_name = "NAME")]
    pub bin: Vec<String>,
    /// All binaries
    #[arg(long)]
    pub bins: bool,
    /// Only this example
    #[arg(long, value_name = "NAME")]
    pub example: Vec<String>,
    /// All examples
    #[arg(long)]
    pub examples: bool,
    /// Only this test target
    #[arg(long, value_name = "NAME")]
    pub test: Vec<String>,
    /// All test targets
    #[arg(long)]
    pub tests: bool,
    /// Only this bench target
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,
    /// All bench targets
    #[arg(long)]
    pub benches: bool,
    /// All targets
    #[arg(long)]
    pub all_targets: bool,
    /// Features to activate
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub features: Vec<String>,
    /// Activate all features
    #[arg(long)]
    pub all_features: bool,
    /// Do not activate the default feature
    #[arg(long)]
    pub no_default_features: bool,
    /// The release profile (what cargo fdo builds unless told otherwise)
    #[arg(short, long)]
    pub release: bool,
    /// Cargo profile to build [default: release]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Number of parallel jobs
    #[arg(short, long, value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<String>,
    /// Build as much as possible
    #[arg(long)]
    pub keep_going: bool,
    /// Form of cargo's messages
    #[arg(long, value_name = "FMT")]
    pub message_format: Option<String>,
    /// Say more; print every command
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub project: ProjectArgs,
}

impl From<ProjectArgs> for CargoArgs {
    fn from(project: ProjectArgs) -> CargoArgs {
        CargoArgs {
            project,
            ..CargoArgs::default()
        }
    }
}

/// Which tools make and read the profile.
#[derive(Debug, Clone, Default, Args)]
pub struct ToolArgs {
    /// C compiler: `auto` (a clang where `cc` does not fit), `keep` (never another), or a clang
    #[arg(long, value_name = "CHOICE")]
    pub c_compiler: Option<String>,
    /// The llvm-profdata to use [default: the first that fits]
    #[arg(long, value_name = "PATH")]
    pub llvm_profdata: Option<PathBuf>,
}

/// What all commands take that run others.
#[derive(Debug, Clone, Default, Args)]
pub struct FdoArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub tools: ToolArgs,
    /// Print each command as it would run, and run none
    #[arg(long)]
    pub dry_run: bool,
}

/// `cargo fdo doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
    /// Say which method suits this machine and program, and why
    #[arg(long)]
    pub recommend: bool,
}

/// `cargo fdo init`
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Print the starter instead of writing it
    #[arg(long)]
    pub print: bool,
}

/// How training data comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// Counters compiled in
    Instrument,
    /// perf records the plain program
    Sample,
}

/// `cargo fdo train`
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// Workload: `bench`, `test`, `run`, `example:NAME`, or one of fdo.toml, `NAME/SCENARIO` for one
    /// scenario of it; may be repeated
    #[arg(short, long, value_name = "NAME")]
    pub workload: Vec<String>,
    /// How counts are gathered
    #[arg(long, value_enum)]
    pub method: Option<Method>,
    /// Only build the program to train with and print its path
    #[arg(long)]
    pub build_only: bool,
    /// Merge the raw profiles (or recordings) of a `--build-only` program, and run nothing
    #[arg(
        long,
        value_name = "FILES|DIR",
        num_args = 1..,
        conflicts_with_all = ["workload", "build_only", "command"]
    )]
    pub collect: Vec<PathBuf>,
    /// Share of raw profiles that may be bad [default: 1%]
    #[arg(long, value_name = "SHARE")]
    pub max_loss: Option<String>,
    /// Keep the raw profiles or recordings, below target/fdo/
    #[arg(long)]
    pub keep_raw: bool,
    /// Do not run without counters as well to measure the slow-down
    #[arg(long)]
    pub no_overhead: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub fdo: FdoArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub cargo: CargoArgs,
    /// A command to train with, such as `'{bin:app}' --fast`
    #[arg(
        last = true,
        value_name = "COMMAND",
        help_heading = "Arguments",
        conflicts_with = "workload"
    )]
    pub command: Vec<OsString>,
}

/// `cargo fdo record`
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Processes to record, by their ids, separated by commas
    #[arg(
        long,
        value_name = "PID",
        value_delimiter = ',',
        conflicts_with = "system"
    )]
    pub pid: Vec<u32>,
    /// Record the whole system
    #[arg(long)]
    pub system: bool,
    /// Where the recording goes [default: perf.data]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Stop after this time: `90s`, `5min`
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Samples a second [default: 4000]
    #[arg(long, value_name = "HERTZ")]
    pub frequency: Option<u32>,
    /// perf's name of the event [default: the best that works here]
    #[arg(long, value_name = "EVENT")]
    pub event: Option<String>,
    /// Stop at this size: `512M`, `4G` [default: 4G]
    #[arg(long, value_name = "SIZE")]
    pub max_size: Option<String>,
    /// The perf to use [default: the first that runs]
    #[arg(long, value_name = "PATH")]
    pub perf: Option<PathBuf>,
    /// Say only what is wrong: warnings and errors
    #[arg(short, long)]
    pub quiet: bool,
    /// Say more; print perf's command
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// What to record, or, with `--pid` or `--system`, what makes load meanwhile and ends it
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    pub command: Vec<OsString>,
}

/// `cargo fdo import`
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// perf.data, `perf script` text, or a sampled profile of LLVM's or GCC's form
    #[arg(required_unless_present = "weighted_input", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// One more file, whose counts weigh N times as much
    #[arg(short, long, value_name = "N,FILE")]
    pub weighted_input: Vec<String>,
    /// The program that was recorded [default: what `train --method sample` built]; may be repeated
    #[arg(long, value_name = "PATH")]
    pub binary: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub fdo: FdoArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub cargo: CargoArgs,
}

/// What may be accepted of the profile's use.
#[derive(Debug, Clone, Default, Args)]
pub struct MatchArgs {
    /// Least share of the profile's counts that must be used [default: 80%]
    #[arg(long, value_name = "SHARE")]
    pub min_match: Option<String>,
    /// Report a profile that matches too little, but do not fail
    #[arg(long)]
    pub allow_stale: bool,
}

/// `cargo fdo build`
#[derive(Debug, Args)]
pub struct BuildArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub matching: MatchArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub fdo: FdoArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub cargo: CargoArgs,
}

/// `cargo fdo run`, `test` and `bench`
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub matching: MatchArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub fdo: FdoArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub cargo: CargoArgs,
    /// Arguments for the program
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS",
        help_heading = "Arguments"
    )]
    pub args: Vec<OsString>,
}

/// `cargo fdo status`
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Print all that is known of it as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub project: ProjectArgs,
}

/// Which environment to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EnvPhase {
    /// To build with counters
    Instrument,
    /// To build what is to be recorded: plain code with line tables
    Sample,
    /// To build with the profile
    Optimize,
}

/// How to print an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EnvFormat {
    /// `export NAME='value'` lines to `eval`; names that no shell takes are left out
    Sh,
    /// `NAME=value` lines for `env -S` and `docker run --env-file`
    Env,
    /// A JSON object
    Json,
}

/// `cargo fdo env`
#[derive(Debug, Args)]
pub struct EnvArgs {
    /// Which build
    #[arg(long, value_enum, default_value = "optimize")]
    pub phase: EnvPhase,
    /// In which form
    #[arg(long, value_enum, default_value = "sh")]
    pub format: EnvFormat,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub tools: ToolArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub cargo: CargoArgs,
}

/// `cargo fdo clean`
#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Keep the profiles, remove the builds
    #[arg(long)]
    pub keep_profiles: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub project: ProjectArgs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
