//! Functions and the copies that were inlined in them, from the tree of entries.

use super::rows::Row;
use super::units::Units;
use super::{Call, Code, Error, Function, Reader, Scope, Stretch, Touched, Unit, ranges};
use gimli::{Attribute, AttributeValue, UnitOffset};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

/// References from a copy to its function, from a definition to its declaration: two or three in
/// what compilers write.
const MAX_HOPS: usize = 16;

/// Inlined copies in one another. LLVM and GCC stop inlining long before; each level costs stack
/// in whoever walks the profile.
const MAX_DEPTH: usize = 128;

/// Ranges of the sampled functions of one unit: Chromium optimised as a whole has fewer, but
/// entries of a damaged file may share one long list.
pub(super) const MAX_RANGES: usize = 2_000_000;

/// A function before its line table was read.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) entry: u64,
    pub(super) ranges: Vec<Range<u64>>,
    scopes: Vec<Scope>,
    /// Code of each inlined copy: range, index into `scopes`.
    inlined: Vec<(Range<u64>, usize)>,
}

/// Where an entry's function is kept.
#[derive(Debug, Clone, Copy)]
struct Place {
    body: usize,
    scope: usize,
    depth: usize,
}

/// The functions of a unit with code in `touched`.
pub(super) fn read<'a>(
    units: &mut Units<'a>,
    unit: &Rc<Unit<'a>>,
    touched: &Touched,
) -> Result<Vec<Body>, Error> {
    let mut tree = Tree {
        units,
        unit,
        touched,
        known: HashMap::new(),
        bodies: Vec::new(),
        ranges_left: MAX_RANGES,
    };
    let mut entries = unit.entries_raw(None)?;
    let mut attributes = Vec::new();
    // Subprograms and inlined copies that the current entry is in, with their depths; `None` for
    // one without samples.
    let mut open: Vec<(isize, Option<Place>)> = Vec::new();
    while !entries.is_empty() {
        let depth = entries.next_depth();
        let Some(abbreviation) = entries.read_abbreviation()? else {
            continue;
        };
        while open.last().is_some_and(|(outer, _)| *outer >= depth) {
            open.pop();
        }
        let outer = open.last().and_then(|(_, place)| *place);
        let is_copy = abbreviation.tag() == gimli::DW_TAG_inlined_subroutine;
        if !(is_copy && outer.is_some() || abbreviation.tag() == gimli::DW_TAG_subprogram) {
            entries.skip_attributes(abbreviation.attributes())?;
            continue;
        }
        entries.read_attributes(abbreviation.attributes(), &mut attributes)?;
        let place = match outer {
            Some(outer) if is_copy => Some(tree.copy(outer, &attributes)?),
            _ => tree.subprogram(&attributes)?,
        };
        if abbreviation.has_children() {
            open.push((depth, place));
        }
    }
    Ok(tree.bodies)
}

struct Tree<'t, 'a> {
    units: &'t mut Units<'a>,
    unit: &'t Rc<Unit<'a>>,
    touched: &'t Touched,
    /// Functions by where their entry is in `.debug_info`.
    known: HashMap<usize, Rc<Function>>,
    bodies: Vec<Body>,
    ranges_left: usize,
}

