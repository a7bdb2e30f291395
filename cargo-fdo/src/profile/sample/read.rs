//! Reads a recording of any kind that is known.

use super::recording::Recording;
use super::{perf_data, perf_script};
use std::io::{self, Read};

/// Says of a file, by the path that it was mapped under, whether its addresses are wanted.
pub type ImageFilter = dyn Fn(&[u8]) -> bool;

/// What of a recording is wanted. The default is all of it.
#[derive(Default, Clone, Copy)]
pub struct Selection<'a> {
    /// Samples of these processes only; of all where it is empty.
    pub pids: &'a [u32],
    /// Addresses in these files only; of all where it is `None`. Of the others the number of samples
    /// is kept.
    pub image: Option<&'a ImageFilter>,
}

impl Selection<'_> {
    #[inline]
    pub(super) fn wants_pid(&self, pid: u32) -> bool {
        self.pids.is_empty() || self.pids.contains(&pid)
    }

    pub(super) fn wants_image(&self, path: &[u8]) -> bool {
        self.image.is_none_or(|wanted| wanted(path))
    }
}

/// What an input is, judged by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputKind {
    /// Recorded by perf, whether into a file or a pipe.
    PerfData,
    /// Recorded by perf on a machine of the other byte order.
    PerfDataBigEndian,
    /// Recorded by a perf of before 2010.
    PerfDataV1,
    /// LLVM's instrumented counters, raw.
    RawProfile,
    /// LLVM's instrumented counters, merged.
    IndexedProfile,
    /// A sampled profile that was converted already: LLVM's extbinary form.
    LlvmSample,
    /// gcc's: AutoFDO profile or counters (`.gcda`).
    Gcov,
    /// A program, shared object or object file.
    Elf,
    /// Compressed as a whole.
    Compressed,
    /// Text, so perhaps of `perf script`.
    Text,
    /// None of these.
    Unknown,
}

/// How many bytes [`InputKind::of`] wants to see.
pub const KIND_BYTES: usize = 512;

impl InputKind {
    /// Judges an input by its first bytes, [`KIND_BYTES`] of them or all.
    pub fn of(bytes: &[u8]) -> InputKind {
        const MAGICS: [(&[u8], InputKind); 15] = [
            (b"PERFILE2", InputKind::PerfData),
            (b"2ELIFREP", InputKind::PerfDataBigEndian),
            (b"PERFFILE", InputKind::PerfDataV1),
            (b"ELIFFREP", InputKind::PerfDataV1),
            (b"\xfflprofi\x81", InputKind::IndexedProfile),
            (b"\x81iforpl\xff", InputKind::IndexedProfile),
            (b"\xfflprof", InputKind::RawProfile),
            (b"\x81rforpl\xff", InputKind::RawProfile),
            (b"\x81Rforpl\xff", InputKind::RawProfile),
            // ULEB128 of "SPROF42" and the form's number.
            (
                b"\x84\xe4\xd0\xb1\xf4\xc9\x94\xa8\x53",
                InputKind::LlvmSample,
            ),
            (b"adcg", InputKind::Gcov),
            (b"gcda", InputKind::Gcov),
            (b"\x7fELF", InputKind::Elf),
            (b"\x1f\x8b", InputKind::Compressed),
            (b"\x28\xb5\x2f\xfd", InputKind::Compressed),
        ];
        if let Some((_, kind)) = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
            return *kind;
        }
        let text = |&byte: &u8| byte >= b' ' || matches!(byte, b'\n' | b'\t' | b'\r' | b'\x1b');
        if !bytes.is_empty() && bytes.iter().take(KIND_BYTES).all(text) {
            InputKind::Text
        } else {
            InputKind::Unknown
        }
    }

    fn name(self) -> &'static str {
        match self {
            InputKind::PerfData => "a perf recording",
            InputKind::PerfDataBigEndian => {
                "one of a big-endian machine; print it there with `perf script`"
            }
            InputKind::PerfDataV1 => "one of before 2010",
            InputKind::RawProfile => "a raw profile of an instrumented program",
            InputKind::IndexedProfile => "a merged profile of instrumented programs",
            InputKind::LlvmSample => "a sampled profile that was converted already",
            InputKind::Gcov => "a gcc profile that was converted already",
            InputKind::Elf => "a program or an object file",
            InputKind::Compressed => "a compressed file; decompress it first",
            InputKind::Text => "a text",
            InputKind::Unknown => "something else",
        }
    }
}

