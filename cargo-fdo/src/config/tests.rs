//! Whole files: what is accepted, and what each wrong one is told.

use super::*;
use crate::error::{Diagnose, ExitCode};
use crate::tool::sample_converter::{Converter, Merger};
use std::time::Duration;

const ROOT: &str = "/no/such/workspace";

/// The file of the module's documentation, with every key.
const FULL: &str = r#"
method = "instrument"
profiles = "merged"
c-compiler = "tools/clang"
min-match = 0.9
max-loss = "2.5 %"
workloads = ["mixed", "bench", "example:demo"]

[tool]
llvm-profdata = "llvm-profdata-22"
perf = "tools/perf"

[sample]
event = "cpu/event=0xc4,umask=0x20/u"
branch-stacks = true
frequency = 4000
max-size = "512 MiB"
duration = "5min"
buffer = "8M"
compress = true
min-share = "5%"
min-mapped = 0.25
converter = "llvm-profgen"
merger = "profile_merger"

[workload.mixed]
prepare = ["{bin:app}", "fill", "{tmp}/db"]
run = "{bin:app} mixed '{tmp}/db'"
env = { ZED = "v-{cpus}", ALPHA = "" }
cwd = "sub/dir"
weight = 3
timeout = "1min 30s"
repeat = 2
kind = "train"

[workload.judge]
run = ["{bin:app}", '{"json":{"a":1}}', "${HOME}"]
kind = "evaluate"

[workload.load]
prepare = [["{bin:app}", "fill", "{dir:data}"], "sync", { run = "true" }]
run = ["{bin:app}", "{what}", "-u{users}", "-s{size}"]
parameters = { size = "4k" }
scenarios = { get = { what = "get", weight = 2 }, put = { what = "put", size = 1.5 } }
matrix = { users = [1, 0x10] }

[package."librocksdb-sys"]
c = false
rust = true
cflags = ["-fno-foo"]
rustflags = ["-Cfoo"]
c-exclude = ["tools/*"]
counters = "frontend"
"#;

/// Each problem as `line:column: message`.
fn problems(outcome: Result<Config, ConfigError>) -> Vec<String> {
    match outcome {
        Ok(_) => Vec::new(),
        Err(error) => error
            .problems
            .iter()
            .map(|problem| {
                let place = problem.place.as_ref().expect("a place in the file");
                format!("{}:{}: {}", place.line, place.column, problem.message)
            })
            .collect(),
    }
}

#[track_caller]
fn assert_problems(text: &str, expected: &[&str]) {
    let found = problems(Config::parse(Path::new(ROOT), text));
    assert_eq!(found, expected, "in\n{text}");
}

fn manifest(text: &str) -> Result<Config, ConfigError> {
    source::config(Path::new(ROOT), None, Some(text))
}

