//! LLVM's text form of a sample profile. clang and rustc read it as it is.
//!
//! ```text
//! main:1840:6                    function, samples in all, entries
//!  1: 12                         line from the declaration: samples
//!  2.3: 40 callback:30 other:10  line.discriminator, and what was called from there
//!  4: parse:120                  inlined here: callee, its samples in all
//!   1: 120                       a level deeper: inside of that copy
//!   !CFGChecksum: 563088904013   pseudo probes only; lines with `!` end their function
//!  !Attributes: 1
//! [main:3 @ parse:2.1 @ get]:9:4 instead of a name: a context, outermost caller first
//!  1: 9
//! ```
//!
//! Blank lines and lines that begin with `#` mean nothing. The grammar is that of
//! `SampleProfileReaderText` in `llvm/lib/ProfileData/SampleProfReader.cpp`, the order of the
//! output that of `SampleProfileWriterText` in `SampleProfWriter.cpp` (LLVM 22): functions by
//! falling total, then name; what is written here comes out of `llvm-profdata merge --sample
//! --text` byte for byte.
//!
//! LLVM's reader guesses where it can. This one refuses what could only be read by guessing:
//! positions of more than 16 bits, functions with and without context in one file, inlined
//! copies inside of a context. Profiles of virtual tables (`vtables …` lines, off by default) are
//! refused too, rather than lost.

use super::{BodySample, FunctionSamples, Location, MAX_DEPTH, SampleProfile};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

/// Why a text is not a sample profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError {
    /// Line in the text, from 1.
    pub line: usize,
    /// What was wrong there.
    pub what: TextErrorKind,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextErrorKind {
    /// Not text at all.
    NotUtf8,
    /// Should be `name:total:head`.
    Head,
    /// A context that is not `[caller:line @ … @ callee]`.
    Context,
    /// Samples before the first function.
    NoFunction,
    /// Should begin with `line: ` or `line.discriminator: `, the line below 2^16.
    Position,
    /// Should be `samples callee:samples …`.
    Body,
    /// Should be `callee:total`.
    CallSite,
    /// Should be `!CFGChecksum: n` or `!Attributes: n`.
    Metadata,
    /// Samples after the metadata of their function.
    AfterMetadata,
    /// A function with and one without context.
    Mixed,
    /// An inlined copy in a function with context.
    InlinedInContext,
    /// Inlined more than [`MAX_DEPTH`] deep.
    TooDeep,
    /// Types of virtual tables.
    Vtables,
}

impl fmt::Display for TextErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TextErrorKind::NotUtf8 => f.write_str("no text"),
            TextErrorKind::Head => f.write_str("no `name:total:head`"),
            TextErrorKind::Context => f.write_str("no context as `[caller:line @ callee]`"),
            TextErrorKind::NoFunction => f.write_str("samples of no function"),
            TextErrorKind::Position => {
                f.write_str("no position as `line:` or `line.discriminator:`, line below 65536,")
            }
            TextErrorKind::Body => f.write_str("no `samples callee:samples …`"),
            TextErrorKind::CallSite => f.write_str("no `callee:total`"),
            TextErrorKind::Metadata => f.write_str("unknown metadata"),
            TextErrorKind::AfterMetadata => f.write_str("samples after the function's metadata"),
            TextErrorKind::Mixed => f.write_str("functions with and without context"),
            TextErrorKind::InlinedInContext => f.write_str("an inlined copy in a context"),
            TextErrorKind::TooDeep => write!(f, "functions inlined more than {MAX_DEPTH} deep"),
            TextErrorKind::Vtables => {
                f.write_str("a profile of virtual tables, which only llvm-profdata handles,")
            }
        }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {}", self.what, self.line)
    }
}

impl std::error::Error for TextError {}

/// Whether a file begins like this form: its first line with a meaning is `name:total:head`.
pub fn recognises(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|&byte| byte == b'\n');
    let first = lines.find(|line| {
        let line = line.trim_ascii_end();
        !line.is_empty() && line.first() != Some(&b'#')
    });
    first
        .and_then(|line| std::str::from_utf8(line.trim_ascii_end()).ok())
        .is_some_and(|line| parse_head(line).is_some())
}

/// Reads a profile from a file's content. An empty text is an empty profile.
///
/// A function that is listed twice has the sum of both; counts saturate.
///
/// # Errors
///
/// Names the first line that can't be read.
pub fn read(bytes: &[u8]) -> Result<SampleProfile, TextError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text),
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            Err(TextError {
                line: 1 + good.iter().filter(|&&byte| byte == b'\n').count(),
                what: TextErrorKind::NotUtf8,
            })
        }
    }
}

