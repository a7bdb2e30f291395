//! The name that a compiler looks a function up by.
//!
//! A compiler that splits, clones or renames a function appends to its symbol; the profile is of
//! the function. Each compiler cuts names off itself before it looks them up, and the profile must
//! be cut the same way:
//!
//! | reader | cuts | kept |
//! | --- | --- | --- |
//! | LLVM | `.llvm.HASH`, `.part.N` and what it puts after a split or specialised function | `.__uniq.HASH` |
//! | GCC | everything from the first `.` on | |
//!
//! LLVM: `FunctionSamples::getCanonicalFnName` in `llvm/include/llvm/ProfileData/SampleProf.h`.
//! GCC: `get_original_name` in `gcc/auto-profile.cc`; see [`gcov::gcc_name`].

use super::gcov;
use super::policy::Flavour;

/// Suffixes of clones and parts, with what may follow them.
const SUFFIXES: [(&str, Tail); 9] = [
    (".llvm.", Tail::Number),
    (".part.", Tail::Number),
    (".__part.", Tail::Number),
    (".isra.", Tail::Number),
    (".constprop.", Tail::Number),
    (".lto_priv.", Tail::Number),
    (".specialized.", Tail::Number),
    (".cold", Tail::None),
    (".cold.", Tail::Number),
];

#[derive(Debug, Clone, Copy)]
enum Tail {
    None,
    Number,
}

/// A symbol without what the compiler appended to it.
pub fn canonical(symbol: &str, flavour: Flavour) -> String {
    match flavour {
        Flavour::Llvm => without_suffixes(symbol).to_owned(),
        // A name of assembler that begins with a dot would be cut to nothing.
        Flavour::Gcc if symbol.starts_with('.') => symbol.to_owned(),
        Flavour::Gcc => gcov::gcc_name(symbol).into_owned(),
    }
}

fn without_suffixes(mut symbol: &str) -> &str {
    while let Some(shorter) = SUFFIXES.iter().find_map(|&(suffix, tail)| {
        let name = match tail {
            Tail::None => symbol.strip_suffix(suffix)?,
            Tail::Number => {
                let (name, number) = symbol.rsplit_once(suffix)?;
                let is_number = |byte: u8| byte.is_ascii_digit();
                (!number.is_empty() && number.bytes().all(is_number)).then_some(name)?
            }
        };
        (!name.is_empty()).then_some(name)
    }) {
        symbol = shorter;
    }
    symbol
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_and_parts() {
        for (symbol, llvm, gcc) in [
            ("plain", "plain", "plain"),
            ("f.llvm.1234567890", "f", "f"),
            ("f.part.0", "f", "f"),
            ("f.constprop.0.isra.0.cold", "f", "f"),
            ("f.cold.1", "f", "f"),
            ("f.lto_priv.3", "f", "f"),
            ("f.__uniq.123.llvm.456", "f.__uniq.123", "f"),
            ("f.specialized.2", "f", "f"),
            // Not suffixes of clones.
            ("f.llvm.", "f.llvm.", "f"),
            ("f.coldly", "f.coldly", "f"),
            (".cold", ".cold", ".cold"),
            ("_ZN1AC4Ev", "_ZN1AC4Ev", "_ZN1AC2Ev"),
            ("_ZN1AD4Ev", "_ZN1AD4Ev", "_ZN1AD2Ev"),
            ("", "", ""),
            ("é.part.1", "é", "é"),
        ] {
            assert_eq!(canonical(symbol, Flavour::Llvm), llvm, "{symbol}");
            assert_eq!(canonical(symbol, Flavour::Gcc), gcc, "{symbol}");
        }
    }

    #[test]
    fn rust_names() {
        let v0 = "_RNvNtCs1234_7mycrate3foo3bar";
        assert_eq!(canonical(&format!("{v0}.llvm.77"), Flavour::Llvm), v0);
        let legacy = "_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE";
        assert_eq!(canonical(legacy, Flavour::Llvm), legacy);
        assert_eq!(
            canonical(&format!("{legacy}.llvm.77"), Flavour::Llvm),
            legacy
        );
    }
}