/// Why a recording can't be read. Positions are bytes or lines from its start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The input itself failed.
    #[error("can't read the recording after {at} bytes")]
    Io {
        /// How far it was read.
        at: u64,
        /// Why.
        source: io::Error,
    },
    /// No bytes at all: perf died before it wrote, or recorded nothing.
    #[error("recording is empty")]
    Empty,
    /// Not a recording.
    #[error("is no perf recording that can be read, but {}", .0.name())]
    NotARecording(InputKind),
    /// The recording ends before anything was recorded.
    #[error("recording ends inside {what}, at byte {at}; nothing was recorded before")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Where the recording ends.
        at: u64,
    },
    /// Something that perf does not write.
    #[error("recording is damaged at byte {at}: {what}")]
    Corrupt {
        /// What is wrong.
        what: &'static str,
        /// Where it is.
        at: u64,
    },
    /// The samples lack a field that nothing can be done without.
    #[error("samples have no {field}; record with plain `perf record`, which asks for it")]
    MissingField {
        /// Which.
        field: &'static str,
    },
    /// The compressed records can't be decompressed.
    #[error("compressed records can't be decompressed at byte {at}: {why}")]
    Zstd {
        /// Where the record is.
        at: u64,
        /// What zstd says.
        why: &'static str,
    },
    /// A text in which no line is a sample as `perf script` prints it.
    #[error(
        "no sample of `perf script` in {lines} lines of text (line {first} is the first that is not \
         understood); {ADVICE}"
    )]
    NoSampleInText {
        /// Lines of the text.
        lines: u64,
        /// The first one that was not understood, or 1.
        first: u64,
    },
    /// Samples of which nothing says where in which file they are.
    #[error("{samples} samples in the text, but not what was mapped where; {ADVICE}")]
    NoMappingInText {
        /// How many samples.
        samples: u64,
    },
    /// Samples printed as call chains, whose addresses can be either of two things.
    #[error(
        "{samples} samples in the text are call chains, where versions of perf print addresses or \
         offsets and don't say which; add `-G`, or {ADVICE}"
    )]
    CallChainsInText {
        /// How many samples.
        samples: u64,
    },
    /// Samples without a process, and processes that had different files at one address.
    #[error(
        "line {line} maps a file to where another process has a different one, and samples don't \
         say their process; {ADVICE}"
    )]
    NoProcessInText {
        /// Line of the second mapping.
        line: u64,
    },
}

/// How `perf script` has to be called.
const ADVICE: &str = "print with `perf script -G -F pid,ip,brstack --show-mmap-events \
                      --show-task-events` (without `brstack` if there are no branch stacks)";

/// What [`InputKind::of`] needs of an input, taken off it: it may be a pipe.
pub(in crate::profile) fn start_of(input: &mut impl Read) -> Result<Vec<u8>, ReadError> {
    let mut start = Vec::new();
    input
        .take(KIND_BYTES as u64)
        .read_to_end(&mut start)
        .map_err(|source| ReadError::Io { at: 0, source })?;
    Ok(start)
}

/// Reads a recording to its end, whatever its kind.
///
/// Memory is bounded by the distinct addresses and the mappings, not by the length of the input,
/// which may be a pipe.
///
/// # Errors
///
/// A recording that ends too soon is none: what was read is returned, with
/// [`Recording::cut_short_at`].
pub fn read(mut input: impl Read, selection: &Selection<'_>) -> Result<Recording, ReadError> {
    let start = start_of(&mut input)?;
    let whole = io::Cursor::new(&start).chain(input);
    match InputKind::of(&start) {
        _ if start.is_empty() => Err(ReadError::Empty),
        InputKind::PerfData => perf_data::read(whole, selection),
        InputKind::Text => perf_script::read(whole, selection),
        other => Err(ReadError::NotARecording(other)),
    }
}
