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
//! | count of a position | the largest of its addresses, as all of them ran equally often | [`Counts`] |
//! | heads | branches to the function's entry | [`Heads`] |
//! | call targets | branches from the position to entries of functions | none |
//!
//! With branch stacks these are the rules of `llvm-profgen` (`ProfileGenerator.cpp`) and
//! `create_gcov` (autofdo's `profile.cc`, `symbol_map.cc`). Both go by instructions or bytes of a
//! function; here it is bytes, so that no disassembler is needed. The results are the same: an
//! instruction's first byte is covered by all the ranges that its other bytes are covered by (a
//! range ends at the first byte of a branch), so the largest count is that of a first byte. Only
//! totals differ a little, by the other bytes of branches.
//!
//! Without branch stacks neither tool estimates anything: `llvm-profgen` refuses such recordings,
//! `create_gcov` takes the largest count of an address and leaves all heads zero.

use super::dwarf::{self, Code, Producer, Scope, Sections, Stretch};
use super::executed::{Executed, Weight, add};
use super::flow::Estimate;
use super::image::{Image, ImageError};
use super::policy::{Counts, Flavour, Heads, Policy, Targets};
use super::quality::Quality;
use super::recording::{ImageSamples, OUTSIDE};
use super::{BodySample, FunctionSamples, Location, SampleProfile, discriminator, merge, names};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

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
    let executed = Executed::new(samples, image);
    let mut conversion = Conversion {
        image,
        policy,
        executed: &executed,
        drafts: Vec::new(),
        quality: Quality {
            weight: executed.weight,
            not_loaded: executed.not_loaded,
            ..Quality::of(samples, image, &sections)
        },
        names: HashMap::new(),
    };
    let findings = dwarf::functions(&sections, &executed.touched(), |code, producer| {
        conversion.function(&code, producer);
    });
    Ok(conversion.finish(findings))
}

