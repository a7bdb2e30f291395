//! SHA-256 in hex: names that say what is in a file, and proof that two contents are equal.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The first `bytes` bytes of a content's SHA-256, as twice as many lower-case hex digits; at most
/// all 32.
pub fn short(content: &[u8], bytes: usize) -> String {
    let digest = Sha256::digest(content);
    hex(digest.get(..bytes).unwrap_or(&digest))
}

/// A content's whole SHA-256, 64 lower-case hex digits.
pub fn whole(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a String can't fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_digest_is_the_head_of_the_whole_one() {
        let known = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(whole(b""), known);
        assert_eq!(short(b"", 6), known[..12]);
        assert_eq!(short(b"", 99), known);
    }
}
