//! Counts by symbol, in a form in which counted and sampled profiles can be held against each
//! other.
//!
//! They count different things: counters how often blocks ran, samples where time went. Function by
//! function their *shares* still tell what one of them has and the other lacks. For that each
//! function has its own counts alone: the samples of a copy that was inlined are those of the
//! function that it is a copy of. And it is known by its symbol, without what tells local functions
//! apart in one form only (`file.c;` or a codegen unit before it, `.llvm.123` behind it): static
//! functions of one name are one here.

use super::instr_text::Record;
use super::names;
use super::sample::consumed::canonical;
use super::sample::{FunctionSamples, SampleProfile};
use super::slice::group_key;
use std::collections::{BTreeMap, BTreeSet};

/// Each function's own counts, by symbol; functions that never ran have zero.
pub type Counts = BTreeMap<String, u128>;

/// Adds what was counted. A function that is listed under several units counts once.
pub fn add_records<'a>(counts: &mut Counts, records: impl IntoIterator<Item = &'a Record>) {
    let mut seen = BTreeSet::new();
    for record in records {
        if !seen.insert(group_key(record)) {
            continue;
        }
        *counts.entry(key(&record.name)).or_default() += record.total();
    }
}

/// Adds what was sampled.
pub fn add_samples(counts: &mut Counts, profile: &SampleProfile) {
    for (name, samples) in &profile.functions {
        let mut todo: Vec<(&str, &FunctionSamples)> = vec![(name, samples)];
        while let Some((name, samples)) = todo.pop() {
            let own = samples.body.values().map(|body| u128::from(body.count));
            *counts.entry(key(name)).or_default() += own.sum::<u128>();
            let copies = samples.call_sites.values().flatten();
            todo.extend(copies.map(|(name, copy)| (name.as_str(), copy)));
        }
    }
}

/// Gives samples of inlined copies to the function that they are inlined in, where that one was
/// counted and the copy's own function hardly was.
///
/// LLVM inlines small functions before it puts counters in: their counts are those of their
/// callers. So what is inlined in a trained function counts as trained with it. That is the
/// benefit of the doubt: which lines of a function counters are of, their profile does not say.
///
/// `counts` are those that `profile` was added to, `training` is what was counted.
pub fn credit(counts: &mut Counts, profile: &SampleProfile, training: &Counts) {
    let (total, trained_total) = (sum(counts), sum(training));
    let hardly: BTreeSet<String> = counts
        .iter()
        .filter(|(name, count)| {
            let trained = training.get(*name).copied().unwrap_or(0);
            ratio(trained, trained_total) < ratio(**count, total) * LITTLE
        })
        .map(|(name, _)| name.clone())
        .collect();
    for (name, samples) in &profile.functions {
        let mut todo: Vec<(&str, &FunctionSamples, Option<String>)> = vec![(name, samples, None)];
        while let Some((name, samples, trained_caller)) = todo.pop() {
            let key = key(name);
            let caller = match (hardly.contains(&key), trained_caller) {
                (true, Some(caller)) => {
                    let own: u128 = samples.body.values().map(|b| u128::from(b.count)).sum();
                    if let Some(count) = counts.get_mut(&key) {
                        *count = count.saturating_sub(own);
                    }
                    *counts.entry(caller.clone()).or_default() += own;
                    Some(caller)
                }
                (true, None) => None,
                (false, _) => Some(key),
            };
            let copies = samples.call_sites.values().flatten();
            todo.extend(copies.map(|(name, copy)| (name.as_str(), copy, caller.clone())));
        }
    }
}

fn sum(counts: &Counts) -> u128 {
    counts.values().sum()
}

fn ratio(part: u128, whole: u128) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 / whole as f64,
    }
}

fn key(name: &str) -> String {
    canonical(names::symbol(name), |_| false).to_owned()
}

/// A function that is hot in one profile, and less so in a training.
#[derive(Debug, Clone, PartialEq)]
pub struct Missing {
    /// Its symbol.
    pub name: String,
    /// Its share of the profile that it is hot in, 0 to 1.
    pub share: f64,
    /// Its share of the training; `None` if the training does not know it.
    pub trained: Option<f64>,
}

/// What a training has of another profile.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Coverage {
    /// The lesser of the two shares of each function, added up: 0 to 1.
    pub overlap: f64,
    /// Share of the other profile's counts that is in functions that the training ran.
    pub ran: f64,
    /// Hot functions that were trained little or not at all, hottest first.
    pub missing: Vec<Missing>,
}

