//! What measured values say: summaries, outliers, and by how much one program differs from another.
//!
//! Knows no other module of ours (a test checks), and decides nothing: it says how sure a
//! difference is, and callers say what is to be done about it.
//!
//! ```text
//! values of one program ──> Summary, quantile, outliers
//! pairs of values, one a round ── logs of ratios ──> mean ──> Ratio
//!                                   │                           ↑ interval, p-value
//!                                   └──> bootstrap, student ────┘
//! ```
//!
//! Programs are compared by the *ratio* of what was measured in the same round. What slows a
//! machine down slows both programs of a round down, by a factor rather than by an amount; the
//! ratio is free of it, and logarithms make factors into sums, for which the statistics are.
//! The mean of logarithms is the geometric mean: that of `b/a` is the inverse of that of `a/b`,
//! so it does not matter which of the programs is called the baseline.
//!
//! Words: a *pair* is one value of each program, measured in the same *round*. An *interval*
//! is one that holds the true ratio in 95 of 100 experiments.

mod bootstrap;
mod moments;
mod outliers;
mod overall;
mod quantile;
mod ratio;
mod split_mix;
mod student;
mod summary;
#[cfg(test)]
mod tests;
mod unpaired;

pub use outliers::{Outlier, outliers};
pub use overall::overall_ratio;
pub use quantile::quantile;
pub use ratio::{Ratio, RatioError, geometric_mean, paired_ratio};
pub use summary::Summary;
pub use unpaired::unpaired_ratio;
