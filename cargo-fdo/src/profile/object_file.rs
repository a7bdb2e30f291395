//! Object files, archives and executables: which functions were instrumented, and by whom.
//!
//! An instrumented object carries its counters, records and names in sections of their own
//! (`llvm/ProfileData/InstrProfData.inc`, `INSTR_PROF_SECT_ENTRY`):
//!
//! | | ELF, Mach-O (`__DATA`) | COFF |
//! | --- | --- | --- |
//! | counters | `__llvm_prf_cnts` | `.lprfc` |
//! | records | `__llvm_prf_data` | `.lprfd` |
//! | names | `__llvm_prf_names` | `.lprfn` |
//!
//! and, if its counters are of the IR level, the symbol `__llvm_profile_raw_version`.

use super::packed_names::{self, NamesError};
use super::{digest, raw};
use object::read::archive::ArchiveFile;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind, SymbolKind};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

/// Why a file can't be read as an object.
#[derive(Debug)]
#[non_exhaustive]
pub enum ObjectError {
    /// Not an object file of a known kind, or a damaged one.
    Object(object::read::Error),
    /// The list of names is damaged.
    Names(NamesError),
    /// An archive can't be opened or read.
    Io(PathBuf, io::Error),
    /// Not an archive, or a damaged one.
    Archive(PathBuf, object::read::Error),
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObjectError::Object(_) => f.write_str("can't read the object file"),
            ObjectError::Names(error) => error.fmt(f),
            ObjectError::Io(path, _) => write!(f, "can't read `{}`", path.display()),
            ObjectError::Archive(path, _) => {
                write!(f, "can't read the archive `{}`", path.display())
            }
        }
    }
}

impl std::error::Error for ObjectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ObjectError::Object(error) | ObjectError::Archive(_, error) => Some(error),
            ObjectError::Io(_, error) => Some(error),
            ObjectError::Names(_) => None,
        }
    }
}

impl From<object::read::Error> for ObjectError {
    fn from(error: object::read::Error) -> Self {
        ObjectError::Object(error)
    }
}

/// What an object file, executable or shared library holds for profiling.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// Whether there is a counter section.
    pub has_counters: bool,
    /// Bytes of counters, 8 for each counter.
    pub counter_bytes: u64,
    /// Functions with counters.
    pub records: u64,
    /// Value of `__llvm_profile_raw_version`: layout version in the lower half
    /// ([`raw::layout_version`]), [`raw::VARIANT_IR`] and other flags in the upper.
    ///
    /// `None` in an object with counters means front-end counters
    /// (`-fprofile-instr-generate`), which are lost beside Rust's.
    pub raw_version: Option<u64>,
    /// Profile names of the instrumented functions, in file order. Empty in linked files whose
    /// names were moved elsewhere.
    pub names: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Counters,
    Records,
    Names,
}

fn part(section: &str) -> Option<Part> {
    // COFF objects have an ordering suffix: `.lprfc$M`.
    let name = section.split('$').next().unwrap_or(section);
    Some(match name {
        "__llvm_prf_cnts" | ".lprfc" => Part::Counters,
        "__llvm_prf_data" | ".lprfd" => Part::Records,
        "__llvm_prf_names" | ".lprfn" => Part::Names,
        _ => return None,
    })
}

/// Finds out what an object file, executable or shared library counts.
///
/// # Errors
///
/// If it is no object file or its list of names is damaged. An object that was not instrumented is
/// no error.
pub fn counters(bytes: &[u8]) -> Result<Counters, ObjectError> {
    let file = object::File::parse(bytes)?;
    let mut found = Counters::default();
    let mut record_bytes = 0u64;
    for section in file.sections() {
        // A name that is no UTF-8 is none of ours.
        match section.name().ok().and_then(part) {
            Some(Part::Counters) => {
                found.has_counters = true;
                found.counter_bytes = found.counter_bytes.saturating_add(section.size());
            }
            Some(Part::Records) => record_bytes = record_bytes.saturating_add(section.size()),
            Some(Part::Names) => {
                let names = packed_names::unpack(section.data()?).map_err(ObjectError::Names)?;
                found.names.extend(names);
            }
            None => {}
        }
    }
    found.raw_version = raw_version(&file);
    let version = found.raw_version.map_or(10, raw::layout_version);
    let pointer = if file.is_64() { 8 } else { 4 };
    found.records = record_bytes / raw::record_size(version, pointer).unwrap_or(64);
    Ok(found)
}