/// Reads a profile. See [`read`].
///
/// # Errors
///
/// Names the first line that can't be read.
pub fn parse(text: &str) -> Result<SampleProfile, TextError> {
    let mut profile = SampleProfile::default();
    let mut block: Vec<(usize, &str)> = Vec::new();
    let mut head = None;
    for (index, line) in text.lines().enumerate() {
        let at = index + 1;
        // A comment may be indented.
        let inner = line.trim_start_matches(' ');
        if inner.is_empty() || inner.starts_with('#') {
            continue;
        }
        if line.starts_with(' ') {
            if head.is_none() {
                return Err(error(at, TextErrorKind::NoFunction));
            }
            block.push((at, line));
        } else {
            if let Some(head) = head.replace((at, line)) {
                read_function(&mut profile, head, &block)?;
            }
            block.clear();
        }
    }
    if let Some(head) = head {
        read_function(&mut profile, head, &block)?;
    }
    Ok(profile)
}

fn error(line: usize, what: TextErrorKind) -> TextError {
    TextError { line, what }
}

/// `name:total:head`; the name may hold colons.
fn parse_head(line: &str) -> Option<(&str, u64, u64)> {
    if line.starts_with(' ') {
        return None;
    }
    let (rest, head) = line.rsplit_once(':')?;
    let (name, total) = rest.rsplit_once(':')?;
    let counts = (number(total)?, number(head)?);
    (!name.is_empty()).then_some((name, counts.0, counts.1))
}

/// Only digits: `parse` alone would take `+1`.
fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

fn read_function(
    profile: &mut SampleProfile,
    (at, head): (usize, &str),
    lines: &[(usize, &str)],
) -> Result<(), TextError> {
    let Some((name, total, entries)) = parse_head(head) else {
        return Err(error(at, TextErrorKind::Head));
    };
    let name = match context(name) {
        None => Cow::Borrowed(name),
        Some(Some(frames)) => Cow::Owned(context_name(&frames)),
        Some(None) => return Err(error(at, TextErrorKind::Context)),
    };
    let in_context = is_context(&name);
    if let Some(other) = profile.functions.keys().next()
        && is_context(other) != in_context
    {
        return Err(error(at, TextErrorKind::Mixed));
    }
    let function = profile.functions.entry(name.into_owned()).or_default();
    function.total = function.total.saturating_add(total);
    function.head = function.head.saturating_add(entries);
    let mut lines = Lines {
        lines: lines.iter(),
        next: None,
        in_context,
    };
    lines.advance()?;
    while lines.next.is_some() {
        read_instance(function, &mut lines, 1)?;
    }
    Ok(())
}

/// One line below a head, understood.
struct Line<'a> {
    at: usize,
    /// Spaces in front of it: 1 for the function itself, 2 for what is inlined in it.
    depth: usize,
    what: LineKind<'a>,
}

enum LineKind<'a> {
    Body(Location, u64, Vec<(&'a str, u64)>),
    CallSite(Location, &'a str, u64),
    Checksum(u64),
    Attributes(u64),
    /// `!Flat`: no inlined copies. Says nothing that the lines don't.
    Flat,
}

impl LineKind<'_> {
    fn is_metadata(&self) -> bool {
        !matches!(self, LineKind::Body(..) | LineKind::CallSite(..))
    }
}

/// The lines of one function, with a look-ahead of one.
struct Lines<'a, 'b> {
    lines: std::slice::Iter<'b, (usize, &'a str)>,
    next: Option<Line<'a>>,
    in_context: bool,
}

impl<'a> Lines<'a, '_> {
    fn advance(&mut self) -> Result<(), TextError> {
        self.next = match self.lines.next() {
            None => None,
            Some(&(at, line)) => {
                let parsed = parse_line(at, line).map_err(|what| error(at, what))?;
                if self.in_context && matches!(parsed.what, LineKind::CallSite(..)) {
                    return Err(error(at, TextErrorKind::InlinedInContext));
                }
                Some(parsed)
            }
        };
        Ok(())
    }
}

/// Reads what belongs to one function or inlined copy: all lines with at least `depth` spaces.
///
/// More spaces than the nesting asks for change nothing, as for LLVM.
fn read_instance(
    samples: &mut FunctionSamples,
    lines: &mut Lines<'_, '_>,
    depth: usize,
) -> Result<(), TextError> {
    let mut ended = false;
    while let Some(line) = lines.next.take() {
        if line.depth < depth {
            lines.next = Some(line);
            break;
        }
        if ended && !line.what.is_metadata() {
            return Err(error(line.at, TextErrorKind::AfterMetadata));
        }
        lines.advance()?;
        match line.what {
            LineKind::Body(location, count, targets) => {
                let body = samples.body.entry(location).or_default();
                body.count = body.count.saturating_add(count);
                for (name, count) in targets {
                    let target = body.targets.entry(name.to_owned()).or_default();
                    *target = target.saturating_add(count);
                }
            }
            LineKind::CallSite(location, callee, total) => {
                if depth >= MAX_DEPTH {
                    return Err(error(line.at, TextErrorKind::TooDeep));
                }
                let site = samples.call_sites.entry(location).or_default();
                let copy = site.entry(callee.to_owned()).or_default();
                copy.total = copy.total.saturating_add(total);
                read_instance(copy, lines, depth + 1)?;
            }
            LineKind::Checksum(checksum) => {
                // Zero is LLVM's "none".
                samples.checksum = Some(checksum).filter(|&checksum| checksum != 0);
                ended = true;
            }
            LineKind::Attributes(attributes) => {
                samples.attributes = Some(attributes).filter(|&attributes| attributes != 0);
                ended = true;
            }
            LineKind::Flat => ended = true,
        }
    }
    Ok(())
}

