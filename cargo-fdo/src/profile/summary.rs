//! What a whole profile says: totals, LLVM's hot and cold limits, and whether the training that
//! made it exercised the program at all.
//!
//! The limits are computed as in `llvm/lib/ProfileData/ProfileSummaryBuilder.cpp` and read as in
//! `llvm/lib/Analysis/ProfileSummaryInfo.cpp`: counts in falling order, and the smallest count
//! needed to reach 99 % (hot) or 99.9999 % (cold) of their sum. Every counter counts, a function's
//! first like any other; functions that are only marked hot or warm don't. What
//! `llvm-profdata show --detailed-summary` prints is the same.

use super::instr_text::{InstrProfile, Record};
use super::sample::SampleProfile;
use std::collections::BTreeMap;

/// LLVM's default cutoff for hot code, in millionths of the total count
/// (`-profile-summary-cutoff-hot`).
pub const HOT_CUTOFF: u32 = 990_000;
/// LLVM's default cutoff for cold code (`-profile-summary-cutoff-cold`).
pub const COLD_CUTOFF: u32 = 999_999;
/// Hot blocks beyond which LLVM calls a working set huge and unrolls and inlines less
/// (`-profile-summary-huge-working-set-size-threshold`).
const HUGE_WORKING_SET: u64 = 15_000;
/// Hot blocks beyond which LLVM calls a working set large
/// (`-profile-summary-large-working-set-size-threshold`).
const LARGE_WORKING_SET: u64 = 12_500;

/// Where a share of all counts is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cutoff {
    /// The smallest count needed.
    pub min_count: u64,
    /// How many counters are at least that large.
    pub blocks: u64,
}

/// Counts of about the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Magnitude {
    /// The least of them, 0 or a power of ten.
    pub least: u64,
    /// How many there are.
    pub blocks: u64,
    /// Their sum.
    pub total: u128,
}

impl Magnitude {
    /// The greatest count that is of this size.
    pub fn greatest(&self) -> u64 {
        self.least.saturating_mul(10).saturating_sub(1)
    }
}

/// Counts of a profile by size.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Records, those without real counts left out, as LLVM does.
    pub functions: u64,
    /// Counters.
    pub blocks: u64,
    /// Sum of the counters.
    pub total: u128,
    /// How many counters have this count.
    frequencies: BTreeMap<u64, u64>,
}

impl Summary {
    /// Summarises records; each record counts once, so give no alias listings.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Summary {
        let mut summary = Summary::default();
        for record in records {
            if record.is_pseudo() || record.counters.is_empty() {
                continue;
            }
            summary.functions += 1;
            summary.blocks += record.counters.len() as u64;
            summary.total += record.total();
            for &count in &record.counters {
                *summary.frequencies.entry(count).or_default() += 1;
            }
        }
        summary
    }

    /// Summarises counts that are no records: the positions of a sampled profile.
    pub fn of_counts(functions: u64, counts: impl IntoIterator<Item = u64>) -> Summary {
        let mut summary = Summary {
            functions,
            ..Summary::default()
        };
        for count in counts {
            summary.blocks += 1;
            summary.total += u128::from(count);
            *summary.frequencies.entry(count).or_default() += 1;
        }
        summary
    }

    /// Summarises the counts of a sample profile: those of all positions, inlined ones included
    /// (`SampleProfileSummaryBuilder`).
    pub fn of_samples(profile: &SampleProfile) -> Summary {
        let mut counts = Vec::new();
        for samples in profile.functions.values() {
            samples.visit(&mut |copy| counts.extend(copy.body.values().map(|body| body.count)));
        }
        Summary::of_counts(profile.functions.len() as u64, counts)
    }

    /// Where `millionths` of the total is reached; above a million it is all counts.
    pub fn cutoff(&self, millionths: u32) -> Cutoff {
        let millionths = u128::from(millionths.min(1_000_000));
        // total * millionths / 1e6 without overflow for totals beyond 2^108.
        let wanted =
            self.total / 1_000_000 * millionths + self.total % 1_000_000 * millionths / 1_000_000;
        let mut cutoff = Cutoff::default();
        let mut sum: u128 = 0;
        for (&count, &frequency) in self.frequencies.iter().rev() {
            if sum >= wanted {
                break;
            }
            sum += u128::from(count) * u128::from(frequency);
            cutoff.min_count = count;
            cutoff.blocks += frequency;
        }
        cutoff
    }

    /// Its counts by size: a class for zero, then one for each power of ten up to the greatest.
    pub fn magnitudes(&self) -> Vec<Magnitude> {
        let mut classes: Vec<Magnitude> = Vec::new();
        for (&count, &blocks) in &self.frequencies {
            let exponent = count.checked_ilog10();
            let class = exponent.map_or(0, |exponent| exponent as usize + 1);
            while classes.len() <= class {
                // 10 to the 19th is the greatest power in 64 bits.
                let least = match classes.len() {
                    0 => 0,
                    power => 10_u64.saturating_pow(power as u32 - 1),
                };
                classes.push(Magnitude {
                    least,
                    ..Magnitude::default()
                });
            }
            if let Some(class) = classes.get_mut(class) {
                class.blocks += blocks;
                class.total += u128::from(count) * u128::from(blocks);
            }
        }
        classes
    }

    /// What to pin in every compiler that sees only a slice of this profile.
    pub fn limits(&self) -> Limits {
        let hot = self.cutoff(HOT_CUTOFF);
        let cold = self.cutoff(COLD_CUTOFF);
        let rounded = round_to_power_of_two(hot.min_count).max(1);
        Limits {
            hot: rounded,
            cold: round_to_power_of_two(cold.min_count).min(rounded),
            huge_working_set: hot.blocks > HUGE_WORKING_SET,
            large_working_set: hot.blocks > LARGE_WORKING_SET,
        }
    }
}

