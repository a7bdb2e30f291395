//! How alike two sample profiles are, and where they differ.
//!
//! The numbers of the whole program are those of `llvm-profdata overlap --sample`
//! (`SampleOverlapAggregator` in `llvm/tools/llvm-profdata/llvm-profdata.cpp`): samples are
//! compared position by position as they are, so profiles of recordings of different lengths
//! overlap little, while the similarity compares shares.

use super::{FunctionSamples, SampleProfile};
use std::collections::{BTreeMap, BTreeSet};

/// One of the two profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Side {
    /// Samples at all positions. LLVM's totals may say otherwise.
    pub samples: u128,
    /// Samples at positions that the other profile does not have.
    pub unique_samples: u128,
    /// Outermost functions.
    pub functions: usize,
    /// Outermost functions that the other profile does not have.
    pub unique_functions: usize,
}

/// What two profiles have in common.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overlap {
    /// 0 to 1: how alike the shares of functions, and of positions within a function, are.
    pub similarity: f64,
    /// 0 to 1: of the samples, the lesser at each position against the greater.
    pub samples: f64,
    /// 0 to 1: of the functions of either, those in both.
    pub functions: f64,
    /// The first profile.
    pub base: Side,
    /// The second one.
    pub test: Side,
}

/// A function in both profiles, or in one (then the other's samples are zero).
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The function.
    pub name: String,
    /// Its samples in the first profile, `None` if it isn't there.
    pub base: Option<u128>,
    /// Its samples in the second.
    pub test: Option<u128>,
    /// Its share of the first profile, 0 to 1.
    pub base_share: f64,
    /// Its share of the second.
    pub test_share: f64,
}

impl Change {
    /// By how much its share grew, -1 to 1.
    pub fn moved(&self) -> f64 {
        self.test_share - self.base_share
    }
}

/// Compares two profiles. `None` if one has no samples.
pub fn compare(base: &SampleProfile, test: &SampleProfile) -> Option<Overlap> {
    let side = |profile: &SampleProfile| Side {
        samples: profile.functions.values().map(samples_of).sum(),
        functions: profile.functions.len(),
        ..Side::default()
    };
    let mut result = Overlap {
        base: side(base),
        test: side(test),
        ..Overlap::default()
    };
    if result.base.samples == 0 || result.test.samples == 0 {
        return None;
    }
    let (mut common, mut union) = (0_u128, 0_u128);
    for (name, samples) in &base.functions {
        let base_samples = samples_of(samples);
        let Some(other) = test.functions.get(name) else {
            result.base.unique_functions += 1;
            result.base.unique_samples += base_samples;
            union += base_samples;
            continue;
        };
        let test_samples = samples_of(other);
        let mut function = Function {
            base_samples,
            test_samples,
            ..Function::default()
        };
        let inner = function.inner_similarity(samples, other);
        result.base.unique_samples += function.base_unique;
        result.test.unique_samples += function.test_unique;
        common += function.common;
        union += function.union;
        let base_share = ratio(base_samples, result.base.samples);
        let test_share = ratio(test_samples, result.test.samples);
        let similarity = inner * (1.0 - (base_share - test_share).abs());
        result.similarity += similarity * (base_share + test_share) / 2.0;
    }
    for (name, samples) in &test.functions {
        if !base.functions.contains_key(name) {
            let samples = samples_of(samples);
            result.test.unique_functions += 1;
            result.test.unique_samples += samples;
            union += samples;
        }
    }
    result.similarity = rounded(result.similarity);
    let all = base.functions.len() + result.test.unique_functions;
    let both = base.functions.len() - result.base.unique_functions;
    result.functions = ratio(both as u128, all as u128);
    result.samples = ratio(common, union);
    Some(result)
}

/// Every function with its samples in both profiles, the one whose share moved most first.
pub fn changes(base: &SampleProfile, test: &SampleProfile) -> Vec<Change> {
    let samples = |profile: &SampleProfile| -> BTreeMap<String, u128> {
        let functions = profile.functions.iter();
        functions.map(|(n, f)| (n.clone(), samples_of(f))).collect()
    };
    changes_of(&samples(base), &samples(test))
}

/// The same for counts of any other kind.
pub fn changes_of(base: &BTreeMap<String, u128>, test: &BTreeMap<String, u128>) -> Vec<Change> {
    let base_total = base.values().sum();
    let test_total = test.values().sum();
    let names: BTreeSet<&String> = base.keys().chain(test.keys()).collect();
    let mut changes: Vec<Change> = names
        .into_iter()
        .map(|name| {
            let (base, test) = (base.get(name).copied(), test.get(name).copied());
            Change {
                name: name.clone(),
                base,
                test,
                base_share: ratio(base.unwrap_or(0), base_total),
                test_share: ratio(test.unwrap_or(0), test_total),
            }
        })
        .collect();
    // Stable, so by name among equals.
    changes.sort_by(|a, b| b.moved().abs().total_cmp(&a.moved().abs()));
    changes
}

