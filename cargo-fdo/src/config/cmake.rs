//! `[cmake.NAME]`: projects that cmake builds.

use super::problem::Problems;
use super::section::Item;
use super::value;
use std::path::PathBuf;

/// One `[cmake.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CmakeProject {
    /// Its name, as a package.
    pub name: String,
    /// The directory of its `CMakeLists.txt`, relative to the root.
    pub source: PathBuf,
    /// For the configure step.
    pub args: Vec<String>,
    /// cmake's `-G`.
    pub generator: Option<String>,
    /// What is built; everything if empty.
    pub targets: Vec<String>,
    /// Names or globs of targets that are compiled as ever.
    pub exclude_targets: Vec<String>,
    /// Names or globs of the only targets that are profiled; all if empty.
    pub profile_targets: Vec<String>,
    /// `CMAKE_BUILD_TYPE`, or the configuration of a generator for several.
    pub build_type: Option<String>,
}

pub(super) fn project(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<CmakeProject> {
    let mut section = item.section(problems)?;
    let name = item.key.clone();
    if let Some(message) = bad_name(&name) {
        problems.add(item.key_span.clone(), message);
    }
    let source = section.read("source", problems, value::directory);
    let args = section.read("args", problems, |item, problems| {
        let args = value::texts(item, problems)?;
        for (element, arg) in &args {
            if let Some((what, key)) = ours(arg) {
                element.wrong(problems, &format!("can't have `{arg}`: {what} {key}"));
            }
        }
        Some(args.into_iter().map(|(_, arg)| arg.to_owned()).collect())
    });
    let generator = section.read("generator", problems, |item, problems| {
        value::text(item, problems, "the name of a generator of cmake's").map(str::to_owned)
    });
    let targets = section.read("targets", problems, names);
    let exclude_targets = section.read("exclude-targets", problems, patterns);
    let profile_targets = section.read("profile-targets", problems, patterns);
    let build_type = section.read("build-type", problems, |item, problems| {
        value::text(item, problems, "a build type such as \"Release\"").map(str::to_owned)
    });
    section.finish(problems);
    Some(CmakeProject {
        name,
        source: source.unwrap_or_else(|| PathBuf::from(".")),
        args: args.unwrap_or_default(),
        generator,
        targets: targets.unwrap_or_default(),
        exclude_targets: exclude_targets.unwrap_or_default(),
        profile_targets: profile_targets.unwrap_or_default(),
        build_type,
    })
}

/// Arguments that say what cargo-fdo has to say itself.
fn ours(arg: &str) -> Option<(&'static str, &'static str)> {
    let variable = arg
        .strip_prefix("-D")
        .and_then(|rest| rest.split(['=', ':']).next());
    match (arg, variable) {
        ("-G", _) => Some(("there is a key for it,", "`generator`")),
        ("-S" | "-B", _) => Some(("cargo-fdo chooses it;", "`source` names the project")),
        (_, Some("CMAKE_C_COMPILER" | "CMAKE_CXX_COMPILER")) => Some((
            "a compiler that cmake is told of passes cargo-fdo by;",
            "CC and CXX in the environment name it, or `c-compiler`",
        )),
        (_, Some("CMAKE_BUILD_TYPE")) => Some(("there is a key for it,", "`build-type`")),
        _ => None,
    }
}

/// A name is part of paths that make reads, and of files of ours.
fn bad_name(name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let is_good = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain);
    (!is_good).then(|| {
        format!(
            "`{}` can't name a project: only letters, digits, `-`, `_`, `+` and `.` can, after a letter or digit",
            name.escape_debug()
        )
    })
}

fn names(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    let texts = value::texts(item, problems)?;
    if texts.is_empty() {
        item.wrong(problems, "is empty; leave the key out for all targets");
    }
    Some(texts.into_iter().map(|(_, name)| name.to_owned()).collect())
}

/// Also of targets with characters that a glob has a meaning for: a name is compared as it is first.
fn patterns(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    value::globs(item, problems)?;
    names(item, problems)
}
