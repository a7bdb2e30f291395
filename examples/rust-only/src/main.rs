//! Makes up a site, or renders one and prints a summary of the result.

use std::error::Error;
use std::fs;
use std::process::ExitCode;

const USAGE: &str = "usage: sitegen generate PAGES SEED FILE
       sitegen render FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    match arguments {
        ["generate", pages, seed, file] => {
            let pages = sitegen::generate(pages.parse()?, seed.parse()?);
            fs::write(file, serde_json::to_string(&pages)?)
                .map_err(|error| format!("cannot write `{file}`: {error}"))?;
        }
        ["render", file] => {
            let json = fs::read_to_string(file)
                .map_err(|error| format!("cannot read `{file}`: {error}"))?;
            println!("{}", sitegen::build(&json)?);
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}
