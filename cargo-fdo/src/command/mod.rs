//! One file for each subcommand: what it does with the stages, in order.

pub mod build;
pub mod clean;
pub mod compare;
pub mod doctor;
pub mod env;
pub mod flamegraph;
pub mod import;
pub mod init;
mod manifest;
pub mod native;
pub mod profile;
pub mod record;
pub mod report;
mod sampled;
mod session;
pub mod status;
pub mod train;

pub use session::{RUST_ONLY, Session};

use crate::cli::{Cli, Command};
use crate::error::Result;

/// Runs a subcommand.
///
/// # Errors
///
/// Whatever its stages raise.
pub fn run(cli: Cli, toolchain: Option<String>) -> Result<()> {
    match cli.command {
        Command::Doctor(args) => doctor::run(&args, toolchain),
        Command::Init(args) => init::run(&args, toolchain),
        Command::Train(args) => train::run(args, toolchain),
        Command::Record(args) => record::run(&args),
        Command::Cmake(args) => native::cmake::run(&args, toolchain),
        Command::Exec(args) => native::exec::run(&args, toolchain),
        Command::Import(args) => import::run(&args, toolchain),
        Command::Build(args) => build::run(&args, toolchain),
        Command::Run(args) => build::run_and("run", &args, toolchain),
        Command::Test(args) => build::run_and("test", &args, toolchain),
        Command::Bench(args) => build::run_and("bench", &args, toolchain),
        Command::Compare(args) => compare::run(&args, toolchain),
        Command::Flamegraph(args) => flamegraph::run(*args, toolchain),
        Command::Report(args) => report::run(&args, toolchain),
        Command::Status(args) => status::run(&args, toolchain),
        Command::Env(args) => env::run(&args, toolchain),
        Command::Profile(args) => profile::run(&args, toolchain.as_deref()),
        Command::Clean(args) => clean::run(&args, toolchain),
    }
}
