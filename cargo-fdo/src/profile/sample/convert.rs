//! From addresses to source positions: what the compilers read.
//!
//! ```text
//! samples ─┐                 ┌─ stretches of code ─> tree of inlined copies ─> positions ─> profile
//! ranges  ─┴─> touched code ─┤
//! branches ──────────────────┴─ entries of functions ─> head counts, call targets
//! ```
//!
//! Every position of a function that was sampled at all gets a count, most of them zero: a
//! compiler may take code for cold only where the profile says so.
//!
//! | | with branch stacks | without |
//! | --- | --- | --- |
//! | count of a position | the largest of its addresses, as all of them ran equally often | see [`Counts`] |
//! | heads | branches to the function's entry | see [`Heads`] |
//! | call targets | branches from the position to entries of functions | none |
//!
//! With branch stacks these are the rules of `llvm-profgen` and `create_gcov`. Addresses are
//! bytes, not instructions, so that no disassembler is needed. The results are the same: an
//! instruction's first byte is covered by all the ranges that its other bytes are covered by (a
//! range ends at the first byte of a branch), so the largest count is that of a first byte.

use super::dwarf::{self, Code, Producer, Scope, Sections, Stretch, Touched};
use super::image::{Image, ImageError};
use super::quality::Quality;
use super::recording::{ImageSamples, OUTSIDE};
use super::{
    BodySample, FunctionSamples, Location, SampleProfile, discriminator, flow, merge, names,
};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

/// Whose rules names, discriminators and positions follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// clang and rustc.
    Llvm,
    /// GCC.
    Gcc,
}

/// The count of a position that has several addresses, without branch stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// The largest count of an address.
    Max,
    /// All samples.
    Sum,
    /// Samples a byte of code, times [`SCALE`].
    Mean,
    /// The largest count of a basic block, as `flow.rs` estimates it.
    Flow,
}

/// How often a function was entered, without branch stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heads {
    /// Never, as `create_gcov` writes it.
    Zero,
    /// As often as the source position at its entry was executed, and at least once; with
    /// [`Counts::Flow`], as often as flow enters it.
    Entry,
}

/// The count of a call target that a position has several calls of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// All calls.
    Sum,
    /// Those from the highest address, which is what `create_gcov` leaves over.
    Last,
}

/// How a recording becomes a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Who will read it.
    pub flavour: Flavour,
    /// Counts without branch stacks.
    pub counts: Counts,
    /// Heads without branch stacks.
    pub heads: Heads,
    /// Call targets, with branch stacks.
    pub targets: Targets,
    /// Functions with no more samples than this (with branch stacks: executed bytes) are left
    /// out.
    pub threshold: u64,
    /// Whether code that the other compiler made is left out, as nobody would read it.
    pub own_code_only: bool,
}

/// Bytes of an average instruction, times what keeps fractions from being lost: the factor between
/// samples a byte and counts.
pub const SCALE: u64 = 16;

impl Policy {
    /// What was found to serve each compiler best.
    pub fn of(flavour: Flavour) -> Policy {
        Policy {
            flavour,
            counts: Counts::Sum,
            heads: Heads::Entry,
            targets: Targets::Sum,
            threshold: 0,
            own_code_only: true,
        }
    }

    /// The rules of autofdo's `create_gcov` with `--sample_threshold_frac=0`, to compare with.
    pub fn of_create_gcov() -> Policy {
        Policy {
            flavour: Flavour::Gcc,
            counts: Counts::Max,
            heads: Heads::Zero,
            targets: Targets::Last,
            threshold: 10,
            own_code_only: false,
        }
    }
}

/// A profile and how good it is.
#[derive(Debug, Clone)]
pub struct Converted {
    /// What compilers read.
    pub profile: SampleProfile,
    /// What it is made of.
    pub quality: Quality,
}

