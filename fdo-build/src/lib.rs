//! Lets a build script take part in [`cargo fdo`](https://github.com/cargo-fdo/cargo-fdo).
//!
//! `cargo fdo` trains a program and compiles it again with what the training showed: first with
//! counters in it, then with the profile that they gave. A Rust program is rarely only Rust, so
//! the C and C++ code that build scripts compile goes through the same two builds. This library
//! tells a build script which of them is going on, and which compiler to use.
//!
//! # Do I need it?
//!
//! Often not. `cargo fdo` sets `CC` and `CXX` (and cargo's per-target forms of them), so the
//! [`cc`](https://docs.rs/cc) and [`cmake`](https://docs.rs/cmake) crates, and any makefile that
//! listens to them, take part already. It is for build scripts that
//!
//! * drive make, autotools or a script with compilers of their own choice,
//! * name a compiler (`.compiler("clang")`, `-DCMAKE_C_COMPILER=…`), or
//! * want to do something else in one of the phases.
//!
//! Without `cargo fdo`, the library changes nothing and prints nothing. It has no dependencies;
//! `Configuration::cc` and `Configuration::cmake` are behind the features `cc` and `cmake`.
//!
//! ```toml
//! [build-dependencies]
//! fdo-build = "0.1"
//! # with a crate that it knows: fdo-build = { version = "0.1", features = ["cmake"] }
//! ```
//!
//! # A build script for make
//!
//! ```no_run
//! use std::env;
//! use std::process::Command;
//!
//! fn main() {
//!     let fdo = fdo_build::configure();
//!     let out_dir = env::var("OUT_DIR").unwrap();
//!
//!     // As arguments, so that they win over `CC = gcc` in the makefile.
//!     let status = Command::new("make")
//!         .args(["-C", "vendor/libhash", "libhash.a"])
//!         .arg(format!("BUILD_DIR={out_dir}"))
//!         .args(fdo.assignments())
//!         // Share cargo's job slots.
//!         .env("MAKEFLAGS", env::var_os("CARGO_MAKEFLAGS").unwrap_or_default())
//!         .status()
//!         .expect("can't run make");
//!     assert!(status.success(), "make failed: {status}");
//!
//!     println!("cargo:rustc-link-search=native={out_dir}");
//!     println!("cargo:rustc-link-lib=static=hash");
//!     println!("cargo:rerun-if-changed=build.rs");
//!     println!("cargo:rerun-if-changed=vendor/libhash");
//! }
//! ```
//!
//! # A build script for autotools
//!
//! ```no_run
//! use std::env;
//! use std::path::Path;
//! use std::process::Command;
//!
//! fn main() {
//!     let fdo = fdo_build::configure();
//!     let out_dir = env::var("OUT_DIR").unwrap();
//!     let source = env::current_dir().unwrap().join("vendor/libev");
//!
//!     // `configure` writes the compilers down; make finds them there.
//!     if !Path::new(&out_dir).join("Makefile").exists() {
//!         run(Command::new(source.join("configure"))
//!             .args(["--disable-shared", "--with-pic"])
//!             .args(fdo.assignments())
//!             .current_dir(&out_dir));
//!     }
//!     run(Command::new("make").envs(fdo.envs()).current_dir(&out_dir));
//!
//!     println!("cargo:rustc-link-search=native={out_dir}/.libs");
//!     println!("cargo:rustc-link-lib=static=ev");
//!     println!("cargo:rerun-if-changed=build.rs");
//!     println!("cargo:rerun-if-changed=vendor/libev");
//! }
//!
//! fn run(command: &mut Command) {
//!     let status = command.status();
//!     assert!(
//!         status.as_ref().is_ok_and(|status| status.success()),
//!         "{command:?}: {status:?}"
//!     );
//! }
//! ```
//!
//! # A build script for the `cc` crate
//!
//! This one insists on clang, wherever it runs; without that line it would not need the library.
//!
#![cfg_attr(feature = "cc", doc = "```no_run")]
#![cfg_attr(not(feature = "cc"), doc = "```ignore")]
//! fn main() {
//!     let mut build = cc::Build::new();
//!     build
//!         .compiler("clang")
//!         .include("vendor/parser/include")
//!         .files(["vendor/parser/lexer.c", "vendor/parser/parser.c"]);
//!     fdo_build::configure().cc(&mut build);
//!     build.compile("parser");
//!
//!     println!("cargo:rerun-if-changed=build.rs");
//!     println!("cargo:rerun-if-changed=vendor/parser");
//! }
//! ```
//!
//! # RocksDB, by cmake
//!
//! With RocksDB's sources in `rocksdb/`, next to `Cargo.toml`:
//!
#![cfg_attr(feature = "cmake", doc = "```no_run")]
#![cfg_attr(not(feature = "cmake"), doc = "```ignore")]
//! fn main() {
//!     let mut config = cmake::Config::new("rocksdb");
//!     config
//!         .profile("Release")
//!         .define("PORTABLE", "1")
//!         .define("USE_RTTI", "ON")
//!         .define("FAIL_ON_WARNINGS", "OFF")
//!         .define("ROCKSDB_BUILD_SHARED", "OFF")
//!         .define("WITH_TESTS", "OFF")
//!         .define("WITH_TOOLS", "OFF")
//!         .define("WITH_CORE_TOOLS", "OFF")
//!         .define("WITH_BENCHMARK_TOOLS", "OFF")
//!         .define("WITH_GFLAGS", "OFF")
//!         .build_target("rocksdb");
//!     fdo_build::configure().cmake(&mut config);
//!     let out_dir = config.build();
//!
//!     println!("cargo:rustc-link-search=native={}/build", out_dir.display());
//!     println!("cargo:rustc-link-lib=static=rocksdb");
//!     println!("cargo:rustc-link-lib=dylib=stdc++");
//!     println!("cargo:rerun-if-changed=build.rs");
//!     println!("cargo:rerun-if-changed=rocksdb");
//! }
//! ```
//!
//! # When the build script runs again
//!
//! Cargo runs a build script again when any file of the package changes, until the script
//! prints its first `cargo:rerun-if-changed` or `cargo:rerun-if-env-changed`; from then on only
//! what it names counts. [`configure`] prints neither, so the rule that your script relies on
//! today stays in force, with and without `cargo fdo`. It does not need to: each phase has a
//! target directory of its own, and `cargo fdo` makes a file that changes with the profile a
//! dependency of the build script's *compilation*. So the script runs again exactly when this
//! package's objects are out of date, also in packages that don't use this library.
//!
//! # What must hold
//!
//! * A build script and `cargo fdo` of different protocol versions stop the build and name both
//!   versions. Silence would give a program whose C half has no profile.
//! * Code that runs during the build (build scripts, proc macros and what they depend on) is
//!   never profiled; for it, [`Configuration::is_active`] is `false`.

mod cargo;
#[cfg(feature = "cc")]
mod cc;
#[cfg(feature = "cmake")]
mod cmake;
mod configuration;
mod error;
// Shared with the `cargo fdo` command, and not covered by this crate's version number.
#[doc(hidden)]
pub mod flags;
#[doc(hidden)]
pub mod protocol;

pub use configuration::{configure, try_configure, Configuration};
pub use error::Error;
pub use protocol::Phase;
