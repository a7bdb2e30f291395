/// Spreads the bits of a number over all bits of the result.
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A number that depends on all of these and on nothing else.
pub fn mix_all(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |state, part| mix(state ^ part))
}

/// Numbers of one request.
pub struct Random(u64);

impl Random {
    pub fn of(parts: &[u64]) -> Random {
        Random(mix_all(parts))
    }

    /// Less than `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = mix(self.0);
        self.0 % end.max(1)
    }
}
