//! Times each step on its own: `cargo bench`, or the workload `bench` of `cargo fdo`.
//!
//! A plain `main` and not a harness: the shortest of a few rounds is all that is needed here.

use std::time::{Duration, Instant};

use rusqlite::{Connection, Result};
use sqlite_demo::{STEPS, Shop, mix};

const ORDERS: u64 = 10_000;
const ROUNDS: u32 = 5;

fn main() -> Result<()> {
    let mut sum = 0;
    let mut shop = Shop::fill(Connection::open_in_memory()?, ORDERS, 7)?;
    for step in &STEPS {
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            sum = mix(sum, (step.run)(&mut shop)?);
            best = best.min(start.elapsed());
        }
        println!("{:<14} {:>9.3} ms", step.name, best.as_secs_f64() * 1e3);
    }
    println!("checksum {sum:016x}");
    Ok(())
}
