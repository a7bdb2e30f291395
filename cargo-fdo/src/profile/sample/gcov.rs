//! GCC's AutoFDO profile, which `gcc -fauto-profile=FILE` reads.
//!
//! ```text
//! word 0x67636461 (on disk `adcg`), word version, word 0
//! [3]  0xa8000000 summary: counters total, highest, highest head, positions, functions;
//!      counter n, n x { word cutoff in millionths, counter least, counter positions }
//! 0xaa000000 names: word length; [3: word n, n strings (files)]; word n,
//!      n x { string, [3: word index of its file or 0xffffffff] }     sorted, the first one empty
//! 0xac000000 functions: word length, word n,
//!      n x { counter head, [3: counter timestamp], word name, INSTANCE }
//! 0xae000000 modules: word 0, word 0
//! 0xaf000000 working set: word 3 * 128, 128 x { word, counter }      read by nobody
//!
//! INSTANCE = word positions, word call sites,
//!      positions x { word place, word targets, counter, targets x { word 7, counter name, counter } },
//!      call sites x { word place, word name, INSTANCE }
//! ```
//!
//! Words are 32 bits, little-endian; a counter is two words, the lower one first. A place is the
//! line from the declaration times 65,536 plus the discriminator, 16 bits each. A string is its
//! length with the final NUL and its bytes: in version 1 the length is in words and the string is
//! padded, from version 2 on it is in bytes. Section lengths are in words and nobody reads them.
//! Sources: `gcc/auto-profile.cc` (what GCC reads), `profile_writer.cc` and `gcov.cc` of
//! google/autofdo (what create_gcov writes).
//!
//! | version | read by GCC | |
//! | --- | --- | --- |
//! | 1 | 5 to 11 | |
//! | 2 | 12 to 15 | |
//! | 3 | 16 on | **experimental**: changed since it was introduced, no GCC of this kind was tried |
//!
//! Timestamps came to version 3 months after its first writers (autofdo 158a27f, May 2026), and
//! nothing in a file says whether it has them. The reader takes what fits up to the next section.
//!
//! GCC cuts names at the first `.` when it reads, and of two names that are then equal it sees one.
//! So the writer cuts them and adds their samples up; and names of constructors and destructors in
//! a form that no symbol has (`C4`, `D4`, GCC bug 64346) become `C2` and `D2`, as create_gcov does.

use super::merge::add_function;
use super::{FunctionSamples, Location, MAX_DEPTH, SampleProfile};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// `gcda` as a number, so `adcg` in a little-endian file.
pub const MAGIC: u32 = 0x6763_6461;

const TAG_SUMMARY: u32 = 0xa800_0000;
const TAG_NAMES: u32 = 0xaa00_0000;
const TAG_FUNCTIONS: u32 = 0xac00_0000;
const TAG_MODULES: u32 = 0xae00_0000;
const TAG_WORKING_SET: u32 = 0xaf00_0000;

/// `NUM_GCOV_WORKING_SETS`.
const WORKING_SETS: u32 = 128;

/// `HIST_TYPE_INDIR_CALL_TOPN`, the one kind of value profile there is.
const INDIRECT_CALL: u32 = 7;

/// "No file" in version 3.
const NO_FILE: u32 = u32::MAX;

/// The cutoffs of version 3's summary, in millionths (`ProfileSummaryInformation` of autofdo).
const CUTOFFS: [u32; 16] = [
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000,
    950_000, 990_000, 999_000, 999_900, 999_990, 999_999,
];

/// The layout of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// For GCC up to 11.
    V1,
    /// For GCC 12 to 15.
    V2,
    /// For GCC 16. Experimental.
    V3,
}

impl Version {
    /// The number in the file.
    pub fn number(self) -> u32 {
        match self {
            Version::V1 => 1,
            Version::V2 => 2,
            Version::V3 => 3,
        }
    }

    /// What a GCC of this major version reads; it refuses every other one.
    pub fn of_gcc(major: u32) -> Version {
        match major {
            ..12 => Version::V1,
            12..16 => Version::V2,
            16.. => Version::V3,
        }
    }

    fn of(number: u32) -> Option<Version> {
        [Version::V1, Version::V2, Version::V3]
            .into_iter()
            .find(|version| version.number() == number)
    }
}

