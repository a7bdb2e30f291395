//! Single values: from what the file says to the type that the rest works with.
//!
//! Each reader reports what is wrong with its value, all of it, and returns `None` then.

use super::nearest::did_you_mean;
use super::problem::Problems;
use super::section::Item;
use super::sizes::bytes;
use super::template::Template;
use super::workload::CommandLine;
use fdo_build::flags::is_profile_flag;
use fdo_build::protocol::Family;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::de::DeValue;

/// `true` or `false`.
pub(super) fn flag(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<bool> {
    if let DeValue::Boolean(value) = item.value {
        return Some(*value);
    }
    item.must_be(problems, "`true` or `false`");
    None
}

/// A whole number from 1 up.
pub(super) fn count(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<u32> {
    let count = match item.value {
        DeValue::Integer(number) => u32::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    };
    match count {
        Some(count) if count > 0 => Some(count),
        _ => {
            item.must_be(problems, &format!("a whole number from 1 to {}", u32::MAX));
            None
        }
    }
}

/// A share from 0 to 1, as a number or in percent.
pub(super) fn share(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    let share = match item.value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        DeValue::Integer(number) => number.as_str().parse().ok(),
        DeValue::String(text) => text
            .strip_suffix('%')
            .and_then(|number| number.trim_end().parse::<f64>().ok())
            .map(|percent| percent / 100.0),
        _ => None,
    };
    match share {
        // A range does not contain NaN either.
        Some(share) if (0.0..=1.0).contains(&share) => Some(share),
        _ => {
            item.must_be(problems, "a share from 0 to 1 or a string such as \"80%\"");
            None
        }
    }
}

/// A length of time that is not zero.
pub(super) fn duration(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Duration> {
    let duration = match item.value {
        DeValue::String(text) => humantime::parse_duration(text).ok(),
        _ => None,
    };
    match duration {
        Some(duration) if !duration.is_zero() => Some(duration),
        _ => {
            item.must_be(problems, "a time such as \"90s\" or \"5min\"");
            None
        }
    }
}

/// A number of bytes that is not zero: `"512M"`, `"4 GiB"`; the letters are powers of 1024, as
/// perf takes them.
pub(super) fn size(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    let size = match item.value {
        DeValue::String(text) => bytes(text),
        _ => None,
    };
    match size {
        Some(size) if size > 0 => Some(size),
        _ => {
            item.must_be(problems, "a size such as \"512M\" or \"4G\"");
            None
        }
    }
}

/// One of a few names.
pub(super) fn choice<T: Copy>(
    item: &Item<'_>,
    problems: &mut Problems<'_>,
    choices: &[(&str, T)],
) -> Option<T> {
    let name = match item.value {
        DeValue::String(text) => text.as_ref(),
        _ => "",
    };
    if let Some((_, value)) = choices.iter().find(|(known, _)| *known == name) {
        return Some(*value);
    }
    let names = choices.iter().map(|(known, _)| *known);
    let listed: Vec<_> = names.clone().map(|known| format!("\"{known}\"")).collect();
    let near = did_you_mean(name, names);
    item.wrong(
        problems,
        &format!(
            "must be {}, not {}{near}",
            listed.join(" or "),
            item.describe()
        ),
    );
    None
}

/// Text that is not empty and can be an argument or a path.
pub(super) fn text<'t>(
    item: &Item<'t>,
    problems: &mut Problems<'_>,
    what: &str,
) -> Option<&'t str> {
    match item.value {
        DeValue::String(text) if !text.is_empty() && !text.contains('\0') => Some(text),
        _ => {
            item.must_be(problems, what);
            None
        }
    }
}

/// A program: a bare name, or a path made absolute with the workspace `root`.
pub(super) fn program(
    item: &Item<'_>,
    problems: &mut Problems<'_>,
    root: &Path,
) -> Option<PathBuf> {
    let name = text(item, problems, "the name or path of a program")?;
    Some(if name.contains('/') {
        root.join(name)
    } else {
        PathBuf::from(name)
    })
}

