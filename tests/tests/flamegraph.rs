//! `cargo fdo flamegraph` with the real perf: the stacks are those that the program must have.

use cargo_fdo::profile::stacks::folded::Folded;
use cargo_fdo::profile::stacks::{self, Sources};
use fdo_tests::{Sandbox, require};
use inferno::collapse::Collapse;
use std::collections::BTreeMap;
use std::path::Path;

/// Recursion that no compiler makes a loop of, then a loop with an inlined function.
const C: &str = "\
static inline __attribute__((always_inline)) unsigned mix(unsigned sum, unsigned i) {
  return sum * 31 + (i & 3);
}
__attribute__((noinline)) static unsigned spin(unsigned n) {
  unsigned sum = 0;
  for (unsigned i = 0; i < n; i++)
    sum = mix(sum, i);
  return sum;
}
__attribute__((noinline)) unsigned down(unsigned depth, unsigned n) {
  return (depth ? down(depth - 1, n) : spin(n)) + 1;
}
";

const RUST: &str = "\
unsafe extern \"C\" {
    fn down(depth: u32, n: u32) -> u32;
}
#[inline(always)]
fn call(depth: u32, n: u32) -> u32 {
    unsafe { down(depth, n) }.wrapping_mul(3)
}
#[inline(never)]
fn work(n: u32) -> u32 {
    call(3, n) ^ std::hint::black_box(n)
}
fn main() {
    std::hint::black_box(work(600_000_000));
}
";

/// Options by which a compiler keeps frame pointers.
const POINTERS: [&str; 2] = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"];

/// The program `hot`, not stripped.
fn program(gcc: &[&str], rustc: &[&str]) -> Sandbox {
    let t = Sandbox::project().file("rec.c", C).file("hot.rs", RUST);
    let plain = [
        "-O2",
        "-g",
        "-fno-optimize-sibling-calls",
        "-c",
        "rec.c",
        "-o",
        "rec.o",
    ];
    let _ = t.run("gcc", [&plain[..], gcc].concat()).succeeds();
    let _ = t.run("ar", ["rcs", "librec.a", "rec.o"]).succeeds();
    let plain = [
        "-O",
        "-g",
        "--edition",
        "2024",
        "-L",
        ".",
        "-l",
        "static=rec",
        "hot.rs",
    ];
    let _ = t.run("rustc", [&plain[..], rustc].concat()).succeeds();
    t
}

fn folded(text: &str) -> Folded {
    stacks::read(text.as_bytes(), Sources::default())
        .unwrap()
        .folded
}

/// Share of the samples whose stack has this part.
fn share(folded: &Folded, part: &str) -> f64 {
    let with: u64 = folded
        .stacks()
        .filter(|(stack, _)| stack.contains(part))
        .map(|(_, count)| count)
        .sum();
    with as f64 / folded.total() as f64
}

#[test]
fn copies_of_stacks_show_recursion_and_inlined_functions() {
    require!("perf", "gcc", "ar", "rustc");
    let t = program(&[], &[]);
    let args = [
        "flamegraph",
        "--folded",
        "hot.folded",
        "--keep",
        "hot.data",
        "--",
        "./hot",
    ];
    let run = t.cargo_fdo(args).succeeds();
    run.stderr_has("Samples").stderr_has("0 lost");
    assert_eq!(run.stdout().trim(), "flamegraph.svg");
    let found = folded(&t.read("hot.folded"));
    let stack = "hot::main;hot::work;hot::call;down;down;down;down;spin";
    assert!(share(&found, stack) > 0.8, "{}", found.text());
    assert!(share(&found, "spin;mix") > 0.5, "{}", found.text());
    assert!(found.text().starts_with("hot;"), "{}", found.text());
    let svg = t.read("flamegraph.svg");
    for part in ["Flame graph of ./hot", "samples of c", "hot::work", "mix ("] {
        assert!(svg.contains(part), "{part}");
    }

    // The same from the file, from what perf prints of it, and from what was folded.
    let again = |file: &str| {
        let args = [
            "flamegraph",
            file,
            "--folded",
            "again.folded",
            "-o",
            "again.svg",
        ];
        let _ = t.cargo_fdo(args).succeeds();
        folded(&t.read("again.folded"))
    };
    assert_eq!(again("hot.data"), found);
    assert_eq!(again("hot.folded"), found);
    let printed = t
        .run("perf", ["script", "--no-inline", "-i", "hot.data"])
        .succeeds();
    t.write("hot.txt", printed.stdout());
    let by_perf = again("hot.txt");
    assert!(
        share(&by_perf, ";hot::work;down;down;down;down;spin") > 0.8,
        "{}",
        by_perf.text()
    );
    assert_eq!(by_perf.total(), found.total());
    as_others_fold(printed.stdout(), &by_perf);

    never_panics(&std::fs::read(t.path("hot.data")).unwrap());
    never_panics(printed.stdout().as_bytes());
}

