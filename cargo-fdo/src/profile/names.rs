//! What a profile's function names say: language, crate, unit.
//!
//! LLVM names a function by its symbol, and a local one by `prefix;symbol`
//! (`getIRPGOFuncName` in `llvm/lib/ProfileData/InstrProf.cpp`), where the prefix is the module:
//! a source file for clang, `crate.<hash>-cgu.<number>` for rustc.

use super::v0;
use std::borrow::Cow;

/// Splits `prefix;symbol`; a global function has no prefix.
///
/// Clang before 17 wrote `prefix:symbol`, which is understood too; an Objective-C method
/// (`-[View draw:]`) has colons of its own.
pub fn split(name: &str) -> (Option<&str>, &str) {
    if let Some((prefix, symbol)) = name.split_once(';') {
        return (Some(prefix), symbol);
    }
    match name.rsplit_once(':') {
        Some((prefix, symbol)) if !name.starts_with("-[") && !name.starts_with("+[") => {
            (Some(prefix), symbol)
        }
        _ => (None, name),
    }
}

/// The symbol without its prefix.
pub fn symbol(name: &str) -> &str {
    split(name).1
}

/// Whether rustc made this function: by its mangling, or by the unit in its prefix.
///
/// A global with a plain name (`main`, anything `#[no_mangle]`) does not show where it comes from.
pub fn is_rust(name: &str) -> bool {
    let (prefix, symbol) = split(name);
    prefix.is_some_and(|prefix| Unit::parse(prefix).is_some())
        || v0_body(symbol).is_some()
        || legacy_path(symbol).is_some()
}

/// The crate whose rustc reads the counts of a Rust function.
///
/// For a local function that is the crate of its unit: the copy of `core`'s code that `memchr`
/// inlined from is `memchr`'s. For a v0 symbol it is the instantiating crate (`…EBa_` at the end),
/// else the one it was written in; for a legacy symbol the first segment of its path, which is
/// where it was written. `None` if the function is not Rust or does not say.
pub fn rust_crate(name: &str) -> Option<&str> {
    let (prefix, symbol) = split(name);
    if let Some(unit) = prefix.and_then(Unit::parse) {
        return Some(unit.crate_name());
    }
    if let Some(body) = v0_body(symbol) {
        let crates = v0::crates(body);
        return crates.instantiating.or(crates.first);
    }
    legacy_crate(legacy_path(symbol)?)
}

/// The name for a reader's eyes: Rust demangled without hashes, all else as it is.
pub fn display(name: &str) -> String {
    let symbol = symbol(name);
    if v0_body(symbol).is_some() || legacy_path(symbol).is_some() {
        format!("{:#}", rustc_demangle::demangle(symbol))
    } else {
        name.to_owned()
    }
}

/// The name for a reader's eyes, C++ demangled too.
pub fn demangled(name: &str) -> String {
    demangled_with(name, cpp_demangle::DemangleOptions::default())
}

/// The same without the parameters of C++, which are long and tell apart little.
pub fn without_parameters(name: &str) -> String {
    let options = cpp_demangle::DemangleOptions::default();
    demangled_with(name, options.no_params().no_return_type())
}

fn demangled_with(name: &str, options: cpp_demangle::DemangleOptions) -> String {
    let symbol = symbol(name);
    if !symbol.starts_with("_Z") || legacy_path(symbol).is_some() {
        return display(name);
    }
    let mut text = Bounded(String::new());
    match cpp_demangle::Symbol::new(symbol) {
        Ok(parsed) if parsed.structured_demangle(&mut text, &options).is_ok() => text.0,
        _ => name.to_owned(),
    }
}

/// A few bytes of a mangled name can stand for gigabytes, as parts may be repeated.
struct Bounded(String);

