//! `cargo fdo doctor`: which tools of this machine fit together.
//!
//! Never a mere list of versions: each compiler makes an object, each llvm-profdata merges a
//! file, and the tools that a build would use take a [canary] the whole
//! way. Works outside of a cargo project, and changes nothing.

pub mod recommend;
mod samples;
mod table;

pub use samples::SampleRow;

use crate::error::{Diagnose, ExitCode};
use crate::tool::auto::{self, Choice, Outcome, Request};
use crate::tool::c_compiler::{CCompiler, Misfit};
use crate::tool::canary::{self, Canary};
use crate::tool::profdata::{self, Profdata};
use crate::tool::rustc::{self, Rustc};
use crate::tool::{Invocation, Places, signals};
use fdo_build::protocol::Family;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

/// What the examination depends on.
pub struct Env<'a> {
    /// The user's environment.
    pub var: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// Where to look for tools.
    pub places: Places,
    /// The rustc that cargo would run.
    pub rustc: PathBuf,
    /// The target triple; rustc's host if `None`.
    pub target: Option<String>,
    /// The llvm-profdata that a flag or the configuration names.
    pub profdata: Option<PathBuf>,
}

/// What was found.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Report {
    /// The version of this structure.
    pub version: u32,
    /// One for each tool.
    pub rows: Vec<Row>,
    /// The canary of Rust alone; none if it could not be hatched.
    pub rust: Option<Canary>,
    /// The canary of Rust and C, with the chosen compiler; none if none was chosen.
    pub mixed: Option<Canary>,
    /// The C and C++ compiler that `auto` stands for.
    pub c_compiler: Option<Choice>,
    /// The llvm-profdata for Rust's profiles.
    pub profdata: Option<Profdata>,
    /// Which compilers read sampled profiles.
    pub samples: Vec<SampleRow>,
    /// How long it took.
    pub milliseconds: u64,
}

/// One tool.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Row {
    /// Whether it can be used.
    pub verdict: Verdict,
    /// Its kind, such as `clang`.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// Where it is.
    pub path: Option<PathBuf>,
    /// Why.
    pub note: String,
    /// The command that installs what is missing, if something is needed.
    pub install: Option<String>,
}

/// Whether a tool can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It works with the others.
    Ok,
    /// It works, but not with the others.
    Misfit,
    /// It is not there, or does not work at all.
    Missing,
}

impl Report {
    /// How the process ends; `None` if Rust programs can be optimised, with or without C.
    pub fn exit_code(&self) -> Option<ExitCode> {
        match &self.rust {
            Some(canary) if canary.alive() => None,
            _ => Some(ExitCode::Tool),
        }
    }

    /// The report as a table.
    pub fn text(&self) -> String {
        table::text(self)
    }
}

/// Tries all tools out.
pub fn examine(env: &Env<'_>) -> Report {
    let start = Instant::now();
    let mut report = Report {
        version: 1,
        rows: Vec::new(),
        rust: None,
        mixed: None,
        c_compiler: None,
        profdata: None,
        samples: Vec::new(),
        milliseconds: 0,
    };
    match tempfile::tempdir() {
        Ok(scratch) => examine_in(env, scratch.path(), &mut report),
        Err(error) => report.rows.push(Row::missing(
            "temporary directory",
            format!("can't be made: {error}"),
        )),
    }
    report.milliseconds = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    report
}

/// What the Rust half of the examination leaves to the other.
struct Rust {
    rustc: Rustc,
    raw_version: u64,
    sample: Option<canary::RawSample>,
}

