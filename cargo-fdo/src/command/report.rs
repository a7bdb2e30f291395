//! `cargo fdo report`: one HTML file of what was trained and what was measured.

mod evaluation;

use super::Session;
use crate::cli::ReportArgs;
use crate::comparison::{Comparison, Findings};
use crate::error::{Diagnose, ExitCode, Result};
use crate::fs;
use crate::report::UseReport;
use crate::report::page::{Compared, Page, Training, render};
use crate::stage::trained::Trained;
use crate::store::campaign::CampaignError;
use crate::store::{Campaign, results};
use evaluation::Evaluated;
use fdo_build::protocol::Phase;
use std::path::PathBuf;

/// A report has to be about something.
#[derive(Debug, thiserror::Error)]
enum ReportError {
    /// Neither was done.
    #[error("there is nothing to report: no profile was trained, and nothing was compared")]
    Nothing,
    /// A profile of an evaluation, and none of a training.
    #[error("`--evaluate-profile` needs a training to hold it against, and there is none")]
    NoTraining,
    /// One of them has no counts.
    #[error("`{}` has no counts to hold against the training", .0.display())]
    NoCounts(PathBuf),
}

impl Diagnose for ReportError {
    fn exit_code(&self) -> ExitCode {
        match self {
            ReportError::Nothing | ReportError::NoTraining => ExitCode::Training,
            ReportError::NoCounts(_) => ExitCode::Profile,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            ReportError::Nothing => Some(
                "`cargo fdo train` makes a profile, `cargo fdo compare` measures what it gains"
                    .into(),
            ),
            ReportError::NoTraining => Some("`cargo fdo train` makes one".into()),
            ReportError::NoCounts(_) => None,
        }
    }
}

/// Runs it.
///
/// # Errors
///
/// If there is nothing to report, or what there is can't be read.
pub fn run(args: &ReportArgs, toolchain: Option<String>) -> Result<()> {
    let session = Session::of_project(args.project.clone(), toolchain.clone())?;
    let name = args.name.as_deref().unwrap_or(results::LAST);
    let comparison = match &args.name {
        None if !results::is_saved(&session.layout, name) => None,
        _ => Some(results::load(&session.layout, name)?),
    };
    let mut warnings = Vec::new();
    let campaign = campaign(&session, comparison.as_ref(), &mut warnings)?;
    if comparison.is_none() && campaign.is_none() {
        return Err(ReportError::Nothing.into());
    }
    let trained = match &campaign {
        Some(campaign) => Some(Trained::of(campaign, &session.workspace)?),
        None => None,
    };
    let used = campaign
        .as_ref()
        .map(|campaign| last_use(&session, campaign))
        .transpose()?
        .flatten();
    let evaluated = match (&args.evaluate_profile, &trained) {
        (None, _) => None,
        (Some(_), None) => return Err(ReportError::NoTraining.into()),
        (Some(path), Some(trained)) => Some(
            Evaluated::read(path, args, &session, toolchain.as_deref(), trained)?
                .ok_or_else(|| ReportError::NoCounts(path.clone()))?,
        ),
    };
    let findings = comparison.as_ref().map(Findings::of);
    let root = session.workspace.root.file_name().unwrap_or_default();
    let page = Page {
        project: &root.to_string_lossy(),
        compared: comparison
            .as_ref()
            .zip(findings.as_ref())
            .map(|(comparison, findings)| Compared {
                name,
                comparison,
                findings,
            }),
        training: campaign
            .as_ref()
            .zip(trained.as_ref())
            .map(|(campaign, trained)| Training {
                manifest: &campaign.manifest,
                trained,
                used: used.as_ref(),
                build_seconds: build_seconds(&session, campaign),
            }),
        evaluation: evaluated.as_ref().map(Evaluated::facts),
        warnings,
        top: args.top,
    };
    let output = put(args, &session, &render(&page))?;
    session.ui.data(output.display());
    Ok(())
}

/// The campaign that was compared, or else the current one.
fn campaign(
    session: &Session,
    comparison: Option<&Comparison>,
    warnings: &mut Vec<String>,
) -> Result<Option<Campaign>> {
    let compared = comparison.and_then(|comparison| comparison.training.as_ref());
    let current = match Campaign::current(&session.layout, &session.cargo.target) {
        Ok(campaign) => Some(campaign),
        Err(CampaignError::None { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let (Some(wanted), Some(found)) = (compared, &current) else {
        return Ok(current);
    };
    if wanted.id == found.manifest.id {
        return Ok(current);
    }
    match Campaign::named(&session.layout, &wanted.id) {
        Ok(campaign) => {
            warnings.push(format!(
                "there is a newer profile, `{}`, than the one that was compared and is described here",
                found.manifest.id
            ));
            Ok(Some(campaign))
        }
        Err(CampaignError::Gone { .. }) => {
            warnings.push(format!(
                "the training that is described is not that of the comparison: its profile `{}` is gone, \
                 this is `{}`",
                wanted.id, found.manifest.id
            ));
            Ok(current)
        }
        Err(error) => Err(error.into()),
    }
}

/// What the last optimised build used of it.
fn last_use(session: &Session, campaign: &Campaign) -> Result<Option<UseReport>> {
    let path = session.layout.state(Phase::Optimize).join("use.json");
    Ok(fs::read_if_there(&path)?
        .and_then(|text| crate::report::last_use(&session.ui, &text))
        .filter(|report: &UseReport| report.campaign == campaign.manifest.id))
}

/// How long the instrumented build took; samples are of a build that is remembered nowhere.
fn build_seconds(session: &Session, campaign: &Campaign) -> Option<f64> {
    if campaign.manifest.sampling.is_some() {
        return None;
    }
    let state = session.layout.state(Phase::Instrument);
    let text = fs::read_if_there(&state.join("build-seconds")).ok()??;
    text.trim().parse().ok()
}

fn put(args: &ReportArgs, session: &Session, text: &str) -> Result<PathBuf> {
    let output = match &args.output {
        Some(output) => {
            fs::check_output(output)?;
            output.clone()
        }
        None => session.layout.report(),
    };
    fs::write_atomic(&output, text.as_bytes())?;
    Ok(output)
}
