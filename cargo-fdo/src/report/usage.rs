//! How much of the profile a build used, as kept and as shown.

use crate::profile::consumed::{Language, Reason, Share};
use crate::settings::MinMatch;
use crate::stage::optimize::{Judged, Use};
use crate::store::Manifest;
use crate::store::campaign::Method;
use serde::{Deserialize, Serialize};

/// How many packages are shown by name.
const TOP: usize = 10;

/// The findings of one optimised build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UseReport {
    /// The campaign.
    pub campaign: String,
    /// What the findings depend on.
    pub basis: String,
    /// Whether its counts are samples.
    pub is_sampled: bool,
    /// Languages that take no part, because the compiler of this run can't.
    pub absent: Vec<String>,
    /// All that this build can use.
    pub all: Part,
    /// By language.
    pub languages: Vec<(String, Part)>,
    /// The packages with most counts.
    pub packages: Vec<PackageRow>,
    /// The others together.
    pub other_packages: Option<OtherPackages>,
    /// The heaviest lost functions.
    pub lost: Vec<LostRow>,
    /// The functions with most counts, and what became of these; empty where an earlier version
    /// wrote this.
    #[serde(default)]
    pub hottest: Vec<HotRow>,
    /// Counts lost because the function was changed.
    pub mismatched_counts: u128,
    /// Share of all counts that is in code outside this build.
    pub elsewhere_ratio: f64,
    /// Where that is.
    pub elsewhere: Vec<String>,
    /// Packages that lost counts, and how many of their objects no shim saw.
    pub unseen: Vec<(String, usize)>,
    /// Codegen units that the user's settings ask for, and those of the training, if others.
    pub other_units: Option<(u32, u32)>,
}

/// From which part of all counts on a language is worth a word.
pub const NOTABLE: f64 = 0.01;

/// From which part on it is one that no compiler used anything of a language's counts.
const TRACE: f64 = 0.001;

/// Counts, and how many of them were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Sum of the counts.
    pub total: u128,
    /// Of them, used.
    pub used: u128,
    /// Functions with counts.
    pub functions: u64,
    /// Of them, used.
    pub functions_used: u64,
}

/// One package's part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageRow {
    /// `name-version`.
    pub name: String,
    /// Its counts.
    pub share: Part,
}

/// Packages that are not shown by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherPackages {
    /// How many.
    pub packages: usize,
    /// Their counts.
    pub share: Part,
}

/// A lost function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LostRow {
    /// Its name in the profile.
    pub name: String,
    /// Its part of the counts.
    pub part: f64,
    /// Why.
    pub reason: String,
}

/// A hot function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HotRow {
    /// Its name in the profile, without the number of a unit.
    pub name: String,
    /// Its counts.
    pub count: u128,
    /// Why they were lost; `None` if they were used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// Why counts were lost, in words.
fn why(reason: Reason) -> String {
    match reason {
        Reason::Mismatched => "its control flow is not that of the training".into(),
        Reason::FewApplied => "it is there, but few of its samples found their place".into(),
        Reason::NotSeen => "no compiler of this build used its counts".into(),
    }
}

/// A language as it is shown.
pub(super) fn name(language: Language) -> &'static str {
    match language {
        Language::Rust => "Rust",
        Language::C => "C and C++",
    }
}

impl From<Share> for Part {
    fn from(share: Share) -> Part {
        Part {
            total: share.total,
            used: share.consumed,
            functions: share.functions,
            functions_used: share.functions_consumed,
        }
    }
}

impl Part {
    /// Used part from 0 to 1; 1 if there was nothing to use.
    pub fn ratio(self) -> f64 {
        if self.total == 0 {
            1.0
        } else {
            self.used as f64 / self.total as f64
        }
    }
}

