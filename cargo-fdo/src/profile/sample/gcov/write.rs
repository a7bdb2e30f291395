//! From a profile to a file's bytes, and what gets lost on the way; the layout is in [`super`].

use super::super::merge::add_function;
use super::super::{FunctionSamples, Location, MAX_DEPTH, SampleProfile, llvm_text};
use super::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The name under which GCC looks for a function.
pub fn gcc_name(name: &str) -> Cow<'_, str> {
    let name = name.split('.').next().unwrap_or(name);
    // From create_gcov, with its least lengths: `C4` of a constructor that takes nothing, a
    // string, or a string and a reference to an allocator; `D4` of a destructor.
    for (suffix, length) in [("D4Ev", 6), ("C4Ev", 6), ("C4EPKc", 8), ("C4EPKcRKS2_", 13)] {
        if let Some(start) = name.strip_suffix(suffix)
            && name.len() >= length
        {
            return Cow::Owned(format!("{start}{}", suffix.replacen('4', "2", 1)));
        }
    }
    Cow::Borrowed(name)
}

/// A file and what it could not hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The file's content.
    pub bytes: Vec<u8>,
    /// Functions, inlined copies and targets whose name GCC can't look up: contexts, names with a
    /// NUL, names that are nothing but a suffix. What was sampled under them is missing.
    pub left_out: BTreeSet<String>,
    /// Positions whose discriminator has more than 16 bits; missing too.
    pub positions_left_out: usize,
}

/// Writes a file's content: equal profiles, equal bytes.
///
/// What GCC can't tell apart is added up, see the module's documentation. Totals are not written.
pub fn write(file: &GcovProfile) -> Written {
    let mut out = Written::default();
    let profile = for_gcc(&file.profile, &mut out);
    let short = |name: &String| gcc_name(name).into_owned();
    let files = file.files.iter().filter(|(_, file)| !file.contains('\0'));
    let files = files
        .map(|(name, file)| (short(name), file.clone()))
        .collect();
    let mut timestamps = BTreeMap::new();
    for (name, &timestamp) in &file.timestamps {
        let first = timestamps.entry(short(name)).or_insert(timestamp);
        *first = timestamp.min(*first);
    }
    let mut writer = Writer {
        version: file.version,
        bytes: Vec::new(),
        names: BTreeMap::new(),
    };
    writer.collect_names(&profile);
    writer.word(MAGIC);
    writer.word(file.version.number());
    writer.word(0);
    if file.version >= Version::V3 {
        writer.summary(&profile);
    }
    writer.name_table(&files);
    writer.functions(&profile, &timestamps);
    writer.word(TAG_MODULES);
    writer.word(0);
    writer.word(0);
    // Counts of instructions, which a profile by lines does not have. GCC never reads them, but
    // autofdo's own tools end in an error where they are missing.
    writer.word(TAG_WORKING_SET);
    writer.word(3 * WORKING_SETS);
    writer
        .bytes
        .extend(std::iter::repeat_n(0, 12 * WORKING_SETS as usize));
    out.bytes = writer.bytes;
    out
}

/// The same profile under the names and with the positions that GCC knows.
fn for_gcc(profile: &SampleProfile, out: &mut Written) -> SampleProfile {
    let mut result = SampleProfile::default();
    for (name, samples) in &profile.functions {
        let Some(name) = usable_name(name, out) else {
            continue;
        };
        let samples = instance_for_gcc(samples, 1, out);
        let own = result.functions.entry(name).or_default();
        add_function(own, &samples, 1);
    }
    result
}

fn usable_name(name: &str, out: &mut Written) -> Option<String> {
    let short = gcc_name(name);
    if short.is_empty() || short.contains('\0') || llvm_text::is_context(name) {
        out.left_out.insert(name.to_owned());
        return None;
    }
    Some(short.into_owned())
}

fn instance_for_gcc(samples: &FunctionSamples, depth: usize, out: &mut Written) -> FunctionSamples {
    let mut result = FunctionSamples {
        head: samples.head,
        ..FunctionSamples::default()
    };
    for (location, body) in &samples.body {
        if location.discriminator > 0xffff {
            out.positions_left_out += 1;
            continue;
        }
        let own = result.body.entry(*location).or_default();
        own.count = body.count;
        for (name, count) in &body.targets {
            if let Some(name) = usable_name(name, out) {
                let target = own.targets.entry(name).or_default();
                *target = target.saturating_add(*count);
            }
        }
    }
    for (location, site) in &samples.call_sites {
        if location.discriminator > 0xffff || depth >= MAX_DEPTH {
            out.positions_left_out += site.len();
            continue;
        }
        for (name, copy) in site {
            if let Some(name) = usable_name(name, out) {
                let copy = instance_for_gcc(copy, depth + 1, out);
                let site = result.call_sites.entry(*location).or_default();
                add_function(site.entry(name).or_default(), &copy, 1);
            }
        }
    }
    result
}

struct Writer {
    version: Version,
    bytes: Vec<u8>,
    /// Index in the name table.
    names: BTreeMap<String, u32>,
}