/// The whole profile's limits, for `-profile-summary-hot-count`, `-profile-summary-cold-count` and
/// the working-set thresholds.
///
/// A slice alone would have others: lz4's was 179 where the whole program's was 57,144. Both
/// counts are rounded to a power of two, so that a slightly different training gives the same
/// flags and rebuilds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A count of at least this is hot. Never 0: then everything would be.
    pub hot: u64,
    /// A count of at most this is cold; not above `hot`.
    pub cold: u64,
    /// More than 15,000 blocks make up 99 % of the counts.
    pub huge_working_set: bool,
    /// More than 12,500 do.
    pub large_working_set: bool,
}

/// The nearest power of two on a logarithmic scale: 5 gives 4, 6 gives 8; 0 stays 0.
fn round_to_power_of_two(count: u64) -> u64 {
    let Some(exponent) = count.checked_ilog2() else {
        return 0;
    };
    // count >= 2^(exponent + 1/2), squared. No tie: that is never a whole number squared.
    let up = u128::from(count) * u128::from(count) > 1u128 << (2 * exponent + 1);
    let exponent = (exponent + u32::from(up)).min(63);
    1 << exponent
}

/// How many functions [`Quality::hottest`] names.
const HOTTEST: usize = 10;

/// What the training exercised.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Quality {
    /// Functions in the profile.
    pub functions: u64,
    /// Functions with a count other than zero.
    pub functions_executed: u64,
    /// Counters.
    pub blocks: u64,
    /// Counters other than zero.
    pub blocks_executed: u64,
    /// Counters that make up 99 % of all counts.
    pub hot_blocks_99: u64,
    /// Sum of all counters.
    pub total: u128,
    /// Functions with the largest counts (the largest counter in each), largest first.
    pub hottest: Vec<(String, u64)>,
}

/// Below this many executed functions a profile is never called thin.
const THIN_MIN_FUNCTIONS: u64 = 500;
/// At or above this many hot blocks a profile is never called thin.
const THIN_HOT_BLOCKS: u64 = 500;
/// Executed functions to one hot block from which on a profile is called thin.
const THIN_FUNCTIONS_PER_HOT_BLOCK: u64 = 10;
/// A program with at least this many functions is no toy,
const LARGE_PROGRAM: u64 = 1_000;
/// and a training that counted less than this took it well under a millisecond.
const THIN_TOTAL: u128 = 100_000;

