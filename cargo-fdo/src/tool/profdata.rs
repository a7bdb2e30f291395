//! llvm-profdata: where the one that fits is, how it is called, and what it says.
//!
//! The one in `PATH` is often older than rustc's LLVM and reads nothing of what rustc's
//! programs write, so none is believed before it has merged such a file.

use super::locate::first_time;
use super::{Invocation, Places, Rustc, scratch};
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

const NAME: &str = "llvm-profdata";

/// An llvm-profdata that works for the compiler it was sought for.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Profdata {
    /// The program.
    pub program: PathBuf,
    /// How it describes itself.
    pub version_line: String,
    /// The major version of its LLVM, if it says.
    pub llvm_major: Option<u32>,
}

/// A candidate that won't do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Where it is, or should be.
    pub program: PathBuf,
    /// The major version of its LLVM, if it says.
    pub llvm_major: Option<u32>,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.program.display())?;
        match self.llvm_major {
            Some(major) => write!(f, " is LLVM {major}: {}", self.reason),
            None => write!(f, ": {}", self.reason),
        }
    }
}

/// Why there is no llvm-profdata to use.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The one that the user named won't do. Taking another instead would hide that.
    #[error("the llvm-profdata of {origin} can't be used\n  {refusal}")]
    Explicit {
        /// Who named it.
        origin: &'static str,
        /// What is wrong with it.
        refusal: Refusal,
        /// What would fit.
        llvm_major: u32,
    },
    /// None of the candidates will do.
    #[error(
        "no `llvm-profdata` can read what a program of {consumer} writes{}",
        lines(refused)
    )]
    NoneFits {
        /// The compiler that it is for.
        consumer: String,
        /// Every candidate, and why not.
        refused: Vec<Refusal>,
        /// What would fit.
        llvm_major: u32,
        /// Whether rustup could install it.
        for_rustc: bool,
    },
    /// A probe could not be written or read.
    #[error(transparent)]
    Fs(#[from] FsError),
}

fn lines(refused: &[Refusal]) -> String {
    refused
        .iter()
        .map(|refusal| format!("\n  {refusal}"))
        .collect()
}

impl Diagnose for Error {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        let package = |major: &u32| format!("the Debian package `llvm-{major}`");
        match self {
            Error::NoneFits {
                llvm_major,
                for_rustc: false,
                ..
            } => Some(format!("install {}", package(llvm_major))),
            Error::NoneFits { llvm_major, .. } => Some(format!(
                "`rustup component add llvm-tools`, or install {}",
                package(llvm_major)
            )),
            Error::Explicit { llvm_major, .. } => Some(format!(
                "name another one or none; what fits comes with \
                 `rustup component add llvm-tools` or {}",
                package(llvm_major)
            )),
            Error::Fs(error) => error.hint(),
        }
    }
}

/// Finds the llvm-profdata that reads what rustc's programs write.
///
/// In this order: `explicit` (a flag or the configuration), `from_env` (`LLVM_PROFDATA`),
/// rustup's component, the name with rustc's LLVM version, other versions newest first, the
/// plain name in `PATH`. `raw_sample` is a raw profile of a program that this rustc compiled.
///
/// # Errors
///
/// The one that the user named does not work, or none does; with all candidates.
pub fn locate(
    explicit: Option<&Path>,
    from_env: Option<&Path>,
    rustc: &Rustc,
    raw_sample: &Path,
    places: &Places,
    scratch: &Path,
) -> Result<Profdata, Error> {
    let dir = scratch::dir(scratch)?;
    let named = [
        (explicit, "the flag or configuration"),
        (from_env, "`LLVM_PROFDATA`"),
    ];
    if let Some((program, origin)) = named
        .into_iter()
        .find_map(|(program, origin)| Some((program?, origin)))
    {
        return attempt(program, places, raw_sample, dir.path()).map_err(|refusal| {
            Error::Explicit {
                origin,
                refusal,
                llvm_major: rustc.llvm_major,
            }
        });
    }
    let mut refused = Vec::new();
    for candidate in candidates(rustc, places) {
        match attempt(&candidate, places, raw_sample, dir.path()) {
            Ok(profdata) => return Ok(profdata),
            Err(refusal) => refused.push(refusal),
        }
    }
    Err(Error::NoneFits {
        consumer: format!("rustc {} (LLVM {})", rustc.release, rustc.llvm),
        refused,
        llvm_major: rustc.llvm_major,
        for_rustc: true,
    })
}

