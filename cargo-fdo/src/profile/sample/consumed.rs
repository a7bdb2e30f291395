//! How much of a sampled profile the compilers really used.
//!
//! LLVM says how many samples it applied in which function ([`super::applied`]). A function's own
//! samples and those of copies inlined in it are one sum, as LLVM says it after its own inlining by
//! the profile. Where it decides against inlining a copy, it moves the copy's samples to the
//! function itself (`-sample-profile-merge-inlinee`), which then has more than its profile: the
//! surplus is credited to those that lack it.
//!
//! Even of a profile of this very code LLVM does not apply all: it looks at no branch, and lines
//! that only a later optimisation makes an instruction of have none when it looks. So functions
//! are judged, like those with counters: one counts as used, all of it, if a quarter of its samples
//! was applied. Measured on profiles without branch stacks:
//!
//! ```text
//!                                                samples   in functions with
//!                                                applied   1/2    1/4    1/10 applied
//! Rust, pulldown-cmark and serde_json, fresh     58 %      84 %   89 %   91 %
//! the same, all positions moved by a line         4 %       0 %    3 %   13 %
//! C, SQLite, fresh                               73 %
//! ```
//!
//! gcc only shows the counts of blocks that it ended up with. There a function counts as used if
//! its highest count is at least a quarter of the profile's: a function that was changed so that its
//! hot part is not found does not reach that. Not all, because the hottest place may be in a copy
//! that gcc did not inline. (Later versions of gcc scale counts up, never down.) gcc 12, SQLite:
//!
//! ```text
//!                                     functions whose highest count is at least 1/2    1/4    1/10
//! fresh                                                                        68 %   91 %   92 %
//! the same, all positions moved by a line                                      61 %   65 %   82 %
//! ```

use super::FunctionSamples;
use super::applied::ByFunction;
use super::cpp_names;
use crate::profile::consumed::{Consumed, Fate, Language, Lost, Reason, Share};
use crate::profile::evidence::Evidence;
use std::collections::BTreeMap;

/// The part of a function's samples, or for gcc of its highest count, one in so many, from which on
/// it was used.
const ONE_IN: u128 = 4;

/// Whose compiler reads a function's samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// rustc or clang.
    Llvm,
    /// gcc.
    Gcc,
}

/// An outermost function of a profile, and what is known of it.
#[derive(Debug, Clone)]
pub struct Function<'a> {
    /// Its name in the profile.
    pub name: &'a str,
    /// Its samples.
    pub samples: &'a FunctionSamples,
    /// Who reads them.
    pub reader: Reader,
    /// What made it.
    pub language: Language,
    /// The package that it is from.
    pub package: String,
}

/// All samples at positions of a function and of the copies inlined in it.
pub fn weight(samples: &FunctionSamples) -> u128 {
    let mut sum: u128 = 0;
    samples.visit(&mut |copy| {
        sum += copy
            .body
            .values()
            .map(|body| u128::from(body.count))
            .sum::<u128>();
    });
    sum
}