fn examine_in(env: &Env<'_>, scratch: &Path, report: &mut Report) {
    // The two halves share nothing until rustc's raw version is known.
    let (rust, compilers, others) = thread::scope(|scope| {
        let compilers = scope.spawn(|| inspect_compilers(env, scratch));
        let others = scope.spawn(|| other_tools(&env.places));
        let rust = hatch(env, scratch, report);
        (
            rust,
            compilers.join().unwrap_or_default(),
            others.join().unwrap_or_default(),
        )
    });
    if let Some(rust) = rust {
        thread::scope(|scope| {
            let request = Request {
                env: env.var,
                target: env.target.as_deref().unwrap_or(&rust.rustc.host),
                rustc: &rust.rustc,
                rustc_raw: rust.raw_version,
                places: &env.places,
            };
            let outcome = scope.spawn(move || auto::choose(request, scratch));
            let samples = scope.spawn(|| samples::rows(env, &rust.rustc, &compilers, scratch));
            profdata_rows(env, &rust, scratch, report);
            let outcome = outcome.join().unwrap_or_default();
            compiler_rows(env, &rust, &compilers, &outcome, report);
            report.c_compiler = outcome.choice;
            report.samples = samples.join().unwrap_or_default();
        });
        mixed(env, &rust, scratch, report);
    }
    report.rows.extend(others);
}

/// rustc, its row and a raw profile of it.
fn hatch(env: &Env<'_>, scratch: &Path, report: &mut Report) -> Option<Rust> {
    let fail = |report: &mut Report, error: &dyn Diagnose| {
        let mut row = Row::missing("rustc", first_line(&error.to_string()));
        row.path = Some(env.rustc.clone());
        row.install = Some("rustup toolchain install stable".into());
        report.rows.push(row);
    };
    let rustc = match Rustc::inspect(&env.rustc) {
        Ok(rustc) => rustc,
        Err(error) => {
            fail(report, &error);
            return None;
        }
    };
    let raw_version = match rustc::rustc_raw_version(&rustc, scratch) {
        Ok(version) => version,
        Err(error) => {
            fail(report, &error);
            return None;
        }
    };
    report.rows.push(Row {
        verdict: Verdict::Ok,
        tool: "rustc".into(),
        version: format!("{} (LLVM {})", rustc.release, rustc.llvm),
        path: env.places.find(&rustc.program),
        note: format!("writes raw profile version {raw_version}"),
        install: None,
    });
    let target = env.target.as_deref().unwrap_or(&rustc.host);
    if let Err(error) = signals::build(&rustc, target, &scratch.join("signals.o")) {
        let mut row = Row::missing("signals", first_line(&error.to_string()));
        row.install = error.hint();
        report.rows.push(row);
    }
    let sample = match canary::rust_canary(&rustc, scratch) {
        Ok(sample) => Some(sample),
        Err(failure) => {
            report.rust = Some(Canary {
                passed: Vec::new(),
                failure: Some(failure),
                verify: false,
                milliseconds: 0,
            });
            None
        }
    };
    Some(Rust {
        rustc,
        raw_version,
        sample,
    })
}

/// Every C compiler of this machine, the user's own and gcc included.
fn inspect_compilers(env: &Env<'_>, scratch: &Path) -> Vec<CCompiler> {
    let versions = env
        .places
        .versions("clang")
        .into_iter()
        .map(|(_, path)| path);
    let names = ["clang", "gcc", "cc"].into_iter();
    let mut seen = Vec::new();
    let mut paths: Vec<_> = versions
        .chain(names.filter_map(|name| env.places.find(name)))
        .collect();
    paths.retain(|path| {
        // Also under other names: `cc` is hardly ever a compiler of its own.
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let new = !seen.contains(&real);
        seen.push(real);
        new
    });
    thread::scope(|scope| {
        let probes: Vec<_> = paths
            .iter()
            .map(|path| {
                let command = [path.display().to_string()];
                scope.spawn(move || CCompiler::inspect(&command, scratch).ok())
            })
            .collect();
        probes
            .into_iter()
            .filter_map(|probe| probe.join().ok().flatten())
            .collect()
    })
}

/// The file behind a compiler's name.
fn file(env: &Env<'_>, compiler: &CCompiler) -> Option<PathBuf> {
    env.places.find(compiler.program())?.canonicalize().ok()
}

