//! `[sample]`: how `method = "sample"` records and converts.

use super::problem::Problems;
use super::section::{Item, Section};
use super::value;
use crate::tool::perf::Limits;
use crate::tool::perf::probe::Wanted;
use crate::tool::sample_converter::{Converter, Merger};
use std::time::Duration;

/// What `[sample]` says.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Event, branch stacks, frequency: what is not named is tried out.
    pub wanted: Wanted,
    /// What bounds a recording.
    pub limits: Limits,
    /// How long one run is recorded; it is stopped then, and that is no failure.
    pub duration: Option<Duration>,
    /// How often each run of a workload is repeated, beside the workload's own `repeat`: clock samples
    /// take time to become many.
    pub repeat: u32,
    /// The least share of the samples that an executable or shared object must have to be
    /// converted, 0 to 1.
    pub min_share: f64,
    /// The least share of an image's samples that must be in functions with line information.
    pub min_mapped: f64,
    /// What makes profiles from recordings.
    pub converter: Converter,
    /// What merges those of several workloads.
    pub merger: Merger,
}

impl Default for Sample {
    fn default() -> Self {
        Sample {
            wanted: Wanted::default(),
            limits: Limits {
                // Recordings grow with time and processors; one that nobody watches fills a disk.
                max_bytes: Some(4 << 30),
                buffer_bytes: None,
                compress: false,
            },
            duration: None,
            repeat: 1,
            min_share: 0.02,
            min_mapped: 0.5,
            converter: Converter::default(),
            merger: Merger::default(),
        }
    }
}

/// The table.
pub(super) fn sample(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Sample> {
    let mut section: Section<'_> = item.section(problems)?;
    let mut sample = Sample::default();
    sample.wanted.event = section.read("event", problems, event);
    sample.wanted.branch_stacks = section.read("branch-stacks", problems, value::flag);
    sample.wanted.frequency = section.read("frequency", problems, value::count);
    if let Some(bytes) = section.read("max-size", problems, value::size) {
        sample.limits.max_bytes = Some(bytes);
    }
    sample.limits.buffer_bytes = section.read("buffer", problems, value::size);
    if let Some(compress) = section.read("compress", problems, value::flag) {
        sample.limits.compress = compress;
    }
    sample.duration = section.read("duration", problems, value::duration);
    if let Some(repeat) = section.read("repeat", problems, value::count) {
        sample.repeat = repeat;
    }
    if let Some(share) = section.read("min-share", problems, value::share) {
        sample.min_share = share;
    }
    if let Some(share) = section.read("min-mapped", problems, value::share) {
        sample.min_mapped = share;
    }
    if let Some(converter) = section.read("converter", problems, |item, problems| {
        value::choice(item, problems, &Converter::NAMES)
    }) {
        sample.converter = converter;
    }
    if let Some(merger) = section.read("merger", problems, |item, problems| {
        let choices = [
            ("native", Merger::Native),
            ("profile_merger", Merger::ProfileMerger),
        ];
        value::choice(item, problems, &choices)
    }) {
        sample.merger = merger;
    }
    section.finish(problems);
    Some(sample)
}

/// perf's name of one event.
fn event(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
    const WHAT: &str = "one event by perf's name, such as \"cycles:u\"";
    let name = value::text(item, problems, WHAT)?;
    // A comma between slashes belongs to one event: `cpu/event=0xc4,umask=0x20/u`.
    let mut in_terms = false;
    let several = name.chars().any(|c| {
        in_terms ^= c == '/';
        c.is_whitespace() || (c == ',' && !in_terms)
    });
    if several || name.starts_with('-') {
        item.must_be(problems, WHAT);
        return None;
    }
    Some(name.to_owned())
}