/// What [`raw::RawProfile::functions_id`] is of the raw profiles of a linked file; `None` if it has
/// no counters, or is no such file.
pub fn functions_id(bytes: &[u8]) -> Option<String> {
    let file = object::File::parse(bytes).ok()?;
    let version = raw_version(&file).map_or(10, raw::layout_version);
    let pointer = if file.is_64() { 8 } else { 4 };
    let each = usize::try_from(raw::record_size(version, pointer)?).ok()?;
    let is_records = |section: &object::Section<'_, '_>| {
        section.name().ok().and_then(part) == Some(Part::Records)
    };
    let records = file.sections().find(is_records)?.data().ok()?;
    Some(raw::functions_id(records, each))
}

fn raw_version(file: &object::File<'_>) -> Option<u64> {
    let symbol = file.symbols().find(|symbol| {
        let name = symbol.name().unwrap_or_default();
        !symbol.is_undefined()
            // Mach-O puts one more underscore before every symbol.
            && matches!(name, "__llvm_profile_raw_version" | "___llvm_profile_raw_version")
    })?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let data = section.data_range(symbol.address(), 8).ok()??;
    let bytes = *data.first_chunk::<8>()?;
    Some(if file.is_little_endian() {
        u64::from_le_bytes(bytes)
    } else {
        u64::from_be_bytes(bytes)
    })
}

/// What an archive is made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Census {
    /// Members, without symbol tables and rustc's `lib.rmeta`.
    pub members: usize,
    /// Members that are object files.
    pub objects: usize,
    /// Of these, the ones with counters.
    pub with_counters: usize,
    /// Members that are LLVM bitcode, as in builds for link-time optimisation; they are
    /// instrumented, if at all, when they are linked.
    pub bitcode: usize,
    /// Members of a thin archive whose file is gone.
    pub missing: usize,
    /// Object files without counters, by member name, at most 100 of them.
    pub without_counters: Vec<String>,
}

/// How many members [`Census::without_counters`] names.
const MAX_NAMED: usize = 100;

/// Counts what is instrumented in a `.a`, `.lib` or `.rlib`.
///
/// Thin archives are followed to the files they name, relative to the archive.
///
/// # Errors
///
/// If the archive can't be read. A member that can't be counts as no object.
pub fn archive_census(path: &Path) -> Result<Census, ObjectError> {
    let mut census = Census::default();
    for_each_member(path, |name, data| {
        census.members += 1;
        match data {
            Some(data) => census.add(name, data),
            None => census.missing += 1,
        }
    })?;
    Ok(census)
}

/// What tells code that was linked from other code of the same name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Code {
    /// [`code_id`].
    pub id: String,
    /// Functions that only one object of a program may define, with their sizes in bytes.
    pub functions: BTreeMap<String, u64>,
}

impl Code {
    /// Of an object file or shared library; of bitcode, whose functions take another reader, the id
    /// alone.
    pub fn of(bytes: &[u8]) -> Code {
        let mut functions = BTreeMap::new();
        if let Ok(file) = object::File::parse(bytes) {
            for symbol in file.symbols().chain(file.dynamic_symbols()) {
                let is_strong = symbol.is_definition() && symbol.is_global() && !symbol.is_weak();
                if symbol.kind() == SymbolKind::Text
                    && is_strong
                    && let Ok(name) = symbol.name()
                {
                    functions.insert(name.to_owned(), symbol.size());
                }
            }
        }
        Code {
            id: code_id(bytes),
            functions,
        }
    }
}

/// The code of each member of an archive that holds any: object files and bitcode.
///
/// # Errors
///
/// If the archive can't be read.
pub fn archive_code(path: &Path) -> Result<Vec<Code>, ObjectError> {
    let mut code = Vec::new();
    for_each_member(path, |_, data| {
        let holds = |data: &&[u8]| is_bitcode(data) || object::File::parse(*data).is_ok();
        code.extend(data.filter(holds).map(Code::of));
    })?;
    Ok(code)
}

