//! Files in which a compiler says which samples it applied.

use crate::profile::evidence::Evidence;
use crate::profile::sample::applied;
use fdo_build::protocol::Family;
use std::path::Path;

/// Reads what a compiler wrote for [`fdo_build::flags::sample::proof`]. What is not there, or can't
/// be read, proves nothing.
pub fn read(family: Family, place: &Path) -> Evidence {
    let mut evidence = Evidence::default();
    match family {
        Family::Clang => evidence.samples = applied::remarks(&text(place)),
        Family::Gcc => evidence.peaks = applied::dump(&text(place)),
        Family::Rustc => {
            // Of each unit there is a file of the first run and, with ThinLTO, one of the second:
            // both have all of its functions, so no sums.
            for file in crate::fs::list(place).unwrap_or_default() {
                evidence.merge(Evidence {
                    samples: applied::remarks(&text(&file)),
                    ..Evidence::default()
                });
            }
        }
        Family::Unknown => {}
    }
    evidence
}

fn text(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