/// Compares functions of a profile with what the compilers said. Functions without samples don't
/// matter. `keep_lost` bounds [`Consumed::lost`].
pub fn consumed(functions: &[Function<'_>], said: &Evidence, keep_lost: usize) -> Consumed {
    let known: BTreeMap<&str, usize> = functions
        .iter()
        .enumerate()
        .filter(|(_, function)| function.reader == Reader::Llvm)
        .map(|(at, function)| (function.name, at))
        .collect();
    let weights: Vec<u128> = functions
        .iter()
        .map(|function| weight(function.samples))
        .collect();
    let mut used = vec![0_u128; functions.len()];
    let mut surplus: BTreeMap<&str, u128> = BTreeMap::new();
    for (name, &count) in &said.samples {
        let name = canonical(name, |name| known.contains_key(name));
        let mut rest = u128::from(count);
        if let Some(&at) = known.get(name)
            && let (Some(used), Some(&weight)) = (used.get_mut(at), weights.get(at))
        {
            let taken = rest.min(weight.saturating_sub(*used));
            *used += taken;
            rest -= taken;
        }
        if rest > 0 {
            *surplus.entry(name).or_default() += rest;
        }
    }
    let mut seen = vec![false; functions.len()];
    for (at, function) in functions.iter().enumerate() {
        let (Some(used), Some(&weight)) = (used.get_mut(at), weights.get(at)) else {
            continue;
        };
        match function.reader {
            Reader::Llvm if *used < weight && !surplus.is_empty() => {
                *used += credit(function.samples, weight - *used, &mut surplus);
            }
            Reader::Llvm => {}
            Reader::Gcc => {
                if let Some(peak) = peak_of(function.name, &said.peaks) {
                    if let Some(seen) = seen.get_mut(at) {
                        *seen = true;
                    }
                    if is_used(peak.into(), highest(function.samples).into()) {
                        *used = weight;
                    }
                }
            }
        }
    }

    let mut result = Consumed::default();
    let mut packages: BTreeMap<String, Share> = BTreeMap::new();
    for (((function, &weight), &used), &seen) in
        functions.iter().zip(&weights).zip(&used).zip(&seen)
    {
        if weight == 0 {
            continue;
        }
        let consumed = is_used(used, weight);
        let reason = match consumed {
            true => None,
            false if used > 0 || seen => Some(Reason::FewApplied),
            false => Some(Reason::NotSeen),
        };
        result.hottest.push(Fate {
            name: function.name.to_owned(),
            count: weight,
            reason,
        });
        result.all.add(weight, consumed);
        result
            .languages
            .entry(function.language)
            .or_default()
            .add(weight, consumed);
        packages
            .entry(function.package.clone())
            .or_default()
            .add(weight, consumed);
        if let Some(reason) = reason {
            if reason == Reason::FewApplied {
                result.mismatched += weight;
            }
            result.lost.push(Lost {
                name: function.name.to_owned(),
                count: weight,
                reason,
            });
        }
    }
    result.finish(packages, keep_lost);
    result
}

fn is_used(applied: u128, weight: u128) -> bool {
    applied.saturating_mul(ONE_IN) >= weight
}

/// The name that the profile may have for a symbol: without what compilers append to copies.
pub(in crate::profile) fn canonical(symbol: &str, is_known: impl Fn(&str) -> bool) -> &str {
    if is_known(symbol) {
        return symbol;
    }
    // Legacy Rust names have dots of their own, so not at the first one.
    let mut name = symbol;
    for suffix in [
        ".llvm.",
        ".part.",
        ".isra.",
        ".constprop.",
        ".lto_priv.",
        ".cold",
    ] {
        name = name.split_once(suffix).map_or(name, |(name, _)| name);
    }
    name
}

/// gcc cuts a name at the first dot before it looks it up.
fn peak_of(name: &str, peaks: &ByFunction) -> Option<u64> {
    let first = name.split('.').next().unwrap_or(name);
    let found = peaks.get(name).or_else(|| peaks.get(first)).copied();
    // Overloads share what is left of a name: the highest of them speaks for all.
    found.or_else(|| peaks.get(&cpp_names::of_symbol(first)?).copied())
}

fn highest(samples: &FunctionSamples) -> u64 {
    let mut highest = 0;
    samples.visit(&mut |copy| {
        highest = copy
            .body
            .values()
            .map(|body| body.count)
            .fold(highest, u64::max);
    });
    highest
}

/// Takes from the surplus of functions what the copies of them in `samples` account for.
fn credit(samples: &FunctionSamples, lacking: u128, surplus: &mut BTreeMap<&str, u128>) -> u128 {
    let mut credited = 0;
    samples.visit(&mut |copy| {
        for (callee, inlined) in copy.call_sites.values().flatten() {
            let Some(rest) = surplus.get_mut(callee.as_str()).filter(|rest| **rest > 0) else {
                continue;
            };
            let taken = weight(inlined).min(*rest).min(lacking - credited);
            *rest -= taken;
            credited += taken;
        }
    });
    credited
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample::{BodySample, Location};

    fn samples(counts: &[u64]) -> FunctionSamples {
        let mut samples = FunctionSamples::default();
        for (offset, &count) in (1..).zip(counts) {
            let at = Location {
                offset,
                discriminator: 0,
            };
            samples.body.insert(
                at,
                BodySample {
                    count,
                    ..BodySample::default()
                },
            );
        }
        samples
    }

    fn inlining(counts: &[u64], callee: &str, inlined: FunctionSamples) -> FunctionSamples {
        let mut samples = samples(counts);
        let at = Location {
            offset: 9,
            discriminator: 0,
        };
        samples
            .call_sites
            .entry(at)
            .or_default()
            .insert(callee.into(), inlined);
        samples
    }

    fn function<'a>(name: &'a str, samples: &'a FunctionSamples, reader: Reader) -> Function<'a> {
        Function {
            name,
            samples,
            reader,
            language: if reader == Reader::Gcc {
                Language::C
            } else {
                Language::Rust
            },
            package: "p-1".into(),
        }
    }

    fn said(samples: &[(&str, u64)], peaks: &[(&str, u64)]) -> Evidence {
        let map = |pairs: &[(&str, u64)]| {
            pairs
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect()
        };
        Evidence {
            samples: map(samples),
            peaks: map(peaks),
            ..Evidence::default()
        }
    }

    #[test]
    fn a_function_with_few_of_its_positions_is_lost() {
        let (hot, changed, gone) = (samples(&[100, 300]), samples(&[10, 290]), samples(&[50]));
        let functions = [
            function("hot", &hot, Reader::Llvm),
            function("changed", &changed, Reader::Llvm),
            function("gone", &gone, Reader::Llvm),
        ];
        let said = said(&[("hot.llvm.77", 100), ("changed", 10)], &[]);
        let result = consumed(&functions, &said, 9);
        assert_eq!((result.all.total, result.all.consumed), (750, 400));
        assert_eq!(
            (result.all.functions, result.all.functions_consumed),
            (3, 1)
        );
        assert_eq!(result.mismatched, 300);
        let lost: Vec<_> = result
            .lost
            .iter()
            .map(|lost| (lost.count, lost.reason))
            .collect();
        assert_eq!(lost, [(300, Reason::FewApplied), (50, Reason::NotSeen)]);
    }

    #[test]
    fn a_copy_that_was_not_inlined_is_credited_to_where_the_profile_has_it() {
        let hot = inlining(&[10], "tiny", samples(&[400]));
        let tiny = samples(&[10]);
        let functions = [
            function("hot", &hot, Reader::Llvm),
            function("tiny", &tiny, Reader::Llvm),
        ];
        let share =
            |samples: &[(&str, u64)]| consumed(&functions, &said(samples, &[]), 9).all.consumed;
        assert_eq!(share(&[("hot", 10), ("tiny", 410)]), 420);
        // What is tiny's own is no surplus, and no function's surplus is everybody's.
        assert_eq!(share(&[("hot", 10), ("tiny", 10)]), 10);
        assert_eq!(share(&[("hot", 10), ("other", 9000)]), 0);
    }

    #[test]
    fn gcc_used_a_function_if_its_hottest_position_was_found() {
        let hot = inlining(&[99, 1], "tiny", samples(&[400]));
        let functions = [function("hot", &hot, Reader::Gcc)];
        let share = |peaks: &[(&str, u64)]| consumed(&functions, &said(&[], peaks), 9).all.ratio();
        assert_eq!(share(&[("hot", 400)]), 1.0);
        // Only the entry, of a function that was changed.
        assert_eq!(share(&[("hot", 99)]), 0.0);
        assert_eq!(share(&[("other", 400)]), 0.0);
        let result = consumed(&functions, &said(&[], &[("hot", 99)]), 9);
        assert_eq!(result.lost[0].reason, Reason::FewApplied);
    }

    #[test]
    fn what_one_compiler_said_is_no_proof_for_the_other() {
        let hot = samples(&[400]);
        let functions = [function("hot", &hot, Reader::Gcc)];
        assert_eq!(
            consumed(&functions, &said(&[("hot", 400)], &[]), 9)
                .all
                .consumed,
            0
        );
        let functions = [function("hot", &hot, Reader::Llvm)];
        assert_eq!(
            consumed(&functions, &said(&[], &[("hot", 400)]), 9)
                .all
                .consumed,
            0
        );
    }
}
