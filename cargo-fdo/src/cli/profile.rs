//! `cargo fdo profile …`

use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// `cargo fdo profile`
#[derive(Debug, Args)]
pub struct ProfileArgs {
    /// What to do with profiles
    #[command(subcommand)]
    pub command: ProfileCommand,
}

/// What can be done with the files of any profiler.
#[derive(Debug, Subcommand)]
pub enum ProfileCommand {
    /// Add profiles of one kind up
    Merge(MergeArgs),
    /// Show what is in a profile
    Show(ShowArgs),
    /// Show how alike two profiles are and which functions moved most
    Diff(DiffArgs),
    /// Write a profile in another form
    Convert(ConvertArgs),
}

/// The tool for LLVM's binary forms.
#[derive(Debug, Clone, Default, Args)]
pub struct LlvmArgs {
    /// The llvm-profdata to use [default: the first that reads the file]
    #[arg(long, value_name = "PATH")]
    pub llvm_profdata: Option<PathBuf>,
}

/// `cargo fdo profile merge`
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Profiles, each with a weight of 1
    #[arg(value_name = "FILES", required_unless_present = "weighted_input")]
    pub files: Vec<PathBuf>,
    /// A profile whose counts count W times; may be repeated
    #[arg(short, long, value_name = "W,FILE")]
    pub weighted_input: Vec<OsString>,
    /// The file to write; `-` for stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub llvm: LlvmArgs,
}

/// `cargo fdo profile show`
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The profile
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How many functions to list, hottest first
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Print the counts of functions with this name, or this text in their demangled name
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub llvm: LlvmArgs,
}

/// `cargo fdo profile diff`
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The profile to compare with
    #[arg(value_name = "BASE")]
    pub base: PathBuf,
    /// The other one
    #[arg(value_name = "OTHER")]
    pub other: PathBuf,
    /// How many functions to list, biggest move first
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub llvm: LlvmArgs,
}

/// A form that profiles are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// LLVM's text
    LlvmText,
    /// LLVM's binary sample profile
    LlvmExtbinary,
    /// AutoFDO profile for GCC up to 11
    #[value(name = "gcov-v1")]
    GcovV1,
    /// AutoFDO profile for GCC 12 to 15
    #[value(name = "gcov-v2")]
    GcovV2,
    /// AutoFDO profile for GCC 16 (experimental)
    #[value(name = "gcov-v3")]
    GcovV3,
}

/// `cargo fdo profile convert`
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// The profile
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The form to write
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: Form,
    /// The program that was recorded, with its line tables: needed for a recording of perf
    #[arg(long, value_name = "PROGRAM")]
    pub binary: Option<PathBuf>,
    /// The file to write; `-` for stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub llvm: LlvmArgs,
}
