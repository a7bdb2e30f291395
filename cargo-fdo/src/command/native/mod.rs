//! What other build systems than cargo compile: projects of fdo.toml (`select`), and builds by hand,
//! `cargo fdo cmake` and `cargo fdo exec`.

pub mod cmake;
pub mod exec;
mod phase;
mod place;
pub(super) mod select;

pub(super) use select::NativeError;
