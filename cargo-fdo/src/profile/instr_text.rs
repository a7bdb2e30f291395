//! LLVM's text form of an instrumentation profile, as `llvm-profdata merge --text` writes it.
//!
//! ```text
//! # IR level Instrumentation Flag
//! :ir
//! lz4.c;LZ4_count              name; local functions carry `file;` or `crate.hash-cgu.N;`
//! # Func Hash:
//! 146835647075900052           hash of the control-flow graph
//! # Num Counters:
//! 2
//! # Counter Values:
//! 20000
//! 0
//! # Num Bitmap Bytes:          optional, MC/DC coverage only
//! $1
//! # Bitmap Byte Values:
//! 0x1f
//! # Num Value Kinds:           optional
//! 1
//! # ValueKind = IPVK_IndirectCallTarget:
//! 0
//! # NumValueSites:
//! 1
//! 2                            values at this site
//! callback_a:19000
//! callback_b:1000
//! ```
//!
//! Blank lines and lines that begin with `#` mean nothing anywhere. The grammar is that of
//! `TextInstrProfReader` in `llvm/lib/ProfileData/InstrProfReader.cpp`, the output that of
//! `InstrProfWriter::writeText` in `InstrProfWriter.cpp` (LLVM 22): writing what was read gives
//! the same bytes as `llvm-profdata` does.

use std::fmt::{self, Write as _};

/// LLVM's largest real count; the two above it mark functions as hot or warm without counts
/// (`getInstrMaxCountValue` in `llvm/ProfileData/InstrProf.h`).
pub const MAX_COUNT: u64 = u64::MAX - 2;

/// The largest value kind plus one that LLVM 22 knows: indirect calls, memory sizes, vtables.
///
/// A bound for reading only: LLVM takes a function whose name is a number for the start of value
/// data, and so do we, but a huge "number of kinds" is refused at once.
const MAX_VALUE_KINDS: u32 = 16;

/// A whole profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InstrProfile {
    /// Header flags without the colon, lower case, in the order read: `ir`, `fe`, `csir`,
    /// `entry_first`, `not_entry_first`, `instrument_loop_entries`, `single_byte_coverage`,
    /// `temporal_prof_traces`.
    pub flags: Vec<String>,
    /// The lines of the `:temporal_prof_traces` section (number of traces, stream size, then for
    /// each trace its weight and its comma-separated functions), uninterpreted.
    pub traces: Vec<String>,
    /// The functions.
    pub records: Vec<Record>,
}

/// What one function counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// LLVM's profile name of the function: its symbol, or `prefix;symbol` for a local one.
    pub name: String,
    /// Hash of the control-flow graph; a function that changed has another.
    pub hash: u64,
    /// Executions of each instrumented block or edge, never empty.
    pub counters: Vec<u64>,
    /// MC/DC bitmap; empty except in coverage builds.
    pub bitmap: Vec<u8>,
    /// What was called, copied or constructed how often; empty for most functions.
    pub values: Vec<ValueKind>,
}

/// All value profiling of one kind within a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueKind {
    /// `IPVK_*`: 0 indirect call target, 1 size of a memory operation, 2 vtable.
    pub kind: u32,
    /// For each place in the function's code, in order: value and how often it was seen.
    ///
    /// The value is a symbol for kinds 0 and 2 (`** External Symbol **` for one outside the
    /// program) and a number for kind 1, kept as written.
    pub sites: Vec<Vec<(String, u64)>>,
}

impl Record {
    /// Whether the counters are not counts but LLVM's mark "hot" or "warm".
    pub fn is_pseudo(&self) -> bool {
        self.counters
            .first()
            .is_some_and(|&first| first > MAX_COUNT)
    }

    /// Sum of the counters; zero for a pseudo record.
    pub fn total(&self) -> u128 {
        if self.is_pseudo() {
            return 0;
        }
        self.counters.iter().map(|&count| u128::from(count)).sum()
    }
}

