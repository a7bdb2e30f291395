//! `cargo fdo flamegraph`

use super::{CargoArgs, ToolArgs};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// How a sample comes by its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CallGraph {
    /// A copy of the stack, 8 kB a sample, unwound afterwards: works with all programs
    Dwarf,
    /// Frame pointers: cheap, but only code that is compiled with them (`-C
    /// force-frame-pointers=yes`, `-fno-omit-frame-pointer`) shows its callers
    Fp,
}

/// `cargo fdo flamegraph`
#[derive(Debug, Args)]
// `-p` is perf's here, as `-a` is.
#[command(mut_arg("package", |arg| arg.short(None)))]
pub struct FlamegraphArgs {
    /// What to draw instead of recording: perf.data, the text of `perf script`, or folded stacks;
    /// with `--diff` the old and the new
    #[arg(
        value_name = "FILE",
        num_args = 0..=2,
        conflicts_with_all = [
            "workload", "pid", "system", "command", "call_graph", "stack_size", "duration",
            "frequency", "event", "max_size", "perf",
        ]
    )]
    pub files: Vec<PathBuf>,
    /// Workload of fdo.toml, as for `train` [default: all]; may be repeated
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["pid", "system", "command"])]
    pub workload: Vec<String>,
    /// Processes to record, by their ids, separated by commas
    #[arg(
        short,
        long,
        value_name = "PID",
        value_delimiter = ',',
        conflicts_with = "system"
    )]
    pub pid: Vec<u32>,
    /// Record the whole system
    #[arg(short = 'a', long)]
    pub system: bool,
    /// Draw what changed: between two FILEs, or from the plain program to the one built with the
    /// profile. Red takes more of the time, blue less; widths are those of the new
    #[arg(long, visible_alias = "differential", conflicts_with_all = ["pid", "system", "command"])]
    pub diff: bool,
    /// Where the picture goes [default: flamegraph.svg]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the folded stacks too (with `--diff` both counts of each)
    #[arg(long, value_name = "FILE")]
    pub folded: Option<PathBuf>,
    /// Keep the recording
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["files", "workload", "diff"]
    )]
    pub keep: Option<PathBuf>,
    /// What stands above the picture
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Where debug files are, before the system's own place; may be repeated
    #[arg(long, value_name = "DIR")]
    pub debug_dir: Vec<PathBuf>,
    /// How callers are found [default: dwarf]
    #[arg(long, value_enum, value_name = "HOW")]
    pub call_graph: Option<CallGraph>,
    /// How much of a stack is copied, up to 65528 bytes [default: 8192]
    #[arg(long, value_name = "BYTES")]
    pub stack_size: Option<u32>,
    /// Stop after this time: `90s`, `5min`
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Samples a second; with copies of stacks, each busy processor makes as many times 8 kB
    /// [default: 499]
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
    #[command(flatten)]
    #[allow(missing_docs)]
    pub tools: ToolArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub cargo: CargoArgs,
    /// A command to record, or the load under which processes or the system are recorded; with
    /// `{bin:NAME}` it is a workload
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    pub command: Vec<OsString>,
}