/// Converts what was sampled in one image.
///
/// # Errors
///
/// If the image's debug sections are damaged as a whole. Damage in single compilation units is
/// reported in [`Quality`], as is everything that makes a profile empty or poor.
pub fn convert(
    samples: &ImageSamples,
    image: &Image<'_>,
    policy: &Policy,
) -> Result<Converted, ImageError> {
    let sections = Sections::load(image)?;
    let counts = Executed::new(samples, image);
    let mut conversion = Conversion {
        image,
        policy,
        counts: &counts,
        functions: Vec::new(),
        quality: Quality {
            weight: counts.weight,
            not_loaded: counts.not_loaded,
            ..Quality::of(samples, image, &sections)
        },
        names: HashMap::new(),
    };
    let findings = dwarf::functions(&sections, &counts.touched(), |code, producer| {
        conversion.function(&code, producer);
    });
    Ok(conversion.finish(findings))
}

/// What was executed, by the linker's addresses.
struct Executed {
    branch_stacks: bool,
    /// Code that has one count, in order of address, not overlapping. Without branch stacks: each
    /// byte that was sampled.
    ranges: Vec<(Range<u64>, u64)>,
    /// Branches by where they go to, then where they come from.
    branches: Vec<(u64, u64, u64)>,
    /// Those from inside the image by where they come from, then where they go to.
    sources: Vec<(u64, u64, u64)>,
    /// All samples; with branch stacks, bytes executed.
    weight: u64,
    /// Those at offsets that are not loaded.
    not_loaded: u64,
}

impl Executed {
    fn new(samples: &ImageSamples, image: &Image<'_>) -> Executed {
        let branch_stacks = !samples.ranges.is_empty() || !samples.branches.is_empty();
        let (mut weight, mut not_loaded) = (0, 0);
        let mut ranges = Vec::new();
        if branch_stacks {
            for (&(first, last), &count) in &samples.ranges {
                let bytes = last.saturating_sub(first).saturating_add(1);
                let executed = count.saturating_mul(bytes);
                add(&mut weight, executed);
                match (image.address(first), image.address(last)) {
                    (Some(first), Some(last)) if first <= last => {
                        ranges.push((first..last.saturating_add(1), count));
                    }
                    _ => add(&mut not_loaded, executed),
                }
            }
        } else {
            for (&at, &count) in &samples.addresses {
                add(&mut weight, count);
                match image.address(at) {
                    Some(at) => ranges.push((at..at.saturating_add(1), count)),
                    None => add(&mut not_loaded, count),
                }
            }
        }
        let mut branches: Vec<(u64, u64, u64)> = samples
            .branches
            .iter()
            .filter_map(|(&(from, to), &count)| {
                let from = if from == OUTSIDE {
                    OUTSIDE
                } else {
                    image.address(from)?
                };
                Some((image.address(to)?, from, count))
            })
            .collect();
        branches.sort_unstable();
        let mut sources: Vec<_> = branches
            .iter()
            .filter(|(_, from, _)| *from != OUTSIDE)
            .map(|&(to, from, count)| (from, to, count))
            .collect();
        sources.sort_unstable();
        Executed {
            branch_stacks,
            ranges: disjoint(ranges.into_iter()),
            branches,
            sources,
            weight,
            not_loaded,
        }
    }

    fn touched(&self) -> Touched {
        let one = |at: u64| at..at.saturating_add(1);
        let mut ranges: Vec<Range<u64>> = Vec::new();
        ranges.extend(self.ranges.iter().map(|(range, _)| range.clone()));
        ranges.extend(self.branches.iter().map(|(to, _, _)| one(*to)));
        ranges.extend(self.sources.iter().map(|(from, _, _)| one(*from)));
        Touched::new(ranges)
    }

    /// Branches to an address.
    fn into(&self, entry: u64) -> &[(u64, u64, u64)] {
        let first = self.branches.partition_point(|(to, ..)| *to < entry);
        let rest = self.branches.get(first..).unwrap_or_default();
        &rest[..rest.partition_point(|(to, ..)| *to == entry)]
    }

    /// Branches from a stretch of code.
    fn out_of(&self, code: &Range<u64>) -> &[(u64, u64, u64)] {
        let first = self
            .sources
            .partition_point(|(from, ..)| *from < code.start);
        let rest = self.sources.get(first..).unwrap_or_default();
        &rest[..rest.partition_point(|(from, ..)| *from < code.end)]
    }
}

