//! Lists of function names, as instrumented objects and raw profiles hold them.
//!
//! Chunks of ULEB128 plain length, ULEB128 compressed length (0 if it is not) and that many bytes,
//! in which `\x01` separates the names; zeros may lie between chunks (`readAndDecodeStrings` in
//! `llvm/lib/ProfileData/InstrProf.cpp`).

use flate2::read::ZlibDecoder;
use std::fmt;
use std::io::Read as _;

/// A list that is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamesError {
    what: &'static str,
    /// Of the chunk, in bytes from where the list begins.
    at: usize,
}

impl fmt::Display for NamesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NamesError { what, at } = self;
        write!(f, "{what} at byte {at} of the list of function names")
    }
}

impl std::error::Error for NamesError {}

/// Reads a list, in its order.
///
/// # Errors
///
/// [`NamesError`], with the offset of the bad chunk.
pub fn unpack(list: &[u8]) -> Result<Vec<String>, NamesError> {
    let mut names = Vec::new();
    let mut at = 0;
    loop {
        at += list
            .get(at..)
            .map_or(0, |rest| rest.iter().take_while(|&&byte| byte == 0).count());
        if at >= list.len() {
            return Ok(names);
        }
        let start = at;
        let bad = |what| NamesError { what, at: start };
        let plain = uleb128(list, &mut at).ok_or(bad("bad length"))?;
        let compressed = uleb128(list, &mut at).ok_or(bad("bad length"))?;
        let stored = if compressed == 0 { plain } else { compressed };
        let chunk = usize::try_from(stored)
            .ok()
            .and_then(|size| at.checked_add(size))
            .and_then(|end| list.get(at..end))
            .ok_or(bad("a chunk that is cut short"))?;
        at += chunk.len();
        if compressed == 0 {
            split(chunk, &mut names);
        } else {
            // Grows as the data comes: zlib packs at most about a thousand to one.
            let mut unpacked = Vec::new();
            ZlibDecoder::new(chunk)
                .take(plain)
                .read_to_end(&mut unpacked)
                .map_err(|_| bad("a chunk that does not unpack"))?;
            if unpacked.len() as u64 != plain {
                return Err(bad("a chunk of another length than it says"));
            }
            split(&unpacked, &mut names);
        }
    }
}

fn split(chunk: &[u8], into: &mut Vec<String>) {
    into.extend(
        chunk
            .split(|&byte| byte == 1)
            .filter(|name| !name.is_empty())
            .map(|name| String::from_utf8_lossy(name).into_owned()),
    );
}

fn uleb128(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        use std::io::Write as _;
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        out.write_all(text).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn names_come_in_chunks_packed_or_plain_with_zeros_between() {
        let stored = packed(b"c\x01dd");
        let section = [
            &[4, 0][..],
            b"a\x01bb",
            &[0; 5],
            &[4, stored.len() as u8],
            &stored,
            &[0],
        ]
        .concat();
        assert_eq!(unpack(&section).unwrap(), ["a", "bb", "c", "dd"]);
        assert_eq!(unpack(&[0; 9]).unwrap().len(), 0);
    }

    #[test]
    fn damaged_names_are_errors_with_an_offset() {
        let fails = |section: &[u8], message: &str| {
            assert_eq!(unpack(section).unwrap_err().to_string(), message);
        };
        let end = "of the list of function names";
        fails(&[0, 0x80], &format!("bad length at byte 1 {end}"));
        fails(&[0xff; 12], &format!("bad length at byte 0 {end}"));
        fails(
            &[9, 0, b'x'],
            &format!("a chunk that is cut short at byte 0 {end}"),
        );
        fails(
            &[9, 1, b'x'],
            &format!("a chunk that does not unpack at byte 0 {end}"),
        );
        let stored = packed(b"abc");
        let huge = [
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1][..],
            &[stored.len() as u8],
            &stored,
        ]
        .concat();
        fails(
            &huge,
            &format!("a chunk of another length than it says at byte 0 {end}"),
        );
    }
}
