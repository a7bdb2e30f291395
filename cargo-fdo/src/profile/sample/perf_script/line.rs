//! One line of what `perf script` prints.
//!
//! Which columns there are depends on `-F` and is not said in the text, but their order is always
//! the same (`process_event` in the kernel's `tools/perf/builtin-script.c`):
//!
//! ```text
//! comm  pid/tid or one of both  [cpu]  time:  period  event:  ip sym+off (file)  branches
//! ```

use crate::profile::sample::branches::Branch;

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::profile) enum Line<'a> {
    /// Nothing. Ends a call chain.
    Blank,
    /// A sample.
    Sample(SampleLine<'a>),
    /// A sample whose call chain follows.
    ChainHead(Head<'a>),
    /// An entry of a call chain.
    ChainEntry,
    /// The branch stack of the sample before.
    Branches(&'a [u8]),
    /// `PERF_RECORD_MMAP` or `PERF_RECORD_MMAP2` of memory that can run.
    Map {
        pid: u32,
        start: u64,
        len: u64,
        offset: u64,
        path: &'a [u8],
        build_id: Option<Vec<u8>>,
    },
    /// `PERF_RECORD_FORK`, of a process or a thread.
    Fork { pid: u32, tid: u32, parent: u32 },
    /// `PERF_RECORD_COMM`, of an exec or not.
    Comm { pid: u32, tid: u32, exec: bool },
    /// `PERF_RECORD_EXIT` of a thread.
    Exit { pid: u32, tid: u32 },
    /// `PERF_RECORD_LOST` or `PERF_RECORD_LOST_SAMPLES`: so many samples.
    Lost(u64),
    /// Another record, or a comment.
    Other,
    /// None of these.
    Unknown,
}

/// The columns before the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::profile) struct Head<'a> {
    /// The thread's name, if it stands before a process.
    pub(in crate::profile) comm: Option<&'a [u8]>,
    /// The process, where it is certain.
    pub(in crate::profile) pid: Option<u32>,
    /// The thread, or else the process: perf prints one number alike.
    pub(in crate::profile) tid_or_pid: Option<u32>,
    /// The event's name.
    pub(in crate::profile) event: Option<&'a [u8]>,
}

/// A sample on one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::profile) struct SampleLine<'a> {
    pub(in crate::profile) head: Head<'a>,
    pub(in crate::profile) ip: u64,
    /// What stands between the address and the branches: function and file.
    pub(in crate::profile) columns: &'a [u8],
    /// The file and the offset in it, printed by `-F +dsoff`.
    pub(in crate::profile) place: Option<(&'a [u8], u64)>,
    /// The rest of the line from the first branch on; perhaps empty.
    pub(in crate::profile) branches: &'a [u8],
}

impl<'a> Line<'a> {
    pub(in crate::profile) fn parse(line: &'a [u8]) -> Line<'a> {
        let trimmed = line.trim_ascii();
        if trimmed.is_empty() {
            return Line::Blank;
        }
        if trimmed[0] == b'#' {
            return Line::Other;
        }
        if let Some(at) = find(&line[..line.len().min(RECORD_WITHIN)], b"PERF_RECORD_") {
            return record(&line[at + b"PERF_RECORD_".len()..]);
        }
        if line[0] == b'\t' {
            let first = trimmed.split(u8::is_ascii_whitespace).next();
            return match first.and_then(hex) {
                Some(_) => Line::ChainEntry,
                None => Line::Unknown,
            };
        }
        if is_branch(trimmed) {
            return Line::Branches(trimmed);
        }
        sample(line).unwrap_or(Line::Unknown)
    }
}

/// The columns before a record's name are no longer than this.
const RECORD_WITHIN: usize = 256;

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|part| part == wanted)
}

/// Digits alone, without the `0x`.
fn hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0, |value, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        Some(value << 4 | u64::from(digit))
    })
}

