//! Compilation units: where they are, and which addresses they cover.

use super::{Dwarf, Findings, Producer, Touched, Unit, ranges};
use gimli::{DebugInfoOffset, Error, UnitHeader, UnitType};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// At most so many units are kept that others refer to. Programs optimised as a whole have inlined
/// copies of functions from anywhere.
const KEPT: usize = 32;

/// All units of a program.
pub(super) struct Units<'a> {
    pub(super) dwarf: &'a Dwarf<'a>,
    /// In order of offset.
    index: Vec<Entry>,
    kept: HashMap<usize, Rc<Unit<'a>>>,
}

struct Entry {
    offset: usize,
    /// Code; empty if the unit doesn't say.
    ranges: Vec<Range<u64>>,
    /// Whether it may have code at all.
    has_code: bool,
}

impl<'a> Units<'a> {
    /// Reads each unit's header and first entry; calls `release` now and then, as this looks at
    /// all parts of a program.
    pub(super) fn read(
        dwarf: &'a Dwarf<'a>,
        findings: &mut Findings,
        release: &dyn Fn(),
    ) -> Units<'a> {
        let mut index = Vec::new();
        let mut headers = dwarf.units();
        loop {
            match headers.next() {
                Ok(Some(header)) => {
                    findings.units += 1;
                    if findings.units.is_multiple_of(256) {
                        release();
                    }
                    let Some(offset) = header.debug_info_offset() else {
                        continue;
                    };
                    match entry(dwarf, header, findings) {
                        Ok(entry) => index.push(entry),
                        Err(error) => damaged(findings, offset.0, error),
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    let at = index.last().map_or(0, |entry: &Entry| entry.offset);
                    damaged(findings, at, error);
                    break;
                }
            }
        }
        Units {
            dwarf,
            index,
            kept: HashMap::new(),
        }
    }

    /// The units with code in `touched`, as indexes.
    pub(super) fn covering(&self, touched: &Touched) -> Vec<usize> {
        let covers = |entry: &Entry| {
            entry.has_code
                && (entry.ranges.is_empty() || entry.ranges.iter().any(|r| touched.overlaps(r)))
        };
        (0..self.index.len())
            .filter(|&at| covers(&self.index[at]))
            .collect()
    }

    /// Where a unit is in `.debug_info`, in bytes.
    pub(super) fn offset(&self, index: usize) -> usize {
        self.index.get(index).map_or(0, |entry| entry.offset)
    }

    pub(super) fn load(&mut self, index: usize) -> Result<Rc<Unit<'a>>, Error> {
        let offset = self.offset(index);
        if let Some(unit) = self.kept.get(&offset) {
            return Ok(Rc::clone(unit));
        }
        if self.kept.len() >= KEPT {
            self.kept.clear();
        }
        let header = self.dwarf.unit_header(DebugInfoOffset(offset))?;
        let unit = Rc::new(self.dwarf.unit(header)?);
        self.kept.insert(offset, Rc::clone(&unit));
        Ok(unit)
    }

    /// The unit that holds an offset into `.debug_info`.
    pub(super) fn holding(&mut self, offset: usize) -> Result<Rc<Unit<'a>>, Error> {
        let after = self.index.partition_point(|entry| entry.offset <= offset);
        match after.checked_sub(1) {
            Some(index) => self.load(index),
            None => Err(Error::OffsetOutOfBounds(offset as u64)),
        }
    }
}

fn damaged(findings: &mut Findings, offset: usize, error: Error) {
    findings.damaged_units += 1;
    findings
        .damage
        .get_or_insert_with(|| format!("unit at .debug_info+{offset:#x}: {error}"));
}

fn entry<'a>(
    dwarf: &Dwarf<'a>,
    header: UnitHeader<super::Reader<'a>>,
    findings: &mut Findings,
) -> Result<Entry, Error> {
    let offset = header.debug_info_offset().map_or(0, |offset| offset.0);
    let mut entry = Entry {
        offset,
        ranges: Vec::new(),
        has_code: false,
    };
    if !matches!(
        header.type_(),
        UnitType::Compilation | UnitType::Partial | UnitType::Skeleton(_)
    ) {
        return Ok(entry);
    }
    let unit = dwarf.unit(header)?;
    let root = unit.entry(unit.header.root_offset())?;
    entry.has_code = root.tag() != gimli::DW_TAG_partial_unit;
    if unit.dwo_id.is_some() || unit.dwo_name()?.is_some() {
        findings.split_units += 1;
    }
    entry.ranges = ranges::of(dwarf, &unit, root.attrs())?;
    Ok(entry)
}

/// Whether an address is one that code has: linkers put 0 or the largest number where they threw
/// the code away.
pub(super) fn is_code(unit: &Unit<'_>, address: u64) -> bool {
    address != 0 && !unit.header.is_tombstone_address(address)
}

/// Who compiled a unit.
pub(super) fn producer(dwarf: &Dwarf<'_>, unit: &Unit<'_>) -> Result<Producer, Error> {
    let root = unit.entry(unit.header.root_offset())?;
    let Some(value) = root.attr_value(gimli::DW_AT_producer) else {
        return Ok(Producer::Unknown);
    };
    Ok(Producer::of(dwarf.attr_string(unit, value)?.slice()))
}
