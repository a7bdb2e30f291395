//! Workloads: the named ways to exercise the program.

use super::metrics::{MetricSource, WrittenTo};
use super::problem::{ConfigError, Problems};
use super::scenarios::SCENARIO;
use super::section::Item;
use super::service::Service;
use super::template::{Placeholder, Template};
use super::value;
use crate::tool::Invocation;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of the workload that is a command line given to `cargo fdo`.
pub const AD_HOC: &str = "command";

/// A named way to exercise the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Its name: letters, digits, `-`, `_`, `.`; of a scenario `WORKLOAD/SCENARIO`.
    pub name: String,
    /// What runs first, in this order, and is not profiled.
    pub prepare: Vec<CommandLine>,
    /// What is profiled or measured.
    pub run: CommandLine,
    /// Variables for both, in the order of the file.
    pub env: Vec<(String, Template)>,
    /// Where both run, relative to the workspace root; in it if `None`.
    pub cwd: Option<PathBuf>,
    /// How much its counts weigh beside those of other workloads; at least 1.
    pub weight: u32,
    /// How long one run of `run` may take.
    pub timeout: Option<Duration>,
    /// How often `run` runs; at least 1.
    pub repeat: u32,
    /// What it is for.
    pub kind: Kind,
    /// Figures that it writes itself.
    pub metrics: Vec<MetricSource>,
    /// What runs beside it, each after what it needs.
    pub services: Vec<Service>,
    /// Whether services go on from one measured run to the next, and `prepare` is not repeated.
    pub keep_services: bool,
    /// Whether `run` itself is profiled too, where there are services.
    pub profile_load: bool,
    /// Its parameters and what they are here.
    pub parameters: Vec<(String, String)>,
    /// Which scenario it is, and of which workload of the file.
    pub scenario: Option<Box<Scenario>>,
}

/// One of the scenarios of a workload of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The workload of the file.
    pub family: String,
    /// Its name in the table `scenarios`.
    pub base: Option<String>,
    /// The parameters of `matrix`, whose values are in its name too.
    pub axes: Vec<String>,
    /// Its place in the order of the file.
    pub position: usize,
}

/// What a workload is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    /// To train with; also to measure with.
    #[default]
    Train,
    /// To measure with only, so that the gain is seen on work that the profile does not know.
    Evaluate,
}

