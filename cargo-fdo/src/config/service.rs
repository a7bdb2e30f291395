//! `[service.NAME]`: programs that run while a workload does.
//!
//! ```toml
//! [service.storaged]
//! run = ["{bin:storaged}", "--port", "{port:storaged}", "--data", "{tmp}/storage"]
//! needs = ["metad"]                     # started before, stopped after
//! ready = { port = "{port:storaged}" }  # or http, log, file, command; and timeout
//! stop-signal = "SIGTERM"
//! grace = "10s"
//! ```

use super::nearest::did_you_mean;
use super::problem::Problems;
use super::section::Item;
use super::template::Template;
use super::value;
use super::workload::CommandLine;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// A program that runs while a workload does, and is stopped at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its name: letters, digits, `-`, `_`, `.`, so fit for a file name.
    pub name: String,
    /// What runs until it is stopped.
    pub run: CommandLine,
    /// Variables, in the order of the file.
    pub env: Vec<(String, Template)>,
    /// Where it runs, relative to the workspace root; in it if `None`.
    pub cwd: Option<PathBuf>,
    /// Services that are ready before it starts, and are stopped after it.
    pub needs: Vec<String>,
    /// How one knows that it can be used; at once if `None`.
    pub ready: Option<Ready>,
    /// How long that may take.
    pub ready_timeout: Duration,
    /// Whether `run` leaves the service behind and ends, as daemons do that leave their terminal.
    pub forks: bool,
    /// What it is asked to end by.
    pub stop: Stop,
    /// How long it may take to end.
    pub grace: Duration,
    /// Where its output goes; below cargo-fdo's own directory if `None`.
    pub log: Option<Template>,
}

/// How one knows that a service can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// It accepts TCP connections: `PORT` of this machine, or `HOST:PORT`.
    Port(Template),
    /// It answers a GET with a status below 400: `http://HOST:PORT/PATH`.
    Http(Template),
    /// A line of its output matches; a valid regular expression.
    Log(String),
    /// There is a file, or a socket.
    File(Template),
    /// A command succeeds.
    Command(CommandLine),
}

/// What a service is asked to end by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// A signal, by its name without `SIG`.
    Signal(&'static str),
    /// A command that ends it.
    Command(CommandLine),
}

/// Signals that ask a program to end (signal(7)).
pub(super) const SIGNALS: [&str; 7] = ["TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "KILL"];

const READY_TIMEOUT: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(10);

impl Service {
    /// All its texts with placeholders.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let ready: &[Template] = match &self.ready {
            Some(Ready::Port(text) | Ready::Http(text) | Ready::File(text)) => {
                std::slice::from_ref(text)
            }
            Some(Ready::Command(command)) => command.templates(),
            Some(Ready::Log(_)) | None => &[],
        };
        let stop = match &self.stop {
            Stop::Command(command) => command.templates(),
            Stop::Signal(..) => &[],
        };
        let env = self.env.iter().map(|(_, value)| value);
        let own = self.run.templates().iter().chain(ready).chain(stop);
        own.chain(env).chain(&self.log)
    }

    /// The same, to be changed.
    pub fn templates_mut(&mut self) -> impl Iterator<Item = &mut Template> {
        let ready: &mut [Template] = match &mut self.ready {
            Some(Ready::Port(text) | Ready::Http(text) | Ready::File(text)) => {
                std::slice::from_mut(text)
            }
            Some(Ready::Command(command)) => command.templates_mut(),
            Some(Ready::Log(_)) | None => &mut [],
        };
        let stop = match &mut self.stop {
            Stop::Command(command) => command.templates_mut(),
            Stop::Signal(..) => &mut [],
        };
        let env = self.env.iter_mut().map(|(_, value)| value);
        let own = self.run.templates_mut().iter_mut().chain(ready).chain(stop);
        own.chain(env).chain(&mut self.log)
    }
}

