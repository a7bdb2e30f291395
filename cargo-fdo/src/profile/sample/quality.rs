//! How good a profile is: how much of the samples it holds, of how much code, and if it holds
//! little, why.

use super::dwarf::{Findings, Sections};
use super::image::Image;
use super::recording::ImageSamples;
use std::fmt;

/// What a profile was made of.
///
/// Weights are samples; with branch stacks, bytes executed between branches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Quality {
    /// Samples in this image.
    pub samples: u64,
    /// All that was recorded in this image: the sum of the five after it, and of what is in no
    /// function at all.
    pub weight: u64,
    /// In positions of the profile.
    pub mapped: u64,
    /// In functions left out for having too few samples.
    pub below_threshold: u64,
    /// In functions whose lines of declaration are not known.
    pub without_declaration: u64,
    /// In code to which the line table gives no line.
    pub without_line: u64,
    /// In code of a compiler that will not read this profile.
    pub foreign: u64,
    /// At offsets that the image does not load.
    pub not_loaded: u64,
    /// Functions in the profile.
    pub functions: usize,
    /// [`Density`] of the functions in the profile; `None` if there are none, or with branch
    /// stacks.
    pub density: Option<Density>,
    /// Whether the recording's build id is the image's; `None` if one of them has none.
    pub same_build: Option<bool>,
    /// Whether there is debug information.
    pub has_debug_info: bool,
    /// Whether there are function symbols.
    pub has_symbols: bool,
    /// Compilation units.
    pub units: usize,
    /// Units whose debug information is in `.dwo` or `.dwp` files, which are not read.
    pub split_units: usize,
    /// Units that could not be read.
    pub damaged_units: usize,
    /// What is wrong with the first of them.
    pub damage: Option<String>,
}

/// Samples a kilobyte (1024 bytes) of code in the thinnest of the functions that count.
///
/// Those are the functions that hold [`HOT_SHARE`] of all mapped samples, taken by descending
/// samples a byte; the definition of `llvm-profgen`'s `ProfileDensity`, but of samples and not of
/// executed bytes, and for a smaller share, as there is one sample where it has a hundred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Density(pub u64);

/// Percent of the mapped samples whose code [`Density`] is about.
pub const HOT_SHARE: u64 = 90;

/// Enough: with a quarter of it programs were measurably slower, with four times as much hardly
/// faster.
pub const ENOUGH: Density = Density(1000);

impl Density {
    /// How many times as long a recording would have to be: 1 if this is enough.
    pub fn factor(self) -> f64 {
        (ENOUGH.0 as f64 / self.0.max(1) as f64).max(1.0)
    }

    /// Where only that part of the samples was taken, and the rest is weight.
    pub fn of_part(self, taken: u64, weighted: u64) -> Density {
        let samples = u128::from(self.0) * u128::from(taken) / u128::from(weighted.max(1));
        Density(u64::try_from(samples).unwrap_or(u64::MAX))
    }

    fn of(mut functions: Vec<(u64, u64)>) -> Option<Density> {
        let total: u128 = functions
            .iter()
            .map(|(samples, _)| u128::from(*samples))
            .sum();
        let density = |&(samples, bytes): &(u64, u64)| {
            u64::try_from(u128::from(samples) * 1024 / u128::from(bytes.max(1))).unwrap_or(u64::MAX)
        };
        functions.sort_by_key(|function| std::cmp::Reverse(density(function)));
        let mut sum = 0;
        for function in functions.iter().filter(|(samples, _)| *samples > 0) {
            sum += u128::from(function.0);
            if sum * 100 >= total * u128::from(HOT_SHARE) {
                return Some(Density(density(function)));
            }
        }
        None
    }
}

/// Why little of a recording got into the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// Nothing was sampled in this image.
    NoSamples,
    /// The build ids differ: another build was recorded.
    OtherBuild,
    /// Much was sampled where this file has no code: it is not the one that was recorded.
    OtherFile,
    /// The file has no debug information at all.
    NoDebugInfo,
    /// Debug information is in files apart that are not read.
    SplitDebugInfo,
    /// Functions have no lines of declaration, from which positions are counted.
    NoDeclarations,
    /// Code has no lines.
    NoLines,
    /// Code was compiled by a compiler that will not read this profile.
    OtherCompiler,
    /// Debug information can't be read.
    Damaged,
    /// Code is in no function with debug information.
    PartlyWithoutDebugInfo,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::NoSamples => "nothing was sampled in it; was this the program that ran?",
            Cause::OtherBuild => {
                "its build id is not the recorded one: give the very build that was recorded"
            }
            Cause::OtherFile => {
                "it has no code where samples are: give the very file that was recorded"
            }
            Cause::NoDebugInfo => {
                "it has no debug information: build it with line tables (`-g`, \
                 `-gline-tables-only`, `debug = \"line-tables-only\"`) or give its debug file"
            }
            Cause::SplitDebugInfo => {
                "its debug information is in `.dwo` files: build it without `-gsplit-dwarf`"
            }
            Cause::NoDeclarations => {
                "its debug information does not say where functions are declared: build it with \
                 `-fdebug-info-for-profiling` (clang), `-Zdebug-info-for-profiling` or \
                 `debug = 1` (rustc), `-g` instead of `-g1` (gcc)"
            }
            Cause::NoLines => "most samples are in code without lines",
            Cause::OtherCompiler => {
                "most samples are in code of a compiler that does not read this form of profile"
            }
            Cause::Damaged => "its debug information is damaged",
            Cause::PartlyWithoutDebugInfo => {
                "most samples are in code without debug information, such as libraries that are \
                 linked in"
            }
        })
    }
}

