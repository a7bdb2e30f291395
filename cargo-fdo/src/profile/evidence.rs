//! The compiler's own words: which functions got their counts.
//!
//! With `-mllvm -pgo-view-raw-counts=text` (rustc: `-Cllvm-args=-pgo-view-raw-counts=text`) LLVM
//! writes to stderr, for each function that it applied a profile to (and that has a count other
//! than zero; `annotateAllFunctions` in
//! `llvm/lib/Transforms/Instrumentation/PGOInstrumentation.cpp`, `dumpEdges` in
//! `llvm/Transforms/Instrumentation/CFGMST.h`):
//!
//! ```text
//! pgo-view-raw-counts: f                            the symbol
//! Dump Function lz4.c;f Hash: 742261418966908927    the profile name; a tab at the end
//!   Number of Basic Blocks: 2
//!   BB: FakeNode  Index=0
//!   BB:   Index=1  Count=1
//!   Number of Edges: 2 (*: Instrument, C: CriticalEdge, -: Removed)
//!   Edge 0: 0-->1 *   W=18014398509481984  Count=1
//!   Edge 1: 1-->0     W=18014398509481984  Count=1
//! ```
//!
//! [`Filter`] takes exactly that out of the compiler's output. clang writes it line by line, but
//! rustc from several threads, one write for each piece between two `<<`, so lines come as
//! `pgo-view-raw-counts: pgo-view-raw-counts: f`, `gDump Function `, `4` or with a JSON message at
//! their end. Names stay in one piece; what can't be told apart is kept as a *token* for
//! [`super::consumed`] to look into.
//!
//! LLVM's warning that a function's hash does not match is taken out too, in clang's and rustc's
//! text and in rustc's JSON, and clang's count of warnings is put right.

use super::names;
use super::sample::applied::ByFunction;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What compilers said about the profile they were given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// Profile name and hash of each function that got its counts.
    pub applied: BTreeSet<(String, u64)>,
    /// Names and symbols that appeared in a dump torn apart by threads, so without a hash, and
    /// what may be several of them glued together or to digits.
    pub tokens: BTreeSet<String>,
    /// Functions that have a profile with another hash.
    pub mismatched: BTreeSet<Mismatch>,
    /// Samples that LLVM applied, by function ([`super::sample::applied::remarks`]).
    pub samples: ByFunction,
    /// The highest count that gcc gave a block, by function ([`super::sample::applied::dump`]).
    pub peaks: ByFunction,
}

/// A function that changed since it was trained, or was trained by another compiler.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mismatch {
    /// The function's symbol: not its profile name, a local function has no prefix here.
    pub symbol: String,
    /// Hash that it has now.
    pub hash: u64,
    /// Largest of the counts that were thrown away; LLVM does not always know it and says 0.
    pub discarded: u64,
}

impl Evidence {
    /// Adds what another unit's compiler said.
    pub fn merge(&mut self, other: Evidence) {
        self.applied.extend(other.applied);
        self.tokens.extend(other.tokens);
        self.mismatched.extend(other.mismatched);
        // A function that several units have, such as an inline one of C++, has its samples in
        // each of them.
        for (ours, theirs) in [
            (&mut self.samples, other.samples),
            (&mut self.peaks, other.peaks),
        ] {
            for (name, count) in theirs {
                let most = ours.entry(name).or_default();
                *most = count.max(*most);
            }
        }
    }