/// Why a text is not a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError {
    /// Line in the text, from 1; one past the last if the text ends too soon.
    pub line: usize,
    /// What was wrong there.
    pub what: TextErrorKind,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextErrorKind {
    /// The text ends inside this.
    Truncated(&'static str),
    /// This should have been a number.
    NotANumber(&'static str),
    /// A header flag that LLVM 22 does not have.
    UnknownFlag(String),
    /// A function without counters, which LLVM refuses too.
    NoCounters,
    /// More value kinds than there are.
    ValueKinds(u32),
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            TextErrorKind::Truncated(what) => write!(f, "profile ends inside {what}")?,
            TextErrorKind::NotANumber(what) => write!(f, "{what} is not a number")?,
            TextErrorKind::UnknownFlag(flag) => write!(f, "unknown header flag `:{flag}`")?,
            TextErrorKind::NoCounters => f.write_str("function without counters")?,
            TextErrorKind::ValueKinds(n) => write!(f, "{n} kinds of value data")?,
        }
        write!(f, " at line {}", self.line)
    }
}

impl std::error::Error for TextError {}

/// The lines that mean something, with a look-ahead of one.
struct Lines<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    next: Option<(usize, &'a str)>,
    last: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Lines<'a> {
        let mut lines = Lines {
            lines: text.lines().enumerate(),
            next: None,
            last: 0,
        };
        lines.advance();
        lines
    }

    fn advance(&mut self) {
        self.next = None;
        for (index, line) in self.lines.by_ref() {
            self.last = index + 1;
            if !line.is_empty() && !line.starts_with('#') {
                self.next = Some((index + 1, line));
                return;
            }
        }
    }

    fn peek(&self) -> Option<&'a str> {
        self.next.map(|(_, line)| line)
    }

    fn take(&mut self, what: &'static str) -> Result<(usize, &'a str), TextError> {
        let Some(next) = self.next else {
            return Err(TextError {
                line: self.last + 1,
                what: TextErrorKind::Truncated(what),
            });
        };
        self.advance();
        Ok(next)
    }

    fn number<N: std::str::FromStr>(&mut self, what: &'static str) -> Result<N, TextError> {
        let (line, text) = self.take(what)?;
        text.parse().map_err(|_| TextError {
            line,
            what: TextErrorKind::NotANumber(what),
        })
    }
}

impl InstrProfile {
    /// Reads a profile. An empty text is an empty profile.
    ///
    /// Takes the whole text because its names are borrowed while reading; 1.4 MB take about 5 ms.
    ///
    /// # Errors
    ///
    /// Names the first line that LLVM's reader would refuse.
    pub fn parse(text: &str) -> Result<InstrProfile, TextError> {
        let mut lines = Lines::new(text);
        let mut profile = InstrProfile::default();
        while let Some(flag) = lines.peek().and_then(|line| line.strip_prefix(':')) {
            let (line, _) = lines.take("a flag")?;
            let flag = flag.to_ascii_lowercase();
            match flag.as_str() {
                "ir"
                | "fe"
                | "csir"
                | "entry_first"
                | "not_entry_first"
                | "instrument_loop_entries"
                | "single_byte_coverage" => {}
                "temporal_prof_traces" => profile.read_traces(&mut lines)?,
                _ => {
                    return Err(TextError {
                        line,
                        what: TextErrorKind::UnknownFlag(flag),
                    });
                }
            }
            profile.flags.push(flag);
        }
        while lines.peek().is_some() {
            profile.records.push(read_record(&mut lines)?);
        }
        Ok(profile)
    }

    fn read_traces(&mut self, lines: &mut Lines<'_>) -> Result<(), TextError> {
        let count: u32 = lines.number("the number of traces")?;
        let stream: u64 = lines.number("the size of the trace stream")?;
        self.traces.extend([count.to_string(), stream.to_string()]);
        for _ in 0..count {
            let weight: u64 = lines.number("the weight of a trace")?;
            self.traces.push(weight.to_string());
            self.traces.push(lines.take("a trace")?.1.to_owned());
        }
        Ok(())
    }

    /// Whether the counters are of the IR level: the only ones that work in one image with Rust's.
    pub fn is_ir(&self) -> bool {
        self.flags.iter().any(|flag| flag == "ir" || flag == "csir")
    }

