//! Whether perf finished a recording.
//!
//! A perf.data file begins with its magic number, the size of the header, and places of attributes
//! and data, eight bytes each, little-endian (`struct perf_file_header` of Linux'
//! `tools/perf/util/header.h`). perf writes the header twice: with a size of 0 for the data when
//! it starts, and whole when it ends.

use std::io::{self, Read};

const MAGIC: &[u8; 8] = b"PERFILE2";

/// The header of what perf writes to a pipe: magic number and size, nothing to finish.
const PIPE_HEADER: u64 = 16;

/// Where the size of the data is.
const DATA_SIZE: usize = 48;

/// Whether perf ended in its own time, from the first bytes of its file; false for another kind of
/// file.
///
/// # Errors
///
/// Those of the input. One that ends within the header is not finished.
pub fn is_finished(mut input: impl Read) -> io::Result<bool> {
    let mut header = [0; DATA_SIZE + 8];
    let mut got = 0;
    while got < header.len() {
        match input.read(&mut header[got..])? {
            0 => break,
            more => got += more,
        }
    }
    let field = |at: usize| -> Option<u64> {
        let bytes = header[..got].get(at..at + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    if header[..got].get(..MAGIC.len()) != Some(MAGIC) {
        return Ok(false);
    }
    Ok(match field(8) {
        Some(PIPE_HEADER) => true,
        Some(_) => field(DATA_SIZE).is_some_and(|size| size > 0),
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(data: u64) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for field in [104, 144, 168, 144, 312, data, 0, 0] {
            bytes.extend(u64::to_le_bytes(field));
        }
        bytes
    }

    #[test]
    fn the_size_of_the_data_comes_last() {
        assert!(is_finished(&header(4096)[..]).unwrap());
        assert!(!is_finished(&header(0)[..]).unwrap());
        for end in 0..DATA_SIZE + 8 {
            assert!(!is_finished(&header(4096)[..end]).unwrap(), "{end}");
        }
        assert!(!is_finished(&b"ELF"[..]).unwrap());
        let pipe: Vec<u8> = MAGIC.iter().copied().chain(16u64.to_le_bytes()).collect();
        assert!(is_finished(&pipe[..]).unwrap());
    }
}