fn compiler_rows(
    env: &Env<'_>,
    rust: &Rust,
    compilers: &[CCompiler],
    outcome: &Outcome,
    report: &mut Report,
) {
    let llvm_major = rust.rustc.llvm_major;
    let own =
        format!("apt install clang-{llvm_major} libclang-rt-{llvm_major}-dev llvm-{llvm_major}");
    let chosen = outcome.choice.as_ref();
    // The user's own may be a command that no search finds.
    let unknown = chosen
        .map(|choice| &choice.cc)
        .into_iter()
        .chain(outcome.passed_over.iter().map(|(compiler, _)| compiler))
        .filter(|compiler| {
            let file = file(env, compiler);
            !compilers.iter().any(|known| self::file(env, known) == file)
        });
    for compiler in compilers.iter().chain(unknown) {
        let misfit = compiler.misfit(rust.raw_version);
        let passed_over = outcome
            .passed_over
            .iter()
            .find(|(other, _)| other.command == compiler.command);
        let (verdict, note) = match (&misfit, passed_over) {
            (_, Some((unusable, reason))) if unusable.version_line.is_empty() => {
                (Verdict::Missing, first_line(reason))
            }
            (Some(misfit), _) => (Verdict::Misfit, misfit.to_string()),
            (None, Some((_, reason))) => (Verdict::Misfit, reason.clone()),
            (None, None) => (
                Verdict::Ok,
                format!(
                    "writes raw profile version {}, as rustc does",
                    rust.raw_version
                ),
            ),
        };
        let install = match misfit {
            Some(Misfit::NoRuntime) => {
                Some(format!("apt install libclang-rt-{}-dev", compiler.major))
            }
            Some(_) if chosen.is_none() => Some(own.clone()),
            _ => None,
        };
        report.rows.push(Row {
            verdict,
            tool: match compiler.family {
                Family::Unknown => "C compiler".into(),
                family => family.name().into(),
            },
            version: version_number(&compiler.version_line),
            path: Some(compiler.program().to_owned()),
            note,
            install,
        });
    }
    if chosen.is_none() {
        let mut row = Row::missing(
            "clang",
            "no clang fits this rustc: C and C++ stay without a profile".to_owned(),
        );
        row.version = llvm_major.to_string();
        row.install = Some(own);
        report.rows.push(row);
    }
}

/// Each llvm-profdata, and the fate of the Rust canary with the one that is used.
fn profdata_rows(env: &Env<'_>, rust: &Rust, scratch: &Path, report: &mut Report) {
    let Some(sample) = &rust.sample else { return };
    let from_env = (env.var)("LLVM_PROFDATA").map(PathBuf::from);
    let located = profdata::locate(
        env.profdata.as_deref(),
        from_env.as_deref(),
        &rust.rustc,
        &sample.path,
        &env.places,
        scratch,
    );
    let named = env.profdata.clone().or(from_env);
    let mut candidates: Vec<_> = named.into_iter().collect();
    candidates.extend(profdata::candidates(&rust.rustc, &env.places));
    let install = match &located {
        Ok(_) => None,
        Err(_) => Some("rustup component add llvm-tools".to_owned()),
    };
    for (index, candidate) in candidates.iter().enumerate() {
        // The places where one could be are of interest only if there is none.
        if env.places.find(candidate).is_none() && located.is_ok() {
            continue;
        }
        let dir = scratch.join(format!("profdata-{index}"));
        if let Err(error) = crate::fs::create_dir(&dir) {
            report
                .rows
                .push(Row::missing("llvm-profdata", error.to_string()));
            continue;
        }
        let tried = profdata::attempt(candidate, &env.places, &sample.path, &dir);
        report.rows.push(match tried {
            Ok(profdata) => Row {
                verdict: Verdict::Ok,
                tool: "llvm-profdata".into(),
                version: version_number(&profdata.version_line),
                path: Some(profdata.program),
                note: "reads what programs of this rustc write".into(),
                install: None,
            },
            Err(refusal) => Row {
                verdict: match env.places.find(candidate) {
                    Some(_) => Verdict::Misfit,
                    None => Verdict::Missing,
                },
                tool: "llvm-profdata".into(),
                version: refusal
                    .llvm_major
                    .map_or(String::new(), |major| major.to_string()),
                path: Some(refusal.program),
                note: refusal.reason,
                install: install.clone(),
            },
        });
    }
    match located {
        Ok(profdata) => {
            let canary = canary::finish_rust_canary(&rust.rustc, sample, &profdata, scratch);
            report.rust = Some(canary);
            report.profdata = Some(profdata);
        }
        Err(error) => {
            report.rust = Some(Canary {
                passed: vec![
                    canary::Step::Instrument,
                    canary::Step::Link,
                    canary::Step::Run,
                ],
                failure: Some(canary::Failure {
                    step: canary::Step::Merge,
                    reason: first_line(&error.to_string()),
                }),
                verify: false,
                milliseconds: 0,
            });
        }
    }
}

