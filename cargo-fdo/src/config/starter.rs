//! The first `fdo.toml` of a project, with what its workspace holds filled in.

use super::section::{basic_string, dotted};

/// What a starter file is made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StarterFacts {
    /// The programs of the workspace.
    pub bins: Vec<String>,
    /// Its examples.
    pub examples: Vec<String>,
    /// Its benchmarks.
    pub benches: Vec<String>,
    /// Packages among the dependencies that have a `links` key or build C with `cc` or `cmake`.
    pub c_packages: Vec<String>,
}

/// A commented `fdo.toml`.
///
/// Prose starts with `# `, a setting to switch on with `#` alone. Only benchmarks are switched
/// on: they are known to do typical work. A program run with made-up arguments is not, and a
/// profile of `--help` is worse than none.
pub fn starter(facts: &StarterFacts) -> String {
    let mut file = Lines::default();
    file.say("How `cargo fdo` trains and builds this workspace. Every key may be left out.");
    file.say("A line that starts with `#` and no blank is a setting to switch on.");
    file.gap();
    workloads(facts, &mut file);
    file.gap();
    file.say("Fail where the compilers used less of the profile's counts than this,");
    file.say("and where merging lost more of them than that.");
    file.off("min-match = \"80%\"");
    file.off("max-loss = \"1%\"");
    file.gap();
    file.say(
        "The compiler of C and C++: \"auto\" takes a clang whose profile fits rustc's where the",
    );
    file.say("project's own does not, \"keep\" never does; or the name or path of a clang.");
    file.off("c-compiler = \"auto\"");
    file.gap();
    named_workload(facts, &mut file);
    file.gap();
    packages(facts, &mut file);
    file.0
}

/// The `workloads` key.
fn workloads(facts: &StarterFacts, file: &mut Lines) {
    file.say("What to train with: workloads of this file, or the built-in `bench`, `test`, `run`");
    file.say("and `example:NAME`.");
    if !facts.benches.is_empty() {
        file.say(&format!("The benchmarks here: {}.", listed(&facts.benches)));
    }
    if !facts.examples.is_empty() {
        file.say(&format!("The examples here: {}.", listed(&facts.examples)));
    }
    match (facts.benches.first(), facts.examples.first()) {
        (Some(_), _) => file.on("workloads = [\"bench\"]"),
        (None, Some(example)) => {
            let name = basic_string(&format!("example:{example}"));
            file.off(&format!("workloads = [{name}]"));
        }
        (None, None) => file.off("workloads = [\"test\"]"),
    }
}

/// A `[workload.NAME]` table for the first program.
fn named_workload(facts: &StarterFacts, file: &mut Lines) {
    file.say("A workload of your own: what the program does all day. In commands and variables,");
    file.say(
        "`{bin:NAME}` is a program of this workspace, `{tmp}` an empty directory, `{cpus}` the",
    );
    file.say("number of processors and `{workspace}` this directory.");
    if facts.bins.len() > 1 {
        file.say(&format!("The programs here: {}.", listed(&facts.bins)));
    }
    let bin = facts.bins.first().map_or("NAME", String::as_str);
    let program = basic_string(&format!("{{bin:{bin}}}"));
    file.off("[workload.typical]");
    file.say("An array of arguments, or one string for the shell.");
    file.off(&format!("run = [{program}, \"ARGUMENTS\"]"));
    file.say("Runs first and is not profiled.");
    file.off("prepare = \"echo data > {tmp}/input\"");
    file.off("env = { THREADS = \"{cpus}\" }");
    file.say("How much it counts beside other workloads, how often and how long it runs.");
    file.off("weight = 1");
    file.off("repeat = 1");
    file.off("timeout = \"5min\"");
    file.say(
        "`cargo fdo compare` measures with workloads of kind \"evaluate\", and `train` leaves them",
    );
    file.say("alone: a gain on data that the profile does not know is an honest one.");
    file.off("kind = \"train\"");
    file.say(
        "Figures that it prints; also `pointer` into JSON, and `reader` for known benchmarks.",
    );
    file.off("metrics = { p95 = { regex = 'p95: ([0-9.]+)', unit = \"ms\" } }");
    file.gap();
    scenarios(&program, file);
}

