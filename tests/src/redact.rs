//! Makes two runs' outputs equal: no paths, hashes, times or versions of the day.

use crate::Sandbox;

/// The text with what differs between machines and runs replaced by words.
///
/// Directories become `[PROJECT]` and `[ROOT]`, hexadecimal numbers of twelve digits or more
/// `[HASH]`, durations `[TIME]`.
pub fn redact(t: &Sandbox, text: &str) -> String {
    let project = t.path("").display().to_string();
    let root = t.root().display().to_string();
    let text = text
        .replace(project.trim_end_matches('/'), "[PROJECT]")
        .replace(&root, "[ROOT]")
        .replace(env!("CARGO_PKG_VERSION"), "[VERSION]");
    words(&text)
}

/// Hashes and durations, word by word.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    // The extra character ends the last word.
    for char in text.chars().chain(['\n']) {
        let point_in_number = char == '.' && word.chars().all(|c| c.is_ascii_digit());
        if char.is_alphanumeric() || (point_in_number && !word.is_empty()) {
            word.push(char);
            continue;
        }
        // A full stop after a number is no part of it.
        let number = word.trim_end_matches('.');
        let stop = &word[number.len()..];
        out.push_str(redacted(number).unwrap_or(number));
        out.push_str(stop);
        out.push(char);
        word.clear();
    }
    out.pop();
    out
}

fn redacted(word: &str) -> Option<&'static str> {
    let hexadecimal = word.len() >= 12 && word.chars().all(|c| c.is_ascii_hexdigit());
    // A long word of letters or a long count is not a hash.
    let mixed = word.contains(|c: char| c.is_ascii_digit())
        && word.contains(|c: char| c.is_ascii_lowercase());
    if hexadecimal && mixed {
        return Some("[HASH]");
    }
    let number = ["ms", "µs", "ns", "min", "s"]
        .iter()
        .find_map(|unit| word.strip_suffix(unit))?;
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    is_number.then_some("[TIME]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_and_times_are_replaced() {
        assert_eq!(
            words("merged in 1.25s: a1b2c3d4e5f60718"),
            "merged in [TIME]: [HASH]"
        );
        assert_eq!(words("took 3ms."), "took [TIME].");
        assert_eq!(
            words("slices/app-a1b2c3d4e5f6.profdata"),
            "slices/app-[HASH].profdata"
        );
    }

    #[test]
    fn counts_words_and_versions_stay() {
        for text in [
            "331 objects",
            "123456789012345",
            "feedfacedeed",
            "1.2.3",
            "2s3",
            "s",
            "",
        ] {
            assert_eq!(words(text), text);
        }
    }
}