/// Folds a text of `perf script` as inferno does: the same stacks with the same counts.
fn as_others_fold(printed: &str, ours: &Folded) {
    let mut options = inferno::collapse::perf::Options::default();
    options.annotate_kernel = true;
    let mut theirs = Vec::new();
    inferno::collapse::perf::Folder::from(options)
        .collapse(printed.as_bytes(), &mut theirs)
        .unwrap();
    let theirs = folded(&String::from_utf8(theirs).unwrap());
    // They count in what the samples stand for.
    let period = theirs.total() / ours.total();
    // perf's word for what it could not unwind, and symbol versions, which we leave out.
    let plain = |folded: &Folded, unit: u64| -> BTreeMap<String, u64> {
        let mut plain = BTreeMap::new();
        for (stack, count) in folded.stacks() {
            let names: Vec<&str> = stack
                .split(';')
                .map(|name| name.split('@').next().unwrap_or_default())
                .collect();
            *plain.entry(names.join(";")).or_default() += count / unit;
        }
        plain
    };
    let (ours, theirs) = (plain(ours, 1), plain(&theirs, period));
    let common: u64 = ours
        .iter()
        .filter_map(|(stack, count)| Some(*theirs.get(stack)?.min(count)))
        .sum();
    let all: u64 = ours.values().sum();
    assert!(common as f64 / all as f64 > 0.98, "{ours:#?}\n{theirs:#?}");
}

/// Cut anywhere, an input is read or refused.
fn never_panics(bytes: &[u8]) {
    let sources = Sources {
        kallsyms: Path::new("/nowhere"),
        ..Sources::default()
    };
    // Names are looked up each time: that of a large recording would take minutes.
    let step = 1024.max(bytes.len() / 50);
    for end in (0..bytes.len()).step_by(step) {
        let _ = stacks::read(&bytes[..end], sources);
        let _ = stacks::read(&bytes[end..], sources);
    }
}

#[test]
fn frame_pointers_show_recursion() {
    require!("perf", "gcc", "ar", "rustc");
    let t = program(&POINTERS, &["-C", "force-frame-pointers=yes"]);
    let args = [
        "flamegraph",
        "--call-graph",
        "fp",
        "--folded",
        "hot.folded",
        "--",
        "./hot",
    ];
    let _ = t.cargo_fdo(args).succeeds();
    let found = folded(&t.read("hot.folded"));
    // gcc gives a function that calls none no frame, so its caller is missing, here as in perf.
    let stack = "hot::work;hot::call;down;down;down;";
    assert!(share(&found, stack) > 0.8, "{}", found.text());
    assert!(share(&found, "down;spin") > 0.8, "{}", found.text());
}

#[test]
fn recordings_without_callers_are_drawn_with_a_word() {
    require!("perf", "gcc", "ar", "rustc");
    let t = program(&[], &[]);
    let perf = [
        "record",
        "-q",
        "-e",
        "cpu-clock:u",
        "-o",
        "flat.data",
        "./hot",
    ];
    let _ = t.run("perf", perf).succeeds();
    let args = ["flamegraph", "flat.data", "--folded", "flat.folded"];
    let run = t.cargo_fdo(args).succeeds();
    run.stderr_has("don't say who called")
        .stderr_has("--call-graph dwarf");
    assert!(share(&folded(&t.read("flat.folded")), "hot;spin;mix") > 0.5);
}

