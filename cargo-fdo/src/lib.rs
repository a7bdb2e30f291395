//! Feedback-directed optimisation of Rust programs together with the C and C++ inside them.

pub mod cli;
pub mod config;
pub mod error;
pub mod fs;
pub mod plan;
pub mod profile;
pub mod settings;
pub mod shim;
pub mod stage;
pub mod store;
pub mod tool;
pub mod toolbox;
pub mod ui;
pub mod workspace;

/// The process.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
