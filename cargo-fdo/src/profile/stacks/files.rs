//! The files that ran, by number, and what of them can be read here.
//!
//! A recording may be of another machine, or of programs that were replaced since: a file is
//! believed if its build id is the recorded one, or if the recording has none.

use crate::profile::sample::debug_file;
use crate::profile::sample::image::Image;
use crate::profile::sample::images::is_file;
use crate::profile::sample::mapped::Mapped;
use rustc_hash::FxHashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

type Bytes = Box<[u8]>;

/// The part of the kernel's code that each process has mapped.
const VDSO: &[u8] = b"[vdso]";

/// All files of a recording, by number.
#[derive(Debug, Default)]
pub(super) struct Files {
    numbers: FxHashMap<(Bytes, Option<Bytes>), u32>,
    files: Vec<File>,
}

/// A file that ran.
#[derive(Debug, Clone)]
pub(super) struct File {
    /// As the kernel gave it.
    path: Bytes,
    build_id: Option<Bytes>,
}

/// Why code has no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The file is not here, or can't be read.
    NoFile,
    /// The file is here, but of another build than the recorded one.
    OtherBuild,
    /// The file has no symbols that cover the code: it is stripped, and the code is not what it
    /// exports.
    NoSymbols,
    /// No file holds the code: it was made at run time, or its mapping was lost.
    NoMapping,
    /// The kernel does not say its addresses to this user, or is another one than the recorded.
    Kernel,
    /// perf, which printed the text, had none.
    ByPerf,
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Cause::NoFile => "is not here, or can't be read",
            Cause::OtherBuild => "is here in another build than was recorded",
            Cause::NoSymbols => "is stripped of its symbols, and no debug file of it is here",
            Cause::NoMapping => "has code that was made at run time, or whose mapping is lost",
            Cause::Kernel => {
                "does not tell its addresses (/proc/sys/kernel/kptr_restrict), or is another one \
                 now"
            }
            Cause::ByPerf => "had no symbols where `perf script` ran",
        })
    }
}

impl Files {
    /// The number of a file; `None` for memory that has no file behind it.
    pub(super) fn number(&mut self, path: &[u8], build_id: Option<&[u8]>) -> Option<u32> {
        if !is_file(path) {
            return None;
        }
        let key = (path.into(), build_id.map(Into::into));
        if let Some(&number) = self.numbers.get(&key) {
            return Some(number);
        }
        let number = u32::try_from(self.files.len()).ok()?;
        self.files.push(File {
            path: path.into(),
            build_id: build_id.map(Into::into),
        });
        self.numbers.insert(key, number);
        Some(number)
    }

    pub(super) fn get(&self, number: u32) -> Option<&File> {
        self.files.get(number as usize)
    }

    /// Adds build ids that are told at the end of a recording.
    pub(super) fn learn(&mut self, build_id: impl Fn(&[u8]) -> Option<Vec<u8>>) {
        for file in &mut self.files {
            if file.build_id.is_none() {
                file.build_id = build_id(&file.path).map(Vec::into_boxed_slice);
            }
        }
    }
}

impl File {
    /// Its path as it was recorded.
    pub(super) fn path(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }

    /// What stands for code of it without a name: `[libc.so.6]`.
    pub(super) fn bracketed(&self) -> String {
        let path = strip_deleted(&self.path).0;
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let name = String::from_utf8_lossy(name);
        format!("[{}]", name.trim_matches(['[', ']']))
    }

    /// Its content, if it is here and the one that ran.
    pub(super) fn open(&self) -> Result<Content, Cause> {
        if *self.path == *VDSO {
            return vdso().map(Content::Copied).ok_or(Cause::NoFile);
        }
        let (path, deleted) = strip_deleted(&self.path);
        let path = Path::new(OsStr::from_bytes(path));
        let content = map(path).ok_or(Cause::NoFile)?;
        let image = Image::read(content.bytes()).map_err(|_| Cause::NoFile)?;
        match (&self.build_id, &image.build_id) {
            (Some(recorded), Some(now)) if **recorded == **now => {}
            (Some(_), Some(_)) => return Err(Cause::OtherBuild),
            // Another one has its place.
            (None, _) | (_, None) if deleted => return Err(Cause::OtherBuild),
            _ => {}
        }
        Ok(content)
    }