#[test]
fn every_key_is_read() {
    let config = Config::parse(Path::new(ROOT), FULL).unwrap();
    assert_eq!(config.profiles, Profiles::Merged);
    let root = Path::new(ROOT);
    assert_eq!(config.file.as_deref(), Some(&*root.join("fdo.toml")));
    assert_eq!(config.method, Method::Instrument);
    assert_eq!(
        config.c_compiler,
        CCompilerChoice::Program(root.join("tools/clang"))
    );
    assert_eq!((config.min_match, config.max_loss), (Some(0.9), 0.025));
    assert_eq!(config.default_workloads, ["mixed", "bench", "example:demo"]);
    assert_eq!(
        config.profdata.as_deref(),
        Some(Path::new("llvm-profdata-22"))
    );

    assert_eq!(config.perf.as_deref(), Some(&*root.join("tools/perf")));
    let sample = &config.sample;
    assert_eq!(
        sample.wanted.event.as_deref(),
        Some("cpu/event=0xc4,umask=0x20/u")
    );
    assert_eq!(sample.wanted.branch_stacks, Some(true));
    assert_eq!(sample.wanted.frequency, Some(4000));
    assert_eq!(sample.limits.max_bytes, Some(512 << 20));
    assert_eq!(sample.limits.buffer_bytes, Some(8 << 20));
    assert!(sample.limits.compress);
    assert_eq!(sample.duration, Some(Duration::from_secs(300)));
    assert_eq!((sample.min_share, sample.min_mapped), (0.05, 0.25));
    assert_eq!(sample.converter, Converter::LlvmProfgen);
    assert_eq!(sample.merger, Merger::ProfileMerger);

    let mixed = &config.workloads["mixed"];
    assert_eq!(mixed.name, "mixed");
    assert!(matches!(&mixed.prepare[..], [CommandLine::Argv(argv)] if argv.len() == 3));
    assert!(matches!(mixed.run, CommandLine::Shell(_)));
    let variables: Vec<_> = mixed.env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(variables, ["ZED", "ALPHA"], "in the order of the file");
    assert_eq!(mixed.cwd.as_deref(), Some(Path::new("sub/dir")));
    assert_eq!((mixed.weight, mixed.repeat), (3, 2));
    assert_eq!(mixed.timeout, Some(Duration::from_secs(90)));
    assert_eq!(mixed.kind, Kind::Train);
    assert_eq!(mixed.bins(), BTreeSet::from(["app"]));

    let load = &config.workloads["load/get-users-16"];
    assert_eq!(load.prepare.len(), 3);
    assert_eq!(load.run.to_string(), "{bin:app} get -u16 -s4k");
    assert_eq!(config.workloads.len(), 2 + 4);

    let judge = &config.workloads["judge"];
    assert_eq!(judge.kind, Kind::Evaluate);
    assert_eq!(
        judge.run.to_string(),
        r#"{bin:app} {"json":{"a":1}} ${HOME}"#
    );
    assert_eq!((judge.weight, judge.repeat), (1, 1));

    let policy = config.policy("librocksdb-sys");
    assert_eq!((policy.c, policy.rust), (false, true));
    assert_eq!(policy.cflags, ["-fno-foo"]);
    assert_eq!(policy.rustflags, ["-Cfoo"]);
    assert!(policy.c_exclude[0].matches("tools/x.cc"));
    assert_eq!(policy.counters, Counters::Frontend);
    assert_eq!(config.policy("other"), &PackagePolicy::default());
}

#[test]
fn everything_is_optional() {
    let config = Config::parse(Path::new(ROOT), "").unwrap();
    let file = config.file.clone();
    assert_eq!(
        config,
        Config {
            file,
            ..Config::default()
        }
    );
    assert_eq!(
        source::config(Path::new(ROOT), None, None).unwrap(),
        Config::default()
    );
}

#[test]
fn shares_are_numbers_or_percent() {
    for (text, share) in [
        ("0", 0.0),
        ("1", 1.0),
        ("0.5", 0.5),
        ("'0%'", 0.0),
        ("'12.5%'", 0.125),
    ] {
        let config = Config::parse(Path::new(ROOT), &format!("max-loss = {text}")).unwrap();
        assert_eq!(config.max_loss, share, "{text}");
    }
}

#[test]
fn counts_may_be_written_in_any_way_toml_has() {
    for (text, count) in [("1_000", 1000), ("+3", 3), ("0x10", 16), ("0b11", 3)] {
        let text = format!("[workload.w]\nrun = 'x'\nweight = {text}");
        let config = Config::parse(Path::new(ROOT), &text).unwrap();
        assert_eq!(config.workloads["w"].weight, count, "{text}");
    }
}

