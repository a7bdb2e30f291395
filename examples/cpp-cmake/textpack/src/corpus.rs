//! Made-up texts: a function of a number and a seed.

const ENDINGS: [&str; 6] = ["", "", "", "s", "ed", "ing"];

/// Words of the vocabulary; the first ones are used most.
const VOCABULARY: u64 = 4000;

/// SplitMix64: the same numbers for the same seed, on every machine.
pub struct Random(u64);

impl Random {
    /// Starts the sequence that belongs to `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number of the sequence.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        scramble(self.0)
    }

    /// A number below `limit`; the slight bias does not matter here.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// A word, the frequent ones often.
    pub fn word(&mut self) -> String {
        // The smallest of three leans to the front as in natural language.
        let limit = VOCABULARY;
        let rank = self
            .below(limit)
            .min(self.below(limit))
            .min(self.below(limit));
        let mut word = spell(rank);
        word.push_str(ENDINGS[self.below(ENDINGS.len() as u64) as usize]);
        word
    }

    /// A text of about `words` words in sentences.
    pub fn text(&mut self, words: u64) -> String {
        let mut text = String::new();
        for number in 0..words {
            if number > 0 {
                text.push_str(match self.below(16) {
                    0 => ". ",
                    1 => ", ",
                    2 => "\n",
                    _ => " ",
                });
            }
            text.push_str(&self.word());
        }
        text
    }
}

fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The word of that rank: frequent words are short.
fn spell(rank: u64) -> String {
    const LETTERS: &[u8; 16] = b"etaoinshrdlucmfw";
    let mut bits = scramble(rank);
    let mut word = String::new();
    for _ in 0..3 + (rank + 1).ilog2() / 3 {
        word.push(char::from(LETTERS[(bits & 15) as usize]));
        bits >>= 4;
    }
    word
}
