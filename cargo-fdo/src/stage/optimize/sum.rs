//! Whether a profile for compilers is still the one that we made. Compilers only warn about a damaged
//! profile, and build without it.

use crate::fs::{self, FsError};
use crate::profile::digest;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Hash of such a profile, in a file beside it.
///
/// Its first line is the SHA-256, its second one the [`stamp`] under which the profile was last
/// seen to have it: reading megabytes takes longer than anything else in a build without changes.
pub(in crate::stage) struct Sum(PathBuf);

/// What is there.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::stage) enum Found {
    /// The profile that we made.
    Whole,
    /// Something else.
    Damaged,
    /// No profile, or none of known content.
    Nothing,
}

impl Sum {
    pub(in crate::stage) fn beside(file: &Path) -> Sum {
        Sum(file.with_extension("sha256"))
    }

    pub(in crate::stage) fn check(&self, file: &Path) -> Result<Found, FsError> {
        let Ok(data) = file.metadata() else {
            return Ok(Found::Nothing);
        };
        let known = match fs::read_if_there(&self.0) {
            Ok(Some(known)) => known,
            Ok(None) => return Ok(Found::Nothing),
            Err(_) => return Ok(Found::Damaged),
        };
        let mut lines = known.lines();
        let sum = lines.next().unwrap_or_default();
        if lines.next() == Some(&stamp(&data)) {
            return Ok(Found::Whole);
        }
        let content = std::fs::read(file).map_err(|error| FsError::new("read", file, error))?;
        if sum != digest::whole(&content) {
            return Ok(Found::Damaged);
        }
        if settled(&data) {
            // That it can't be kept costs time, nothing else.
            let _ = fs::write_quick(&self.0, format!("{sum}\n{}\n", stamp(&data)).as_bytes());
        }
        Ok(Found::Whole)
    }

    pub(in crate::stage) fn write(&self, content: &[u8]) -> Result<(), FsError> {
        fs::write_atomic(&self.0, format!("{}\n", digest::whole(content)).as_bytes())
    }
}

/// Size, inode and the time of the last change of either: the kernel keeps that time, and no
/// program can set it back.
fn stamp(data: &Metadata) -> String {
    format!(
        "{} {} {}.{:09}",
        data.size(),
        data.ino(),
        data.ctime(),
        data.ctime_nsec()
    )
}

/// Whether a change from now on shows in the stamp. Clocks of file systems tick slowly, some
/// once in two seconds.
fn settled(data: &Metadata) -> bool {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .is_ok_and(|now| now.as_secs() as i64 > data.ctime() + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.profdata");
        let sum = Sum::beside(&file);
        assert_eq!(sum.check(&file).unwrap(), Found::Nothing);
        std::fs::write(&file, "content").unwrap();
        assert_eq!(sum.check(&file).unwrap(), Found::Nothing);
        sum.write(b"content").unwrap();
        assert_eq!(sum.check(&file).unwrap(), Found::Whole);
        std::fs::write(&file, "contend").unwrap();
        assert_eq!(sum.check(&file).unwrap(), Found::Damaged);
    }

    #[test]
    fn a_stamp_stands_for_the_content_that_it_was_taken_of() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.profdata");
        let sum = Sum::beside(&file);
        std::fs::write(&file, "content").unwrap();
        // A wrong sum under the right stamp: whoever says "whole" has not read the content.
        let known = |stamp: &str| {
            std::fs::write(&sum.0, format!("{}\n{stamp}\n", digest::whole(b"other"))).unwrap();
        };
        known(&stamp(&file.metadata().unwrap()));
        assert_eq!(sum.check(&file).unwrap(), Found::Whole);
        known("7 1 1.000000000");
        assert_eq!(sum.check(&file).unwrap(), Found::Damaged);

        // Written over with its time put back.
        let before = file.metadata().unwrap();
        known(&stamp(&before));
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&file, "contenT").unwrap();
        let writable = std::fs::File::options().write(true).open(&file).unwrap();
        writable.set_modified(before.modified().unwrap()).unwrap();
        assert_eq!(sum.check(&file).unwrap(), Found::Damaged);
    }
}