#[test]
fn a_wrong_type_is_named_for_every_key() {
    let count = "a whole number from 1 to 4294967295";
    let command = "an array of arguments or a string for the shell";
    let share = "a share from 0 to 1 or a string such as \"80%\"";
    // Section, key, what it must be.
    let keys = [
        ("", "method", "\"instrument\" or \"sample\""),
        (
            "",
            "c-compiler",
            "\"auto\", \"keep\", or the name or path of a clang",
        ),
        ("", "min-match", share),
        ("", "max-loss", share),
        ("", "workloads", "an array of strings"),
        ("tool", "llvm-profdata", "the name or path of a program"),
        ("workload.w", "prepare", command),
        ("workload.w", "run", command),
        (
            "workload.w",
            "cwd",
            "a directory relative to the workspace root",
        ),
        ("workload.w", "weight", count),
        (
            "workload.w",
            "timeout",
            "a time such as \"90s\" or \"5min\"",
        ),
        ("workload.w", "repeat", count),
        ("workload.w", "kind", "\"train\" or \"evaluate\""),
        ("workload.w.env", "KEY", "a string"),
        ("package.p", "c", "`true` or `false`"),
        ("package.p", "rust", "`true` or `false`"),
        ("package.p", "cflags", "an array of strings"),
        ("package.p", "rustflags", "an array of strings"),
        ("package.p", "c-exclude", "an array of strings"),
        ("package.p", "counters", "\"ir\" or \"frontend\""),
    ];
    for (section, key, must_be) in keys {
        // A date is right for no key.
        let (header, place) = match section {
            "" => (String::new(), String::new()),
            _ => (format!("[{section}]"), format!(" in [{section}]")),
        };
        // So that the missing `run` does not join in.
        let run = match (section, key) {
            ("workload.w", "run") => "",
            ("workload.w", _) => "run = 'x'",
            ("workload.w.env", _) => "[workload.w]\nrun = 'x'",
            _ => "",
        };
        let text = format!("\n{header}\n{key} = 2026-01-01\n{run}");
        let column = key.len() + 4;
        assert_problems(
            &text,
            &[&format!(
                "3:{column}: `{key}`{place} must be {must_be}, not a date"
            )],
        );
    }
}

#[test]
fn tables_must_be_tables() {
    assert_problems(
        "tool = 1\nworkload = []\npackage = 'x'\n",
        &[
            "1:8: [tool] must be a table, not `1`",
            "2:12: [workload] must be a table, not an array",
            "3:11: [package] must be a table, not the string \"x\"",
        ],
    );
    assert_problems(
        "[workload]\nrun = 'x'\nmixed = 'y'\n[package]\nc = false\n[workload.w]\nrun = 'x'\nenv = ['A=1']",
        &[
            "2:7: [workload.run] must be a table, not the string \"x\"",
            "3:9: [workload.mixed] must be a table, not the string \"y\"",
            "5:5: [package.c] must be a table, not `false`",
            "8:7: [workload.w.env] must be a table, not an array",
        ],
    );
}

