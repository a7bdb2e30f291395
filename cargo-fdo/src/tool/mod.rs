//! External tools: one file each, with its argument knowledge and its output, nothing else.

pub mod auto;
pub mod c_compiler;
pub mod canary;
pub mod cmake;
#[cfg(all(test, unix))]
mod fake_tools;
pub mod invocation;
pub mod locate;
pub mod perf;
pub mod profdata;
pub mod proof;
pub mod raw_version;
#[cfg(test)]
pub(crate) mod real_tools;
pub mod rustc;
pub mod sample_converter;
mod scratch;
pub mod signals;

pub use c_compiler::CCompiler;
pub use invocation::{Invocation, Output, ToolError};
pub use locate::{Identity, Places};
pub use perf::Perf;
pub use profdata::Profdata;
pub use rustc::Rustc;