/// The `service` table. All names come back, also those of broken ones, so that one slip is not
/// reported twice.
pub(super) fn services(
    item: &Item<'_>,
    parameters: &[String],
    problems: &mut Problems<'_>,
) -> Option<(BTreeMap<String, Service>, BTreeSet<String>)> {
    let section = item.section(problems)?;
    let mut services = BTreeMap::new();
    let mut needs: BTreeMap<String, Vec<(Range<usize>, String)>> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for item in section.items() {
        names.insert(item.key.clone());
        let mut wanted = Vec::new();
        if let Some(service) = service(&item, parameters, &mut wanted, problems) {
            services.insert(item.key.clone(), service);
        }
        needs.insert(item.key.clone(), wanted);
    }
    for (name, wanted) in &needs {
        for (span, other) in wanted {
            if !names.contains(other) {
                let near = did_you_mean(other, names.iter().map(String::as_str));
                problems.add(
                    span.clone(),
                    format!("service `{name}` needs `{other}`, and there is no such service{near}"),
                );
            } else if reaches(other, name, &needs) {
                problems.add(
                    span.clone(),
                    format!("service `{name}` needs `{other}`, which needs `{name}`: neither can start first"),
                );
            }
        }
    }
    Some((services, names))
}

/// Whether `from` is `to`, or needs it, however indirectly.
fn reaches(from: &str, to: &str, needs: &BTreeMap<String, Vec<(Range<usize>, String)>>) -> bool {
    let mut open = vec![from];
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if name == to {
            return true;
        }
        if seen.insert(name) {
            let next = needs.get(name).into_iter().flatten();
            open.extend(next.map(|(_, other)| other.as_str()));
        }
    }
    false
}

/// The named services and all that they need, each after what it needs.
pub(super) fn in_order(names: &[String], all: &BTreeMap<String, Service>) -> Vec<Service> {
    fn visit(
        name: &str,
        all: &BTreeMap<String, Service>,
        seen: &mut BTreeSet<String>,
        into: &mut Vec<Service>,
    ) {
        // A broken one was reported; a circle too.
        let Some(service) = all.get(name).filter(|_| seen.insert(name.to_owned())) else {
            return;
        };
        for other in &service.needs {
            visit(other, all, seen, into);
        }
        into.push(service.clone());
    }
    let (mut seen, mut ordered) = (BTreeSet::new(), Vec::new());
    for name in names {
        visit(name, all, &mut seen, &mut ordered);
    }
    ordered
}

/// `[service.NAME]`.
fn service(
    item: &Item<'_>,
    parameters: &[String],
    wanted: &mut Vec<(Range<usize>, String)>,
    problems: &mut Problems<'_>,
) -> Option<Service> {
    let mut section = item.section(problems)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins = item.key.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !begins || !item.key.chars().all(plain) {
        problems.add(
            item.key_span.clone(),
            format!(
                "`{}` can't name a service: only letters, digits, `-`, `_` and `.` can, after a letter or digit",
                item.key.escape_debug()
            ),
        );
    }
    let run = section.get("run");
    if run.is_none() {
        section.wrong(problems, "has no `run`");
    }
    let run = run.and_then(|run| value::command_line(&run, problems, parameters));
    let env = section.read("env", problems, |item, problems| {
        super::schema::environment(item, problems, parameters)
    });
    let cwd = section.read("cwd", problems, value::directory);
    let needs = section.read("needs", problems, |item, problems| {
        let names = value::texts(item, problems)?;
        wanted.extend(
            names
                .iter()
                .map(|(element, name)| (element.span.clone(), (*name).to_owned())),
        );
        Some(names.into_iter().map(|(_, name)| name.to_owned()).collect())
    });
    let ready = section.read("ready", problems, |item, problems| {
        ready(item, parameters, problems)
    });
    let forks = section.read("forks", problems, value::flag);
    let stop_signal = section.get("stop-signal");
    let stop_command = section.get("stop");
    let stop = match (&stop_signal, &stop_command) {
        (Some(item), Some(_)) => {
            item.wrong(
                problems,
                "and `stop` both say how it ends; one of them is enough",
            );
            None
        }
        (Some(item), None) => signal(item, problems),
        (None, Some(item)) => value::command_line(item, problems, parameters).map(Stop::Command),
        (None, None) => Some(Stop::Signal("TERM")),
    };
    let grace = section.read("grace", problems, value::duration);
    let log = section.read("log", problems, |item, problems| {
        value::template(item, problems, "the path of a file", parameters)
    });
    section.finish(problems);
    let (ready, ready_timeout) =
        ready.map_or((None, READY_TIMEOUT), |(ready, limit)| (Some(ready), limit));
    Some(Service {
        name: item.key.clone(),
        run: run?,
        env: env.unwrap_or_default(),
        cwd,
        needs: needs.unwrap_or_default(),
        ready,
        ready_timeout,
        forks: forks.unwrap_or(false),
        stop: stop?,
        grace: grace.unwrap_or(GRACE),
        log,
    })
}

