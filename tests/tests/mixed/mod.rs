//! A small program of Rust and C, and questions about what was compiled for it.
//!
//! `app RUST C` loops as often as it is told in Rust and in C. It depends on `work` (Rust),
//! `native` (C, by a build script that calls `$CC`), `mac` (a proc macro) and `plain` (a build
//! script that writes Rust).
#![allow(dead_code, reason = "each test program uses a part of it")]

use fdo_tests::{Run, Sandbox, tools};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Loops that make both languages hot. Limits are powers of two, so that counts near these give
/// the same.
pub(crate) const RUST: u64 = 140_000;
pub(crate) const C: u64 = 135_000;

const MANIFEST: &str = r#"[package]
name = "app"
version = "0.1.0"
edition = "2024"

[dependencies]
work = { path = "work" }
native = { path = "native" }
mac = { path = "mac" }
plain = { path = "plain" }

[workspace]

[profile.release]
"#;

const MAIN: &str = r#"
fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>().expect("a number"));
    let rust = args.next().unwrap_or_default();
    let c = args.next().unwrap_or_default();
    println!("{} {} {}", work::spin(rust), native::spin(c), plain::TWO + mac::one!());
}
"#;

/// Public and private functions, a generic, a trait object: names of all kinds.
pub(crate) const WORK: &str = r#"
#[inline(never)]
pub fn spin(times: u64) -> u64 {
    let shapes: [&dyn Shape; 2] = [&Odd(3), &Even(4)];
    let mut sum = 0u64;
    for n in 0..times {
        sum = sum.wrapping_add(step(n));
        sum = sum.wrapping_add(shapes[(n % 2) as usize].area(n));
        sum = sum.wrapping_mul(mix::<u64>(n) | 1);
    }
    sum
}

#[inline(never)]
fn step(n: u64) -> u64 {
    if n % 3 == 0 { collatz(n) } else { n ^ 0x55 }
}

#[inline(never)]
fn collatz(mut n: u64) -> u64 {
    let mut steps = 0;
    while n > 1 && steps < 4 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

#[inline(never)]
fn mix<T: Into<u64> + Copy>(n: T) -> u64 {
    let n = n.into();
    if n % 5 == 0 { n.rotate_left(7) } else { n >> 1 }
}

trait Shape {
    fn area(&self, n: u64) -> u64;
}

struct Odd(u64);
struct Even(u64);

impl Shape for Odd {
    fn area(&self, n: u64) -> u64 {
        if n & 4 == 0 { n * self.0 } else { n + self.0 }
    }
}

impl Shape for Even {
    fn area(&self, n: u64) -> u64 {
        if n & 8 == 0 { n - n / self.0 } else { n }
    }
}
"#;

/// Two C sources, each with a static function of the same name.
pub(crate) const SPIN_C: &str = r#"
#include <stdint.h>
uint64_t twist(uint64_t n);
static __attribute__((noinline)) uint64_t helper(uint64_t n) {
    return n % 3 == 0 ? n * 7 : n + 1;
}
uint64_t native_spin(uint64_t times) {
    uint64_t sum = 0;
    for (uint64_t n = 0; n < times; n++)
        sum += helper(n) ^ twist(n);
    return sum;
}
"#;

pub(crate) const TWIST_C: &str = r#"
#include <stdint.h>
static __attribute__((noinline)) uint64_t helper(uint64_t n) {
    while (n > 100 && n % 2 == 0)
        n /= 2;
    return n;
}
uint64_t twist(uint64_t n) {
    return n % 5 == 0 ? helper(n) : n;
}
"#;

/// By hand, as many packages do it: no crate, `$CC` and `ar`.
const NATIVE_BUILD: &str = r#"
use std::process::Command;
fn main() {
    let out = std::env::var("OUT_DIR").unwrap();
    let triple = std::env::var("TARGET").unwrap();
    let cc = std::env::var(format!("CC_{triple}"))
        .or_else(|_| std::env::var("CC"))
        .unwrap_or("cc".into());
    let mut objects = Vec::new();
    for name in ["spin", "twist"] {
        let object = format!("{out}/{name}.o");
        run(Command::new(&cc)
            .args(["-O2", "-fPIC", "-Wall", "-Werror", "-c", "-o", &object])
            .arg(format!("c/{name}.c")));
        objects.push(object);
    }
    let library = format!("{out}/libspin.a");
    let _ = std::fs::remove_file(&library);
    run(Command::new("ar").args(["crs", &library]).args(&objects));
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=spin");
    println!("cargo:rerun-if-changed=c");
    println!("cargo:rerun-if-changed=build.rs");
}
fn run(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}
"#;

pub(crate) const NATIVE_LIB: &str = r#"
unsafe extern "C" {
    fn native_spin(times: u64) -> u64;
}
pub fn spin(times: u64) -> u64 {
    unsafe { native_spin(times) }
}
"#;

/// The program, with the C compiler and rustc spied on.
pub(crate) fn sandbox() -> Sandbox {
    let package = |name: &str, more: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{more}")
    };
    Sandbox::project()
        .compilers(&tools::llvm("clang"), &tools::llvm("clang++"))
        .rustc_wrapper()
        .file("Cargo.toml", MANIFEST)
        .file("src/main.rs", MAIN)
        .file("work/Cargo.toml", &package("work", ""))
        .file("work/src/lib.rs", WORK)
        .file(
            "native/Cargo.toml",
            &package("native", "links = \"spin\"\n"),
        )
        .file("native/build.rs", NATIVE_BUILD)
        .file("native/src/lib.rs", NATIVE_LIB)
        .file("native/c/spin.c", SPIN_C)
        .file("native/c/twist.c", TWIST_C)
        .file(
            "mac/Cargo.toml",
            &package("mac", "[lib]\nproc-macro = true\n"),
        )
        .file(
            "mac/src/lib.rs",
            "use proc_macro::TokenStream;\n\
             #[proc_macro]\n\
             pub fn one(_: TokenStream) -> TokenStream { \"1u64\".parse().unwrap() }\n",
        )
        .file("plain/Cargo.toml", &package("plain", ""))
        .file(
            "plain/build.rs",
            "fn main() {\n\
             let out = std::env::var(\"OUT_DIR\").unwrap();\n\
             std::fs::write(out + \"/two.rs\", \"pub const TWO: u64 = 2;\").unwrap();\n\
             println!(\"cargo:rerun-if-changed=build.rs\");\n}\n",
        )
        .file(
            "plain/src/lib.rs",
            "include!(concat!(env!(\"OUT_DIR\"), \"/two.rs\"));\n",
        )
}