#[test]
fn wrong_values_are_told_what_would_be_right() {
    let cases: &[(&str, &[&str])] = &[
        (
            "methd = 'sample'",
            &["1:1: unknown key `methd`; did you mean `method`?"],
        ),
        ("colour = 1", &["1:1: unknown key `colour`"]),
        (
            "method = 'instrumnet'",
            &[
                "1:10: `method` must be \"instrument\" or \"sample\", not the string \"instrumnet\"; did you mean `instrument`?",
            ],
        ),
        (
            "c-compiler = ''",
            &[
                "1:14: `c-compiler` must be \"auto\", \"keep\", or the name or path of a clang, not the string \"\"",
            ],
        ),
        (
            "min-match = 80",
            &[
                "1:13: `min-match` must be a share from 0 to 1 or a string such as \"80%\", not `80`",
            ],
        ),
        (
            "min-match = -0.1\nmax-loss = nan",
            &[
                "1:13: `min-match` must be a share from 0 to 1 or a string such as \"80%\", not `-0.1`",
                "2:12: `max-loss` must be a share from 0 to 1 or a string such as \"80%\", not `nan`",
            ],
        ),
        (
            "max-loss = '101%'\nmin-match = '0.8'",
            &[
                "1:12: `max-loss` must be a share from 0 to 1 or a string such as \"80%\", not the string \"101%\"",
                "2:13: `min-match` must be a share from 0 to 1 or a string such as \"80%\", not the string \"0.8\"",
            ],
        ),
        (
            "workloads = ['mixde', 'bench', 'judge', 'bench', 3, 'ü']\n[workload.mixed]\nrun = 'x'\n[workload.judge]\nrun = 'x'\nkind = 'evaluate'",
            &["1:50: `workloads` must be an array of strings that are not empty, not `3`"],
        ),
        (
            "workloads = ['mixde', 'bench', 'judge', 'bench', 'ü', 'x']\n[workload.mixed]\nrun = 'x'\n[workload.judge]\nrun = 'x'\nkind = 'evaluate'",
            &[
                "1:14: `workloads` has `mixde`, and there is no such workload; did you mean `mixed`?",
                "1:32: `workloads` has `judge`, which is of kind \"evaluate\" and can't be trained with",
                "1:41: `workloads` has `bench` twice; `weight` makes it count more",
                "1:50: `workloads` has `ü`, and there is no such workload",
                "1:55: `workloads` has `x`, and there is no such workload",
            ],
        ),
        (
            "workloads = []",
            &["1:13: `workloads` is empty; leave the key out to train with all of kind \"train\""],
        ),
        (
            "[workloads.mixed]\nrun = 'x'",
            &[
                "1:2: `workloads` must be an array of workload names; a workload itself is a table [workload.NAME]",
            ],
        ),
        (
            "[tools]\nllvm-profdata = 'x'\n[tool]\nllvm_profdata = 'x'",
            &[
                "1:2: unknown key `tools`; did you mean `tool`?",
                "4:1: unknown key `llvm_profdata` in [tool]; did you mean `llvm-profdata`?",
            ],
        ),
        (
            "[workload.mixed]\nrun = 'x'\nwieght = 3",
            &["3:1: unknown key `wieght` in [workload.mixed]; did you mean `weight`?"],
        ),
        (
            "[workload.mixed]\nweight = 2",
            &["1:11: [workload.mixed] has no `run`"],
        ),
        (
            "[workload.w]\nrun = 'x'\nweight = 0\nrepeat = -1",
            &[
                "3:10: `weight` in [workload.w] must be a whole number from 1 to 4294967295, not `0`",
                "4:10: `repeat` in [workload.w] must be a whole number from 1 to 4294967295, not `-1`",
            ],
        ),
        (
            "[workload.w]\nrun = 'x'\nweight = 1.5\nrepeat = 4294967296",
            &[
                "3:10: `weight` in [workload.w] must be a whole number from 1 to 4294967295, not `1.5`",
                "4:10: `repeat` in [workload.w] must be a whole number from 1 to 4294967295, not `4294967296`",
            ],
        ),
        (
            "[workload.w]\nrun = 'x'\ntimeout = '0s'",
            &[
                "3:11: `timeout` in [workload.w] must be a time such as \"90s\" or \"5min\", not the string \"0s\"",
            ],
        ),
        (
            "[workload.w]\nrun = 'x'\ntimeout = '60'",
            &[
                "3:11: `timeout` in [workload.w] must be a time such as \"90s\" or \"5min\", not the string \"60\"",
            ],
        ),
        (
            "[workload.w]\nrun = []\nprepare = ' '",
            &[
                "2:7: `run` in [workload.w] is empty",
                "3:11: `prepare` in [workload.w] is empty",
            ],
        ),
        (
            "[workload.w]\nrun = ['', '{bni:app}', 1]",
            &[
                "2:7: `run` in [workload.w] starts with an empty program name",
                "2:12: `run` in [workload.w] has an unknown placeholder `{bni:app}`; did you mean `bin`?",
                "2:25: `run` in [workload.w] must be an array of strings, not `1`",
            ],
        ),
        (
            "[workload.w]\nrun = '{bin} {foo}'\nenv.A = '{tmp:x}'",
            &[
                "2:7: `run` in [workload.w] has `{bin}`, which lacks a name: `{bin:NAME}`",
                "3:9: `A` in [workload.w.env] has `{tmp:x}`, which takes no argument: `{tmp}`",
            ],
        ),
        (
            "[workload.w]\nrun = 'x'\nenv = { 'A=B' = '', LLVM_PROFILE_FILE = 'x' }",
            &[
                "3:9: `A=B` in [workload.w.env] can't be the name of a variable",
                "3:21: `LLVM_PROFILE_FILE` in [workload.w.env] is set by cargo-fdo itself",
            ],
        ),
        (
            "[workload.w]\nrun = 'x'\ncwd = '/abs'\n[workload.v]\nrun = 'x'\ncwd = '{tmp}/x'",
            &[
                "3:7: `cwd` in [workload.w] must be a directory relative to the workspace root, not the string \"/abs\"",
                "6:7: `cwd` in [workload.v] can't have placeholders",
            ],
        ),
        (
            "[workload.w]\nrun = 'x'\nkind = 'evalute'",
            &[
                "3:8: `kind` in [workload.w] must be \"train\" or \"evaluate\", not the string \"evalute\"; did you mean `evaluate`?",
            ],
        ),
        (
            "workload.bench.run = 'x'\nworkload.'example:a'.run = 'x'\nworkload.command.run = 'x'\nworkload.'a/b'.run = 'x'\nworkload.'..'.run = 'x'\nworkload.''.run = 'x'",
            &[
                "1:10: `bench` can't name a workload: it is built in and needs no table",
                "2:10: `example:a` can't name a workload: it is built in and needs no table",
                "3:10: `command` can't name a workload: it stands for a command line given to `cargo fdo`",
                "4:10: `a/b` can't name a workload: only letters, digits, `-`, `_` and `.` can, after a letter or digit",
                "5:10: `..` can't name a workload: only letters, digits, `-`, `_` and `.` can, after a letter or digit",
                "6:10: `` can't name a workload: only letters, digits, `-`, `_` and `.` can, after a letter or digit",
            ],
        ),
        (
            "[package.'a b']\ncflag = []\ncflags = ['-O3', '-fprofile-use=x']\nrustflags = ['-C', 'profile-generate']\nc-exclude = ['ok/*', 'a**']",
            &[
                "2:1: unknown key `cflag` in [package.\"a b\"]; did you mean `cflags`?",
                "3:18: `cflags` in [package.\"a b\"] can't have `-fprofile-use=x`: cargo-fdo itself says which profile is used",
                "4:20: `rustflags` in [package.\"a b\"] can't have `profile-generate`: cargo-fdo itself says which profile is used",
                "5:22: `c-exclude` in [package.\"a b\"] has a bad pattern `a**`: recursive wildcards must form a single path component",
            ],
        ),
    ];
    for (text, expected) in cases {
        assert_problems(text, expected);
    }
}