/// A directory below the workspace root.
///
/// Absolute ones are refused: the file is committed, and another machine has another one.
pub(super) fn directory(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<PathBuf> {
    const WHAT: &str = "a directory relative to the workspace root";
    let dir = text(item, problems, WHAT)?;
    if Path::new(dir).is_absolute() {
        item.must_be(problems, WHAT);
        return None;
    }
    if Template::parse(dir).is_ok_and(|dir| dir.is_literal()) {
        return Some(PathBuf::from(dir));
    }
    item.wrong(problems, "can't have placeholders");
    None
}

/// An array of strings.
pub(super) fn texts<'t>(
    item: &Item<'t>,
    problems: &mut Problems<'_>,
) -> Option<Vec<(Item<'t>, &'t str)>> {
    item.elements(problems, "an array of strings")?
        .into_iter()
        .map(|element| {
            let text = text(&element, problems, "an array of strings that are not empty")?;
            Some((element, text))
        })
        // Through a vector, so that every wrong element is reported.
        .collect::<Vec<_>>()
        .into_iter()
        .collect()
}

/// Compiler flags, none of which sets a profile: that is ours to do.
pub(super) fn compiler_flags(
    item: &Item<'_>,
    problems: &mut Problems<'_>,
    family: Family,
) -> Option<Vec<String>> {
    let flags = texts(item, problems)?;
    for (element, flag) in &flags {
        if is_profile_flag(family, flag) {
            element.wrong(
                problems,
                &format!("can't have `{flag}`: cargo-fdo itself says which profile is used"),
            );
        }
    }
    Some(flags.into_iter().map(|(_, flag)| flag.to_owned()).collect())
}

/// Globs of file names.
pub(super) fn globs(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Vec<glob::Pattern>> {
    let mut globs = Vec::new();
    for (element, text) in texts(item, problems)? {
        match glob::Pattern::new(text) {
            Ok(glob) => globs.push(glob),
            Err(error) => element.wrong(
                problems,
                &format!("has a bad pattern `{text}`: {}", error.msg),
            ),
        }
    }
    Some(globs)
}

/// Text with placeholders and these parameters, possibly empty.
pub(super) fn template(
    item: &Item<'_>,
    problems: &mut Problems<'_>,
    what: &str,
    parameters: &[String],
) -> Option<Template> {
    let DeValue::String(text) = item.value else {
        item.must_be(problems, what);
        return None;
    };
    Template::parse_with(text, parameters)
        .map_err(|message| item.wrong(problems, &format!("has {message}")))
        .ok()
}

/// An argument vector or a string for the shell.
pub(super) fn command_line(
    item: &Item<'_>,
    problems: &mut Problems<'_>,
    parameters: &[String],
) -> Option<CommandLine> {
    const WHAT: &str = "an array of arguments or a string for the shell";
    match item.value {
        DeValue::String(text) if text.trim().is_empty() => {
            item.wrong(problems, "is empty");
            None
        }
        DeValue::String(_) => Some(CommandLine::Shell(template(
            item, problems, WHAT, parameters,
        )?)),
        _ => {
            let elements = item.elements(problems, WHAT)?;
            match elements.first().map(|program| program.value) {
                None => item.wrong(problems, "is empty"),
                Some(DeValue::String(program)) if program.is_empty() => {
                    item.wrong(problems, "starts with an empty program name");
                }
                Some(_) => {}
            }
            let arguments: Vec<_> = elements
                .iter()
                .map(|element| template(element, problems, "an array of strings", parameters))
                .collect();
            Some(CommandLine::Argv(
                arguments.into_iter().collect::<Option<_>>()?,
            ))
        }
    }
}

/// One command, or an array of them: an array that holds an array or a table is one of steps.
pub(super) fn steps(
    item: &Item<'_>,
    problems: &mut Problems<'_>,
    parameters: &[String],
) -> Option<Vec<CommandLine>> {
    let is_step = |value: &DeValue<'_>| matches!(value, DeValue::Array(_) | DeValue::Table(_));
    let DeValue::Array(array) = item.value else {
        return command_line(item, problems, parameters).map(|only| vec![only]);
    };
    if !array.iter().any(|element| is_step(element.get_ref())) {
        return command_line(item, problems, parameters).map(|only| vec![only]);
    }
    let steps: Vec<_> = item
        .elements(problems, "an array of steps")?
        .iter()
        .map(|step| match step.value {
            // For a list of nothing but commands for the shell.
            DeValue::Table(_) => {
                let mut section = step.section(problems)?;
                let run = section.get("run");
                if run.is_none() {
                    section.wrong(problems, "has no `run`");
                }
                let run = run.and_then(|run| command_line(&run, problems, parameters));
                section.finish(problems);
                run
            }
            _ => command_line(step, problems, parameters),
        })
        .collect();
    steps.into_iter().collect()
}
