//! The line table: which code came from which line, and from which block of it.

use super::{Touched, Unit, units};
use gimli::Error;
use std::ops::Range;

/// Code of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) code: Range<u64>,
    /// 0 where the compiler names no line.
    pub(super) line: u64,
    pub(super) discriminator: u32,
}

/// The rows with code in `wanted`, in order of address.
///
/// Of several rows at one address the last one counts, as in LLVM's symboliser and in perf.
pub(super) fn read(unit: &Unit<'_>, wanted: &Touched) -> Result<Vec<Row>, Error> {
    let mut found = Vec::new();
    let Some(program) = unit.line_program.clone() else {
        return Ok(found);
    };
    let mut rows = program.rows();
    let mut last: Option<(u64, u64, u32)> = None;
    // Of the sequence: the linker threw its code away.
    let mut dead = false;
    while let Some((_, row)) = rows.next_row()? {
        let address = row.address();
        match last {
            Some((start, line, discriminator)) => {
                let code = start..address;
                if !dead && wanted.overlaps(&code) {
                    found.push(Row {
                        code,
                        line,
                        discriminator,
                    });
                }
            }
            None => dead = !units::is_code(unit, address),
        }
        last = (!row.end_sequence()).then(|| {
            (
                address,
                row.line().map_or(0, |line| line.get()),
                u32::try_from(row.discriminator()).unwrap_or(0),
            )
        });
    }
    found.sort_by_key(|row| row.code.start);
    Ok(found)
}