/// Everything that [`locate`] tries if the user named nothing.
pub fn candidates(rustc: &Rustc, places: &Places) -> Vec<PathBuf> {
    // The component's place is listed even if it is empty: that is what to install.
    let mut all = vec![rustc.component_tool(NAME)];
    all.extend(by_version(rustc.llvm_major, places));
    all
}

/// All of them, for files that no compiler at hand has to fit.
pub fn newest_first(places: &Places) -> Vec<PathBuf> {
    let versions = places.versions(NAME).into_iter().map(|(_, path)| path);
    let mut all: Vec<_> = versions.chain(places.find(NAME)).collect();
    let mut seen = Vec::new();
    all.retain(|path| first_time(&mut seen, path));
    all
}

/// By name: the wanted version (even if it is nowhere), the others newest first, the plain one.
fn by_version(llvm_major: u32, places: &Places) -> Vec<PathBuf> {
    let versions = places.versions(NAME);
    let wanted = versions
        .iter()
        .filter(|(version, _)| *version == llvm_major);
    let mut all: Vec<_> = wanted.map(|(_, path)| path.clone()).collect();
    if all.is_empty() {
        all.push(format!("{NAME}-{llvm_major}").into());
    }
    let others = versions
        .iter()
        .filter(|(version, _)| *version != llvm_major);
    all.extend(others.map(|(_, path)| path.clone()));
    all.extend(places.find(NAME));
    let mut seen = Vec::new();
    all.retain(|path| first_time(&mut seen, path));
    all
}

/// Finds the llvm-profdata that writes what a clang of this major version reads: each LLVM
/// refuses the indexed profiles of a newer one.
///
/// `beside` is the clang's own path: the tool may lie next to it.
///
/// # Errors
///
/// None of that version works; with all candidates.
pub fn for_clang(
    major: u32,
    beside: Option<&Path>,
    places: &Places,
    scratch: &Path,
) -> Result<Profdata, Error> {
    let dir = scratch::dir(scratch)?;
    let text = dir.path().join("trial.proftext");
    scratch::write(&text, TRIAL)?;
    let real = beside.and_then(|path| path.canonicalize().ok());
    let neighbour = real
        .map(|path| path.with_file_name(NAME))
        .filter(|path| path.is_file());
    let mut refused = Vec::new();
    for candidate in neighbour.into_iter().chain(by_version(major, places)) {
        match attempt(&candidate, places, &text, dir.path()) {
            Ok(profdata) if profdata.llvm_major == Some(major) => return Ok(profdata),
            Ok(profdata) => refused.push(Refusal {
                program: profdata.program,
                llvm_major: profdata.llvm_major,
                reason: format!("clang {major} needs its own"),
            }),
            Err(refusal) => refused.push(refusal),
        }
    }
    Err(Error::NoneFits {
        consumer: format!("clang {major}"),
        refused,
        llvm_major: major,
        for_rustc: false,
    })
}

/// The smallest profile there is.
const TRIAL: &str =
    ":ir\ncargo_fdo_trial\n# Func Hash:\n1\n# Num Counters:\n1\n# Counter Values:\n1\n";

