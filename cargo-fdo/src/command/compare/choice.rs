//! What the user wants to be compared with what.

use super::error::VariantError;
use crate::cli::compare::CompareArgs;
use crate::command::{RUST_ONLY, Session};
use crate::comparison::facts::Role;
use crate::error::Result;
use crate::store::campaign::{self, Campaign};
use crate::store::results;
use crate::toolbox::Origin;
use std::path::PathBuf;

/// What the user wants to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// What plain cargo builds.
    Release,
    /// All that the optimised build has, but the profile.
    Control,
    /// The profile for Rust alone.
    RustOnly,
    /// The profile for all.
    Optimized,
    /// A program, or a directory of programs; and as it was typed.
    Path(PathBuf, String),
    /// A saved result, and which of its variants.
    Saved(String, Option<String>),
}

impl Choice {
    /// The baseline, then what is held against it.
    pub(super) fn all(args: &CompareArgs, session: &Session) -> Result<Vec<Choice>> {
        let mut all = vec![Choice::parse(&args.baseline, session)?];
        for word in &args.against {
            all.push(Choice::parse(word, session)?);
        }
        if args.against.is_empty() && args.sweep.is_none() {
            if needs_control(session)? && all[0] == Choice::Release {
                all.push(Choice::Control);
            }
            all.push(Choice::Optimized);
        }
        for (at, choice) in all.iter().enumerate() {
            if all[..at].contains(choice) {
                let name = choice.name();
                return Err(VariantError::Twice { name }.into());
            }
        }
        if all.iter().all(|choice| matches!(choice, Choice::Saved(..))) {
            return Err(VariantError::NothingToMeasure.into());
        }
        Ok(all)
    }

    /// Whether a result can have this name, and still be meant by it.
    pub(super) fn check_free(name: &str) -> Result<()> {
        let taken = ["release", "control", RUST_ONLY, "optimized", "optimised"];
        match taken.contains(&name) || [results::LAST, results::LAST_SWEEP].contains(&name) {
            true => Err(VariantError::Reserved(name.to_owned()).into()),
            false => Ok(()),
        }
    }

    fn parse(word: &str, session: &Session) -> Result<Choice> {
        Ok(match word {
            "release" => Choice::Release,
            "control" => Choice::Control,
            RUST_ONLY if !session.builds_cargo => return Err(VariantError::NoRust.into()),
            RUST_ONLY => Choice::RustOnly,
            "optimized" | "optimised" => Choice::Optimized,
            typed if typed.contains('/') => {
                let path = crate::workspace::here().join(typed);
                if !path.exists() {
                    return Err(VariantError::NoProgram(path).into());
                }
                Choice::Path(path, typed.to_owned())
            }
            _ => {
                let (name, variant) = match word.split_once(':') {
                    Some((name, variant)) => (name, Some(variant.to_owned())),
                    None => (word, None),
                };
                if !results::is_saved(&session.layout, name) {
                    return Err(VariantError::Unknown(word.to_owned()).into());
                }
                Choice::Saved(name.to_owned(), variant)
            }
        })
    }

    /// What it is at this place of the list.
    pub(super) fn role(&self, at: usize) -> Role {
        match (at, self) {
            (0, _) => Role::Baseline,
            (_, Choice::Control) => Role::Control,
            _ => Role::Candidate,
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Choice::Release => "release".into(),
            Choice::Control => "control".into(),
            Choice::RustOnly => RUST_ONLY.into(),
            Choice::Optimized => "optimized".into(),
            Choice::Path(_, typed) => typed.clone(),
            Choice::Saved(name, None) => name.clone(),
            Choice::Saved(name, Some(variant)) => format!("{name}:{variant}"),
        }
    }
}

/// Whether the optimised build has more than the profile that could change its speed: another C
/// compiler.
fn needs_control(session: &Session) -> Result<bool> {
    let campaign = Campaign::current(&session.layout, &session.cargo.target)?;
    let has_c = campaign.manifest.slices.contains_key(campaign::C);
    if !has_c {
        return Ok(false);
    }
    let toolbox = session.toolbox(campaign.manifest.method)?;
    Ok(matches!(toolbox.c.origin, Origin::Auto { .. }))
}
