//! Numbers as programs print them.
//!
//! `1234.5`, `-3`, `1e6`, with separators between thousands, `1,234.5` and `1_234.5`. A comma
//! that does not stand before exactly three digits may be a decimal point of another country
//! or the end of a clause: no number rather than a wrong one.

/// The number that a text starts with, and what follows. `None` if it starts with none, or with one
/// that no `f64` holds.
pub(super) fn split(text: &str) -> Option<(f64, &str)> {
    // U+2212, the minus sign of typography, is what criterion prints.
    let (negative, unsigned) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let whole = run(unsigned, |b| b.is_ascii_digit() || b == b',' || b == b'_');
    let mut digits = without_separators(whole)?;
    let mut rest = &unsigned[whole.len()..];
    if let Some(after) = rest.strip_prefix('.') {
        let fraction = run(after, |b| b.is_ascii_digit());
        if !fraction.is_empty() {
            digits.push('.');
            digits.push_str(fraction);
            rest = &after[fraction.len()..];
        }
    }
    if digits.is_empty() {
        return None;
    }
    if let Some(after) = rest.strip_prefix(['e', 'E']) {
        let unsigned = after.strip_prefix(['-', '+']).unwrap_or(after);
        let exponent = run(unsigned, |b| b.is_ascii_digit());
        if !exponent.is_empty() {
            digits.push('e');
            digits.push_str(&after[..after.len() - unsigned.len()]);
            digits.push_str(exponent);
            rest = &unsigned[exponent.len()..];
        }
    }
    let number: f64 = digits.parse().ok()?;
    let number = if negative { -number } else { number };
    number.is_finite().then_some((number, rest))
}

/// A text that is a number and nothing else.
pub(super) fn whole(text: &str) -> Option<f64> {
    split(text.trim())
        .filter(|(_, rest)| rest.is_empty())
        .map(|(number, _)| number)
}

/// The digits without separators of thousands; `None` if they are not where such stand.
fn without_separators(digits: &str) -> Option<String> {
    let mut groups = digits.split(',');
    let first = groups.next().unwrap_or_default();
    let thousands = |group: &str| group.len() == 3 && !group.contains('_');
    if digits.contains(',') && (first.is_empty() || first.len() > 3 || !groups.all(thousands)) {
        return None;
    }
    if first.starts_with('_') || first.ends_with('_') {
        return None;
    }
    Some(digits.replace([',', '_'], ""))
}

/// The start of a text, as far as its bytes are of a kind.
fn run(text: &str, kind: impl Fn(u8) -> bool) -> &str {
    let end = text.bytes().position(|b| !kind(b)).unwrap_or(text.len());
    // Only ASCII is ever of the kind, so this is a boundary.
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_all_their_forms() {
        for (text, number) in [
            ("0", 0.0),
            ("1234.5", 1234.5),
            ("1,234.5", 1234.5),
            ("12,345,678", 12_345_678.0),
            ("1_000", 1000.0),
            ("-3.25", -3.25),
            ("−3.25", -3.25),
            ("+7", 7.0),
            ("1e6", 1e6),
            ("1.5E-3", 1.5e-3),
            (".5", 0.5),
            ("007", 7.0),
        ] {
            assert_eq!(whole(text), Some(number), "{text}");
        }
    }

    #[test]
    fn what_follows_is_left() {
        assert_eq!(split("1.23ms"), Some((1.23, "ms")));
        assert_eq!(split("4.5k ops"), Some((4.5, "k ops")));
        assert_eq!(split("3elements"), Some((3.0, "elements")));
        assert_eq!(split("1.2.3"), Some((1.2, ".3")));
        assert_eq!(split("7."), Some((7.0, ".")));
        assert_eq!(split("12%"), Some((12.0, "%")));
    }

    #[test]
    fn what_may_mean_something_else_is_none() {
        for text in [
            "", "-", ".", "e5", "abc", "1,5", "1,23,456", "1234,567", ",123", "1,", "_1", "1_",
            "nan", "inf", "1e999", "µ",
        ] {
            assert_eq!(whole(text), None, "{text}");
        }
    }
}