impl Writer {
    fn word(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    fn counter(&mut self, counter: u64) {
        // The lower word first: the same bytes.
        self.bytes.extend_from_slice(&counter.to_le_bytes());
    }

    /// A number of things that are in memory. No profile has 2^32 of any.
    fn count(&mut self, count: usize) {
        self.word(u32::try_from(count).unwrap_or(u32::MAX));
    }

    fn string(&mut self, text: &str) {
        match self.version {
            Version::V1 => {
                let words = (text.len() + 4) / 4;
                self.count(words);
                self.bytes.extend_from_slice(text.as_bytes());
                let padding = words * 4 - text.len();
                self.bytes.extend(std::iter::repeat_n(0, padding));
            }
            Version::V2 | Version::V3 => {
                self.count(text.len() + 1);
                self.bytes.extend_from_slice(text.as_bytes());
                self.bytes.push(0);
            }
        }
    }

    fn collect_names(&mut self, profile: &SampleProfile) {
        fn of_instance(names: &mut BTreeMap<String, u32>, samples: &FunctionSamples) {
            for name in samples.body.values().flat_map(|body| body.targets.keys()) {
                names.insert(name.clone(), 0);
            }
            for (name, copy) in samples.call_sites.values().flatten() {
                names.insert(name.clone(), 0);
                of_instance(names, copy);
            }
        }
        // Index 0 stands for "none".
        self.names.insert(String::new(), 0);
        for (name, samples) in &profile.functions {
            self.names.insert(name.clone(), 0);
            of_instance(&mut self.names, samples);
        }
        for (index, number) in (0..).zip(self.names.values_mut()) {
            *number = index;
        }
    }

    fn index(&self, name: &str) -> u32 {
        self.names.get(name).copied().unwrap_or(0)
    }

    fn name_table(&mut self, files: &BTreeMap<String, String>) {
        self.word(TAG_NAMES);
        let words = |text: &String| (text.len() + 4) / 4 + 1;
        let length: usize = self.names.keys().map(words).sum();
        self.count(length + 1);
        let mut file_index = BTreeMap::new();
        if self.version >= Version::V3 {
            for name in self.names.keys() {
                file_index.extend(files.get(name).map(|file| (file.as_str(), 0)));
            }
            for (index, number) in (0..).zip(file_index.values_mut()) {
                *number = index;
            }
            self.count(file_index.len());
            for file in file_index.keys() {
                self.string(file);
            }
        }
        let names = std::mem::take(&mut self.names);
        self.count(names.len());
        for name in names.keys() {
            self.string(name);
            if self.version >= Version::V3 {
                let file = files
                    .get(name)
                    .and_then(|file| file_index.get(file.as_str()));
                self.word(file.copied().unwrap_or(NO_FILE));
            }
        }
        self.names = names;
    }

    fn functions(&mut self, profile: &SampleProfile, timestamps: &BTreeMap<String, u64>) {
        fn words(samples: &FunctionSamples) -> usize {
            let targets: usize = samples.body.values().map(|body| body.targets.len()).sum();
            let copies = samples.call_sites.values().flat_map(BTreeMap::values);
            3 + samples.body.len() * 4
                + targets * 5
                + copies.map(|copy| 1 + words(copy)).sum::<usize>()
        }
        self.word(TAG_FUNCTIONS);
        let length: usize = profile.functions.values().map(|f| 2 + words(f)).sum();
        self.count(length + 1);
        self.count(profile.functions.len());
        for (name, samples) in &profile.functions {
            self.counter(samples.head);
            if self.version >= Version::V3 {
                self.counter(timestamps.get(name).copied().unwrap_or(0));
            }
            self.word(self.index(name));
            self.instance(samples);
        }
    }

    fn instance(&mut self, samples: &FunctionSamples) {
        self.count(samples.body.len());
        self.count(samples.call_sites.values().map(BTreeMap::len).sum());
        for (location, body) in &samples.body {
            self.word(place(*location));
            self.count(body.targets.len());
            self.counter(body.count);
            for (name, count) in &body.targets {
                self.word(INDIRECT_CALL);
                self.counter(self.index(name).into());
                self.counter(*count);
            }
        }
        for (location, site) in &samples.call_sites {
            for (name, copy) in site {
                self.word(place(*location));
                self.word(self.index(name));
                self.instance(copy);
            }
        }
    }

    /// Of the counts of all positions, inlined ones included.
    fn summary(&mut self, profile: &SampleProfile) {
        fn collect(counts: &mut Vec<u64>, samples: &FunctionSamples) {
            counts.extend(samples.body.values().map(|body| body.count));
            for copy in samples.call_sites.values().flat_map(BTreeMap::values) {
                collect(counts, copy);
            }
        }
        let mut counts = Vec::new();
        for samples in profile.functions.values() {
            collect(&mut counts, samples);
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let total: u128 = counts.iter().map(|&count| u128::from(count)).sum();
        let heads = profile.functions.values().map(|samples| samples.head);
        self.word(TAG_SUMMARY);
        self.counter(u64::try_from(total).unwrap_or(u64::MAX));
        self.counter(counts.first().copied().unwrap_or(0));
        self.counter(heads.max().unwrap_or(0));
        self.counter(counts.len() as u64);
        self.counter(profile.functions.len() as u64);
        self.counter(CUTOFFS.len() as u64);
        let (mut sum, mut least, mut seen) = (0_u128, 0, 0_usize);
        for cutoff in CUTOFFS {
            let wanted = total * u128::from(cutoff) / 1_000_000;
            // Equal counts are taken together, or their order would matter.
            while let Some(&count) = counts.get(seen)
                && (sum < wanted || (count == least && seen > 0))
            {
                sum += u128::from(count);
                least = count;
                seen += 1;
            }
            self.word(cutoff);
            self.counter(least);
            self.counter(seen as u64);
        }
    }
}

fn place(location: Location) -> u32 {
    (location.offset & 0xffff) << 16 | (location.discriminator & 0xffff)
}
