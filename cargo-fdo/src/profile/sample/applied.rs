//! What compilers say about the samples that they applied, read from files that they write for
//! each call.
//!
//! **LLVM** (clang with `-fsave-optimization-record`, rustc with `-Zremark-dir`) writes a YAML
//! document for each position of the profile that it found an instruction for, once a position
//! (`SampleProfileLoader` in `llvm/lib/Transforms/IPO/SampleProfile.cpp` and
//! `SampleProfileLoaderBaseImpl.h`, class `SampleCoverageTracker`):
//!
//! ```text
//! --- !Analysis
//! Pass:            sample-profile-impl
//! Name:            AppliedSamples
//! DebugLoc:        { File: a.c, Line: 4, Column: 9 }
//! Function:        hot
//! Args:
//!   - String:          'Applied '
//!   - NumSamples:      '50000'
//!   …
//! ```
//!
//! `Function` is the one that the instruction is in after LLVM's inlining by the profile, as in
//! the profile's own tree, so the sums by function can be held against its functions.
//!
//! **gcc** has no such words, but dumps each function at the end of its `afdo` pass
//! (`-fdump-ipa-afdo-asmname`, `gcc/auto-profile.cc`). A block whose count is from the profile
//! shows it; one that was guessed, because nothing matched, has a *local* count:
//!
//! ```text
//! int hot (int n)
//! {
//!   <bb 2> [count: 100]:
//! …
//! int cold (int x)
//! {
//!   <bb 2> [local count: 1073741824]:
//! ```

use super::cpp_names;
use std::collections::BTreeMap;

/// Samples by function, as its symbol.
pub type ByFunction = BTreeMap<String, u64>;

/// Sums the samples that LLVM applied, from the remarks of one run over one module.
///
/// Remarks that are no such are passed over.
pub fn remarks(text: &str) -> ByFunction {
    let mut sums = ByFunction::new();
    let mut document = Document::default();
    for line in text.lines() {
        if line.starts_with("--- ") {
            document = Document::default();
        } else if let Some(name) = line.strip_prefix("Name:") {
            document.is_applied = name.trim() == "AppliedSamples";
        } else if let Some(function) = line.strip_prefix("Function:") {
            document.function = Some(unquoted(function));
        } else if let Some(count) = line.trim_start().strip_prefix("- NumSamples:") {
            let count: Option<u64> = unquoted(count).parse().ok();
            if let (true, Some(function), Some(count)) =
                (document.is_applied, document.function, count)
            {
                let sum = sums.entry(function.to_owned()).or_default();
                *sum = sum.saturating_add(count);
            }
        }
    }
    sums
}

/// The document that a line is in.
#[derive(Default)]
struct Document<'a> {
    is_applied: bool,
    function: Option<&'a str>,
}

/// A YAML scalar without its quotes; symbols hold nothing that would be escaped.
fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inside = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('\'').or_else(|| inside('"')).unwrap_or(value)
}

/// The highest count of a block by function, from gcc's dump of its `afdo` pass.
///
/// A function without a count of the profile is not in it.
pub fn dump(text: &str) -> ByFunction {
    let mut peaks = ByFunction::new();
    let mut header = None;
    let mut function = None;
    for line in text.lines() {
        if line == "{" {
            function = header.take();
        } else if line == "}" {
            function = None;
        } else if !line.starts_with([' ', '\t', ';']) && line.ends_with(')') {
            header = declared(line);
        } else if let (Some(name), Some(count)) = (&function, block_count(line))
            && count > 0
        {
            let peak = peaks.entry(String::clone(name)).or_default();
            *peak = count.max(*peak);
        }
    }
    peaks
}

/// The name in `static int * name (int a)` or in `int (*name (int a)) (int)`; of C++ the
/// [skeleton](cpp_names::skeleton).
fn declared(line: &str) -> Option<String> {
    let line = cpp_names::skeleton(line);
    let (before, after) = line.split_once(" (")?;
    let name = match after.strip_prefix('*') {
        Some(inner) => inner.split(' ').next()?,
        None => before.rsplit(' ').next()?,
    };
    let name = name.trim_start_matches(['*', '&']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// `  <bb 4> [count: 50000]:` or, of later versions, `  <bb 4> [count: 50000 (auto FDO, …)]:`.
fn block_count(line: &str) -> Option<u64> {
    let rest = line.trim_start().strip_prefix("<bb ")?;
    let (_, rest) = rest.split_once("[count: ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    rest.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(pairs: &[(&str, u64)]) -> ByFunction {
        pairs
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    }

    #[test]
    fn applied_samples_are_summed_by_function_and_other_remarks_are_not() {
        let text = "--- !Analysis\nPass:            sample-profile-impl\n\
            Name:            AppliedSamples\nDebugLoc:        { File: a.c, Line: 4, Column: 9 }\n\
            Function:        hot\nArgs:\n  - String:          'Applied '\n  \
            - NumSamples:      '50000'\n  - String:          ' samples from profile (offset: '\n  \
            - LineOffset:      '1'\n  - String:          '.'\n  - Discriminator:   '2'\n...\n\
            --- !Analysis\nName:            AppliedSamples\nFunction:        hot\nArgs:\n  \
            - NumSamples:      '7'\n...\n\
            --- !Passed\nName:            Other\nFunction:        hot\nArgs:\n  \
            - NumSamples:      '9'\n...\n\
            --- !Analysis\nName:            AppliedSamples\nFunction:        'f.llvm.12'\nArgs:\n  \
            - NumSamples:      '1'\n";
        assert_eq!(remarks(text), sums(&[("hot", 50_007), ("f.llvm.12", 1)]));
    }

    #[test]
    fn guessed_blocks_prove_nothing() {
        let text = "\nAnalyzing function body size: main/14\n\nIPA function summary for main/14\n  \
            calls:\n    hot/13 function not considered\n\n\
            int main (int argc, char * * argv)\n{\n  int _1;\n\n  <bb 2> [count: 1]:\n  \
            _2 = hot (_1);\n  return 0;\n\n}\n\n\n__attribute__((noinline))\nstatic int hot (int n)\n\
            {\n  <bb 2> [count: 100]:\n  goto <bb 9>; [100.00%]\n\n  \
            <bb 3> [count: 100000 (auto FDO)]:\n  _11 = cold (i_3);\n}\n\n\n\
            int cold (int x)\n{\n  <bb 2> [local count: 1073741824]:\n  return _3;\n}\n\n\
            void * _ZN1A3runEi (struct A * const this, int n)\n{\n  <bb 2> [count: 5]:\n}\n\n\
            void (*table (int i)) (int)\n{\n  <bb 2> [count: 6]:\n}\n\n\
            struct V & ns::{anonymous}::Codec<char, std::less<char> >::decode (const struct V & in)\n\
            {\n  <bb 2> [count: 7]:\n}\n\n\
            int zero (void)\n{\n  <bb 2> [count: 0]:\n}\n";
        let expected = [
            ("main", 1),
            ("hot", 100_000),
            ("_ZN1A3runEi", 5),
            ("table", 6),
            ("ns::{anonymous}::Codec::decode", 7),
        ];
        assert_eq!(dump(text), sums(&expected));
    }

    #[test]
    fn other_text_says_nothing() {
        for text in [
            "",
            "}\n{\n <bb",
            "Name: AppliedSamples\n- NumSamples: '99999999999999999999'",
        ] {
            assert!(remarks(text).is_empty() && dump(text).is_empty(), "{text}");
        }
    }
}
