//! Takes a compiler's words about the profile out of its stderr; what they look like is in [`super`].

use super::{Evidence, Mismatch};
use crate::profile::names;
use std::borrow::Cow;

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

/// `Dump Function NAME Hash: NNN\t`, in one piece. Without its end the number may be another
/// thread's.
fn clean_dump(text: &[u8]) -> Option<(&str, u64)> {
    let rest = text.strip_prefix(b"Dump Function ")?;
    let (name, rest) = cut(rest, b" Hash: ")?;
    let (hash, rest) = number(rest)?;
    let one = marker(name).is_none() && !STRONG.iter().any(|mark| find(name, mark).is_some());
    if rest != b"\t" || !one || name.is_empty() {
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
                // No block is called so: a function's name of another thread.
                if looks_like_symbol(name) {
                    self.tokens.push(name);
                }
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
