//! What a comparison measured, and what that says.
//!
//! [`facts`] is what `cargo fdo compare` writes down: every value of every run. [`findings`] is
//! computed from it, whenever it is shown: the same file gives the same table tomorrow.

pub mod facts;
pub mod findings;
pub mod sweep;

pub use facts::Comparison;
pub use findings::Findings;
