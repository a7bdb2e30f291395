//! Samples of a recording, summed up by address.

use super::sink::{Done, Map, Mode, Moment, Sample, Sink};
use super::window::Window;
use crate::profile::sample::maps::Mapping;
use crate::profile::sample::processes::{Change, Processes};
use crate::profile::sample::read::Selection;
use crate::profile::sample::recording::Recording;

/// Counts what is selected.
pub(super) struct Sums<'s> {
    selection: &'s Selection<'s>,
    window: Window,
    processes: Processes,
    recording: Recording,
}

impl<'s> Sums<'s> {
    pub(super) fn new(selection: &'s Selection<'s>) -> Sums<'s> {
        Sums {
            selection,
            window: Window::default(),
            processes: Processes::default(),
            recording: Recording::default(),
        }
    }
}

impl Sink for Sums<'_> {
    // There are millions of them, and one caller.
    #[inline]
    fn sample(&mut self, sample: &Sample<'_>) -> Result<(), &'static str> {
        let stack = sample.branches();
        let stack = stack.ok_or("a length in a sample is too large")?;
        if !self.selection.wants_pid(sample.pid) {
            return Ok(());
        }
        self.recording.samples += 1;
        let user = match sample.mode {
            Mode::User => true,
            Mode::Kernel => false,
            Mode::Guest => {
                self.recording.unmapped_samples += 1;
                return Ok(());
            }
        };
        if !user {
            self.recording.kernel_samples += 1;
            if stack.is_empty() {
                return Ok(());
            }
        }
        let ip = user.then_some(sample.ip);
        if ip == Some(0) {
            // A jump to nowhere.
            self.recording.unmapped_samples += 1;
        }
        if self
            .window
            .sample(sample.pid, sample.time, ip, stack.branches())
        {
            self.window.end_pass(&mut self.processes);
        }
        Ok(())
    }

    fn other_event(&mut self) {
        self.recording.other_events += 1;
    }

    fn map(&mut self, at: Moment, pid: u32, map: &Map<'_>) {
        let wanted = |path: &[u8]| self.selection.wants_image(path);
        let images = &mut self.processes.images;
        let image = images.number(map.path, map.build_id, wanted);
        if let Some(mapping) = Mapping::new(map.start, map.len, map.offset, image) {
            self.change(at, pid, Change::Map(mapping));
        }
    }

    fn change(&mut self, at: Moment, pid: u32, change: Change) {
        if at.is_before_all() {
            self.processes.change(pid, 0, change);
        } else if self.window.change(pid, at.0, change) {
            self.window.end_pass(&mut self.processes);
        }
    }

    fn lost(&mut self, samples: u64) {
        let lost = &mut self.recording.lost_samples;
        *lost = lost.saturating_add(samples);
    }

    fn end_pass(&mut self) {
        self.window.end_pass(&mut self.processes);
    }

    fn newest(&self) -> u64 {
        self.window.newest()
    }
}

/// Sums up.
pub(super) fn finish(done: Done<Sums<'_>>) -> Recording {
    let Sums {
        mut window,
        mut processes,
        mut recording,
        ..
    } = done.sink;
    window.finish(&mut processes);
    recording.event = done.event;
    recording.unmapped_samples += processes.unmapped;
    let images = std::mem::take(&mut processes.images);
    recording.images = images.finish(|path| done.build_ids.get(path));
    recording.cut_short_at = done.cut_short_at;
    recording
}