/// What `counts`, in order and not overlapping, say of a stretch of code.
fn weigh(counts: &[(Range<u64>, u64)], code: &Range<u64>) -> Weight {
    let mut weight = Weight {
        bytes: code.end - code.start,
        ..Weight::default()
    };
    let first = counts.partition_point(|(range, _)| range.end <= code.start);
    let rest = counts.get(first..).unwrap_or_default();
    for (range, count) in rest.iter().take_while(|(range, _)| range.start < code.end) {
        let bytes = range.end.min(code.end) - range.start.max(code.start);
        weight.add(*count, bytes);
    }
    weight
}

fn add(sum: &mut u64, weight: u64) {
    *sum = sum.saturating_add(weight);
}

/// Cuts overlapping ranges so that each piece has one count.
fn disjoint(ranges: impl Iterator<Item = (Range<u64>, u64)>) -> Vec<(Range<u64>, u64)> {
    let mut edges: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for (range, count) in ranges {
        let begin = &mut edges.entry(range.start).or_default().0;
        *begin = begin.saturating_add(count);
        let end = &mut edges.entry(range.end).or_default().1;
        *end = end.saturating_add(count);
    }
    let mut pieces = Vec::new();
    let mut running: u64 = 0;
    let mut from = 0;
    for (at, (begin, end)) in edges {
        if running > 0 {
            pieces.push((from..at, running));
        }
        running = running.saturating_add(begin).saturating_sub(end);
        from = at;
    }
    pieces
}

/// What is known of one position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Weight {
    /// The largest count of an address.
    max: u64,
    /// Counts of all addresses.
    sum: u64,
    /// Bytes of code.
    bytes: u64,
}

impl Weight {
    fn add(&mut self, count: u64, bytes: u64) {
        self.max = self.max.max(count);
        self.sum = self.sum.saturating_add(count.saturating_mul(bytes));
    }

    fn join(&mut self, other: Weight) {
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    fn count(&self, counts: Counts) -> u64 {
        match counts {
            Counts::Max | Counts::Flow => self.max,
            Counts::Sum => self.sum,
            Counts::Mean => self.sum.saturating_mul(SCALE).div_ceil(self.bytes.max(1)),
        }
    }
}

struct Conversion<'c, 'd> {
    image: &'c Image<'d>,
    policy: &'c Policy,
    counts: &'c Executed,
    functions: Vec<Draft>,
    quality: Quality,
    /// Canonical names by the names that DWARF has.
    names: HashMap<Rc<str>, Rc<str>>,
}

/// A function whose call targets have no names yet: those may come with a later unit.
struct Draft {
    name: Rc<str>,
    entry: u64,
    /// The function, then the copies inlined in it.
    copies: Vec<Copy>,
    /// Without branch stacks: where in `copies` the code at the entry belongs.
    first: Option<(usize, Location)>,
    /// How often flow enters it, where that is estimated.
    entered: Option<u64>,
    /// Samples, for the quality.
    samples: u64,
    /// Bytes of code, for the quality.
    bytes: u64,
}

/// An inlined copy, by where it was inlined; the first one is the function.
#[derive(Default)]
struct Copy {
    copies: BTreeMap<(Location, Rc<str>), usize>,
    body: BTreeMap<Location, Position>,
}

#[derive(Default)]
struct Position {
    weight: Weight,
    /// Calls, by the address that was called.
    targets: BTreeMap<u64, u64>,
}

impl Conversion<'_, '_> {
    fn function(&mut self, code: &Code, producer: Producer) {
        let weight: u64 = code
            .ranges
            .iter()
            .map(|range| weigh(&self.counts.ranges, range).sum)
            .fold(0, u64::saturating_add);
        let other = match self.policy.flavour {
            Flavour::Llvm => Producer::Gcc,
            Flavour::Gcc => Producer::Llvm,
        };
        if self.policy.own_code_only && producer == other {
            add(&mut self.quality.foreign, weight);
            return;
        }
        let declared = code.scopes[0].function.line != 0;
        let Some(name) = self.name_of(code).filter(|_| declared) else {
            add(&mut self.quality.without_declaration, weight);
            return;
        };
        if weight <= self.policy.threshold && self.policy.threshold > 0 {
            add(&mut self.quality.below_threshold, weight);
            return;
        }
        let mut copies = vec![Copy::default()];
        // Where the samples of each scope go.
        let mut places: Vec<Option<usize>> = vec![Some(0)];
        for scope in code.scopes.iter().skip(1) {
            let place = self.place(scope, &code.scopes, &places, &mut copies);
            places.push(place);
        }
        let estimate =
            (!self.counts.branch_stacks && self.policy.counts == Counts::Flow).then(|| {
                flow::estimate(self.image, code, |range| {
                    weigh(&self.counts.ranges, range).sum
                })
            });
        for stretch in &code.stretches {
            let samples = weigh(&self.counts.ranges, &stretch.code);
            let place = places.get(stretch.scope).copied().flatten();
            let scope = &code.scopes[stretch.scope];
            let location = self.location(stretch.line, stretch.discriminator, scope);
            let (Some(place), Some(location)) = (place, location) else {
                add(&mut self.quality.without_line, samples.sum);
                continue;
            };
            add(&mut self.quality.mapped, samples.sum);
            let weight = match &estimate {
                Some(estimate) => weigh(&estimate.blocks, &stretch.code),
                None => samples,
            };
            let weight = self.copied(weight, stretch);
            let position = copies[place].body.entry(location).or_default();
            position.weight.join(weight);
            for &(_, to, count) in self.counts.out_of(&stretch.code) {
                let known = position.targets.entry(to).or_default();
                *known = match self.policy.targets {
                    Targets::Sum => known.saturating_add(count),
                    Targets::Last => count,
                };
            }
        }
        self.functions.push(Draft {
            name,
            entry: code.entry,
            first: self.first(code, &places),
            entered: estimate.map(|estimate| estimate.entered),
            copies,
            samples: weight,
            bytes: code
                .ranges
                .iter()
                .map(|range| range.end - range.start)
                .sum(),
        });
    }

