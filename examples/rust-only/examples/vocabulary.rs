//! Prints the most frequent words of a made-up site: `cargo run --example vocabulary`.

use std::collections::BTreeMap;

use sitegen::{generate, words};

fn main() {
    let mut counts = BTreeMap::<String, u32>::new();
    for page in generate(2000, 3) {
        words(&page, |word| *counts.entry(word).or_default() += 1);
    }
    let mut ranking: Vec<_> = counts.into_iter().collect();
    // Words of equal frequency stay in alphabetical order.
    ranking.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (word, count) in ranking.iter().take(10) {
        println!("{count:>7} {word}");
    }
}
