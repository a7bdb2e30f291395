//! What is asked of executables and shared objects without reading all of them.

use object::{Object as _, ObjectSection as _, ReadCache};
use std::io::{Read, Seek};

/// How many bytes [`is_linked`] wants to see.
pub const START: usize = 18;

/// Whether a file that starts so is an ELF executable or shared object of this machine's byte
/// order (`e_type` 2 or 3).
pub fn is_linked(start: &[u8; START]) -> bool {
    const LITTLE_ENDIAN: u8 = 1;
    start.starts_with(b"\x7fELF")
        && start[5] == LITTLE_ENDIAN
        && matches!(u16::from_le_bytes([start[16], start[17]]), 2 | 3)
}

/// What a linked file says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkedFile {
    /// Its GNU build id.
    pub build_id: Option<Vec<u8>>,
    /// Whether it has line tables, compressed or not, or says where they are.
    pub has_lines: bool,
}

/// Reads headers, notes and the names of sections. `None` if it is no such file, or damaged.
pub fn read(file: impl Read + Seek) -> Option<LinkedFile> {
    let cache = ReadCache::new(file);
    let file = object::File::parse(&cache).ok()?;
    let has_lines = file.sections().any(|section| {
        matches!(
            section.name(),
            Ok(".debug_line" | ".zdebug_line" | ".gnu_debuglink")
        )
    });
    Some(LinkedFile {
        build_id: file.build_id().ok().flatten().map(<[u8]>::to_vec),
        has_lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn this_very_program_is_linked_and_has_lines() {
        let path = std::env::current_exe().unwrap();
        let bytes = std::fs::read(path).unwrap();
        assert!(is_linked(bytes[..START].try_into().unwrap()));
        let file = read(Cursor::new(&bytes)).unwrap();
        assert!(file.has_lines, "tests are built with debug information");
    }

    #[test]
    fn other_and_damaged_files_are_none() {
        assert!(!is_linked(
            b"#!/bin/sh\necho hello"[..START].try_into().unwrap()
        ));
        assert_eq!(read(Cursor::new(b"#!/bin/sh\n")), None);
        let path = std::env::current_exe().unwrap();
        let mut bytes = std::fs::read(path).unwrap();
        bytes.truncate(1 << 16);
        for at in 0..64 {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0xff;
            // Whatever it says, it says it without a panic.
            let _ = read(Cursor::new(bytes));
        }
    }
}