    /// An empty profile with the same flags, to be filled with some of this one's records.
    ///
    /// Temporal traces are left out: they order functions for start-up, no compiler reads them.
    pub fn like(&self) -> InstrProfile {
        let mut flags = self.flags.clone();
        flags.retain(|flag| flag != "temporal_prof_traces");
        InstrProfile {
            flags,
            ..InstrProfile::default()
        }
    }

    /// Orders the records by name, then hash, as LLVM does.
    pub fn sort(&mut self) {
        self.records
            .sort_by(|a, b| (&a.name, a.hash).cmp(&(&b.name, b.hash)));
    }

    /// The canonical text: equal profiles give equal bytes, whatever order they were read in.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for (flag, comment) in FLAGS {
            if self.flags.iter().any(|own| own == flag) {
                out.push_str(comment);
                line(&mut out, format_args!(":{flag}"));
            }
        }
        if !self.traces.is_empty() {
            out.push_str(":temporal_prof_traces\n");
            for (index, text) in self.traces.iter().enumerate() {
                match index {
                    0 => out.push_str("# Num Temporal Profile Traces:\n"),
                    1 => out.push_str("# Temporal Profile Trace Stream Size:\n"),
                    weight if weight % 2 == 0 => out.push_str("# Weight:\n"),
                    _ => {}
                }
                line(&mut out, format_args!("{text}"));
            }
            out.push('\n');
        }
        let mut order: Vec<&Record> = self.records.iter().collect();
        order.sort_by(|a, b| (&a.name, a.hash, &a.counters).cmp(&(&b.name, b.hash, &b.counters)));
        for record in order {
            record.write(&mut out);
        }
        out
    }
}

/// Header flags in LLVM's order, with the comment it writes above each.
const FLAGS: [(&str, &str); 7] = [
    ("csir", "# CSIR level Instrumentation Flag\n"),
    ("ir", "# IR level Instrumentation Flag\n"),
    ("fe", ""),
    (
        "entry_first",
        "# Always instrument the function entry block\n",
    ),
    ("not_entry_first", ""),
    (
        "instrument_loop_entries",
        "# Always instrument the loop entry blocks\n",
    ),
    ("single_byte_coverage", "# Instrument block coverage\n"),
];

fn line(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a String can't fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}

fn read_record(lines: &mut Lines<'_>) -> Result<Record, TextError> {
    let (_, name) = lines.take("a name")?;
    let (at, hash) = lines.take("a function's hash")?;
    let hash = match hash.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => hash.parse(),
    }
    .map_err(|_| TextError {
        line: at,
        what: TextErrorKind::NotANumber("a function's hash"),
    })?;
    let at = lines.next.map_or(at, |(at, _)| at);
    let count: u64 = lines.number("the number of counters")?;
    if count == 0 {
        return Err(TextError {
            line: at,
            what: TextErrorKind::NoCounters,
        });
    }
    // Grows with the lines that are there, not with what the number says.
    let mut counters = Vec::with_capacity(count.min(1024) as usize);
    for _ in 0..count {
        counters.push(lines.number("a counter")?);
    }
    let bitmap = read_bitmap(lines)?;
    let values = read_values(lines)?;
    Ok(Record {
        name: name.to_owned(),
        hash,
        counters,
        bitmap,
        values,
    })
}

fn read_bitmap(lines: &mut Lines<'_>) -> Result<Vec<u8>, TextError> {
    const WHAT: &str = "a bitmap byte";
    let Some(count) = lines.peek().and_then(|line| line.strip_prefix('$')) else {
        return Ok(Vec::new());
    };
    let (at, _) = lines.take(WHAT)?;
    let bad = |line| TextError {
        line,
        what: TextErrorKind::NotANumber(WHAT),
    };
    let count: u64 = count.trim().parse().map_err(|_| bad(at))?;
    let mut bitmap = Vec::new();
    for _ in 0..count {
        let (at, byte) = lines.take(WHAT)?;
        let byte = match byte.strip_prefix("0x") {
            Some(hex) => u8::from_str_radix(hex, 16),
            None => byte.parse(),
        };
        bitmap.push(byte.map_err(|_| bad(at))?);
    }
    Ok(bitmap)
}