fn parse_line(at: usize, line: &str) -> Result<Line<'_>, TextErrorKind> {
    let inner = line.trim_start_matches(' ');
    let depth = line.len() - inner.len();
    let what = match inner.strip_prefix('!') {
        Some(metadata) => parse_metadata(metadata).ok_or(TextErrorKind::Metadata)?,
        None => parse_samples(inner)?,
    };
    Ok(Line { at, depth, what })
}

fn parse_metadata(metadata: &str) -> Option<LineKind<'static>> {
    if metadata == "Flat" {
        return Some(LineKind::Flat);
    }
    let (key, value) = metadata.split_once(':')?;
    let value = value.trim_matches([' ', '\t']);
    match key {
        "CFGChecksum" => Some(LineKind::Checksum(number(value)?)),
        // 32 bits wide in LLVM.
        "Attributes" => Some(LineKind::Attributes(number::<u32>(value)?.into())),
        _ => None,
    }
}

fn parse_samples(line: &str) -> Result<LineKind<'_>, TextErrorKind> {
    let (location, rest) = line.split_once(':').ok_or(TextErrorKind::Position)?;
    let location = parse_location(location).ok_or(TextErrorKind::Position)?;
    let rest = rest.strip_prefix(' ').ok_or(TextErrorKind::Position)?;
    if rest.starts_with("vtables ") {
        return Err(TextErrorKind::Vtables);
    }
    if !rest.starts_with(|first: char| first.is_ascii_digit()) {
        let (callee, total) = rest.rsplit_once(':').ok_or(TextErrorKind::CallSite)?;
        let total = number(total).ok_or(TextErrorKind::CallSite)?;
        if callee.is_empty() {
            return Err(TextErrorKind::CallSite);
        }
        return Ok(LineKind::CallSite(location, callee, total));
    }
    let (count, targets) = rest.split_once(' ').unwrap_or((rest, ""));
    let count = number(count).ok_or(TextErrorKind::Body)?;
    let targets = parse_targets(targets).ok_or(TextErrorKind::Body)?;
    Ok(LineKind::Body(location, count, targets))
}

fn parse_location(text: &str) -> Option<Location> {
    let (offset, discriminator) = text.split_once('.').unwrap_or((text, "0"));
    Some(Location {
        offset: number::<u16>(offset)?.into(),
        discriminator: number(discriminator)?,
    })
}

/// `callee:samples callee:samples …`.
///
/// Names may hold blanks and colons (`_M_construct<char *>`), so a name ends at the first colon
/// with a number behind it. A name that is listed twice has the last number, as for LLVM.
fn parse_targets(mut text: &str) -> Option<Vec<(&str, u64)>> {
    let mut targets: Vec<(&str, u64)> = Vec::new();
    loop {
        text = text.trim_start_matches(' ');
        if text.is_empty() {
            return Some(targets);
        }
        let (colon, count, end) = text.match_indices(':').find_map(|(colon, _)| {
            let after = text.get(colon + 1..)?;
            let word = after.split(' ').next().unwrap_or(after);
            Some((colon, number::<u64>(word)?, colon + 1 + word.len()))
        })?;
        let name = text.get(..colon).filter(|name| !name.is_empty())?;
        targets.retain(|(other, _)| *other != name);
        targets.push((name, count));
        text = text.get(end..)?;
    }
}

/// A caller and the position of the call in it; the last one of a context has none (zero).
type Frame<'a> = (&'a str, Location);

/// Whether a function's key is a context, not a name.
pub fn is_context(name: &str) -> bool {
    name.starts_with('[')
}

