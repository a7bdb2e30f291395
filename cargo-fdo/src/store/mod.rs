//! What is on disk below `target/fdo/`, and nothing about how it came there.
//!
//! ```text
//! target/fdo/CACHEDIR.TAG
//! target/fdo/instrument/            cargo's target directory of a phase
//! target/fdo/optimize/
//! target/fdo/v1/lock
//! target/fdo/v1/current             which campaign `build` uses
//! target/fdo/v1/campaigns/ID/       manifest and profiles of one training
//! target/fdo/v1/slices/             what compilers read, named by content
//! target/fdo/v1/optimize/           orders, keys, evidence of a phase
//! target/fdo/v1/raw/                raw profiles of the training that runs now
//! ```
//!
//! For a target other than the host, its triple is part of the names of phases and of
//! `current`. Everything is written under a temporary name and renamed; a killed run leaves
//! the old state or the new one.

pub mod campaign;
pub mod keys;
pub mod layout;
pub mod lock;
pub mod results;
mod trees;

pub use campaign::{Campaign, CampaignError, Manifest};
pub use layout::Layout;
pub use lock::Lock;
pub use trees::{TreeEntry, Trees};