    /// One line for each fact, sorted; to be kept in a file beside the unit.
    ///
    /// ```text
    /// applied\t742261418966908927\tlz4.c;f
    /// token\tf
    /// mismatched\t54174065726652276\t0\tg
    /// samples\t50007\thot
    /// peak\t100000\thot
    /// ```
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        // Writing to a String can't fail.
        for (name, hash) in &self.applied {
            let _ = writeln!(out, "applied\t{hash}\t{name}");
        }
        for token in &self.tokens {
            let _ = writeln!(out, "token\t{token}");
        }
        for Mismatch {
            symbol,
            hash,
            discarded,
        } in &self.mismatched
        {
            let _ = writeln!(out, "mismatched\t{hash}\t{discarded}\t{symbol}");
        }
        for (kind, counts) in [("samples", &self.samples), ("peak", &self.peaks)] {
            for (name, count) in counts {
                let _ = writeln!(out, "{kind}\t{count}\t{name}");
            }
        }
        out
    }

    /// Reads what [`Evidence::to_text`] wrote.
    ///
    /// # Errors
    ///
    /// The number of the first line, from 1, that is none of these.
    pub fn parse(text: &str) -> Result<Evidence, usize> {
        let mut evidence = Evidence::default();
        for (index, line) in text.lines().enumerate() {
            evidence.read(line).ok_or(index + 1)?;
        }
        Ok(evidence)
    }

    fn read(&mut self, line: &str) -> Option<()> {
        let (kind, rest) = line.split_once('\t')?;
        match kind {
            "applied" => {
                let (hash, name) = rest.split_once('\t')?;
                self.applied.insert((name.to_owned(), hash.parse().ok()?));
            }
            "token" => {
                self.tokens.insert(rest.to_owned());
            }
            "mismatched" => {
                let (hash, rest) = rest.split_once('\t')?;
                let (discarded, symbol) = rest.split_once('\t')?;
                self.mismatched.insert(Mismatch {
                    symbol: symbol.to_owned(),
                    hash: hash.parse().ok()?,
                    discarded: discarded.parse().ok()?,
                });
            }
            "samples" | "peak" => {
                let (count, name) = rest.split_once('\t')?;
                let counts = match kind {
                    "samples" => &mut self.samples,
                    _ => &mut self.peaks,
                };
                counts.insert(name.to_owned(), count.parse().ok()?);
            }
            _ => return None,
        }
        Some(())
    }
}

/// Separates LLVM's words about the profile from the compiler's other output.
#[derive(Debug, Default)]
pub struct Filter {
    evidence: Evidence,
    /// The last line belonged to a dump, so fragments may follow.
    inside: bool,
    /// A warning in rustc's text form was taken out, and the blank line after it goes too.
    blank_goes: bool,
    /// Warnings taken out since the compiler last counted them.
    swallowed: u64,
}

impl Filter {
    /// Ends the filtering.
    pub fn finish(self) -> Evidence {
        let mut evidence = self.evidence;
        for (name, _) in &evidence.applied {
            // With its hash known, a name alone says nothing more.
            evidence.tokens.remove(name);
            evidence.tokens.remove(names::symbol(name));
        }
        evidence
    }

    /// Takes one line of stderr, with or without its line end, and returns what the user should
    /// see of it: `None` if nothing, mostly the line itself, and what is left of it where a dump
    /// runs into a message.
    pub fn line<'a>(&mut self, line: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let (text, _) = without_line_end(line);
        if std::mem::take(&mut self.blank_goes) && text.is_empty() {
            return None;
        }
        if text.starts_with(b"{\"") {
            // Threads go on dumping around a message, so `inside` stays.
            return self.message(line);
        }
        let glued = find(text, b"{\"").is_some();
        if let Some(swallow) = self.mismatch(text).filter(|_| !glued) {
            if swallow {
                self.blank_goes = true;
                return None;
            }
            return Some(Cow::Borrowed(line));
        }
        match self.dump(text) {
            Dump::Whole => {
                self.inside = true;
                None
            }
            Dump::Message(at) => {
                self.inside = true;
                self.message(line.get(at..).unwrap_or_default())
            }
            Dump::No => {
                self.inside = false;
                self.recount(line)
            }
        }
    }

    /// A JSON message of rustc's.
    fn message<'a>(&mut self, line: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if self.mismatch(without_line_end(line).0) == Some(true) {
            return None;
        }
        self.recount(line)
    }

    /// Notes a mismatch; `Some(true)` if the line says nothing else and can go.
    fn mismatch(&mut self, text: &[u8]) -> Option<bool> {
        const MARK: &[u8] = b"function control flow change detected (hash mismatch) ";
        let at = find(text, MARK)?;
        let rest = text.get(at + MARK.len()..)?;
        let (symbol, rest) = cut(rest, b" Hash = ")?;
        let (hash, rest) = number(rest)?;
        let (discarded, rest) = number(rest.strip_prefix(b" up to ")?)?;
        rest.strip_prefix(b" count discarded")?;
        self.evidence.mismatched.insert(Mismatch {
            symbol: String::from_utf8_lossy(symbol).into_owned(),
            hash,
            discarded,
        });
        // An error that stops the build must be seen.
        let before = text.get(..at)?;
        let warning = if text.starts_with(b"{") {
            find(text, b"\"level\":\"warning\"").is_some()
        } else {
            find(before, b"warning: ").is_some() || find(before, b"error").is_none()
        };
        if warning {
            self.swallowed += 1;
        }
        Some(warning)
    }

    /// Corrects `3 warnings generated.` (clang) and `3 warnings emitted` (rustc) for what was
    /// taken out; drops the line if nothing remains to be counted.
    fn recount<'a>(&mut self, line: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if self.swallowed == 0 {
            return Some(Cow::Borrowed(line));
        }
        let Some(count) = warnings_counted(line) else {
            return Some(Cow::Borrowed(line));
        };
        let Some(left) = count.number.checked_sub(self.swallowed) else {
            return Some(Cow::Borrowed(line));
        };
        self.swallowed = 0;
        if left == 0 && count.alone {
            self.blank_goes = !line.starts_with(b"{");
            return None;
        }
        let noun = if left == 1 { "warning" } else { "warnings" };
        let text = format!("{left} {noun} {}", count.verb);
        Some(Cow::Owned(replace(line, &count.text, text.as_bytes())))
    }

    /// Reads a line as a dump.
    fn dump(&mut self, text: &[u8]) -> Dump {
        if let Some((name, hash)) = clean_dump(text) {
            self.evidence.applied.insert((name.to_owned(), hash));
            return Dump::Whole;
        }
        let mut pieces = Pieces {
            text,
            at: 0,
            inside: self.inside,
            strong: false,
            weak: false,
            tokens: Vec::new(),
        };
        while pieces.at < text.len() {
            if !pieces.next() {
                let rest = text.get(pieces.at..).unwrap_or_default();
                if rest.starts_with(b"{\"") && (pieces.strong || pieces.weak || self.inside) {
                    let at = pieces.at;
                    self.keep(pieces.tokens);
                    return Dump::Message(at);
                }
                return Dump::No;
            }
        }
        if pieces.strong || self.inside {
            self.keep(pieces.tokens);
            return Dump::Whole;
        }
        Dump::No
    }

    fn keep(&mut self, tokens: Vec<&[u8]>) {
        let tokens = tokens.into_iter().map(String::from_utf8_lossy);
        self.evidence.tokens.extend(tokens.map(Cow::into_owned));
    }
}

