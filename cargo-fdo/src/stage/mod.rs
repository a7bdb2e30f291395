//! The stages: each takes what the stage before proved, and proves something more.
//!
//! ```text
//! build       runs cargo, reads its messages           -> Built
//! instrument  build + counters are really there        -> Instrumented
//! train       runs workloads                           -> RawProfiles
//! collect     raw profiles made elsewhere              -> RawProfiles
//! merge       verifies, quarantines, merges, slices    -> Merged
//! optimize    build + the profile was really used      -> Optimized
//! ```

pub mod build;
pub mod census;
pub mod collect;
pub mod instrument;
pub mod merge;
pub mod optimize;
mod sampled;
pub mod train;
pub mod units;
pub mod workload;
