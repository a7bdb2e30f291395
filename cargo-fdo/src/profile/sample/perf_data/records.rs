//! Records: what each kind means.

use super::attr::{Attr, Layout};
use super::bytes::{c_string, u32_at, u64_at};
use super::features::{self, BuildIds, event_names};
use super::inflate::Inflate;
use super::sink::{Done, Map, Mode, Moment, Sample, Sink};
use crate::profile::sample::processes::Change;
use crate::profile::sample::read::ReadError;
use rustc_hash::FxHashMap;

/// Bytes of a record's header.
const HEADER: usize = 8;

/// Record types: the kernel's (`PERF_RECORD_*`, `perf_event.h`) and, from 64 on, perf's own
/// (`enum perf_user_event_type`, `tools/lib/perf/include/perf/event.h`).
mod kind {
    pub(super) const MMAP: u32 = 1;
    pub(super) const LOST: u32 = 2;
    pub(super) const COMM: u32 = 3;
    pub(super) const EXIT: u32 = 4;
    pub(super) const FORK: u32 = 7;
    pub(super) const SAMPLE: u32 = 9;
    pub(super) const MMAP2: u32 = 10;
    pub(super) const LOST_SAMPLES: u32 = 13;
    pub(super) const HEADER_ATTR: u32 = 64;
    pub(super) const HEADER_TRACING_DATA: u32 = 66;
    pub(super) const HEADER_BUILD_ID: u32 = 67;
    pub(super) const FINISHED_ROUND: u32 = 68;
    pub(super) const AUXTRACE: u32 = 71;
    pub(super) const EVENT_UPDATE: u32 = 78;
    pub(super) const HEADER_FEATURE: u32 = 80;
    pub(super) const COMPRESSED: u32 = 81;
    pub(super) const COMPRESSED2: u32 = 83;
}

/// Bits of a record's `misc`.
mod misc {
    /// `PERF_RECORD_MISC_CPUMODE_MASK` and its values.
    pub(super) const MODE: u16 = 7;
    pub(super) const MODE_UNKNOWN: u16 = 0;
    pub(super) const MODE_USER: u16 = 2;
    pub(super) const MODE_GUEST_USER: u16 = 5;
    /// The same bit: `PERF_RECORD_MISC_MMAP_DATA`, `_COMM_EXEC`, `_FORK_EXEC`.
    pub(super) const MMAP_DATA: u16 = 1 << 13;
    pub(super) const COMM_EXEC: u16 = 1 << 13;
    pub(super) const FORK_EXEC: u16 = 1 << 13;
    /// `PERF_RECORD_MISC_MMAP_BUILD_ID`.
    pub(super) const MMAP_BUILD_ID: u16 = 1 << 14;
}

/// An event with its identifiers.
struct Described {
    attr: Attr,
    layout: Layout,
    /// Whether its samples are wanted.
    read: bool,
    name: String,
}

/// All that is known while records go by.
pub(super) struct Records<S> {
    sink: S,
    events: Vec<Described>,
    by_id: FxHashMap<u64, usize>,
    /// Whether a sample has to be asked for its event.
    several: bool,
    inflate: Option<Inflate>,
    /// Whether the records at hand came out of a compressed one.
    inside: bool,
    build_ids: BuildIds,
    /// Bytes behind the last record that are no records.
    payload: u64,
    /// Records so far, in place of a time where records have none.
    count: u64,
}

impl<S: Sink> Records<S> {
    pub(super) fn new(sink: S) -> Records<S> {
        Records {
            sink,
            events: Vec::new(),
            by_id: FxHashMap::default(),
            several: false,
            inflate: None,
            inside: false,
            build_ids: BuildIds::default(),
            payload: 0,
            count: 0,
        }
    }

    /// Takes the description of an event and its identifiers.
    pub(super) fn attr(&mut self, bytes: &[u8], ids: &[u8]) {
        let Some(attr) = Attr::parse(bytes) else {
            return;
        };
        let index = self.events.len();
        let ids = ids.chunks_exact(8).filter_map(|id| u64_at(id, 0));
        self.by_id.extend(ids.map(|id| (id, index)));
        let read = match self.events.iter().find(|event| event.read) {
            Some(first) => first.attr.is_same_event(&attr),
            None => attr.is_sampled(),
        };
        self.events.push(Described {
            layout: Layout::of(&attr),
            read,
            name: attr.usual_name().unwrap_or_default().to_owned(),
            attr,
        });
        self.several = self.events.len() > 1;
    }

    /// Takes the section of a feature.
    pub(super) fn feature(&mut self, feature: u32, section: &[u8]) {
        match feature {
            features::BUILD_ID => self.build_ids.read(section),
            features::EVENT_DESC => {
                for (index, (name, ids)) in event_names(section).into_iter().enumerate() {
                    let known = ids.iter().find_map(|id| self.by_id.get(id));
                    let index = known.copied().unwrap_or(index);
                    if let Some(event) = self.events.get_mut(index) {
                        event.name = name;
                    }
                }
            }
            _ => {}
        }
    }

