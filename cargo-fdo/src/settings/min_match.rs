//! How much of a profile a build must use.

/// The least share of the profile's counts, 0 to 1, if the user says one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MinMatch(pub Option<f64>);

impl MinMatch {
    /// Of counters, and of samples of C: of a program that was changed gcc shows 65 % as used.
    pub const COUNTERS: f64 = 0.8;
    /// Of samples of Rust. rustc finds no place for those of code that was inlined from one codegen unit
    /// into another, which were 34 % of a fresh profile of a program of one loop; of a profile in which
    /// all was moved by a line it found a place for 3 %.
    pub const RUST_SAMPLES: f64 = 0.5;

    /// The limit for a language, or for all counts together.
    pub fn of(self, is_sampled: bool, language: Option<&str>) -> f64 {
        self.0.unwrap_or(match (is_sampled, language) {
            (true, Some("Rust")) => MinMatch::RUST_SAMPLES,
            _ => MinMatch::COUNTERS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_rust_alone_have_a_lower_limit_and_none_if_the_user_says_one() {
        let default = MinMatch::default();
        assert_eq!(default.of(true, Some("Rust")), 0.5);
        for (is_sampled, language) in [
            (true, Some("C and C++")),
            (true, None),
            (false, Some("Rust")),
            (false, None),
        ] {
            assert_eq!(default.of(is_sampled, language), 0.8);
        }
        assert_eq!(MinMatch(Some(0.9)).of(true, Some("Rust")), 0.9);
    }
}
