//! Accounts of what is compiled with the profile of its own binary: each such slice is held against
//! the words of its own objects, so that a function of one binary is not taken for its namesake.

use super::build::Built;
use super::census::Compiled;
use super::optimize::OptimizeError;
use crate::config::Profiles;
use crate::plan::{Own, PhasePlan, Slice};
use crate::profile::evidence::Evidence;
use crate::shim::evidence;
use crate::store::campaign::{self, Campaign, CmakeTarget, Owner};
use fdo_build::protocol::{self, Language};
use std::collections::BTreeMap;

/// Makes the slices of single binaries that compilers of this run read: `c` for clang, `gcc` for gcc,
/// each of a slice of the campaign.
pub(super) fn slices(
    campaign: &Campaign,
    profiles: Profiles,
    c: impl Fn(&str) -> Result<Option<Slice>, OptimizeError>,
    gcc: impl Fn(&str) -> Result<Option<Slice>, OptimizeError>,
) -> Result<Vec<Own>, OptimizeError> {
    let mut all = Vec::new();
    if profiles == Profiles::Merged {
        return Ok(all);
    }
    for binary in &campaign.manifest.binaries {
        let Some(target) = &binary.target else {
            continue;
        };
        if !binary.left_out && binary.own.is_empty() {
            continue;
        }
        let name = |slice: &str| binary.own.get(slice).cloned().unwrap_or_default();
        let (c_name, gcc_name) = (name(campaign::C), name(campaign::GCC));
        all.push(Own {
            target: target.clone(),
            pins: binary.limits.into(),
            c: c(&c_name)?,
            c_name,
            gcc: gcc(&gcc_name)?,
            gcc_name,
            left_out: binary.left_out,
        });
    }
    Ok(all)
}

/// Whether a target's objects have an order of their own.
fn has_order(plan: &PhasePlan, target: &CmakeTarget) -> bool {
    let package = protocol::package_id(&target.project, protocol::NO_VERSION);
    let id = protocol::target_id(&package, &target.name);
    plan.orders.own.contains_key(&(id, Language::C))
}

/// Whether nothing that is compiled with the whole profile has a function: all of its targets are
/// compiled with their own.
pub(super) fn is_all_own(owner: Option<&Owner>, plan: &PhasePlan) -> bool {
    let Some(owner) = owner else { return false };
    let Some(first) = &owner.target else {
        return false;
    };
    owner.also.iter().chain([first]).all(|name| {
        let target = CmakeTarget {
            project: owner.package.clone(),
            name: name.clone(),
        };
        has_order(plan, &target)
    })
}

/// What a build did with a binary's own slice.
pub(super) struct OfTarget {
    /// The package that its code is of.
    pub package: String,
    /// Whether this build makes it.
    pub is_built: bool,
    /// What the compilers of its objects said.
    pub said: Evidence,
}

/// Looks at one binary's objects; `None` if they are compiled with another slice than `hash`.
pub(super) fn look(
    own: &Own,
    hash: &str,
    plan: &PhasePlan,
    built: &Built,
    objects: &BTreeMap<String, Compiled>,
) -> Option<OfTarget> {
    let package = protocol::package_id(&own.target.project, protocol::NO_VERSION);
    let id = protocol::target_id(&package, &own.target.name);
    let order = plan.orders.own.get(&(id, Language::C))?;
    if order.slice != hash {
        return None;
    }
    let native = crate::workspace::native_id(&own.target.project);
    let mut builds = built.natives.iter();
    let mut said = Evidence::default();
    for object in objects.get(&package).iter().flat_map(|it| &it.objects) {
        if object.slice == hash {
            said.merge(evidence::words(&object.words));
        }
    }
    Some(OfTarget {
        is_built: builds
            .any(|build| build.package == native && build.targets.contains(&own.target.name)),
        package,
        said,
    })
}