impl Quality {
    /// Measures a profile without alias listings.
    pub fn of(profile: &InstrProfile) -> Quality {
        let summary = Summary::of(&profile.records);
        let mut blocks_executed = 0;
        let mut executed: Vec<(u64, &str)> = Vec::new();
        for record in profile.records.iter().filter(|record| !record.is_pseudo()) {
            let most = record.counters.iter().copied().max().unwrap_or(0);
            if most > 0 {
                executed.push((most, &record.name));
            }
            let nonzero = record.counters.iter().filter(|&&count| count > 0).count();
            blocks_executed += nonzero as u64;
        }
        Quality::new(&summary, blocks_executed, executed)
    }

    /// From a summary and the functions that ran, each with its largest count.
    pub(super) fn new(
        summary: &Summary,
        blocks_executed: u64,
        mut executed: Vec<(u64, &str)>,
    ) -> Quality {
        executed.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        Quality {
            functions: summary.functions,
            functions_executed: executed.len() as u64,
            blocks: summary.blocks,
            blocks_executed,
            hot_blocks_99: summary.cutoff(HOT_CUTOFF).blocks,
            total: summary.total,
            hottest: executed
                .into_iter()
                .take(HOTTEST)
                .map(|(count, name)| (name.to_owned(), count))
                .collect(),
        }
    }

