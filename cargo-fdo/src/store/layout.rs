//! Paths below `target/fdo/`.

use crate::fs::{self, FsError};
use fdo_build::protocol::Phase;
use std::path::{Path, PathBuf};

/// The version of everything below it; another one starts afresh beside it.
const VERSION: &str = "v1";

/// Marks the directory as not worth a backup (<https://bford.info/cachedir/>).
const CACHEDIR_TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # This file is a cache directory tag created by cargo-fdo.\n\
    # For information about cache directory tags see https://bford.info/cachedir/\n";

/// Where things are for one target triple.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
    /// Empty for the host, `-TRIPLE` for another target.
    suffix: String,
    /// Empty for the user's builds, `-NAME` for another build of a phase that must not disturb them.
    variant: String,
}

impl Layout {
    /// `target_dir`: the user's. `other_target`: the triple if it is not the host's.
    pub fn new(target_dir: &Path, other_target: Option<&str>) -> Layout {
        Layout {
            root: target_dir.join("fdo"),
            suffix: other_target.map_or_else(String::new, |triple| format!("-{triple}")),
            variant: String::new(),
        }
    }

    /// The same store with builds of their own.
    pub fn variant(&self, name: &str) -> Layout {
        Layout {
            variant: format!("-{name}"),
            ..self.clone()
        }
    }

    /// Makes the root with its tag.
    ///
    /// # Errors
    ///
    /// If the directory can't be written.
    pub fn create(&self) -> Result<(), FsError> {
        fs::create_dir(&self.versioned())?;
        fs::write_if_changed(&self.root.join("CACHEDIR.TAG"), CACHEDIR_TAG)?;
        Ok(())
    }

    /// `target/fdo`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn versioned(&self) -> PathBuf {
        self.root.join(VERSION)
    }

    /// Cargo's target directory of a phase.
    pub fn phase_dir(&self, phase: Phase) -> PathBuf {
        self.root
            .join(format!("{phase}{}{}", self.variant, self.suffix))
    }

    /// What is built as its user would, for a comparison, and has no place of its own.
    pub fn release(&self) -> PathBuf {
        self.root.join(format!("release{}", self.suffix))
    }

    /// Orders, keys and evidence of a phase.
    pub fn state(&self, phase: Phase) -> PathBuf {
        self.versioned()
            .join(format!("{phase}{}{}", self.variant, self.suffix))
    }

    /// Where programs that the build itself runs leave raw profiles that nobody wants.
    pub fn stray(&self, phase: Phase) -> PathBuf {
        self.state(phase).join("stray")
    }

    /// The lock of two runs.
    pub fn lock(&self) -> PathBuf {
        self.versioned().join("lock")
    }

    /// Names the campaign that `build` uses.
    pub fn current(&self) -> PathBuf {
        self.versioned().join(format!("current{}", self.suffix))
    }

    /// All campaigns.
    pub fn campaigns(&self) -> PathBuf {
        self.versioned().join("campaigns")
    }

    /// One campaign.
    pub fn campaign(&self, id: &str) -> PathBuf {
        self.campaigns().join(id)
    }

    /// What compilers read.
    pub fn slices(&self) -> PathBuf {
        self.versioned().join("slices")
    }

    /// Raw profiles of the training that runs now.
    pub fn raw(&self) -> PathBuf {
        self.versioned().join(format!("raw{}", self.suffix))
    }

    /// Raw profiles of programs started by hand, without `LLVM_PROFILE_FILE`.
    pub fn raw_by_hand(&self) -> PathBuf {
        self.versioned().join(format!("by-hand{}", self.suffix))
    }

    /// Logs of services, of the last run of each workload.
    pub fn logs(&self) -> PathBuf {
        self.versioned().join(format!("logs{}", self.suffix))
    }

    /// What was measured and saved.
    pub fn results(&self) -> PathBuf {
        self.versioned().join(format!("results{}", self.suffix))
    }

    /// The report, where the user names no other place.
    pub fn report(&self) -> PathBuf {
        self.root.join(format!("report{}.html", self.suffix))
    }

    /// Scratch files, and `{tmp}` of workloads.
    pub fn tmp(&self) -> PathBuf {
        self.versioned().join("tmp")
    }

    /// What was built by hand, and where.
    pub fn trees(&self) -> PathBuf {
        self.versioned().join("trees.json")
    }

    /// What was found out about perf.
    pub fn perf(&self) -> PathBuf {
        self.versioned().join("perf.json")
    }

    /// What was found out about the tools for a method.
    pub fn toolbox(&self, method: &str) -> PathBuf {
        self.versioned().join(format!(
            "toolbox-{method}{}{}.json",
            self.variant, self.suffix
        ))
    }

    /// The object that saves counters on a signal, made by a given rustc of a given source.
    pub fn signal_object(&self, rustc: &str) -> PathBuf {
        self.versioned()
            .join(format!("signals-{rustc}{}.o", self.suffix))
    }
}
