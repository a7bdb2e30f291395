//! Names of functions as they stand in a graph: demangled, short, and without what has a meaning
//! in folded stacks.

use crate::profile::names;
use std::borrow::Cow;

/// Longest name, in characters. Instantiations of templates and iterator chains have thousands.
const MAX_NAME: usize = 200;

/// The name of a function, by its symbol: Rust's without hash, C++'s without parameters.
pub(super) fn function(symbol: &[u8]) -> String {
    let symbol = String::from_utf8_lossy(symbol);
    // `memcpy@@GLIBC_2.14`, and what compilers append to parts of functions: `f.cold`, `f.llvm.12`.
    let symbol = symbol.split('@').next().unwrap_or_default();
    let (base, part) = match symbol.find(".cold") {
        Some(at) => (&symbol[..at], " [cold]"),
        None => (symbol, ""),
    };
    let mut name = names::without_parameters(base);
    // What cpp_demangle makes of an empty list of arguments.
    while name.contains(", >") {
        name = name.replace(", >", ">");
    }
    plain(&format!("{}{part}", short(&name)))
}

/// A text without semicolons and line breaks, which divide folded stacks.
pub(super) fn plain(text: &str) -> String {
    text.trim()
        .chars()
        .map(|char| match char {
            ';' => ':',
            char if char.is_control() => ' ',
            char => char,
        })
        .collect()
}

/// A name of bearable length: arguments of templates go first, the inner ones before the outer.
fn short(name: &str) -> Cow<'_, str> {
    if name.chars().count() <= MAX_NAME {
        return Cow::Borrowed(name);
    }
    for depth in [3, 2, 1] {
        let shorter = without_arguments(name, depth);
        if shorter.chars().count() <= MAX_NAME {
            return Cow::Owned(shorter);
        }
    }
    let start: String = name.chars().take(MAX_NAME - 1).collect();
    Cow::Owned(format!("{start}…"))
}

/// The name with `<…>` in place of what is in so many angle brackets. Those of `operator<`, `->` and
/// `>=` don't count.
fn without_arguments(name: &str, depth: usize) -> String {
    let mut out = String::new();
    let mut open = 0_usize;
    let mut last = ' ';
    for char in name.chars() {
        let is_operator = out.ends_with("operator") || out.ends_with("operator<");
        match char {
            '<' if !is_operator => {
                open += 1;
                if open == depth {
                    out.push_str("<…");
                }
            }
            '>' if last != '-' && !is_operator && open > 0 => {
                if open == depth {
                    out.push('>');
                }
                open -= 1;
                last = char;
                if open + 1 == depth {
                    continue;
                }
            }
            _ => {}
        }
        if open < depth {
            out.push(char);
        }
        last = char;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_for_people() {
        for (symbol, name) in [
            ("main", "main"),
            ("_RNvCs1_3app4main", "app::main"),
            (
                "_ZN3std2io5Write9write_fmt17h0123456789abcdefE",
                "std::io::Write::write_fmt",
            ),
            ("_ZN7rocksdb2DB4OpenEi", "rocksdb::DB::Open"),
            ("_ZN7rocksdb2DB4OpenEi.cold", "rocksdb::DB::Open [cold]"),
            ("_ZN1aIiJEJEE1fEv", "a<int>::f"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("a;b\nc", "a:b c"),
        ] {
            assert_eq!(function(symbol.as_bytes()), name);
        }
    }

    #[test]
    fn arguments_of_templates_go_from_the_inside() {
        let name = "std::map<std::string, std::vector<a<b>>>::operator<(int)";
        assert_eq!(
            without_arguments(name, 2),
            "std::map<std::string, std::vector<…>>::operator<(int)"
        );
        assert_eq!(without_arguments(name, 1), "std::map<…>::operator<(int)");
        assert_eq!(without_arguments("<A as B<C>>::f", 1), "<…>::f");
        assert_eq!(without_arguments("Fn(A) -> B", 1), "Fn(A) -> B");
        let long = format!("f<{}>", "x".repeat(500));
        assert_eq!(short(&long), "f<…>");
        assert_eq!(short(&"é".repeat(500)).chars().count(), MAX_NAME);
    }
}
