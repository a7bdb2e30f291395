//! The tables: which keys each has, and what must hold between them.

use super::cmake;
use super::metrics;
use super::nearest::did_you_mean;
use super::problem::Problems;
use super::sample;
use super::scenarios;
use super::section::{Item, Section};
use super::service::{self, Service};
use super::template::Template;
use super::value;
use super::workload::{AD_HOC, Kind, Workload};
use super::{Builtin, CCompilerChoice, Config, Method, PackagePolicy, Profiles};
use fdo_build::flags::Counters;
use fdo_build::protocol::Family;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::de::DeValue;

/// Variables that cargo-fdo sets for the programs it runs.
const OWN_VARIABLES: [&str; 1] = ["LLVM_PROFILE_FILE"];

/// The whole configuration. If it adds problems, what it returns is of no use.
pub(super) fn config(mut top: Section<'_>, root: &Path, problems: &mut Problems<'_>) -> Config {
    let mut config = Config::default();
    if let Some(method) = top.read("method", problems, method) {
        config.method = method;
    }
    if let Some(profiles) = top.read("profiles", problems, profiles) {
        config.profiles = profiles;
    }
    if let Some(compiler) = top.read("c-compiler", problems, |item, problems| {
        c_compiler(item, root, problems)
    }) {
        config.c_compiler = compiler;
    }
    if let Some(continuous) = top.read("continuous", problems, value::flag) {
        config.continuous = continuous;
    }
    if let Some(allowed) = top.read("rustc-bootstrap", problems, value::flag) {
        config.rustc_bootstrap = allowed;
    }
    if let Some(share) = top.read("min-match", problems, value::share) {
        config.min_match = Some(share);
    }
    if let Some(share) = top.read("max-loss", problems, value::share) {
        config.max_loss = share;
    }
    if let Some(mut tool) = top.read("tool", problems, Item::section) {
        config.profdata = tool.read("llvm-profdata", problems, |item, problems| {
            value::program(item, problems, root)
        });
        config.perf = tool.read("perf", problems, |item, problems| {
            value::program(item, problems, root)
        });
        tool.finish(problems);
    }
    if let Some(sample) = top.read("sample", problems, sample::sample) {
        config.sample = sample;
    }

    let workloads = top.read("workload", problems, Item::section);
    let parameters = workloads.as_ref().map(scenarios::all_names);
    let (services, service_names) = top
        .read("service", problems, |item, problems| {
            service::services(item, &parameters.unwrap_or_default(), problems)
        })
        .unwrap_or_default();
    let services = Services {
        all: &services,
        names: &service_names,
    };

    // All names, also those of broken workloads, so that one slip is not reported twice.
    let mut kinds = BTreeMap::new();
    if let Some(workloads) = workloads {
        for item in workloads.items() {
            let workloads = workload(&item, services, problems);
            // A family can be trained with if one of its scenarios can.
            let kind = workloads
                .iter()
                .map(|it| it.kind)
                .min_by_key(|kind| match kind {
                    Kind::Train => 0,
                    Kind::Evaluate => 1,
                });
            kinds.insert(item.key, kind);
            for workload in workloads {
                kinds.insert(workload.name.clone(), Some(workload.kind));
                config.workloads.insert(workload.name.clone(), workload);
            }
        }
    }
    if let Some(names) = top.read("workloads", problems, |item, problems| {
        default_workloads(item, &kinds, problems)
    }) {
        config.default_workloads = names;
    }

    if let Some(projects) = top.read("cmake", problems, Item::section) {
        for item in projects.items() {
            if let Some(project) = cmake::project(&item, problems) {
                config.cmake.insert(item.key, project);
            }
        }
    }
    if let Some(packages) = top.read("package", problems, Item::section) {
        for item in packages.items() {
            let place = problems.place(&item.key_span);
            if let Some(policy) = package(&item, problems) {
                config.package_places.insert(item.key.clone(), place);
                config.packages.insert(item.key, policy);
            }
        }
    }
    top.finish(problems);
    config
}

