//! Feedback-directed optimisation of Rust programs together with the C and C++ inside them.
//!
//! The pipeline, in the order of the modules:
//!
//! ```text
//! cli → settings → plan ──→ stage: instrument → train → merge → [campaign] → optimize → report
//!         ↑          ↑            │                │                            │
//!   config, workspace, toolbox    shim (in place of rustc, cc, c++)             shim
//! ```
//!
//! [`shim`] is this very program, started by cargo and by build scripts in place of their
//! compilers. [`profile`] knows formats and nobody else, as do
//! [`metrics`] and [`statistics`]. ARCHITECTURE.md has the invariants.

pub mod cli;
pub mod command;
pub mod comparison;
pub mod config;
pub mod doctor;
pub mod error;
pub mod fs;
pub mod metrics;
pub mod outer;
pub mod plan;
pub mod profile;
pub mod project;
pub mod recall;
pub mod report;
pub mod settings;
pub mod shim;
pub mod stage;
pub mod statistics;
pub mod store;
pub mod tool;
pub mod toolbox;
pub mod ui;
pub mod workspace;

use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

/// The process: a compiler shim, or the command line.
pub fn main() -> ExitCode {
    if let Some(code) = shim::dispatch() {
        return code;
    }
    stage::guard::allow();
    if let Some(code) = outer::leave() {
        return code;
    }
    let (args, toolchain) = arguments(std::env::args_os().collect());
    let cli = match cli::Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // clap's own code for wrong usage is 2, for `--help` 0: the same as ours.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let color = cli
        .color()
        .or_else(|| std::env::var("CARGO_TERM_COLOR").ok());
    match command::run(cli, toolchain) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            ui::Ui::new(ui::Verbosity::Normal, color.as_deref()).error(&error);
            ExitCode::from(error.exit_code() as u8)
        }
    }
}

/// Takes off what cargo and rustup put before our own arguments: `cargo-fdo fdo +nightly …`.
fn arguments(mut args: Vec<OsString>) -> (Vec<OsString>, Option<String>) {
    if args.get(1).is_some_and(|arg| arg == "fdo") {
        args.remove(1);
    }
    let toolchain = args
        .get(1)
        .and_then(|arg| arg.to_str()?.strip_prefix('+'))
        .map(str::to_owned);
    if toolchain.is_some() {
        args.remove(1);
    }
    (args, toolchain)
}
