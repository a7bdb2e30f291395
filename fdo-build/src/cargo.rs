//! What cargo and `cargo fdo` tell a build script: the only place that reads the environment.

use crate::protocol::{self, Language, Order, Phase};
use crate::Error;
use std::ffi::OsString;
use std::path::PathBuf;

/// Where variables come from: the process, or a test's table.
pub(crate) type Env<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// A variable of this process. An empty one counts as absent.
///
/// Prints no `cargo:rerun-if-env-changed`, unlike other libraries' functions of this kind.
/// The first such line of a build script turns off cargo's rule that any changed file of the
/// package runs it again, so a script that relies on the rule would go stale by one call of
/// `configure`. And no line is needed:
///
/// * each phase has its own target directory, so no build ever meets another phase's output;
/// * what changes within a phase is in the package's key file, which `cargo fdo` makes a
///   dependency of the *compilation* of the build script. That works for the scripts that
///   never heard of this library, too.
pub(crate) fn env(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// What `cargo fdo` wants of one package's C and C++ code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instructions {
    pub(crate) phase: Phase,
    pub(crate) cc: PathBuf,
    pub(crate) cxx: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) order: Order,
}

/// Reads the instructions. `None` outside `cargo fdo`, and for host units: programs that the
/// build itself runs are never profiled.
pub(crate) fn instructions(env: Env<'_>) -> Result<Option<Instructions>, Error> {
    let Some(version) = env(protocol::ENV_VERSION) else {
        return Ok(None);
    };
    if version != *protocol::VERSION.to_string() {
        return Err(Error::Version {
            found: version.to_string_lossy().into_owned(),
        });
    }
    let path = |variable| match env(variable) {
        Some(value) => Ok(PathBuf::from(value)),
        None => Err(Error::Missing { variable }),
    };
    let text = |variable| path(variable).map(|value| value.to_string_lossy().into_owned());

    let target_dir = path(protocol::ENV_TARGET_DIR)?;
    let triple = text(protocol::ENV_TARGET)?;
    if !protocol::is_target_unit(&path("OUT_DIR")?, &target_dir, &triple) {
        return Ok(None);
    }

    let phase = text(protocol::ENV_PHASE)?;
    let phase = Phase::from_name(&phase).ok_or(Error::Phase { found: phase })?;
    let state = path(protocol::ENV_STATE)?;
    let package = protocol::package_id(&text("CARGO_PKG_NAME")?, &text("CARGO_PKG_VERSION")?);
    let order =
        Order::load(&state, &package, Language::C).map_err(|reason| Error::Order { reason })?;
    Ok(Some(Instructions {
        phase,
        cc: path(protocol::ENV_CC)?,
        cxx: path(protocol::ENV_CXX)?,
        key: protocol::key_file(&state, &package, Language::C),
        order,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: &[(&str, &str)] = &[
        ("CARGO_FDO", "2"),
        ("CARGO_FDO_PHASE", "instrument"),
        ("CARGO_FDO_STATE", "/t/state"),
        ("CARGO_FDO_TARGET", "x86_64-unknown-linux-gnu"),
        ("CARGO_FDO_TARGET_DIR", "/t/fdo"),
        ("CARGO_FDO_CC", "/shims/cc"),
        ("CARGO_FDO_CXX", "/shims/c++"),
        (
            "OUT_DIR",
            "/t/fdo/x86_64-unknown-linux-gnu/release/build/a-1/out",
        ),
        ("CARGO_PKG_NAME", "a"),
        ("CARGO_PKG_VERSION", "0.1.0"),
    ];

    /// The variables of a target unit, with some replaced; an empty value removes.
    fn read(changes: &[(&str, &str)]) -> Result<Option<Instructions>, Error> {
        let find = |list: &[(&str, &str)], name: &str| {
            let found = list.iter().find(|(key, _)| *key == name)?;
            Some(OsString::from(found.1))
        };
        instructions(&|name| {
            find(changes, name)
                .or_else(|| find(TARGET, name))
                .filter(|value| !value.is_empty())
        })
    }

    #[test]
    fn outside_cargo_fdo_nothing_else_is_read() {
        let only_version = |name: &str| {
            assert_eq!(name, "CARGO_FDO");
            None
        };
        assert_eq!(instructions(&only_version), Ok(None));
    }

    #[test]
    fn host_units_are_left_alone_before_any_file_is_read() {
        let out_dir = ("OUT_DIR", "/t/fdo/release/build/a-1/out");
        assert_eq!(read(&[out_dir]), Ok(None));
    }

    #[test]
    fn another_version_is_an_error_that_names_both() {
        let error = read(&[("CARGO_FDO", "7")]).unwrap_err().to_string();
        assert!(error.contains("speaks version 7"), "{error}");
        assert!(error.contains("version 2:"), "{error}");
    }

    #[test]
    fn half_a_protocol_is_an_error_that_names_the_missing_variable() {
        for variable in ["CARGO_FDO_TARGET", "CARGO_FDO_PHASE", "CARGO_FDO_STATE"] {
            let error = read(&[(variable, "")]).unwrap_err();
            assert!(
                matches!(error, Error::Missing { variable: name } if name == variable),
                "{error}"
            );
        }
    }

    #[test]
    fn an_unknown_phase_is_an_error() {
        let error = read(&[("CARGO_FDO_PHASE", "propeller")]).unwrap_err();
        assert_eq!(
            error,
            Error::Phase {
                found: "propeller".into()
            }
        );
    }

    #[test]
    fn a_missing_order_is_an_error_that_names_the_file() {
        let error = read(&[]).unwrap_err().to_string();
        assert!(error.contains("/t/state/orders/c"), "{error}");
    }
}
