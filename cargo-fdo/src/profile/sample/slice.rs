//! The part of a sampled profile that one language's compilers can use.

use super::SampleProfile;
use crate::profile::names;
use std::collections::BTreeSet;

/// Divides what LLVM's compilers made into rustc's functions and clang's.
///
/// Outermost functions decide; what is inlined in them goes with them, as the compiler that
/// inlined it will look for it there (with LTO of both languages, also the other one's). A
/// function is Rust's if its name is mangled as rustc does, else C's if it is in `c_names`, the
/// functions that C and C++ objects define. What is left has a plain name and no known object:
/// `main` and `#[no_mangle]` functions are Rust's, mangled C++ is not.
pub fn split(profile: SampleProfile, c_names: &BTreeSet<String>) -> (SampleProfile, SampleProfile) {
    let (mut rust, mut c) = (SampleProfile::default(), SampleProfile::default());
    for (name, samples) in profile.functions {
        let part = if is_rust(&name, c_names) {
            &mut rust
        } else {
            &mut c
        };
        part.functions.insert(name, samples);
    }
    (rust, c)
}

fn is_rust(name: &str, c_names: &BTreeSet<String>) -> bool {
    // A context (`[main:3 @ foo]`) is of the function that it ends in.
    let leaf = name
        .strip_prefix('[')
        .and_then(|context| context.strip_suffix(']'))
        .map_or(name, |context| {
            context.rsplit(" @ ").next().unwrap_or(context)
        });
    if names::is_rust(leaf) {
        return true;
    }
    !(c_names.contains(leaf) || leaf.starts_with("_Z"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample::FunctionSamples;

    #[test]
    fn functions_go_to_the_compiler_that_made_them() {
        let names = [
            "_RNvCs1_3app3hot",
            "_ZN3app3hot17h0123456789abcdefE",
            "_ZN7rocksdb6DBImpl3GetEv",
            "main",
            "exported",
            "sqlite3_step",
            "[main:3 @ _RNvCs1_3app3hot]",
            "[sqlite3_step:1 @ _ZN1A1fEv]",
        ];
        let functions = names
            .iter()
            .map(|name| ((*name).to_owned(), FunctionSamples::default()))
            .collect();
        let c_names = BTreeSet::from(["sqlite3_step".to_owned()]);
        let (rust, c) = split(SampleProfile { functions }, &c_names);
        assert_eq!(rust.functions.len() + c.functions.len(), names.len());
        let c: Vec<_> = c.functions.keys().map(String::as_str).collect();
        assert_eq!(
            c,
            [
                "[sqlite3_step:1 @ _ZN1A1fEv]",
                "_ZN7rocksdb6DBImpl3GetEv",
                "sqlite3_step"
            ]
        );
    }
}
