//! A profile of each program: what several of one project counted or spent their time in is told
//! apart, and each is compiled with its own.

use fdo_tests::{Sandbox, require, tools};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

const CMAKE: &str = "\
cmake_minimum_required(VERSION 3.14)
project(pair C)
add_library(common STATIC common.c)
foreach(side left right idle)
  add_executable(${side} ${side}/main.c)
  target_link_libraries(${side} common)
endforeach()
";

const COMMON: &str = "\
unsigned common(unsigned n) {
    unsigned sum = n;
    while (n > 3)
        sum ^= n /= 3;
    return sum;
}
";

/// The same file name, function names and control flow, and another hot path.
fn main_c(condition: &str, before: &str) -> String {
    format!(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
         unsigned common(unsigned n);\n\
         static __attribute__((noinline)) unsigned work(unsigned n) {{\n\
         \x20   unsigned sum = 0;\n\
         \x20   for (unsigned i = 0; i < n; i++) {{\n\
         \x20       if ({condition})\n\
         \x20           sum += common(i);\n\
         \x20       else\n\
         \x20           sum ^= i * 7;\n\
         \x20   }}\n\
         \x20   return sum;\n\
         }}\n\
         int main(int argc, char **argv) {{\n\
         \x20   (void)argc;\n\
         \x20   {before}\n\
         \x20   printf(\"%u\\n\", work(atoi(argv[1])));\n\
         \x20   return 0;\n\
         }}\n"
    )
}

/// Waits for a child that does the same work.
const FORKS: &str = "if (fork() != 0) wait(0);";

fn project(configuration: &str) -> Sandbox {
    let t = Sandbox::project()
        .file("CMakeLists.txt", CMAKE)
        .file("common.c", COMMON)
        .file("left/main.c", &main_c("i % 16 == 0", ""))
        .file("right/main.c", &main_c("i % 16 != 0", FORKS))
        .file("idle/main.c", &main_c("i % 5 == 0", ""))
        .file("fdo.toml", configuration)
        .without_tools();
    std::fs::remove_file(t.path("Cargo.toml")).unwrap();
    t
}

/// How often `right` loops, in each of two processes.
const RIGHT: u64 = 3200;

fn workload(program: &str, argument: u64) -> String {
    format!("[workload.{program}]\nrun = ['{{bin:{program}}}', '{argument}']\n")
}

/// The counts of a function in a profile of counters, in the order of its text.
#[track_caller]
fn counts(t: &Sandbox, file: &str, function: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(t.campaign(file)).unwrap();
    let mut lines = text.lines().skip_while(|line| *line != function);
    assert!(
        lines.next().is_some(),
        "`{function}` is not in {file}: {text}"
    );
    lines
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with('#'))
        .skip(2)
        .filter_map(|line| line.parse().ok())
        .collect()
}

/// The slice of the order of a target's objects in the optimised build; none if there is no such
/// order.
fn slice_of(t: &Sandbox, target: &str) -> Option<String> {
    let order = t
        .store()
        .join(format!("optimize/orders/pair-0.0.0{target}.c"));
    let text = std::fs::read_to_string(order).ok()?;
    let slice = text.lines().find_map(|line| line.strip_prefix("slice "))?;
    Some(slice.to_owned())
}

fn objects(t: &Sandbox) -> BTreeMap<&'static str, SystemTime> {
    let tree = t.path("target/fdo/optimize/cmake/pair/CMakeFiles");
    let objects = [
        ("common", "common.dir/common.c.o"),
        ("left", "left.dir/left/main.c.o"),
        ("right", "right.dir/right/main.c.o"),
    ];
    objects
        .into_iter()
        .map(|(name, object): (_, &str)| {
            let object: PathBuf = tree.join(object);
            (name, object.metadata().unwrap().modified().unwrap())
        })
        .collect()
}

#[test]
fn programs_with_functions_of_one_name_have_counts_of_their_own() {
    require!(
        &tools::llvm("clang"),
        &tools::llvm("llvm-profdata"),
        "cmake"
    );
    let configuration = |left| {
        format!(
            "[cmake.pair]\n{}{}",
            workload("left", left),
            workload("right", RIGHT)
        )
    };
    let t = project(&configuration(2000));
    let run = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    run.stderr_has("binary").stderr_has("right");
    // The child of `right` counts for it.
    let (left, right) = (
        counts(&t, "binary-left.proftext", "main.c;work"),
        counts(&t, "binary-right.proftext", "main.c;work"),
    );
    let whole = counts(&t, "merged.proftext", "main.c;work");
    assert_eq!(left.iter().max(), Some(&(2000 / 16 * 15)));
    assert_eq!(right.iter().max(), Some(&(2 * RIGHT / 16 * 15)));
    let sums: Vec<u64> = left.iter().zip(&right).map(|(a, b)| a + b).collect();
    assert_eq!(whole, sums, "one hash, so that they would be one function");
    // A program's own slice has nothing of the library.
    let own = std::fs::read_to_string(t.campaign("binary-left.own-c.proftext")).unwrap();
    assert!(
        own.contains("\nmain\n") && !own.contains("\ncommon\n"),
        "{own}"
    );

    let status = t.cargo_fdo(["status"]).succeeds();
    status.stdout_has("binary-right.proftext");
    let status = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    let binaries = status["campaign"]["binaries"].as_array().unwrap().clone();
    let names: Vec<_> = binaries.iter().map(|it| it["name"].as_str()).collect();
    assert_eq!(names, [Some("right"), Some("left")]);
    assert_eq!(binaries[0]["workloads"][0]["share"], 0.0, "of `left`");
    assert_eq!(binaries[0]["workloads"][1]["share"], 1.0);

    let build = t.cargo_fdo(["build"]).succeeds();
    assert!(
        !build.stderr().contains("hash mismatch"),
        "{}",
        build.stderr()
    );
    assert_eq!(t.used("C and C++"), Some(1.0));
    let slices = [
        slice_of(&t, ""),
        slice_of(&t, "@left"),
        slice_of(&t, "@right"),
    ];
    assert!(slices.iter().all(Option::is_some), "{slices:?}");
    assert!(
        slices[0] != slices[1] && slices[1] != slices[2],
        "{slices:?}"
    );
    assert_eq!(slice_of(&t, "@idle"), None, "it never ran");

    // Another profile of one program is none of the other's.
    let before = objects(&t);
    t.write("fdo.toml", &configuration(20_000));
    let _ = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    let _ = t.cargo_fdo(["build"]).succeeds();
    let after = objects(&t);
    let changed = |name: &str| before[name] != after[name];
    assert!(changed("left") && changed("common"));
    assert!(!changed("right"));
    assert_eq!(t.used("C and C++"), Some(1.0));

    // All in one, as the user likes.
    let merged = format!("profiles = 'merged'\n{}", configuration(20_000));
    t.write("fdo.toml", &merged);
    let _ = t.cargo_fdo(["build"]).succeeds();
    assert_eq!(slice_of(&t, "@left"), None);
    assert_eq!(t.used("C and C++"), Some(1.0));
}

#[test]
fn programs_without_build_ids_are_known_by_their_functions() {
    require!(
        &tools::llvm("clang"),
        &tools::llvm("llvm-profdata"),
        "cmake"
    );
    let t = project(&format!(
        "[cmake.pair]\nargs = ['-DCMAKE_EXE_LINKER_FLAGS=-Wl,--build-id=none']\n{}{}",
        workload("left", 2000),
        workload("right", RIGHT)
    ));
    // One with the functions of `left` and their hashes would be no other.
    t.write("idle/main.c", "int main(void) { return 0; }\n");
    let _ = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    let left = counts(&t, "binary-left.own-c.proftext", "main.c;work");
    assert_eq!(left.iter().max(), Some(&(2000 / 16 * 15)));
    let right = counts(&t, "binary-right.own-c.proftext", "main.c;work");
    assert_eq!(right.iter().max(), Some(&(2 * RIGHT / 16 * 15)));
}

#[test]
fn samples_are_told_apart_and_few_ones_are_left_out() {
    require!("perf", "gcc", "cmake");
    let t = project(&format!(
        "method = 'sample'\n[sample]\nmin-share = '15%'\n[cmake.pair]\n{}{}{}",
        workload("left", 150_000_000),
        workload("right", 15_000_000),
        workload("idle", 5_000_000)
    ))
    .env("CC", "gcc")
    .env("CXX", "g++");
    let run = t.cargo_fdo(["train"]).succeeds();
    run.stderr_has("left out: fewer samples than `min-share`");
    for name in ["left", "right"] {
        let file = t.campaign(&format!("binary-{name}.gcc.sample.txt"));
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains("work:"), "{name}: {text}");
    }
    assert!(!t.campaign("binary-idle.gcc.sample.txt").exists());
    let status = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    let binaries = status["campaign"]["binaries"].as_array().unwrap().clone();
    let idle = binaries.iter().find(|it| it["name"] == "idle").unwrap();
    assert_eq!(idle["left_out"], true, "{binaries:?}");

    let _ = t.cargo_fdo(["build"]).succeeds();
    let slices = [
        slice_of(&t, ""),
        slice_of(&t, "@left"),
        slice_of(&t, "@right"),
    ];
    assert!(slices.iter().all(Option::is_some), "{slices:?}");
    assert!(
        slices[0] != slices[1] && slices[1] != slices[2],
        "{slices:?}"
    );
    assert_eq!(slice_of(&t, "@idle"), None, "it has no profile of its own");
    assert!(t.used("C and C++").unwrap() > 0.9);
}