fn method(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Method> {
    let choices = [
        ("instrument", Method::Instrument),
        ("sample", Method::Sample),
    ];
    value::choice(item, problems, &choices)
}

fn profiles(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Profiles> {
    let choices = [
        ("per-binary", Profiles::PerBinary),
        ("merged", Profiles::Merged),
    ];
    value::choice(item, problems, &choices)
}

fn c_compiler(
    item: &Item<'_>,
    root: &Path,
    problems: &mut Problems<'_>,
) -> Option<CCompilerChoice> {
    match item.value {
        DeValue::String(text) if text == "auto" => Some(CCompilerChoice::Auto),
        DeValue::String(text) if text == "keep" => Some(CCompilerChoice::Keep),
        DeValue::String(text) if !text.is_empty() => {
            value::program(item, problems, root).map(CCompilerChoice::Program)
        }
        _ => {
            item.must_be(
                problems,
                "\"auto\", \"keep\", or the name or path of a clang",
            );
            None
        }
    }
}

/// The `workloads` key: which of the named `kinds` or built-in ones to train with.
fn default_workloads(
    item: &Item<'_>,
    kinds: &BTreeMap<String, Option<Kind>>,
    problems: &mut Problems<'_>,
) -> Option<Vec<String>> {
    if let DeValue::Table(_) = item.value {
        item.wrong(
            problems,
            "must be an array of workload names; a workload itself is a table [workload.NAME]",
        );
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for (element, name) in value::texts(item, problems)? {
        // Of a broken workload the scenarios are not known.
        let of_broken = || {
            let family = kinds.get(name.split_once('/')?.0)?;
            family.is_none().then_some(family)
        };
        let known = kinds.get(name).or_else(of_broken);
        match (known, name.parse::<Builtin>()) {
            (Some(Some(Kind::Evaluate)), _) => element.wrong(
                problems,
                &format!("has `{name}`, which is of kind \"evaluate\" and can't be trained with"),
            ),
            (None, Err(_)) => element.wrong(
                problems,
                &format!(
                    "has `{name}`, and there is no such workload{}",
                    did_you_mean(name, kinds.keys().map(String::as_str).chain(Builtin::NAMES))
                ),
            ),
            _ if names.iter().any(|known| known == name) => {
                element.wrong(
                    problems,
                    &format!("has `{name}` twice; `weight` makes it count more"),
                );
            }
            _ => names.push(name.to_owned()),
        }
    }
    if names.is_empty() && matches!(item.value, DeValue::Array(array) if array.is_empty()) {
        item.wrong(
            problems,
            "is empty; leave the key out to train with all of kind \"train\"",
        );
    }
    Some(names)
}

/// What workloads may run beside them.
#[derive(Clone, Copy)]
struct Services<'s> {
    all: &'s BTreeMap<String, Service>,
    /// Those of broken ones too.
    names: &'s BTreeSet<String>,
}

impl Services<'_> {
    /// The `services` of a workload, with what they need.
    /// They may use its `parameters`.
    fn named(
        self,
        item: &Item<'_>,
        parameters: &[String],
        problems: &mut Problems<'_>,
    ) -> Option<Vec<Service>> {
        let mut names = Vec::new();
        for (element, name) in value::texts(item, problems)? {
            if !self.names.contains(name) {
                let near = did_you_mean(name, self.names.iter().map(String::as_str));
                element.wrong(
                    problems,
                    &format!("has `{name}`, and there is no [service.{name}]{near}"),
                );
            }
            names.push(name.to_owned());
        }
        let services = service::in_order(&names, self.all);
        for service in &services {
            let used = service.templates().flat_map(Template::parameters);
            for unknown in used.filter(|name| !parameters.iter().any(|known| known == name)) {
                item.wrong(
                    problems,
                    &format!(
                        "need `{{{unknown}}}` for service `{}`: it is no parameter of this workload",
                        service.name
                    ),
                );
            }
        }
        Some(services)
    }
}

/// `[workload.NAME]`: the workload, or each of its scenarios. None if it is broken.
fn workload(item: &Item<'_>, services: Services<'_>, problems: &mut Problems<'_>) -> Vec<Workload> {
    let Some(mut section) = item.section(problems) else {
        return Vec::new();
    };
    if let Some(message) = bad_name(&item.key) {
        problems.add(item.key_span.clone(), message);
    }
    let declared = scenarios::declared(&mut section, problems);
    let names = &declared.names;
    let prepare = section.read("prepare", problems, |item, problems| {
        value::steps(item, problems, names)
    });
    let run = section.get("run");
    if run.is_none() {
        section.wrong(problems, "has no `run`");
    }
    let run = run.and_then(|run| value::command_line(&run, problems, names));
    let env = section.read("env", problems, |item, problems| {
        environment(item, problems, names)
    });
    let cwd = section.read("cwd", problems, value::directory);
    let weight = section.read("weight", problems, value::count);
    let timeout = section.read("timeout", problems, value::duration);
    let repeat = section.read("repeat", problems, value::count);
    let kind = section.read("kind", problems, Kind::read);
    let metrics = section.read("metrics", problems, |item, problems| {
        metrics::metrics(item, problems, names)
    });
    let services = section.read("services", problems, |item, problems| {
        services.named(item, names, problems)
    });
    let keep_services = section.read("keep-services", problems, value::flag);
    let profile_load = section.read("profile-load", problems, value::flag);
    section.finish(problems);
    let Some(run) = run else {
        return Vec::new();
    };
    let workload = Workload {
        services: services.unwrap_or_default(),
        keep_services: keep_services.unwrap_or(false),
        profile_load: profile_load.unwrap_or(false),
        prepare: prepare.unwrap_or_default(),
        env: env.unwrap_or_default(),
        cwd,
        weight: weight.unwrap_or(1),
        timeout,
        repeat: repeat.unwrap_or(1),
        kind: kind.unwrap_or_default(),
        metrics: metrics.unwrap_or_default(),
        ..Workload::new(&item.key, run)
    };
    declared.expand(&workload, problems)
}

/// Why a workload can't have this name: it is a directory in the store and a word on the
/// command line.
fn bad_name(name: &str) -> Option<String> {
    if name == AD_HOC {
        return Some(format!(
            "`{AD_HOC}` can't name a workload: it stands for a command line given to `cargo fdo`"
        ));
    }
    if Builtin::reserves(name) {
        return Some(format!(
            "`{name}` can't name a workload: it is built in and needs no table"
        ));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(plain) {
        return Some(format!(
            "`{}` can't name a workload: only letters, digits, `-`, `_` and `.` can, after a letter or digit",
            name.escape_debug()
        ));
    }
    None
}

/// The `env` table, in the order of the file.
pub(super) fn environment(
    item: &Item<'_>,
    problems: &mut Problems<'_>,
    parameters: &[String],
) -> Option<Vec<(String, Template)>> {
    let section = item.section(problems)?;
    let mut variables = Vec::new();
    for item in section.items() {
        let name = &item.key;
        if name.is_empty() || name.contains(['=', '\0']) {
            problems.add(
                item.key_span.clone(),
                format!("{} can't be the name of a variable", item.label()),
            );
        } else if OWN_VARIABLES.contains(&name.as_str()) {
            problems.add(
                item.key_span.clone(),
                format!("{} is set by cargo-fdo itself", item.label()),
            );
        }
        if let Some(value) = value::template(&item, problems, "a string", parameters) {
            variables.push((item.key, value));
        }
    }
    Some(variables)
}

/// `[package.NAME]`.
fn package(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<PackagePolicy> {
    let mut section = item.section(problems)?;
    let default = PackagePolicy::default();
    let policy = PackagePolicy {
        c: section
            .read("c", problems, value::flag)
            .unwrap_or(default.c),
        rust: section
            .read("rust", problems, value::flag)
            .unwrap_or(default.rust),
        cflags: section
            .read("cflags", problems, |item, problems| {
                value::compiler_flags(item, problems, Family::Clang)
            })
            .unwrap_or_default(),
        rustflags: section
            .read("rustflags", problems, |item, problems| {
                value::compiler_flags(item, problems, Family::Rustc)
            })
            .unwrap_or_default(),
        c_exclude: section
            .read("c-exclude", problems, value::globs)
            .unwrap_or_default(),
        counters: section
            .read("counters", problems, |item, problems| {
                let choices = [("ir", Counters::Ir), ("frontend", Counters::Frontend)];
                value::choice(item, problems, &choices)
            })
            .unwrap_or(default.counters),
    };
    section.finish(problems);
    Some(policy)
}