/// A file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcovProfile {
    /// Its layout.
    pub version: Version,
    /// The samples. Totals are the sums of the positions, as for GCC.
    pub profile: SampleProfile,
    /// Source file of a function; version 3 only, and not of all.
    pub files: BTreeMap<String, String>,
    /// When an outermost function was first seen, in perf's nanoseconds; version 3 only, and zero
    /// is left out.
    pub timestamps: BTreeMap<String, u64>,
}

impl GcovProfile {
    /// A profile without files and timestamps.
    pub fn new(version: Version, profile: SampleProfile) -> GcovProfile {
        GcovProfile {
            version,
            profile,
            files: BTreeMap::new(),
            timestamps: BTreeMap::new(),
        }
    }

    /// Adds another file's samples, each count times `weight`. Of timestamps the earlier one and
    /// of source files the first one stay.
    pub fn add(&mut self, other: &GcovProfile, weight: u64) {
        // No file has checksums, so none mismatch.
        super::merge::add(&mut self.profile, &other.profile, weight);
        for (name, file) in &other.files {
            self.files
                .entry(name.clone())
                .or_insert_with(|| file.clone());
        }
        for (name, &timestamp) in &other.timestamps {
            let first = self.timestamps.entry(name.clone()).or_insert(timestamp);
            *first = timestamp.min(*first);
        }
    }
}

/// Why a file is not an AutoFDO profile that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcovError {
    /// Where, in bytes.
    pub at: usize,
    /// What was wrong there.
    pub what: GcovErrorKind,
}

/// What is wrong at an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GcovErrorKind {
    /// Another magic number.
    Magic,
    /// A version that this reader does not know. gcc's counters (`.gcda`) have the compiler's.
    Version(u32),
    /// The file ends inside this.
    Truncated(&'static str),
    /// Another section should begin here.
    Section(&'static str),
    /// A string that is empty of bytes, has no end, or is not UTF-8.
    String,
    /// A name that is not in the table, or the empty one.
    Name(u64),
    /// Value profiles other than called functions.
    ValueKind(u32),
    /// Modules, which no GCC takes.
    Modules,
    /// Inlined more than [`MAX_DEPTH`] deep.
    TooDeep,
    /// The same names so often that they would fill the memory.
    Inflated,
    /// Bytes after the end.
    Trailing,
}

impl fmt::Display for GcovError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            GcovErrorKind::Magic => f.write_str("is no AutoFDO profile of GCC")?,
            GcovErrorKind::Version(version) => {
                write!(f, "version {version} is unknown, expected 1 to 3")?;
            }
            GcovErrorKind::Truncated(what) => write!(f, "file ends inside {what}")?,
            GcovErrorKind::Section(what) => write!(f, "{what} should begin")?,
            GcovErrorKind::String => f.write_str("no string")?,
            GcovErrorKind::Name(index) => write!(f, "no name has the number {index}")?,
            GcovErrorKind::ValueKind(kind) => write!(f, "unknown kind of values {kind}")?,
            GcovErrorKind::Modules => f.write_str("module groups, which GCC refuses")?,
            GcovErrorKind::TooDeep => write!(f, "functions inlined more than {MAX_DEPTH} deep")?,
            GcovErrorKind::Inflated => f.write_str("more names than such a file can need")?,
            GcovErrorKind::Trailing => f.write_str("more bytes after the end")?,
        }
        write!(f, " at byte {}", self.at)
    }
}

impl std::error::Error for GcovError {}

/// Whether a file is an AutoFDO profile, of whatever version.
///
/// gcc's counters (`.gcda`) have the same magic number; behind it they have the compiler's
/// version as four letters, and a stamp and a checksum where these have zero and a section.
pub fn recognises(bytes: &[u8]) -> bool {
    let word = |index: usize| {
        let word = bytes.get(index * 4..index * 4 + 4)?;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    };
    let section = matches!(word(3), Some(TAG_SUMMARY | TAG_NAMES));
    word(0) == Some(MAGIC) && (word(1).is_some_and(|version| version < 256) || section)
}