impl Kind {
    /// The value of a key `kind`.
    pub(super) fn read(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Kind> {
        let choices = [("train", Kind::Train), ("evaluate", Kind::Evaluate)];
        value::choice(item, problems, &choices)
    }
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLine {
    /// A program and its arguments, never empty. Each stays one argument, whatever its
    /// placeholders hold.
    Argv(Vec<Template>),
    /// A command for `sh -c`. Values of placeholders are quoted for where they stand.
    Shell(Template),
}

impl Workload {
    /// A workload that has a name, something to run, and defaults.
    pub fn new(name: impl Into<String>, run: CommandLine) -> Workload {
        Workload {
            name: name.into(),
            prepare: Vec::new(),
            run,
            env: Vec::new(),
            cwd: None,
            weight: 1,
            timeout: None,
            repeat: 1,
            kind: Kind::Train,
            metrics: Vec::new(),
            services: Vec::new(),
            keep_services: false,
            profile_load: false,
            parameters: Vec::new(),
            scenario: None,
        }
    }

    /// The workload that runs the words after `--` on the command line, called [`AD_HOC`].
    ///
    /// # Errors
    ///
    /// If there are none, one is not UTF-8, or one has a wrong placeholder.
    pub fn ad_hoc(words: Vec<OsString>) -> Result<Workload, ConfigError> {
        Workload::ad_hoc_with(words, &[])
    }

    /// The same where these parameters may stand in the words.
    ///
    /// # Errors
    ///
    /// As [`ad_hoc`](Workload::ad_hoc).
    pub fn ad_hoc_with(
        words: Vec<OsString>,
        parameters: &[String],
    ) -> Result<Workload, ConfigError> {
        let fail = |message: String| {
            ConfigError::usage(
                message,
                "for example: `cargo fdo train -- '{bin:app}' ARGUMENTS`",
            )
        };
        let mut argv = Vec::new();
        for word in words {
            let word = word
                .into_string()
                .map_err(|word| fail(format!("the argument `{}` is not UTF-8", word.display())))?;
            argv.push(
                Template::parse_with(&word, parameters)
                    .map_err(|message| fail(format!("the argument `{word}` has {message}")))?,
            );
        }
        if argv.is_empty() {
            return Err(fail("there is no command after `--`".into()));
        }
        let mut workload = Workload::new(AD_HOC, CommandLine::Argv(argv));
        for parameter in parameters {
            if workload.used_parameters().contains(parameter.as_str()) {
                workload.set(parameter, "");
            }
        }
        Ok(workload)
    }

    /// Whether `run` is what one trains with: all there is, or load for services.
    pub fn profiles_run(&self) -> bool {
        self.services.is_empty() || self.profile_load
    }

    /// The programs of the workspace that it needs.
    pub fn bins(&self) -> BTreeSet<&str> {
        self.templates().flat_map(Template::bins).collect()
    }

    /// The directories of `{dir:NAME}` that it needs.
    pub fn dirs(&self) -> BTreeSet<&str> {
        self.templates().flat_map(Template::dirs).collect()
    }

    /// The parameters that it uses.
    pub fn used_parameters(&self) -> BTreeSet<&str> {
        self.templates().flat_map(Template::parameters).collect()
    }

    /// Its name as that of a file; two names of workloads never give one.
    pub fn file_name(name: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        name.chars()
            .map(|c| match c {
                '/' => '+',
                ':' => '=',
                c if plain(c) => c,
                _ => '-',
            })
            .collect()
    }

    /// The name of the workload of the file.
    pub fn family(&self) -> &str {
        match &self.scenario {
            Some(scenario) => &scenario.family,
            None => &self.name,
        }
    }

    /// Gives a parameter its value.
    pub fn set(&mut self, parameter: &str, value: &str) {
        for template in self.templates_mut() {
            template.bind(parameter, value);
        }
        let known = |(name, _): &&mut (String, String)| name == parameter;
        match self.parameters.iter_mut().find(known) {
            Some((_, old)) => value.clone_into(old),
            None => self
                .parameters
                .push((parameter.to_owned(), value.to_owned())),
        }
    }

    /// Makes it this scenario, with the name of that; its parameters are set.
    pub(super) fn be_scenario(&mut self, scenario: Box<Scenario>) {
        let axes = scenario.axes.iter().map(|axis| {
            let value = self.parameter(axis).unwrap_or_default();
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
            let value: String = value
                .chars()
                .map(|c| if plain(c) { c } else { '-' })
                .collect();
            format!("{axis}-{value}")
        });
        let name: Vec<String> = scenario.base.iter().cloned().chain(axes).collect();
        let name = name.join("-");
        self.name = match name.is_empty() {
            true => scenario.family.clone(),
            false => format!("{}/{name}", scenario.family),
        };
        // The name in `scenarios`: what a program knows; values of the matrix have placeholders of their own.
        let own = scenario.base.clone().unwrap_or(name);
        for template in self.templates_mut() {
            template.bind(SCENARIO, &own);
        }
        self.scenario = Some(scenario);
    }

    /// The same with another value of a parameter that it uses, which has no part in its name then.
    #[must_use]
    pub fn with(&self, parameter: &str, value: &str) -> Workload {
        let mut other = self.clone();
        other.set(parameter, value);
        if let Some(mut scenario) = other.scenario.take() {
            scenario.axes.retain(|axis| axis != parameter);
            other.be_scenario(scenario);
        }
        other
    }

    /// The value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let known = self.parameters.iter().find(|(known, _)| known == name);
        known.map(|(_, value)| value.as_str())
    }

    fn templates(&self) -> impl Iterator<Item = &Template> {
        let commands = self.prepare.iter().chain([&self.run]);
        let files = self.metrics.iter().filter_map(|metric| match &metric.from {
            WrittenTo::File(file) => Some(file),
            _ => None,
        });
        commands
            .flat_map(CommandLine::templates)
            .chain(self.env.iter().map(|(_, value)| value))
            .chain(files)
            .chain(self.services.iter().flat_map(Service::templates))
    }

    fn templates_mut(&mut self) -> impl Iterator<Item = &mut Template> {
        let commands = self.prepare.iter_mut().chain([&mut self.run]);
        let files = self
            .metrics
            .iter_mut()
            .filter_map(|metric| match &mut metric.from {
                WrittenTo::File(file) => Some(file),
                _ => None,
            });
        commands
            .flat_map(CommandLine::templates_mut)
            .chain(self.env.iter_mut().map(|(_, value)| value))
            .chain(files)
            .chain(self.services.iter_mut().flat_map(Service::templates_mut))
    }

    /// `prepare` or `run` of this workload with its variables and directory, ready to run.
    ///
    /// # Errors
    ///
    /// Those of `value`.
    pub fn invocation<E>(
        &self,
        command: &CommandLine,
        workspace: &Path,
        value: &mut dyn FnMut(&Placeholder) -> Result<OsString, E>,
    ) -> Result<Invocation, E> {
        let mut invocation = command.invocation(value)?;
        for (name, template) in &self.env {
            invocation = invocation.env(name, template.expand(value)?);
        }
        Ok(invocation.cwd(match &self.cwd {
            Some(dir) => workspace.join(dir),
            None => workspace.to_owned(),
        }))
    }
}

impl CommandLine {
    /// The programs of the workspace that it needs, in order.
    pub fn bins(&self) -> impl Iterator<Item = &str> {
        self.templates().iter().flat_map(Template::bins)
    }

