//! What a campaign's profile holds, by function and by package.

use crate::profile::consumed::Language as Lang;
use crate::profile::instr_text::{InstrProfile, Record};
use crate::profile::sample::consumed::weight;
use crate::profile::sample::llvm_text;
use crate::profile::slice::group_key;
use crate::profile::summary::Summary;
use crate::profile::{names, shares};
use crate::stage::optimize::{OptimizeError, STD};
use crate::store::campaign::{self, Campaign, Method, Owners};
use crate::workspace::Workspace;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A profile's counts, put together from its slices.
#[derive(Debug, Clone, Default)]
pub struct Trained {
    /// Functions with counts, most first.
    pub functions: Vec<Function>,
    /// Where those are from, most counts first.
    pub packages: Vec<Package>,
    /// Sum of all counts.
    pub total: u128,
    /// Whether they were counted, and not sampled.
    pub is_counted: bool,
    /// Counts by size.
    pub summary: Summary,
    /// Each function's own counts by its symbol, those that never ran included.
    pub symbols: shares::Counts,
}

/// A function with counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name in the profile, without the number of a unit.
    pub name: String,
    /// Sum of its counts.
    pub count: u128,
    /// What made it.
    pub language: Lang,
    /// `name-version`, or words for what has no package.
    pub package: String,
}

/// The part that one language of a package has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// As in [`Function`].
    pub name: String,
    /// As in [`Function`].
    pub language: Lang,
    /// Sum of the counts.
    pub count: u128,
    /// Functions with counts.
    pub functions: usize,
}

impl Trained {
    /// Reads a campaign's slices.
    ///
    /// # Errors
    ///
    /// If one can't be read.
    pub fn of(campaign: &Campaign, workspace: &Workspace) -> Result<Trained, OptimizeError> {
        let owners = campaign.owners()?;
        let place = Place {
            workspace,
            owners: &owners,
        };
        let mut trained = Trained {
            is_counted: campaign.manifest.method == Method::Instrument,
            ..Trained::default()
        };
        let mut counts = Vec::new();
        for (slice, language) in [
            (campaign::RUST, Lang::Rust),
            (campaign::C, Lang::C),
            (campaign::C_FRONTEND, Lang::C),
            (campaign::GCC, Lang::C),
        ] {
            let Some(text) = campaign.slice_text(slice)? else {
                continue;
            };
            let (path, _) = campaign.slice(slice).unwrap_or_default();
            match campaign.manifest.method {
                Method::Instrument => {
                    let profile = InstrProfile::parse(&text)
                        .map_err(|source| OptimizeError::Slice { path, source })?;
                    trained.count(&profile, language, &place, &mut counts);
                }
                Method::Sample => {
                    let profile = llvm_text::parse(&text)
                        .map_err(|source| OptimizeError::Samples { path, source })?;
                    for (name, samples) in &profile.functions {
                        let package = place.of(name, language);
                        trained.add(name, weight(samples), language, package);
                        samples.visit(&mut |copy| {
                            counts.extend(copy.body.values().map(|body| body.count));
                        });
                    }
                    shares::add_samples(&mut trained.symbols, &profile);
                }
            }
        }
        trained.summary = Summary::of_counts(trained.functions.len() as u64, counts);
        trained.finish();
        Ok(trained)
    }

    /// Adds a slice of counters, in which a function is listed under each unit that it may be in.
    fn count(
        &mut self,
        profile: &InstrProfile,
        language: Lang,
        place: &Place<'_>,
        counts: &mut Vec<u64>,
    ) {
        let mut groups: BTreeMap<(Cow<'_, str>, u64), &Record> = BTreeMap::new();
        for record in profile.records.iter().filter(|record| !record.is_pseudo()) {
            groups.entry(group_key(record)).or_insert(record);
        }
        for ((name, _), record) in &groups {
            // The unit tells whose a local function is.
            let package = place.of(&record.name, language);
            self.add(name, record.total(), language, package);
            counts.extend(&record.counters);
        }
        shares::add_records(&mut self.symbols, groups.into_values());
    }

    fn add(&mut self, name: &str, count: u128, language: Lang, package: String) {
        if count == 0 {
            return;
        }
        self.total += count;
        self.functions.push(Function {
            name: name.to_owned(),
            count,
            language,
            package,
        });
    }

    fn finish(&mut self) {
        self.functions
            .sort_by(|a, b| b.count.cmp(&a.count).then(a.name.cmp(&b.name)));
        let mut packages: BTreeMap<(&str, Lang), (u128, usize)> = BTreeMap::new();
        for function in &self.functions {
            let sum = packages
                .entry((&function.package, function.language))
                .or_default();
            sum.0 += function.count;
            sum.1 += 1;
        }
        let packages = packages.into_iter();
        self.packages = packages
            .map(|((name, language), (count, functions))| Package {
                name: name.to_owned(),
                language,
                count,
                functions,
            })
            .collect();
        // Stable, so by name among equals.
        self.packages
            .sort_by_key(|package| std::cmp::Reverse(package.count));
    }

    /// A count as a part of all.
    pub fn share(&self, count: u128) -> f64 {
        match self.total {
            0 => 0.0,
            total => count as f64 / total as f64,
        }
    }

    /// The counts of one language.
    pub fn count_of(&self, language: Lang) -> u128 {
        let packages = self.packages.iter();
        packages
            .filter(|package| package.language == language)
            .map(|package| package.count)
            .sum()
    }
}

/// Where functions are from.
struct Place<'a> {
    workspace: &'a Workspace,
    owners: &'a Owners,
}

impl Place<'_> {
    fn of(&self, name: &str, language: Lang) -> String {
        match language {
            Lang::Rust => match names::rust_crate(name) {
                None => "main and others that name no crate".to_owned(),
                Some("std" | "core" | "alloc" | "__rustc") => STD.to_owned(),
                Some(krate) => self
                    .workspace
                    .by_crate(krate)
                    .map_or_else(|| krate.to_owned(), |package| package.id()),
            },
            Lang::C => match self.owners.get(name) {
                None => "C of unknown origin".to_owned(),
                Some(owner) => {
                    let mut packages = self.workspace.packages.iter();
                    packages
                        .find(|package| package.name == owner.package)
                        .map_or_else(|| owner.package.clone(), |package| package.id())
                }
            },
        }
    }
}
