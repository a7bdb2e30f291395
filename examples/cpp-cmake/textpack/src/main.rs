//! Packs, unpacks and searches texts, and checks itself on made-up ones.

mod corpus;
mod library;

use std::error::Error;
use std::fs;
use std::process::ExitCode;

use corpus::Random;
use library::Index;

const USAGE: &str = "usage: textpack pack CODEC INPUT OUTPUT
       textpack unpack INPUT OUTPUT
       textpack exercise DOCUMENTS SEED";

/// Documents are packed together by this number.
const BLOCK: usize = 32;

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
        ["pack", codec, input, output] => write(output, &library::pack(codec, &read(input)?)?),
        ["unpack", input, output] => write(output, &library::unpack(&read(input)?)?),
        ["exercise", documents, seed] => {
            let sum = exercise(documents.parse()?, Random::new(seed.parse()?))?;
            println!("{sum:016x}");
            Ok(())
        }
        _ => Err(USAGE.into()),
    }
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read `{path}`: {error}"))
}

fn write(path: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    fs::write(path, bytes).map_err(|error| format!("cannot write `{path}`: {error}").into())
}

/// Packs, damages, unpacks, indexes and searches; returns a checksum of all results.
fn exercise(documents: usize, mut random: Random) -> Result<u64, Box<dyn Error>> {
    let texts: Vec<_> = (0..documents)
        .map(|_| {
            let words = 50 + random.below(200);
            random.text(words)
        })
        .collect();
    let mut sum = 0;
    for block in texts.chunks(BLOCK) {
        sum = mix(sum, pack_and_unpack(&block.concat(), &mut random)?);
    }
    for tokens in ["words", "trigrams"] {
        sum = mix(sum, index_and_search(tokens, &texts, &mut random)?);
    }
    Ok(sum)
}

fn pack_and_unpack(text: &str, random: &mut Random) -> Result<u64, Box<dyn Error>> {
    let mut sum = 0;
    for codec in ["lz", "huffman", "lz-huffman"] {
        let packed = library::pack(codec, text.as_bytes())?;
        if library::unpack(&packed)? != text.as_bytes() {
            return Err(format!("`{codec}` does not give back what it got").into());
        }
        let mut damaged = packed.clone();
        damaged.truncate(1 + random.below(packed.len() as u64 - 1) as usize);
        let place = random.below(damaged.len() as u64) as usize;
        damaged[place] ^= 0x55;
        if library::unpack(&damaged).is_ok() {
            return Err(format!("`{codec}` takes damaged data").into());
        }
        sum = packed
            .iter()
            .fold(sum, |sum, byte| mix(sum, u64::from(*byte)));
    }
    Ok(sum)
}

fn index_and_search(
    tokens: &str,
    texts: &[String],
    random: &mut Random,
) -> Result<u64, Box<dyn Error>> {
    let mut index = Index::new(tokens)?;
    for text in texts {
        index.add(text)?;
    }
    let mut sum = 0;
    for _ in 0..texts.len() / 8 {
        let query = format!("{} {}", random.word(), random.word());
        for hit in index.search(&query, 10)? {
            sum = mix(sum, u64::from(hit.document) << 32 | u64::from(hit.score));
        }
    }
    Ok(sum)
}

/// Folds `value` into a checksum that depends on the order of its values.
fn mix(sum: u64, value: u64) -> u64 {
    (sum.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