    /// The call with each placeholder replaced by its `value`.
    ///
    /// # Errors
    ///
    /// Those of `value`.
    pub fn invocation<E>(
        &self,
        value: &mut dyn FnMut(&Placeholder) -> Result<OsString, E>,
    ) -> Result<Invocation, E> {
        match self {
            CommandLine::Shell(text) => Ok(Invocation::new("sh")
                .arg("-c")
                .arg(text.expand_for_shell(value)?)),
            CommandLine::Argv(argv) => {
                let mut words = Vec::new();
                for template in argv {
                    words.push(template.expand(value)?);
                }
                let mut words = words.into_iter();
                let program = words.next().unwrap_or_default();
                Ok(Invocation::new(program).args(words))
            }
        }
    }

    /// All its texts, in order.
    pub fn templates(&self) -> &[Template] {
        match self {
            CommandLine::Argv(argv) => argv,
            CommandLine::Shell(text) => std::slice::from_ref(text),
        }
    }

    /// The same, to be changed.
    pub fn templates_mut(&mut self) -> &mut [Template] {
        match self {
            CommandLine::Argv(argv) => argv,
            CommandLine::Shell(text) => std::slice::from_mut(text),
        }
    }
}

/// As in `fdo.toml`, for plans and reports.
impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, template) in self.templates().iter().enumerate() {
            let gap = if index == 0 { "" } else { " " };
            write!(f, "{gap}{template}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn value(placeholder: &Placeholder) -> Result<OsString, Infallible> {
        Ok(match placeholder {
            Placeholder::Bin(name) => format!("/out dir/{name}").into(),
            _ => "/it's tmp".into(),
        })
    }

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn an_argument_stays_one_argument() {
        let workload = Workload::ad_hoc(words(&["{bin:app}", "--db={tmp}/a b", "'x'"])).unwrap();
        let Ok(call) = workload.run.invocation(&mut value);
        assert_eq!(call.program, Path::new("/out dir/app"));
        assert_eq!(call.args, ["--db=/it's tmp/a b", "'x'"]);
    }

    #[test]
    fn names_of_scenarios_and_workloads_give_files_of_their_own() {
        let names = ["a/b", "a-b", "a.b", "example/x", "example:x", "example-x"];
        let files = names.map(Workload::file_name);
        assert_eq!(files.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(
            files.iter().all(|file| !file.contains(['/', ':', '%'])),
            "{files:?}"
        );
        assert_eq!(Workload::file_name("a/b users=4 %"), "a+b-users-4--");
    }

    #[test]
    fn a_shell_string_runs_by_sh() {
        let text = Template::parse("{bin:app} > {tmp}/log").unwrap();
        let Ok(call) = CommandLine::Shell(text).invocation(&mut value);
        assert_eq!(call.program, Path::new("sh"));
        assert_eq!(call.args, ["-c", "'/out dir/app' > \"/it's tmp\"/log"]);
    }

    #[test]
    fn variables_and_directory_come_along() {
        let mut workload = Workload::ad_hoc(words(&["x"])).unwrap();
        workload.env = vec![("A".into(), Template::parse("{bin:helper}").unwrap())];
        workload.cwd = Some("sub".into());
        let Ok(call) = workload.invocation(&workload.run, Path::new("/w"), &mut value);
        assert_eq!(call.cwd.as_deref(), Some(Path::new("/w/sub")));
        assert_eq!(call.env, [("A".into(), Some("/out dir/helper".into()))]);
        assert_eq!(workload.bins(), BTreeSet::from(["helper"]));
    }

    #[test]
    fn wrong_command_lines_are_refused() {
        let message = |given: Vec<OsString>| Workload::ad_hoc(given).unwrap_err().to_string();
        assert_eq!(message(vec![]), "there is no command after `--`");
        assert_eq!(
            message(words(&["{bni:app}"])),
            "the argument `{bni:app}` has an unknown placeholder `{bni:app}`; did you mean `bin`?"
        );
    }
}
