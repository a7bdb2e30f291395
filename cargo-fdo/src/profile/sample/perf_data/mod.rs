//! perf's recordings, `perf.data`, in file and in pipe form.
//!
//! ```text
//! file: "PERFILE2" size attr_size  attrs{at,len} data{at,len} event_types{at,len} features[4]
//!       … ids, attrs …  records …  {at,len} of each feature's section  sections
//! pipe: "PERFILE2" 16              records, those of the header among them
//! record: type u32, misc u16, size u16 (with this header), body
//! ```
//!
//! Formats: `tools/perf/Documentation/perf.data-file-format.txt` and `perf_event_open(2)`. Only
//! little-endian recordings are read.
//!
//! Everything is summed up while it streams by, in three steps, each with memory that the length of
//! the recording does not change: records are decoded in place in a fixed buffer (`records.rs`);
//! samples are held back for two passes over perf's buffers, because records are not in the order of
//! time (`window.rs`); then they are counted by process and address, and resolved by whole tables
//! (`processes.rs`, one level up). What comes after the first step is exchangeable (`sink.rs`).
//!
//! Of several events the first one that can have samples is read, and those that are the same event
//! on cores of another kind; samples of the others are only counted.

pub(in crate::profile) mod attr;
pub(in crate::profile) mod bytes;
pub(in crate::profile) mod features;
mod inflate;
mod records;
pub(in crate::profile) mod sink;
mod source;
mod sums;
#[cfg(test)]
mod tests;
mod window;
#[cfg(test)]
pub(in crate::profile) mod writer;

use super::read::{ReadError, Selection};
use super::recording::Recording;
use bytes::u64_at;
use records::Records;
use sink::{Done, Sink};
use source::Source;
use std::io::Read;

/// Bytes that the part before the records may have. A thousand processors and a hundred events make
/// less than one megabyte.
const MAX_HEADER: u64 = 16 << 20;

/// Bytes of a feature's section that are read. Build ids take about 100 bytes a file.
const MAX_FEATURE: u64 = 16 << 20;

/// Bytes of the header of a recording in a file.
const FILE_HEADER: u64 = 104;
/// Bytes of the header of a recording in a pipe.
const PIPE_HEADER: u64 = 16;

/// A part of the file.
#[derive(Clone, Copy)]
struct Section {
    at: u64,
    len: u64,
}

impl Section {
    fn parse(bytes: &[u8], at: usize) -> Option<Section> {
        Some(Section {
            at: u64_at(bytes, at)?,
            len: u64_at(bytes, at + 8)?,
        })
    }

    /// Its bytes in what was read from the file's start.
    fn of(self, start: &[u8]) -> Option<&[u8]> {
        let at = usize::try_from(self.at).ok()?;
        start.get(at..at.checked_add(usize::try_from(self.len).ok()?)?)
    }
}

/// Reads a recording to its end, and sums it up.
///
/// # Errors
///
/// What is not perf's. A recording that ends too soon, because perf was killed or the disk was
/// full, gives what is there and [`Recording::cut_short_at`].
pub fn read(input: impl Read, selection: &Selection<'_>) -> Result<Recording, ReadError> {
    read_into(input, sums::Sums::new(selection)).map(sums::finish)
}

/// Reads a recording to its end into a sink.
///
/// # Errors
///
/// As [`read`].
pub(in crate::profile) fn read_into<S: Sink>(
    input: impl Read,
    sink: S,
) -> Result<Done<S>, ReadError> {
    let mut source = Source::new(input);
    let start = source.take(PIPE_HEADER as usize)?;
    let truncated = |what, source: &Source<_>| ReadError::Truncated {
        what,
        at: source.position(),
    };
    match u64_at(&start, 8) {
        _ if !start.starts_with(b"PERFILE2") => {
            Err(ReadError::NotARecording(super::read::InputKind::of(&start)))
        }
        None => Err(truncated("the header", &source)),
        Some(PIPE_HEADER) => {
            let mut records = Records::new(sink);
            let cut_short_at = read_records(&mut source, u64::MAX, &mut records)?;
            records.finish(cut_short_at)
        }
        Some(_) => read_file(source, start, sink),
    }
}

