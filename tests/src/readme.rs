//! The `cargo fdo` commands that a text shows.

/// One `cargo fdo` command in a code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The line it is on, from 1.
    pub line: usize,
    /// The subcommand, with its own: `train`, `profile merge`.
    pub subcommand: String,
    /// Its long options, without values; none that stand behind `--`.
    pub options: Vec<String>,
}

/// All `cargo fdo` commands in the code blocks of a Markdown text.
pub fn usages(markdown: &str) -> Vec<Usage> {
    let mut found = Vec::new();
    let mut in_block = false;
    let mut unfinished = String::new();
    for (index, line) in markdown.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            unfinished.clear();
            continue;
        }
        if !in_block {
            continue;
        }
        if let Some(start) = line.strip_suffix('\\') {
            unfinished.push_str(start);
            continue;
        }
        let command = std::mem::take(&mut unfinished) + line;
        found.extend(usage(&command, index + 1));
    }
    found
}

fn usage(command: &str, line: usize) -> Option<Usage> {
    // A comment after the command is no part of it.
    let command = command.split(" #").next()?;
    let (_, arguments) = command.split_once("cargo fdo ")?;
    let mut words = arguments
        .split_whitespace()
        .take_while(|word| !["--", "|", "&&", ">", ";"].contains(word));
    let subcommand = words.next()?;
    // `cargo fdo --help`, and prose in a block such as a program's output.
    if subcommand.starts_with('-') || !subcommand.chars().all(|c| c.is_ascii_lowercase()) {
        return None;
    }
    let subcommand = match words.clone().next() {
        Some(own) if subcommand == "profile" => format!("{subcommand} {own}"),
        _ => subcommand.to_owned(),
    };
    let options = words
        .filter(|word| word.starts_with("--"))
        .filter_map(|word| word.split('=').next())
        .map(str::to_owned)
        .collect();
    Some(Usage {
        line,
        subcommand,
        options,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_blocks_only() {
        let text = "Run `cargo fdo train --not-this`.\n\
                    ```sh\n\
                    $ cargo fdo train --workload bench   # --nor-this\n\
                    cargo fdo build --release \\\n  --min-match=0.9 -- --bin app\n\
                    cargo fdo profile show --top 5 FILE\n\
                    ```\n\
                    cargo fdo build --nor-that\n";
        let usage = |line, subcommand: &str, options: &[&str]| Usage {
            line,
            subcommand: subcommand.to_owned(),
            options: options.iter().map(|&option| option.to_owned()).collect(),
        };
        assert_eq!(
            usages(text),
            [
                usage(3, "train", &["--workload"]),
                usage(5, "build", &["--release", "--min-match"]),
                usage(6, "profile show", &["--top"]),
            ]
        );
    }
}
