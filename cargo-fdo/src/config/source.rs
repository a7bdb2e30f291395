//! The files that may hold the configuration, and the table in them that is ours.

use super::problem::{ConfigError, Problem, Problems};
use super::section::Section;
use super::{Config, FILE, schema};
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The tables of a `Cargo.toml` whose `metadata.fdo` is read.
const METADATA_OF: [&str; 2] = ["workspace", "package"];

/// The configuration in the texts of `fdo.toml` and `Cargo.toml`.
pub(super) fn config(
    root: &Path,
    own: Option<&str>,
    manifest: Option<&str>,
) -> Result<Config, ConfigError> {
    let mut found: Vec<(String, Config)> = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();

    if let Some(text) = own {
        let file = root.join(FILE);
        let shown = shown(&file);
        let mut here = Problems::new(&shown, text);
        if let Some(table) = parse(text, &mut here) {
            let section = Section::new(String::new(), 0..0, table.get_ref());
            let config = schema::config(section, root, &mut here);
            found.push((
                format!("`{FILE}`"),
                Config {
                    file: Some(file),
                    ..config
                },
            ));
        }
        problems.extend(here.into_sorted());
    }

    if let Some(text) = manifest {
        let file = root.join("Cargo.toml");
        let shown = shown(&file);
        let mut here = Problems::new(&shown, text);
        let table = parse(text, &mut here);
        for owner in METADATA_OF {
            let Some(section) = table
                .as_ref()
                .and_then(|table| metadata(table.get_ref(), owner, &mut here))
            else {
                continue;
            };
            let label = section.label();
            if let Some((other, _)) = found.first() {
                section.wrong(
                    &mut here,
                    &format!("configures what {other} configures already; keep one of them"),
                );
            }
            let config = schema::config(section, root, &mut here);
            let file = Some(file.clone());
            found.push((label, Config { file, ..config }));
        }
        problems.extend(here.into_sorted());
    }

    match ConfigError::of(problems) {
        Some(error) => Err(error),
        None => Ok(found
            .pop()
            .map_or_else(Config::default, |(_, config)| config)),
    }
}

/// The tree of a file, or its first syntax error.
///
/// The parser could go on, but after an array that is not closed each further line is an error
/// to it, and the tree is guesswork: what it says then hides the one thing to correct.
fn parse<'t>(text: &'t str, problems: &mut Problems<'_>) -> Option<Spanned<DeTable<'t>>> {
    // Not `DeTable::parse`: its error is the one noticed first, which may be a later one.
    let (table, errors) = DeTable::parse_recoverable(text);
    let span = |error: &toml::de::Error| error.span().unwrap_or(0..0);
    match errors.iter().min_by_key(|error| span(error).start) {
        None => Some(table),
        Some(first) => {
            problems.add(span(first), first.message());
            None
        }
    }
}

/// `[OWNER.metadata.fdo]`. What cargo itself would refuse is left to cargo.
fn metadata<'t>(
    manifest: &'t DeTable<'t>,
    owner: &str,
    problems: &mut Problems<'_>,
) -> Option<Section<'t>> {
    let metadata = manifest.get(owner)?.get_ref().get("metadata")?;
    let (key, value) = metadata.get_ref().as_table()?.get_key_value("fdo")?;
    let name = format!("{owner}.metadata.fdo");
    match value.get_ref() {
        DeValue::Table(table) => Some(Section::new(name, key.span(), table)),
        other => {
            problems.add(
                value.span(),
                format!(
                    "[{name}] must be a table, not a value of type {}",
                    other.type_str()
                ),
            );
            None
        }
    }
}

/// The file relative to the current directory where it lies below it, so that a terminal makes
/// a link of it.
fn shown(file: &Path) -> PathBuf {
    std::env::current_dir()
        .ok()
        .and_then(|here| file.strip_prefix(here).ok().map(Path::to_owned))
        .unwrap_or_else(|| file.to_owned())
}