impl cpp_demangle::DemangleWrite for Bounded {
    fn write_string(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > 16 * 1024 {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The name without the number of rustc's codegen unit, `crate.hash;symbol`: what stays when code
/// moves from one unit to another, and so the key that a function's listings share.
pub fn without_cgu(name: &str) -> Cow<'_, str> {
    let (prefix, symbol) = split(name);
    match prefix.and_then(Unit::parse) {
        Some(unit) => Cow::Owned(format!("{};{symbol}", unit.base)),
        None => Cow::Borrowed(name),
    }
}

/// The module name that rustc gives a codegen unit: `memchr.14c5245aa8cf146b-cgu.07`.
///
/// The number is padded with zeros to one width within a crate, so a crate of 16 units has `07`
/// and one of 4 has `3` (`rustc_monomorphize::partitioning`). Units of an incremental build have
/// no numbers, only hashes, and are not recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit<'a> {
    /// `memchr.14c5245aa8cf146b`.
    pub base: &'a str,
    /// 7.
    pub number: u32,
}

impl<'a> Unit<'a> {
    /// Reads a prefix; `None` if it is something else, such as a source file.
    pub fn parse(prefix: &'a str) -> Option<Unit<'a>> {
        let (base, number) = prefix.rsplit_once("-cgu.")?;
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let (name, hash) = base.rsplit_once('.')?;
        let hex = hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if name.is_empty() || hash.len() < 8 || hash.len() > 16 || !hex {
            return None;
        }
        Some(Unit {
            base,
            number: number.parse().ok()?,
        })
    }

    /// The crate's name.
    pub fn crate_name(self) -> &'a str {
        self.base.split('.').next().unwrap_or(self.base)
    }
}

/// What follows `_R`, if it can be a v0 symbol.
fn v0_body(symbol: &str) -> Option<&str> {
    let body = symbol.strip_prefix("_R")?;
    // Every path begins with an upper-case tag, or a digit names a future encoding.
    body.starts_with(|first: char| first.is_ascii_uppercase() || first.is_ascii_digit())
        .then_some(body)
}

/// The path of a legacy symbol, between `_ZN` and its hash `17h<16 hex>E`.
fn legacy_path(symbol: &str) -> Option<&str> {
    let body = symbol.strip_prefix("_ZN")?;
    // Suffixes such as `.llvm.123` may follow.
    let end = body.find("E.").unwrap_or(body.len().checked_sub(1)?);
    let (path, rest) = body.split_at_checked(end)?;
    if !rest.starts_with('E') {
        return None;
    }
    let at = path.len().checked_sub(19)?;
    let (path, hash) = path.split_at_checked(at)?;
    let hex = hash.strip_prefix("17h")?;
    hex.bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then_some(path)
}

/// First segment of `3std2io5Write`; of `38_$LT$foo..Bar$u20$as$u20$…` what is between `$LT$` and
/// `..`, or else the crate of the trait.
fn legacy_crate(path: &str) -> Option<&str> {
    let digits = path.bytes().take_while(u8::is_ascii_digit).count();
    let (len, rest) = path.split_at_checked(digits)?;
    let segment = rest.get(..len.parse().ok()?)?;
    let Some(mut ty) = segment.strip_prefix("_$LT$") else {
        return Some(segment);
    };
    while let Some(rest) = ty.strip_prefix('$') {
        // `$RF$` and the like: references, slices, pointers.
        ty = rest.split_once('$')?.1;
    }
    path_root(ty).or_else(|| path_root(segment.split_once("$u20$as$u20$")?.1))
}

/// `foo` of `foo..Bar`.
fn path_root(path: &str) -> Option<&str> {
    let end = path.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let (root, rest) = path.split_at_checked(end)?;
    (!root.is_empty() && rest.starts_with("..")).then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_is_told_from_c_by_mangling_or_unit() {
        for rust in [
            "_RNvCs1_3app4main",
            "_ZN3std2io5Write9write_fmt17h0123456789abcdefE",
            "_ZN3std2io5Write9write_fmt17h0123456789abcdefE.llvm.123",
            "app.0123456789abcdef-cgu.07;anything",
            "app.0123456789abcdef-cgu.0;_RNvCs1_3app4main",
        ] {
            assert!(is_rust(rust), "{rust}");
        }
        for c in [
            "main",
            "",
            ";",
            "_R",
            "_Ready",
            "_ZN",
            "_ZN7rocksdb2DB4OpenEv",
            "lz4.c;LZ4_count",
            "/src/a-cgu.c;f",
            "app.xyz-cgu.0;f",
            "app.0123456789abcdef-cgu.;f",
            "app.0123456789abcdef-cgu.1x;f",
        ] {
            assert!(!is_rust(c), "{c}");
        }
    }

    #[test]
    fn a_generic_belongs_to_the_crate_that_instantiated_it() {
        // By backref: `Bm_` is position 23 after `_R`, `Cs…_8rusqlite`.
        assert_eq!(
            rust_crate("_RINvCs6CEwWP2sIt0_8smallvec10infallibleuECsbyu4U7PQKpD_8rusqlite"),
            Some("rusqlite")
        );
        assert_eq!(
            rust_crate(
                "_RINvMNtCs2kVO4RCXuZi_10serde_json3mapINtB3_3MapNtNtCslNYArtu3iFV_5alloc6string6\
                 StringNtNtB5_5value5ValueE5entryBJ_EB5_"
            ),
            Some("serde_json")
        );
        assert_eq!(
            rust_crate(
                "_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtNtNtNtCsfZe9Z6Die49_12aho_\
                 corasick6packed5teddy7builder6x86_648SlimAVX2Kj2_EEBR_"
            ),
            Some("aho_corasick")
        );
    }

    #[test]
    fn a_plain_function_belongs_to_the_crate_it_is_written_in() {
        assert_eq!(rust_crate("_RNvCs1_3app4main"), Some("app"));
        // Names that look like what may follow a path.
        assert_eq!(rust_crate("_RNvC1a4xC1b"), Some("a"));
        assert_eq!(rust_crate("_RNvC1a4xB2_"), Some("a"));
        assert_eq!(rust_crate("_RNvC1a3foo.llvm.42"), Some("a"));
        assert_eq!(rust_crate("_RINvC1a3foolEC1b.llvm.42"), Some("b"));
    }

    #[test]
    fn the_unit_decides_for_local_copies_of_another_crates_code() {
        assert_eq!(
            rust_crate("memchr.0123456789abcdef-cgu.01;_RNvXsf_NtCsgE_4core3fmtbNtB5_5Debug3fmt"),
            Some("memchr")
        );
    }

    #[test]
    fn legacy_symbols_give_their_first_segment_or_the_crate_of_the_type() {
        let of = |segment: &str| {
            let symbol = format!("_ZN{}{segment}3fmt17h0123456789abcdefE", segment.len());
            rust_crate(&symbol).map(str::to_owned)
        };
        assert_eq!(of("std").as_deref(), Some("std"));
        for (ty, krate) in [
            ("foo..Bar", "foo"),
            ("$RF$foo..Bar", "foo"),
            ("u32", "core"),
        ] {
            let segment = format!("_$LT$$RF${ty}$u20$as$u20$core..fmt..Debug$GT$");
            assert_eq!(of(&segment).as_deref(), Some(krate), "{ty}");
        }
        for broken in [
            "_ZN17h0123456789abcdefE",
            "_ZN999999999999999999999a17h0123456789abcdefE",
        ] {
            assert_eq!(rust_crate(broken), None);
        }
    }

    #[test]
    fn display_is_readable_and_leaves_what_it_does_not_know() {
        assert_eq!(display("_RNvCs1_3app4main"), "app::main");
        assert_eq!(
            display("x.0123456789abcdef-cgu.0;_RNvCs1_3app4main"),
            "app::main"
        );
        assert_eq!(
            display("_ZN3std2io5Write9write_fmt17h0123456789abcdefE"),
            "std::io::Write::write_fmt"
        );
        assert_eq!(display("_ZN7rocksdb2DB4OpenEv"), "_ZN7rocksdb2DB4OpenEv");
        assert_eq!(display("lz4.c;LZ4_count"), "lz4.c;LZ4_count");
    }

    #[test]
    fn cpp_is_demangled_where_that_is_asked_for() {
        assert_eq!(demangled("_ZN7rocksdb2DB4OpenEv"), "rocksdb::DB::Open()");
        assert_eq!(demangled("db.cc;_ZL4pathPKc"), "path(char const*)");
        assert_eq!(
            demangled("_ZN3std2io5Write9write_fmt17h0123456789abcdefE"),
            "std::io::Write::write_fmt"
        );
        assert_eq!(demangled("_RNvCs1_3app4main"), "app::main");
        assert_eq!(demangled("main"), "main");
        assert_eq!(demangled("_Z_"), "_Z_");
        // `std::pair` of the last type twice, again and again.
        let pairs = |levels: u32| {
            let mut name = String::from("_Z1fSt4pairIiiE");
            for level in 0..levels {
                let last = char::from_digit(level, 36).unwrap().to_ascii_uppercase();
                name += &format!("S_IS{last}_S{last}_E");
            }
            name
        };
        assert_eq!(
            demangled(&pairs(1)),
            "f(std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> >)"
        );
        assert_eq!(demangled(&pairs(35)), pairs(35));
    }

    #[test]
    fn prefixes_of_old_and_new_clangs_are_split_off() {
        assert_eq!(split("lz4.c;f"), (Some("lz4.c"), "f"));
        assert_eq!(split("C:\\x\\lz4.c:f"), (Some("C:\\x\\lz4.c"), "f"));
        assert_eq!(split("-[View draw:]"), (None, "-[View draw:]"));
        assert_eq!(symbol("View.m;-[View draw:]"), "-[View draw:]");
    }

    #[test]
    fn without_cgu_only_touches_units() {
        assert_eq!(
            without_cgu("a.0123456789abcdef-cgu.12;f"),
            "a.0123456789abcdef;f"
        );
        assert_eq!(without_cgu("lz4.c;f"), "lz4.c;f");
        assert_eq!(without_cgu("f"), "f");
    }

    #[test]
    fn no_symbol_makes_it_panic() {
        let symbols = [
            "_RINvMNtCs2kVO4RCXuZi_10serde_json3mapINtB3_3MapNtNtCslNYArtu3iFV_5alloc6string6StringNtNtB5_5value5ValueE5entryBJ_EB5_",
            "_RNvXs6_NtNtCs1p9Iv63Onja_14regex_automata4meta8strategyNtB5_13ReverseSuffixNtB5_8Strategy11search_half",
            "_ZN39_$LT$u32$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
            "_RNvC1aF\u{e4}\u{f6}",
            "app.0123456789abcdef-cgu.07;_RNvCs1_3app4main",
        ];
        let mut seed = 7u64;
        for symbol in symbols {
            for (end, _) in symbol.char_indices() {
                let _ = (rust_crate(&symbol[..end]), display(&symbol[..end]));
            }
            for _ in 0..20_000 {
                let mut bytes = symbol.as_bytes().to_vec();
                for _ in 0..2 {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let at = (seed >> 33) as usize % bytes.len();
                    bytes[at] = b"NICMXYBKTFDSRE_0129sLGpae\xc3;.$"[(seed >> 12) as usize % 29];
                }
                let text = String::from_utf8_lossy(&bytes);
                let _ = (is_rust(&text), rust_crate(&text), without_cgu(&text));
                let _ = demangled(&text);
            }
        }
        for tag in ["NvY", "R", "T", "I", "NvMs_", "F", "KA", "DA"] {
            let deep = format!("_R{}", tag.repeat(100_000));
            let _ = (rust_crate(&deep), display(&deep[..1000]));
        }
    }
}
