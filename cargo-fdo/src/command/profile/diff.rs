//! `cargo fdo profile diff`: how alike two profiles are, and what moved.

use super::ProfileError;
use super::input::{Content, Input};
use super::llvm::Llvm;
use super::show::counts_by_function;
use crate::cli::profile::DiffArgs;
use crate::error::Result;
use crate::profile::names;
use crate::profile::sample::overlap::{self, Change, Overlap};
use crate::profile::shares::{self, Counts};
use crate::ui::{Ui, count, percent};
use std::path::Path;

pub(super) fn run(args: &DiffArgs, toolchain: Option<&str>, ui: &Ui) -> Result<()> {
    let llvm = Llvm::new(&args.llvm, toolchain);
    let inputs = [Input::open(&args.base)?, Input::open(&args.other)?];
    let families = [inputs[0].family()?, inputs[1].family()?];
    let contents = [inputs[0].read(&llvm)?, inputs[1].read(&llvm)?];
    if is_mixed(&contents) {
        ui.note(
            "one profile is counted and one is sampled: how often code ran is held against where time \
             went, by functions' shares",
        );
    } else if families[0] != families[1] {
        ui.warn("LLVM and GCC number blocks and name functions each in its own way");
    }
    let diff = Diff::of(args, &contents)?;
    if args.json {
        let text = serde_json::to_string_pretty(&diff).expect("plain data");
        ui.data(text);
    } else {
        ui.data(diff.text().trim_end());
    }
    Ok(())
}

/// Whether one was counted and the other one sampled.
fn is_mixed(contents: &[Content; 2]) -> bool {
    let [base, other] = contents
        .each_ref()
        .map(|content| content.samples().is_some());
    base != other
}

/// Counts of both in a form in which they can be compared.
fn mixed(contents: &[Content; 2]) -> [Counts; 2] {
    let mut counts = contents.each_ref().map(super::shares_of);
    let [base, other] = &mut counts;
    match (contents[0].samples(), contents[1].samples()) {
        (Some(samples), None) => shares::credit(base, samples, other),
        (None, Some(samples)) => shares::credit(other, samples, base),
        _ => {}
    }
    counts
}

/// The shape of the JSON. Shares are of the whole profile, 0 to 1.
#[derive(Debug, serde::Serialize)]
struct Diff {
    base: String,
    other: String,
    /// Sum of what each function has of both: the lesser of its shares.
    share_overlap: f64,
    /// As `llvm-profdata overlap --sample` has it; samples only.
    sample_overlap: Option<f64>,
    /// Likewise.
    similarity: Option<f64>,
    functions_in_both: usize,
    functions_only_in_base: usize,
    functions_only_in_other: usize,
    /// The biggest ones.
    only_in_base: Vec<Moved>,
    only_in_other: Vec<Moved>,
    moved: Vec<Moved>,
    /// Of those in both, by how much their share grew.
    hotter: Vec<Moved>,
    /// Of those in both, by how much their share shrank.
    colder: Vec<Moved>,
}

#[derive(Debug, serde::Serialize)]
struct Moved {
    /// As in the profiles.
    symbol: String,
    /// Demangled.
    name: String,
    base_share: f64,
    other_share: f64,
}

impl Diff {
    fn of(args: &DiffArgs, contents: &[Content; 2]) -> Result<Diff> {
        let [base, other] = match is_mixed(contents) {
            true => mixed(contents),
            false => contents.each_ref().map(counts_by_function),
        };
        let all_zero = |counts: &std::collections::BTreeMap<String, u128>| {
            counts.values().all(|&count| count == 0)
        };
        for (counts, path) in [(&base, &args.base), (&other, &args.other)] {
            if all_zero(counts) {
                return Err(ProfileError::NoCounts { path: path.clone() }.into());
            }
        }
        let overlap: Option<Overlap> = match (contents[0].samples(), contents[1].samples()) {
            (Some(base), Some(other)) => overlap::compare(base, other),
            _ => None,
        };
        let changes = overlap::changes_of(&base, &other);
        let only = |there: fn(&Change) -> bool| {
            let found = changes.iter().filter(move |change| there(change));
            (found.clone().count(), moved(found, args.top))
        };
        let (functions_only_in_base, only_in_base) = only(|change| change.test.is_none());
        let (functions_only_in_other, only_in_other) = only(|change| change.base.is_none());
        let in_both = changes
            .iter()
            .filter(|change| change.base.is_some() && change.test.is_some());
        let path = |path: &Path| path.display().to_string();
        Ok(Diff {
            base: path(&args.base),
            other: path(&args.other),
            share_overlap: overlap::shared(&changes),
            sample_overlap: overlap.as_ref().map(|overlap| overlap.samples),
            similarity: overlap.as_ref().map(|overlap| overlap.similarity),
            functions_in_both: in_both.clone().count(),
            functions_only_in_base,
            functions_only_in_other,
            only_in_base,
            only_in_other,
            moved: moved(
                in_both.clone().filter(|change| change.moved() != 0.0),
                args.top,
            ),
            hotter: moved(
                in_both.clone().filter(|change| change.moved() > 0.0),
                args.top,
            ),
            colder: moved(in_both.filter(|change| change.moved() < 0.0), args.top),
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if let (Some(overlap), Some(similarity)) = (self.sample_overlap, self.similarity) {
            text += &format!(
                "samples     {} overlap, {} similar\n",
                percent(overlap),
                percent(similarity)
            );
        }
        text += &format!(
            "shares      {} overlap\n\
             functions   {} in both, {} only in `{}`, {} only in `{}`\n",
            percent(self.share_overlap),
            count(self.functions_in_both as u64),
            count(self.functions_only_in_base as u64),
            self.base,
            count(self.functions_only_in_other as u64),
            self.other,
        );
        for (title, list) in [
            (format!("only in `{}`", self.base), &self.only_in_base),
            (format!("only in `{}`", self.other), &self.only_in_other),
            ("got hotter".to_owned(), &self.hotter),
            ("got colder".to_owned(), &self.colder),
        ] {
            if list.is_empty() {
                continue;
            }
            text += &format!("{title}\n");
            for moved in list {
                text += &format!(
                    "{:>9} → {:>9}  {}\n",
                    percent(moved.base_share),
                    percent(moved.other_share),
                    moved.name
                );
            }
        }
        text
    }
}

fn moved<'a>(changes: impl Iterator<Item = &'a Change>, top: usize) -> Vec<Moved> {
    let moved = |change: &Change| Moved {
        symbol: change.name.clone(),
        name: names::demangled(&change.name),
        base_share: change.base_share,
        other_share: change.test_share,
    };
    changes.take(top).map(moved).collect()
}
