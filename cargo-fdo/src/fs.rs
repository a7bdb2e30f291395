//! File access that names the path in every error and never leaves half a file.

use crate::error::{Diagnose, ExitCode};
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A failed file operation.
#[derive(Debug, thiserror::Error)]
#[error("can't {action} `{}`", path.display())]
pub struct FsError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl FsError {
    /// For operations that this module has no function for.
    pub fn new(action: &'static str, path: &Path, source: io::Error) -> FsError {
        FsError {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

impl Diagnose for FsError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        remedy(self.source.kind())
    }
}

/// What to do about a disk that does not take a file.
pub(crate) fn remedy(kind: io::ErrorKind) -> Option<String> {
    match kind {
        io::ErrorKind::StorageFull => {
            Some("free some space and run the same command again; what was finished is kept".into())
        }
        io::ErrorKind::FileTooLarge => Some(
            "a limit on the size of files (`ulimit -f`, a quota) is too low; with a higher \
             one the same command goes on"
                .into(),
        ),
        io::ErrorKind::ReadOnlyFilesystem => Some(
            "`--target-dir DIR` (or CARGO_TARGET_DIR) puts all that cargo fdo writes \
             elsewhere"
                .into(),
        ),
        io::ErrorKind::PermissionDenied => Some(
            "check who owns it (a build as root leaves such files), or choose another \
             place with `--target-dir DIR`"
                .into(),
        ),
        _ => None,
    }
}

type Result<T> = std::result::Result<T, FsError>;

/// Reads a whole text file.
pub fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| FsError::new("read", path, error))
}

/// Reads a whole text file; `None` where there is none.
pub fn read_if_there(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FsError::new("read", path, error)),
    }
}

/// Makes a directory and its parents.
pub fn create_dir(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| FsError::new("create", path, error))
}

/// Writes a file so that a reader, or a run after a crash, sees the old or the new content.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<()> {
    write(path, content, true)
}

/// The same for a file that the user named: a directory that is not there is a typing error, and is
/// not made.
pub fn write_output(path: &Path, content: &[u8]) -> Result<()> {
    check_output(path)?;
    write_atomic(path, content)
}

/// Whether a file that the user named has a directory to be in, before work is done for it.
pub fn check_output(path: &Path) -> Result<()> {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() && !dir.is_dir() => {
            let error = io::ErrorKind::NotFound.into();
            Err(FsError::new("write into", dir, error))
        }
        _ => match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => Err(FsError::new(
                "write",
                path,
                io::ErrorKind::IsADirectory.into(),
            )),
            Ok(there) if there.permissions().readonly() => Err(FsError::new(
                "write",
                path,
                io::ErrorKind::PermissionDenied.into(),
            )),
            _ => Ok(()),
        },
    }
}

/// As [`write_atomic`], for what can be made again: not forced to the disk, so a power cut may lose it.
pub fn write_quick(path: &Path, content: &[u8]) -> Result<()> {
    write(path, content, false)
}

fn write(path: &Path, content: &[u8], durable: bool) -> Result<()> {
    let fail = |error| FsError::new("write", path, error);
    let Some((path, permissions)) = replaceable(path).map_err(fail)? else {
        // A device or a pipe takes what it is given; renaming over `/dev/null` would end it.
        return std::fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut file| file.write_all(content))
            .map_err(fail);
    };
    let dir = path.parent().unwrap_or(Path::new("."));
    create_dir(dir)?;
    let mut file = tempfile::Builder::new()
        .permissions(permissions)
        .tempfile_in(dir)
        .map_err(fail)?;
    file.write_all(content).map_err(fail)?;
    if durable {
        file.as_file().sync_all().map_err(fail)?;
    }
    file.persist(&path).map_err(|error| fail(error.error))?;
    Ok(())
}

/// The file to put in place, links followed, and its permissions (less what the umask takes);
/// `None` where there is something that is not a file.
fn replaceable(path: &Path) -> io::Result<Option<(PathBuf, Permissions)>> {
    match std::fs::metadata(path) {
        Ok(there) if !there.is_file() => Ok(None),
        // Renaming would replace it all the same.
        Ok(there) if there.permissions().readonly() => Err(io::ErrorKind::PermissionDenied.into()),
        Ok(there) if path.is_symlink() => Ok(Some((path.canonicalize()?, there.permissions()))),
        Ok(there) => Ok(Some((path.to_owned(), there.permissions()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Some((path.to_owned(), Permissions::from_mode(0o666))))
        }
        Err(error) => Err(error),
    }
}

/// Writes only if the content differs, so that the time stamp says when it changed.
pub fn write_if_changed(path: &Path, content: &str) -> Result<bool> {
    if read_if_there(path)?.as_deref() == Some(content) {
        return Ok(false);
    }
    write_quick(path, content.as_bytes())?;
    Ok(true)
}

/// Fails for what gives its bytes only once: files are looked into before they are read.
pub fn check_is_file(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path)? {
        there if there.is_file() || there.is_dir() => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a pipe or a device, and has to be read twice: write it to a file first",
        )),
    }
}

/// The entries of a directory, sorted by name; none where the directory is missing.
pub fn list(dir: &Path) -> Result<Vec<PathBuf>> {
    let fail = |error| FsError::new("list", dir, error);
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fail(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(fail)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// All files below a directory, sorted.
pub fn walk(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for path in list(&next)? {
            // Symbolic links are not followed: they may lead out of what is ours.
            match path.symlink_metadata() {
                Ok(data) if data.is_dir() => open.push(path),
                Ok(data) if data.is_file() => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Deletes a file of ours, if it is there.
pub fn remove_file(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FsError::new("remove", path, error)),
    }
}

/// How much may still be written to the disk of a directory; `None` where that is not known.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(dir).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

/// Deletes a directory that we made.
///
/// `root` is the directory of ours that it must lie in: the last check before anything goes.
pub fn remove_ours(root: &Path, dir: &Path) -> Result<()> {
    assert!(
        dir.starts_with(root) && dir != root,
        "`{}` is not inside `{}`",
        dir.display(),
        root.display()
    );
    match std::fs::remove_dir_all(dir) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FsError::new("remove", dir, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, symlink};

    #[test]
    fn a_device_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        symlink("/dev/null", &link).unwrap();
        write_atomic(&link, b"text").unwrap();
        assert!(link.is_symlink());
        let null = std::fs::metadata("/dev/null").unwrap();
        assert!(null.file_type().is_char_device());
        assert!(write_atomic(dir.path(), b"text").is_err());
    }

    #[test]
    fn links_are_followed_and_permissions_kept() {
        let dir = tempfile::tempdir().unwrap();
        let [usual, file, link] = ["usual", "file", "link"].map(|name| dir.path().join(name));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        std::fs::write(&usual, "").unwrap();
        write_atomic(&file, b"old").unwrap();
        assert_eq!(mode(&file), mode(&usual));

        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        write_atomic(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert_eq!(mode(&file), 0o640);

        std::fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
        assert!(write_atomic(&file, b"other").is_err());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
    }
}
