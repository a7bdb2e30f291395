//! External tools: one file each, with its argument knowledge and its output, nothing else.

pub mod invocation;

pub use invocation::{Invocation, Output, ToolError};
