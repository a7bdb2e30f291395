//! Workloads that fail while others train: a night of load is not lost for one scenario of it.

use crate::error::{Diagnose, Error, ExitCode, Result};
use crate::stage::workload::OfOneWorkload;
use crate::store::campaign::FailedEntry;
use crate::ui::{Ui, plural};

/// The profile is there, and does not hold all.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.words())]
struct Partial {
    failed: Vec<FailedEntry>,
    all: usize,
}

impl Partial {
    /// With the reasons again: what was said when it happened may be hours above.
    fn words(&self) -> String {
        let failed = self.failed.iter();
        let names: Vec<String> = failed.map(|entry| format!("`{}`", entry.name)).collect();
        let mut words = format!(
            "{} of {} failed: {}; the profile is of the others",
            self.failed.len(),
            plural(self.all, "workload"),
            names.join(", ")
        );
        for entry in &self.failed {
            let reason = entry.words.lines().next().unwrap_or_default();
            words.push_str(&format!("\n  {reason}"));
        }
        words
    }
}

impl Diagnose for Partial {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Training
    }

    fn hint(&self) -> Option<String> {
        Some(
            "`cargo fdo build` uses it as it is; what the programs wrote is above, and \
             `cargo fdo status` says again what failed"
                .into(),
        )
    }
}

/// There is no profile.
#[derive(Debug, thiserror::Error)]
#[error("all {all} workloads failed; there is no new profile")]
struct NoneLeft {
    all: usize,
    last: Error,
}

impl Diagnose for NoneLeft {
    fn exit_code(&self) -> ExitCode {
        self.last.exit_code()
    }

    fn hint(&self) -> Option<String> {
        self.last.hint()
    }
}

/// What failed so far, of so many.
pub(super) struct Failures {
    all: usize,
    entries: Vec<FailedEntry>,
    last: Option<Error>,
}

impl Failures {
    pub(super) fn of(all: usize) -> Failures {
        Failures {
            all,
            entries: Vec::new(),
            last: None,
        }
    }

    /// Notes that a workload failed.
    ///
    /// # Errors
    ///
    /// Where no other can go on after it.
    pub(super) fn take(
        &mut self,
        workload: &str,
        error: impl OfOneWorkload,
        ui: &Ui,
    ) -> Result<()> {
        let is_of_one_workload = error.is_of_one_workload();
        let error = Error::from(error);
        if !is_of_one_workload {
            return Err(error);
        }
        let mut words = error.to_string();
        for cause in error.causes() {
            words.push_str(&format!(": {cause}"));
        }
        if self.all > 1 {
            ui.warn(&words);
        }
        self.entries.push(FailedEntry {
            name: workload.to_owned(),
            words,
        });
        self.last = Some(error);
        Ok(())
    }

    /// To be asked when all have run.
    ///
    /// # Errors
    ///
    /// If all failed; of one, its failure.
    pub(super) fn check(&mut self) -> Result<()> {
        match self.last.take() {
            Some(last) if self.all == 1 => Err(last),
            Some(last) if self.entries.len() == self.all => Err(NoneLeft {
                all: self.all,
                last,
            }
            .into()),
            _ => Ok(()),
        }
    }

    /// What failed, for the manifest.
    pub(super) fn entries(&self) -> Vec<FailedEntry> {
        self.entries.clone()
    }

    /// To be asked when the profile is published.
    ///
    /// # Errors
    ///
    /// If any failed: scripts are to notice.
    pub(super) fn verdict(self) -> Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        Err(Partial {
            failed: self.entries,
            all: self.all,
        }
        .into())
    }
}