struct Conversion<'c, 'd> {
    image: &'c Image<'d>,
    policy: &'c Policy,
    executed: &'c Executed,
    drafts: Vec<Draft>,
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
    /// Where in `copies` the code at the entry belongs.
    first: Option<(usize, Location)>,
    /// How often it was entered, where that is estimated.
    entered: Option<u64>,
    samples: u64,
    /// Size of its code.
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
        let samples = code.ranges.iter().fold(0, |mut sum, range| {
            add(&mut sum, self.samples(range));
            sum
        });
        let foreign = match self.policy.flavour {
            Flavour::Llvm => Producer::Gcc,
            Flavour::Gcc => Producer::Llvm,
        };
        if self.policy.own_code_only && producer == foreign {
            add(&mut self.quality.foreign, samples);
            return;
        }
        let declared = code.scopes[0].function.line != 0;
        let Some(name) = self.name_of(code).filter(|_| declared) else {
            add(&mut self.quality.without_declaration, samples);
            return;
        };
        if samples <= self.policy.threshold && self.policy.threshold > 0 {
            add(&mut self.quality.below_threshold, samples);
            return;
        }
        let mut copies = vec![Copy::default()];
        let places = self.places(&code.scopes, &mut copies);
        let estimate = (!self.executed.branch_stacks && self.policy.counts == Counts::Flow)
            .then(|| Estimate::new(self.image, code, |code| self.samples(code)));
        let counts = estimate
            .as_ref()
            .map_or(&self.executed.counts, |e| &e.blocks);
        self.fill(code, &places, counts, &mut copies);
        self.drafts.push(Draft {
            name,
            entry: code.entry,
            first: self.first(code, &places),
            copies,
            entered: estimate.map(|estimate| estimate.entered),
            samples,
            bytes: code
                .ranges
                .iter()
                .map(|range| range.end - range.start)
                .sum(),
        });
    }

    fn samples(&self, code: &Range<u64>) -> u64 {
        Weight::of(code, &self.executed.counts).sum
    }

    /// The function's canonical name: DWARF's, or the symbol's where DWARF has only that of the
    /// source though the linker sees another one.
    fn name_of(&mut self, code: &Code) -> Option<Rc<str>> {
        let function = &code.scopes[0].function;
        if !function.is_linkage_name
            && let Some(symbol) = self.image.entry(code.entry)
            && (function.name.is_none() || symbol.starts_with("_Z") || symbol.starts_with("_R"))
        {
            return Some(self.canonical(&Rc::from(symbol)));
        }
        let name = function.name.clone()?;
        Some(self.canonical(&name))
    }

    fn canonical(&mut self, name: &Rc<str>) -> Rc<str> {
        if let Some(known) = self.names.get(name) {
            return Rc::clone(known);
        }
        let canonical: Rc<str> = Rc::from(names::canonical(name, self.policy.flavour));
        self.names.insert(Rc::clone(name), Rc::clone(&canonical));
        canonical
    }

    /// For each scope, which of `copies` its samples go to. Scopes of one function at one position
    /// are one copy to the compiler.
    fn places(&mut self, scopes: &[Scope], copies: &mut Vec<Copy>) -> Vec<Option<usize>> {
        let mut places = vec![Some(0)];
        for scope in scopes.iter().skip(1) {
            let place = self.place(scope, scopes, &places, copies);
            places.push(place);
        }
        places
    }

    /// `None` if there is a call without a line on the way, or a function without a name.
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
        let known = &mut copies.get_mut(outer)?.copies;
        let place = *known.entry((location, name)).or_insert(next);
        if place == next {
            copies.push(Copy::default());
        }
        Some(place)
    }

    fn location(&self, line: u64, packed: u32, scope: &Scope) -> Option<Location> {
        let declared = scope.function.line;
        // GCC drops code without a line; LLVM looks it up like any other.
        if declared == 0 || (line == 0 && self.policy.flavour == Flavour::Gcc) {
            return None;
        }
        Some(Location {
            offset: (line.wrapping_sub(declared) & 0xffff) as u32,
            discriminator: match self.policy.flavour {
                Flavour::Llvm => discriminator::base(packed),
                Flavour::Gcc => packed,
            },
        })
    }

    /// Makes the positions of all code, with counts and the calls from them.
    fn fill(
        &mut self,
        code: &Code,
        places: &[Option<usize>],
        counts: &[(Range<u64>, u64)],
        copies: &mut [Copy],
    ) {
        for stretch in &code.stretches {
            let samples = self.samples(&stretch.code);
            let Some((place, location)) = self.position(stretch, code, places) else {
                add(&mut self.quality.without_line, samples);
                continue;
            };
            add(&mut self.quality.mapped, samples);
            let position = copies[place].body.entry(location).or_default();
            let mut weight = Weight::of(&stretch.code, counts);
            if self.policy.flavour == Flavour::Llvm {
                // The optimiser spread executions of one instruction among so many copies.
                let copies = discriminator::duplication(stretch.discriminator);
                weight.max = weight.max.saturating_mul(copies);
            }
            position.weight.join(weight);
            for branch in self.executed.out_of(&stretch.code) {
                let calls = position.targets.entry(branch.other).or_default();
                match self.policy.targets {
                    Targets::Sum => add(calls, branch.count),
                    Targets::Last => *calls = branch.count,
                }
            }
        }
    }

    /// Where samples of a stretch of code go.
    fn position(
        &self,
        stretch: &Stretch,
        code: &Code,
        places: &[Option<usize>],
    ) -> Option<(usize, Location)> {
        let place = (*places.get(stretch.scope)?)?;
        let scope = code.scopes.get(stretch.scope)?;
        let location = self.location(stretch.line, stretch.discriminator, scope)?;
        Some((place, location))
    }

    fn first(&self, code: &Code, places: &[Option<usize>]) -> Option<(usize, Location)> {
        let mut stretches = code.stretches.iter();
        let stretch = stretches.find(|stretch| stretch.code.contains(&code.entry))?;
        self.position(stretch, code, places)
    }

    fn finish(mut self, findings: dwarf::Findings) -> Converted {
        let drafts = std::mem::take(&mut self.drafts);
        let names: HashMap<u64, Rc<str>> = drafts
            .iter()
            .map(|draft| (draft.entry, Rc::clone(&draft.name)))
            .collect();
        let mut profile = SampleProfile::default();
        let mut sizes = Vec::new();
        for draft in drafts {
            let mut samples = self.assemble(&draft.copies, 0, &names);
            samples.head = self.head(&draft);
            sizes.push((draft.samples, draft.bytes));
            let known = profile.functions.entry(draft.name.to_string());
            merge::add_function(known.or_default(), &samples, 1);
        }
        self.quality.functions = profile.functions.len();
        let sizes = (!self.executed.branch_stacks).then_some(sizes);
        self.quality.finish(findings, sizes);
        Converted {
            profile,
            quality: self.quality,
        }
    }

    fn count_of(&self, position: &Position) -> u64 {
        match self.policy.counts {
            Counts::Sum if !self.executed.branch_stacks => position.weight.sum,
            _ => position.weight.max,
        }
    }

    fn head(&self, draft: &Draft) -> u64 {
        if self.executed.branch_stacks {
            let mut head = 0;
            for branch in self.executed.into(draft.entry) {
                // create_gcov knows nothing of other images.
                if branch.other != OUTSIDE || self.policy.targets == Targets::Sum {
                    add(&mut head, branch.count);
                }
            }
            return head;
        }
        let at_entry = || {
            let (place, location) = draft.first?;
            let position = draft.copies.get(place)?.body.get(&location)?;
            Some(self.count_of(position))
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
        names: &HashMap<u64, Rc<str>>,
    ) -> FunctionSamples {
        let copy = &copies[at];
        let mut samples = FunctionSamples::default();
        for (location, position) in &copy.body {
            let mut targets = BTreeMap::new();
            let mut calls = 0;
            for (to, &count) in &position.targets {
                if let Some(name) = names.get(to) {
                    add(targets.entry(name.to_string()).or_default(), count);
                    add(&mut calls, count);
                }
            }
            let mut count = self.count_of(position);
            if self.policy.flavour == Flavour::Llvm && at == 0 {
                // What was called there was executed there. llvm-profgen looks at the outermost
                // function only.
                count = count.max(calls);
            }
            // Compilers hold totals against counts; both reference tools sum up bytes or
            // instructions, which makes inlining more generous than a sum of positions.
            let total = match self.policy.counts {
                Counts::Max | Counts::Sum if !self.executed.branch_stacks => count,
                _ => position.weight.sum,
            };
            add(&mut samples.total, total);
            samples
                .body
                .insert(*location, BodySample { count, targets });
        }
        for ((location, name), index) in &copy.copies {
            let inlined = self.assemble(copies, *index, names);
            add(&mut samples.total, inlined.total);
            let there = samples.call_sites.entry(*location).or_default();
            there.insert(name.to_string(), inlined);
        }
        samples
    }
}

#[cfg(test)]
mod tests;
