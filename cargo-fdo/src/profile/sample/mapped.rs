//! Files that are mapped into memory instead of read.

use memmap2::{Mmap, UncheckedAdvice};
use std::fs::File;
use std::io;
use std::path::Path;

/// A program or debug file, mapped.
#[derive(Debug)]
pub struct Mapped {
    map: Mmap,
}

impl Mapped {
    /// Maps a file.
    ///
    /// It must not be written to as long as it is mapped: a program that is built anew meanwhile
    /// is another file, as linkers make new ones, but one that is cut short kills this process.
    ///
    /// # Errors
    ///
    /// If it can't be opened or mapped.
    pub fn open(path: &Path) -> io::Result<Mapped> {
        let file = File::open(path)?;
        // SAFETY: bytes that change under way give wrong results or errors, as a damaged file
        // does: readers of it check each offset anew and take no reference to what it was.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Mapped { map })
    }

    /// Its content.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Gives back the memory of pages that were looked at; they are read again when they are
    /// looked at again.
    pub(super) fn release(&self) {
        // SAFETY: the mapping is of a file and was never written to, so its pages have the same
        // content when they come back.
        let released = unsafe { self.map.unchecked_advise(UncheckedAdvice::DontNeed) };
        // What can't be given back is kept.
        let _ = released;
    }
}
