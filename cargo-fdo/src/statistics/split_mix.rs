//! The random numbers of the bootstrap: always the same ones.
//!
//! SplitMix64, from Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
//! OOPSLA 2014. It is no secret and needs none: the same samples have to give the same table, on
//! every machine and in every version of ours, which no crate promises for its default generator.

/// The generator.
#[derive(Debug, Clone)]
pub(super) struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// Starts at a seed.
    pub(super) fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    /// The next 64 bits.
    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `end`; 0 if `end` is 0. The upper half of the product of `end` and the next
    /// bits, so an index is drawn too often or too rarely by a share of at most `end`/2⁶⁴.
    pub(super) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the authors' own implementation (`splitmix64.c`, seed 1234567).
    #[test]
    fn is_the_generator_of_the_paper() {
        let mut generator = SplitMix64::new(1_234_567);
        assert_eq!(generator.next(), 6_457_827_717_110_365_317);
        assert_eq!(generator.next(), 3_203_168_211_198_807_973);
        assert_eq!(generator.next(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn indices_are_below_their_end_and_all_of_them_occur() {
        let mut generator = SplitMix64::new(1);
        let mut seen = [0_u32; 7];
        for _ in 0..7_000 {
            seen[generator.below(7)] += 1;
        }
        assert!(
            seen.iter().all(|&count| (850..1150).contains(&count)),
            "{seen:?}"
        );
        assert_eq!(generator.below(0), 0);
    }
}