/// A `[workload.NAME]` table with scenarios.
fn scenarios(program: &str, file: &mut Lines) {
    file.say("One workload with several loads: each scenario is trained and measured apart, as");
    file.say("`load/read-users-1` and so on; `{NAME}` is its parameter.");
    file.off("[workload.load]");
    file.off(&format!(
        "run = [{program}, \"{{what}}\", \"--users={{users}}\"]"
    ));
    file.off("scenarios = { read = { what = \"get\", weight = 2 }, write = { what = \"put\" } }");
    file.say("Each with all of these; `cargo fdo compare --sweep users=1..64` helps to choose.");
    file.off("matrix = { users = [1, 16] }");
}

/// `[package.NAME]` tables.
fn packages(facts: &StarterFacts, file: &mut Lines) {
    file.say("What is special about single packages.");
    if facts.c_packages.is_empty() {
        file.say("No dependency here seems to build C or C++.");
    } else {
        file.say("These build or link C or C++ and take part unless switched off here:");
    }
    for package in &facts.c_packages {
        file.off(&format!("[{}]", dotted("package", package)));
        file.off("c = false");
    }
}

/// `a`, `b` and so on.
fn listed(names: &[String]) -> String {
    let names: Vec<_> = names
        .iter()
        .map(|name| format!("`{}`", name.escape_debug()))
        .collect();
    names.join(", ")
}

/// The text so far.
#[derive(Default)]
struct Lines(String);

impl Lines {
    /// An empty line.
    fn gap(&mut self) {
        self.0.push('\n');
    }

    /// Prose.
    fn say(&mut self, text: &str) {
        self.on(&format!("# {text}"));
    }

    /// A setting.
    fn on(&mut self, text: &str) {
        self.0.push_str(text);
        self.gap();
    }

    /// A setting that is switched off.
    fn off(&mut self, text: &str) {
        self.on(&format!("#{text}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, ConfigError};
    use std::path::Path;

    fn facts(
        bins: &[&str],
        examples: &[&str],
        benches: &[&str],
        c_packages: &[&str],
    ) -> StarterFacts {
        let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        StarterFacts {
            bins: owned(bins),
            examples: owned(examples),
            benches: owned(benches),
            c_packages: owned(c_packages),
        }
    }

    fn all() -> Vec<StarterFacts> {
        vec![
            StarterFacts::default(),
            facts(&["app"], &[], &[], &[]),
            facts(
                &["bench", "b"],
                &["e"],
                &[],
                &["librocksdb-sys", "zstd-sys"],
            ),
            facts(&[], &["e"], &["speed"], &["odd \"name\""]),
        ]
    }

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(Path::new("/w"), text)
    }

    #[test]
    fn a_starter_is_valid_as_it_is() {
        for facts in all() {
            parse(&starter(&facts)).unwrap();
        }
    }

    #[test]
    fn a_starter_is_valid_with_everything_switched_on() {
        for facts in all() {
            let on: String = starter(&facts)
                .lines()
                .map(|line| match line.strip_prefix('#') {
                    Some(setting) if !setting.starts_with(' ') => format!("{setting}\n"),
                    _ => format!("{line}\n"),
                })
                .collect();
            let config = parse(&on).unwrap_or_else(|error| panic!("{error}\n{on}"));
            assert!(config.workloads.contains_key("typical"));
            assert!(config.workloads.contains_key("load/write-users-16"));
            assert_eq!(config.packages.len(), facts.c_packages.len());
            // A default that is shown is the default.
            let default = Config::default();
            assert_eq!(config.min_match, Some(crate::settings::MinMatch::COUNTERS));
            assert_eq!(config.max_loss, default.max_loss);
            assert_eq!(config.c_compiler, default.c_compiler);
        }
    }

    #[test]
    fn only_benchmarks_are_switched_on() {
        for facts in all() {
            let config = parse(&starter(&facts)).unwrap();
            assert_eq!(config.select(&[]).is_ok(), !facts.benches.is_empty());
        }
    }
}
