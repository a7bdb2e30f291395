//! Adding sample profiles up, each with a weight.
//!
//! The same as `llvm-profdata merge --sample -weighted-input=W,FILE` (`FunctionSamples::merge` in
//! `llvm/ProfileData/SampleProf.h`), and with weights of one as autofdo's `profile_merger`, but
//! that nothing is dropped for being small or empty.

use super::{FunctionSamples, SampleProfile};
use std::collections::BTreeSet;

/// Adds `other`, each count times `weight`, to `sum`. Counts saturate.
///
/// Returns the functions, outermost ones, whose control-flow graph (`!CFGChecksum`) is another one
/// in each: their samples can't be added, those of `sum` stay.
pub fn add(sum: &mut SampleProfile, other: &SampleProfile, weight: u64) -> BTreeSet<String> {
    let mut mismatched = BTreeSet::new();
    for (name, samples) in &other.functions {
        match sum.functions.get_mut(name) {
            Some(own) => {
                if !add_function(own, samples, weight) {
                    mismatched.insert(name.clone());
                }
            }
            None => {
                let mut new = empty_like(samples);
                add_function(&mut new, samples, weight);
                sum.functions.insert(name.clone(), new);
            }
        }
    }
    mismatched
}

/// Adds one function, or inlined copy. False if it or a copy in it has another checksum; such a
/// copy is left as it was.
pub fn add_function(sum: &mut FunctionSamples, other: &FunctionSamples, weight: u64) -> bool {
    match sum.checksum {
        // LLVM: what had none takes over the other's, but not the other way round.
        None => sum.checksum = other.checksum,
        own if own != other.checksum => return false,
        Some(_) => {}
    }
    let plus = |own: &mut u64, count: u64| {
        *own = own.saturating_add(count.saturating_mul(weight));
    };
    plus(&mut sum.total, other.total);
    plus(&mut sum.head, other.head);
    for (location, body) in &other.body {
        let own = sum.body.entry(*location).or_default();
        plus(&mut own.count, body.count);
        for (name, count) in &body.targets {
            match own.targets.get_mut(name) {
                Some(own) => plus(own, *count),
                None => {
                    own.targets
                        .insert(name.clone(), count.saturating_mul(weight));
                }
            }
        }
    }
    let mut same = true;
    for (location, site) in &other.call_sites {
        let own = sum.call_sites.entry(*location).or_default();
        for (name, copy) in site {
            match own.get_mut(name) {
                Some(own) => same &= add_function(own, copy, weight),
                None => {
                    let mut new = empty_like(copy);
                    add_function(&mut new, copy, weight);
                    own.insert(name.clone(), new);
                }
            }
        }
    }
    same
}

/// Attributes are not merged: the first profile with a function decides.
fn empty_like(samples: &FunctionSamples) -> FunctionSamples {
    FunctionSamples {
        attributes: samples.attributes,
        ..FunctionSamples::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::llvm_text::{parse, write};
    use super::*;

    fn merged(profiles: &[(u64, &str)]) -> (String, Vec<String>) {
        let mut sum = SampleProfile::default();
        let mut mismatched = BTreeSet::new();
        for (weight, text) in profiles {
            mismatched.extend(add(&mut sum, &parse(text).unwrap(), *weight));
        }
        (write(&sum).text, mismatched.into_iter().collect())
    }

    #[test]
    fn counts_are_added_up_by_weight() {
        let a = "main:10:2\n 1: 7 f:3 g:1\n 4: h:3\n  1: 3\n";
        let b = "main:9:1\n 1: 1 g:1\n 1.2: 2\n 4: h:2\n  2: 2\n 4: i:4\n  1: 4\nonly:1:1\n 1: 1\n";
        assert_eq!(
            merged(&[(3, a), (2, b)]).0,
            "main:48:8\n 1: 23 f:9 g:5\n 1.2: 4\n 4: h:13\n  1: 9\n  2: 4\n 4: i:8\n  1: 8\n\
             only:2:2\n 1: 2\n"
        );
    }

    #[test]
    fn counts_saturate() {
        let max = u64::MAX;
        let text = format!("a:{max}:2\n 1: {max} b:{max}\n");
        assert_eq!(
            merged(&[(3, &text), (1, &text)]).0,
            format!("a:{max}:8\n 1: {max} b:{max}\n")
        );
    }

    #[test]
    fn of_two_control_flow_graphs_the_first_stays() {
        let a = "f:1:1\n 1: 1\n !CFGChecksum: 5\n !Attributes: 1\n";
        let b = "f:2:2\n 1: 2\n !CFGChecksum: 6\n !Attributes: 2\n";
        assert_eq!(
            merged(&[(1, a), (1, b)]),
            (a.to_owned(), vec!["f".to_owned()])
        );
        assert_eq!(
            merged(&[(1, a), (1, a)]).0,
            "f:2:2\n 1: 2\n !CFGChecksum: 5\n !Attributes: 1\n"
        );
    }
}
