//! Runs the shop from the command line and prints a checksum.

use std::error::Error;
use std::process::ExitCode;

use rusqlite::Connection;
use sqlite_demo::{STEPS, Shop, mix};

const USAGE: &str = "usage: sqlite-demo mixed ORDERS SEED [ROUNDS]
       sqlite-demo fill|query ORDERS SEED DATABASE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(sum) => {
            println!("{sum:016x}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<u64, Box<dyn Error>> {
    let [command, orders, seed, rest @ ..] = arguments else {
        return Err(USAGE.into());
    };
    let number = |text: &str| {
        text.parse::<u64>()
            .map_err(|_| format!("`{text}` is not a number\n{USAGE}"))
    };
    let (orders, seed) = (number(orders)?, number(seed)?);
    let mut sum = 0;
    match (command.as_str(), rest) {
        ("mixed", rounds @ ([] | [_])) => {
            let rounds = rounds.first().map_or(Ok(1), |rounds| number(rounds))?;
            for round in 0..rounds {
                let shop = Shop::fill(Connection::open_in_memory()?, orders, seed + round)?;
                sum = mix(sum, query(shop)?);
            }
        }
        ("fill", [path]) => {
            Shop::fill(Connection::open(path)?, orders, seed)?;
            sum = orders;
        }
        ("query", [path]) => sum = query(Shop::open(Connection::open(path)?, orders, seed))?,
        _ => return Err(USAGE.into()),
    }
    Ok(sum)
}

fn query(mut shop: Shop) -> Result<u64, Box<dyn Error>> {
    let mut sum = 0;
    for step in &STEPS {
        sum = mix(sum, (step.run)(&mut shop)?);
    }
    Ok(sum)
}