/// What a line is to the dump.
enum Dump {
    /// Nothing but dump.
    Whole,
    /// Dump up to here, then a message.
    Message(usize),
    /// Something else.
    No,
}

/// `Dump Function NAME Hash: NNN\t`, in one piece.
fn clean_dump(text: &[u8]) -> Option<(&str, u64)> {
    let rest = text.strip_prefix(b"Dump Function ")?;
    let (name, rest) = cut(rest, b" Hash: ")?;
    let (hash, rest) = number(rest)?;
    let whole = rest.is_empty() || rest == b"\t";
    let one = marker(name).is_none() && !STRONG.iter().any(|mark| find(name, mark).is_some());
    if !whole || !one || name.is_empty() {
        return None;
    }
    Some((std::str::from_utf8(name).ok()?, hash))
}

/// Pieces that nothing but a dump has.
const STRONG: [&[u8]; 6] = [
    b"pgo-view-raw-counts: ",
    b"Dump Function ",
    b"  Number of Basic Blocks: ",
    b"  Number of Edges: ",
    b" (*: Instrument, C: CriticalEdge, -: Removed)",
    b"  BB: ",
];

/// Pieces that make a line a dump's only where a dump is under way, or with a strong one.
const WEAK: [&[u8]; 7] = [
    b"  Edge ",
    b" Hash: ",
    b"FakeNode",
    b"Index=",
    b"Count=",
    b"-->",
    b"W=",
];

/// The piece that `text` begins with.
fn marker(text: &[u8]) -> Option<(&'static [u8], bool)> {
    let strong = STRONG.iter().map(|&mark| (mark, true));
    strong
        .chain(WEAK.iter().map(|&mark| (mark, false)))
        .find(|(mark, _)| text.starts_with(mark))
}

/// A line taken apart into the pieces that LLVM wrote it in.
struct Pieces<'a> {
    text: &'a [u8],
    at: usize,
    inside: bool,
    strong: bool,
    weak: bool,
    tokens: Vec<&'a [u8]>,
}

