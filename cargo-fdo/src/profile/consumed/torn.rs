//! Dumps that rustc's threads tear apart, in every way that a generator finds.

use super::super::evidence::Filter;
use super::*;

/// Numerical Recipes' generator: the same tearing in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

/// A function's dump, in the pieces that LLVM writes one after the other.
fn pieces(name: &str, hash: u64, random: &mut Random) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut say = |parts: &[&str]| out.extend(parts.iter().map(|&part| part.to_owned()));
    let blocks = 1 + random.below(4);
    say(&["pgo-view-raw-counts: ", names::symbol(name), "\n"]);
    say(&[
        "Dump Function ",
        name,
        " Hash: ",
        &hash.to_string(),
        "\t",
        "\n",
    ]);
    say(&["  Number of Basic Blocks: ", &blocks.to_string(), "\n"]);
    for block in 0..blocks {
        say(&["  BB: ", if block == 0 { "FakeNode" } else { "" }, "  "]);
        say(&["Index=", &block.to_string(), "  Count=", "1", "\n"]);
    }
    say(&["  Number of Edges: ", &blocks.to_string()]);
    say(&[" (*: Instrument, C: CriticalEdge, -: Removed)\n"]);
    for edge in 0..blocks {
        say(&["  Edge ", &edge.to_string(), ": ", &edge.to_string(), "-->"]);
        say(&[
            "0",
            " ",
            "*",
            "   W=",
            "18014398509481984",
            "  Count=",
            "1",
            "\n",
        ]);
    }
    out
}

#[test]
fn every_function_of_a_torn_dump_is_found() {
    let units = 16;
    for seed in 0..600 {
        let mut random = Random(seed);
        let records: Vec<Record> = (0..40)
            .map(|n| {
                let symbol = format!("_RNvNtC3app4part{}f{n}", 1 + n / 10);
                let name = match n % 3 {
                    0 => format!("app.0123456789abcdef-cgu.{};{symbol}", n % units),
                    _ => symbol,
                };
                Record {
                    name,
                    hash: 100_000_000_000_000_000
                        + u64::try_from(random.below(1 << 30)).unwrap() * 1_000_000_007,
                    counters: vec![1 + n],
                    ..Record::default()
                }
            })
            .collect();
        let mut threads: Vec<Vec<String>> = vec![Vec::new(); 2 + random.below(3)];
        for record in &records {
            let thread = random.below(threads.len());
            threads[thread].extend(pieces(&record.name, record.hash, &mut random));
        }
        let mut threads: Vec<_> = threads.into_iter().map(Vec::into_iter).collect();
        let mut text = String::new();
        while !threads.is_empty() {
            let at = random.below(threads.len());
            // Mostly one thread runs for a while.
            let run = [1, 1, 2, 5, 40][random.below(5)];
            for _ in 0..run {
                match threads[at].next() {
                    Some(piece) => text += &piece,
                    None => {
                        threads.swap_remove(at);
                        break;
                    }
                }
            }
        }
        let mut filter = Filter::default();
        for line in text.as_bytes().split_inclusive(|&byte| byte == b'\n') {
            assert_eq!(filter.line(line), None, "seed {seed}: {text}");
        }
        let result = consumed(
            &records,
            &filter.finish(),
            |_| Language::Rust,
            |_| String::new(),
            9,
        );
        assert_eq!(result.lost, [], "seed {seed}: {text}");
    }
}