    /// Bytes behind the last record that are to be skipped. [`Self::read`] stops at them.
    pub(super) fn take_payload(&mut self) -> u64 {
        std::mem::take(&mut self.payload)
    }

    /// Reads as many whole records as there are, and says how many bytes they were. `offset` is
    /// where the bytes begin in the recording.
    pub(super) fn read(&mut self, bytes: &[u8], offset: u64) -> Result<usize, ReadError> {
        let mut at = 0;
        while self.payload == 0
            && let Some(header) = bytes
                .get(at..)
                .and_then(|rest| rest.first_chunk::<HEADER>())
        {
            let [a, b, c, d, misc @ .., _, _] = *header;
            let kind = u32::from_le_bytes([a, b, c, d]);
            let misc = u16::from_le_bytes(misc);
            let size = usize::from(u16::from_le_bytes([header[6], header[7]]));
            let position = offset + at as u64;
            if size < HEADER {
                return Err(ReadError::Corrupt {
                    what: "a record is shorter than its header",
                    at: position,
                });
            }
            let Some(body) = bytes.get(at + HEADER..at + size) else {
                break;
            };
            self.count += 1;
            if kind == kind::SAMPLE {
                self.sample(misc, body, position)?;
            } else {
                self.record(kind, misc, body, position)?;
            }
            at += size;
        }
        Ok(at)
    }

    fn sample(&mut self, misc: u16, body: &[u8], position: u64) -> Result<(), ReadError> {
        let corrupt = |what| ReadError::Corrupt { what, at: position };
        let Some(first) = self.events.first() else {
            return Err(corrupt("a sample of an event that was not described"));
        };
        let event = if self.several {
            let id = first.layout.id(body);
            let index = id.and_then(|id| self.by_id.get(&id)).copied();
            self.events.get(index.unwrap_or(0)).unwrap_or(first)
        } else {
            first
        };
        if !event.read {
            self.sink.other_event();
            return Ok(());
        }
        if let Some(field) = event.attr.missing_field() {
            return Err(ReadError::MissingField { field });
        }
        let layout = &event.layout;
        let Some(fields) = layout.fields(body) else {
            return Err(corrupt("a sample is too short"));
        };
        let sample = Sample {
            ip: fields.ip,
            pid: fields.pid,
            tid: fields.tid,
            time: if layout.has_time() {
                fields.time
            } else {
                self.count
            },
            mode: match misc & misc::MODE {
                misc::MODE_USER => Mode::User,
                misc::MODE_UNKNOWN if fields.ip >> 63 == 0 => Mode::User,
                misc::MODE_GUEST_USER => Mode::Guest,
                _ => Mode::Kernel,
            },
            layout,
            body,
        };
        self.sink.sample(&sample).map_err(corrupt)
    }

