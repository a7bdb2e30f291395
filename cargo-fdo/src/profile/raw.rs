//! Raw profiles: what an instrumented process leaves behind (`.profraw`).
//!
//! Only read far enough to say whether `llvm-profdata` will take the file and whether there is
//! anything in it: the header, the sizes of the parts, and a glance at the counters.
//!
//! ```text
//! header  binary ids  data records  pad  counters  pad  bitmaps  pad  names  pad8
//!         [version 10: vtable records  vtable names  pad8]  value data ...
//! ```
//!
//! All fields are 64-bit in the writer's byte order. Layout: `INSTR_PROF_RAW_HEADER` and
//! `INSTR_PROF_DATA` in `compiler-rt/include/profile/InstrProfData.inc` (versions 8 to 10, LLVM 14
//! to 22) and `lprofWriteDataImpl` in `compiler-rt/lib/profile/InstrProfilingWriter.c`. A file may
//! hold several profiles one after the other: without `%m` in the file name every shared library's
//! runtime appends its own.

use super::digest;
use std::fmt;

/// What one raw profile says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawProfile {
    /// Where it begins in the file, in bytes.
    pub at: usize,
    /// Raw version: 8 for LLVM 13 to 16, 9 for 17 and 18, 10 from 19 on.
    pub version: u64,
    /// Counters of the IR level (`-fprofile-generate`, `-Cprofile-generate`); otherwise of the
    /// front end (`-fprofile-instr-generate`).
    pub ir: bool,
    /// Functions.
    pub records: u64,
    /// Counters.
    pub counters: u64,
    /// Whether no counter was ever touched.
    pub all_zero: bool,
    /// Sum of the counters; touched ones count 1 where they are bytes.
    pub total: u128,
    /// Where the build ids of the image begin, and how many bytes they are.
    binary_ids: (usize, usize),
    /// Where the functions' records begin, how many bytes they are, and how many each is.
    functions: (usize, usize, usize),
    /// Where the packed names of its functions begin, and how many bytes they are.
    names: (usize, usize),
}

impl RawProfile {
    /// The names of its functions, for [`unpack`](super::packed_names::unpack); the same for all
    /// processes of one program.
    ///
    /// `bytes` is the file that this profile was read from.
    pub fn packed_names<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let (at, len) = self.names;
        bytes.get(at..at + len).unwrap_or_default()
    }

    /// The GNU build id of the program or shared library that wrote it, where the linker gave it one.
    ///
    /// `bytes` is the file that this profile was read from.
    pub fn build_id(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (at, len) = self.binary_ids;
        let ids = bytes.get(at..at + len)?;
        // An id is its length and its bytes; of one image there is one.
        let size = *ids.first_chunk::<8>()?;
        let (little, big) = (u64::from_le_bytes(size), u64::from_be_bytes(size));
        let size = usize::try_from(little.min(big)).ok()?;
        let id = ids.get(8..)?.get(..size)?;
        (!id.is_empty()).then(|| id.to_vec())
    }

    /// What tells the functions of one image from another's, with their control flow: the same as
    /// [`object_file::functions_id`](super::object_file::functions_id) of the image.
    ///
    /// `bytes` is the file that this profile was read from.
    pub fn functions_id(&self, bytes: &[u8]) -> String {
        let (at, len, each) = self.functions;
        functions_id(bytes.get(at..at + len).unwrap_or_default(), each)
    }
}

/// A hash of the names' hashes and the control flow's in data records, of `each` bytes. The rest of
/// a record are addresses, and another in each process.
pub(super) fn functions_id(records: &[u8], each: usize) -> String {
    let keys: Vec<u8> = records
        .chunks_exact(each.max(RECORD_KEY))
        .flat_map(|record| &record[..RECORD_KEY])
        .copied()
        .collect();
    digest::short(&keys, 16)
}

/// Two hashes of 64 bits begin each data record.
const RECORD_KEY: usize = 16;

