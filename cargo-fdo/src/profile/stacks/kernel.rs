//! Names of the kernel's functions, from `/proc/kallsyms`.
//!
//! The kernel is put somewhere else at each start. A recording says where one symbol was, so
//! addresses of another start can be moved; those of modules can't, and lie elsewhere each time.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Longest line that is read.
const MAX_LINE: u64 = 1024;

/// The kernel of a recording, as far as it says.
#[derive(Debug, Clone, Default)]
pub(super) struct Recorded {
    /// A symbol, and its address then.
    anchor: Option<(String, u64)>,
    /// The build id of the kernel.
    pub(super) build_id: Option<Vec<u8>>,
}

impl Recorded {
    /// Takes a mapping of the kernel: `[kernel.kallsyms]_text`, whose offset is that symbol's
    /// address.
    pub(super) fn map(&mut self, path: &[u8], offset: u64) {
        if let Some(symbol) = path.strip_prefix(b"[kernel.kallsyms]")
            && !symbol.is_empty()
        {
            self.anchor = Some((String::from_utf8_lossy(symbol).into_owned(), offset));
        }
    }
}

/// The running kernel.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// Address, and where the name begins in `names`.
    symbols: Vec<(u64, u32)>,
    /// Names, one after the other, each ended by a line break.
    names: String,
    /// What to add to a recorded address, modulo 2^64.
    shift: u64,
}

impl Kernel {
    /// The running kernel if it is the recorded one and says its addresses.
    pub(super) fn running(kallsyms: &Path, recorded: &Recorded) -> Option<Kernel> {
        let text = std::fs::File::open(kallsyms).ok()?;
        let notes = std::fs::read("/sys/kernel/notes").ok();
        let build_id = notes.as_deref().and_then(build_id);
        Kernel::read(text, build_id, recorded)
    }

    fn read(text: impl Read, build_id: Option<&[u8]>, recorded: &Recorded) -> Option<Kernel> {
        let mut kernel = Kernel::default();
        let mut anchor = None;
        let mut text = BufReader::new(text);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = text.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
            if read.ok()? == 0 {
                break;
            }
            let Some((address, kind, name)) = symbol(&line) else {
                continue;
            };
            if let Some((wanted, _)) = &recorded.anchor
                && wanted == name
            {
                anchor = Some(address);
            }
            if address != 0 && b"tTwW".contains(&kind) {
                let at = u32::try_from(kernel.names.len()).ok()?;
                kernel.symbols.push((address, at));
                kernel.names.push_str(name);
                kernel.names.push('\n');
            }
        }
        kernel.symbols.sort_by_key(|(address, _)| *address);
        let same_build = match (&recorded.build_id, build_id) {
            (Some(recorded), Some(now)) => Some(recorded == now),
            _ => None,
        };
        kernel.shift = match (&recorded.anchor, anchor) {
            (Some((_, then)), Some(now)) => now.wrapping_sub(*then),
            _ => 0,
        };
        let usable = match same_build {
            Some(same) => same,
            // The same place twice is no chance.
            None => kernel.shift == 0,
        };
        (usable && !kernel.symbols.is_empty()).then_some(kernel)
    }

    /// The function at a recorded address.
    pub(super) fn function(&self, address: u64) -> Option<&str> {
        let address = address.wrapping_add(self.shift);
        let after = self.symbols.partition_point(|(start, _)| *start <= address);
        let (_, at) = self.symbols.get(after.checked_sub(1)?)?;
        let name = self.names.get(*at as usize..)?.split('\n').next();
        name.filter(|name| !name.is_empty())
    }
}

/// `ffffffff81000000 T _text`, perhaps with a `[module]` behind.
fn symbol(line: &[u8]) -> Option<(u64, u8, &str)> {
    let line = std::str::from_utf8(line).ok()?;
    let mut columns = line.split_ascii_whitespace();
    let address = u64::from_str_radix(columns.next()?, 16).ok()?;
    let kind = *columns.next()?.as_bytes().first()?;
    Some((address, kind, columns.next()?))
}

/// The GNU build id among notes: lengths of name and content, type, both padded to 4 bytes.
fn build_id(notes: &[u8]) -> Option<&[u8]> {
    const GNU_BUILD_ID: u32 = 3;
    let mut rest = notes;
    loop {
        let word = |at: usize| Some(u32::from_ne_bytes(*rest.get(at..)?.first_chunk()?));
        let (name, content, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let content_at = 12 + name.checked_next_multiple_of(4)?;
        let end = content_at.checked_add(content)?;
        let found = rest.get(content_at..end)?;
        if kind == GNU_BUILD_ID && rest.get(12..16) == Some(b"GNU\0") {
            return Some(found);
        }
        rest = rest.get(end.checked_next_multiple_of(4)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "ffffffff81000000 T _text\nffffffff81000100 t do_it\n\
                        ffffffff81000180 d table\nffffffff81000200 T next\n\
                        nonsense\nffffffffc0000000 t read_it\t[module]\n";

    fn recorded(address: u64, build_id: Option<u8>) -> Recorded {
        let mut recorded = Recorded::default();
        recorded.map(b"[kernel.kallsyms]_text", address);
        recorded.build_id = build_id.map(|id| vec![id; 20]);
        recorded
    }

    #[test]
    fn functions_by_address() {
        let here = recorded(0xffff_ffff_8100_0000, None);
        let kernel = Kernel::read(TEXT.as_bytes(), None, &here).unwrap();
        assert_eq!(kernel.function(0xffff_ffff_8100_01ff), Some("do_it"));
        assert_eq!(kernel.function(0xffff_ffff_c000_0010), Some("read_it"));
        assert_eq!(kernel.function(0xffff_ffff_8000_0000), None);
    }

    #[test]
    fn a_kernel_that_was_started_anew_is_the_same_only_by_its_build_id() {
        let moved = 0xffff_ffff_9100_0000;
        let id = [7; 20];
        let read = |recorded, id| Kernel::read(TEXT.as_bytes(), id, &recorded);
        assert!(read(recorded(moved, None), None).is_none());
        assert!(read(recorded(moved, Some(8)), Some(&id)).is_none());
        let kernel = read(recorded(moved, Some(7)), Some(&id)).unwrap();
        assert_eq!(kernel.function(0xffff_ffff_9100_0100), Some("do_it"));
    }

    #[test]
    fn a_kernel_that_hides_its_addresses_has_no_names() {
        let text = "0000000000000000 T _text\n0000000000000000 t do_it\n";
        let recorded = Recorded::default();
        assert!(Kernel::read(text.as_bytes(), None, &recorded).is_none());
    }

    #[test]
    fn the_build_id_is_among_the_notes() {
        let mut notes = Vec::new();
        for word in [6_u32, 3, 257] {
            notes.extend(word.to_ne_bytes());
        }
        notes.extend(b"Linux\0\0\0abc\0");
        for word in [4_u32, 4, 3] {
            notes.extend(word.to_ne_bytes());
        }
        notes.extend(b"GNU\0\x01\x02\x03\x04");
        assert_eq!(build_id(&notes), Some(&[1, 2, 3, 4][..]));
        for end in 0..notes.len() {
            assert_eq!(build_id(&notes[..end]), None);
        }
    }
}
