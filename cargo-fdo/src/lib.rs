//! Feedback-directed optimisation of Rust programs together with the C and C++ inside them.

pub mod config;
pub mod error;
pub mod fs;
pub mod profile;
pub mod tool;

/// The process.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
