//! What is done with what records say.
//!
//! A recording is decoded in one place and put to two uses: counted by address for profiles
//! ([`sums`](super::sums)), and kept as whole stacks (`profile/stacks`).

use super::attr::{Call, Layout, Stack};
use super::features::BuildIds;
use crate::profile::sample::processes::Change;
use crate::profile::sample::recording::Event;

/// Takes what records say, in the order in which they were recorded.
///
/// That is not the order of time: see [`window`](super::window).
pub(in crate::profile) trait Sink {
    /// A sample of the event that is read.
    ///
    /// # Errors
    ///
    /// What can't be true of it.
    fn sample(&mut self, sample: &Sample<'_>) -> Result<(), &'static str>;

    /// A sample of another event.
    fn other_event(&mut self);

    /// A process mapped memory that can run.
    fn map(&mut self, at: Moment, pid: u32, map: &Map<'_>);

    /// The kernel's own code, or a module's, is at these addresses.
    fn kernel_map(&mut self, map: &Map<'_>) {
        let _ = map;
    }

    /// Something else happened to a process; never [`Change::Map`].
    fn change(&mut self, at: Moment, pid: u32, change: Change);

    /// A thread has a name.
    fn name(&mut self, at: Moment, tid: u32, name: &[u8]) {
        let _ = (at, tid, name);
    }

    /// A thread began, with the name of another.
    fn thread(&mut self, at: Moment, tid: u32, parent: u32) {
        let _ = (at, tid, parent);
    }

    /// perf had to drop so many samples.
    fn lost(&mut self, samples: u64);

    /// perf has emptied each of its buffers once more.
    fn end_pass(&mut self);

    /// The newest time of anything so far.
    fn newest(&self) -> u64;
}

/// When something happened, in the time of the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::profile) struct Moment(pub(in crate::profile) u64);

impl Moment {
    /// Whether perf made the record up for what was there before it began.
    pub(in crate::profile) fn is_before_all(self) -> bool {
        self.0 == 0
    }
}

/// In whose code a sample was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::profile) enum Mode {
    /// A program's.
    User,
    /// The kernel's or the hypervisor's.
    Kernel,
    /// That of a program in a virtual machine.
    Guest,
}

/// A sample, not yet decoded beyond what each has.
pub(in crate::profile) struct Sample<'a> {
    pub(in crate::profile) ip: u64,
    pub(in crate::profile) pid: u32,
    pub(in crate::profile) tid: u32,
    pub(in crate::profile) time: u64,
    pub(in crate::profile) mode: Mode,
    pub(super) layout: &'a Layout,
    pub(super) body: &'a [u8],
}

impl<'a> Sample<'a> {
    /// The branch stack, newest first, empty if it has none; `None` if a length can't be true.
    pub(super) fn branches(&self) -> Option<Stack<'a>> {
        self.layout.stack(self.body)
    }

    /// What it says of its callers; `None` if a length can't be true.
    pub(in crate::profile) fn call(&self) -> Option<Call<'a>> {
        self.layout.call(self.body)
    }
}

/// A stretch of memory that holds a part of a file.
#[derive(Debug, Clone, Copy)]
pub(in crate::profile) struct Map<'a> {
    pub(in crate::profile) start: u64,
    pub(in crate::profile) len: u64,
    pub(in crate::profile) offset: u64,
    pub(in crate::profile) path: &'a [u8],
    pub(in crate::profile) build_id: Option<&'a [u8]>,
}

/// A recording that was read, and what its sink made of it.
pub(in crate::profile) struct Done<S> {
    pub(in crate::profile) sink: S,
    /// What was sampled.
    pub(in crate::profile) event: Event,
    /// Whether its samples say who called.
    pub(in crate::profile) calls: bool,
    pub(in crate::profile) build_ids: BuildIds,
    /// Where reading stopped if the recording was cut short, in bytes from its start.
    pub(in crate::profile) cut_short_at: Option<u64>,
}