/// `0x12`, or `0`, which perf prints without.
fn prefixed_hex(text: &[u8]) -> Option<u64> {
    match text.strip_prefix(b"0x") {
        Some(digits) => hex(digits),
        None => (text == b"0").then_some(0),
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// `-1` is perf's number of the kernel.
fn pid(digits: &[u8]) -> Option<u32> {
    if digits == b"-1" {
        return Some(u32::MAX);
    }
    u32::try_from(decimal(digits)?).ok()
}

/// `pid/tid` or one number of either.
fn pid_column(token: &[u8]) -> Option<(Option<u32>, u32)> {
    match token.iter().position(|&byte| byte == b'/') {
        Some(slash) => Some((Some(pid(&token[..slash])?), pid(&token[slash + 1..])?)),
        None => Some((None, pid(token)?)),
    }
}

/// Whether a token begins like `0x4005c8/0x4005dc/` or `0x4005c8(file)/`.
fn is_branch(token: &[u8]) -> bool {
    let Some(rest) = token.strip_prefix(b"0x") else {
        return false;
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit());
    matches!(rest.get(digits.count()), Some(b'/' | b'('))
}

/// Tokens with where they begin.
fn tokens(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = line.get(at..)?;
        let start = at + rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let rest = &line[start..];
        let space = rest.iter().position(u8::is_ascii_whitespace);
        at = start + space.unwrap_or(rest.len());
        Some((start, &line[start..at]))
    })
}

/// Tokens that are looked at for the columns before the address.
const HEAD_TOKENS: usize = 16;

fn sample(line: &[u8]) -> Option<Line<'_>> {
    let head: Vec<(usize, &[u8])> = tokens(line)
        .take(HEAD_TOKENS)
        .take_while(|(_, token)| token[0] != b'(' && !is_branch(token))
        .collect();
    let is_title = |token: &[u8]| token.len() > 1 && token.ends_with(b":");
    // The symbol behind the address may be anything, and so may the comm: a time decides, or else
    // the first title, and those that follow it with at most a period in between.
    let is_time_title = |token: &[u8]| is_title(token) && is_time(&token[..token.len() - 1]);
    let first_title = head
        .iter()
        .position(|(_, token)| is_time_title(token))
        .or_else(|| head.iter().position(|(_, token)| is_title(token)));
    let mut last_title = first_title;
    while let Some(last) = last_title {
        let title = |at: usize| head.get(at).is_some_and(|(_, token)| is_title(token));
        let period = || {
            head[last + 1..]
                .first()
                .and_then(|(_, token)| decimal(token))
        };
        if title(last + 1) {
            last_title = Some(last + 1);
        } else if title(last + 2) && period().is_some() {
            last_title = Some(last + 2);
        } else {
            break;
        }
    }
    let mut found = Head::default();
    let ip_at = match (first_title, last_title) {
        (Some(first), Some(last)) => {
            let before = head[..first].iter().rev();
            let mut before = before.filter(|(_, token)| !token.starts_with(b"["));
            let pid = before.find_map(|(at, token)| Some((*at, pid_column(token)?)));
            if let Some((at, (pid, either))) = pid {
                found.comm = comm_before(line, at);
                found.pid = pid;
                found.tid_or_pid = Some(either);
            }
            let event = &head[last].1[..head[last].1.len() - 1];
            found.event = (!is_time(event)).then_some(event);
            last + 1
        }
        _ => {
            let pid_at = untitled_pid(line, &head);
            if let Some((pid, either)) = pid_at.and_then(|at| pid_column(head[at].1)) {
                found.comm = pid_at.and_then(|at| comm_before(line, head[at].0));
                found.pid = pid;
                found.tid_or_pid = Some(either);
            }
            match pid_at {
                Some(at) => at + 1,
                None => head.iter().position(|(_, token)| hex(token).is_some())?,
            }
        }
    };
    let Some((at, token)) = head.get(ip_at) else {
        return first_title.map(|_| Line::ChainHead(found));
    };
    let ip = hex(token)?;
    let rest = &line[at + token.len()..];
    let branches = branches_at(rest).unwrap_or(rest.len());
    Some(Line::Sample(SampleLine {
        head: found,
        ip,
        columns: rest[..branches].trim_ascii(),
        place: place(rest[..branches].trim_ascii()),
        branches: rest[branches..].trim_ascii(),
    }))
}

