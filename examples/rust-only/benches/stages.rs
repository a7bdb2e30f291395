//! Times each stage on its own: `cargo bench`, or the workload `bench` of `cargo fdo`.
//!
//! A plain `main` and not a harness: the shortest of a few rounds is all that is needed here.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sitegen::{Index, generate, parse, render};

const PAGES: usize = 1000;
const ROUNDS: u32 = 8;

fn main() -> serde_json::Result<()> {
    let pages = generate(PAGES, 7);
    let json = serde_json::to_string(&pages)?;
    let index = Index::new(&pages);

    measure("parse", || parse(&json).map(|pages| pages.len()))?;
    measure("render", || {
        let mut html = String::new();
        pages.iter().for_each(|page| render(page, &mut html));
        Ok(html.len())
    })?;
    measure("index", || {
        black_box(Index::new(&pages));
        Ok(pages.len())
    })?;
    measure("serialise", || {
        serde_json::to_string(&index).map(|json| json.len())
    })
}

fn measure(
    name: &str,
    mut stage: impl FnMut() -> serde_json::Result<usize>,
) -> serde_json::Result<()> {
    let mut best = Duration::MAX;
    let mut size = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        size = black_box(stage()?);
        best = best.min(start.elapsed());
    }
    println!("{name:<10} {:>9.3} ms {size:>10}", best.as_secs_f64() * 1e3);
    Ok(())
}
