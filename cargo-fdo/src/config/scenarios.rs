//! Scenarios: one workload with several sets of parameters.
//!
//! ```toml
//! [workload.graph]
//! run = ["{bin:load}", "{scenario}", "--users={users}", "--requests={requests}"]
//! [workload.graph.parameters]                 # what scenarios need not say
//! requests = 5000
//! [workload.graph.scenarios]
//! insert = { requests = 20000 }
//! go1step = { weight = 2 }                    # weight, kind, timeout, repeat are the workload's
//! [workload.graph.matrix]                     # each scenario with each combination of these
//! users = [1, 100]
//! ```
//!
//! Each becomes a [`Workload`] of its own when the file is read, `graph/insert-users-1` and so on, so
//! that nothing else has to know of them: it has its own raw profiles, and its own line in tables.

use super::nearest::did_you_mean;
use super::problem::Problems;
use super::section::{Item, Section};
use super::template::{self, Placeholder};
use super::value;
use super::workload::{Kind, Scenario, Workload};
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;
use toml::de::{DeTable, DeValue};

#[cfg(test)]
mod tests;

/// The parameter that is the scenario's own name.
pub(super) const SCENARIO: &str = "scenario";

/// Keys of a workload that a scenario may have too.
const OVERRIDES: [&str; 4] = ["weight", "kind", "timeout", "repeat"];

/// Keys of a workload that are the same for all of its scenarios.
const SHARED: [&str; 11] = [
    "run",
    "prepare",
    "env",
    "cwd",
    "metrics",
    "services",
    "keep-services",
    "profile-load",
    "parameters",
    "scenarios",
    "matrix",
];

/// More than this is a slip, or no training that anybody waits for.
const MOST: usize = 1000;

/// What `parameters`, `scenarios` and `matrix` of a workload say.
pub(super) struct Declared {
    label: String,
    defaults: Vec<Parameter>,
    matrix: Vec<(Parameter, Vec<String>)>,
    scenarios: Vec<Entry>,
    is_family: bool,
    /// What may stand in braces.
    pub(super) names: Vec<String>,
}

struct Parameter {
    name: String,
    value: String,
    /// `` `users` in [workload.graph.matrix] ``
    label: String,
    span: Range<usize>,
}

/// `[workload.NAME.scenarios.SCENARIO]`
struct Entry {
    name: String,
    label: String,
    span: Range<usize>,
    parameters: Vec<Parameter>,
    weight: Option<u32>,
    kind: Option<Kind>,
    timeout: Option<Duration>,
    repeat: Option<u32>,
}

/// The parameters of all workloads, right or wrong: what may stand in the texts of services.
pub(super) fn all_names(workloads: &Section<'_>) -> Vec<String> {
    fn keys<'t>(
        table: &'t DeTable<'t>,
        key: &str,
    ) -> impl Iterator<Item = (&'t str, &'t DeValue<'t>)> {
        let inner = match table.get(key).map(|value| value.get_ref()) {
            Some(DeValue::Table(inner)) => Some(inner),
            _ => None,
        };
        let pairs = inner.into_iter().flat_map(|inner| inner.iter());
        pairs.map(|(key, value)| (key.get_ref().as_ref(), value.get_ref()))
    }
    let mut names = BTreeSet::from([SCENARIO]);
    for item in workloads.items() {
        let DeValue::Table(workload) = item.value else {
            continue;
        };
        let plain = keys(workload, "parameters").chain(keys(workload, "matrix"));
        names.extend(plain.map(|(name, _)| name));
        for (_, scenario) in keys(workload, "scenarios") {
            if let DeValue::Table(scenario) = scenario {
                names.extend(scenario.iter().map(|(key, _)| key.get_ref().as_ref()));
            }
        }
    }
    let is_parameter = |name: &&str| !OVERRIDES.contains(name) && !Placeholder::reserves(name);
    names
        .into_iter()
        .filter(is_parameter)
        .map(str::to_owned)
        .collect()
}

