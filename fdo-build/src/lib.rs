//! Build-script library of `cargo fdo`.

pub mod flags;
pub mod protocol;