/// Takes `[main:3 @ parse:2.1 @ get]` apart; `None` if it is a name, `Some(None)` if it is neither.
fn context(name: &str) -> Option<Option<Vec<Frame<'_>>>> {
    let inner = name.strip_prefix('[')?;
    let Some(inner) = inner.strip_suffix(']') else {
        return Some(None);
    };
    let frames = inner.split(" @ ").map(|frame| {
        let (name, location) = frame.split_once(':').unwrap_or((frame, "0"));
        let location = parse_location(location)?;
        (!name.is_empty()).then_some((name, location))
    });
    let mut frames: Option<Vec<_>> = frames.collect();
    // Where in the innermost function, is no part of the context.
    if let Some(last) = frames.as_mut().and_then(|frames| frames.last_mut()) {
        last.1 = Location::default();
    }
    Some(frames)
}

fn context_name(frames: &[Frame<'_>]) -> String {
    let mut name = String::from("[");
    for (index, (function, location)) in frames.iter().enumerate() {
        if index > 0 {
            name.push_str(" @ ");
        }
        name.push_str(function);
        if index + 1 < frames.len() {
            name.push(':');
            push_location(&mut name, *location);
        }
    }
    name.push(']');
    name
}

/// A text and what it could not hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The text.
    pub text: String,
    /// Names that this form can't hold, such as ones with a line break; what was sampled under
    /// them is missing. No compiler makes such names.
    pub left_out: BTreeSet<String>,
}

/// Writes a profile as `llvm-profdata merge --sample --text` does: equal profiles, equal bytes.
pub fn write(profile: &SampleProfile) -> Written {
    let mut order: Vec<_> = profile.functions.iter().collect();
    // By context, contexts are compared frame by frame and not as text.
    order.sort_by_cached_key(|(name, samples)| {
        let frames = context(name).flatten();
        let frames = frames.unwrap_or_else(|| vec![(name.as_str(), Location::default())]);
        (std::cmp::Reverse(samples.total), frames)
    });
    let mut writer = Writer {
        out: Written::default(),
        probes: profile.functions.values().any(has_checksum),
    };
    for (name, samples) in order {
        let whole_line = !name.starts_with([' ', '#']);
        if !whole_line || !fits(name) {
            writer.out.left_out.insert(name.clone());
            continue;
        }
        writer.line(format_args!("{name}:{}:{}", samples.total, samples.head));
        writer.instance(samples, 1);
    }
    writer.out
}

/// Whether a name can stand in a line at all.
fn fits(name: &str) -> bool {
    !name.is_empty() && !name.contains(['\n', '\r'])
}

fn has_checksum(samples: &FunctionSamples) -> bool {
    let mut copies = samples.call_sites.values().flat_map(BTreeMap::values);
    samples.checksum.is_some() || copies.any(has_checksum)
}

struct Writer {
    out: Written,
    /// Profiles by pseudo probes have a checksum everywhere.
    probes: bool,
}

impl Writer {
    fn line(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a String can't fail.
        let _ = self.out.text.write_fmt(text);
        self.out.text.push('\n');
    }

    fn instance(&mut self, samples: &FunctionSamples, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        for (location, body) in &samples.body {
            self.indent(depth, *location);
            let _ = write!(self.out.text, "{}", body.count);
            self.targets(body);
            self.out.text.push('\n');
        }
        for (location, site) in &samples.call_sites {
            for (callee, copy) in site {
                // These would be read as a count, or as a table.
                let other = callee.starts_with(|first: char| first.is_ascii_digit())
                    || callee.starts_with("vtables ");
                if other || !fits(callee) || depth >= MAX_DEPTH {
                    self.out.left_out.insert(callee.clone());
                    continue;
                }
                self.indent(depth, *location);
                self.line(format_args!("{callee}:{}", copy.total));
                self.instance(copy, depth + 1);
            }
        }
        if self.probes {
            let checksum = samples.checksum.unwrap_or(0);
            self.line(format_args!("{:depth$}!CFGChecksum: {checksum}", ""));
        }
        if let Some(attributes) = samples.attributes {
            self.line(format_args!("{:depth$}!Attributes: {attributes}", ""));
        }
    }

    fn indent(&mut self, depth: usize, location: Location) {
        self.out.text.extend(std::iter::repeat_n(' ', depth));
        push_location(&mut self.out.text, location);
        self.out.text.push_str(": ");
    }

    /// Targets by falling count, then name.
    fn targets(&mut self, body: &BodySample) {
        let mut order: Vec<_> = body.targets.iter().collect();
        order.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        for (name, count) in order {
            let alone = format!("{name}:{count}");
            if fits(name) && parse_targets(&alone) == Some(vec![(name.as_str(), *count)]) {
                self.out.text.push(' ');
                self.out.text.push_str(&alone);
            } else {
                self.out.left_out.insert(name.clone());
            }
        }
    }
}

fn push_location(out: &mut String, location: Location) {
    // Writing to a String can't fail.
    let _ = write!(out, "{}", location.offset);
    if location.discriminator != 0 {
        let _ = write!(out, ".{}", location.discriminator);
    }
}

#[cfg(test)]
mod tests;