fn read_values(lines: &mut Lines<'_>) -> Result<Vec<ValueKind>, TextError> {
    let Some(kinds) = lines.peek().and_then(|line| line.parse::<u32>().ok()) else {
        return Ok(Vec::new());
    };
    let (at, _) = lines.take("value data")?;
    if kinds == 0 || kinds > MAX_VALUE_KINDS {
        return Err(TextError {
            line: at,
            what: TextErrorKind::ValueKinds(kinds),
        });
    }
    let mut values = Vec::new();
    for _ in 0..kinds {
        let kind = lines.number("a value kind")?;
        let count: u32 = lines.number("the number of value sites")?;
        let mut sites = Vec::new();
        for _ in 0..count {
            let seen: u32 = lines.number("the number of values")?;
            let mut site = Vec::new();
            for _ in 0..seen {
                let (at, text) = lines.take("a value")?;
                // The last colon: names of local functions may hold one.
                let pair = text
                    .rsplit_once(':')
                    .and_then(|(value, count)| Some((value, count.parse().ok()?)));
                let Some((value, count)) = pair else {
                    return Err(TextError {
                        line: at,
                        what: TextErrorKind::NotANumber("the count of a value"),
                    });
                };
                site.push((value.to_owned(), count));
            }
            sites.push(site);
        }
        values.push(ValueKind { kind, sites });
    }
    Ok(values)
}