/// Tries one candidate on a profile of any kind that it should read.
///
/// # Errors
///
/// What is wrong with it.
pub fn attempt(
    program: &Path,
    places: &Places,
    sample: &Path,
    scratch: &Path,
) -> Result<Profdata, Refusal> {
    let Some(program) = places.find(program) else {
        return Err(Refusal {
            program: program.to_owned(),
            llvm_major: None,
            reason: if program.is_file() {
                "is no program: it can't be executed".into()
            } else {
                "is not there".into()
            },
        });
    };
    let (version_line, llvm_major) = version(&program);
    let profdata = Profdata {
        program,
        version_line,
        llvm_major,
    };
    let refuse = |reason: String| Refusal {
        program: profdata.program.clone(),
        llvm_major,
        reason,
    };
    let merged = scratch.join("trial.profdata");
    let _ = std::fs::remove_file(&merged);
    let merge = Invocation::new(&profdata.program)
        .arg("merge")
        .arg(sample)
        .arg("-o")
        .arg(&merged);
    let output = merge.probe().map_err(|error| refuse(error.to_string()))?;
    if !output.status.success() {
        let complaints = complaints(&output.stderr, &[sample]);
        let reason = match complaints.into_iter().next() {
            Some((_, reason)) => reason,
            None => first_line(&output.stderr).unwrap_or_else(|| {
                format!(
                    "can't merge ({})",
                    super::invocation::describe(output.status)
                )
            }),
        };
        return Err(refuse(reason));
    }
    if !merged.is_file() {
        return Err(refuse("wrote nothing, and said that all was well".into()));
    }
    let shown = profdata
        .show_summary(&merged)
        .probe()
        .map_err(|error| refuse(error.to_string()))?;
    match parse_summary(&shown.stdout) {
        Some(summary) if summary.functions > 0 => Ok(profdata),
        Some(_) => Err(refuse(
            "found no function in a profile that has some".into(),
        )),
        None => Err(refuse("does not say what is in a profile".into())),
    }
}

/// The version of a candidate, as well as it can be had.
fn version(program: &Path) -> (String, Option<u32>) {
    // Up to LLVM 15, only the subcommands knew `--version`.
    for args in [&["--version"][..], &["merge", "--version"]] {
        let Ok(output) = Invocation::new(program).args(args).probe() else {
            continue;
        };
        if let Some(found) = parse_version(&output.stdout) {
            return found;
        }
    }
    (String::new(), None)
}

fn parse_version(text: &str) -> Option<(String, Option<u32>)> {
    text.lines().find_map(|line| {
        let (_, version) = line.split_once("LLVM version ")?;
        let major = version.split('.').next()?.parse().ok();
        Some((line.trim().to_owned(), major))
    })
}

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().to_owned())
}

/// When bad files among the inputs end a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureMode {
    /// At the first one.
    Any,
    /// Only if there is no good one.
    All,
    /// Never.
    Warn,
}

impl FailureMode {
    fn argument(self) -> &'static str {
        match self {
            FailureMode::Any => "--failure-mode=any",
            FailureMode::All => "--failure-mode=all",
            FailureMode::Warn => "--failure-mode=warn",
        }
    }
}

impl Profdata {
    /// Merges the profiles of a list ([`write_list`]) into text.
    ///
    /// Bad files are on stderr ([`complaints`]); a file without a byte is passed over without
    /// a word, and one that does not exist ends the merge in every mode.
    pub fn merge_to_text(&self, list: &Path, mode: FailureMode, output: &Path) -> Invocation {
        self.merge_call(list, output)
            .args([mode.argument(), "--text"])
    }

    /// Merges the profiles of a list ([`write_list`]) into an indexed profile.
    pub fn merge(&self, list: &Path, output: &Path) -> Invocation {
        self.merge_call(list, output)
    }

    fn merge_call(&self, list: &Path, output: &Path) -> Invocation {
        Invocation::new(&self.program)
            .args(["merge", "--input-files"])
            .arg(list)
            .arg("--output")
            .arg(output)
    }

    /// Turns a text profile into an indexed one.
    pub fn from_text(&self, text: &Path, output: &Path) -> Invocation {
        Invocation::new(&self.program)
            .arg("merge")
            .arg(text)
            .arg("--output")
            .arg(output)
    }

    /// Prints what is in a profile; see [`parse_summary`].
    pub fn show_summary(&self, profile: &Path) -> Invocation {
        Invocation::new(&self.program).arg("show").arg(profile)
    }
}

