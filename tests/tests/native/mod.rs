//! A small project of cmake's: a library, a shared one, a tool, and a benchmark that gets no profile.

#![allow(dead_code, reason = "each test program uses a part of it")]

use cargo_fdo::profile::object_file;
use fdo_tests::Sandbox;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const LISTS: &str = "\
cmake_minimum_required(VERSION 3.16)
project(work C CXX)
add_library(core STATIC lib.c)
add_library(extra SHARED shared.cpp)
add_executable(tool tool.c)
target_link_libraries(tool core extra)
add_executable(bench_core bench.c)
target_link_libraries(bench_core core)
";

const LIB: &str = "\
unsigned up(unsigned n) {
  unsigned sum = 0;
  for (unsigned i = 0; i < n; i++)
    sum += (i & 3) ? i : sum >> 1;
  return sum;
}
unsigned down(unsigned n) {
  unsigned sum = 1;
  while (n--)
    sum = n % 5 ? sum * 31 : sum ^ n;
  return sum;
}
";

const SHARED: &str = "\
extern \"C\" unsigned extra(unsigned n) {
  unsigned most = 0;
  for (unsigned i = 0; i < n; i++)
    if (i * 2654435761u > most) most = i * 2654435761u;
  return most;
}
";

const TOOL: &str = "\
#include <stdio.h>
unsigned up(unsigned), down(unsigned), extra(unsigned);
int main(int argc, char **argv) {
  int goes_up = argc > 1 && argv[1][0] == 'u';
  printf(\"%u %u\\n\", goes_up ? up(200000) : down(200000), extra(1000));
  return 0;
}
";

const BENCH: &str = "\
unsigned up(unsigned);
int main(void) { return up(3) == 99; }
";

const CONFIG: &str = "\
[cmake.work]
exclude-targets = [\"bench_*\"]
[workload.up]
run = [\"{bin:tool}\", \"up\"]
[workload.down]
run = [\"{bin:tool}\", \"down\"]
";

/// The project, in a directory of that name.
pub(crate) fn project(directory: &str, generator: &str) -> Sandbox {
    let t = Sandbox::project();
    std::fs::remove_dir_all(t.path("src")).expect("it was made");
    std::fs::remove_file(t.path("Cargo.toml")).expect("it was made");
    t.moved_to(directory)
        .file("CMakeLists.txt", LISTS)
        .file("lib.c", LIB)
        .file("shared.cpp", SHARED)
        .file("tool.c", TOOL)
        .file("bench.c", BENCH)
        .file("fdo.toml", CONFIG)
        .env("CMAKE_GENERATOR", generator)
}

/// Whether an object counts anything.
#[track_caller]
pub(crate) fn has_counters(object: &Path) -> bool {
    let bytes = std::fs::read(object);
    let bytes = bytes.unwrap_or_else(|error| panic!("{}: {error}", object.display()));
    object_file::counters(&bytes).is_ok_and(|counters| counters.has_counters)
}

pub(crate) fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

/// Tells what was compiled by the evidence that is new.
#[derive(Default)]
pub(crate) struct Log(BTreeMap<PathBuf, SystemTime>);

impl Log {
    /// The sources that a phase compiled since it was asked last.
    pub(crate) fn since(&mut self, t: &Sandbox, phase: &str) -> BTreeSet<String> {
        let dir = t.path("target/fdo/v1").join(phase).join("evidence");
        let mut sources = BTreeSet::new();
        let packages = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let files = packages.filter_map(|package| std::fs::read_dir(package.path()).ok());
        for file in files.flatten().flatten() {
            let path = file.path();
            let time = file.metadata().and_then(|data| data.modified());
            let time = time.expect("the system has time stamps");
            if self.0.insert(path.clone(), time) == Some(time) {
                continue;
            }
            let text = std::fs::read(&path).expect("it is there");
            let value: serde_json::Value = serde_json::from_slice(&text).expect("it is JSON");
            let source = value["source"].as_str().unwrap_or_default();
            let name = Path::new(source).file_name().unwrap_or_default();
            sources.insert(name.to_string_lossy().into_owned());
        }
        sources
    }
}
