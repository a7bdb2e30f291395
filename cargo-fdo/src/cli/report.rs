//! `cargo fdo report` as clap sees it.

use super::ProjectArgs;
use clap::Args;
use std::path::PathBuf;

/// `cargo fdo report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The saved comparison [default: the last one]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Where the page goes [default: report.html in target/fdo]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How many functions to list, hottest first
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub top: usize,
    /// A profile of the program where it was evaluated, of any kind that `cargo fdo profile` reads,
    /// or a recording of perf: what is hot there and was not trained is listed
    #[arg(long, value_name = "FILE")]
    pub evaluate_profile: Option<PathBuf>,
    /// The program in that recording, with its line tables
    #[arg(long, value_name = "PROGRAM", requires = "evaluate_profile")]
    pub binary: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub project: ProjectArgs,
}