    /// Whether the training looks as if it had done next to nothing: started and stopped the
    /// program, say, or failed at its first request.
    ///
    /// Such a run executes many functions, but few of them more than once or twice, so nearly all
    /// counts come from the handful of loops that start-up has. Measured on RocksDB, a useless
    /// training against a good one: functions executed 2,884 against 4,314, which tells nothing;
    /// blocks that make up 99 % of the counts 145 against 2,041, one for twenty executed functions
    /// against one for two. The line is drawn at one for ten, and two absolute limits keep honest
    /// profiles out: below 500 executed functions the program is small and a few hot loops may be
    /// all it has; with 500 hot blocks or more there is something to optimise for.
    ///
    /// A run that ended before it executed 500 functions (`--help`) is recognised by its total:
    /// fewer than 100,000 counts in a program of 1,000 functions or more.
    ///
    /// It is a hint: a large program that really spends its life in one kernel (a compressor, a
    /// hash) looks the same, so warn, don't fail. A profile with no count at all is thin too.
    pub fn is_thin(&self) -> bool {
        if self.total == 0 || (self.functions >= LARGE_PROGRAM && self.total < THIN_TOTAL) {
            return true;
        }
        self.functions_executed >= THIN_MIN_FUNCTIONS
            && self.hot_blocks_99 < THIN_HOT_BLOCKS
            && self
                .hot_blocks_99
                .saturating_mul(THIN_FUNCTIONS_PER_HOT_BLOCK)
                < self.functions_executed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(counters: &[u64]) -> Record {
        Record {
            name: format!("f{}", counters.len()),
            counters: counters.into(),
            ..Record::default()
        }
    }

    fn quality(functions_executed: u64, hot_blocks_99: u64) -> Quality {
        Quality {
            functions_executed,
            hot_blocks_99,
            total: 1_000_000,
            ..Quality::default()
        }
    }

    #[test]
    fn cutoffs_take_whole_groups_of_equal_counts() {
        let records = [record(&[1000, 10, 10]), record(&[10, 1, 0])];
        let summary = Summary::of(&records);
        assert_eq!(
            (summary.functions, summary.blocks, summary.total),
            (2, 6, 1031)
        );
        let cutoff = |millionths| {
            let cutoff = summary.cutoff(millionths);
            (cutoff.min_count, cutoff.blocks)
        };
        assert_eq!(cutoff(0), (0, 0));
        assert_eq!(cutoff(10_000), (1000, 1));
        assert_eq!(cutoff(HOT_CUTOFF), (10, 4));
        // 1031 * 0.999999 is cut down to 1030, which the tens reach.
        assert_eq!(cutoff(COLD_CUTOFF), (10, 4));
        assert_eq!(cutoff(1_000_000), (1, 5));
    }

    #[test]
    fn magnitudes_are_powers_of_ten() {
        let shown = |counters: &[u64]| -> Vec<(u64, u64, u128)> {
            let classes = Summary::of(&[record(counters)]).magnitudes();
            let classes = classes.iter();
            classes
                .map(|class| (class.least, class.blocks, class.total))
                .collect()
        };
        assert_eq!(
            shown(&[0, 0, 1, 9, 10, 1000]),
            [
                (0, 2, 0),
                (1, 2, 10),
                (10, 1, 10),
                (100, 0, 0),
                (1000, 1, 1000)
            ]
        );
        assert_eq!(shown(&[0]), [(0, 1, 0)]);
        let classes = Summary::of(&[record(&[1000])]).magnitudes();
        let ends: Vec<u64> = classes.iter().map(Magnitude::greatest).collect();
        assert_eq!(ends, [0, 9, 99, 999, 9999]);
        let greatest = u64::MAX - 2;
        assert_eq!(
            shown(&[greatest]).last(),
            Some(&(10_u64.pow(19), 1, greatest.into()))
        );
        assert_eq!(Summary::default().magnitudes(), []);
    }

    #[test]
    fn pseudo_records_do_not_count() {
        let records = [record(&[u64::MAX, 7]), record(&[5])];
        assert_eq!(Summary::of(&records).total, 5);
    }

    #[test]
    fn totals_beyond_64_bits_do_not_overflow() {
        let records = vec![record(&[u64::MAX - 2; 100]); 100];
        let summary = Summary::of(&records);
        assert_eq!(summary.cutoff(HOT_CUTOFF).min_count, u64::MAX - 2);
        assert_eq!(summary.limits().hot, 1 << 63);
    }

    #[test]
    fn limits_are_the_nearest_powers_of_two() {
        for (count, rounded) in [
            (0, 0),
            (1, 1),
            (2, 2),
            (3, 4),
            (5, 4),
            (6, 8),
            (11, 8),
            (12, 16),
            (57_144, 65_536),
            (u64::MAX, 1 << 63),
        ] {
            assert_eq!(round_to_power_of_two(count), rounded, "{count}");
        }
    }

    #[test]
    fn limits_of_nothing_leave_nothing_hot() {
        let limits = Summary::of(&[record(&[0, 0])]).limits();
        assert_eq!((limits.hot, limits.cold), (1, 0));
        assert_eq!(Summary::default().limits(), limits);
    }

    #[test]
    fn working_sets_are_large_beyond_llvms_thresholds() {
        let flags = |blocks| {
            let limits = Summary::of(&[record(&vec![1; blocks])]).limits();
            (limits.large_working_set, limits.huge_working_set)
        };
        // Equal counts are one group, which 99 % takes whole.
        assert_eq!(flags(12_500), (false, false));
        assert_eq!(flags(12_501), (true, false));
        assert_eq!(flags(15_001), (true, true));
    }

    #[test]
    fn the_useless_rocksdb_training_is_thin_and_the_good_one_is_not() {
        assert!(quality(2_884, 145).is_thin());
        assert!(!quality(4_314, 2_041).is_thin());
    }

    #[test]
    fn small_honest_programs_and_large_diverse_ones_are_not_thin() {
        // 200 blocks in 40 functions, one hot loop.
        assert!(!quality(40, 3).is_thin());
        assert!(!quality(1_304, 814).is_thin());
        assert!(!quality(20_000, 600).is_thin());
    }

    #[test]
    fn a_large_program_that_only_printed_its_help_is_thin_and_a_small_one_is_not() {
        let help = |functions| Quality {
            functions,
            total: 3_000,
            ..quality(150, 30)
        };
        assert!(help(6_675).is_thin());
        assert!(!help(200).is_thin());
    }

    #[test]
    fn a_profile_without_counts_is_thin() {
        assert!(Quality::default().is_thin());
    }

    #[test]
    fn quality_names_the_hottest_functions() {
        let profile = InstrProfile {
            records: vec![record(&[0]), record(&[3, 9]), record(&[1, 2, 0])],
            ..InstrProfile::default()
        };
        let quality = Quality::of(&profile);
        assert_eq!(quality.functions_executed, 2);
        assert_eq!(quality.blocks_executed, 4);
        assert_eq!(
            quality.hottest,
            [("f2".to_owned(), 9), ("f3".to_owned(), 2)]
        );
    }
}
