//! Random numbers and values that are the same on every machine.

/// A SplitMix64 generator.
pub struct Random(u64);

impl Random {
    /// Starts the sequence that belongs to `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number of the sequence.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`; the slight bias does not matter here.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(limit)) >> 64) as u64
    }

    /// Makes `value` a value of `size` bytes that compresses to about half, as in `db_bench`.
    pub fn fill(&mut self, value: &mut Vec<u8>, size: usize) {
        value.clear();
        while value.len() < size {
            let bytes = self.number().to_le_bytes();
            value.extend_from_slice(&bytes);
            value.extend_from_slice(&[bytes[0]; 8]);
        }
        value.truncate(size);
    }
}
