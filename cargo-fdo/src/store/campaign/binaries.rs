//! What a manifest says of each program and shared library that has counts.

use super::LimitsEntry;
use crate::profile::summary::Limits;
use fdo_build::flags::Pins;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A program or shared library of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BinaryEntry {
    /// Its file's name.
    pub name: String,
    /// The target of cmake's that it is, if cmake built it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<CmakeTarget>,
    /// Its share of all counts, or of all samples in files, 0 to 1.
    pub share: f64,
    /// The same by workload.
    pub workloads: Vec<WorkloadShare>,
    /// Functions with counts.
    pub functions: u64,
    /// Whether it has too few samples (`min-share`), and is not in the profile.
    pub left_out: bool,
    /// Profiles of it alone, beside the manifest; none where the whole profile is its own.
    pub files: Vec<String>,
    /// Which slices its own objects can be compiled with, by the name of the slice that they stand
    /// for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, String>,
    /// Hot and cold limits of its own profile.
    pub limits: LimitsEntry,
}

/// A target of a project that cmake builds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CmakeTarget {
    /// The project's name, as that of a package.
    pub project: String,
    /// The target's.
    pub name: String,
}

/// A part of one workload's counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadShare {
    /// The workload.
    pub workload: String,
    /// 0 to 1.
    pub share: f64,
}

impl From<Limits> for LimitsEntry {
    fn from(limits: Limits) -> LimitsEntry {
        LimitsEntry {
            hot: limits.hot,
            cold: limits.cold,
            huge_working_set: limits.huge_working_set,
            large_working_set: limits.large_working_set,
        }
    }
}

impl From<LimitsEntry> for Pins {
    fn from(limits: LimitsEntry) -> Pins {
        Pins {
            hot: limits.hot,
            cold: limits.cold,
            huge_working_set: limits.huge_working_set,
            large_working_set: limits.large_working_set,
        }
    }
}