/// The thread's name, which stands before the process.
fn comm_before(line: &[u8], at: usize) -> Option<&[u8]> {
    let comm = line.get(..at)?.trim_ascii();
    (!comm.is_empty()).then_some(comm)
}

/// The column of the process in a line that has neither time nor event, or `None`.
///
/// Addresses are printed 16 wide behind a blank, so what ends before is none.
fn untitled_pid(line: &[u8], head: &[(usize, &[u8])]) -> Option<usize> {
    const ADDRESS_END: usize = 16;
    let followed = |at: usize| {
        let next = head.get(at + 1).map(|(_, token)| *token);
        next.is_some_and(|next| hex(next).is_some())
    };
    let (start, first) = head.first()?;
    let is_pid = |token: &[u8]| pid_column(token).is_some();
    if hex(first).is_some() && start + first.len() >= ADDRESS_END && line[0] == b' ' {
        // An address, unless it is a name of digits before a number.
        let later = (1..head.len()).find(|&at| is_pid(head[at].1) && followed(at));
        return later.filter(|_| !is_pid(first) && head.len() > 2);
    }
    (0..head.len()).find(|&at| is_pid(head[at].1) && followed(at))
}

fn is_time(title: &[u8]) -> bool {
    title
        .iter()
        .all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// Where the first branch begins.
fn branches_at(rest: &[u8]) -> Option<usize> {
    tokens(rest)
        .find(|(_, token)| is_branch(token))
        .map(|(at, _)| at)
}

/// `(file+0x12)` at the end of the symbol's columns.
fn place(columns: &[u8]) -> Option<(&[u8], u64)> {
    let inner = columns.strip_suffix(b")")?;
    let open = inner.windows(2).rposition(|part| part == b" (");
    let inner = match open {
        Some(open) => &inner[open + 2..],
        None => inner.strip_prefix(b"(")?,
    };
    let plus = inner.windows(3).rposition(|part| part == b"+0x")?;
    Some((&inner[..plus], hex(&inner[plus + 3..])?))
}

/// What follows `PERF_RECORD_`.
fn record(text: &[u8]) -> Line<'_> {
    let parsed = if let Some(rest) = text.strip_prefix(b"MMAP2 ") {
        map(rest)
    } else if let Some(rest) = text.strip_prefix(b"MMAP ") {
        map(rest)
    } else if let Some(rest) = text.strip_prefix(b"FORK(") {
        task(rest).map(|((pid, tid), parent)| Line::Fork { pid, tid, parent })
    } else if let Some(rest) = text.strip_prefix(b"EXIT(") {
        task(rest).map(|((pid, tid), _)| Line::Exit { pid, tid })
    } else if let Some(rest) = text.strip_prefix(b"COMM") {
        comm(rest)
    } else if let Some(rest) = text.strip_prefix(b"LOST") {
        // "LOST lost 12", "LOST_SAMPLES lost 12".
        let lost = find(rest, b"lost ").and_then(|at| decimal(rest[at + 5..].trim_ascii()));
        Some(Line::Lost(lost.unwrap_or(0)))
    } else {
        Some(Line::Other)
    };
    parsed.unwrap_or(Line::Unknown)
}

/// `12/12: [0x7f12(0x4000) @ 0x1000 08:02 17 0]: r-xp /path`, the path to the line's end; instead of
/// device, inode and generation there may be `<build id>`, or nothing.
fn map(text: &[u8]) -> Option<Line<'_>> {
    let slash = text.iter().position(|&byte| byte == b'/')?;
    let open = find(text, b": [")?;
    let inner = &text[open + 3..];
    let close = find(inner, b"]: ")?;
    let (inner, behind) = (&inner[..close], &inner[close + 3..]);
    let paren = inner.iter().position(|&byte| byte == b'(')?;
    let at = find(inner, b") @ ")?;
    let mut columns = tokens(&inner[at + 4..]).map(|(_, token)| token);
    let offset = prefixed_hex(columns.next()?)?;
    let build_id = columns.next().and_then(|column| {
        let digits = column.strip_prefix(b"<")?.strip_suffix(b">")?;
        let bytes = digits.chunks_exact(2).map(|pair| Some(hex(pair)? as u8));
        bytes
            .collect::<Option<Vec<u8>>>()
            .filter(|id| !id.is_empty())
    });
    let space = behind.iter().position(|&byte| byte == b' ')?;
    let (protection, path) = (&behind[..space], &behind[space + 1..]);
    if !protection.contains(&b'x') {
        return Some(Line::Other);
    }
    Some(Line::Map {
        pid: pid(text.get(..slash)?)?,
        start: prefixed_hex(&inner[..paren])?,
        len: prefixed_hex(inner.get(paren + 1..at)?)?,
        offset,
        path: path.trim_ascii_end(),
        build_id,
    })
}