/// Why a file is not a raw profile that can be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RawError {
    /// No bytes at all: the process died before it wrote, or never ended.
    Empty,
    /// Merged already (`.profdata`).
    Indexed,
    /// A text file, perhaps a profile in text form.
    Text,
    /// gcc's counters (`.gcda`).
    Gcda,
    /// Recorded by perf.
    PerfData,
    /// Something else.
    NotRaw,
    /// A layout this reader does not know.
    Version(u64),
    /// The file ends inside this part of the profile that begins at `at`; `at` in bytes.
    Truncated {
        /// Which part.
        what: &'static str,
        /// Where that part should begin.
        at: usize,
    },
    /// A field that can't be true, at this byte.
    Corrupt {
        /// Which field.
        what: &'static str,
        /// Where it is.
        at: usize,
    },
}

impl fmt::Display for RawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RawError::Empty => f.write_str("file is empty"),
            RawError::Indexed => f.write_str("is a merged profile, not a raw one"),
            RawError::Text => f.write_str("is a text file, not a raw profile"),
            RawError::Gcda => f.write_str("is a gcc profile (.gcda), not one of LLVM"),
            RawError::PerfData => f.write_str("is a perf recording, not a raw profile"),
            RawError::NotRaw => f.write_str("is not a raw profile"),
            RawError::Version(version) => {
                write!(
                    f,
                    "raw profile version {version} is unknown, expected 8 to 10"
                )
            }
            RawError::Truncated { what, at } => write!(f, "file ends inside {what} at byte {at}"),
            RawError::Corrupt { what, at } => write!(f, "{what} can't be true at byte {at}"),
        }
    }
}

impl std::error::Error for RawError {}

/// `\xfflprofr\x81`, the magic number of 64-bit programs as it stands in a big-endian file.
const MAGIC_64: u64 = u64::from_be_bytes(*b"\xfflprofr\x81");
/// `\xfflprofR\x81`: 32-bit programs.
const MAGIC_32: u64 = u64::from_be_bytes(*b"\xfflprofR\x81");
/// `\xfflprofi\x81`, always little-endian: an indexed profile.
const MAGIC_INDEXED: u64 = u64::from_be_bytes(*b"\xfflprofi\x81");

/// The upper half of the version field holds flags (`VARIANT_MASKS_ALL`).
const VERSION: u64 = 0xffff_ffff;
/// `VARIANT_MASK_IR_PROF`.
pub const VARIANT_IR: u64 = 1 << 56;
/// `VARIANT_MASK_DBG_CORRELATE`: the data records stayed in the debug information.
const VARIANT_CORRELATE: u64 = 1 << 59;
/// `VARIANT_MASK_BYTE_COVERAGE`: counters of one byte, 0xff where nothing ran.
const VARIANT_BYTE: u64 = 1 << 60;

/// The layout number of a version field: the header's, or `__llvm_profile_raw_version`'s.
///
/// Objects can share one runtime if these are equal; a clang-14 object (8) linked to rustc's
/// runtime (10) crashes.
pub fn layout_version(field: u64) -> u64 {
    field & VERSION
}

/// Bytes of one function's data record; `None` for a version this reader does not know.
///
/// `pointer` is 8 or 4, the bytes of a pointer in the instrumented program.
pub(super) fn record_size(version: u64, pointer: usize) -> Option<u64> {
    Some(Layout::of(version)?.record(pointer) as u64)
}

/// Reads every raw profile in a file.
///
/// # Errors
///
/// Says what the file is instead, or what does not fit. A profile with another number of bytes
/// than its header promises is an error, since `llvm-profdata` would refuse the whole merge.
pub fn read(bytes: &[u8]) -> Result<Vec<RawProfile>, RawError> {
    if bytes.is_empty() {
        return Err(RawError::Empty);
    }
    let Some(magic) = bytes.first_chunk::<8>() else {
        return Err(
            if b"\xfflprofr\x81".starts_with(bytes) || b"\x81rforpl\xff".starts_with(bytes) {
                RawError::Truncated {
                    what: "the header",
                    at: 0,
                }
            } else {
                not_raw(bytes)
            },
        );
    };
    let Some(format) = Format::of(*magic) else {
        return Err(not_raw(bytes));
    };
    let mut profiles = Vec::new();
    let mut at = 0;
    loop {
        let (profile, end) = Reader { bytes, format }.profile(at)?;
        profiles.push(profile);
        // LLVM skips zeros between profiles, which begin at a multiple of 8.
        let Some(gap) = bytes
            .get(end..)
            .and_then(|rest| rest.iter().position(|&b| b != 0))
        else {
            return Ok(profiles);
        };
        at = end + gap;
        let next = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
        if at % 8 != 0 || next.and_then(|magic| Format::of(*magic)) != Some(format) {
            return Err(RawError::Corrupt {
                what: "what follows the profile",
                at,
            });
        }
    }
}

