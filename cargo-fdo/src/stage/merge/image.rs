//! Which program or shared library a raw profile is of.
//!
//! A service's directory does not say it: helpers that it starts write there too, and so do its
//! shared libraries. The file itself does.

use crate::profile::instr_text::InstrProfile;
use crate::profile::raw::RawProfile;
use std::collections::BTreeMap;

/// What one program or shared library counted.
#[derive(Debug, Clone)]
pub struct OfImage {
    /// Which one.
    pub image: Image,
    /// Sum of its counters in each workload, times the workload's weight.
    pub counts: BTreeMap<String, u128>,
    /// Its profile; `None` if its counters are of the front end.
    pub profile: Option<InstrProfile>,
}

/// What raw profiles of one program or shared library have in common, whatever process wrote them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Image {
    /// The GNU build id, if the linker gave it one.
    pub build_id: Option<Vec<u8>>,
    /// [`RawProfile::functions_id`].
    pub functions: String,
}

impl Image {
    /// Of the profiles of one file: those of several images where the file's name does not keep
    /// them apart.
    pub(super) fn of(profiles: &[RawProfile], bytes: &[u8]) -> Image {
        let ids = profiles.iter().map(|profile| profile.functions_id(bytes));
        Image {
            build_id: match profiles {
                [only] => only.build_id(bytes),
                _ => None,
            },
            functions: ids.collect::<Vec<_>>().join(" "),
        }
    }
}
