//! The program that was sampled: an ELF executable or shared object.
//!
//! Recordings know offsets into the file, DWARF and symbols know addresses as the linker assigned
//! them. The loadable segments translate, whatever the kernel or the loader added at run time, and
//! however many read-only segments the linker made (rust-lld makes one before and one after the
//! code).
//!
//! Nothing is read ahead: a mapped file costs the memory of the pages that are looked at.

use super::mapped::Mapped;
use object::read::elf::{ElfFile, FileHeader};
use object::{
    CompressionFormat, FileKind, Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind,
};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// An executable or shared object, as much of it as a conversion needs.
#[derive(Debug)]
pub struct Image<'d> {
    data: &'d [u8],
    /// Machine and byte order.
    pub machine: Machine,
    /// The GNU build id, if the linker wrote one.
    pub build_id: Option<Vec<u8>>,
    /// The name in `.gnu_debuglink` and the CRC-32 of the file that it means.
    pub debug_link: Option<(String, u32)>,
    segments: Segments,
    /// Functions by address.
    symbols: Vec<Symbol<'d>>,
    /// Where its debug information is, itself or a file apart.
    debug: &'d [u8],
    /// The files that all this is in, if they are mapped.
    mappings: Vec<&'d Mapped>,
}

/// Which machine's code it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// The instruction set.
    pub architecture: Architecture,
    /// Whether numbers have their low byte first.
    pub little_endian: bool,
}

/// Instruction sets that conversions know something about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Architecture {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
    /// Any other: converted all the same, but its call instructions aren't recognised.
    Other,
}

/// Where the parts of a file are for the linker, executable ones first.
#[derive(Debug, Clone, Default)]
pub(in crate::profile) struct Segments(Vec<Segment>);

impl Segments {
    /// The linker's address of what is at an offset into the file.
    pub(in crate::profile) fn address(&self, offset: u64) -> Option<u64> {
        let segment = self.0.iter().find(|s| s.file.contains(&offset))?;
        segment.address.checked_add(offset - segment.file.start)
    }

    /// The addresses from the first to the last segment.
    pub(in crate::profile) fn span(&self) -> Range<u64> {
        let start = self.0.iter().map(|s| s.address).min().unwrap_or(0);
        let end = |s: &Segment| s.address.saturating_add(s.file.end - s.file.start);
        start..self.0.iter().map(end).max().unwrap_or(0)
    }
}

/// A loadable segment.
#[derive(Debug, Clone)]
struct Segment {
    file: Range<u64>,
    address: u64,
}

/// A function symbol.
#[derive(Debug, Clone, Copy)]
struct Symbol<'d> {
    address: u64,
    size: u64,
    name: &'d [u8],
}

/// Why a file can't be converted against.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageError {
    /// Not an ELF file.
    NotElf,
    /// An object file or archive member: not linked, so nothing ran at its addresses.
    NotLinked,
    /// The file is damaged; what the parser says.
    Damaged(String),
    /// A debug section says that it is far larger than its compressed bytes can hold.
    Inflated {
        /// Its name.
        section: String,
        /// The size that it claims, in bytes.
        claimed: u64,
        /// Its compressed size in the file, in bytes.
        compressed: u64,
    },
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::NotElf => f.write_str("is not an ELF file"),
            ImageError::NotLinked => {
                f.write_str("is an object file; give the program that was linked from it")
            }
            ImageError::Damaged(what) => write!(f, "is damaged: {what}"),
            ImageError::Inflated {
                section,
                claimed,
                compressed,
            } => write!(
                f,
                "is damaged: section `{section}` claims {claimed} bytes in {compressed} \
                 compressed ones"
            ),
        }
    }
}

impl std::error::Error for ImageError {}

impl From<object::Error> for ImageError {
    fn from(error: object::Error) -> ImageError {
        ImageError::Damaged(error.to_string())
    }
}

