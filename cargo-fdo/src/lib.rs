//! Feedback-directed optimisation of Rust programs together with the C and C++ inside them.

pub mod doctor;
pub mod error;
pub mod fs;
pub mod tool;

/// The process.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
