//! From a file's bytes to a profile; the layout is in [`super`].

use super::super::{FunctionSamples, Location, MAX_DEPTH, SampleProfile};
use super::*;

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