impl<'d> Image<'d> {
    /// Reads headers and function symbols.
    ///
    /// # Errors
    ///
    /// If it is no linked ELF file, or its headers are damaged.
    pub fn read(data: &'d [u8]) -> Result<Image<'d>, ImageError> {
        match FileKind::parse(data) {
            Ok(FileKind::Elf64) => read::<object::elf::FileHeader64<object::Endianness>>(data),
            Ok(FileKind::Elf32) => read::<object::elf::FileHeader32<object::Endianness>>(data),
            _ => Err(ImageError::NotElf),
        }
    }

    /// [`Image::read`] of a mapped file, whose memory is given back while it is converted: a
    /// program of hundreds of megabytes costs a few dozen.
    ///
    /// # Errors
    ///
    /// As [`Image::read`].
    pub fn mapped(file: &'d Mapped) -> Result<Image<'d>, ImageError> {
        let mut image = Image::read(file.bytes())?;
        image.mappings.push(file);
        Ok(image)
    }

    /// [`Image::with_debug`] of a mapped file.
    ///
    /// # Errors
    ///
    /// As [`Image::read`].
    pub fn with_mapped_debug(self, debug: &'d Mapped) -> Result<Image<'d>, ImageError> {
        let mut image = self.with_debug(debug.bytes())?;
        image.mappings.push(debug);
        Ok(image)
    }

    /// The files that its bytes are in, if they are mapped.
    pub(super) fn mappings(&self) -> &[&'d Mapped] {
        &self.mappings
    }

    /// Takes debug information, and symbols where this file is stripped of them, from a file apart
    /// (`objcopy --only-keep-debug`, `debuginfo` packages).
    ///
    /// That it belongs to this image, by build id or by name and CRC, is for the caller to see to.
    ///
    /// # Errors
    ///
    /// As [`Image::read`].
    pub fn with_debug(mut self, debug: &'d [u8]) -> Result<Image<'d>, ImageError> {
        let other = Image::read(debug)?;
        if other.symbols.len() > self.symbols.len() {
            self.symbols = other.symbols;
        }
        self.debug = debug;
        Ok(self)
    }

    /// The linker's address of what is at an offset into the file.
    pub fn address(&self, offset: u64) -> Option<u64> {
        self.segments.address(offset)
    }

    pub(in crate::profile) fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Address and place in the file of a section that is loaded and not compressed.
    pub(in crate::profile) fn section(&self, name: &str) -> Option<(Range<u64>, Range<usize>)> {
        let file = object::File::parse(self.data).ok()?;
        let section = file.section_by_name(name)?;
        let (at, len) = section.file_range()?;
        let (at, len) = (usize::try_from(at).ok()?, usize::try_from(len).ok()?);
        let place = at..at.checked_add(len)?;
        self.data.get(place.clone())?;
        let address = section.address();
        Some((address..address.checked_add(section.size())?, place))
    }

    /// The name of the function symbol that covers an address.
    pub(in crate::profile) fn function(&self, address: u64) -> Option<&'d [u8]> {
        let after = self.symbols.partition_point(|s| s.address <= address);
        let symbol = self.symbols.get(after.checked_sub(1)?)?;
        // Assembler's often have no size, and reach up to the next.
        let covers = symbol.size == 0 || address - symbol.address < symbol.size;
        covers.then_some(symbol.name)
    }

    /// The bytes from an address on, at most `len`, fewer at a segment's end.
    pub(super) fn code(&self, address: u64, len: u64) -> &'d [u8] {
        let bytes = || {
            let segment = self.segments.0.iter().find(|s| {
                address
                    .checked_sub(s.address)
                    .is_some_and(|at| at < s.file.end - s.file.start)
            })?;
            let at = segment.file.start + (address - segment.address);
            let end = at.saturating_add(len).min(segment.file.end);
            self.data
                .get(usize::try_from(at).ok()?..usize::try_from(end).ok()?)
        };
        bytes().unwrap_or_default()
    }

    /// Whether a function's symbol covers an address.
    #[cfg(test)]
    pub(super) fn covers(&self, function: &str, address: u64) -> bool {
        let mut symbols = self
            .symbols
            .iter()
            .filter(|s| s.name == function.as_bytes());
        symbols.any(|s| address >= s.address && address - s.address < s.size)
    }

    /// The function symbol that begins at an address.
    pub(super) fn entry(&self, address: u64) -> Option<Cow<'d, str>> {
        let at = self.symbols.partition_point(|s| s.address < address);
        let symbol = self.symbols.get(at).filter(|s| s.address == address)?;
        Some(String::from_utf8_lossy(symbol.name))
    }

    /// Whether there are any function symbols.
    pub(in crate::profile) fn has_symbols(&self) -> bool {
        !self.symbols.is_empty()
    }

    /// A debug section's content, decompressed; empty if there is none.
    pub(super) fn debug_section(&self, name: &str) -> Result<Cow<'d, [u8]>, ImageError> {
        let file = object::File::parse(self.debug)?;
        let Some(section) = file.section_by_name(name) else {
            return Ok(Cow::Borrowed(&[]));
        };
        let content = section.compressed_data()?;
        let compressed = content.data.len() as u64;
        // Deflate makes at most 1032 bytes of one; zstd has no such limit, but no debug section
        // comes near it either.
        if content.format != CompressionFormat::None
            && content.uncompressed_size > compressed.saturating_mul(1032)
        {
            return Err(ImageError::Inflated {
                section: name.to_owned(),
                claimed: content.uncompressed_size,
                compressed,
            });
        }
        Ok(content.decompress()?)
    }
}

