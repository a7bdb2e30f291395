//! Saved results in a comparison.

use super::error::VariantError;
use super::scenarios;
use crate::comparison::Comparison;
use crate::error::Result;
use crate::stage::train::Job;

/// Whether a saved result is of this very workload.
pub(super) fn check(name: &str, comparison: &Comparison, job: &Job) -> Result<()> {
    let Some(saved) = comparison.scenarios.iter().find(|s| s.name == job.name) else {
        return Err(VariantError::NotMeasured {
            name: name.to_owned(),
            workload: job.name.clone(),
        }
        .into());
    };
    let (prepare, run) = scenarios::words(job);
    let whole = |prepare: &Option<String>, run: &str| match prepare {
        Some(prepare) => format!("{prepare}; {run}"),
        None => run.to_owned(),
    };
    let (then, now) = (whole(&saved.prepare, &saved.run), whole(&prepare, &run));
    if then != now {
        return Err(VariantError::OtherWorkload {
            name: name.to_owned(),
            workload: job.name.clone(),
            then,
            now,
        }
        .into());
    }
    Ok(())
}