fn read_file<R: Read, S: Sink>(
    mut source: Source<R>,
    mut start: Vec<u8>,
    sink: S,
) -> Result<Done<S>, ReadError> {
    let corrupt = |what, at| ReadError::Corrupt { what, at };
    start.extend(source.take((FILE_HEADER - PIPE_HEADER) as usize)?);
    let truncated = |what, source: &Source<_>| ReadError::Truncated {
        what,
        at: source.position(),
    };
    let header = (|| {
        Some((
            u64_at(&start, 16)?,
            Section::parse(&start, 24)?,
            Section::parse(&start, 40)?,
            start.get(72..FILE_HEADER as usize)?,
        ))
    })();
    let Some((attr_size, attrs, data, features)) = header else {
        return Err(truncated("the header", &source));
    };
    let features: Vec<u32> = (0..256)
        .filter(|bit| features[(bit / 8) as usize] >> (bit % 8) & 1 != 0)
        .collect();
    if data.at < FILE_HEADER || data.at > MAX_HEADER {
        return Err(corrupt("records can't begin there", 40));
    }
    start.extend(source.take((data.at - FILE_HEADER) as usize)?);
    if (start.len() as u64) < data.at {
        return Err(truncated("the descriptions of events", &source));
    }

    let mut records = Records::new(sink);
    // An attribute is followed by the place of its identifiers. Kernels refuse one that is larger
    // than a page (`perf_copy_attr`).
    let own = attr_size
        .checked_sub(16)
        .filter(|own| (64..=4096).contains(own));
    let own = own.and_then(|own| usize::try_from(own).ok());
    let (Some(own), Some(attrs_bytes)) = (own, attrs.of(&start)) else {
        return Err(corrupt("descriptions of events don't fit", 16));
    };
    for attr in attrs_bytes.chunks_exact(own + 16) {
        let ids = Section::parse(attr, own).and_then(|ids| ids.of(&start));
        records.attr(&attr[..own], ids.unwrap_or_default());
    }

    // perf writes the size when it ends; killed, it leaves 0.
    let unfinished = data.len == 0;
    let end = if unfinished {
        u64::MAX
    } else {
        data.at.saturating_add(data.len)
    };
    let mut cut_short_at = read_records(&mut source, end, &mut records)?;
    if unfinished {
        cut_short_at = cut_short_at.or(Some(source.position()));
    }
    if cut_short_at.is_none() && !read_features(&mut source, &features, &mut records)? {
        cut_short_at = Some(source.position());
    }
    records.finish(cut_short_at)
}

/// Reads records up to the byte `end`. Returns where they stop if the input ends before, inside a
/// record or, unless `end` is unknown, between two.
fn read_records<R: Read, S: Sink>(
    source: &mut Source<R>,
    end: u64,
    records: &mut Records<S>,
) -> Result<Option<u64>, ReadError> {
    loop {
        let position = source.position();
        let room = end - position;
        if room == 0 {
            return Ok(None);
        }
        let buffered = source.bytes();
        let within = usize::try_from(room).map_or(buffered.len(), |room| room.min(buffered.len()));
        let used = records.read(&buffered[..within], position)?;
        source.consume(used);
        let payload = records.take_payload();
        if payload > 0 {
            if payload > end - source.position() {
                return Err(ReadError::Corrupt {
                    what: "a record reaches beyond the last one",
                    at: source.position(),
                });
            }
            if !source.skip(payload)? {
                return Ok(Some(source.position()));
            }
        } else if used == 0 {
            if within as u64 == room {
                return Err(ReadError::Corrupt {
                    what: "a record reaches beyond the last one",
                    at: position,
                });
            }
            if !source.more()? {
                let left_over = !source.bytes().is_empty();
                return Ok((left_over || end != u64::MAX).then_some(position));
            }
        }
    }
}

/// Reads the sections behind the records; `false` if the file ends before them.
fn read_features<R: Read, S: Sink>(
    source: &mut Source<R>,
    features: &[u32],
    records: &mut Records<S>,
) -> Result<bool, ReadError> {
    let table = source.take(features.len() * 16)?;
    let mut sections: Vec<(u32, Section)> = features
        .iter()
        .enumerate()
        .filter_map(|(index, &feature)| Some((feature, Section::parse(&table, index * 16)?)))
        .collect();
    let complete = sections.len() == features.len();
    let ends = sections
        .iter()
        .map(|(_, section)| section.at.saturating_add(section.len));
    let end = ends.max().unwrap_or(0);
    sections.retain(|(feature, section)| {
        matches!(*feature, features::BUILD_ID | features::EVENT_DESC) && section.len <= MAX_FEATURE
    });
    sections.sort_by_key(|(_, section)| section.at);
    for (feature, section) in sections {
        // Behind what was read already: not of perf's making, and nothing that samples need.
        let Some(gap) = section.at.checked_sub(source.position()) else {
            continue;
        };
        if !source.skip(gap)? {
            return Ok(false);
        }
        let bytes = source.take(section.len as usize)?;
        records.feature(feature, &bytes);
        if (bytes.len() as u64) < section.len {
            return Ok(false);
        }
    }
    let rest = end.saturating_sub(source.position());
    Ok(source.skip(rest)? && complete)
}