impl<'a> Tree<'_, 'a> {
    fn subprogram(&mut self, attributes: &[Attribute<Reader<'a>>]) -> Result<Option<Place>, Error> {
        let ranges = self.ranges(attributes)?;
        if !ranges.iter().any(|range| self.touched.overlaps(range)) {
            return Ok(None);
        }
        // GCC and clang list the part that calls enter first.
        let entry = ranges.first().map_or(0, |range| range.start);
        let entry = match attributes
            .iter()
            .find(|a| a.name() == gimli::DW_AT_entry_pc)
        {
            Some(at) => self
                .units
                .dwarf
                .attr_address(self.unit, at.value())?
                .unwrap_or(entry),
            None => entry,
        };
        let ranges = Touched::new(ranges).into_ranges();
        let function = self.function(attributes)?;
        self.bodies.push(Body {
            entry,
            ranges,
            scopes: vec![Scope {
                function,
                call: None,
            }],
            inlined: Vec::new(),
        });
        Ok(Some(Place {
            body: self.bodies.len() - 1,
            scope: 0,
            depth: 0,
        }))
    }

    fn ranges(&mut self, attributes: &[Attribute<Reader<'a>>]) -> Result<Vec<Range<u64>>, Error> {
        let ranges = ranges::of(self.units.dwarf, self.unit, attributes)?;
        match self.ranges_left.checked_sub(ranges.len()) {
            Some(left) => self.ranges_left = left,
            None => return Err(Error::TooManyRanges),
        }
        Ok(ranges)
    }

    /// An inlined copy inside of `outer`.
    fn copy(&mut self, outer: Place, attributes: &[Attribute<Reader<'a>>]) -> Result<Place, Error> {
        let ranges = self.ranges(attributes)?;
        if ranges.is_empty() || outer.depth >= MAX_DEPTH {
            return Ok(outer);
        }
        let function = self.function(attributes)?;
        let (mut line, mut discriminator) = (0, 0);
        for attribute in attributes {
            match attribute.name() {
                gimli::DW_AT_call_line => line = attribute.udata_value().unwrap_or(0),
                gimli::DW_AT_GNU_discriminator => {
                    let value = attribute.udata_value().unwrap_or(0);
                    discriminator = u32::try_from(value).unwrap_or(0);
                }
                _ => {}
            }
        }
        let Some(body) = self.bodies.get_mut(outer.body) else {
            return Ok(outer);
        };
        let scope = body.scopes.len();
        body.scopes.push(Scope {
            function,
            call: Some(Call {
                caller: outer.scope,
                line,
                discriminator,
            }),
        });
        body.inlined
            .extend(ranges.into_iter().map(|range| (range, scope)));
        Ok(Place {
            scope,
            depth: outer.depth + 1,
            ..outer
        })
    }

    /// Name and line of the function that an entry of this unit stands for.
    fn function(&mut self, attributes: &[Attribute<Reader<'a>>]) -> Result<Rc<Function>, Error> {
        let mut function = Draft::default();
        let unit = Rc::clone(self.unit);
        let Some(origin) = self.note(&mut function, &unit, attributes)? else {
            return Ok(Rc::new(function.finish()));
        };
        // Most copies say nothing themselves, and there are many of each function.
        let place = origin.1.to_unit_section_offset(&origin.0.header).0;
        let silent = function.is_empty();
        if let Some(known) = self.known.get(&place).filter(|_| silent) {
            return Ok(Rc::clone(known));
        }
        let mut next = Some(origin);
        for _ in 0..MAX_HOPS {
            let Some((unit, offset)) = next else { break };
            let entry = unit.entry(offset)?;
            next = self.note(&mut function, &unit, entry.attrs())?;
        }
        let function = Rc::new(function.finish());
        if silent {
            self.known.insert(place, Rc::clone(&function));
        }
        Ok(function)
    }

    /// Notes what an entry says that isn't known yet; returns the entry that it refers to.
    ///
    /// An entry's own attributes count before those of its origin: an out-of-line definition has
    /// its own line, and one of several copies of a constructor its own linkage name.
    fn note(
        &mut self,
        function: &mut Draft,
        unit: &Rc<Unit<'a>>,
        attributes: &[Attribute<Reader<'a>>],
    ) -> Result<Option<(Rc<Unit<'a>>, UnitOffset)>, Error> {
        let mut origin = None;
        for attribute in attributes {
            match attribute.name() {
                gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name
                    if function.linkage_name.is_none() =>
                {
                    function.linkage_name = self.string(unit, attribute);
                }
                gimli::DW_AT_name if function.name.is_none() => {
                    function.name = self.string(unit, attribute);
                }
                gimli::DW_AT_decl_line if function.line == 0 => {
                    function.line = attribute.udata_value().unwrap_or(0);
                }
                gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                    origin = Some(attribute.value());
                }
                _ => {}
            }
        }
        Ok(match origin {
            Some(AttributeValue::UnitRef(offset)) => Some((Rc::clone(unit), offset)),
            Some(AttributeValue::DebugInfoRef(offset)) => {
                let owner = self.units.holding(offset.0)?;
                let offset = offset.to_unit_offset(&owner.header);
                offset.map(|offset| (owner, offset))
            }
            // None, or one in a type unit or in another file (`dwz`).
            _ => None,
        })
    }

    fn string(&self, unit: &Unit<'a>, attribute: &Attribute<Reader<'a>>) -> Option<Rc<str>> {
        let text = self.units.dwarf.attr_string(unit, attribute.value()).ok()?;
        let text = String::from_utf8_lossy(text.slice());
        (!text.is_empty()).then(|| Rc::from(text))
    }
}

/// What is known of a function so far.
#[derive(Default)]
struct Draft {
    linkage_name: Option<Rc<str>>,
    name: Option<Rc<str>>,
    line: u64,
}

impl Draft {
    fn is_empty(&self) -> bool {
        self.linkage_name.is_none() && self.name.is_none() && self.line == 0
    }

    fn finish(self) -> Function {
        Function {
            is_linkage_name: self.linkage_name.is_some(),
            name: self.linkage_name.or(self.name),
            line: self.line,
        }
    }
}

impl Body {
    /// Joins the tree with the line table.
    pub(super) fn with_rows(self, rows: &[Row]) -> Code {
        let mut stretches = Vec::new();
        let scopes = self.innermost();
        for range in &self.ranges {
            let first = rows.partition_point(|row| row.code.end <= range.start);
            let mut at = range.start;
            for row in rows.get(first..).unwrap_or_default() {
                if row.code.start >= range.end {
                    break;
                }
                // Rows may overlap in a damaged file only.
                let begin = row.code.start.max(at);
                let end = row.code.end.min(range.end);
                at = at.max(end);
                let known = scopes.partition_point(|(from, _)| *from <= begin);
                let mut begin = begin;
                let mut scope = known.checked_sub(1).map_or(0, |at| scopes[at].1);
                let rest = scopes.get(known..).unwrap_or_default();
                for (from, next) in rest.iter().take_while(|(from, _)| *from < end) {
                    push(&mut stretches, begin..*from, scope, row);
                    (begin, scope) = (*from, *next);
                }
                push(&mut stretches, begin..end, scope, row);
            }
        }
        Code {
            entry: self.entry,
            ranges: self.ranges,
            scopes: self.scopes,
            stretches,
        }
    }

    /// The innermost scope from each address on where it changes.
    fn innermost(&self) -> Vec<(u64, usize)> {
        let mut edges: Vec<(u64, bool, usize, usize)> = Vec::new();
        for (index, (range, scope)) in self.inlined.iter().enumerate() {
            edges.push((range.start, true, *scope, index));
            edges.push((range.end, false, *scope, index));
        }
        edges.sort_unstable();
        let mut changes: Vec<(u64, usize)> = Vec::new();
        // The entry of a copy comes after that of the scope that it is in, so the last one of
        // those that are open is the innermost.
        let mut open = BTreeSet::new();
        for (at, begins, scope, index) in edges {
            if begins {
                open.insert((scope, index));
            } else {
                open.remove(&(scope, index));
            }
            let scope = open.last().map_or(0, |(scope, _)| *scope);
            match changes.last_mut() {
                Some(last) if last.0 == at => last.1 = scope,
                _ => changes.push((at, scope)),
            }
        }
        changes
    }
}

/// Adds code, to the stretch before it if there is no difference.
fn push(stretches: &mut Vec<Stretch>, code: Range<u64>, scope: usize, row: &Row) {
    if code.start >= code.end {
        return;
    }
    match stretches.last_mut() {
        Some(last)
            if last.code.end == code.start
                && (last.scope, last.line, last.discriminator)
                    == (scope, row.line, row.discriminator) =>
        {
            last.code.end = code.end;
        }
        _ => stretches.push(Stretch {
            code,
            scope,
            line: row.line,
            discriminator: row.discriminator,
        }),
    }
}