/// Calls `visit` with the name and content of each member but rustc's `lib.rmeta`; content is
/// `None` where the file is gone that a thin archive names.
fn for_each_member(
    path: &Path,
    mut visit: impl FnMut(&str, Option<&[u8]>),
) -> Result<(), ObjectError> {
    let bytes = fs::read(path).map_err(|error| ObjectError::Io(path.to_owned(), error))?;
    let fail = |error| ObjectError::Archive(path.to_owned(), error);
    let archive = ArchiveFile::parse(bytes.as_slice()).map_err(fail)?;
    for member in archive.members() {
        let member = member.map_err(fail)?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        if name == "lib.rmeta" {
            continue;
        }
        if archive.is_thin() {
            let file = path.parent().unwrap_or(Path::new("")).join(&name);
            // The archive may name anything; a device would never end.
            let data = fs::metadata(&file)
                .ok()
                .filter(fs::Metadata::is_file)
                .and_then(|_| fs::read(&file).ok());
            visit(&name, data.as_deref());
        } else {
            visit(&name, Some(member.data(bytes.as_slice()).map_err(fail)?));
        }
    }
    Ok(())
}

impl Census {
    fn add(&mut self, name: &str, data: &[u8]) {
        if is_bitcode(data) {
            self.bitcode += 1;
            return;
        }
        let Ok(file) = object::File::parse(data) else {
            return;
        };
        self.objects += 1;
        let counts = file
            .sections()
            .any(|section| section.name().ok().and_then(part) == Some(Part::Counters));
        if counts {
            self.with_counters += 1;
        } else if self.without_counters.len() < MAX_NAMED {
            self.without_counters.push(name.to_owned());
        }
    }
}

/// LLVM bitcode, plain or in its wrapper (`llvm/docs/BitCodeFormat.rst`).
pub fn is_bitcode(data: &[u8]) -> bool {
    data.starts_with(b"BC\xc0\xde") || data.starts_with(&0x0b17_c0deu32.to_le_bytes())
}

/// Symbols of the functions that a file defines, sorted, each once; local ones too.
///
/// # Errors
///
/// If it is no object file.
pub fn defined_functions(bytes: &[u8]) -> Result<Vec<String>, ObjectError> {
    let file = object::File::parse(bytes)?;
    let underscore = file.format() == object::BinaryFormat::MachO;
    let functions: BTreeSet<String> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        .filter_map(|symbol| {
            let name = String::from_utf8_lossy(symbol.name_bytes().ok()?).into_owned();
            Some(match name.strip_prefix('_') {
                Some(rest) if underscore => rest.to_owned(),
                _ => name,
            })
        })
        .filter(|name| !name.is_empty())
        .collect();
    Ok(functions.into_iter().collect())
}

/// SHA-256 of all executable sections, 64 hex digits: whether two artefacts hold the same code.
///
/// Not the whole file: build ids, debug information and paths differ where the code does not. In an
/// object file the code is hashed before relocation, so what it calls does not count; use linked
/// files where it should.
///
/// # Errors
///
/// If it is no object file, or a section lies outside it.
pub fn text_hash(bytes: &[u8]) -> Result<String, ObjectError> {
    let file = object::File::parse(bytes)?;
    let mut hash = Sha256::new();
    for section in file.sections() {
        if section.kind() != SectionKind::Text {
            continue;
        }
        let data = section.data()?;
        hash.update(section.name_bytes()?);
        hash.update((data.len() as u64).to_le_bytes());
        hash.update(data);
    }
    Ok(digest::hex(&hash.finalize()))
}

/// What tells one object's code from another's, whatever is renamed, stripped or archived later:
/// [`text_hash`], or the hash of the whole where there is no machine code (bitcode, say).
pub fn code_id(bytes: &[u8]) -> String {
    let has_code = |file: object::File<'_>| {
        file.sections()
            .any(|section| section.kind() == SectionKind::Text && section.size() > 0)
    };
    object::File::parse(bytes)
        .is_ok_and(has_code)
        .then(|| text_hash(bytes).ok())
        .flatten()
        .unwrap_or_else(|| digest::whole(bytes))
}

#[cfg(test)]
mod tests;