/// What a file is that has no raw magic number.
fn not_raw(bytes: &[u8]) -> RawError {
    let is = |magic: &[u8]| bytes.starts_with(magic);
    if is(&MAGIC_INDEXED.to_be_bytes()) || is(&MAGIC_INDEXED.to_le_bytes()) {
        RawError::Indexed
    } else if is(b"adcg") || is(b"gcda") {
        RawError::Gcda
    } else if is(b"PERFILE2") {
        RawError::PerfData
    } else if bytes
        .iter()
        .take(64)
        .all(|&byte| byte == b'\n' || byte == b'\r' || byte == b'\t' || (32..127).contains(&byte))
    {
        RawError::Text
    } else {
        RawError::NotRaw
    }
}

/// How numbers are written, from the magic number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Format {
    big_endian: bool,
    /// Bytes of a pointer.
    pointer: usize,
}

impl Format {
    fn of(magic: [u8; 8]) -> Option<Format> {
        for (known, pointer) in [(MAGIC_64, 8), (MAGIC_32, 4)] {
            for big_endian in [false, true] {
                let bytes = if big_endian {
                    known.to_be_bytes()
                } else {
                    known.to_le_bytes()
                };
                if bytes == magic {
                    return Some(Format {
                        big_endian,
                        pointer,
                    });
                }
            }
        }
        None
    }
}

/// Sizes that differ between versions.
struct Layout {
    /// Fields in the header, 8 bytes each.
    fields: usize,
    has_bitmaps: bool,
    has_vtables: bool,
    /// Value kinds, each with a 16-bit number of sites in the record.
    kinds: usize,
}

impl Layout {
    fn of(version: u64) -> Option<Layout> {
        let (fields, has_bitmaps, has_vtables, kinds) = match version {
            8 => (11, false, false, 2),
            9 => (14, true, false, 2),
            10 => (16, true, true, 3),
            _ => return None,
        };
        Some(Layout {
            fields,
            has_bitmaps,
            has_vtables,
            kinds,
        })
    }

    /// Where the numbers of value sites stand in a data record.
    fn sites_at(&self, pointer: usize) -> usize {
        // Name and hash, 3 or 4 pointers, number of counters.
        16 + pointer * (3 + usize::from(self.has_bitmaps)) + 4
    }

    /// Bytes of a data record (`__llvm_profile_data`), aligned to 8.
    fn record(&self, pointer: usize) -> usize {
        let mut size = self.sites_at(pointer) + 2 * self.kinds;
        if self.has_bitmaps {
            size = size.next_multiple_of(4) + 4;
        }
        size.next_multiple_of(8)
    }
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    bytes: &'a [u8],
    format: Format,
}

/// The parts of a profile, one after the other.
struct Cursor<'a> {
    reader: Reader<'a>,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Takes `size` bytes; the size comes from the file.
    fn take(&mut self, size: u64, what: &'static str) -> Result<&'a [u8], RawError> {
        let part = usize::try_from(size)
            .ok()
            .and_then(|size| self.at.checked_add(size))
            .and_then(|end| self.reader.bytes.get(self.at..end));
        let part = part.ok_or(RawError::Truncated { what, at: self.at })?;
        self.at += part.len();
        Ok(part)
    }

    fn align(&mut self, start: usize, what: &'static str) -> Result<(), RawError> {
        let padding = (self.at - start).next_multiple_of(8) - (self.at - start);
        self.take(padding as u64, what).map(drop)
    }
}

impl<'a> Reader<'a> {
    fn u64(self, at: usize) -> Option<u64> {
        let bytes = *self.bytes.get(at..)?.first_chunk::<8>()?;
        Some(if self.format.big_endian {
            u64::from_be_bytes(bytes)
        } else {
            u64::from_le_bytes(bytes)
        })
    }