fn ready(
    item: &Item<'_>,
    parameters: &[String],
    problems: &mut Problems<'_>,
) -> Option<(Ready, Duration)> {
    let mut section = item.section(problems)?;
    let mut found = Vec::new();
    for (key, make) in [
        ("port", Ready::Port as fn(Template) -> Ready),
        ("http", Ready::Http),
        ("file", Ready::File),
    ] {
        let what = match key {
            "port" => "a port such as \"{port:NAME}\" or \"127.0.0.1:8080\"",
            "http" => "an address such as \"http://127.0.0.1:{port:NAME}/status\"",
            _ => "the path of a file",
        };
        found.extend(section.read(key, problems, |item, problems| {
            port_or_text(item, parameters, problems, what).map(make)
        }));
    }
    found.extend(section.read("log", problems, |item, problems| {
        let text = value::text(item, problems, "a regular expression")?;
        match regex::Regex::new(text) {
            Ok(_) => Some(Ready::Log(text.to_owned())),
            Err(error) => {
                item.wrong(problems, &format!("has a bad regular expression: {error}"));
                None
            }
        }
    }));
    found.extend(section.read("command", problems, |item, problems| {
        value::command_line(item, problems, parameters).map(Ready::Command)
    }));
    let timeout = section.read("timeout", problems, value::duration);
    match found.len() {
        1 => {}
        0 => section.wrong(
            problems,
            "must have `port`, `http`, `log`, `file` or `command`",
        ),
        _ => section.wrong(
            problems,
            "has more than one of `port`, `http`, `log`, `file` and `command`",
        ),
    }
    section.finish(problems);
    Some((found.pop()?, timeout.unwrap_or(READY_TIMEOUT)))
}

/// Text with placeholders; of a port, a number does too.
fn port_or_text(
    item: &Item<'_>,
    parameters: &[String],
    problems: &mut Problems<'_>,
    what: &str,
) -> Option<Template> {
    if let toml::de::DeValue::Integer(number) = item.value
        && item.key == "port"
        && number.as_str().parse::<u16>().is_ok_and(|port| port > 0)
    {
        return Some(Template::literal(number.as_str()));
    }
    value::text(item, problems, what)?;
    value::template(item, problems, what, parameters)
}

fn signal(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Stop> {
    let name = value::text(item, problems, "the name of a signal, such as \"SIGTERM\"")?;
    let short = name.strip_prefix("SIG").unwrap_or(name);
    match SIGNALS.iter().find(|known| **known == short) {
        Some(known) => Some(Stop::Signal(known)),
        None => {
            let known: Vec<String> = SIGNALS.iter().map(|name| format!("SIG{name}")).collect();
            item.must_be(problems, &format!("one of {}", known.join(", ")));
            None
        }
    }
}