    fn record(
        &mut self,
        kind: u32,
        misc: u16,
        body: &[u8],
        position: u64,
    ) -> Result<(), ReadError> {
        let corrupt = |what| ReadError::Corrupt { what, at: position };
        match kind {
            kind::MMAP | kind::MMAP2 if misc & misc::MMAP_DATA == 0 => {
                self.mmap(kind, misc, body)
                    .ok_or_else(|| corrupt("a mapping is too short"))?;
            }
            kind::COMM => {
                let pid = u32_at(body, 0).ok_or_else(|| corrupt("a name is too short"))?;
                let at = self.moment(body);
                if misc & misc::COMM_EXEC != 0 {
                    self.sink.change(at, pid, Change::Exec);
                }
                if let (Some(tid), Some(name)) = (u32_at(body, 4), body.get(8..)) {
                    self.sink.name(at, tid, c_string(name));
                }
            }
            kind::FORK | kind::EXIT => {
                // pid, parent's pid, tid, parent's tid, time.
                let field = |at| u32_at(body, at).ok_or_else(|| corrupt("a fork is too short"));
                let (pid, parent, tid) = (field(0)?, field(4)?, field(8)?);
                let at = self.moment(body);
                if kind == kind::EXIT {
                    if pid == tid {
                        self.sink.change(at, pid, Change::Exit);
                    }
                    return Ok(());
                }
                self.sink.thread(at, tid, field(12)?);
                if pid != parent && misc & misc::FORK_EXEC == 0 {
                    // With the bit, perf made the record up for a process that ran already, and
                    // its mappings follow.
                    self.sink.change(at, pid, Change::Fork { parent });
                }
            }
            kind::LOST => self.sink.lost(u64_at(body, 8).unwrap_or(0)),
            kind::LOST_SAMPLES => self.sink.lost(u64_at(body, 0).unwrap_or(0)),
            kind::FINISHED_ROUND => self.sink.end_pass(),
            kind::HEADER_ATTR => {
                let split = Attr::size(body).filter(|&size| size <= body.len());
                let size = split.ok_or_else(|| corrupt("the description of an event is cut"))?;
                self.attr(&body[..size], &body[size..]);
            }
            kind::EVENT_UPDATE => {
                // type, identifier, text; 2 is a name.
                const NAME: u64 = 2;
                if let (Some(NAME), Some(id)) = (u64_at(body, 0), u64_at(body, 8)) {
                    let index = self.by_id.get(&id).copied().unwrap_or(0);
                    if let Some(event) = self.events.get_mut(index) {
                        event.name = String::from_utf8_lossy(c_string(&body[16..])).into_owned();
                    }
                }
            }
            kind::HEADER_BUILD_ID => self.build_ids.add(misc, body),
            kind::HEADER_FEATURE => {
                if let Some(feature) = u64_at(body, 0) {
                    self.feature(u32::try_from(feature).unwrap_or(0), &body[8..]);
                }
            }
            // Both say how many bytes follow them.
            kind::AUXTRACE => self.payload = u64_at(body, 0).unwrap_or(0),
            kind::HEADER_TRACING_DATA => {
                // Padded to 8 bytes.
                let size = u32_at(body, 0).unwrap_or(0);
                self.payload = u64::from(size).next_multiple_of(8);
            }
            kind::COMPRESSED => self.compressed(body, position)?,
            kind::COMPRESSED2 => {
                let size = u64_at(body, 0).and_then(|size| usize::try_from(size).ok());
                let data = body.get(8..).and_then(|data| data.get(..size?));
                let data = data.ok_or_else(|| corrupt("a compressed record is cut"))?;
                self.compressed(data, position)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Body: pid, tid, address, length, offset in the file, then for MMAP2 either device, inode and
    /// its generation or a build id, protection, flags; at last the path. `None` if it is too short.
    fn mmap(&mut self, kind: u32, misc: u16, body: &[u8]) -> Option<()> {
        let pid = u32_at(body, 0)?;
        let (start, len, offset) = (u64_at(body, 8)?, u64_at(body, 16)?, u64_at(body, 24)?);
        let mut build_id = None;
        let path = if kind == kind::MMAP {
            body.get(32..)?
        } else {
            if misc & misc::MMAP_BUILD_ID != 0 {
                let id = body.get(36..56)?;
                build_id = id
                    .get(..usize::from(*body.get(32)?))
                    .filter(|id| !id.is_empty());
            }
            // 0 where the writer of the record did not know it.
            const EXEC: u32 = 4;
            let protection = u32_at(body, 56)?;
            if protection != 0 && protection & EXEC == 0 {
                return Some(());
            }
            body.get(64..)?
        };
        let map = Map {
            start,
            len,
            offset,
            path: c_string(path),
            build_id,
        };
        if pid == u32::MAX || start >> 63 != 0 {
            // No process has it.
            self.sink.kernel_map(&map);
        } else {
            let at = self.moment(body);
            self.sink.map(at, pid, &map);
        }
        Some(())
    }

    /// The time in a record's trailer.
    fn moment(&self, body: &[u8]) -> Moment {
        let layout = self.events.first().map(|event| event.layout);
        Moment(match layout {
            Some(layout) if !layout.has_time() => self.count,
            // Without a trailer the place in the recording has to do.
            layout => layout
                .and_then(|layout| layout.trailer_time(body))
                .unwrap_or(self.sink.newest()),
        })
    }

    fn compressed(&mut self, data: &[u8], position: u64) -> Result<(), ReadError> {
        let zstd = |why| ReadError::Zstd { at: position, why };
        let mut inflate = match self.inflate.take() {
            Some(inflate) => inflate,
            None if self.inside => return Err(zstd("compressed twice")),
            None => Inflate::new().ok_or_else(|| zstd("no memory"))?,
        };
        self.inside = true;
        inflate.piece(data, zstd, |records| {
            let used = self.read(records, position)?;
            if self.payload > 0 {
                return Err(ReadError::Corrupt {
                    what: "a compressed record is followed by other data",
                    at: position,
                });
            }
            Ok(used)
        })?;
        self.inside = false;
        self.inflate = Some(inflate);
        Ok(())
    }

    /// What is known at the end.
    ///
    /// # Errors
    ///
    /// There was no description of an event: not even an empty recording is without.
    pub(super) fn finish(self, cut_short_at: Option<u64>) -> Result<Done<S>, ReadError> {
        let Some(event) = self.events.iter().find(|event| event.read) else {
            let at = cut_short_at.unwrap_or(0);
            return Err(ReadError::Truncated {
                what: "the descriptions of events",
                at,
            });
        };
        Ok(Done {
            event: event.attr.event(&event.name),
            calls: event.attr.has_calls(),
            sink: self.sink,
            build_ids: self.build_ids,
            cut_short_at,
        })
    }
}
