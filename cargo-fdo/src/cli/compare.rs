//! `cargo fdo compare` as clap sees it.

use super::sweep::Sweep;
use super::{CargoArgs, FdoArgs, MatchArgs};
use clap::{Args, ValueEnum};
use std::ffi::OsString;

/// In which form a comparison is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Columns that line up
    Text,
    /// Tables to paste into a pull request
    Markdown,
    /// Everything: all values of all runs, and what follows from them
    Json,
    /// One line for each scenario, measure and variant
    Csv,
}

/// `cargo fdo compare`
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Workload to measure with [default: those of kind evaluate]; may be repeated
    #[arg(short, long, value_name = "NAME")]
    pub workload: Vec<String>,
    /// Measured runs of each variant
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: u32,
    /// Runs of each before, that do not count
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub warmup: u32,
    /// What the others are held against: `release`, `control`, `rust-only`, `optimized`, the path of
    /// a program (or of a directory with several), or a saved result, `NAME` or `NAME:VARIANT`
    #[arg(long, value_name = "VARIANT", default_value = "release")]
    pub baseline: String,
    /// What is held against it, likewise; may be repeated
    /// [default: optimized, and control where the C compiler is another one]
    #[arg(long, value_name = "VARIANT", value_delimiter = ',')]
    pub against: Vec<String>,
    /// Count the instructions of so many more runs of each with valgrind's callgrind: nearly exact,
    /// and fifty times as slow [default: 2]
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2",
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub instructions: Option<u32>,
    /// Run each workload with each of these values of its parameter, to choose a load by: `users=1,4,16`,
    /// or `users=1..64` for powers of two; by `release` alone unless `--against` names more
    #[arg(long, value_name = "PARAMETER=VALUES", conflicts_with_all = ["show", "fail_on_regression"])]
    pub sweep: Option<Sweep>,
    /// Form of the result on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub format: CompareFormat,
    /// Measure nothing, and print a saved result again; `last` is the last one, `last-sweep` the last `--sweep`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["save", "workload", "command", "against"])]
    pub show: Option<String>,
    /// Keep the result under this name too, as a baseline for later
    #[arg(long, value_name = "NAME")]
    pub save: Option<String>,
    /// End with code 8 if a main measure is significantly worse by more than this, in percent
    #[arg(long, value_name = "PCT", value_parser = percentage)]
    pub fail_on_regression: Option<f64>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub matching: MatchArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub fdo: FdoArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub cargo: CargoArgs,
    /// A command to measure, such as `'{bin:app}' --fast`
    #[arg(
        last = true,
        value_name = "COMMAND",
        help_heading = "Arguments",
        conflicts_with = "workload"
    )]
    pub command: Vec<OsString>,
}

/// `3`, `2.5` or `2.5%`, as a share.
fn percentage(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent / 100.0),
        _ => Err("must be a number of percent such as `2` or `2.5%`".into()),
    }
}