/// The canary of both languages, with the compilers that a build would use.
fn mixed(env: &Env<'_>, rust: &Rust, scratch: &Path, report: &mut Report) {
    let (Some(choice), Some(profdata)) = (&report.c_compiler, &report.profdata) else {
        return;
    };
    // What is compiled for another machine does not run on this one.
    if env
        .target
        .as_ref()
        .is_some_and(|target| *target != rust.rustc.host)
    {
        return;
    }
    let cc = &choice.cc;
    let c_profdata = if profdata.llvm_major == Some(cc.major) {
        Ok(profdata.clone())
    } else {
        let program = env.places.find(cc.program());
        profdata::for_clang(cc.major, program.as_deref(), &env.places, scratch)
    };
    match c_profdata {
        Ok(c_profdata) => {
            let canary = canary::mixed_canary(&rust.rustc, cc, profdata, &c_profdata, scratch);
            report.mixed = Some(canary);
        }
        Err(error) => {
            let mut row = Row::missing("llvm-profdata", first_line(&error.to_string()));
            row.version = cc.major.to_string();
            row.install = Some(format!("apt install llvm-{}", cc.major));
            report.rows.push(row);
        }
    }
}

/// Tools that only some programs or methods need.
const OTHERS: [(&str, &str, &str); 3] = [
    (
        "cmake",
        "for packages that are built with it",
        "apt install cmake",
    ),
    (
        "ninja",
        "for packages that are built with it",
        "apt install ninja-build",
    ),
    (
        "perf",
        "for `method = \"sample\"` only",
        "apt install linux-perf",
    ),
];

fn other_tools(places: &Places) -> Vec<Row> {
    let row = |(tool, note, install): (&str, &str, &str)| {
        let path = places.find(tool);
        let version = path.as_ref().and_then(|path| {
            let output = Invocation::new(path).arg("--version").probe().ok()?;
            output
                .status
                .success()
                .then(|| version_number(&output.stdout))
        });
        Row {
            verdict: match version {
                Some(_) => Verdict::Ok,
                None => Verdict::Missing,
            },
            tool: tool.to_owned(),
            install: version.is_none().then(|| install.to_owned()),
            version: version.unwrap_or_default(),
            path,
            note: note.to_owned(),
        }
    };
    OTHERS.map(row).into()
}

impl Row {
    fn missing(tool: &str, note: String) -> Row {
        Row {
            verdict: Verdict::Missing,
            tool: tool.to_owned(),
            version: String::new(),
            path: None,
            note,
            install: None,
        }
    }
}

/// The first word of a version line that begins with a digit, outside of brackets: there,
/// distributions name their own version.
fn version_number(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut depth = 0;
    let outside: String = line
        .chars()
        .filter(|c| {
            depth += i32::from(*c == '(');
            let inside = depth > 0;
            depth -= i32::from(*c == ')');
            !inside
        })
        .collect();
    outside
        .split_whitespace()
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()))
        .unwrap_or(line)
        .to_owned()
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// The environment of this process, for a project-independent examination.
pub fn process_env(var: &(dyn Fn(&str) -> Option<String> + Sync)) -> Env<'_> {
    Env {
        var,
        places: Places::of_process(),
        rustc: var("RUSTC").map_or_else(|| "rustc".into(), PathBuf::from),
        target: None,
        profdata: None,
    }
}

#[cfg(test)]
mod tests;