    fn u32(self, at: usize) -> Option<u32> {
        let bytes = *self.bytes.get(at..)?.first_chunk::<4>()?;
        Some(if self.format.big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        })
    }

    /// Reads the profile that begins at `start`; also returns where it ends.
    fn profile(self, start: usize) -> Result<(RawProfile, usize), RawError> {
        let truncated = RawError::Truncated {
            what: "the header",
            at: start,
        };
        let version = self.u64(start + 8).ok_or(truncated.clone())?;
        let number = layout_version(version);
        let layout = Layout::of(number).ok_or(RawError::Version(number))?;
        let mut cursor = Cursor {
            reader: self,
            at: start,
        };
        cursor.take(layout.fields as u64 * 8, "the header")?;
        let mut next = start + 16;
        let mut field = || {
            let value = self.u64(next).ok_or(truncated.clone());
            next += 8;
            value
        };

        let binary_ids = field()?;
        let records = field()?;
        let before_counters = field()?;
        let counters = field()?;
        let after_counters = field()?;
        let (bitmaps, after_bitmaps) = if layout.has_bitmaps {
            (field()?, field()?)
        } else {
            (0, 0)
        };
        let names = field()?;
        // Deltas of counters, bitmaps and names, which only matter to who follows pointers.
        field()?;
        if layout.has_bitmaps {
            field()?;
        }
        field()?;
        let (vtables, vtable_names) = if layout.has_vtables {
            (field()?, field()?)
        } else {
            (0, 0)
        };

        let pointer = self.format.pointer;
        let size = |count: u64, each: usize, what, at| {
            count
                .checked_mul(each as u64)
                .ok_or(RawError::Corrupt { what, at })
        };
        let ids_at = cursor.at;
        let ids = cursor.take(binary_ids, "the binary ids")?.len();
        let record = layout.record(pointer);
        let data_at = cursor.at;
        let data = size(records, record, "the number of functions", start + 24)?;
        let data = cursor.take(data, "the functions")?;
        cursor.take(before_counters, "the padding before the counters")?;
        let each = if version & VARIANT_BYTE == 0 { 8 } else { 1 };
        let counted = size(counters, each, "the number of counters", start + 40)?;
        let counted = cursor.take(counted, "the counters")?;
        cursor.take(after_counters, "the padding after the counters")?;
        cursor.take(bitmaps, "the bitmaps")?;
        cursor.take(after_bitmaps, "the padding after the bitmaps")?;
        let names_at = cursor.at;
        let names = cursor.take(names, "the names")?.len();
        cursor.align(start, "the padding after the names")?;
        // Hash, pointer and a 32-bit size (`VTableProfData`), aligned to 8.
        let vtable = (8 + pointer + 4).next_multiple_of(8);
        let vtables = size(vtables, vtable, "the number of vtables", start + 104)?;
        cursor.take(vtables, "the vtables")?;
        cursor.take(vtable_names, "the vtables' names")?;
        cursor.align(start, "the padding after the vtables' names")?;
        if records > 0 && version & VARIANT_CORRELATE == 0 && counters < records {
            return Err(RawError::Corrupt {
                what: "the number of counters",
                at: start + 40,
            });
        }
        if version & VARIANT_CORRELATE == 0 {
            self.values(&mut cursor, data_at, data.len(), &layout)?;
        }

        let untouched = if each == 1 { 0xff } else { 0 };
        let profile = RawProfile {
            at: start,
            version: number,
            ir: version & VARIANT_IR != 0,
            records,
            counters,
            all_zero: counted.iter().all(|&byte| byte == untouched),
            total: self.sum(counted, each),
            binary_ids: (ids_at, ids),
            functions: (data_at, data.len(), record),
            names: (names_at, names),
        };
        Ok((profile, cursor.at))
    }

    fn sum(self, counters: &[u8], each: usize) -> u128 {
        if each == 1 {
            return counters.iter().filter(|&&byte| byte == 0).count() as u128;
        }
        let count = |bytes: &[u8; 8]| match self.format.big_endian {
            true => u64::from_be_bytes(*bytes),
            false => u64::from_le_bytes(*bytes),
        };
        let (counters, _) = counters.as_chunks::<8>();
        counters.iter().map(|bytes| u128::from(count(bytes))).sum()
    }

    /// Walks over the value data: one block, which begins with its size, for each function that
    /// has value sites.
    fn values(
        self,
        cursor: &mut Cursor<'a>,
        data_at: usize,
        data_len: usize,
        layout: &Layout,
    ) -> Result<(), RawError> {
        let record = layout.record(self.format.pointer);
        let sites_at = layout.sites_at(self.format.pointer);
        for start in (data_at..data_at + data_len).step_by(record) {
            let from = start + sites_at;
            let sites = self.bytes.get(from..from + 2 * layout.kinds);
            if sites.is_none_or(|sites| sites.iter().all(|&byte| byte == 0)) {
                continue;
            }
            let at = cursor.at;
            let size = self.u32(at).ok_or(RawError::Truncated {
                what: "the value data",
                at,
            })?;
            if size < 8 || size % 8 != 0 {
                return Err(RawError::Corrupt {
                    what: "the size of value data",
                    at,
                });
            }
            cursor.take(u64::from(size), "the value data")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::packed_names::unpack;

    /// Written by the program of `tests-data/README.md`.
    const REAL: &[u8] = include_bytes!("../../tests-data/values.raw");

    /// A raw profile of one function with two counters and one value site.
    fn made(version: u64, pointer: usize, big_endian: bool, counts: [u64; 2]) -> Vec<u8> {
        let layout = Layout::of(version & VERSION).unwrap();
        let put = |out: &mut Vec<u8>, value: u64, size: usize| {
            let little = value.to_le_bytes();
            let mut bytes = little[..size].to_vec();
            if big_endian {
                bytes.reverse();
            }
            out.extend(bytes);
        };
        let mut out = Vec::new();
        put(&mut out, if pointer == 8 { MAGIC_64 } else { MAGIC_32 }, 8);
        let mut fields = vec![version, 16, 1, 0, 2, 0];
        if layout.has_bitmaps {
            fields.extend([3, 5]);
        }
        fields.extend([9, 0, 0]);
        if layout.has_bitmaps {
            fields.push(0);
        }
        if layout.has_vtables {
            fields.extend([1, 3]);
        }
        fields.push(layout.kinds as u64 - 1);
        for field in fields {
            put(&mut out, field, 8);
        }
        out.extend([7; 16]);
        let start = out.len();
        out.resize(start + layout.sites_at(pointer), 1);
        put(&mut out, 1, 2);
        out.resize(start + layout.record(pointer), 0);
        for count in counts {
            put(&mut out, count, 8);
        }
        if layout.has_bitmaps {
            out.extend([0; 8]);
        }
        out.extend(b"123456789");
        out.resize(out.len().next_multiple_of(8), 0);
        if layout.has_vtables {
            out.extend(vec![1; if pointer == 8 { 24 } else { 16 }]);
            out.extend(b"vtb\0\0\0\0\0");
        }
        put(&mut out, 24, 4);
        out.extend([1; 20]);
        out
    }

    #[test]
    fn a_real_profile_is_read() {
        let profiles = read(REAL).unwrap();
        let profile = RawProfile {
            at: 0,
            version: 10,
            ir: true,
            records: 5,
            counters: 8,
            all_zero: false,
            total: profiles[0].total,
            binary_ids: profiles[0].binary_ids,
            functions: profiles[0].functions,
            names: profiles[0].names,
        };
        assert_eq!(profiles, [profile]);
        assert!(profile.total > 0);
    }

    #[test]
    fn processes_of_one_image_are_known_by_its_functions() {
        let id = |bytes: &[u8]| read(bytes).unwrap()[0].functions_id(bytes);
        let profile = |counts| made(10 | VARIANT_IR, 8, false, counts);
        assert_eq!(id(&profile([1, 2])), id(&profile([3, 0])));
        let mut other = profile([1, 2]);
        let at = read(&other).unwrap()[0].functions.0;
        // Of the hash of the control flow.
        other[at + 8] ^= 1;
        assert_ne!(id(&other), id(&profile([1, 2])));
    }

    #[test]
    fn a_build_id_has_its_length_before_it() {
        let mut bytes = made(10 | VARIANT_IR, 8, false, [1, 2]);
        // What is no length is no id.
        assert_eq!(read(&bytes).unwrap()[0].build_id(&bytes), None);
        let (at, _) = read(&bytes).unwrap()[0].binary_ids;
        bytes[at..at + 8].copy_from_slice(&3u64.to_le_bytes());
        let id = read(&bytes).unwrap()[0].build_id(&bytes);
        assert_eq!(id.as_deref(), Some(&[7, 7, 7][..]));
    }

    #[test]
    fn the_names_of_its_functions_are_unpacked() {
        let profiles = read(REAL).unwrap();
        let packed = profiles[0].packed_names(REAL);
        let names = unpack(packed).unwrap();
        assert_eq!(names.len(), 5);
        assert!(names.contains(&"main".to_owned()), "{names:?}");
        assert!(unpack(&packed[1..]).is_err());
        // Of another file.
        assert_eq!(profiles[0].packed_names(&REAL[..10]), b"");
    }

    #[test]
    fn every_version_pointer_size_and_byte_order_is_read() {
        for version in [8, 9, 10] {
            for pointer in [4, 8] {
                for big_endian in [false, true] {
                    let bytes = made(version | VARIANT_IR, pointer, big_endian, [0, 1]);
                    let profiles = read(&bytes).unwrap();
                    assert_eq!(profiles.len(), 1);
                    assert_eq!(profiles[0].version, version);
                    assert_eq!((profiles[0].records, profiles[0].counters), (1, 2));
                    assert!(profiles[0].ir && !profiles[0].all_zero);
                    assert_eq!(
                        read(&bytes[..bytes.len() - 1]).unwrap_err().to_string(),
                        format!(
                            "file ends inside the value data at byte {}",
                            bytes.len() - 24
                        )
                    );
                }
            }
        }
    }

    #[test]
    fn concatenated_profiles_are_all_read() {
        let mut bytes = made(10, 8, false, [0, 0]);
        let first = bytes.len();
        bytes.extend([0; 16]);
        bytes.extend(REAL);
        let profiles = read(&bytes).unwrap();
        assert_eq!(profiles.len(), 2);
        assert!(profiles[0].all_zero && !profiles[0].ir);
        assert!(!profiles[1].all_zero && profiles[1].ir);
        assert_eq!(profiles[1].at, first + 16);

        bytes.truncate(first);
        bytes.extend(b"12345678");
        assert_eq!(
            read(&bytes).unwrap_err().to_string(),
            format!("what follows the profile can't be true at byte {first}")
        );
    }

    #[test]
    fn other_files_are_named() {
        let indexed = [&b"\xfflprofi\x81"[..], &[0; 20]].concat();
        let mut little = indexed.clone();
        little[..8].reverse();
        for (bytes, error) in [
            (&b""[..], RawError::Empty),
            (&indexed, RawError::Indexed),
            (&little, RawError::Indexed),
            (b":ir\nmain\n1\n", RawError::Text),
            (b"adcg*22B....", RawError::Gcda),
            (b"PERFILE2....", RawError::PerfData),
            (b"\x7fELF\x02\x01\x01\0\0", RawError::NotRaw),
        ] {
            assert_eq!(read(bytes), Err(error));
        }
        assert_eq!(
            read(&made(10, 8, false, [0, 0])[..4])
                .unwrap_err()
                .to_string(),
            "file ends inside the header at byte 0"
        );
    }

    #[test]
    fn an_unknown_version_is_an_error_that_names_it() {
        let mut bytes = REAL.to_vec();
        bytes[8] = 77;
        assert_eq!(read(&bytes), Err(RawError::Version(77)));
    }

    #[test]
    fn absurd_sizes_are_refused_at_once() {
        for field in [16, 24, 32, 40, 48, 56, 64, 72, 104, 112] {
            for huge in [u64::MAX, u64::MAX / 8, 1 << 60] {
                let mut bytes = REAL.to_vec();
                bytes[field..field + 8].copy_from_slice(&huge.to_le_bytes());
                assert!(read(&bytes).is_err(), "{field} {huge}");
            }
        }
    }

    #[test]
    fn cut_anywhere_it_is_an_error() {
        for end in 0..REAL.len() {
            assert!(read(&REAL[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn no_flipped_bit_makes_it_panic() {
        for at in 0..REAL.len() * 8 {
            let mut bytes = REAL.to_vec();
            bytes[at / 8] ^= 1 << (at % 8);
            let _ = read(&bytes);
        }
    }
}
