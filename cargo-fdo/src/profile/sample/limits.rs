//! Totals of a sampled profile, and the limits of hot and cold that LLVM derives from it.
//!
//! LLVM's sample loader takes its limits from the same summary as profiles by counters
//! (`SampleProfileSummaryBuilder` in `llvm/lib/ProfileData/ProfileSummaryBuilder.cpp`): every
//! position is a count, those of inlined copies included, entry counts are not. So the limits of
//! the whole profile are pinned for its slices by the same options.

use super::{FunctionSamples, SampleProfile};
use crate::profile::summary::{Limits, Quality, Summary};

/// Hot and cold limits of several profiles that one program is compiled with.
pub fn limits<'a>(profiles: impl IntoIterator<Item = &'a SampleProfile>) -> Limits {
    summary(profiles).limits()
}

fn summary<'a>(profiles: impl IntoIterator<Item = &'a SampleProfile>) -> Summary {
    let mut counts = Vec::new();
    let mut functions = 0;
    for profile in profiles {
        functions += profile.functions.len() as u64;
        for samples in profile.functions.values() {
            samples.visit(&mut |copy| counts.extend(copy.body.values().map(|body| body.count)));
        }
    }
    Summary::of_counts(functions, counts)
}

/// What the recordings exercised, for several profiles of one program.
pub fn quality<'a>(profiles: impl IntoIterator<Item = &'a SampleProfile> + Clone) -> Quality {
    let summary = summary(profiles.clone());
    let mut blocks_executed = 0;
    let mut executed: Vec<(u64, &str)> = Vec::new();
    for (name, samples) in profiles.into_iter().flat_map(|profile| &profile.functions) {
        let mut most = 0;
        samples.visit(&mut |copy| {
            for body in copy.body.values() {
                most = body.count.max(most);
                blocks_executed += u64::from(body.count > 0);
            }
        });
        if most > 0 {
            executed.push((most, name));
        }
    }
    Quality::new(&summary, blocks_executed, executed)
}

impl FunctionSamples {
    /// Calls `each` with this function's samples and those of all copies inlined in it, outermost
    /// first.
    ///
    /// Without recursion: a profile from outside may be nested as deep as it likes.
    pub fn visit<'a>(&'a self, each: &mut dyn FnMut(&'a FunctionSamples)) {
        let mut todo = vec![self];
        while let Some(samples) = todo.pop() {
            each(samples);
            todo.extend(
                samples
                    .call_sites
                    .values()
                    .rev()
                    .flat_map(|callees| callees.values().rev()),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample::{BodySample, Location};

    fn samples(counts: &[u64]) -> FunctionSamples {
        let mut samples = FunctionSamples::default();
        for (line, &count) in (1..).zip(counts) {
            let at = Location {
                offset: line,
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

    #[test]
    fn inlined_copies_count_and_entries_do_not() {
        let mut hot = samples(&[1000, 0]);
        hot.head = 1_000_000;
        let at = Location {
            offset: 1,
            discriminator: 0,
        };
        hot.call_sites
            .entry(at)
            .or_default()
            .insert("g".into(), samples(&[3000, 7]));
        let mut profile = SampleProfile::default();
        profile.functions.insert("hot".into(), hot);
        profile.functions.insert("never".into(), samples(&[0]));
        let quality = quality([&profile]);
        assert_eq!((quality.functions, quality.functions_executed), (2, 1));
        assert_eq!((quality.blocks, quality.blocks_executed), (5, 3));
        assert_eq!(quality.total, 4007);
        assert_eq!(quality.hottest, [("hot".to_owned(), 3000)]);
        // 99 % of 4007 needs the 1000 too.
        assert_eq!(limits([&profile]).hot, 1024);
    }
}