impl<'a> Pieces<'a> {
    /// Takes a piece; `false` if the text goes on with something else.
    fn next(&mut self) -> bool {
        let Some(rest) = self.text.get(self.at..) else {
            return false;
        };
        if let Some((mark, strong)) = marker(rest) {
            self.at += mark.len();
            self.strong |= strong;
            self.weak |= !strong;
            if mark == STRONG[0] || mark == STRONG[1] {
                self.name(false);
            } else if mark == b"  BB: " {
                self.block_name();
            }
            return true;
        }
        if (self.strong || self.weak || self.inside) && self.name(true) {
            return true;
        }
        let plain = rest
            .iter()
            .take_while(|byte| {
                matches!(byte, b'0'..=b'9' | b' ' | b'\t' | b':' | b'*' | b'-' | b'c')
            })
            .count();
        // Markers begin with spaces too, and names may with a digit's neighbour.
        let stop = (1..plain).find(|&n| {
            rest.get(n..)
                .is_some_and(|rest| marker(rest).is_some() || starts_symbol(rest))
        });
        self.at += stop.unwrap_or(plain);
        plain > 0
    }

    /// Takes a name up to the next piece; a `bare` one must look like a symbol.
    fn name(&mut self, bare: bool) -> bool {
        let Some(rest) = self.text.get(self.at..) else {
            return false;
        };
        let end = (0..rest.len())
            .find(|&n| {
                rest.get(n..).is_some_and(|rest| {
                    marker(rest).is_some()
                        || rest.starts_with(b"{\"")
                        || (bare && matches!(rest.first(), Some(b' ' | b'\t')))
                })
            })
            .unwrap_or(rest.len());
        let name = rest.get(..end).unwrap_or_default().trim_ascii();
        if name.is_empty() || (bare && !looks_like_symbol(name)) {
            return false;
        }
        // Numbers and signs of another thread's block may stand where the name should.
        if name.iter().any(u8::is_ascii_alphabetic) {
            self.tokens.push(name);
        }
        self.at += end;
        true
    }

    /// Blocks have names if the compiler was told to keep them.
    fn block_name(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if let Some(end) = find(rest, b"  Index=") {
            let name = rest.get(..end).unwrap_or_default();
            if !name.contains(&b' ') && !STRONG.iter().any(|mark| find(name, mark).is_some()) {
                self.at += end;
            }
        }
    }
}

/// Whether a bare word can be one of rustc's names; clang does not write bare ones.
fn looks_like_symbol(text: &[u8]) -> bool {
    starts_symbol(text) || text == b"main" || find(text, b"-cgu.").is_some()
}

/// Rust's manglings.
fn starts_symbol(text: &[u8]) -> bool {
    text.starts_with(b"_R") || text.starts_with(b"_ZN")
}

/// `N warnings generated` or `N warnings emitted` in a line.
struct WarningsCounted {
    number: u64,
    /// All of it, to be replaced.
    text: Vec<u8>,
    verb: &'static str,
    /// The line counts nothing but warnings.
    alone: bool,
}

fn warnings_counted(line: &[u8]) -> Option<WarningsCounted> {
    for verb in ["generated", "emitted"] {
        for noun in [" warnings ", " warning "] {
            let words = [noun.as_bytes(), verb.as_bytes()].concat();
            let Some(at) = find(line, &words) else {
                continue;
            };
            let before = line.get(..at)?;
            let digits = before
                .iter()
                .rev()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            let (before, digits) = before.split_at_checked(at - digits)?;
            let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
            let alone = before.is_empty()
                || before == b"warning: "
                || (line.starts_with(b"{")
                    && find(line, &[b"\"message\":\"", digits, &words, b"\""].concat()).is_some());
            return Some(WarningsCounted {
                number,
                text: [digits, &words].concat(),
                verb,
                alone,
            });
        }
    }
    None
}

fn without_line_end(line: &[u8]) -> (&[u8], &[u8]) {
    let mut len = line.len();
    while len > 0 && matches!(line.get(len - 1), Some(b'\n' | b'\r')) {
        len -= 1;
    }
    line.split_at_checked(len).unwrap_or((line, b""))
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len().max(1))
        .position(|part| part == what)
}

/// What is before and after the first `at`.
fn cut<'a>(text: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (before, rest) = text.split_at_checked(find(text, at)?)?;
    Some((before, rest.strip_prefix(at)?))
}

