//! The command line.

use std::path::PathBuf;

const USAGE: &str = "usage: rocksdb-demo COMMAND DIRECTORY [OPTION VALUE]...

commands, on the database in DIRECTORY, which is made if it is missing:
  fill-seq     writes the keys in order
  fill-random  writes the keys in random order, some of them twice
  read         reads random keys
  seek         goes to random keys and reads a few in order from there
  mixed        reads, writes, deletes and seeks

options:
  --keys N        the database has keys from 0 to N-1 (100000)
  --operations N  how many operations (as many as keys)
  --value-size N  bytes of a value (100)
  --seed N        decides everything that is random (1)
  --threads N     share the operations (1)";

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    FillSequential,
    FillRandom,
    Read,
    Seek,
    Mixed,
}

/// What to do, on what, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub command: Command,
    pub directory: PathBuf,
    pub keys: u64,
    pub operations: u64,
    pub value_size: usize,
    pub seed: u64,
    pub threads: u64,
}

impl Settings {
    /// Reads the arguments after the program's name.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Settings, String> {
        let command = match arguments.next().as_deref() {
            Some("fill-seq") => Command::FillSequential,
            Some("fill-random") => Command::FillRandom,
            Some("read") => Command::Read,
            Some("seek") => Command::Seek,
            Some("mixed") => Command::Mixed,
            _ => return Err(USAGE.to_owned()),
        };
        let directory = arguments.next().ok_or(USAGE)?.into();

        let mut keys = 100_000;
        let mut operations = None;
        let mut value_size = 100;
        let mut seed = 1;
        let mut threads = 1;
        while let Some(option) = arguments.next() {
            let value = arguments
                .next()
                .and_then(|value| value.parse::<u64>().ok())
                .ok_or_else(|| format!("`{option}` needs a number"))?;
            match option.as_str() {
                "--keys" => keys = value,
                "--operations" => operations = Some(value),
                "--value-size" => value_size = value,
                "--seed" => seed = value,
                "--threads" => threads = value,
                _ => return Err(format!("unknown option `{option}`\n{USAGE}")),
            }
        }
        if keys == 0 || threads == 0 {
            return Err("`--keys` and `--threads` must not be 0".to_owned());
        }
        Ok(Settings {
            command,
            directory,
            keys,
            operations: operations.unwrap_or(keys),
            value_size: usize::try_from(value_size)
                .map_err(|_| format!("{value_size} bytes do not fit into memory"))?,
            seed,
            threads,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Settings, String> {
        Settings::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn operations_follow_keys() -> Result<(), String> {
        let settings = parse("mixed /db --keys 7 --threads 2")?;
        assert_eq!((settings.operations, settings.threads), (7, 2));
        assert_eq!(parse("read /db --keys 7 --operations 3")?.operations, 3);
        Ok(())
    }

    #[test]
    fn mistakes_are_errors() {
        for line in [
            "",
            "read",
            "erase /db",
            "read /db --keys",
            "read /db --keys 0",
            "read /db -k 1",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
