//! `cargo fdo profile show`: what a profile says, by function.

use super::ProfileError;
use super::input::{Content, Family, Input};
use super::llvm::Llvm;
use super::packages::{self, Package};
use crate::cli::profile::ShowArgs;
use crate::error::Result;
use crate::profile::instr_text::InstrProfile;
use crate::profile::names;
use crate::profile::sample::overlap::samples_of;
use crate::profile::sample::{SampleProfile, llvm_text};
use crate::profile::summary::{Cutoff, HOT_CUTOFF, Magnitude, Summary};
use crate::ui::{Ui, count, percent, plural};
use std::collections::BTreeMap;

pub(super) fn run(args: &ShowArgs, toolchain: Option<&str>, ui: &Ui) -> Result<()> {
    let llvm = Llvm::new(&args.llvm, toolchain);
    let input = Input::open(&args.file)?;
    if input.family()? == Family::Recording {
        // What it is, can be said.
        return Err(ProfileError::Recording { path: input.path }.into());
    }
    let content = input.read(&llvm)?;
    if let Some(wanted) = &args.function {
        let found = select(&content, wanted);
        if counts_by_function(&found).is_empty() {
            return Err(ProfileError::NoFunction {
                path: input.path,
                name: wanted.clone(),
            }
            .into());
        }
        if !args.json {
            ui.data(as_text(&found).trim_end());
            return Ok(());
        }
    }
    let facts = Facts::of(&input, &content, args);
    if args.json {
        let text = serde_json::to_string_pretty(&facts).expect("plain data");
        ui.data(text);
    } else {
        ui.data(facts.text().trim_end());
    }
    Ok(())
}

/// What the whole profile says; the shape of the JSON.
#[derive(Debug, serde::Serialize)]
struct Facts {
    path: String,
    kind: String,
    /// As the file has it; versions of different kinds have nothing in common.
    version: Option<u64>,
    functions: u64,
    /// Functions that were entered, where that was counted or sampled.
    functions_entered: usize,
    /// Positions with samples, or counters.
    blocks: u64,
    total: u128,
    /// Where 99 % of the total is reached.
    hot_min_count: u64,
    hot_blocks: u64,
    /// Counts by size.
    sizes: Vec<Magnitude>,
    /// Those with most counts.
    packages: Vec<Package>,
    hottest: Vec<Hot>,
}

#[derive(Debug, serde::Serialize)]
struct Hot {
    /// As in the profile.
    symbol: String,
    /// Demangled.
    name: String,
    count: u128,
    share: f64,
}

impl Facts {
    fn of(input: &Input, content: &Content, args: &ShowArgs) -> Facts {
        let (summary, entered) = match content {
            Content::Instr(profile) => {
                let records = profile.records.iter();
                let entered = records.filter(|record| record.total() > 0).count();
                (Summary::of(&profile.records), entered)
            }
            Content::LlvmSample(profile) => (Summary::of_samples(profile), entered(profile)),
            Content::GccSample(file) => {
                (Summary::of_samples(&file.profile), entered(&file.profile))
            }
        };
        let Cutoff { min_count, blocks } = summary.cutoff(HOT_CUTOFF);
        let wanted = args.function.as_deref();
        let counts = counts_by_function(content);
        let mut packages = packages::of(&input.path, &counts);
        packages.truncate(args.top);
        let counts = counts
            .into_iter()
            .filter(|(name, _)| wanted.is_none_or(|w| matches(name, w)));
        let mut order: Vec<_> = counts.collect();
        // Stable, so by name among equals.
        order.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        order.truncate(args.top);
        let hottest = order.into_iter().map(|(symbol, count)| Hot {
            name: names::demangled(&symbol),
            symbol,
            count,
            share: if summary.total == 0 {
                0.0
            } else {
                count as f64 / summary.total as f64
            },
        });
        Facts {
            path: input.path.display().to_string(),
            kind: input.kind.to_string(),
            version: input.version,
            functions: summary.functions,
            functions_entered: entered,
            blocks: summary.blocks,
            total: summary.total,
            hot_min_count: min_count,
            hot_blocks: blocks,
            sizes: summary.magnitudes(),
            packages,
            hottest: hottest.collect(),
        }
    }

