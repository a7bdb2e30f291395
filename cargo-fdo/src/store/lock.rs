//! Two runs at once: the second waits.

use crate::fs::FsError;
use crate::ui::Ui;
use std::fs::{File, TryLockError};
use std::path::Path;

/// Held while a run changes the store; gone with the process, however it ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, saying so if it has to wait.
    ///
    /// # Errors
    ///
    /// If the file can't be opened or locked.
    pub fn take(path: &Path, ui: &Ui) -> Result<Lock, FsError> {
        let fail = |error| FsError::new("lock", path, error);
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                ui.status(
                    "Blocking",
                    format_args!("waiting for another `cargo fdo` on `{}`", path.display()),
                );
                file.lock().map_err(fail)?;
            }
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
        Ok(Lock { _file: file })
    }
}