/// `12:13):(11:11)`: pid and tid, then the parent's pid.
fn task(text: &[u8]) -> Option<((u32, u32), u32)> {
    let mut numbers = text
        .split(|byte| matches!(byte, b':' | b'(' | b')'))
        .filter(|part| !part.trim_ascii().is_empty())
        .map(pid);
    let mut next = || numbers.next()?;
    Some(((next()?, next()?), next()?))
}

/// `: name:12/13` or ` exec: name:12/12`.
fn comm(text: &[u8]) -> Option<Line<'_>> {
    let exec = text.starts_with(b" exec:");
    let colon = text.iter().rposition(|&byte| byte == b':')?;
    let (pid, tid) = pid_column(text[colon + 1..].trim_ascii())?;
    Some(Line::Comm {
        pid: pid?,
        tid,
        exec,
    })
}

/// The branches of a stack, newest first, up to the first that is none.
///
/// `0x4005c8/0x4005dc/P/-/-/0` and more parts; each address may be followed by `(file)`. Those that
/// were speculated on the wrong path are left out.
pub(in crate::profile::sample) fn branches(mut text: &[u8]) -> impl Iterator<Item = Branch> {
    std::iter::from_fn(move || {
        loop {
            text = text.trim_ascii_start();
            let (from, rest) = branch_end(text)?;
            let (to, rest) = branch_end(rest.strip_prefix(b"/")?)?;
            let space = rest.iter().position(u8::is_ascii_whitespace);
            let (flags, behind) = rest.split_at(space.unwrap_or(rest.len()));
            text = behind;
            if find(flags, b"/SPEC_WRONG_PATH").is_none() {
                return Some(Branch::of(from, to));
            }
        }
    })
}