    fn text(&self) -> String {
        let version = self.version.map(|version| format!(", version {version}"));
        let mut text = format!(
            "{}{}\n\
             functions   {}, {} of them entered\n\
             blocks      {}\n\
             total       {}\n\
             hot         99 % of the total is in {} blocks with {} or more\n",
            self.kind,
            version.unwrap_or_default(),
            count(self.functions),
            count(self.functions_entered as u64),
            count(self.blocks),
            count_wide(self.total),
            count(self.hot_blocks),
            count(self.hot_min_count),
        );
        text += &self.sizes();
        if !self.packages.is_empty() {
            text.push_str("packages\n");
        }
        for package in &self.packages {
            text += &format!(
                "{:>9}  {:>15}  {}, {}\n",
                percent(package.share),
                count_wide(package.count),
                package.name,
                plural(package.functions, "function")
            );
        }
        if !self.hottest.is_empty() {
            text.push_str("hottest\n");
        }
        for hot in &self.hottest {
            text += &format!(
                "{:>9}  {:>15}  {}\n",
                percent(hot.share),
                count_wide(hot.count),
                hot.name
            );
        }
        text
    }
}

impl Facts {
    /// Blocks by the size of their counts: how many, and their part of the total as a bar.
    fn sizes(&self) -> String {
        /// Of the longest possible bar.
        const WIDTH: f64 = 40.0;
        let mut text = String::from("counts      of so many blocks, with this part of the total\n");
        for class in &self.sizes {
            let share = class.total as f64 / self.total.max(1) as f64;
            let bar = "#".repeat((share * WIDTH).round() as usize);
            let least = match class.least {
                0 => "0".to_owned(),
                least => format!("{} to {}", count(least), count(class.greatest())),
            };
            let line = format!(
                "{least:>35}  {:>15}  {:>9}  {bar}",
                count(class.blocks),
                percent(share)
            );
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

fn entered(profile: &SampleProfile) -> usize {
    profile
        .functions
        .values()
        .filter(|samples| samples.head > 0)
        .count()
}

/// Totals beyond 64 bits are not worth a separator of their own.
pub(super) fn count_wide(number: u128) -> String {
    u64::try_from(number).map_or_else(|_| number.to_string(), count)
}

/// Sum of the counts of each function.
pub(super) fn counts_by_function(content: &Content) -> BTreeMap<String, u128> {
    let mut counts = BTreeMap::new();
    match content {
        Content::Instr(profile) => {
            for record in &profile.records {
                *counts.entry(record.name.clone()).or_default() += record.total();
            }
        }
        Content::LlvmSample(_) | Content::GccSample(_) => {
            for (name, samples) in content.samples().into_iter().flat_map(|p| &p.functions) {
                counts.insert(name.clone(), samples_of(samples));
            }
        }
    }
    counts
}

/// Whether a function is meant: by its whole name, or by a part of its demangled one.
fn matches(name: &str, wanted: &str) -> bool {
    name == wanted || names::symbol(name) == wanted || names::demangled(name).contains(wanted)
}

/// The functions that are meant; the exact one alone if there is one.
fn select(content: &Content, wanted: &str) -> Content {
    match content {
        Content::Instr(profile) => {
            let mut found = profile.like();
            let records = profile
                .records
                .iter()
                .filter(|record| matches(&record.name, wanted));
            found.records = records.cloned().collect();
            Content::Instr(found)
        }
        Content::LlvmSample(_) | Content::GccSample(_) => {
            let mut found = SampleProfile::default();
            for (name, samples) in content.samples().into_iter().flat_map(|p| &p.functions) {
                if matches(name, wanted) {
                    found.functions.insert(name.clone(), samples.clone());
                }
            }
            Content::LlvmSample(found)
        }
    }
}

/// LLVM's text, of whatever origin.
fn as_text(content: &Content) -> String {
    match content {
        Content::Instr(profile) => InstrProfile::to_text(profile),
        Content::LlvmSample(profile) => llvm_text::write(profile).text,
        Content::GccSample(file) => llvm_text::write(&file.profile).text,
    }
}
