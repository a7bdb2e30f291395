//! The code of an entry.

use super::units::is_code;
use super::{Dwarf, Reader, Unit};
use gimli::{Attribute, AttributeValue, Error};
use std::ops::Range;

/// More than any function has; what a damaged file may claim is more than memory.
const MAX_RANGES: usize = 1 << 16;

/// Ranges by `DW_AT_low_pc` and `DW_AT_high_pc`, or `DW_AT_ranges`; without those that the linker
/// threw away. Empty if the entry has none.
pub(super) fn of(
    dwarf: &Dwarf<'_>,
    unit: &Unit<'_>,
    attributes: &[Attribute<Reader<'_>>],
) -> Result<Vec<Range<u64>>, Error> {
    let mut found = Vec::new();
    let (mut low, mut high, mut size) = (None, None, None);
    let mut keep = |range: Range<u64>| {
        if is_code(unit, range.start) && range.start < range.end {
            found.push(range);
        }
    };
    for attribute in attributes {
        match attribute.name() {
            gimli::DW_AT_low_pc => low = dwarf.attr_address(unit, attribute.value())?,
            gimli::DW_AT_high_pc => match attribute.value() {
                AttributeValue::Udata(bytes) => size = Some(bytes),
                value => high = dwarf.attr_address(unit, value)?,
            },
            gimli::DW_AT_ranges => {
                if let Some(mut list) = dwarf.attr_ranges(unit, attribute.value())? {
                    for _ in 0..MAX_RANGES {
                        let Some(range) = list.next()? else { break };
                        keep(range.begin..range.end);
                    }
                    return Ok(found);
                }
            }
            _ => {}
        }
    }
    if let Some(low) = low {
        let end = size.and_then(|size| low.checked_add(size)).or(high);
        keep(low..end.unwrap_or(low));
    }
    Ok(found)
}
