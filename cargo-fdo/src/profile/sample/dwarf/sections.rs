//! The debug sections of a file.

use super::Dwarf;
use crate::profile::sample::image::{Image, ImageError};
use crate::profile::sample::mapped::Mapped;
use gimli::{EndianSlice, RunTimeEndian, Section};
use std::borrow::Cow;

/// The sections, decompressed where they are compressed, otherwise where they are in the file.
pub(in crate::profile) struct Sections<'d> {
    sections: gimli::DwarfSections<Cow<'d, [u8]>>,
    endian: RunTimeEndian,
    mappings: Vec<&'d Mapped>,
}

impl<'d> Sections<'d> {
    /// # Errors
    ///
    /// If a compressed section is damaged.
    pub(in crate::profile) fn load(image: &Image<'d>) -> Result<Sections<'d>, ImageError> {
        use gimli::SectionId::*;
        let sections = gimli::DwarfSections::load(|id| match id {
            DebugAbbrev | DebugAddr | DebugInfo | DebugLine | DebugLineStr | DebugRanges
            | DebugRngLists | DebugStr | DebugStrOffsets => image.debug_section(id.name()),
            // Variables, macros, unwinding: not decompressed, as not needed.
            _ => Ok(Cow::Borrowed(&[][..])),
        })?;
        Ok(Sections {
            sections,
            endian: if image.machine.little_endian {
                RunTimeEndian::Little
            } else {
                RunTimeEndian::Big
            },
            mappings: image.mappings().to_vec(),
        })
    }

    /// Whether there is any debug information.
    pub(in crate::profile) fn is_empty(&self) -> bool {
        Section::reader(&self.dwarf().debug_info).is_empty()
    }

    /// Gives back the memory of what was read so far.
    pub(super) fn release(&self) {
        for mapping in &self.mappings {
            mapping.release();
        }
    }

    pub(super) fn dwarf(&self) -> Dwarf<'_> {
        self.sections
            .borrow(|section| EndianSlice::new(section, self.endian))
    }
}
