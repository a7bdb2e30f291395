//! Runs a workload by several builds of the same program, in turn, and measures each run.
//!
//! Every build has its own directory, prepared afresh. Rounds are interleaved and rotated
//! (`order.rs`), so that a drift of the machine meets all alike, and one of the builds runs twice: how
//! far it differs from itself is what the machine adds. Nothing is concluded here: the values go
//! into [`facts`](crate::comparison::facts).

mod callgrind;
mod counters;
mod figures;
pub mod machine;
mod order;
mod rounds;
mod run;
mod services;
mod sizes;
mod table;
mod weather;

pub use rounds::{Contestant, EvaluateError, Options, Task, end_by, run};
pub use sizes::of_program;