#[test]
fn a_syntax_error_comes_alone() {
    assert_problems(
        "metho = 'sample'\n[workload.w]\nrun = ['é', 'x\nweight = 3\n",
        &["3:15: invalid literal string, expected `'`"],
    );
    assert_problems("a = 1\na = 2", &["2:1: duplicate key"]);
}

#[test]
fn the_message_lists_all_problems_under_their_number() {
    let error = Config::parse(Path::new(ROOT), "methd = 1\nmin-match = 2").unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 problems in the configuration\n  \
         /no/such/workspace/fdo.toml:1:1: unknown key `methd`; did you mean `method`?\n  \
         /no/such/workspace/fdo.toml:2:13: `min-match` must be a share from 0 to 1 or a string such as \"80%\", not `2`"
    );
    assert_eq!(error.exit_code(), ExitCode::Usage);
    let error = Config::parse(Path::new(ROOT), "methd = 1").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("1 problem in the configuration\n")
    );
}

#[test]
fn files_below_the_current_directory_are_shown_relative_to_it() {
    let here = std::env::current_dir().unwrap();
    let error = Config::parse(&here.join("sub"), "methd = 1").unwrap_err();
    assert!(
        error.to_string().contains("\n  sub/fdo.toml:1:1: "),
        "{error}"
    );
}

