//! Why a build script can't follow `cargo fdo`.

use crate::protocol;
use std::fmt;

/// Why [`try_configure`](crate::try_configure) failed.
///
/// Each message says what is wrong; [`configure`](crate::configure) panics with it.
///
/// ```
/// let error = fdo_build::Error::Version { found: "7".into() };
/// assert!(error.to_string().contains("version 7"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// `cargo fdo` speaks another version of the protocol than this library.
    ///
    /// Going on would leave the C half of the program out of the profile without a word.
    Version {
        /// What `cargo fdo` speaks.
        found: String,
    },
    /// `cargo fdo` or cargo did not set a variable that it always sets.
    Missing {
        /// The variable's name.
        variable: &'static str,
    },
    /// `cargo fdo` is in a phase that this library does not know.
    Phase {
        /// The phase's name.
        found: String,
    },
    /// The package's order can't be read.
    Order {
        /// Which file, and what is wrong with it.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Version { found } => write!(
                f,
                "`cargo fdo` speaks version {found} of its build-script protocol and the crate \
                 `fdo-build` {} version {}: update the older of the two (`cargo install \
                 cargo-fdo`, or `cargo update -p fdo-build`)",
                env!("CARGO_PKG_VERSION"),
                protocol::VERSION,
            ),
            Error::Missing { variable } => write!(
                f,
                "`{}` is set but `{variable}` is not: build scripts are run by `cargo fdo`, \
                 with all of its variables or none",
                protocol::ENV_VERSION,
            ),
            Error::Phase { found } => {
                write!(f, "unknown phase `{found}` in `{}`", protocol::ENV_PHASE)
            }
            Error::Order { reason } => {
                write!(
                    f,
                    "no instructions from `cargo fdo` for this package: {reason}"
                )
            }
        }
    }
}

impl std::error::Error for Error {}
