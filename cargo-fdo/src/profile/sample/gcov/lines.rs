//! A profile as gcc before 13 looks things up in it.
//!
//! These versions write discriminators into debug information and read profiles without them
//! (`get_combined_location` and `read_function_instance` in `gcc/auto-profile.cc`): of the positions of
//! one line the last one in the file stands for all, and an inlined copy at a position with a
//! discriminator is never found. So one position of each line is written, with the largest count of
//! a block on it.
//!
//! Two more things follow from how they use counts, of all versions that were tried:
//!
//! * A count of zero before a loop that ran ends gcc 12 with "internal compiler error: Floating point
//!   exception" in `vect_do_peeling`. Samples say so of many loops. What is in a sampled function
//!   counts one at least.
//! * The counts of a function are scaled to its entry count afterwards (`execute_fixup_cfg`). An entry that
//!   was sampled less often than the first block of the body makes a hot function cold; it gets the
//!   count of its first line then.
//!
//! gcc 12, instructions of SQLite (valgrind's callgrind) in percent of the build without a profile, from one
//! recording: with the positions as they are the compiler crashes; with ones for zeros 96.9; with one position a line
//! as well 96.2, whatever becomes of the entry counts.

use super::super::{FunctionSamples, Location, SampleProfile};
use std::collections::BTreeMap;

/// The first version of gcc that knows a block of a line by its discriminator.
const WITH_DISCRIMINATORS: u32 = 13;

/// The profile for a gcc of this major version.
pub fn for_gcc(profile: &SampleProfile, major: u32) -> SampleProfile {
    let functions = profile.functions.iter().map(|(name, samples)| {
        let mut samples = match major < WITH_DISCRIMINATORS {
            true => by_line(samples),
            false => samples.clone(),
        };
        lift(&mut samples);
        samples.head = samples.head.max(first_line(&samples)).max(1);
        (name.clone(), samples)
    });
    SampleProfile {
        functions: functions.collect(),
    }
}

/// One position for each line.
fn by_line(samples: &FunctionSamples) -> FunctionSamples {
    let line = |location: &Location| Location {
        discriminator: 0,
        ..*location
    };
    let mut result = FunctionSamples {
        body: BTreeMap::new(),
        call_sites: BTreeMap::new(),
        ..samples.clone()
    };
    for (location, body) in &samples.body {
        let own = result.body.entry(line(location)).or_default();
        own.count = own.count.max(body.count);
        for (name, count) in &body.targets {
            let target = own.targets.entry(name.clone()).or_default();
            *target = target.saturating_add(*count);
        }
    }
    for (location, site) in &samples.call_sites {
        let own = result.call_sites.entry(line(location)).or_default();
        for (name, copy) in site {
            let copy = by_line(copy);
            match own.get_mut(name) {
                Some(known) => absorb(known, copy),
                None => _ = own.insert(name.clone(), copy),
            }
        }
    }
    result
}

/// Two copies of one function on one line: blocks that gcc will not tell apart.
fn absorb(into: &mut FunctionSamples, other: FunctionSamples) {
    into.total = into.total.saturating_add(other.total);
    for (location, body) in other.body {
        let own = into.body.entry(location).or_default();
        own.count = own.count.max(body.count);
        for (name, count) in body.targets {
            let target = own.targets.entry(name).or_default();
            *target = target.saturating_add(count);
        }
    }
    for (location, site) in other.call_sites {
        let own = into.call_sites.entry(location).or_default();
        for (name, copy) in site {
            match own.get_mut(&name) {
                Some(known) => absorb(known, copy),
                None => _ = own.insert(name, copy),
            }
        }
    }
}

fn lift(samples: &mut FunctionSamples) {
    for body in samples.body.values_mut() {
        body.count = body.count.max(1);
    }
    let copies = samples
        .call_sites
        .values_mut()
        .flat_map(BTreeMap::values_mut);
    copies.for_each(lift);
}

/// The largest count on the first line of the body and before.
fn first_line(samples: &FunctionSamples) -> u64 {
    let is_before = |offset: u32| offset > u32::from(u16::MAX) / 2;
    let lines = samples.body.keys().chain(samples.call_sites.keys());
    // Offsets are modulo 2^16: what is before the declaration is no start.
    let first = lines
        .map(|location| location.offset)
        .filter(|offset| *offset > 0 && !is_before(*offset))
        .min();
    let is_first = |location: &Location| Some(location.offset) == first || location.offset == 0;
    let own = samples.body.iter().filter(|(at, _)| is_first(at));
    let inlined = samples.call_sites.iter().filter(|(at, _)| is_first(at));
    let own = own.map(|(_, body)| body.count);
    let inlined = inlined.flat_map(|(_, site)| site.values()).map(first_line);
    own.chain(inlined).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample::llvm_text;

    fn written(text: &str, major: u32) -> String {
        llvm_text::write(&for_gcc(&llvm_text::parse(text).unwrap(), major)).text
    }

    const TWO_BLOCKS_A_LINE: &str = "f:0:3\n 0: 3\n 1: 5\n 1.2: 90\n 4: 0\n 6: 7\n 1.1: g:2\n  1: 2\n 1.3: g:4\n  1: 4\n  2: 0\n";

    #[test]
    fn before_gcc_13_a_line_has_one_position_with_its_largest_count() {
        let profile = llvm_text::parse(&written(TWO_BLOCKS_A_LINE, 12)).unwrap();
        let f = &profile.functions["f"];
        let at = |offset| Location {
            offset,
            discriminator: 0,
        };
        let counts: Vec<u64> = [0, 1, 4, 6].map(|line| f.body[&at(line)].count).into();
        assert_eq!(counts, [3, 90, 1, 7]);
        assert_eq!(f.body.len(), 4);
        let inlined = &f.call_sites[&at(1)]["g"];
        let counts: Vec<u64> = inlined.body.values().map(|body| body.count).collect();
        assert_eq!(counts, [4, 1]);
        // As often as the first line.
        assert_eq!(f.head, 90);
    }

    #[test]
    fn later_versions_know_blocks_but_no_zeros() {
        let profile = llvm_text::parse(&written(TWO_BLOCKS_A_LINE, 14)).unwrap();
        let f = &profile.functions["f"];
        assert_eq!(f.body.len(), 5);
        assert!(f.body.values().all(|body| body.count > 0));
        assert_eq!(f.call_sites.len(), 2);
    }

    #[test]
    fn lines_before_the_declaration_are_no_start() {
        let profile = llvm_text::parse(&written("f:0:0\n 2: 4\n 65530: 1000\n", 12)).unwrap();
        assert_eq!(profile.functions["f"].head, 4);
    }
}
