//! The stages: each takes what the stage before proved, and proves something more.
//!
//! ```text
//! build       runs cargo, reads its messages           -> Built
//! cmake       configures and builds what cmake does    -> Built
//! instrument  build + counters are really there        -> Instrumented
//! sample      build + line tables are really there      -> Sampled
//! train       runs workloads                           -> RawProfiles
//! collect     raw profiles made elsewhere              -> RawProfiles
//! record      runs workloads under perf                -> Recorded
//! merge       verifies, quarantines, merges, slices    -> Merged
//! optimize    build + the profile was really used      -> Optimized
//! evaluate    runs workloads of several builds in turn -> Scenario
//! ```

pub mod attend;
pub mod binaries;
pub mod build;
pub mod census;
pub mod cmake;
pub mod collect;
pub mod convert;
pub mod evaluate;
mod family;
pub mod flamegraph;
pub mod guard;
mod harness;
pub mod images;
pub mod instrument;
pub mod lost;
mod marks;
pub mod merge;
pub mod native;
pub mod optimize;
pub mod origin;
mod orphan;
mod own;
pub mod reading;
pub mod record;
pub mod sample;
mod sampled;
mod save;
mod services;
pub mod train;
pub mod trained;
pub mod units;
mod usage;
pub mod workload;

pub use family::Stopped;
pub use marks::Lost;
