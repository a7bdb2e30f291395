//! A safe face for the C interface.

use std::ffi::{CStr, CString, c_int};
use std::fmt;
use std::ptr::NonNull;
use std::slice;

pub use textpack_sys::textpack_hit as Hit;
use textpack_sys::{
    TEXTPACK_OK, textpack_buffer, textpack_error, textpack_index, textpack_index_add,
    textpack_index_delete, textpack_index_new, textpack_index_search, textpack_pack,
    textpack_release, textpack_unpack,
};

/// What the library says about a failure.
#[derive(Debug, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl Error {
    /// The failure of the last call of this thread.
    fn last() -> Error {
        // SAFETY: never null, and valid until the next failure of this thread.
        let message = unsafe { CStr::from_ptr(textpack_error()) };
        Error(message.to_string_lossy().into_owned())
    }

    fn check(status: c_int) -> Result<(), Error> {
        if status == TEXTPACK_OK {
            Ok(())
        } else {
            Err(Error::last())
        }
    }
}

/// A name for the library; none of its names has a null byte.
fn name(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error(format!("{text:?} is not a name")))
}

/// Packs `data` with the codec called `codec`.
pub fn pack(codec: &str, data: &[u8]) -> Result<Vec<u8>, Error> {
    let codec = name(codec)?;
    // SAFETY: the pointers are valid for the call, and `data` for its length.
    take(|packed| unsafe { textpack_pack(codec.as_ptr(), data.as_ptr(), data.len(), packed) })
}

/// The reverse of [`pack`].
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>, Error> {
    // SAFETY: the pointers are valid for the call, and `packed` for its length.
    take(|data| unsafe { textpack_unpack(packed.as_ptr(), packed.len(), data) })
}

/// Copies the buffer that `call` fills, and gives it back to the library.
fn take(call: impl FnOnce(*mut textpack_buffer) -> c_int) -> Result<Vec<u8>, Error> {
    let mut buffer = textpack_buffer {
        data: std::ptr::null_mut(),
        size: 0,
    };
    Error::check(call(&mut buffer))?;
    // SAFETY: after a success the buffer is not null and holds `size` bytes.
    let bytes = unsafe { slice::from_raw_parts(buffer.data, buffer.size) }.to_vec();
    // SAFETY: the buffer came from the library and is used no more.
    unsafe { textpack_release(buffer) };
    Ok(bytes)
}

/// A full-text index.
pub struct Index(NonNull<textpack_index>);

impl Index {
    /// Makes an empty index of `words` or `trigrams`.
    pub fn new(tokens: &str) -> Result<Index, Error> {
        let tokens = name(tokens)?;
        // SAFETY: a string that ends with a null byte.
        let index = unsafe { textpack_index_new(tokens.as_ptr()) };
        NonNull::new(index).map(Index).ok_or_else(Error::last)
    }

    /// Adds a document and returns its number.
    pub fn add(&mut self, text: &str) -> Result<u32, Error> {
        let mut document = 0;
        // SAFETY: the index is alive, and `text` valid for its length.
        Error::check(unsafe {
            textpack_index_add(
                self.0.as_ptr(),
                text.as_ptr().cast(),
                text.len(),
                &mut document,
            )
        })?;
        Ok(document)
    }

    /// The `limit` documents that fit best, the best first.
    ///
    /// Takes the index mutably: its tokenizer is used for the query too.
    pub fn search(&mut self, query: &str, limit: usize) -> Result<Vec<Hit>, Error> {
        let mut hits = vec![Hit::default(); limit];
        let mut count = 0;
        // SAFETY: the index is alive, and `hits` has room for `limit` elements.
        Error::check(unsafe {
            textpack_index_search(
                self.0.as_ptr(),
                query.as_ptr().cast(),
                query.len(),
                hits.as_mut_ptr(),
                limit,
                &mut count,
            )
        })?;
        hits.truncate(count);
        Ok(hits)
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        // SAFETY: made by the library, and deleted nowhere else.
        unsafe { textpack_index_delete(self.0.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODECS: [&str; 4] = ["store", "lz", "huffman", "lz-huffman"];

    #[test]
    fn every_codec_gives_back_what_it_got() -> Result<(), Error> {
        let inputs = [
            String::new(),
            "a".to_owned(),
            "abcabcabcabc".repeat(50),
            (0..5000).map(|n| format!("{:x} ", n * n)).collect(),
        ];
        for codec in CODECS {
            for input in &inputs {
                let packed = pack(codec, input.as_bytes())?;
                assert_eq!(unpack(&packed)?, input.as_bytes(), "{codec}");
            }
        }
        Ok(())
    }

    #[test]
    fn damage_is_an_error() -> Result<(), Error> {
        let input = "damaged data must not come back as if it were sound ".repeat(20);
        for codec in CODECS {
            let packed = pack(codec, input.as_bytes())?;
            for place in 0..packed.len() {
                let mut damaged = packed.clone();
                damaged[place] ^= 0x55;
                // A changed codec number or a padding bit may be harmless; other bytes are not.
                if let Ok(output) = unpack(&damaged) {
                    assert_eq!(output, input.as_bytes(), "{codec}, byte {place}");
                }
                assert!(unpack(&packed[..place]).is_err(), "{codec}, {place} bytes");
            }
        }
        Ok(())
    }

    #[test]
    fn unknown_names_are_errors() {
        assert!(pack("zip", b"").is_err());
        assert!(pack("l\0z", b"").is_err());
        assert!(Index::new("syllables").is_err());
    }

    #[test]
    fn the_rarer_word_decides() -> Result<(), Error> {
        let mut index = Index::new("words")?;
        for text in [
            "common words",
            "common and rare words",
            "common words again",
        ] {
            index.add(text)?;
        }
        let hits = index.search("rare common", 2)?;
        assert_eq!(hits.len(), 2);
        assert_eq!(hits[0].document, 1);
        Ok(())
    }
}