/// Reads a file's content.
///
/// A function that is listed twice has the sum of both; counts saturate.
///
/// # Errors
///
/// Names the first byte of what can't be read. Allocates at most a multiple of the file's size.
pub fn read(bytes: &[u8]) -> Result<GcovProfile, GcovError> {
    let mut reader = Reader::new(bytes);
    if reader.word("the magic number")? != MAGIC {
        return Err(reader.error_before(4, GcovErrorKind::Magic));
    }
    let number = reader.word("the version")?;
    let Some(version) = Version::of(number) else {
        return Err(reader.error_before(4, GcovErrorKind::Version(number)));
    };
    reader.version = version;
    reader.word("the header")?;
    if version >= Version::V3 {
        reader.summary()?;
    }
    let names = reader.names()?;
    let after_names = reader.at;
    match reader.functions(&names, version >= Version::V3) {
        // Written before there were timestamps?
        Err(error) if version >= Version::V3 => {
            let mut again = Reader::new(bytes);
            again.version = version;
            again.at = after_names;
            again.functions(&names, false).map_err(|_| error)
        }
        result => result,
    }
}

/// Bytes of names that may be copied for each byte of the file, beyond [`NAMES_FREE`].
///
/// In a real file a reference to a name takes 16 bytes or more and a name some hundred.
const NAMES_SHARE: usize = 64;
const NAMES_FREE: usize = 1 << 26;

