//! What a recording holds, summed up: as small as the number of distinct addresses, however long
//! perf ran.

use std::collections::HashMap;

/// Stands for any address outside of the image at hand, at either end of a branch.
pub const OUTSIDE: u64 = u64::MAX;

/// A whole recording.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// Executables and shared objects with samples, those with most samples first.
    pub images: Vec<ImageSamples>,
    /// What was sampled.
    pub event: Event,
    /// Samples read, those of no image included.
    pub samples: u64,
    /// Samples in the kernel or the hypervisor.
    pub kernel_samples: u64,
    /// Samples at addresses that no mapping covers (code made at run time, lost mappings).
    pub unmapped_samples: u64,
    /// Samples of other events than `event`, which are not looked at.
    pub other_events: u64,
    /// Samples that perf says it had to drop (`PERF_RECORD_LOST`, `LOST_SAMPLES`).
    pub lost_samples: u64,
    /// Where reading stopped if the recording was cut short, in bytes from its start. What came
    /// before is in here.
    pub cut_short_at: Option<u64>,
}

impl Recording {
    /// All but the samples themselves, to be shown when those are converted.
    pub fn without_images(&self) -> Recording {
        Recording {
            images: Vec::new(),
            event: self.event.clone(),
            ..*self
        }
    }
}

/// What the recording counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// perf's name of it, such as `cycles:u` or `cpu-clock`; empty if the recording doesn't say.
    pub name: String,
    /// Whether samples carry branch stacks.
    pub branch_stacks: bool,
}

/// The samples of one file that was mapped to run.
///
/// Addresses are **offsets into the file**: they are the same in each process, wherever the
/// kernel mapped it.
#[derive(Debug, Clone, Default)]
pub struct ImageSamples {
    /// The file's path as the kernel gave it, on the machine and in the mount namespace that were
    /// recorded.
    pub path: Vec<u8>,
    /// Its GNU build id, where the recording has one.
    pub build_id: Option<Vec<u8>>,
    /// Samples by address.
    pub addresses: HashMap<u64, u64>,
    /// Taken branches `(from, to)`, from branch stacks. One end may be [`OUTSIDE`].
    pub branches: HashMap<(u64, u64), u64>,
    /// Straight runs of code `(first, last)` between two taken branches: both are addresses of
    /// instructions that were executed.
    pub ranges: HashMap<(u64, u64), u64>,
    /// Samples in this image: the sum of `addresses`.
    pub samples: u64,
}
