//! What kind of profile a file is, by how it begins.

use super::sample::{gcov, llvm_text};
use std::fmt;

/// How much of a file [`Kind::of`] needs to see, in bytes; the whole file if it is shorter.
pub const HEAD: usize = 64 * 1024;

/// A kind of file that has to do with profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// What one instrumented process of LLVM's left (`.profraw`).
    LlvmRaw,
    /// Merged counters, as LLVM's compilers read them (`.profdata`).
    LlvmIndexed,
    /// Merged counters as text.
    LlvmInstrText,
    /// LLVM's sample profile as text.
    LlvmSampleText,
    /// LLVM's first binary form of it.
    LlvmSampleBinary,
    /// The form in sections that replaced that.
    LlvmSampleExtBinary,
    /// LLVM's sample profile in a binary form that LLVM gave up.
    LlvmSampleObsolete,
    /// GCC's AutoFDO profile.
    GccSample,
    /// Counters of a program or object that gcc instrumented (`.gcda`).
    GccCounters,
    /// What perf recorded.
    PerfData,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::LlvmRaw => "raw LLVM profile",
            Kind::LlvmIndexed => "indexed LLVM profile",
            Kind::LlvmInstrText => "LLVM profile as text",
            Kind::LlvmSampleText => "LLVM sample profile as text",
            Kind::LlvmSampleBinary => "LLVM sample profile, binary",
            Kind::LlvmSampleExtBinary => "LLVM sample profile, extbinary",
            Kind::LlvmSampleObsolete => "LLVM sample profile in an obsolete form",
            Kind::GccSample => "AutoFDO profile of GCC",
            Kind::GccCounters => "counters of gcc (.gcda)",
            Kind::PerfData => "recording of perf",
        })
    }
}

/// `\xfflprofr\x81` and `\xfflprofR\x81`: 64 and 32-bit programs, in the writer's byte order.
const RAW: [[u8; 8]; 2] = [*b"\xfflprofr\x81", *b"\xfflprofR\x81"];
/// The same on every machine.
const INDEXED: &[u8] = b"\xfflprofi\x81";

impl Kind {
    /// The kind of a file whose first [`HEAD`] bytes are `head`.
    pub fn of(head: &[u8]) -> Option<Kind> {
        let magic = head.first_chunk::<8>().copied();
        let backwards = magic.map(|magic| u64::from_le_bytes(magic).to_be_bytes());
        if [magic, backwards]
            .into_iter()
            .flatten()
            .any(|m| RAW.contains(&m))
        {
            return Some(Kind::LlvmRaw);
        }
        if head.starts_with(INDEXED) {
            return Some(Kind::LlvmIndexed);
        }
        if [&b"PERFILE2"[..], b"2ELIFREP"]
            .iter()
            .any(|m| head.starts_with(m))
        {
            return Some(Kind::PerfData);
        }
        if head.starts_with(b"adcg") || head.starts_with(b"gcda") {
            // In either byte order gcc's; AutoFDO is little-endian.
            let sampled = gcov::recognises(head);
            return Some(if sampled {
                Kind::GccSample
            } else {
                Kind::GccCounters
            });
        }
        if let Some((magic, _)) = uleb128(head)
            && magic >> 8 == u64::from_be_bytes(*b"\0SPROF42")
        {
            return Some(match magic & 0xff {
                0xff => Kind::LlvmSampleBinary,
                4 => Kind::LlvmSampleExtBinary,
                _ => Kind::LlvmSampleObsolete,
            });
        }
        if llvm_text::recognises(head) {
            return Some(Kind::LlvmSampleText);
        }
        is_instr_text(head).then_some(Kind::LlvmInstrText)
    }

