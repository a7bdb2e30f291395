//! Figures that a workload itself prints: operations per second, latencies, whatever its
//! benchmark program reports.
//!
//! Knows no other module of ours (a test checks) and runs nothing. Text comes from programs of
//! the user, so no input makes anything here panic. What can't be read is an error that shows the
//! text, never a figure less: a comparison of what happened to be readable would be a lie.
//!
//! ```text
//! text ──> Reader, one for each format that is known ──┐
//!     └──> Figure, which the user describes ───────────┴──> Reading: name, unit, values
//! ```
//!
//! Rounds are compared, and a program may print 999 µs in one and 1.1 ms in the next. So each
//! reader has one unit for times and one for sizes, whatever was printed:
//!
//! | reader | times | else |
//! | --- | --- | --- |
//! | `db_bench` | µs | ops/s |
//! | `criterion` | ns | B/s, elem/s |
//! | `libtest` | ns/iter | MB/s |
//! | `hyperfine` | s | |
//! | `k6` | ms | 1/s, B/s |
//! | `wrk` | ms | 1/s, B/s |
//! | `key-value` | s | B, B/s, and what isn't known as it stands |

mod direction;
mod error;
mod excerpt;
mod figure;
mod lines;
mod number;
mod pointer;
mod reader;
mod reading;
mod unit;

pub use error::MetricError;
pub use figure::{Figure, Pattern};
pub use reader::Reader;
pub use reading::{Better, Reading};
