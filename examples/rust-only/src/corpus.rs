//! Made-up pages: a function of how many, and of a seed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::Page;

const SYLLABLES: [&str; 20] = [
    "ba", "cor", "da", "el", "fen", "gra", "hu", "il", "jo", "ka", "lum", "mi", "nor", "ov", "pé",
    "qua", "ri", "sto", "tu", "ven",
];

const TAGS: [&str; 8] = [
    "guide",
    "reference",
    "news",
    "internals",
    "history",
    "tools",
    "howto",
    "archive",
];

/// SplitMix64: the same numbers for the same seed, on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`; the slight bias does not matter here.
    fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len() as u64) as usize]
    }

    fn word(&mut self) -> String {
        (0..1 + self.below(3))
            .map(|_| self.pick(&SYLLABLES))
            .collect()
    }

    fn words(&mut self, count: u64) -> String {
        let words: Vec<_> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }
}

/// Makes `count` pages with paragraphs, lists, tables, links and code.
pub fn generate(count: usize, seed: u64) -> Vec<Page> {
    let mut random = Random(seed);
    (0..count)
        .map(|number| {
            let title = random.words(3);
            Page {
                slug: format!("{}-{number}", title.replace(' ', "-")),
                title,
                tags: (0..2).map(|_| random.pick(&TAGS).to_owned()).collect(),
                visits: (2020..2026)
                    .map(|year| (year, random.below(1_000_000) as f64 / 8.0))
                    .collect::<BTreeMap<_, _>>(),
                body: body(&mut random),
            }
        })
        .collect()
}

fn body(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..3 + random.below(6) {
        let block = match random.below(10) {
            0 => heading(random),
            1 | 2 => list(random),
            3 => table(random),
            4 => code(random),
            _ => paragraph(random),
        };
        // Writing to a String does not fail.
        let _ = writeln!(text, "{block}\n");
    }
    text
}

fn heading(random: &mut Random) -> String {
    let level = 1 + random.below(4) as usize;
    format!("{} {}", "#".repeat(level), random.words(4))
}

fn paragraph(random: &mut Random) -> String {
    let mut parts = Vec::new();
    for _ in 0..4 + random.below(20) {
        let words = random.words(2);
        parts.push(match random.below(12) {
            0 => format!("*{words}*"),
            1 => format!("**{words}**"),
            2 => format!("`{words}`"),
            3 => format!(
                "[{words}](https://example.org/{} \"{words}\")",
                random.word()
            ),
            4 => format!("{words} & <{words}>"),
            5 => format!("~~{words}~~\n"),
            _ => random.words(6),
        });
    }
    parts.join(" ")
}

fn list(random: &mut Random) -> String {
    let mut items = Vec::new();
    for number in 1..3 + random.below(6) {
        let words = random.words(5);
        items.push(match random.below(3) {
            0 => format!("- [x] {words}"),
            1 => format!("- {words}\n  - {}", random.words(3)),
            _ => format!("{number}. {words}"),
        });
    }
    items.join("\n")
}

fn table(random: &mut Random) -> String {
    let mut rows = vec![
        "| name | value | note |".to_owned(),
        "|---|--:|---|".to_owned(),
    ];
    for _ in 0..2 + random.below(8) {
        let (name, value, note) = (random.word(), random.below(10_000), random.words(3));
        rows.push(format!("| {name} | {value} | {note} |"));
    }
    rows.join("\n")
}

fn code(random: &mut Random) -> String {
    let (name, value) = (random.word(), random.below(100));
    format!("```rust\nfn {name}() -> u64 {{\n    \"{value}\".len() as u64 & 0xff\n}}\n```")
}
