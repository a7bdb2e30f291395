//! The sections behind the records: build ids of files, names of events.
//!
//! Layouts: `tools/perf/Documentation/perf.data-file-format.txt` in the kernel.

use super::bytes::{c_string, u16_at, u32_at, u64_at};
use rustc_hash::FxHashMap;

/// `HEADER_BUILD_ID`.
pub(super) const BUILD_ID: u32 = 2;
/// `HEADER_EVENT_DESC`.
pub(super) const EVENT_DESC: u32 = 12;

/// A record's header.
const HEADER: usize = 8;

/// Build ids by path.
#[derive(Debug, Default)]
pub(in crate::profile) struct BuildIds(FxHashMap<Vec<u8>, Vec<u8>>);

impl BuildIds {
    /// The build id of a path.
    pub(in crate::profile) fn get(&self, path: &[u8]) -> Option<Vec<u8>> {
        self.0.get(path).cloned()
    }

    /// Reads one entry without its header; `misc` is the header's.
    pub(super) fn add(&mut self, misc: u16, body: &[u8]) {
        // `PERF_RECORD_MISC_BUILD_ID_SIZE`: byte 20 says how many of the 20 bytes count.
        const HAS_SIZE: u16 = 1 << 15;
        let (Some(id), Some(name)) = (body.get(4..25), body.get(28..)) else {
            return;
        };
        let size = if misc & HAS_SIZE != 0 { id[20] } else { 20 };
        let Some(id) = id[..20].get(..size.into()).filter(|id| !id.is_empty()) else {
            return;
        };
        self.0.insert(c_string(name).to_vec(), id.to_vec());
    }

    /// Reads the section, as far as it makes sense.
    pub(super) fn read(&mut self, mut section: &[u8]) {
        while let (Some(misc), Some(size)) = (u16_at(section, 4), u16_at(section, 6)) {
            let Some(body) = section.get(HEADER..size.into()) else {
                return;
            };
            self.add(misc, body);
            section = &section[usize::from(size)..];
        }
    }
}

/// Names of the events in an `EVENT_DESC` section with their identifiers, in order, as far as it
/// makes sense.
pub(super) fn event_names(section: &[u8]) -> Vec<(String, Vec<u64>)> {
    let mut events = Vec::new();
    let (Some(count), Some(attr_size)) = (u32_at(section, 0), u32_at(section, 4)) else {
        return events;
    };
    let mut rest = &section[8..];
    for _ in 0..count {
        match event(rest, attr_size) {
            Some((event, behind)) => {
                events.push(event);
                rest = behind;
            }
            None => break,
        }
    }
    events
}

type Named = (String, Vec<u64>);

fn event(section: &[u8], attr_size: u32) -> Option<(Named, &[u8])> {
    let section = section.get(usize::try_from(attr_size).ok()?..)?;
    let ids = usize::try_from(u32_at(section, 0)?).ok()?;
    let len = usize::try_from(u32_at(section, 4)?).ok()?;
    let section = section.get(8..)?;
    let name = String::from_utf8_lossy(c_string(section.get(..len)?)).into_owned();
    let section = &section[len..];
    let bytes = section.get(..ids.checked_mul(8)?)?;
    let ids = bytes.chunks_exact(8).filter_map(|id| u64_at(id, 0));
    Some(((name, ids.collect()), &section[bytes.len()..]))
}