/// An address, and what follows it and the file in parentheses.
fn branch_end(text: &[u8]) -> Option<(u64, &[u8])> {
    let len = text
        .iter()
        .position(|byte| !byte.is_ascii_hexdigit() && *byte != b'x')
        .unwrap_or(text.len());
    let (digits, mut rest) = text.split_at(len);
    let address = prefixed_hex(digits)?;
    if rest.first() == Some(&b'(') {
        rest = &rest[rest.iter().position(|&byte| byte == b')')? + 1..];
    }
    Some((address, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_of(line: &str) -> (Option<u32>, Option<u32>, Option<String>, u64) {
        match Line::parse(line.as_bytes()) {
            Line::Sample(sample) => (
                sample.head.pid,
                sample.head.tid_or_pid,
                sample
                    .head
                    .event
                    .map(|name| String::from_utf8_lossy(name).into()),
                sample.ip,
            ),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn samples_are_found_whatever_the_columns() {
        let ip = 0x7f1f_33a9_c6e1;
        let event = |name: &str| Some(name.to_owned());
        for (line, expected) in [
            ("     7f1f33a9c6e1", (None, None, None, ip)),
            ("16545      7f1f33a9c6e1", (None, Some(16545), None, ip)),
            (
                "16545/16547      7f1f33a9c6e1",
                (Some(16545), Some(16547), None, ip),
            ),
            (
                "              sh      7f1f33a9c6e1 dl_main",
                (None, None, None, ip),
            ),
            (
                "     7f1f33a9c6e1 add+0x721 (/usr/lib/ld.so)",
                (None, None, None, ip),
            ),
            (
                "16545      7f1f33a9c6e1 add (/usr/lib/ld.so)",
                (None, Some(16545), None, ip),
            ),
            (
                "              sh 16545/16545   745.980992: cpu-clock:      7f1f33a9c6e1 dl_main (/l)",
                (Some(16545), Some(16545), event("cpu-clock"), ip),
            ),
            (
                "   My Comm: x 16545 [001]   745.980992:     250000 cycles:u:      7f1f33a9c6e1 a::b() (/l)",
                (None, Some(16545), event("cycles:u"), ip),
            ),
            (
                "              sh 16545   745.980992:      7f1f33a9c6e1 operator new(int) (/l)",
                (None, Some(16545), None, ip),
            ),
            (
                " 401136 0x401200/0x401130/P/-/-/0",
                (None, None, None, 0x40_1136),
            ),
            (
                "25532      7ffff7b11b17 0x7ff/0x7fe/P/-/-/0/",
                (None, Some(25532), None, 0x7fff_f7b1_1b17),
            ),
            ("          401136 add", (None, None, None, 0x40_1136)),
        ] {
            assert_eq!(sample_of(line), expected, "{line}");
        }
    }

    #[test]
    fn offsets_in_files_are_taken() {
        let line = b"  12  401136 a(b) (/opt/my (dir)/x+0x1136) 0x1/0x2/P/-/-/0";
        let Line::Sample(sample) = Line::parse(line) else {
            panic!()
        };
        assert_eq!(sample.place.map(|(_, offset)| offset), Some(0x1136));
        assert_eq!(branches(sample.branches).count(), 1);
    }

    #[test]
    fn records_are_read() {
        let line = b"sh 16545   745.98: PERF_RECORD_MMAP2 16545/16545: [0x55ea8cbe6000(0x13000) @ 0x4000 fe:00 247076 0]: r-xp /usr/bin/da sh";
        assert_eq!(
            Line::parse(line),
            Line::Map {
                pid: 16545,
                start: 0x55ea_8cbe_6000,
                len: 0x13000,
                offset: 0x4000,
                path: b"/usr/bin/da sh",
                build_id: None
            }
        );
        let with_id = b"PERF_RECORD_MMAP2 7/7: [0x1000(0x2000) @ 0 <00ff10>]: r-xp /a";
        assert!(matches!(
            Line::parse(with_id),
            Line::Map { build_id: Some(id), offset: 0, .. } if id == [0, 255, 16]
        ));
        let data = b"PERF_RECORD_MMAP2 7/7: [0x1000(0x2000) @ 0 <00ff10>]: r--p /a";
        assert_eq!(Line::parse(data), Line::Other);
        assert_eq!(
            Line::parse(b"1 PERF_RECORD_FORK(16549:16550):(16545:16546)"),
            Line::Fork {
                pid: 16549,
                tid: 16550,
                parent: 16545
            }
        );
        assert_eq!(
            Line::parse(b"1 PERF_RECORD_COMM exec: my:comm:16551/16552"),
            Line::Comm {
                pid: 16551,
                tid: 16552,
                exec: true
            }
        );
        assert_eq!(
            Line::parse(b"PERF_RECORD_EXIT(3:4):(1:1)"),
            Line::Exit { pid: 3, tid: 4 }
        );
        assert_eq!(Line::parse(b" PERF_RECORD_LOST lost 12"), Line::Lost(12));
    }

    #[test]
    fn branch_stacks_are_read_in_every_spelling() {
        let stack = b"0x10/0x20/P/-/-/0  0x30(/a b)/0x40(/c)/M/-/-/3/COND/NON_SPEC_CORRECT_PATH 0x50/0x60/P/-/-/0/RET/SPEC_WRONG_PATH 0xffffffff80000000/0x70/P junk";
        let read: Vec<Branch> = branches(stack).collect();
        assert_eq!(
            read,
            [
                Branch::of(0x10, 0x20),
                Branch::of(0x30, 0x40),
                Branch::of(0, 0x70)
            ]
        );
    }

    #[test]
    fn prose_is_not_understood() {
        for line in [
            "hello world",
            "  -- ",
            "\tnot hex",
            "PERF_RECORD_MMAP2 broken",
        ] {
            assert_eq!(Line::parse(line.as_bytes()), Line::Unknown, "{line}");
        }
    }
}