impl Quality {
    pub(super) fn of(
        samples: &ImageSamples,
        image: &Image<'_>,
        sections: &Sections<'_>,
    ) -> Quality {
        let both = samples.build_id.as_ref().zip(image.build_id.as_ref());
        Quality {
            samples: samples.samples,
            // perf fills short ids up with zeros.
            same_build: both.map(|(recorded, own)| {
                let zeros = |rest: &[u8]| rest.iter().all(|&byte| byte == 0);
                recorded.strip_prefix(own.as_slice()).is_some_and(zeros)
                    || own.strip_prefix(recorded.as_slice()).is_some_and(zeros)
            }),
            has_debug_info: !sections.is_empty(),
            has_symbols: image.has_symbols(),
            ..Quality::default()
        }
    }

    /// Adds what was found in reading debug information, and the samples and bytes of each
    /// function.
    pub(super) fn finish(&mut self, findings: Findings, functions: Option<Vec<(u64, u64)>>) {
        self.units = findings.units;
        self.split_units = findings.split_units;
        self.damaged_units = findings.damaged_units;
        self.damage = findings.damage;
        self.density = functions.and_then(Density::of);
    }

    /// What is mapped, of all, from 0 to 1; what the threshold kept out counts as mapped.
    pub fn mapped_share(&self) -> f64 {
        let mapped = self.mapped.saturating_add(self.below_threshold);
        mapped as f64 / self.weight.max(1) as f64
    }

    /// The most probable cause if less than half of the samples is mapped.
    pub fn cause(&self) -> Option<Cause> {
        if self.weight == 0 {
            return Some(Cause::NoSamples);
        }
        if self.mapped_share() >= 0.5 {
            return None;
        }
        let most = |part: u64| part >= self.weight.saturating_sub(self.mapped) / 2;
        let outside = [
            self.mapped,
            self.below_threshold,
            self.without_declaration,
            self.without_line,
            self.foreign,
            self.not_loaded,
        ]
        .iter()
        .fold(self.weight, |rest, part| rest.saturating_sub(*part));
        Some(if self.same_build == Some(false) {
            Cause::OtherBuild
        } else if most(self.not_loaded) {
            Cause::OtherFile
        } else if !self.has_debug_info {
            Cause::NoDebugInfo
        } else if self.split_units > 0 && self.split_units * 2 >= self.units {
            Cause::SplitDebugInfo
        } else if most(self.without_declaration) {
            Cause::NoDeclarations
        } else if most(self.foreign) {
            Cause::OtherCompiler
        } else if self.damaged_units > 0 && most(outside) {
            Cause::Damaged
        } else if most(self.without_line) {
            Cause::NoLines
        } else {
            Cause::PartlyWithoutDebugInfo
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn density_is_of_the_thinnest_function_that_counts() {
        assert_eq!(Density::of(vec![]), None);
        assert_eq!(Density(900).of_part(100, 300), Density(300));
        assert_eq!(Density(u64::MAX).of_part(5, 0), Density(u64::MAX));
        assert_eq!(Density::of(vec![(0, 10)]), None);
        // 80 % in 1 KiB, 15 % in 2 KiB, the rest in much code.
        let functions = vec![(15, 2048), (5, 1 << 20), (80, 1024)];
        assert_eq!(Density::of(functions), Some(Density(7)));
        assert_eq!(Density(ENOUGH.0 * 3).factor(), 1.0);
        assert_eq!(Density(ENOUGH.0 / 4).factor(), 4.0);
        assert_eq!(Density(0).factor(), ENOUGH.0 as f64);
        let huge = Density::of(vec![(u64::MAX, 0), (u64::MAX, 1)]);
        assert_eq!(huge, Some(Density(u64::MAX)));
    }

    fn cause(change: impl FnOnce(&mut Quality)) -> Option<Cause> {
        let mut quality = Quality {
            samples: 100,
            weight: 100,
            has_debug_info: true,
            units: 1,
            ..Quality::default()
        };
        change(&mut quality);
        quality.cause()
    }

    #[test]
    fn causes() {
        assert_eq!(cause(|q| q.weight = 0), Some(Cause::NoSamples));
        assert_eq!(cause(|q| q.mapped = 60), None);
        assert_eq!(cause(|q| q.below_threshold = 60), None);
        assert_eq!(
            cause(|q| q.same_build = Some(false)),
            Some(Cause::OtherBuild)
        );
        assert_eq!(cause(|q| q.not_loaded = 70), Some(Cause::OtherFile));
        assert_eq!(
            cause(|q| q.has_debug_info = false),
            Some(Cause::NoDebugInfo)
        );
        assert_eq!(cause(|q| q.split_units = 1), Some(Cause::SplitDebugInfo));
        assert_eq!(
            cause(|q| (q.mapped, q.without_declaration) = (10, 80)),
            Some(Cause::NoDeclarations)
        );
        assert_eq!(cause(|q| q.foreign = 51), Some(Cause::OtherCompiler));
        assert_eq!(cause(|q| q.damaged_units = 1), Some(Cause::Damaged));
        assert_eq!(cause(|q| q.without_line = 90), Some(Cause::NoLines));
        assert_eq!(cause(|_| ()), Some(Cause::PartlyWithoutDebugInfo));
    }
}
