//! Errors: what failed, on what, and what to do now.
//!
//! Each module has its own error enum beside the code that raises it. [`Diagnose`] gives a
//! variant its exit code and its advice; [`Error`] is what the pipeline hands up.

use std::fmt;

/// How the process ends. Part of the interface: the README lists them, scripts rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// Wrong usage or configuration.
    Usage = 2,
    /// A tool is missing or does not fit the others.
    Tool = 3,
    /// The build failed.
    Build = 4,
    /// There is no profile, or training failed or left none.
    Training = 5,
    /// A profile can't be read, or too much of it was lost.
    Profile = 6,
    /// The profile does not match the program (`min-match`).
    Stale = 7,
    /// Slower than the threshold allows.
    Regression = 8,
    /// A bug in cargo-fdo.
    Internal = 101,
}

/// What every error of ours can say beyond its message.
pub trait Diagnose: std::error::Error + Send + Sync + 'static {
    /// How the process ends if nobody handles this.
    fn exit_code(&self) -> ExitCode;

    /// What the user can do now; a sentence or two, no full stop.
    fn hint(&self) -> Option<String> {
        None
    }
}

/// Any error on its way up.
pub struct Error(Box<dyn Diagnose>);

/// What fallible functions above the modules return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// How the process ends.
    pub fn exit_code(&self) -> ExitCode {
        self.0.exit_code()
    }

    /// What to do now.
    pub fn hint(&self) -> Option<String> {
        self.0.hint()
    }

    /// The causes, outermost first, without the message itself.
    pub fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut next = self.0.source();
        while let Some(cause) = next {
            causes.push(cause.to_string());
            next = cause.source();
        }
        causes
    }
}

impl<E: Diagnose> From<E> for Error {
    fn from(error: E) -> Self {
        Error(Box::new(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
