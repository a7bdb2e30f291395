//! Accounts of what is compiled with the profile of its own binary: each such slice is held against
//! the words of its own objects, so that a function of one binary is not taken for its namesake.

use super::build::Built;
use super::census::Compiled;
use super::optimize::OptimizeError;
use crate::config::Profiles;
use crate::plan::{Own, PhasePlan, Slice};
use crate::profile::evidence::Evidence;
use crate::profile::instr_text::Record;
use crate::profile::sample::SampleProfile;
use crate::profile::sample::consumed::weight;
use crate::shim::evidence;
use crate::store::campaign::{self, Campaign};
use fdo_build::protocol::{self, Language};
use std::collections::{BTreeMap, HashMap};

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
        if binary.own.is_empty() {
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
        });
    }
    Ok(all)
}

/// Takes what single binaries' own slices have out of the whole profile: what is left is of code that
/// is compiled with that.
pub(super) fn subtract<'r>(whole: &mut Vec<Record>, own: impl Iterator<Item = &'r Record>) {
    let mut by_key: HashMap<(&str, u64), Vec<&Record>> = HashMap::new();
    for record in own {
        let same = by_key.entry((&record.name, record.hash)).or_default();
        same.push(record);
    }
    whole.retain_mut(|record| {
        let key = (record.name.as_str(), record.hash);
        let Some(own) = by_key.get(&key) else {
            return true;
        };
        for own in own {
            for (count, less) in record.counters.iter_mut().zip(&own.counters) {
                *count = count.saturating_sub(*less);
            }
        }
        record.total() > 0
    });
}

/// The same for samples, where a function stays whole if not all of its samples are in own slices.
pub(super) fn subtract_samples<'p>(
    whole: &mut SampleProfile,
    own: impl Iterator<Item = &'p SampleProfile>,
) {
    let mut sums: HashMap<&str, u128> = HashMap::new();
    for (name, samples) in own.flat_map(|profile| &profile.functions) {
        *sums.entry(name).or_default() += weight(samples);
    }
    whole
        .functions
        .retain(|name, samples| match sums.get(name.as_str()) {
            Some(own) => weight(samples) > *own,
            None => true,
        });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample::llvm_text;

    fn record(name: &str, hash: u64, counters: &[u64]) -> Record {
        Record {
            name: name.into(),
            hash,
            counters: counters.into(),
            ..Record::default()
        }
    }

    #[test]
    fn what_is_left_of_the_whole_is_nobodys_own() {
        let mut whole = vec![
            record("main", 1, &[5, 2]),
            record("main", 2, &[1]),
            record("inline", 3, &[9, 1]),
            record("library", 4, &[7]),
        ];
        let own = [
            record("main", 1, &[3, 2]),
            record("main", 1, &[2, 0]),
            record("inline", 3, &[4, 1]),
        ];
        subtract(&mut whole, own.iter());
        let left = [
            record("main", 2, &[1]),
            record("inline", 3, &[5, 0]),
            record("library", 4, &[7]),
        ];
        assert_eq!(whole, left);
    }

    #[test]
    fn a_function_is_in_the_whole_if_others_have_samples_of_it() {
        let parse = |text: &str| llvm_text::parse(text).unwrap();
        let mut whole = parse("main:30:1\n 1: 30\ninline:20:1\n 1: 20\n");
        let own = [
            parse("main:10:1\n 1: 10\n"),
            parse("main:20:1\n 1: 20\ninline:5:1\n 1: 5\n"),
        ];
        subtract_samples(&mut whole, own.iter());
        let left: Vec<_> = whole.functions.keys().map(String::as_str).collect();
        assert_eq!(left, ["inline"]);
    }
}