    /// Its debug information, where that is in a file apart.
    pub(super) fn debug(&self, image: &Image<'_>, directories: &[PathBuf]) -> Option<Content> {
        let path = Path::new(OsStr::from_bytes(strip_deleted(&self.path).0));
        debug_file::candidates(path, image, directories)
            .iter()
            .filter_map(|path| map(path))
            .find(|content| debug_file::belongs(image, content.bytes()))
    }
}

/// A path without what the kernel adds where the file has no name any more.
fn strip_deleted(path: &[u8]) -> (&[u8], bool) {
    match path.strip_suffix(b" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    }
}

/// The bytes of a file.
#[derive(Debug)]
pub(super) enum Content {
    Mapped(Mapped),
    Copied(Vec<u8>),
}

impl Content {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Content::Mapped(mapped) => mapped.bytes(),
            Content::Copied(bytes) => bytes,
        }
    }

    /// An image with the debug information that is in here.
    pub(super) fn complete<'d>(&'d self, image: Image<'d>) -> Option<Image<'d>> {
        match self {
            Content::Mapped(mapped) => image.with_mapped_debug(mapped).ok(),
            Content::Copied(bytes) => image.with_debug(bytes).ok(),
        }
    }

    pub(super) fn image(&self) -> Option<Image<'_>> {
        match self {
            Content::Mapped(mapped) => Image::mapped(mapped).ok(),
            Content::Copied(bytes) => Image::read(bytes).ok(),
        }
    }
}

/// Maps a file. A recording may name anything: pipes would block, and devices do what they do.
fn map(path: &Path) -> Option<Content> {
    let usable = path.is_absolute() && path.metadata().is_ok_and(|data| data.is_file());
    usable.then(|| Mapped::open(path).ok().map(Content::Mapped))?
}

/// A copy of this process's own, which all processes of one kernel share.
fn vdso() -> Option<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, rest) = line.split_once('-')?;
    let end = rest.split(' ').next()?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let len = u64::from_str_radix(end, 16).ok()?.checked_sub(start)?;
    // A few pages.
    let mut bytes = vec![0; usize::try_from(len.min(1 << 20)).ok()?];
    let memory = std::fs::File::open("/proc/self/mem").ok()?;
    memory.read_exact_at(&mut bytes, start).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, build_id: Option<&[u8]>) -> File {
        File {
            path: path.as_bytes().into(),
            build_id: build_id.map(Into::into),
        }
    }

    #[test]
    fn a_file_is_believed_by_its_build_id() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests-data/sampled-clang.elf");
        let id = &[1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef][..];
        assert!(file(path, Some(id)).open().is_ok());
        assert!(file(path, None).open().is_ok());
        let cause = |file: File| file.open().unwrap_err();
        assert_eq!(cause(file(path, Some(&[1, 2]))), Cause::OtherBuild);
        let deleted = format!("{path} (deleted)");
        assert!(file(&deleted, Some(id)).open().is_ok());
        assert_eq!(cause(file(&deleted, None)), Cause::OtherBuild);
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        for path in [
            "/dev/zero",
            "/",
            "relative",
            "/nowhere/at/all",
            "/proc/self/maps",
        ] {
            assert_eq!(file(path, None).open().err(), Some(Cause::NoFile), "{path}");
        }
    }

    #[test]
    fn code_without_a_name_is_called_by_its_file() {
        let name = |path| file(path, None).bracketed();
        assert_eq!(name("/usr/lib/libc.so.6"), "[libc.so.6]");
        assert_eq!(name("/a/b (deleted)"), "[b]");
        assert_eq!(name("[vdso]"), "[vdso]");
    }

    #[test]
    fn the_vdso_of_this_kernel_is_an_image() {
        if let Some(bytes) = vdso() {
            assert!(Image::read(&bytes).unwrap().has_symbols());
        }
    }
}