#[test]
fn cargo_toml_holds_the_same_tables() {
    for owner in ["workspace", "package"] {
        let text = format!(
            "[{owner}]\n[{owner}.metadata.fdo]\nmin-match = 0.5\n\
             [{owner}.metadata.fdo.workload.w]\nrun = 'x'\n[{owner}.metadata.other]\nx = 1"
        );
        let config = manifest(&text).unwrap();
        assert_eq!(config.min_match, Some(0.5));
        assert!(config.workloads.contains_key("w"));
        assert_eq!(config.file.unwrap(), Path::new(ROOT).join("Cargo.toml"));
    }
    assert_eq!(
        manifest("[package]\nname = 'x'").unwrap(),
        Config::default()
    );
    assert_eq!(
        manifest("package = 1\n[workspace]\nmetadata = 1").unwrap(),
        Config::default()
    );
}

#[test]
fn problems_in_cargo_toml_have_its_lines_and_tables() {
    assert_eq!(
        problems(manifest(
            "[package]\nname = 'x'\n[package.metadata.fdo]\nmethd = 1\nworkload.w = { run = 'x', wieght = 1 }\n"
        )),
        [
            "4:1: unknown key `methd` in [package.metadata.fdo]; did you mean `method`?",
            "5:27: unknown key `wieght` in [package.metadata.fdo.workload.w]; did you mean `weight`?",
        ]
    );
    assert_eq!(
        problems(manifest("[workspace.metadata]\nfdo = true")),
        ["2:7: [workspace.metadata.fdo] must be a table, not a value of type boolean"]
    );
}

#[test]
fn two_sources_are_one_too_many() {
    let outcome = source::config(
        Path::new(ROOT),
        Some("min-match = 2"),
        Some("[workspace.metadata.fdo]\n[package.metadata.fdo]\nx = 1"),
    );
    assert_eq!(
        problems(outcome),
        [
            "1:13: `min-match` must be a share from 0 to 1 or a string such as \"80%\", not `2`",
            "1:21: [workspace.metadata.fdo] configures what `fdo.toml` configures already; keep one of them",
            "2:19: [package.metadata.fdo] configures what `fdo.toml` configures already; keep one of them",
            "3:1: unknown key `x` in [package.metadata.fdo]",
        ]
    );
}

#[test]
fn packages_that_nobody_depends_on_are_found_with_their_place() {
    let config = Config::parse(
        Path::new(ROOT),
        "[package.zstd-sys]\n[package.librocksdb_sys]\nc = false\n[package.foo]\n",
    )
    .unwrap();
    let known = ["zstd-sys", "librocksdb-sys"].map(str::to_owned).into();
    let error = ConfigError::of(config.unknown_packages(&known)).unwrap();
    assert_eq!(
        problems(Err(error)),
        [
            "2:10: no package `librocksdb_sys` among the dependencies; did you mean `librocksdb-sys`?",
            "4:10: no package `foo` among the dependencies",
        ]
    );
    let known = ["zstd-sys", "librocksdb_sys", "foo"]
        .map(str::to_owned)
        .into();
    assert_eq!(config.unknown_packages(&known), []);
}

#[test]
fn a_workspace_is_read_from_its_files() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(load(dir.path()).unwrap(), Config::default());
    std::fs::write(dir.path().join("Cargo.toml"), "[package]\nname = 'x'").unwrap();
    std::fs::write(dir.path().join("fdo.toml"), FULL).unwrap();
    assert_eq!(load(dir.path()).unwrap().min_match, Some(0.9));
    std::fs::write(dir.path().join("fdo.toml"), "a = 1").unwrap();
    assert_eq!(load(dir.path()).unwrap_err().exit_code(), ExitCode::Usage);
}

/// Small, seeded, and so the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

#[test]
fn damaged_files_never_panic_and_problems_stay_in_the_file() {
    let pieces = [
        "=",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "'",
        "\n",
        ".",
        "é",
        "\u{0}",
        "0",
        "-1",
        "{bin:",
        "{{tmp}}",
        "$",
        "run",
        "workload",
        "[[package]]\n",
        "\\u00e9",
        "'''",
        "\"\"\"",
        "1979-05-27",
        "%",
    ];
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for _ in 0..3000 {
        let mut text: Vec<char> = FULL.chars().collect();
        for _ in 0..=random.below(4) {
            let at = random.below(text.len());
            let end = (at + random.below(12)).min(text.len());
            let piece = pieces[random.below(pieces.len())];
            text.splice(at..end, piece.chars());
        }
        let text: String = text.into_iter().collect();
        let lines = text.split('\n').count();
        for outcome in [Config::parse(Path::new(ROOT), &text), manifest(&text)] {
            let Err(error) = outcome else { continue };
            assert!(!error.problems.is_empty());
            for problem in &error.problems {
                let place = problem.place.as_ref().unwrap();
                assert!((1..=lines).contains(&place.line), "{error}\n{text}");
            }
        }
    }
}