/// Writes a list of weighted profiles, for the merges above.
///
/// A line is `weight,path`; the tool splits at the first comma, so the weight is never left
/// out, and it strips white space at the ends. What a line can't hold gets a link in `links`.
/// A weight of 0 leaves a profile out.
///
/// # Errors
///
/// List or link can't be written.
pub fn write_list(list: &Path, links: &Path, inputs: &[(u64, PathBuf)]) -> Result<(), FsError> {
    let mut lines = OsString::new();
    for (index, (weight, path)) in inputs.iter().enumerate() {
        // The tool refuses a weight of 0, which can only mean one thing.
        if *weight == 0 {
            continue;
        }
        lines.push(format!("{weight},"));
        if fits_in_a_line(path) {
            lines.push(path);
        } else {
            let link = links.join(format!("{index}.profraw"));
            fs::create_dir(links)?;
            link_to(path, &link)?;
            lines.push(link);
        }
        lines.push("\n");
    }
    fs::write_atomic(list, lines.as_encoded_bytes())
}

fn fits_in_a_line(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let ends = [bytes.first(), bytes.last()];
    !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r'))
        && !ends.into_iter().flatten().any(u8::is_ascii_whitespace)
}

#[cfg(unix)]
fn link_to(path: &Path, link: &Path) -> Result<(), FsError> {
    let fail = |error| FsError::new("link", path, error);
    let target = std::path::absolute(path).map_err(fail)?;
    if link.symlink_metadata().is_ok() {
        std::fs::remove_file(link).map_err(fail)?;
    }
    std::os::unix::fs::symlink(target, link).map_err(fail)
}

#[cfg(not(unix))]
fn link_to(path: &Path, link: &Path) -> Result<(), FsError> {
    std::fs::copy(path, link)
        .map(drop)
        .map_err(|error| FsError::new("copy", path, error))
}

/// The inputs that llvm-profdata complained about, each once, with the first thing it said.
///
/// A line is `warning: PATH: MESSAGE` or `error: …`. Both parts may hold `: `, so the inputs
/// tell where the path ends.
pub fn complaints<P: AsRef<Path>>(stderr: &str, inputs: &[P]) -> Vec<(PathBuf, String)> {
    let mut bad: Vec<(PathBuf, String)> = Vec::new();
    for line in stderr.lines() {
        let Some(text) = ["warning: ", "error: "]
            .into_iter()
            .find_map(|word| Some(line.split_once(word)?.1))
        else {
            continue;
        };
        // The longest, as one path may be another's beginning.
        let known = inputs
            .iter()
            .map(AsRef::as_ref)
            .filter_map(|path| {
                let message = text
                    .strip_prefix(&*path.to_string_lossy())?
                    .strip_prefix(": ")?;
                Some((path, message))
            })
            .max_by_key(|(path, _)| path.as_os_str().len());
        let (path, message) = match known {
            Some((path, message)) => (path, message),
            None => match text.split_once(": ") {
                Some((path, message)) => (Path::new(path), message),
                None => continue,
            },
        };
        if !bad.iter().any(|(known, _)| known == path) {
            bad.push((path.to_owned(), message.to_owned()));
        }
    }
    bad
}

/// What `llvm-profdata show` says of a whole profile.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    /// Whether the counters are IR-level ones, as those of rustc are.
    pub ir: bool,
    /// The number of functions.
    pub functions: u64,
    /// The highest count of a function's entry.
    pub max_function_count: u64,
    /// The sum of all counts; older versions don't say.
    pub total_count: Option<u64>,
}