/// Samples at all positions of a function, those of inlined copies included.
pub fn samples_of(samples: &FunctionSamples) -> u128 {
    let own: u128 = samples
        .body
        .values()
        .map(|body| u128::from(body.count))
        .sum();
    let copies = samples.call_sites.values().flat_map(BTreeMap::values);
    own + copies.map(samples_of).sum::<u128>()
}

/// How far adding up fractions leads from a plain 0 or 1; as LLVM has it.
const EPSILON: f64 = 0.000_005;

fn rounded(share: f64) -> f64 {
    if (share - 1.0).abs() < EPSILON {
        1.0
    } else {
        share
    }
}

/// Of the shares that functions have of each profile, the lesser, added up: 0 to 1.
pub fn shared(changes: &[Change]) -> f64 {
    let lesser = |change: &Change| change.base_share.min(change.test_share);
    rounded(changes.iter().map(lesser).sum())
}

/// Zero where there is nothing to compare with.
fn ratio(part: u128, whole: u128) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

/// What a function has in both profiles.
#[derive(Default)]
struct Function {
    base_samples: u128,
    test_samples: u128,
    base_unique: u128,
    test_unique: u128,
    common: u128,
    union: u128,
}

impl Function {
    /// 1 less half of the differences of the shares that positions have of the function.
    fn inner_similarity(&mut self, base: &FunctionSamples, test: &FunctionSamples) -> f64 {
        let similarity = 1.0 - self.difference(base, test) / 2.0;
        if similarity.abs() < EPSILON {
            0.0
        } else {
            similarity
        }
    }

    fn difference(&mut self, base: &FunctionSamples, test: &FunctionSamples) -> f64 {
        let mut difference = 0.0;
        let locations: BTreeSet<_> = base.body.keys().chain(test.body.keys()).collect();
        for location in locations {
            let of = |side: &FunctionSamples| {
                let body = side.body.get(location);
                body.map(|body| u128::from(body.count))
            };
            difference += self.position(of(base), of(test));
        }
        let sites: BTreeSet<_> = base
            .call_sites
            .keys()
            .chain(test.call_sites.keys())
            .collect();
        for location in sites {
            let none = BTreeMap::new();
            let base = base.call_sites.get(location).unwrap_or(&none);
            let test = test.call_sites.get(location).unwrap_or(&none);
            let callees: BTreeSet<_> = base.keys().chain(test.keys()).collect();
            for callee in callees {
                difference += match (base.get(callee), test.get(callee)) {
                    (Some(base), Some(test)) => self.difference(base, test),
                    (base, test) => self.position(base.map(samples_of), test.map(samples_of)),
                };
            }
        }
        difference
    }

    fn position(&mut self, base: Option<u128>, test: Option<u128>) -> f64 {
        match (base, test) {
            (Some(samples), None) => self.base_unique += samples,
            (None, Some(samples)) => self.test_unique += samples,
            _ => {}
        }
        let (base, test) = (base.unwrap_or(0), test.unwrap_or(0));
        self.common += base.min(test);
        self.union += base.max(test);
        (ratio(base, self.base_samples) - ratio(test, self.test_samples)).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::super::llvm_text::parse;
    use super::*;

    /// With the numbers that LLVM 22 prints for these.
    #[test]
    fn the_numbers_are_llvms() {
        let base = "main:100:10\n 1: 60 foo:5\n 2.3: 30\n 4: inl:10\n  1: 10\nb:50:5\n 1: 50\nc:5:0\n 1: 5\n";
        let test = "main:80:9\n 1: 40 foo:5\n 2.3: 20\n 4: inl:20\n  1: 20\nb:150:5\n 1: 150\nd:7:0\n 1: 7\n";
        let (base, test) = (parse(base).unwrap(), parse(test).unwrap());
        let overlap = compare(&base, &test).unwrap();
        let percent = |share: f64| format!("{:.3}", share * 100.0);
        assert_eq!(percent(overlap.similarity), "61.867");
        assert_eq!(percent(overlap.samples), "44.118");
        assert_eq!(percent(overlap.functions), "50.000");
        assert_eq!((overlap.base.samples, overlap.test.samples), (155, 237));
        assert_eq!(
            (overlap.base.unique_samples, overlap.test.unique_samples),
            (5, 7)
        );
        assert_eq!(
            (overlap.base.unique_functions, overlap.test.unique_functions),
            (1, 1)
        );

        let changes = changes(&base, &test);
        let names: Vec<_> = changes.iter().map(|change| change.name.as_str()).collect();
        assert_eq!(names, ["b", "main", "c", "d"]);
        assert_eq!((changes[3].base, changes[3].test), (None, Some(7)));
    }

    #[test]
    fn a_profile_is_like_itself_and_not_like_nothing() {
        let profile = parse("a:3:1\n 1: 3\n 2: b:0\n  1: 0\n").unwrap();
        let overlap = compare(&profile, &profile).unwrap();
        assert_eq!(
            (overlap.similarity, overlap.samples, overlap.functions),
            (1.0, 1.0, 1.0)
        );
        assert_eq!(compare(&profile, &SampleProfile::default()), None);
    }
}
