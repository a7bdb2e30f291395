//! Load generator of the graph service: fills it, asks it in one of five scenarios, checks the answers, and prints
//! throughput and latency. The same arguments make the same requests.

mod arguments;
mod check;
mod client;
mod dataset;
mod fill;
mod random;
mod run;
mod scenario;

use arguments::Arguments;
use std::process::ExitCode;

/// What went wrong, for people.
pub type Failure = String;

const USAGE: &str = "\
Usage: graph-load status --address HOST:PORT
       graph-load fill   --address HOST:PORT [--vertices N] [--degree D] [--seed S]
       graph-load check  --address HOST:PORT [--seed S]
       graph-load run    --address HOST:PORT --scenario NAME [--clients C] [--requests N] [--seed S]

Scenarios: insert, fetch, go1step, go3step, path";

fn main() -> ExitCode {
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("graph-load: error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn start() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_else(|| "--help".to_owned());
    if command == "--help" || command == "-h" {
        println!("{USAGE}");
        return Ok(());
    }
    let mut arguments = Arguments::parse(words)?;
    let address = arguments.text("address")?;
    match command.as_str() {
        "status" => {
            arguments.finish()?;
            let hosts = client::Client::connect(&address)?.ask("SHOW HOSTS")?;
            println!("ready: {} storage daemons", hosts.rows.len());
            Ok(())
        }
        "fill" => {
            let shape = dataset::Shape {
                vertices: arguments.number("vertices", 20_000)?.max(2),
                degree: arguments.number("degree", 8)?.max(1),
                seed: arguments.number("seed", 1)?,
            };
            arguments.finish()?;
            fill::fill(&address, shape)
        }
        "check" => {
            let seed = arguments.number("seed", 1)?;
            arguments.finish()?;
            check::check(&address, seed)
        }
        "run" => {
            let run = run::Run {
                scenario: arguments.text("scenario")?.parse()?,
                clients: arguments.number("clients", 2)?.max(1),
                requests: arguments.number("requests", 1000)?.max(1),
                seed: arguments.number("seed", 1)?,
                address,
            };
            arguments.finish()?;
            run.run()
        }
        other => Err(format!("unknown command `{other}`\n\n{USAGE}")),
    }
}