/// Reads the three tables.
pub(super) fn declared(section: &mut Section<'_>, problems: &mut Problems<'_>) -> Declared {
    let label = section.label();
    let defaults = section.read("parameters", problems, |item, problems| {
        let items = filled(item, problems)?;
        let parameters = items.iter().map(|item| parameter(item, problems));
        Some(
            parameters
                .collect::<Vec<_>>()
                .into_iter()
                .flatten()
                .collect::<Vec<_>>(),
        )
    });
    let has_matrix = section.get("matrix").is_some();
    let matrix = section.read("matrix", problems, |item, problems| {
        let items = filled(item, problems)?;
        let axes = items.iter().map(|item| axis(item, problems));
        Some(
            axes.collect::<Vec<_>>()
                .into_iter()
                .flatten()
                .collect::<Vec<_>>(),
        )
    });
    let has_scenarios = section.get("scenarios").is_some();
    let scenarios = section.read("scenarios", problems, |item, problems| {
        let items = filled(item, problems)?;
        let entries = items.iter().map(|item| entry(item, problems));
        Some(
            entries
                .collect::<Vec<_>>()
                .into_iter()
                .flatten()
                .collect::<Vec<_>>(),
        )
    });
    let mut declared = Declared {
        label,
        defaults: defaults.unwrap_or_default(),
        matrix: matrix.unwrap_or_default(),
        scenarios: scenarios.unwrap_or_default(),
        is_family: has_matrix || has_scenarios,
        names: Vec::new(),
    };
    let of_matrix = |name: &str| declared.matrix.iter().any(|(axis, _)| axis.name == name);
    for parameter in declared.defaults.iter().chain(declared.of_scenarios()) {
        if of_matrix(&parameter.name) {
            problems.add(
                parameter.span.clone(),
                format!("{} has its values from `matrix` already", parameter.label),
            );
        }
    }
    let mut names: Vec<String> = Vec::new();
    for parameter in declared.all() {
        if !names.contains(&parameter.name) {
            names.push(parameter.name.clone());
        }
    }
    if declared.is_family {
        names.push(SCENARIO.to_owned());
    }
    declared.names = names;
    declared
}

impl Declared {
    fn of_scenarios(&self) -> impl Iterator<Item = &Parameter> {
        self.scenarios.iter().flat_map(|entry| &entry.parameters)
    }

    fn all(&self) -> impl Iterator<Item = &Parameter> {
        let axes = self.matrix.iter().map(|(axis, _)| axis);
        self.defaults.iter().chain(axes).chain(self.of_scenarios())
    }

    /// The workload itself, or one for each of its scenarios.
    pub(super) fn expand(&self, workload: &Workload, problems: &mut Problems<'_>) -> Vec<Workload> {
        let used = workload.used_parameters();
        self.check_used(&used, problems);
        if !self.is_family {
            let mut only = workload.clone();
            for parameter in &self.defaults {
                only.set(&parameter.name, &parameter.value);
            }
            return vec![only];
        }
        let used: Vec<String> = used.into_iter().map(str::to_owned).collect();
        let combinations = self.combinations();
        let entries: Vec<Option<&Entry>> = match self.scenarios.is_empty() {
            true => vec![None],
            false => self.scenarios.iter().map(Some).collect(),
        };
        let mut all: Vec<Workload> = Vec::new();
        let number = entries.len() * combinations.len();
        if number > MOST {
            let span = self.matrix[0].0.span.clone();
            let message = format!("{} has more than {MOST} scenarios", self.label);
            problems.add(span, message);
            return Vec::new();
        }
        for entry in entries {
            if let Some(entry) = entry {
                self.check_whole(entry, &used, problems);
            }
            for axes in &combinations {
                let next = self.one(workload, entry, axes, all.len());
                if all.iter().any(|known| known.name == next.name) {
                    let span = self
                        .matrix
                        .first()
                        .map_or(0..0, |(axis, _)| axis.span.clone());
                    let message = format!(
                        "{} gives two scenarios the name `{}`",
                        self.label, next.name
                    );
                    problems.add(span, message);
                    continue;
                }
                all.push(next);
            }
        }
        all
    }

    fn one(
        &self,
        workload: &Workload,
        entry: Option<&Entry>,
        axes: &[(String, String)],
        position: usize,
    ) -> Workload {
        let mut one = workload.clone();
        let own = entry.iter().flat_map(|entry| &entry.parameters);
        for parameter in self.defaults.iter().chain(own) {
            one.set(&parameter.name, &parameter.value);
        }
        for (name, value) in axes {
            one.set(name, value);
        }
        if let Some(entry) = entry {
            one.weight = entry.weight.unwrap_or(one.weight);
            one.kind = entry.kind.unwrap_or(one.kind);
            one.timeout = entry.timeout.or(one.timeout);
            one.repeat = entry.repeat.unwrap_or(one.repeat);
        }
        one.be_scenario(Box::new(Scenario {
            family: workload.name.clone(),
            base: entry.map(|entry| entry.name.clone()),
            axes: axes.iter().map(|(name, _)| name.clone()).collect(),
            position,
        }));
        one
    }

    /// All combinations of the matrix, the last of its parameters changing fastest.
    fn combinations(&self) -> Vec<Vec<(String, String)>> {
        let mut all = vec![Vec::new()];
        for (axis, values) in &self.matrix {
            let with = |rest: &Vec<(String, String)>, value: &String| {
                let mut whole = rest.clone();
                whole.push((axis.name.clone(), value.clone()));
                whole
            };
            all = all
                .iter()
                .flat_map(|rest| values.iter().map(move |value| with(rest, value)))
                .take(MOST + 1)
                .collect();
        }
        all
    }

