//! Benchmarks in the manner of RocksDB's `db_bench`, on the `rocksdb` crate.

mod benchmark;
mod random;
mod settings;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use settings::Settings;

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let settings = Settings::parse(arguments)?;
    let database = benchmark::open(&settings)?;
    let start = Instant::now();
    let sum = benchmark::run(&settings, &database)?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} operations in {seconds:.3} s, {:.0} op/s",
        settings.operations,
        settings.operations as f64 / seconds
    );
    println!("checksum {sum:016x}");
    Ok(())
}