/// A share of this size is worth a line.
pub const HOT: f64 = 0.001;
/// A function with less than this part of its share was hardly trained.
pub const LITTLE: f64 = 0.1;

/// Holds a profile against a training. `None` if one of them has no counts.
pub fn coverage(training: &Counts, other: &Counts) -> Option<Coverage> {
    let (trained_total, total) = (sum(training), sum(other));
    if trained_total == 0 || total == 0 {
        return None;
    }
    let mut coverage = Coverage::default();
    let names: BTreeSet<&String> = training.keys().chain(other.keys()).collect();
    for name in names {
        let count = other.get(name).copied().unwrap_or(0);
        let share = ratio(count, total);
        let trained = training.get(name).map(|count| ratio(*count, trained_total));
        let part = trained.unwrap_or(0.0);
        coverage.overlap += share.min(part);
        if part > 0.0 {
            coverage.ran += share;
        }
        if share >= HOT && part < share * LITTLE {
            coverage.missing.push(Missing {
                name: name.clone(),
                share,
                trained,
            });
        }
    }
    coverage.missing.sort_by(|a, b| b.share.total_cmp(&a.share));
    Some(coverage)
}

#[cfg(test)]
mod tests {
    use super::super::sample::llvm_text;
    use super::*;

    fn record(name: &str, count: u64) -> Record {
        Record {
            name: name.into(),
            counters: vec![count],
            ..Record::default()
        }
    }

    #[test]
    fn inlined_copies_count_for_their_function_and_locals_have_plain_names() {
        let mut sampled = Counts::new();
        let text = "main:15:6\n 1: 10\n 4: helper:5\n  1: 3\n  2: deep:2\n   1: 2\n\
                    helper.llvm.99:4:1\n 1: 4\n";
        add_samples(&mut sampled, &llvm_text::parse(text).unwrap());
        let mut counted = Counts::new();
        let records = [
            record("a.c;helper", 1),
            record("b.c;helper", 2),
            record("app.0123456789abcdef-cgu.3;_RNvC3app5local", 5),
            record("app.0123456789abcdef-cgu.4;_RNvC3app5local", 5),
        ];
        add_records(&mut counted, &records);
        let shown = |counts: &Counts| format!("{counts:?}");
        assert_eq!(shown(&sampled), r#"{"deep": 2, "helper": 7, "main": 10}"#);
        assert_eq!(shown(&counted), r#"{"_RNvC3app5local": 5, "helper": 3}"#);
    }

    #[test]
    fn what_is_inlined_in_a_trained_function_is_trained_with_it() {
        let text = "main:60:6\n 1: 10\n 4: small:50\n  1: 20\n  2: step:30\n   1: 30\n\
                    cold:40:1\n 1: 10\n 2: small:30\n  1: 30\n";
        let profile = llvm_text::parse(text).unwrap();
        let mut counts = Counts::new();
        add_samples(&mut counts, &profile);
        let mut training = Counts::new();
        let records = [record("main", 70), record("step", 30), record("cold", 0)];
        add_records(&mut training, &records);
        credit(&mut counts, &profile, &training);
        // `small` was inlined before it could be counted; in `cold` that is no excuse.
        let shown = format!("{counts:?}");
        assert_eq!(
            shown,
            r#"{"cold": 10, "main": 30, "small": 30, "step": 30}"#
        );
        let missing = coverage(&training, &counts).unwrap().missing;
        let missing: Vec<_> = missing.iter().map(|missing| &*missing.name).collect();
        assert_eq!(missing, ["small", "cold"]);
    }

    #[test]
    fn what_is_hot_and_was_hardly_trained_is_named() {
        let counts = |list: &[(&str, u128)]| -> Counts {
            let list = list.iter();
            list.map(|(name, count)| ((*name).to_owned(), *count))
                .collect()
        };
        let training = counts(&[("a", 990), ("b", 10), ("zero", 0)]);
        let other = counts(&[("a", 50), ("b", 20), ("zero", 10), ("new", 19), ("cold", 1)]);
        let found = coverage(&training, &other).unwrap();
        assert!((found.ran - 0.70).abs() < 1e-9 && (found.overlap - 0.51).abs() < 1e-9);
        let missing: Vec<_> = found
            .missing
            .iter()
            .map(|missing| (missing.name.as_str(), missing.trained))
            .collect();
        assert_eq!(
            missing,
            [
                ("b", Some(0.01)),
                ("new", None),
                ("zero", Some(0.0)),
                ("cold", None)
            ]
        );
        assert_eq!(coverage(&training, &counts(&[("a", 0)])), None);
    }
}