/// The decimal number that a text begins with, and the rest.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(digits)?;
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = cut(rest, from) {
        out.extend_from_slice(before);
        out.extend_from_slice(to);
        rest = after;
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a whole stderr; returns what is left of it and the evidence.
    fn filter(stderr: &str) -> (String, Evidence) {
        let mut filter = Filter::default();
        let mut out = Vec::new();
        for line in stderr.as_bytes().split_inclusive(|&byte| byte == b'\n') {
            out.extend_from_slice(&filter.line(line).unwrap_or_default());
        }
        (String::from_utf8(out).unwrap(), filter.finish())
    }

    const DUMP: &str = "pgo-view-raw-counts: f\n\
        Dump Function my file.c;f Hash: 742261418966908927\t\n\
        \x20 Number of Basic Blocks: 2\n\
        \x20 BB: FakeNode  Index=0\n\
        \x20 BB: for.body  Index=1  Count=1\n\
        \x20 BB:   Index=2  Count=1\n\
        \x20 Number of Edges: 2 (*: Instrument, C: CriticalEdge, -: Removed)\n\
        \x20 Edge 0: 0-->1 *   W=18014398509481984  Count=1\n\
        \x20 Edge 1: 5-->7  c  W=211106232532992000  Count=0\n\
        \x20 Edge 2: 1-->0 -*c  W=18014398509481984  Count=1\n";

    #[test]
    fn a_dump_disappears_and_the_rest_stays() {
        let (left, evidence) = filter(&format!("before\n{DUMP}after\n{DUMP}\n"));
        assert_eq!(left, "before\nafter\n");
        let applied = [("my file.c;f".to_owned(), 742_261_418_966_908_927)];
        assert_eq!(evidence.applied, BTreeSet::from(applied));
        assert!(evidence.tokens.is_empty());
    }

    #[test]
    fn compiler_output_passes_unchanged() {
        let text = "In file included from a.c:1:\n\
            a.c:3:5: warning: unused variable 'c' [-Wunused-variable]\n\
            \x20   3 | int c;\n\
            \x20     |     ^\n\
            \n\
            warning: unused\n --> src/lib.rs:1:4\n  |\n1 | fn f() {}\n  |    ^\n\n\
            12\n  -->\n\t\nmain\n_RNvC1a1f\n: c *\nIndex=3\n  Edge cases: none\n\
            2 warnings generated.\r\n";
        assert_eq!(filter(text).0, text);
    }

    #[test]
    fn other_bytes_than_utf8_pass_unchanged() {
        let line = b"caf\xe9.c:1: warning: \xff\n";
        assert_eq!(Filter::default().line(line).as_deref(), Some(&line[..]));
        let mut filter = Filter::default();
        assert_eq!(filter.line(b"pgo-view-raw-counts: caf\xe9"), None);
        assert_eq!(filter.line(b"Dump Function caf\xe9.c;f Hash: 1\t"), None);
        assert_eq!(filter.finish().tokens.len(), 2);
    }

    #[test]
    fn a_json_message_at_the_end_of_a_fragment_is_saved() {
        let json = "{\"$message_type\":\"artifact\",\"artifact\":\"x  BB: \",\"emit\":\"link\"}\n";
        for fragment in [
            "",
            "pgo-view-raw-counts: ",
            "Dump Function ",
            "Dump Function _RNvC1a1f",
            "  BB: ",
            "  Edge 3: 4",
            "pgo-view-raw-counts: pgo-view-raw-counts: _RNvC1a1f",
        ] {
            let (left, _) = filter(&format!("{DUMP}{fragment}{json}{DUMP}"));
            assert!(
                left.contains(json) && left.ends_with(json),
                "{fragment}: {left}"
            );
        }
    }

    /// What rustc 1.95 wrote with 11 units on two cores.
    #[test]
    fn a_dump_torn_by_threads_disappears_and_keeps_its_names() {
        let torn = "pgo-view-raw-counts: pgo-view-raw-counts: _RNvC1p2m7\n\
            _RNvNtC1p3m121fDump Function \n\
            _RNvXs1_NtC5alloc4dropDump Function  Hash: _RNvNtC1p3m121f784007056844089447 Hash: \t742261418966908927\n\
            \t\n\
            \x20 Number of Basic Blocks: \n\
            4\n\
            \x20 Number of Basic Blocks:   BB: 2FakeNode\n\
            \x20   BB: Index=0FakeNode  \n\
            Index=0  BB: \n\
            \x20   BB: Index=3  Count=1  \n\
            Index=1  Count=1  BB: \n\
            \x20   Number of Edges: Index=2  Count=12\n\
            \x20(*: Instrument, C: CriticalEdge, -: Removed)\n\
            0  Number of Edges: -->51 (*: Instrument, C: CriticalEdge, -: Removed)\n\
            \x20*   W=18014398509481984  Count=1  Edge 0\n\
            :   Edge 11-->: 21  c  W=6755399441055744000  Count=0-->0\n\
            \x20    W=18014398509481984  Count=1  Edge \n\
            1: 2-->0     W=18014398509481985  Count=1\n\
            \n";
        let (left, evidence) = filter(torn);
        assert_eq!(left, "");
        let tokens: Vec<&str> = evidence.tokens.iter().map(String::as_str).collect();
        assert_eq!(
            tokens,
            [
                "_RNvC1p2m7",
                "_RNvNtC1p3m121f",
                "_RNvNtC1p3m121f784007056844089447",
                "_RNvXs1_NtC5alloc4drop"
            ]
        );
    }

    const MISMATCH: &str = "function control flow change detected (hash mismatch) g Hash = 54174 up to 7 count discarded";

    #[track_caller]
    fn mismatches(text: &str, left: &str) {
        let (out, evidence) = filter(text);
        assert_eq!(out, left);
        let mismatch = Mismatch {
            symbol: "g".into(),
            hash: 54174,
            discarded: 7,
        };
        assert_eq!(evidence.mismatched, BTreeSet::from([mismatch]));
    }

    #[test]
    fn clangs_mismatch_is_taken_out_and_its_count_put_right() {
        let warning = format!("warning: /x/error.c: {MISMATCH} [-Wbackend-plugin]\n");
        mismatches(&format!("{warning}1 warning generated.\n"), "");
        mismatches(
            &format!("a.c:1:1: warning: x\n{warning}{warning}3 warnings generated.\n"),
            "a.c:1:1: warning: x\n1 warning generated.\n",
        );
        mismatches(
            &format!("{warning}2 warnings and 1 error generated.\n"),
            "2 warnings and 1 error generated.\n",
        );
    }

    #[test]
    fn an_error_is_noted_but_stays() {
        let error = format!("error: /x/a.c: {MISMATCH} [-Werror,-Wbackend-plugin]\n");
        mismatches(&error, &error);
    }

    #[test]
    fn rustcs_mismatch_is_taken_out_as_text_and_as_json() {
        let text = format!("warning: p.c14f87a213e14aa-cgu.10: {MISMATCH}\n\nnext\n");
        mismatches(&text, "next\n");
        let json = |level: &str, message: &str| {
            format!(
                "{{\"$message_type\":\"diagnostic\",\"message\":\"{message}\",\"code\":null,\
                 \"level\":\"{level}\",\"spans\":[],\"children\":[],\"rendered\":\"{message}\\n\"}}\n"
            )
        };
        let warning = json("warning", MISMATCH);
        mismatches(&warning, "");
        mismatches(&format!("Dump Function {warning}"), "");
        mismatches(
            &format!("{warning}{}", json("warning", "1 warning emitted")),
            "",
        );
        mismatches(
            &format!("{warning}{}", json("warning", "3 warnings emitted")),
            &json("warning", "2 warnings emitted"),
        );
        let error = json("error", MISMATCH);
        mismatches(&error, &error);
    }

    #[test]
    fn evidence_survives_its_file() {
        let (_, mut evidence) = filter(&format!(
            "{DUMP}pgo-view-raw-counts: _RNvC1a1f\nwarning: x: {MISMATCH}\n"
        ));
        let read = Evidence::parse(&evidence.to_text()).unwrap();
        assert_eq!(read, evidence);
        assert_eq!((evidence.applied.len(), evidence.tokens.len()), (1, 1));
        evidence.merge(read.clone());
        assert_eq!(read, evidence);
        assert_eq!(Evidence::parse("token\tx\nwhat\n"), Err(2));
        assert_eq!(Evidence::parse("applied\tx\tf\n"), Err(1));
    }

    #[test]
    fn no_cut_and_no_changed_byte_makes_it_panic() {
        let text = format!("{DUMP}warning: x: {MISMATCH}\n3 warnings generated.\n{{\"a\":1}}\n");
        for at in 0..text.len() {
            for byte in [0, b'\n', b' ', b'c', b'{', b'"', b'9', 0xff] {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = byte;
                let mut filter = Filter::default();
                for line in bytes.split(|&byte| byte == b'\n') {
                    let _ = filter.line(line);
                }
                let _ = filter.line(&bytes[at..]);
            }
        }
    }
}
