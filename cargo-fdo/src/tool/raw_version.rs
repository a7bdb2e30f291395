//! The version of the raw profile format, as written into a compiler's objects.
//!
//! Every object with IR-level counters carries the format that it expects from its runtime in
//! `__llvm_profile_raw_version`. One image has one runtime: a C object of another version
//! links without a word and then crashes the program or spoils its profile. So the number is
//! read before anything is linked, and no table of compiler versions is needed.

use crate::fs::FsError;
use object::{Object, ObjectSection, ObjectSymbol};
use std::path::{Path, PathBuf};

/// The upper half says what kind of counters they are.
const VERSION_MASK: u64 = 0xffff_ffff;

/// Why the version can't be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file can't be read.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The compiler wrote something that is no object.
    #[error("`{}` is not an object file", path.display())]
    NoObject {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: object::Error,
    },
}

/// Reads the version from an object file; `None` if it has no IR-level LLVM counters.
///
/// # Errors
///
/// Unreadable, or not an object file (link-time optimisation leaves bitcode, for one).
pub fn read(path: &Path) -> Result<Option<u64>, Error> {
    let data = std::fs::read(path).map_err(|error| FsError::new("read", path, error))?;
    let file = object::File::parse(&*data).map_err(|source| Error::NoObject {
        path: path.to_owned(),
        source,
    })?;
    Ok(from_object(&file))
}

fn from_object(file: &object::File<'_>) -> Option<u64> {
    // Mach-O puts one more underscore before C names.
    let symbol = file.symbols().find(|symbol| {
        symbol
            .name()
            .is_ok_and(|name| name.trim_start_matches('_') == "llvm_profile_raw_version")
    })?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let bytes = section.data_range(symbol.address(), 8).ok()??;
    let bytes = <[u8; 8]>::try_from(bytes).ok()?;
    let value = if file.is_little_endian() {
        u64::from_le_bytes(bytes)
    } else {
        u64::from_be_bytes(bytes)
    };
    Some(value & VERSION_MASK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_named_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.o");
        std::fs::write(&path, b"\x7fELF\x02\x01\x01garbage").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("x.o` is not an object file"), "{error}");
    }
}