fn read<'d, H: FileHeader<Endian = object::Endianness>>(
    data: &'d [u8],
) -> Result<Image<'d>, ImageError> {
    let file = ElfFile::<H>::parse(data)?;
    if file.kind() == object::ObjectKind::Relocatable {
        return Err(ImageError::NotLinked);
    }
    let mut segments = Vec::new();
    for segment in file.segments() {
        let (offset, size) = segment.file_range();
        let object::SegmentFlags::Elf { p_flags, .. } = segment.flags() else {
            continue;
        };
        let executable = p_flags.0 & object::elf::PF_X.0 != 0;
        if let Some(end) = offset.checked_add(size) {
            let address = segment.address();
            segments.push((
                !executable,
                Segment {
                    file: offset..end,
                    address,
                },
            ));
        }
    }
    segments.sort_by_key(|(order, _)| *order);
    let architecture = match file.architecture() {
        object::Architecture::X86_64 => Architecture::X86_64,
        object::Architecture::Aarch64 => Architecture::Aarch64,
        _ => Architecture::Other,
    };
    Ok(Image {
        data,
        machine: Machine {
            architecture,
            little_endian: file.is_little_endian(),
        },
        build_id: file.build_id().ok().flatten().map(<[u8]>::to_vec),
        debug_link: file
            .gnu_debuglink()
            .ok()
            .flatten()
            .map(|(name, crc)| (String::from_utf8_lossy(name).into_owned(), crc)),
        segments: Segments(segments.into_iter().map(|(_, segment)| segment).collect()),
        symbols: symbols(&file),
        debug: data,
        mappings: Vec::new(),
    })
}

/// Underscores that a name begins with.
fn underscores(name: &[u8]) -> usize {
    name.iter().take_while(|&&byte| byte == b'_').count()
}

/// Function symbols by address, one for each.
///
/// Where several share an address (constructors, aliases), the one with fewest underscores before
/// its name stays (`read`, not `__GI___libc_read`), then the one whose name sorts first: any order
/// will do that is the same each time.
fn symbols<'d, H: FileHeader>(file: &ElfFile<'d, H>) -> Vec<Symbol<'d>> {
    let mut symbols: Vec<Symbol<'d>> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text)
        .filter_map(|symbol| {
            Some(Symbol {
                address: symbol.address(),
                size: symbol.size(),
                name: symbol.name_bytes().ok().filter(|name| !name.is_empty())?,
            })
        })
        .collect();
    // Sized ones first: symbols of assembler often have no size.
    symbols.sort_by(|a, b| {
        let key = |s: &Symbol<'d>| (s.address, s.size == 0, underscores(s.name));
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(b.name))
    });
    symbols.dedup_by_key(|symbol| symbol.address);
    symbols
}
