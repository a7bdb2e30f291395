//! A `cargo fdo` under the environment of another one: after `eval "$(cargo fdo env)"`, or in a
//! build script or test of a build of ours.
//!
//! It must see the environment as it was before, or it would take our own links for the user's
//! compilers, and one link would start the next for ever.

use crate::shim;
use fdo_build::protocol;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

/// What the variables were before `cargo fdo env` changed them: a JSON object.
pub const ENV_OUTER: &str = "CARGO_FDO_OUTER";

/// Variables that we set and others may have set before.
const SHARED: &[&str] = &[
    "RUSTC_WRAPPER",
    "CARGO_BUILD_BUILD_DIR",
    "LLVM_PROFILE_FILE",
    "CC",
    "CXX",
    "CCACHE_EXTRAFILES",
    "SCCACHE_C_CUSTOM_CACHE_BUSTER",
];

/// The former values of these variables, for [`ENV_OUTER`].
pub fn describe<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let former: BTreeMap<&str, Option<String>> = names
        .into_iter()
        .filter(|name| !name.starts_with(protocol::ENV_VERSION))
        .map(|name| {
            let value = std::env::var_os(name);
            (
                name,
                value.map(|value| value.to_string_lossy().into_owned()),
            )
        })
        .collect();
    serde_json::to_string(&former).expect("plain data")
}

/// Starts this program again with the environment from before, if it runs under ours.
pub fn leave() -> Option<ExitCode> {
    std::env::var_os(protocol::ENV_VERSION)?;
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args(std::env::args_os().skip(1));
    for (name, value) in changes(&|name| std::env::var_os(name)) {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with(protocol::ENV_VERSION))
        {
            command.env_remove(name);
        }
    }
    Some(shim::become_tool(command))
}

type Change = (String, Option<OsString>);

fn changes(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<Change> {
    let former: BTreeMap<String, Option<String>> = variable(ENV_OUTER)
        .and_then(|text| serde_json::from_str(text.to_str()?).ok())
        .unwrap_or_default();
    let mut changes: Vec<Change> = SHARED
        .iter()
        .map(|name| ((*name).to_owned(), None))
        .collect();
    if let Some(target) = variable(protocol::ENV_TARGET) {
        let target = target.to_string_lossy();
        changes.extend(["CC", "CXX"].map(|name| (format!("{name}_{target}"), None)));
    }
    if let Some(wrapper) = variable(shim::ENV_RUSTC_WRAPPER) {
        changes.push(("RUSTC_WRAPPER".to_owned(), Some(wrapper)));
    }
    let former = former.into_iter();
    changes.extend(former.map(|(name, value)| (name, value.map(OsString::from))));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_before_comes_back_and_the_rest_goes() {
        let changes = changes(&|name| match name {
            ENV_OUTER => Some(r#"{"CC":"ccache clang","CXX":null,"CARGO_TARGET_DIR":"/t"}"#.into()),
            shim::ENV_RUSTC_WRAPPER => Some("/bin/sccache".into()),
            protocol::ENV_TARGET => Some("x-y".into()),
            _ => None,
        });
        // The last change of a name holds.
        let after: BTreeMap<_, _> = changes.into_iter().collect();
        assert_eq!(after["CC"], Some("ccache clang".into()));
        assert_eq!(after["CXX"], None);
        assert_eq!(after["CC_x-y"], None);
        assert_eq!(after["CARGO_TARGET_DIR"], Some("/t".into()));
        assert_eq!(after["RUSTC_WRAPPER"], Some("/bin/sccache".into()));
        assert_eq!(after["LLVM_PROFILE_FILE"], None);
    }
}
