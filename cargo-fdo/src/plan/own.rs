//! Orders of single targets of cmake's, whose objects are compiled with the profile of their own
//! binary.

use super::{Inputs, Slice, Slices, c_order};
use crate::config::PackagePolicy;
use crate::shim::treatment::target_is_excluded;
use crate::store::campaign::CmakeTarget;
use fdo_build::flags::{Counters, Pins};
use fdo_build::protocol::{self, Language, Order, Phase};
use std::collections::BTreeMap;

/// The slices for one program or shared library, on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// The target that makes it.
    pub target: CmakeTarget,
    /// Limits of its own profile.
    pub pins: Pins,
    /// For clang.
    pub c: Option<Slice>,
    /// Its name in the campaign.
    pub c_name: String,
    /// For gcc.
    pub gcc: Option<Slice>,
    /// Its name in the campaign.
    pub gcc_name: String,
}

/// Adds orders for the targets of a project that have slices of their own, and their names to the
/// project's order.
///
/// What is compiled for a program or shared library of its own runs nowhere else, so that its own
/// profile knows it better than one in which functions of that name of other programs are added.
/// Code of libraries that go into several has the profile of all; so has a target that was not seen to
/// run, or too seldom: another one may be of the same sources.
pub(super) fn add_orders(
    inputs: Inputs<'_>,
    slices: &Slices,
    policy: &PackagePolicy,
    project: &str,
    base: &mut Order,
    all: &mut BTreeMap<(String, Language), Order>,
) {
    if !policy.c || policy.counters != Counters::Ir {
        return;
    }
    let package = protocol::package_id(project, protocol::NO_VERSION);
    let of_project = slices
        .own
        .iter()
        .filter(|own| own.target.project == project);
    for own in of_project {
        let name = &own.target.name;
        if !fits_in_a_file(name) || target_is_excluded(base, Some(name)) {
            continue;
        }
        let instead = Slices {
            pins: own.pins,
            c: own.c.clone(),
            gcc: own.gcc.clone(),
            own: Vec::new(),
            ..slices.clone()
        };
        let mut order = c_order(Phase::Optimize, inputs, Some(&instead), policy);
        // The compiler of this run may be another one than that of the training.
        if order.slice.is_empty() {
            continue;
        }
        order.basis.clone_from(&base.basis);
        order.exclude_targets.clone_from(&base.exclude_targets);
        order.profile_targets.clone_from(&base.profile_targets);
        base.own_targets.push(name.clone());
        all.insert((protocol::target_id(&package, name), Language::C), order);
    }
}

/// Whether a target's name can stand in the name of an order and in its lines; without policy CMP0037
/// cmake takes any.
fn fits_in_a_file(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\n', '\0'])
}