    /// The version that the file says it has, in a way of its own for each kind; `None` if it says
    /// none.
    pub fn version(self, head: &[u8]) -> Option<u64> {
        let word = |at: usize| {
            let bytes = head.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?).into())
        };
        match self {
            // The upper bytes are flags.
            Kind::LlvmRaw | Kind::LlvmIndexed => word(8),
            Kind::GccSample => word(4),
            Kind::LlvmSampleBinary | Kind::LlvmSampleExtBinary | Kind::LlvmSampleObsolete => {
                let (_, length) = uleb128(head)?;
                Some(uleb128(head.get(length..)?)?.0)
            }
            _ => None,
        }
    }
}

/// A number of seven bits a byte, the lowest first, and its length in bytes.
fn uleb128(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0_u64;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((number, index + 1));
        }
    }
    None
}

/// A flag, or a name with two numbers behind it: hash and number of counters.
fn is_instr_text(head: &[u8]) -> bool {
    let mut lines = head
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii_end)
        .filter(|line| !line.is_empty() && line.first() != Some(&b'#'));
    let Some(first) = lines.next() else {
        return false;
    };
    if first.first() == Some(&b':') {
        return first.len() > 1
            && first[1..]
                .iter()
                .all(|b| b.is_ascii_lowercase() || *b == b'_');
    }
    let mut number = || {
        let line = lines.next().unwrap_or_default();
        let digits = line.strip_prefix(b"0x").unwrap_or(line);
        !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)
    };
    first.iter().all(|&byte| byte >= b' ') && number() && number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_content() {
        let raw = include_bytes!("../../tests-data/values.raw");
        let text = include_bytes!("../../tests-data/values.proftext");
        let autofdo = |version: u8| [b'a', b'd', b'c', b'g', version, 0, 0, 0];
        for (head, kind) in [
            (&raw[..], Some(Kind::LlvmRaw)),
            (b"\x81rforpl\xff", Some(Kind::LlvmRaw)),
            (b"\xfflprofi\x81\x0c\0\0\0\0\0\0\0", Some(Kind::LlvmIndexed)),
            (text, Some(Kind::LlvmInstrText)),
            (
                b"main\n# Func Hash:\n0x18\n1\n5\n",
                Some(Kind::LlvmInstrText),
            ),
            (b"# by hand\nmain:5:1\n 1: 5\n", Some(Kind::LlvmSampleText)),
            (
                b"\xff\xe5\xd0\xb1\xf4\xc9\x94\xa8\x53\x67",
                Some(Kind::LlvmSampleBinary),
            ),
            (
                b"\x84\xe4\xd0\xb1\xf4\xc9\x94\xa8\x53\x67",
                Some(Kind::LlvmSampleExtBinary),
            ),
            (
                b"\x82\xe4\xd0\xb1\xf4\xc9\x94\xa8\x53\x67",
                Some(Kind::LlvmSampleObsolete),
            ),
            (&autofdo(2), Some(Kind::GccSample)),
            (
                b"adcg*22B\x12\x34\x56\x78\x9a\xbc\xde\xf0",
                Some(Kind::GccCounters),
            ),
            (b"PERFILE2\x68\0\0\0", Some(Kind::PerfData)),
            (b"", None),
            (b"\x7fELF\x02\x01\x01\0", None),
            (b"fn main() {}\n\nlet x = 5;\n", None),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", None),
        ] {
            assert_eq!(Kind::of(head), kind, "{head:?}");
        }
    }

    #[test]
    fn versions_are_read() {
        let raw = include_bytes!("../../tests-data/values.raw");
        assert_eq!(Kind::LlvmRaw.version(raw), Some(10));
        let extbinary = b"\x84\xe4\xd0\xb1\xf4\xc9\x94\xa8\x53\x67";
        assert_eq!(Kind::LlvmSampleExtBinary.version(extbinary), Some(103));
        assert_eq!(Kind::GccSample.version(b"adcg\x03\0\0\0"), Some(3));
        assert_eq!(Kind::GccSample.version(b"adcg"), None);
        assert_eq!(Kind::LlvmSampleText.version(b"main:5:1\n"), None);
    }
}