    /// The function's canonical name: DWARF's, or the symbol's where DWARF has only that of the
    /// source though the linker sees another one.
    fn name_of(&mut self, code: &Code) -> Option<Rc<str>> {
        let function = &code.scopes[0].function;
        let own = function.name.as_ref();
        if !function.is_linkage_name
            && let Some(symbol) = self.image.entry(code.entry)
        {
            let symbol: Rc<str> = Rc::from(names::canonical(&symbol, self.policy.flavour));
            if own.is_none() || symbol.starts_with('_') {
                return Some(symbol);
            }
        }
        own.cloned().map(|own| self.canonical(&own))
    }

    fn canonical(&mut self, name: &Rc<str>) -> Rc<str> {
        if let Some(known) = self.names.get(name) {
            return Rc::clone(known);
        }
        let canonical: Rc<str> = Rc::from(names::canonical(name, self.policy.flavour));
        self.names.insert(Rc::clone(name), Rc::clone(&canonical));
        canonical
    }

    fn place(
        &mut self,
        scope: &Scope,
        scopes: &[Scope],
        places: &[Option<usize>],
        copies: &mut Vec<Copy>,
    ) -> Option<usize> {
        let call = scope.call?;
        let outer = (*places.get(call.caller)?)?;
        let location = self.location(call.line, call.discriminator, scopes.get(call.caller)?)?;
        let name = scope.function.name.clone()?;
        let name = self.canonical(&name);
        let next = copies.len();
        let place = *copies
            .get_mut(outer)?
            .copies
            .entry((location, name))
            .or_insert(next);
        if place == next {
            copies.push(Copy::default());
        }
        Some(place)
    }

    fn location(&self, line: u64, packed: u32, scope: &Scope) -> Option<Location> {
        let declared = scope.function.line;
        if declared == 0 {
            return None;
        }
        match self.policy.flavour {
            Flavour::Gcc if line == 0 => return None,
            _ => {}
        }
        Some(Location {
            offset: (line.wrapping_sub(declared) & 0xffff) as u32,
            discriminator: match self.policy.flavour {
                Flavour::Llvm => discriminator::base(packed),
                Flavour::Gcc => packed,
            },
        })
    }

