//! Functions at addresses of a file, with those that were inlined there.
//!
//! By debug information where there is some, by symbols else. One file is looked at after the other,
//! all of its addresses at once, so that no more than one file's tables are in memory.

use super::files::{Cause, File};
use super::names;
use crate::profile::sample::dwarf::{self, Code, Sections, Touched};
use crate::profile::sample::image::Image;
use rustc_hash::FxHashMap;
use std::path::PathBuf;
use std::rc::Rc;

/// The functions that one address is in, outermost first.
pub(super) type Chain = Box<[Rc<str>]>;

/// Makes each name once.
#[derive(Debug, Default)]
pub(super) struct Names(FxHashMap<Box<[u8]>, Rc<str>>);

impl Names {
    /// The name of a function, by its symbol.
    pub(super) fn function(&mut self, symbol: &[u8]) -> Rc<str> {
        if let Some(name) = self.0.get(symbol) {
            return Rc::clone(name);
        }
        let name: Rc<str> = names::function(symbol).into();
        self.0.insert(symbol.into(), Rc::clone(&name));
        name
    }
}

/// The functions at offsets in a file, which are in ascending order; or why there is none.
pub(super) fn functions(
    file: &File,
    offsets: &[u64],
    directories: &[PathBuf],
    names: &mut Names,
) -> Vec<Result<Chain, Cause>> {
    let content = match file.open() {
        Ok(content) => content,
        Err(cause) => return vec![Err(cause); offsets.len()],
    };
    let Some(image) = content.image() else {
        return vec![Err(Cause::NoFile); offsets.len()];
    };
    let debug = file.debug(&image, directories);
    // What is damaged is done without.
    let image = match &debug {
        Some(debug) => {
            let with = content.image().and_then(|image| debug.complete(image));
            with.unwrap_or(image)
        }
        None => image,
    };
    of_image(&image, offsets, names)
}

fn of_image(image: &Image<'_>, offsets: &[u64], names: &mut Names) -> Vec<Result<Chain, Cause>> {
    let addresses: Vec<Option<u64>> = offsets.iter().map(|&at| image.address(at)).collect();
    let mut wanted: Vec<u64> = addresses.iter().flatten().copied().collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut found = by_debug_information(image, &wanted, names);
    let resolve = |address: &Option<u64>| {
        let address = address.ok_or(Cause::NoSymbols)?;
        if let Some(chain) = found.remove(&address) {
            // Two offsets of one address are in no file that a linker made.
            return Ok(chain);
        }
        let symbol = image.function(address).ok_or(Cause::NoSymbols)?;
        Ok([names.function(symbol)].into())
    };
    addresses.iter().map(resolve).collect()
}

fn by_debug_information(
    image: &Image<'_>,
    addresses: &[u64],
    names: &mut Names,
) -> FxHashMap<u64, Chain> {
    let mut found = FxHashMap::default();
    let Ok(sections) = Sections::load(image) else {
        return found;
    };
    if sections.is_empty() {
        return found;
    }
    let ranges = addresses
        .iter()
        .filter_map(|&at| Some(at..at.checked_add(1)?));
    let touched = Touched::new(ranges.collect());
    dwarf::functions(&sections, &touched, |code, _| {
        for range in &code.ranges {
            let first = addresses.partition_point(|&at| at < range.start);
            let inside = addresses.get(first..).unwrap_or_default().iter();
            for &address in inside.take_while(|&&at| at < range.end) {
                if let Some(chain) = chain(&code, address, image, names) {
                    found.insert(address, chain);
                }
            }
        }
    });
    found
}

/// The function and the copies inlined in it that an address is in. Copies without a name are left
/// out; `None` if the function itself has none.
fn chain(code: &Code, address: u64, image: &Image<'_>, names: &mut Names) -> Option<Chain> {
    let after = code
        .stretches
        .partition_point(|it| it.code.start <= address);
    let stretch = after.checked_sub(1).and_then(|at| code.stretches.get(at));
    let mut scope = stretch
        .filter(|stretch| stretch.code.contains(&address))
        .map_or(0, |stretch| stretch.scope);
    let mut chain = Vec::new();
    // A scope comes after the one that it is in.
    loop {
        let this = code.scopes.get(scope)?;
        let name = this.function.name.as_deref().map(str::as_bytes);
        let Some(call) = this.call else {
            // A name of the source says less than the linker's.
            let symbol = match this.function.is_linkage_name {
                true => name,
                false => image.function(address).or(name),
            };
            chain.push(names.function(symbol?));
            break;
        };
        chain.extend(name.map(|name| names.function(name)));
        if call.caller >= scope {
            return None;
        }
        scope = call.caller;
    }
    chain.reverse();
    Some(chain.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of all code of an image, each once.
    fn lines(data: &[u8]) -> Vec<String> {
        let image = Image::read(data).unwrap();
        let offsets: Vec<u64> = (0..data.len() as u64).collect();
        let found = of_image(&image, &offsets, &mut Names::default());
        assert_eq!(found.len(), offsets.len());
        let found = found.into_iter().flatten();
        let mut lines: Vec<String> = found.map(|chain| chain.join(";")).collect();
        lines.sort();
        lines.dedup();
        lines
    }

    #[test]
    fn inlined_functions_follow_the_one_that_they_are_in() {
        let gcc = lines(include_bytes!("../../../tests-data/sampled-gcc.elf"));
        assert_eq!(gcc, ["_start", "work", "work;twice"]);
        let clang = lines(include_bytes!("../../../tests-data/sampled-clang.elf"));
        assert_eq!(clang, ["_start", "work", "work;twice"]);
    }

    #[test]
    fn symbols_do_without_debug_information() {
        let plain = lines(include_bytes!("../../../tests-data/unwound-x86_64.elf"));
        assert_eq!(plain, ["_start", "leaf", "middle"]);
    }
}
