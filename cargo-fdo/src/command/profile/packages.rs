//! Which packages a profile's counts are of, as far as names say it.
//!
//! A Rust function names its crate. A C function names nothing; but a campaign has a list of those
//! beside its profiles, so that its files can be shown by package.

use crate::profile::names;
use crate::store::campaign::{self, Owners};
use std::collections::BTreeMap;
use std::path::Path;

/// The part that a package has of a profile.
#[derive(Debug, serde::Serialize)]
pub(super) struct Package {
    /// The crate, or the package of C functions, or words for what names none.
    pub(super) name: String,
    /// Sum of its counts.
    pub(super) count: u128,
    /// Of the whole profile, 0 to 1.
    pub(super) share: f64,
    /// Its functions with counts.
    pub(super) functions: usize,
}

/// The packages of a file's functions, most counts first.
pub(super) fn of(file: &Path, counts: &BTreeMap<String, u128>) -> Vec<Package> {
    let owners = campaign::owners_beside(file).unwrap_or_default();
    let mut sums: BTreeMap<&str, (u128, usize)> = BTreeMap::new();
    for (function, &count) in counts.iter().filter(|(_, count)| **count > 0) {
        let sum = sums.entry(package(function, &owners)).or_default();
        sum.0 += count;
        sum.1 += 1;
    }
    let total: u128 = counts.values().sum();
    let mut packages: Vec<Package> = sums
        .into_iter()
        .map(|(name, (count, functions))| Package {
            name: name.to_owned(),
            count,
            share: count as f64 / total.max(1) as f64,
            functions,
        })
        .collect();
    // Stable, so by name among equals.
    packages.sort_by_key(|package| std::cmp::Reverse(package.count));
    packages
}

fn package<'a>(function: &'a str, owners: &'a Owners) -> &'a str {
    match (owners.get(function), names::rust_crate(function)) {
        (Some(owner), _) => &owner.package,
        (None, Some(krate)) => krate,
        (None, None) if names::is_rust(function) => "Rust that names no crate",
        (None, None) => "C, C++ and what names no crate",
    }
}