    /// Counts what the optimiser spread over several copies of an instruction.
    fn copied(&self, mut weight: Weight, stretch: &Stretch) -> Weight {
        if self.policy.flavour == Flavour::Llvm {
            let factor = discriminator::duplication(stretch.discriminator);
            weight.max = weight.max.saturating_mul(factor);
        }
        weight
    }

    /// The position of the code at the function's entry.
    fn first(&self, code: &Code, places: &[Option<usize>]) -> Option<(usize, Location)> {
        let mut stretches = code.stretches.iter();
        let stretch = stretches.find(|stretch| stretch.code.contains(&code.entry))?;
        let scope = code.scopes.get(stretch.scope)?;
        let place = (*places.get(stretch.scope)?)?;
        let location = self.location(stretch.line, stretch.discriminator, scope)?;
        Some((place, location))
    }

    fn finish(mut self, findings: dwarf::Findings) -> Converted {
        let mut profile = SampleProfile::default();
        let mut functions = Vec::new();
        let entries: HashMap<u64, Rc<str>> = self
            .functions
            .iter()
            .map(|draft| (draft.entry, Rc::clone(&draft.name)))
            .collect();
        for draft in &self.functions {
            let mut samples = self.assemble(&draft.copies, 0, &entries);
            samples.head = self.head(draft);
            functions.push((draft.samples, draft.bytes));
            let known = profile.functions.entry(draft.name.to_string()).or_default();
            merge::add_function(known, &samples, 1);
        }
        self.quality.functions = profile.functions.len();
        let density = (!self.counts.branch_stacks).then_some(functions);
        self.quality.finish(findings, density);
        Converted {
            profile,
            quality: self.quality,
        }
    }

    fn head(&self, draft: &Draft) -> u64 {
        if self.counts.branch_stacks {
            let branches = self.counts.into(draft.entry).iter();
            return branches.fold(0, |sum, (.., count)| sum.saturating_add(*count));
        }
        let at_entry = || {
            let (place, location) = draft.first?;
            let position = draft.copies.get(place)?.body.get(&location)?;
            Some(position.weight.count(self.policy.counts))
        };
        match self.policy.heads {
            Heads::Zero => 0,
            Heads::Entry => draft.entered.or_else(at_entry).unwrap_or(0).max(1),
        }
    }

    fn assemble(
        &self,
        copies: &[Copy],
        at: usize,
        entries: &HashMap<u64, Rc<str>>,
    ) -> FunctionSamples {
        let copy = &copies[at];
        let mut samples = FunctionSamples::default();
        for (location, position) in &copy.body {
            let mut targets = BTreeMap::new();
            for (to, &calls) in &position.targets {
                if let Some(name) = entries.get(to) {
                    let known: &mut u64 = targets.entry(name.to_string()).or_default();
                    *known = known.saturating_add(calls);
                }
            }
            let (count, total) = if self.policy.counts == Counts::Flow && !self.counts.branch_stacks
            {
                (
                    position.weight.max,
                    if std::env::var("TB").is_ok() {
                        position.weight.sum
                    } else {
                        position.weight.max
                    },
                )
            } else if self.counts.branch_stacks {
                // As llvm-profgen: what was called there was executed there. It looks at the
                // outermost function only.
                let calls = match self.policy.flavour {
                    Flavour::Llvm if at == 0 => targets
                        .values()
                        .fold(0, |sum, calls| calls.saturating_add(sum)),
                    _ => 0,
                };
                (position.weight.max.max(calls), position.weight.sum)
            } else {
                let count = position.weight.count(self.policy.counts);
                (count, count)
            };
            samples.total = samples.total.saturating_add(total);
            samples
                .body
                .insert(*location, BodySample { count, targets });
        }
        for ((location, name), index) in &copy.copies {
            let inlined = self.assemble(copies, *index, entries);
            samples.total = samples.total.saturating_add(inlined.total);
            let there = samples.call_sites.entry(*location).or_default();
            there.insert(name.to_string(), inlined);
        }
        samples
    }
}