impl UseReport {
    /// From what was measured.
    pub fn new(found: &Use, campaign: &Manifest, basis: String, absent: &[Language]) -> UseReport {
        let used = &found.used;
        let (top, rest) = used.top_packages(TOP);
        let others = used.packages.len() - top.len();
        let part = |count: u128| {
            if used.all.total == 0 {
                0.0
            } else {
                count as f64 / used.all.total as f64
            }
        };
        UseReport {
            campaign: campaign.id.clone(),
            basis,
            is_sampled: campaign.method == Method::Sample,
            absent: absent
                .iter()
                .map(|language| name(*language).to_owned())
                .collect(),
            all: used.all.into(),
            languages: used
                .languages
                .iter()
                .map(|(language, share)| (name(*language).to_owned(), (*share).into()))
                .collect(),
            packages: top
                .iter()
                .map(|(name, share)| PackageRow {
                    name: name.clone(),
                    share: (*share).into(),
                })
                .collect(),
            other_packages: (others > 0).then(|| OtherPackages {
                packages: others,
                share: rest.into(),
            }),
            mismatched_counts: used.mismatched,
            lost: used
                .lost
                .iter()
                .map(|lost| LostRow {
                    name: lost.name.clone(),
                    part: part(lost.count),
                    reason: why(lost.reason),
                })
                .collect(),
            hottest: used
                .hottest
                .iter()
                .map(|fate| HotRow {
                    name: fate.name.clone(),
                    count: fate.count,
                    lost: fate.reason.map(why),
                })
                .collect(),
            unseen: found
                .unseen
                .iter()
                .filter(|(package, _)| {
                    used.packages
                        .iter()
                        .any(|(name, share)| name == package && share.consumed < share.total)
                })
                .cloned()
                .collect(),
            other_units: found.other_units,
            elsewhere_ratio: found.elsewhere_ratio(),
            elsewhere: found
                .elsewhere
                .iter()
                .take(3)
                .map(|(name, _)| format!("`{name}`"))
                .collect(),
        }
    }

    /// What is held against `min-match`; `None` where the build has nothing of the profile's.
    ///
    /// Samples are estimated for each language by other rules, and optimised code has more lines in
    /// one than in the other: their counts can't be added up, so the language that used least decides.
    pub fn judged(&self, min_match: MinMatch) -> Option<Judged<'_>> {
        let all = (self.all.total > 0).then(|| Judged {
            share: self.all.ratio(),
            wanted: min_match.of(false, None),
            language: None,
        })?;
        if !self.is_sampled {
            return Some(all);
        }
        let languages = self.languages.iter();
        languages
            .filter(|(_, part)| {
                // Estimates of little-used code are no reason to fail, but that a compiler used
                // nothing at all is: counts of one language say little of its part of the time.
                let notable = if part.used == 0 { TRACE } else { NOTABLE };
                self.part_of_all(part.total) >= notable
            })
            .map(|(language, part)| Judged {
                share: part.ratio(),
                wanted: min_match.of(true, Some(language)),
                language: Some(language),
            })
            .min_by(|a, b| (a.share - a.wanted).total_cmp(&(b.share - b.wanted)))
            .or(Some(all))
    }

    /// Whether it holds all that this version writes: an earlier one did not name functions.
    pub fn is_complete(&self) -> bool {
        self.hottest.is_empty() == (self.all.functions == 0)
    }

    /// Whether the build has nothing of the profile's.
    pub fn is_empty(&self) -> bool {
        self.all.total == 0
    }

    /// Counts that were not used.
    pub fn lost_counts(&self) -> u128 {
        self.all.total - self.all.used
    }

    /// Counts of one language that were not used.
    pub fn lost_counts_of(&self, language: Language) -> u128 {
        let languages = self.languages.iter();
        languages
            .filter(|(found, _)| found == name(language))
            .map(|(_, part)| part.total - part.used)
            .sum()
    }

    /// Whether a package, by its name without a version, is shown with counts that were not used.
    pub fn loses(&self, package: &str) -> bool {
        self.packages.iter().any(|row| {
            row.share.used < row.share.total
                && row
                    .name
                    .strip_prefix(package)
                    .is_some_and(|rest| rest.starts_with('-'))
        })
    }

    /// A count as a part of all that this build can use.
    pub fn part_of_all(&self, count: u128) -> f64 {
        if self.all.total == 0 {
            0.0
        } else {
            count as f64 / self.all.total as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_version_wrote_is_read_and_known_to_lack_functions() {
        let part = r#"{"total": 5, "used": 5, "functions": 1, "functions_used": 1}"#;
        let text = format!(
            r#"{{"campaign": "c", "basis": "b", "is_sampled": false, "absent": [], "all": {part},
                "languages": [], "packages": [], "other_packages": null, "lost": [],
                "mismatched_counts": 0, "elsewhere_ratio": 0.0, "elsewhere": [], "unseen": [],
                "other_units": null}}"#
        );
        let mut report: UseReport = serde_json::from_str(&text).unwrap();
        assert!(!report.is_complete());
        report.hottest.push(HotRow {
            name: "f".into(),
            count: 5,
            lost: None,
        });
        let text = serde_json::to_string(&report).unwrap();
        let report: UseReport = serde_json::from_str(&text).unwrap();
        assert!(report.is_complete());
    }
}