/// A name and the index of its file.
type Names<'a> = Vec<(&'a str, Option<&'a str>)>;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    version: Version,
    /// How many bytes of names may still be copied.
    allowance: usize,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader {
            bytes,
            at: 0,
            version: Version::V1,
            allowance: bytes
                .len()
                .saturating_mul(NAMES_SHARE)
                .saturating_add(NAMES_FREE),
        }
    }

    fn error_before(&self, bytes: usize, what: GcovErrorKind) -> GcovError {
        GcovError {
            at: self.at.saturating_sub(bytes),
            what,
        }
    }

    fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], GcovError> {
        let taken = self
            .at
            .checked_add(length)
            .and_then(|end| self.bytes.get(self.at..end));
        match taken {
            Some(taken) => {
                self.at += length;
                Ok(taken)
            }
            None => Err(self.error_before(0, GcovErrorKind::Truncated(what))),
        }
    }

    fn word(&mut self, what: &'static str) -> Result<u32, GcovError> {
        let bytes = self.take(4, what)?;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u32::from(byte)))
    }

    fn counter(&mut self, what: &'static str) -> Result<u64, GcovError> {
        let low = self.word(what)?;
        let high = self.word(what)?;
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    fn section(&mut self, tag: u32, what: &'static str) -> Result<(), GcovError> {
        if self.word(what)? == tag {
            Ok(())
        } else {
            Err(self.error_before(4, GcovErrorKind::Section(what)))
        }
    }

    fn string(&mut self) -> Result<&'a str, GcovError> {
        let start = self.at;
        let length = self.word("a string")? as usize;
        let length = match self.version {
            Version::V1 => length.saturating_mul(4),
            Version::V2 | Version::V3 => length,
        };
        let bytes = self.take(length, "a string")?;
        bytes
            .iter()
            .position(|&byte| byte == 0)
            .and_then(|end| std::str::from_utf8(bytes.get(..end)?).ok())
            .ok_or(GcovError {
                at: start,
                what: GcovErrorKind::String,
            })
    }

    /// Skipped: it follows from the rest.
    fn summary(&mut self) -> Result<(), GcovError> {
        const WHAT: &str = "the summary";
        self.section(TAG_SUMMARY, WHAT)?;
        for _ in 0..5 {
            self.counter(WHAT)?;
        }
        for _ in 0..self.counter(WHAT)? {
            self.take(20, WHAT)?;
        }
        Ok(())
    }

    fn names(&mut self) -> Result<Names<'a>, GcovError> {
        self.section(TAG_NAMES, "the name table")?;
        self.word("the name table")?;
        let mut files = Vec::new();
        if self.version >= Version::V3 {
            for _ in 0..self.word("the file table")? {
                files.push(self.string()?);
            }
        }
        let mut names = Vec::new();
        for _ in 0..self.word("the name table")? {
            let name = self.string()?;
            let file = match self.version {
                Version::V1 | Version::V2 => None,
                Version::V3 => files.get(self.word("the name table")? as usize).copied(),
            };
            names.push((name, file));
        }
        Ok(names)
    }

    /// Everything from the functions to the end.
    fn functions(&mut self, names: &Names<'a>, timestamps: bool) -> Result<GcovProfile, GcovError> {
        const WHAT: &str = "a function";
        let mut file = GcovProfile::new(self.version, SampleProfile::default());
        self.section(TAG_FUNCTIONS, "the functions")?;
        self.word(WHAT)?;
        for _ in 0..self.word(WHAT)? {
            let head = self.counter(WHAT)?;
            let timestamp = if timestamps { self.counter(WHAT)? } else { 0 };
            let index = self.word(WHAT)?.into();
            let name = self.name(names, index, 4)?;
            if timestamp != 0 {
                let first = file.timestamps.entry(name.clone()).or_insert(timestamp);
                *first = timestamp.min(*first);
            }
            let function = file.profile.functions.entry(name).or_default();
            function.head = function.head.saturating_add(head);
            self.instance(function, names, 1)?;
        }
        self.section(TAG_MODULES, "the module groups")?;
        self.word("the module groups")?;
        if self.word("the module groups")? != 0 {
            return Err(self.error_before(4, GcovErrorKind::Modules));
        }
        // Not all writers go on.
        if self.at < self.bytes.len() {
            self.section(TAG_WORKING_SET, "the working set")?;
            self.word("the working set")?;
            self.take(12 * WORKING_SETS as usize, "the working set")?;
        }
        if self.at < self.bytes.len() {
            return Err(self.error_before(0, GcovErrorKind::Trailing));
        }
        for function in file.profile.functions.values_mut() {
            function.recount();
        }
        for (name, source) in names {
            if let Some(source) = source {
                self.spend(source.len() + name.len())?;
                file.files.insert((*name).to_owned(), (*source).to_owned());
            }
        }
        Ok(file)
    }

    fn instance(
        &mut self,
        samples: &mut FunctionSamples,
        names: &Names<'a>,
        depth: usize,
    ) -> Result<(), GcovError> {
        const WHAT: &str = "a function";
        let positions = self.word(WHAT)?;
        let call_sites = self.word(WHAT)?;
        for _ in 0..positions {
            let location = location(self.word(WHAT)?);
            let targets = self.word(WHAT)?;
            let count = self.counter(WHAT)?;
            let body = samples.body.entry(location).or_default();
            body.count = body.count.saturating_add(count);
            for _ in 0..targets {
                let kind = self.word(WHAT)?;
                if kind != INDIRECT_CALL {
                    return Err(self.error_before(4, GcovErrorKind::ValueKind(kind)));
                }
                let index = self.counter(WHAT)?;
                let name = self.name(names, index, 8)?;
                let target = body.targets.entry(name).or_default();
                *target = target.saturating_add(self.counter(WHAT)?);
            }
        }
        for _ in 0..call_sites {
            if depth >= MAX_DEPTH {
                return Err(self.error_before(0, GcovErrorKind::TooDeep));
            }
            let location = location(self.word(WHAT)?);
            let index = self.word(WHAT)?.into();
            let name = self.name(names, index, 4)?;
            let site = samples.call_sites.entry(location).or_default();
            self.instance(site.entry(name).or_default(), names, depth + 1)?;
        }
        Ok(())
    }

    /// A name of the table by its index, which was just read and took `width` bytes.
    fn name(&mut self, names: &Names<'a>, index: u64, width: usize) -> Result<String, GcovError> {
        let name = usize::try_from(index)
            .ok()
            .and_then(|index| names.get(index))
            .filter(|(name, _)| !name.is_empty());
        match name {
            Some((name, _)) => {
                self.spend(name.len())?;
                Ok((*name).to_owned())
            }
            None => Err(self.error_before(width, GcovErrorKind::Name(index))),
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), GcovError> {
        match self.allowance.checked_sub(bytes) {
            Some(left) => {
                self.allowance = left;
                Ok(())
            }
            None => Err(self.error_before(0, GcovErrorKind::Inflated)),
        }
    }
}

fn location(place: u32) -> Location {
    Location {
        offset: place >> 16,
        discriminator: place & 0xffff,
    }
}

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
    if short.is_empty() || short.contains('\0') || super::llvm_text::is_context(name) {
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

#[cfg(test)]
mod tests;