/// Reads the output of [`Profdata::show_summary`]; `None` if it is something else.
pub fn parse_summary(stdout: &str) -> Option<Summary> {
    let field = |name: &str| {
        stdout
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    let number = |name: &str| field(name)?.trim().parse().ok();
    Some(Summary {
        ir: field("Instrumentation level")?.starts_with("IR"),
        functions: number("Total functions")?,
        max_function_count: number("Maximum function count")?,
        total_count: number("Total count"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_distributions_and_of_rustup_are_read() {
        let debian = "Debian LLVM version 14.0.6\n  Optimized build.\n";
        let rustup = "LLVM (http://llvm.org/):\n  LLVM version 22.1.2-rust-1.95.0-stable\n";
        assert_eq!(parse_version(debian).unwrap().1, Some(14));
        let (line, major) = parse_version(rustup).unwrap();
        assert_eq!(line, "LLVM version 22.1.2-rust-1.95.0-stable");
        assert_eq!(major, Some(22));
        assert_eq!(parse_version("llvm-profdata: Unknown command!\n"), None);
    }

    #[test]
    fn the_summary_is_read() {
        let text = "Instrumentation level: IR  entry_first = 0\nTotal functions: 7\n\
                    Maximum function count: 100\nMaximum internal block count: 1\n\
                    Total number of blocks: 8\nTotal count: 105\n";
        let summary = parse_summary(text).unwrap();
        assert_eq!(
            (
                summary.ir,
                summary.functions,
                summary.max_function_count,
                summary.total_count
            ),
            (true, 7, 100, Some(105))
        );
        assert!(
            !parse_summary(&text.replace("IR  ", "Front-end"))
                .unwrap()
                .ir
        );
        assert_eq!(parse_summary(""), None);
    }

    #[test]
    fn complaints_name_files_even_with_colons_in_them() {
        let stderr = "warning: /t/a: b.profraw: truncated profile data\n\
                      warning: /t/c.profraw: raw profile version mismatch: Profile uses raw profile \
                      format version = 9; expected version = 10\n\
                      PLEASE update this tool to version in the raw profile\n\
                      error: /t/c.profraw: again\n\
                      error: unknown.profraw: no such file\n\
                      error: no profile can be merged\n";
        let inputs = ["/t/a", "/t/a: b.profraw", "/t/c.profraw"];
        let bad = complaints(stderr, &inputs);
        assert_eq!(
            bad,
            [
                (
                    PathBuf::from("/t/a: b.profraw"),
                    "truncated profile data".to_owned()
                ),
                (
                    PathBuf::from("/t/c.profraw"),
                    "raw profile version mismatch: Profile uses raw profile format version = 9; \
                     expected version = 10"
                        .to_owned()
                ),
                (PathBuf::from("unknown.profraw"), "no such file".to_owned()),
            ]
        );
    }

    #[test]
    fn a_call_is_what_one_would_type() {
        let profdata = Profdata {
            program: "llvm-profdata-22".into(),
            version_line: String::new(),
            llvm_major: Some(22),
        };
        assert_eq!(
            profdata
                .merge_to_text(Path::new("l"), FailureMode::All, Path::new("o"))
                .to_string(),
            "llvm-profdata-22 merge --input-files l --output o '--failure-mode=all' --text"
        );
    }

    #[test]
    fn refusals_say_what_was_tried_and_what_to_install() {
        let error = Error::NoneFits {
            consumer: "rustc 1.95.0 (LLVM 22.1.2)".into(),
            refused: vec![
                Refusal {
                    program: "/usr/bin/llvm-profdata".into(),
                    llvm_major: Some(14),
                    reason: "unsupported instrumentation profile format version".into(),
                },
                Refusal {
                    program: "llvm-profdata-22".into(),
                    llvm_major: None,
                    reason: "is not there".into(),
                },
            ],
            llvm_major: 22,
            for_rustc: true,
        };
        assert_eq!(
            error.to_string(),
            "no `llvm-profdata` can read what a program of rustc 1.95.0 (LLVM 22.1.2) writes\n  \
             `/usr/bin/llvm-profdata` is LLVM 14: unsupported instrumentation profile format version\n  \
             `llvm-profdata-22`: is not there"
        );
        assert_eq!(
            error.hint().unwrap(),
            "`rustup component add llvm-tools`, or install the Debian package `llvm-22`"
        );
    }

    #[test]
    fn lists_hold_any_path() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("list");
        let links = dir.path().join("links");
        let inputs = [
            (1, PathBuf::from("/t/a b,c.profraw")),
            (3, PathBuf::from("/t/end ")),
            (0, PathBuf::from("/t/unwanted")),
        ];
        write_list(&list, &links, &inputs).unwrap();
        let text = std::fs::read_to_string(&list).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "1,/t/a b,c.profraw");
        assert_eq!(lines[1], format!("3,{}/1.profraw", links.display()));
        assert_eq!(lines.len(), 2);
    }
}