/// Whether the C compiler is there that all of these tests need.
pub(crate) fn require() -> bool {
    tools::require(&tools::llvm("clang")) && tools::require(&tools::llvm("clang++"))
}

/// Changes one file's text, which must be there.
#[track_caller]
pub(crate) fn edit(t: &Sandbox, file: &str, from: &str, to: &str) {
    let text = t.read(file);
    assert!(text.contains(from), "`{file}` has no {from:?}");
    t.write(file, &text.replace(from, to));
}

/// Trains with so many loops.
#[track_caller]
pub(crate) fn train(t: &Sandbox, rust: u64, c: u64) -> Run {
    let (rust, c) = (rust.to_string(), c.to_string());
    t.cargo_fdo(["train", "--no-overhead", "--", "{bin:app}", &rust, &c])
        .succeeds()
}

#[track_caller]
pub(crate) fn build(t: &Sandbox) -> Run {
    t.cargo_fdo(["build", "--release"]).succeeds()
}

/// The optimised program's output.
#[track_caller]
pub(crate) fn output(t: &Sandbox, built: &Run, rust: u64, c: u64) -> String {
    let program = built.stdout().lines().next().expect("a path").to_owned();
    let run = t.run(program, [rust.to_string(), c.to_string()]).succeeds();
    run.stdout().to_owned()
}

/// The share of the counts that the last build used, and the whole answer for messages.
#[track_caller]
pub(crate) fn used(t: &Sandbox) -> (f64, serde_json::Value) {
    let status = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    let all = &status["used"]["all"];
    let number = |name: &str| all[name].as_f64().expect("a count");
    (number("used") / number("total"), status["used"].clone())
}

/// Every count was used by the last build.
#[track_caller]
pub(crate) fn assert_all_used(t: &Sandbox) {
    let (used, all) = used(t);
    assert_eq!(used, 1.0, "{all:#}");
}

/// What was compiled in a phase since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Compiled {
    /// Crates of the target.
    pub(crate) crates: BTreeSet<String>,
    /// Build scripts and proc macros.
    pub(crate) host: BTreeSet<String>,
    /// C sources, by file name.
    pub(crate) sources: BTreeSet<String>,
}

impl Compiled {
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Compiled::default()
    }
}

/// Looks at what the spies have seen.
#[derive(Debug, Default)]
pub(crate) struct Log {
    rustc: usize,
    clang: usize,
    clangxx: usize,
}

impl Log {
    /// Everything compiled in this phase since the last call.
    pub(crate) fn since(&mut self, t: &Sandbox, phase: &str) -> Compiled {
        let phase = format!("/fdo/{phase}/");
        let mut compiled = Compiled::default();
        let calls = t.calls("rustc-wrapper");
        for call in calls.iter().skip(self.rustc) {
            let here = call
                .value_of("--out-dir")
                .is_some_and(|dir| dir.contains(&phase));
            let Some(name) = call.value_of("--crate-name").filter(|_| here) else {
                continue;
            };
            let package = call.env.get("CARGO_PKG_NAME").map_or("", String::as_str);
            if call.has("--target") {
                compiled.crates.insert(name.to_owned());
            } else {
                compiled.host.insert(format!("{package}:{name}"));
            }
        }
        self.rustc = calls.len();
        for (tool, seen) in [("clang", &mut self.clang), ("clang++", &mut self.clangxx)] {
            let calls = t.calls(&tools::llvm(tool));
            for call in calls.iter().skip(*seen) {
                let out_dir = call.env.get("OUT_DIR").map_or("", String::as_str);
                if call.has("-c") && out_dir.contains(&phase) {
                    for source in call.args.iter().filter(|arg| is_c(arg)) {
                        let name = source.rsplit('/').next().unwrap_or(source);
                        compiled.sources.insert(name.to_owned());
                    }
                }
            }
            *seen = calls.len();
        }
        compiled
    }
}

/// A source that is not one of cmake's questions to the compiler.
fn is_c(argument: &str) -> bool {
    (argument.ends_with(".c") || argument.ends_with(".cpp")) && !argument.contains("CMake")
}

/// All files of a name below the target directory of a phase.
pub(crate) fn files(t: &Sandbox, phase: &str, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![t.path("target/fdo").join(phase)];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else if path.file_name().is_some_and(|found| found == name) {
                found.push(path);
            }
        }
    }
    found
}

pub(crate) fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}
