//! Conversion against what compilers of this machine make, and against LLVM's own symboliser.

use super::tool;
use crate::profile::sample::convert::{Converted, convert};
use crate::profile::sample::debug_file;
use crate::profile::sample::image::Image;
use crate::profile::sample::mapped::Mapped;
use crate::profile::sample::names::canonical;
use crate::profile::sample::policy::{Counts, Flavour, Policy};
use crate::profile::sample::quality::Cause;
use crate::profile::sample::recording::ImageSamples;
use crate::profile::sample::{FunctionSamples, Location};
use crate::tool::Invocation;
use object::{Object as _, ObjectSymbol as _};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const SYMBOLIZER: &str = "llvm-symbolizer-22";

/// Inlining, several blocks on a line, a function that is split or cloned.
const C: &str = "
#include <stdio.h>
#include <stdlib.h>
static int twice(int x) {
  if (x & 1) return x * 3; else return x * 2;
}
static int four_times(int x) { return twice(x) ^ twice(x + 1); }
__attribute__((noinline)) int work(int n, int k) {
  int sum = 0;
  for (int i = 0; i < n; i++) { if (i % 7 == k || i > 1000) sum += four_times(i); else sum -= i; }
  if (sum == 77) { puts(\"never\"); abort(); }
  return sum;
}
int main(int argc, char **argv) {
  int sum = 0;
  for (int i = 0; i < 100; i++) sum += work(i * argc, 3);
  return sum == 0;
}
";

const RUST: &str = "
fn twice(x: u32) -> u32 { if x & 1 == 1 { x * 3 } else { x * 2 } }
#[inline(never)]
fn work(n: u32, k: u32) -> u32 {
    (0..n).filter(|i| i % 7 == k).map(|i| twice(i)).fold(0, |sum, i| sum ^ i)
}
fn main() {
    let n = std::env::args().count() as u32;
    println!(\"{}\", (0..100).map(|i| work(i * n, 3)).sum::<u32>());
}
";

struct Program {
    // Its files are deleted with it.
    dir: tempfile::TempDir,
    path: PathBuf,
}

/// Compiles; `None` if the compiler is missing, or doesn't know an option.
fn compile(compiler: &str, source: &str, name: &str, options: &[&str]) -> Option<Program> {
    let compiler = tool(compiler)?;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(name), source).unwrap();
    let path = dir.path().join("program");
    let mut call = Invocation::new(&compiler);
    call = call.args(options).arg("-o").arg(&path);
    let done = call.arg(dir.path().join(name)).probe().unwrap();
    if !done.status.success() {
        super::skip(&format!("`{}` refuses {options:?}", compiler.display()));
        return None;
    }
    Some(Program { dir, path })
}

fn c(compiler: &str, options: &[&str]) -> Option<Program> {
    compile(compiler, C, "program.c", options)
}

/// Addresses of `work` and `main`, and of what was split off from them.
fn addresses(path: &Path) -> Vec<u64> {
    let data = std::fs::read(path).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let wanted = |name: &str| {
        let name = name.split('.').next().unwrap_or(name);
        name == "work" || name == "main" || name.contains("4work")
    };
    let symbols = file.symbols().filter(|s| s.name().is_ok_and(wanted));
    let code = |symbol: object::Symbol<'_, '_>| symbol.address()..symbol.address() + symbol.size();
    // Symbols may share an address.
    let addresses: BTreeSet<u64> = symbols.flat_map(code).collect();
    addresses.into_iter().collect()
}

/// One sample at each of these addresses.
fn samples(image: &Image<'_>, length: usize, addresses: &[u64]) -> ImageSamples {
    let mut samples = ImageSamples::default();
    for offset in 0..length as u64 {
        let at = image.address(offset);
        if at.is_some_and(|at| addresses.binary_search(&at).is_ok()) {
            samples.addresses.insert(offset, 1);
        }
    }
    assert_eq!(samples.addresses.len(), addresses.len());
    samples
}

fn sums() -> Policy {
    Policy {
        counts: Counts::Sum,
        own_code_only: false,
        ..Policy::of(Flavour::Gcc)
    }
}

fn converted(path: &Path, debug: Option<&Path>, addresses: &[u64]) -> Converted {
    let file = Mapped::open(path).unwrap();
    let debug = debug.map(|path| Mapped::open(path).unwrap());
    let mut image = Image::mapped(&file).unwrap();
    if let Some(debug) = &debug {
        image = image.with_mapped_debug(debug).unwrap();
    }
    let samples = samples(&image, file.bytes().len(), addresses);
    convert(&samples, &image, &sums()).unwrap()
}

/// Counts by where they are: `work`, `3.1 four_times`, `0`.
type Flat = BTreeMap<Vec<String>, u64>;

fn flatten(samples: &FunctionSamples, path: &mut Vec<String>, flat: &mut Flat) {
    for (at, body) in samples.body.iter().filter(|(_, body)| body.count > 0) {
        path.push(place(*at, ""));
        flat.insert(path.clone(), body.count);
        path.pop();
    }
    for (at, copies) in &samples.call_sites {
        for (name, copy) in copies {
            path.push(place(*at, name));
            flatten(copy, path, flat);
            path.pop();
        }
    }
}

fn place(at: Location, callee: &str) -> String {
    format!("{}.{} {callee}", at.offset, at.discriminator)
}

/// The same by `llvm-symbolizer`, address by address.
fn symbolized(symbolizer: &Path, path: &Path, addresses: &[u64]) -> Flat {
    let mut flat = Flat::new();
    for addresses in addresses.chunks(500) {
        let call = Invocation::new(symbolizer)
            .args([
                "--output-style=JSON",
                "--functions=linkage",
                "--no-demangle",
            ])
            .arg(format!("--obj={}", path.display()))
            .args(addresses.iter().map(|at| format!("{at:#x}")));
        let output = call.run().unwrap().stdout;
        let found: Vec<serde_json::Value> = serde_json::from_str(&output).unwrap();
        assert_eq!(found.len(), addresses.len());
        for address in found {
            if let Some(path) = frames(address["Symbol"].as_array().unwrap()) {
                *flat.entry(path).or_default() += 1;
            }
        }
    }
    flat
}

/// `None` where there is no line.
fn frames(frames: &[serde_json::Value]) -> Option<Vec<String>> {
    let name = |frame: &serde_json::Value| {
        canonical(frame["FunctionName"].as_str().unwrap(), Flavour::Gcc)
    };
    let mut path = vec![name(frames.last()?)];
    for (index, frame) in frames.iter().enumerate().rev() {
        let number = |field: &str| frame[field].as_u64().unwrap();
        let (line, start) = (number("Line"), number("StartLine"));
        if line == 0 || start == 0 {
            return None;
        }
        let at = Location {
            offset: (line.wrapping_sub(start) & 0xffff) as u32,
            discriminator: number("Discriminator") as u32,
        };
        let callee = index.checked_sub(1).map(|inner| name(&frames[inner]));
        path.push(place(at, &callee.unwrap_or_default()));
    }
    Some(path)
}

/// Whether each byte of the program's code goes where `llvm-symbolizer` says.
fn agrees(program: &Program, what: &str) {
    let Some(symbolizer) = tool(SYMBOLIZER) else {
        return;
    };
    let addresses = addresses(&program.path);
    assert!(addresses.len() > 50, "{what}");
    let converted = converted(&program.path, None, &addresses);
    let mut flat = Flat::new();
    for (name, samples) in &converted.profile.functions {
        flatten(samples, &mut vec![name.clone()], &mut flat);
    }
    assert_eq!(
        flat,
        symbolized(&symbolizer, &program.path, &addresses),
        "{what}"
    );
    assert_eq!(converted.quality.cause(), None, "{what}");
    // The test means something: there are copies in copies, and blocks that share a line.
    assert!(flat.keys().any(|path| path.len() >= 3), "{what}: {flat:?}");
}

#[test]
fn every_compiler_and_format() {
    for compiler in [
        "gcc", "gcc-12", "gcc-11", "clang-22", "clang-19", "clang-14",
    ] {
        let clang: &[&str] = if compiler.starts_with("clang") {
            &["-gline-tables-only", "-fdebug-info-for-profiling"]
        } else {
            &[]
        };
        for options in [
            &["-O2", "-g", "-gdwarf-5"][..],
            &["-O2", "-g", "-gdwarf-4"],
            &["-O2", "-g", "-gz=zlib"],
            &["-O2", "-g", "-no-pie"],
            &["-O2", "-g", "-flto", "-fuse-ld=bfd", "-ffat-lto-objects"],
        ] {
            // LTO of clang needs a plugin that few machines have.
            if clang.is_empty() || !options.contains(&"-flto") {
                let options = [options, clang].concat();
                if let Some(program) = c(compiler, &options) {
                    agrees(&program, &format!("{compiler} {options:?}"));
                }
            }
        }
    }
}

#[test]
fn sections_compressed_by_zstd() {
    let options = ["-O2", "-g", "-gz=zstd", "-fuse-ld=lld"];
    if let Some(program) = c("clang-22", &options) {
        agrees(&program, "zstd");
    }
}

#[test]
fn rustc() {
    let (rustc, _dir) = super::rustc();
    let rustc = rustc.program.display().to_string();
    for options in [
        &["-O", "-Cdebuginfo=1"][..],
        &[
            "-O",
            "-Cdebuginfo=2",
            "-Csymbol-mangling-version=v0",
            "-Ccodegen-units=1",
        ],
    ] {
        if let Some(program) = compile(&rustc, RUST, "program.rs", options) {
            agrees(&program, &format!("rustc {options:?}"));
        }
    }
}

#[test]
fn debug_information_in_a_file_apart() {
    let (Some(objcopy), Some(program)) = (tool("objcopy"), c("gcc", &["-O2", "-g"])) else {
        return;
    };
    let addresses = addresses(&program.path);
    let whole = converted(&program.path, None, &addresses);
    let (stripped, debug) = (
        program.dir.path().join("stripped"),
        program.dir.path().join("d.debug"),
    );
    let run = |arguments: &[&str], from: &Path, to: &Path| {
        let call = Invocation::new(&objcopy).args(arguments).arg(from).arg(to);
        call.run().unwrap();
    };
    run(&["--only-keep-debug"], &program.path, &debug);
    let link = format!("--add-gnu-debuglink={}", debug.display());
    run(&["--strip-all", &link], &program.path, &stripped);

    let without = converted(&stripped, None, &addresses);
    assert!(without.profile.functions.is_empty());
    assert_eq!(without.quality.cause(), Some(Cause::NoDebugInfo));
    assert!(!without.quality.has_debug_info);

    let file = std::fs::read(&stripped).unwrap();
    let image = Image::read(&file).unwrap();
    let candidates = debug_file::candidates(&stripped, &image, &[]);
    let found: Vec<_> = candidates.iter().filter(|path| path.is_file()).collect();
    assert_eq!(found, [&debug]);
    assert!(debug_file::belongs(&image, &std::fs::read(&debug).unwrap()));
    assert!(!debug_file::belongs(&image, b"not ELF"));
    let with = converted(&stripped, Some(&debug), &addresses);
    assert_eq!(with.profile, whole.profile);
}

#[test]
fn what_is_missing_is_named() {
    let cause = |options: &[&str], compiler: &str| {
        let program = c(compiler, options)?;
        let addresses = addresses(&program.path);
        Some(converted(&program.path, None, &addresses).quality.cause())
    };
    for (options, compiler, expected) in [
        (&["-O2"][..], "clang-22", Cause::NoDebugInfo),
        (
            &["-O2", "-gline-tables-only"],
            "clang-22",
            Cause::NoDeclarations,
        ),
        (
            &["-O2", "-g", "-gsplit-dwarf"],
            "clang-22",
            Cause::SplitDebugInfo,
        ),
        (
            &["-O2", "-g", "-gsplit-dwarf"],
            "gcc",
            Cause::SplitDebugInfo,
        ),
    ] {
        if let Some(cause) = cause(options, compiler) {
            assert_eq!(cause, Some(expected), "{compiler} {options:?}");
        }
    }
}
