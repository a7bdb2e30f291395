//! What a campaign's manifest says of every training, however it counted.

use super::Session;
use crate::profile::slice::content_hash;
use crate::profile::summary::{Limits, Quality};
use crate::store::Manifest;
use crate::store::campaign::{self, Method, Partition};
use crate::toolbox::{Toolbox, Verdict};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// The manifest of a campaign with these slices, before its workloads are put in.
pub(super) fn manifest(
    session: &Session,
    toolbox: &Toolbox,
    method: Method,
    slices: &[(&str, &str)],
    limits: Limits,
    quality: &Quality,
) -> Manifest {
    let slices: BTreeMap<String, String> = slices
        .iter()
        .map(|(name, text)| ((*name).to_owned(), content_hash(text)))
        .collect();
    let has_c = slices.contains_key(campaign::C) || slices.contains_key(campaign::GCC);
    // Counts of C that were collected may be of a compiler that is not here.
    let is_here = method == Method::Sample || toolbox.c.verdict == Verdict::Fits;
    let c_compiler = (has_c && is_here).then(|| toolbox.c.version.clone());
    let identity = format!(
        "{slices:?} {} {c_compiler:?} {} {limits:?}",
        toolbox.rustc.version, session.cargo.target
    );
    Manifest {
        version: campaign::VERSION,
        id: content_hash(&identity),
        method,
        made: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_secs()),
        target: session.cargo.target.clone(),
        profile: session.cargo.profile.clone(),
        rustc: toolbox.rustc.version.clone(),
        c_compiler,
        workloads: Vec::new(),
        failed: Vec::new(),
        raw_files: 0,
        quarantined: 0,
        limits: limits.into(),
        partition: Partition::default(),
        functions: quality.functions,
        functions_executed: quality.functions_executed,
        blocks: quality.blocks,
        hot_blocks: quality.hot_blocks_99,
        thin: quality.is_thin(),
        total: quality.total,
        hottest: quality.hottest.clone(),
        slices,
        c_objects: Vec::new(),
        binaries: Vec::new(),
        sampling: None,
    }
}
