//! How much of the profile a build used, as kept and as shown.

use crate::profile::consumed::{Language, Reason, Share};
use crate::stage::optimize::Use;
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
    /// Counts lost because the function was changed.
    pub mismatched_counts: u128,
    /// Share of all counts that is in code outside this build.
    pub elsewhere_ratio: f64,
    /// Where that is.
    pub elsewhere: Vec<String>,
    /// Codegen units that the user's settings ask for, and those of the training, if others.
    pub other_units: Option<(u32, u32)>,
}

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
    pub fn new(found: &Use, campaign: &str, basis: String) -> UseReport {
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
            campaign: campaign.to_owned(),
            basis,
            all: used.all.into(),
            languages: used
                .languages
                .iter()
                .map(|(language, share)| {
                    let name = match language {
                        Language::Rust => "Rust",
                        Language::C => "C and C++",
                    };
                    (name.to_owned(), (*share).into())
                })
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
                    reason: match lost.reason {
                        Reason::Mismatched => "it was changed since the training".into(),
                        Reason::FewApplied => {
                            "it is there, but few of its samples found their place".into()
                        }
                        _ => "no compiler saw it in this build".into(),
                    },
                })
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

    /// The share that is held against `min-match`; `None` where the build has nothing of the
    /// profile's.
    pub fn judged_share(&self) -> Option<f64> {
        (self.all.total > 0).then(|| self.all.ratio())
    }

    /// Whether the build has nothing of the profile's.
    pub fn is_empty(&self) -> bool {
        self.all.total == 0
    }

    /// Counts that were not used.
    pub fn lost_counts(&self) -> u128 {
        self.all.total - self.all.used
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
