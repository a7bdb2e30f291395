//! Which workloads a command uses.

use super::Config;
use super::nearest::did_you_mean;
use super::problem::{ConfigError, Problem};
use super::workload::{Kind, Workload};
use std::fmt;
use std::str::FromStr;

/// One workload that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "a command has a few of them, and each is of the large kind"
)]
pub enum WorkloadChoice {
    /// One that cargo knows how to run.
    Builtin(Builtin),
    /// One of the configuration, or of the command line.
    Named(Workload),
}

/// A workload that cargo knows how to run. Its name is reserved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Builtin {
    /// `cargo bench`.
    Bench,
    /// `cargo test`.
    Test,
    /// `cargo run`.
    Run,
    /// `cargo run --example NAME`.
    Example(String),
}

impl Builtin {
    /// The names without an argument.
    pub(super) const NAMES: [&'static str; 3] = ["bench", "test", "run"];
    const EXAMPLE: &'static str = "example:";

    /// Whether no workload of the configuration can have this name.
    pub(super) fn reserves(name: &str) -> bool {
        Self::NAMES.contains(&name) || name.starts_with(Self::EXAMPLE)
    }
}

/// The name is not that of a built-in workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a built-in workload")]
pub struct NotBuiltin;

impl FromStr for Builtin {
    type Err = NotBuiltin;

    fn from_str(name: &str) -> Result<Builtin, NotBuiltin> {
        match name {
            "bench" => Ok(Builtin::Bench),
            "test" => Ok(Builtin::Test),
            "run" => Ok(Builtin::Run),
            _ => match name.strip_prefix(Self::EXAMPLE) {
                Some(example) if !example.is_empty() => Ok(Builtin::Example(example.to_owned())),
                _ => Err(NotBuiltin),
            },
        }
    }
}

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Builtin::Bench => f.write_str("bench"),
            Builtin::Test => f.write_str("test"),
            Builtin::Run => f.write_str("run"),
            Builtin::Example(name) => write!(f, "{}{name}", Self::EXAMPLE),
        }
    }
}

impl WorkloadChoice {
    /// The name in reports and on the command line.
    pub fn name(&self) -> String {
        match self {
            WorkloadChoice::Builtin(builtin) => builtin.to_string(),
            WorkloadChoice::Named(workload) => workload.name.clone(),
        }
    }
}

impl Config {
    /// The workloads to measure with: those called `names`; without names those of kind evaluate, and
    /// without these what one would train with.
    ///
    /// # Errors
    ///
    /// As [`select`](Config::select).
    pub fn select_to_evaluate(&self, names: &[String]) -> Result<Vec<WorkloadChoice>, ConfigError> {
        let evaluate: Vec<_> = self
            .of_kind(Kind::Evaluate)
            .cloned()
            .map(WorkloadChoice::Named)
            .collect();
        if names.is_empty() && !evaluate.is_empty() {
            return Ok(evaluate);
        }
        let none = self.default_workloads.is_empty() && self.of_kind(Kind::Train).next().is_none();
        if names.is_empty() && none {
            return Err(ConfigError::usage(
                "no workload to measure with".into(),
                "name one of `kind = \"evaluate\"` in fdo.toml (`cargo fdo init` writes a first one), \
                 `--workload bench`, or a command: `cargo fdo compare -- '{bin:app}' ARGUMENTS`",
            ));
        }
        self.select_of(names, Kind::Evaluate)
    }

    /// The workloads called `names`, of either kind, each once and in that order. The name of a
    /// workload with scenarios stands for those of kind train, or for all if none is. Without
    /// names those of the `workloads` key, and without that all named ones of kind train.
    ///
    /// # Errors
    ///
    /// One problem for each unknown name, or one if there is nothing to choose.
    pub fn select(&self, names: &[String]) -> Result<Vec<WorkloadChoice>, ConfigError> {
        self.select_of(names, Kind::Train)
    }

