//! How good a profile is: how much of the samples it holds, of how much code, and if it holds
//! little, why.

use super::dwarf::{Findings, Sections};
use super::image::Image;
use super::recording::ImageSamples;

/// What a profile was made of. Weights are samples; with branch stacks, bytes executed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Quality {
    /// Samples in positions of the profile.
    pub mapped: u64,
    /// Samples in functions whose lines or declaration lines are not known.
    pub without_lines: u64,
    /// Samples in code of the other compiler.
    pub foreign: u64,
    /// Samples in this image.
    pub samples: u64,
    /// Functions in the profile.
    pub functions: u64,
}

impl Quality {
    pub(super) fn of(
        samples: &ImageSamples,
        image: &Image<'_>,
        sections: &Sections<'_>,
    ) -> Quality {
        let _ = (image.has_symbols(), sections.is_empty(), image.symbol(0));
        Quality {
            samples: samples.samples,
            ..Quality::default()
        }
    }

    pub(super) fn foreign(&mut self, weight: u64) {
        self.foreign = self.foreign.saturating_add(weight);
    }

    pub(super) fn without_lines(&mut self, weight: u64) {
        self.without_lines = self.without_lines.saturating_add(weight);
    }

    pub(super) fn mapped(&mut self, weight: u64) {
        self.mapped = self.mapped.saturating_add(weight);
    }

    pub(super) fn function(&mut self, _total: u64, _bytes: u64) {
        self.functions += 1;
    }

    pub(super) fn finish(&mut self, _findings: Findings) {}
}