    /// A parameter that stands nowhere is a slip: of its own name, or of the placeholder's.
    fn check_used(&self, used: &BTreeSet<&str>, problems: &mut Problems<'_>) {
        let mut said = BTreeSet::new();
        for parameter in self.all() {
            if used.contains(parameter.name.as_str()) || !said.insert(&parameter.name) {
                continue;
            }
            let known = OVERRIDES.into_iter().filter(|_| !self.scenarios.is_empty());
            let near = did_you_mean(&parameter.name, known.chain(used.iter().copied()));
            problems.add(
                parameter.span.clone(),
                format!(
                    "{} is a parameter that nothing uses, as `{{{}}}`{near}",
                    parameter.label, parameter.name
                ),
            );
        }
    }

    /// That a scenario has all that is used.
    fn check_whole(&self, entry: &Entry, used: &[String], problems: &mut Problems<'_>) {
        let axes = self.matrix.iter().map(|(axis, _)| axis);
        let known: BTreeSet<&str> = self
            .defaults
            .iter()
            .chain(axes)
            .chain(&entry.parameters)
            .map(|parameter| parameter.name.as_str())
            .chain([SCENARIO])
            .collect();
        for name in used.iter().filter(|name| !known.contains(name.as_str())) {
            problems.add(
                entry.span.clone(),
                format!("{} has no `{name}`, which the workload uses", entry.label),
            );
        }
    }
}

/// The values of a table that is not empty.
fn filled<'t>(item: &Item<'t>, problems: &mut Problems<'_>) -> Option<Vec<Item<'t>>> {
    let section = item.section(problems)?;
    let items = section.items();
    if items.is_empty() {
        section.wrong(problems, "is empty");
        return None;
    }
    Some(items)
}

fn entry(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Entry> {
    let mut section = item.section(problems)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name = &item.key;
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(plain) {
        problems.add(
            item.key_span.clone(),
            format!(
                "`{}` can't name a scenario: only letters, digits, `-`, `_` and `.` can, after a \
                 letter or digit",
                name.escape_debug()
            ),
        );
    }
    let weight = section.read("weight", problems, value::count);
    let timeout = section.read("timeout", problems, value::duration);
    let repeat = section.read("repeat", problems, value::count);
    let kind = section.read("kind", problems, Kind::read);
    let mut parameters = Vec::new();
    for item in section.items() {
        let key = item.key.as_str();
        if OVERRIDES.contains(&key) {
            continue;
        }
        if SHARED.contains(&key) {
            problems.add(
                item.key_span.clone(),
                format!(
                    "{} is the same for all scenarios of a workload",
                    item.label()
                ),
            );
            continue;
        }
        parameters.extend(parameter(&item, problems));
    }
    Some(Entry {
        name: name.clone(),
        label: section.label(),
        span: item.key_span.clone(),
        parameters,
        weight,
        kind,
        timeout,
        repeat,
    })
}

/// `users = [1, 10]`. With a wrong value it is a parameter all the same, so that its placeholders are
/// no further problems.
fn axis(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<(Parameter, Vec<String>)> {
    let elements = item.elements(problems, "an array of values")?;
    let mut values: Vec<String> = Vec::new();
    for element in &elements {
        match scalar(element, problems) {
            Some(value) if values.contains(&value) => {
                element.wrong(problems, &format!("has `{value}` twice"));
            }
            Some(value) => values.push(value),
            None => {}
        }
    }
    if elements.is_empty() {
        item.wrong(problems, "is empty");
    }
    check_name(item, problems).then(|| (named(item, String::new()), values))
}

/// `users = 10`
fn parameter(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Parameter> {
    let value = scalar(item, problems).unwrap_or_default();
    check_name(item, problems).then(|| named(item, value))
}

fn named(item: &Item<'_>, value: String) -> Parameter {
    Parameter {
        name: item.key.clone(),
        value,
        label: item.label(),
        span: item.key_span.clone(),
    }
}

fn check_name(item: &Item<'_>, problems: &mut Problems<'_>) -> bool {
    let name = item.key.as_str();
    let why = if Placeholder::reserves(name) || name == SCENARIO {
        format!("can't be a parameter: `{{{name}}}` stands for something else")
    } else if OVERRIDES.contains(&name) || SHARED.contains(&name) {
        "can't be a parameter: it is a key of the workload itself".to_owned()
    } else if !template::is_name(name) {
        "can't be a parameter: only lower-case letters, digits, `-` and `_` can, after a letter"
            .to_owned()
    } else {
        return true;
    };
    problems.add(item.key_span.clone(), format!("{} {why}", item.label()));
    false
}

/// The text of a string, a number, or `true` and `false`.
fn scalar(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let value = match item.value {
        DeValue::String(text) if !text.contains('\0') => Some(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| number.to_string()),
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
            .map(|number| number.to_string()),
        DeValue::Boolean(value) => Some(value.to_string()),
        _ => None,
    };
    if value.is_none() {
        item.must_be(problems, "a string, a number, `true` or `false`");
    }
    value
}