#[test]
fn what_can_not_be_drawn_is_said_and_no_picture_is_touched() {
    require!("perf");
    let t = Sandbox::project()
        .file("flamegraph.svg", "an earlier picture\n")
        .file("notes.txt", "not a recording\n")
        .file("empty.data", "")
        .file("a.folded", "app;f 1\n");
    let fails = |args: &[&str], code, parts: &[&str]| {
        let words = [&["flamegraph"], args].concat();
        let _ = t.cargo_fdo(words).fails_saying(code, parts);
        assert_eq!(t.read("flamegraph.svg"), "an earlier picture\n");
    };
    fails(
        &["notes.txt"],
        6,
        &["notes.txt", "no sample of `perf script`"],
    );
    fails(&["empty.data"], 5, &["holds no samples"]);
    fails(&["nowhere.data"], 3, &["nowhere.data"]);
    fails(&["a.folded", "a.folded"], 2, &["--diff"]);
    fails(&["--diff", "a.folded"], 2, &["--diff", "needs two"]);
    fails(
        &["a.folded", "--folded", "a.folded"],
        2,
        &["is written to the file that is read"],
    );
    fails(
        &["--", "no-such-program"],
        2,
        &["no-such-program", "could be found"],
    );
    fails(&["-p", "4194304"], 2, &["no process 4194304"]);
    fails(&["--stack-size", "7", "--", "true"], 2, &["--stack-size"]);
    let few = [
        "--frequency",
        "1",
        "--event",
        "cpu-clock:u",
        "--",
        "sleep",
        "0.05",
    ];
    fails(
        &few,
        5,
        &["holds no samples", "A program that waits is not sampled"],
    );
    let hidden = |path: &Path| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with(".cargo-fdo")
    };
    let left = std::fs::read_dir(t.root()).unwrap();
    assert!(!left.into_iter().any(|entry| hidden(&entry.unwrap().path())));
}

#[test]
fn two_files_make_a_difference() {
    let t = Sandbox::project()
        .file("old.folded", "app;main;slow 80\napp;main;rest 20\n")
        .file("new.folded", "app;main;slow 10\napp;main;rest 30\n");
    let args = [
        "flamegraph",
        "--diff",
        "old.folded",
        "new.folded",
        "--folded",
        "both",
    ];
    let _ = t.cargo_fdo(args).succeeds();
    assert_eq!(t.read("both"), "app;main;rest 20 75\napp;main;slow 80 25\n");
    let svg = t.read("flamegraph.svg");
    assert!(
        svg.contains("From old.folded to new.folded") && svg.contains("-55.00%"),
        "{svg}"
    );
}

#[test]
fn workloads_run_with_line_tables() {
    require!("perf");
    let t = Sandbox::example("rust-only");
    let args = [
        "flamegraph",
        "-w",
        "site",
        "--folded",
        "site.folded",
        "-o",
        "site.svg",
    ];
    let run = t.cargo_fdo(args).succeeds();
    run.stderr_has("with line tables");
    let found = folded(&t.read("site.folded"));
    assert!(share(&found, "sitegen::main;") > 0.5, "{}", found.text());
    assert!(t.read("site.svg").contains("Flame graph of workload site"));
    // Recordings are large, and were only of use for the picture.
    assert!(!t.path("target/fdo/v1/raw").exists());

    let train = ["train", "-w", "site", "--no-overhead"];
    let _ = t.cargo_fdo(train).succeeds();
    let args = [
        "flamegraph",
        "-w",
        "site",
        "--diff",
        "--folded",
        "both",
        "-o",
        "diff.svg",
    ];
    let run = t.cargo_fdo(args).succeeds();
    run.stderr_has("the optimised program has no debug information");
    let both = t.read("both");
    let has_both = |line: &str| {
        let mut counts = line.rsplit(' ').take(2);
        line.contains("sitegen::main;") && counts.all(|count| count != "0")
    };
    assert!(both.lines().any(has_both), "{both}");
    assert!(t.read("diff.svg").contains("to the optimised program"));
}

#[test]
fn processes_and_commands_that_fail() {
    require!("perf");
    let t = Sandbox::project();
    let busy = "while :; do :; done";
    let mut child = t.command("sh").args(["-c", busy]).spawn().unwrap();
    let pid = child.id().to_string();
    let args = [
        "flamegraph",
        "-p",
        &pid,
        "--duration",
        "1s",
        "--folded",
        "sh.folded",
    ];
    let run = t.cargo_fdo(args);
    child.kill().unwrap();
    child.wait().unwrap();
    run.succeeds().stderr_has("process");
    let text = t.read("sh.folded");
    assert!(text.lines().all(|line| line.starts_with("sh;")), "{text}");

    let fails = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3";
    let args = [
        "flamegraph",
        "-o",
        "fails.svg",
        "--keep",
        "a.data",
        "--",
        "sh",
        "-c",
        fails,
    ];
    for _ in 0..2 {
        let parts = ["the command failed (exit status 3)", "drawn in `fails.svg`"];
        let _ = t.cargo_fdo(args).fails_saying(5, &parts);
    }
    assert!(t.read("fails.svg").contains("</svg>"));
    assert!(t.path("a.data").is_file() && t.path("a.data.old").is_file());
}
