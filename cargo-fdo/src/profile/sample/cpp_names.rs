//! C++ names as gcc writes them into its dumps: not as symbols, whatever it is asked for, and with
//! template arguments that no demangler spells alike. What is left without these tells functions apart
//! well enough, but for overloads and instances of one template.

use crate::profile::names;

/// The part of a C++ name that gcc and a demangler agree on: no template arguments, no parameters, one
/// spelling of unnamed namespaces.
pub fn skeleton(name: &str) -> String {
    let name = name.replace("(anonymous namespace)", ANONYMOUS);
    let mut out = String::with_capacity(name.len());
    let mut depth = 0_usize;
    let mut rest = name.as_str();
    while let Some(c) = rest.chars().next() {
        if depth == 0
            && let Some(operator) = operator(rest)
        {
            out.push_str(operator);
            rest = &rest[operator.len()..];
            continue;
        }
        match c {
            // Tags of the ABI, such as `[abi:cxx11]`.
            '<' | '[' => depth += 1,
            '>' | ']' => depth = depth.saturating_sub(1),
            c if depth == 0 => out.push(c),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// The same of a symbol; `None` if it is no mangled C++ name.
pub fn of_symbol(symbol: &str) -> Option<String> {
    let demangled = names::without_parameters(symbol);
    (symbol.starts_with("_Z") && demangled != symbol).then(|| skeleton(&demangled))
}

const ANONYMOUS: &str = "{anonymous}";

/// `operator<<` and the like at the start of a text, whose brackets are no template's.
fn operator(text: &str) -> Option<&str> {
    const SIGNS: [&str; 9] = ["<<=", ">>=", "<=>", "<<", ">>", "<=", ">=", "->", "<"];
    let rest = text.strip_prefix("operator")?;
    let sign = SIGNS
        .iter()
        .chain(&[">", "[]", "()"])
        .find(|sign| rest.starts_with(**sign))?;
    text.get(.."operator".len() + sign.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gcc_and_a_demangler_agree_on_the_skeleton() {
        for (symbol, gcc) in [
            (
                "_ZNK8textpack12_GLOBAL__N_17LzCodec6decodeENS_6ReaderEmRSt6vectorIhSaIhEE",
                "textpack::{anonymous}::LzCodec::decode",
            ),
            (
                "_ZNSt6vectorIhSaIhEE12emplace_backIJhEEERhDpOT_",
                "std::vector<unsigned char>::emplace_back<unsigned char>",
            ),
            ("_ZN1AltERKS_", "A::operator<"),
            ("_ZN1AixEi", "A::operator[]"),
        ] {
            assert_eq!(of_symbol(symbol), Some(skeleton(gcc)), "{symbol}");
        }
        assert_eq!(of_symbol("main"), None);
        assert_eq!(of_symbol("_Z_"), None);
    }

    #[test]
    fn no_text_is_too_strange() {
        for text in [
            "",
            ">",
            "<<<",
            "operator",
            "operator<",
            "é<é>é",
            "[",
            "a]>b",
        ] {
            let _ = skeleton(text);
        }
    }
}
