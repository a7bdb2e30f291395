//! Sandbox and fake tools for the end-to-end tests of cargo-fdo.
//!
//! A test copies an example or writes a small project, puts fake tools before the real ones,
//! runs `cargo fdo` and looks at what came out:
//!
//! ```no_run
//! use fdo_tests::{Fake, Sandbox};
//!
//! let t = Sandbox::example("rust-only").fake("llvm-profdata", Fake::fails("bad magic"));
//! let run = t.cargo_fdo(["train"]).fails_with(3);
//! run.stderr_has("`llvm-profdata` failed");
//! assert_eq!(t.raw_profiles().len(), 2);
//! ```
//!
//! Three rings: pure functions are tested where they are, in `cargo-fdo/src`; failures that a
//! real tool shows once a year are played by fakes, here; real tools are run on the projects of
//! `examples/`, here too. A test that lacks a tool says `skipped: …`, see [`tools`].

mod binaries;
mod fake;
pub mod projects;
mod readme;
mod redact;
mod run;
mod sandbox;
mod snapshot;
pub mod tools;
mod trained;

pub use fake::{Call, Fake, play};
pub use readme::{Usage, usages};
pub use redact::redact;
pub use run::Run;
pub use sandbox::Sandbox;
pub use snapshot::assert_snapshot;