    fn select_of(&self, names: &[String], kind: Kind) -> Result<Vec<WorkloadChoice>, ConfigError> {
        let names = if names.is_empty() {
            &self.default_workloads
        } else {
            names
        };
        if names.is_empty() {
            let chosen: Vec<_> = self
                .of_kind(Kind::Train)
                .cloned()
                .map(WorkloadChoice::Named)
                .collect();
            return if chosen.is_empty() {
                let first = match &self.file {
                    None => "`cargo fdo init` writes a first `fdo.toml`".to_owned(),
                    Some(file) => format!(
                        "`{}` has no `[workload.NAME]` of kind train",
                        file.display()
                    ),
                };
                Err(ConfigError::usage(
                    "no workload to train with".into(),
                    format!(
                        "{first}; `--workload bench` needs none and runs the benchmarks, likewise \
                         `test`, `run` and `example:NAME`"
                    ),
                ))
            } else {
                Ok(chosen)
            };
        }

        let mut chosen: Vec<WorkloadChoice> = Vec::new();
        let mut problems = Vec::new();
        for name in names {
            match self.find(name, kind) {
                Ok(choices) => {
                    for choice in choices {
                        if !chosen.contains(&choice) {
                            chosen.push(choice);
                        }
                    }
                }
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() {
            Ok(chosen)
        } else {
            Err(ConfigError::usage_all(problems, self.known_workloads()))
        }
    }

    /// The named workloads of one kind, scenarios in the order of the file.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Workload> {
        let mut all: Vec<&Workload> = self.workloads.values().collect();
        all.sort_by_key(|workload| {
            let scenario = workload.scenario.as_ref();
            (
                workload.family(),
                scenario.map(|scenario| scenario.position),
            )
        });
        all.into_iter()
            .filter(move |workload| workload.kind == kind)
    }

    /// The scenarios of a workload, those of this kind if there are any; none if it has none.
    fn scenarios(&self, family: &str, kind: Kind) -> Vec<&Workload> {
        let of = |kind| -> Vec<&Workload> {
            self.of_kind(kind)
                .filter(|workload| workload.scenario.is_some() && workload.family() == family)
                .collect()
        };
        let wanted = of(kind);
        match (wanted.is_empty(), kind) {
            (false, _) => wanted,
            (true, Kind::Train) => of(Kind::Evaluate),
            (true, Kind::Evaluate) => of(Kind::Train),
        }
    }

    fn find(&self, name: &str, kind: Kind) -> Result<Vec<WorkloadChoice>, Problem> {
        if let Some(workload) = self.workloads.get(name) {
            return Ok(vec![WorkloadChoice::Named(workload.clone())]);
        }
        let scenarios = self.scenarios(name, kind).into_iter().cloned();
        let scenarios: Vec<_> = scenarios.map(WorkloadChoice::Named).collect();
        if !scenarios.is_empty() {
            return Ok(scenarios);
        }
        name.parse()
            .map(|builtin| vec![WorkloadChoice::Builtin(builtin)])
            .map_err(|_| {
                let known = self.of_kind(Kind::Train);
                let known = known.flat_map(|known| [known.family(), &known.name]);
                Problem {
                    place: None,
                    message: format!(
                        "no workload `{name}`{}",
                        did_you_mean(name, known.chain(Builtin::NAMES))
                    ),
                }
            })
    }

    /// What can be chosen, in words. Not those to evaluate with: who trains with them too
    /// measures a gain that is not there.
    fn known_workloads(&self) -> String {
        let builtin = "built in are `bench`, `test`, `run` and `example:NAME`";
        let named: Vec<_> = self
            .of_kind(Kind::Train)
            .map(|workload| format!("`{}`", workload.name))
            .collect();
        if named.is_empty() {
            return format!("the configuration names no workload to train with; {builtin}");
        }
        format!("the configuration has {}; {builtin}", named.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Diagnose, ExitCode};
    use std::path::Path;

    fn config(head: &str) -> Config {
        let text = format!(
            "{head}\n[workload.mixed]\nrun = 'x'\n[workload.load]\nrun = 'y'\n\
             [workload.judge]\nrun = 'z'\nkind = 'evaluate'\n"
        );
        Config::parse(Path::new("/w"), &text).unwrap()
    }

    fn select(config: &Config, names: &[&str]) -> Result<Vec<String>, ConfigError> {
        let names: Vec<_> = names.iter().map(|name| name.to_string()).collect();
        let chosen = config.select(&names)?;
        Ok(chosen.iter().map(WorkloadChoice::name).collect())
    }

    #[test]
    fn given_names_win_over_the_key_and_the_key_over_all() {
        assert_eq!(select(&config(""), &[]).unwrap(), ["load", "mixed"]);
        let keyed = config("workloads = ['mixed', 'bench']");
        assert_eq!(select(&keyed, &[]).unwrap(), ["mixed", "bench"]);
        assert_eq!(
            select(&keyed, &["judge", "example:e", "judge"]).unwrap(),
            ["judge", "example:e"]
        );
    }

    #[test]
    fn all_unknown_names_are_reported_with_the_nearest_to_train_with() {
        let names = ["mixde", "load", "benhc", "example:", "jugde"];
        let error = select(&config(""), &names).unwrap_err();
        let messages: Vec<_> = error
            .problems
            .iter()
            .map(|problem| problem.to_string())
            .collect();
        assert_eq!(
            messages,
            [
                "no workload `mixde`; did you mean `mixed`?",
                "no workload `benhc`; did you mean `bench`?",
                "no workload `example:`",
                "no workload `jugde`",
            ]
        );
        assert_eq!(error.exit_code(), ExitCode::Usage);
        let hint = error.hint().unwrap();
        assert!(
            hint.starts_with("the configuration has `load`, `mixed`;"),
            "{hint}"
        );
    }

    #[test]
    fn nothing_to_choose_says_what_could_be() {
        let error = select(&Config::default(), &[]).unwrap_err();
        assert_eq!(error.to_string(), "no workload to train with");
        let hint = error.hint().unwrap();
        assert!(
            hint.contains("cargo fdo init") && hint.contains("--workload bench"),
            "{hint}"
        );
    }
}