impl Record {
    fn write(&self, out: &mut String) {
        line(out, format_args!("{}", self.name));
        line(out, format_args!("# Func Hash:\n{}", self.hash));
        line(
            out,
            format_args!("# Num Counters:\n{}", self.counters.len()),
        );
        out.push_str("# Counter Values:\n");
        for count in &self.counters {
            line(out, format_args!("{count}"));
        }
        if !self.bitmap.is_empty() {
            line(
                out,
                format_args!("# Num Bitmap Bytes:\n${}", self.bitmap.len()),
            );
            out.push_str("# Bitmap Byte Values:\n");
            for byte in &self.bitmap {
                line(out, format_args!("0x{byte:x}"));
            }
            out.push('\n');
        }
        if !self.values.is_empty() {
            line(
                out,
                format_args!("# Num Value Kinds:\n{}", self.values.len()),
            );
        }
        for kind in &self.values {
            let name = match kind.kind {
                0 => "IPVK_IndirectCallTarget",
                1 => "IPVK_MemOPSize",
                2 => "IPVK_VTableTarget",
                _ => "unknown",
            };
            line(out, format_args!("# ValueKind = {name}:\n{}", kind.kind));
            line(out, format_args!("# NumValueSites:\n{}", kind.sites.len()));
            for site in &kind.sites {
                line(out, format_args!("{}", site.len()));
                for (value, count) in site {
                    line(out, format_args!("{value}:{count}"));
                }
            }
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What llvm-profdata 22 wrote for the program in `tests-data/README.md`.
    const VALUES: &str = include_str!("../../tests-data/values.proftext");

    #[test]
    fn what_llvm_wrote_comes_back_byte_for_byte() {
        let profile = InstrProfile::parse(VALUES).unwrap();
        assert!(profile.is_ir());
        assert_eq!(profile.to_text(), VALUES);
        let run = profile.records.iter().find(|r| r.name == "run").unwrap();
        assert_eq!(run.counters, [100_000, 1]);
        assert_eq!(
            run.values,
            [ValueKind {
                kind: 0,
                sites: vec![vec![
                    ("values.c;a".to_owned(), 90_000),
                    ("values.c;b".to_owned(), 10_000)
                ]],
            }]
        );
    }

    #[test]
    fn equal_profiles_give_equal_bytes() {
        let a = InstrProfile::parse(":ir\ng\n1\n1\n5\n\nf\n0x2\n2\n1\n2\n").unwrap();
        let b = InstrProfile::parse("# x\n:IR\nf\n2\n2\n1\n2\ng\n1\n1\n5").unwrap();
        assert_eq!(a.to_text(), b.to_text());
        assert!(a.to_text().find("\nf\n") < a.to_text().find("\ng\n"));
    }

    #[test]
    fn flags_traces_bitmaps_and_empty_value_sites_are_kept() {
        let text = "# IR level Instrumentation Flag\n:ir\n\
            # Always instrument the function entry block\n:entry_first\n\
            # Always instrument the loop entry blocks\n:instrument_loop_entries\n\
            # Instrument block coverage\n:single_byte_coverage\n\
            :temporal_prof_traces\n# Num Temporal Profile Traces:\n1\n\
            # Temporal Profile Trace Stream Size:\n9\n# Weight:\n3\nf,g\n\n\
            f\n# Func Hash:\n7\n# Num Counters:\n1\n# Counter Values:\n1\n\
            # Num Bitmap Bytes:\n$2\n# Bitmap Byte Values:\n0x1f\n0x0\n\n\
            # Num Value Kinds:\n1\n# ValueKind = IPVK_VTableTarget:\n2\n# NumValueSites:\n2\n\
            0\n1\n_ZTV1A:4\n\n";
        let profile = InstrProfile::parse(text).unwrap();
        assert_eq!(profile.traces, ["1", "9", "3", "f,g"]);
        assert_eq!(profile.records[0].bitmap, [0x1f, 0]);
        assert_eq!(profile.records[0].values[0].sites.len(), 2);
        assert_eq!(profile.to_text(), text);
        assert_eq!(profile.like().flags.len(), 4);
    }

    #[test]
    fn nothing_is_an_empty_profile() {
        assert_eq!(InstrProfile::parse("").unwrap(), InstrProfile::default());
        assert_eq!(InstrProfile::parse("\n# x\n").unwrap().to_text(), "");
    }

    #[track_caller]
    fn fails(text: &str, message: &str) {
        let error = InstrProfile::parse(text).unwrap_err();
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn errors_name_the_line() {
        fails(":magic\n", "unknown header flag `:magic` at line 1");
        fails("f\n", "profile ends inside a function's hash at line 2");
        fails("f\nx\n", "a function's hash is not a number at line 2");
        fails("f\n1\n0\n", "function without counters at line 3");
        fails("f\n1\n\n0\n", "function without counters at line 4");
        fails("f\n1\n2\n5\n", "profile ends inside a counter at line 5");
        fails("f\n1\n1\n-5\n", "a counter is not a number at line 4");
        fails("f\n1\n1\n5\n77\n", "77 kinds of value data at line 5");
        fails(
            "f\n1\n1\n5\n1\n0\n1\n1\nname\n",
            "the count of a value is not a number at line 9",
        );
        fails(
            "f\n1\n1\n5\n$1\n300\n",
            "a bitmap byte is not a number at line 6",
        );
    }

    #[test]
    fn a_huge_length_is_not_allocated() {
        fails(
            "f\n1\n18446744073709551615\n1\n",
            "profile ends inside a counter at line 5",
        );
        fails(
            "f\n1\n1\n1\n1\n0\n4294967295\n0\n",
            "profile ends inside the number of values at line 9",
        );
    }

    #[test]
    fn no_prefix_and_no_changed_byte_makes_it_panic() {
        for end in 0..VALUES.len() {
            let _ = InstrProfile::parse(&VALUES[..end]);
            for byte in [b'\n', b'#', b':', b'$', b'9', b'x'] {
                let mut changed = VALUES.as_bytes().to_vec();
                changed[end] = byte;
                let changed = String::from_utf8(changed).unwrap();
                if let Ok(profile) = InstrProfile::parse(&changed) {
                    let text = profile.to_text();
                    // A name that begins with a colon is a flag to LLVM as well.
                    if byte == b':' {
                        continue;
                    }
                    assert_eq!(InstrProfile::parse(&text).unwrap().to_text(), text);
                }
            }
        }
    }
}