#[test]
fn what_is_wrong_in_the_sample_table_is_said_at_once() {
    assert_problems(
        "[sample]\nevent = \"cycles,branches\"\nfrequency = 0\nmax-size = \"4\"\n\
         converter = \"create-gcov\"\nmin-shar = 1\n",
        &[
            "2:9: `event` in [sample] must be one event by perf's name, such as \"cycles:u\", not the string \"cycles,branches\"",
            "3:13: `frequency` in [sample] must be a whole number from 1 to 4294967295, not `0`",
            "4:12: `max-size` in [sample] must be a size such as \"512M\" or \"4G\", not the string \"4\"",
            "5:13: `converter` in [sample] must be \"native\" or \"create_gcov\" or \"create_llvm_prof\" or \"llvm-profgen\", not the string \"create-gcov\"; did you mean `create_gcov`?",
            "6:1: unknown key `min-shar` in [sample]; did you mean `min-share`?",
        ],
    );
}

#[test]
fn projects_of_cmake_have_a_table_each() {
    let text = "[cmake.graph]\nsource = \"cpp\"\nargs = [\"-DWITH_X=OFF\"]\ngenerator = \"Ninja\"\n\
                targets = [\"graphd\"]\nexclude-targets = [\"*_bench\"]\nbuild-type = \"Debug\"\n\
                [cmake.web]\n[package.web]\nc-exclude = [\"a.c\"]\n";
    let config = Config::parse(Path::new(ROOT), text).unwrap();
    let graph = &config.cmake["graph"];
    assert_eq!(graph.source, Path::new("cpp"));
    assert_eq!(graph.exclude_targets, ["*_bench"]);
    assert_eq!(config.cmake["web"].source, Path::new("."));
    assert!(config.cmake["web"].targets.is_empty());
}

#[test]
fn what_is_wrong_in_a_cmake_table_is_said_at_once() {
    assert_problems(
        "[cmake.\"a b\"]\nargs = [\"-DCMAKE_CXX_COMPILER=g++\", \"-DCMAKE_BUILD_TYPE=Debug\"]\n\
         exclude-target = [\"x\"]\ntargets = []\nprofile-targets = [\"[\"]\nsource = \"/abs\"\n",
        &[
            "1:8: `a b` can't name a project: only letters, digits, `-`, `_`, `+` and `.` can, after a letter or digit",
            "2:9: `args` in [cmake.\"a b\"] can't have `-DCMAKE_CXX_COMPILER=g++`: a compiler that cmake is told of passes cargo-fdo by; CC and CXX in the environment name it, or `c-compiler`",
            "2:37: `args` in [cmake.\"a b\"] can't have `-DCMAKE_BUILD_TYPE=Debug`: there is a key for it, `build-type`",
            "3:1: unknown key `exclude-target` in [cmake.\"a b\"]; did you mean `exclude-targets`?",
            "4:11: `targets` in [cmake.\"a b\"] is empty; leave the key out for all targets",
            "5:20: `profile-targets` in [cmake.\"a b\"] has a bad pattern `[`: invalid range pattern",
            "6:10: `source` in [cmake.\"a b\"] must be a directory relative to the workspace root, not the string \"/abs\"",
        ],
    );
}

#[test]
fn profiles_are_per_binary_unless_they_are_to_be_merged() {
    let of = |text: &str| Config::parse(Path::new("/p"), text).map(|config| config.profiles);
    assert_eq!(of("").unwrap(), Profiles::PerBinary);
    assert_eq!(of("profiles = 'merged'").unwrap(), Profiles::Merged);
    assert!(of("profiles = 'merge'").is_err());
}
