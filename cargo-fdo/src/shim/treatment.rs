//! What an order does to one compilation, and what that makes of the object.
//!
//! Asked twice: by the shim that compiles, and before a later build, which drops what other orders made
//! (`stage/native.rs`).

use crate::profile::digest;
use fdo_build::protocol::Order;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What the shim did with one C compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treatment {
    /// Flags of the phase were added.
    Profiled,
    /// The source matches one of the package's `c-exclude` globs, or the target is not to be profiled.
    Excluded,
    /// The package's policy, or the compiler, says no.
    Plain,
    /// It is assembler, which has no counters.
    Assembler,
    /// A precompiled header, with the flags of what includes it: it must agree with these, and holds no
    /// code.
    Header,
}

impl Treatment {
    /// What an order does with a source (its whole path) that becomes `output`.
    pub fn of(order: &Order, package_dir: Option<&Path>, source: &str, output: &Path) -> Treatment {
        if order.flags.is_empty() && order.link_flags.is_empty() {
            Treatment::Plain
        } else if excludes(&order.exclude, package_dir, source) || excludes_target(order, output) {
            Treatment::Excluded
        } else {
            Treatment::Profiled
        }
    }

    /// Tells two objects of one source apart that were compiled with the same command line under other
    /// orders. What an order says of others is not in it, so that an excluded target stays as it is
    /// whatever the profile.
    pub fn stamp(self, order: &Order) -> String {
        let mut text = format!(
            "{self:?}\n{:?}\n{:?}\n{}\n",
            order.cc, order.cxx, order.basis
        );
        if matches!(self, Treatment::Profiled | Treatment::Header) {
            text.push_str(&format!("{:?}\n{}\n", order.flags, order.slice));
        }
        digest::short(text.as_bytes(), 16)
    }
}

/// Whether a source matches one of the package's globs: from the package's directory, or as
/// the tail of the path.
pub fn excludes(globs: &[String], package_dir: Option<&Path>, source: &str) -> bool {
    let relative = package_dir
        .and_then(|dir| Path::new(source).strip_prefix(dir).ok())
        .unwrap_or(Path::new(source));
    globs.iter().any(|pattern| {
        let Ok(whole) = glob::Pattern::new(pattern) else {
            return false;
        };
        let tail = glob::Pattern::new(&format!("**/{pattern}"));
        whole.matches_path(relative)
            || tail.is_ok_and(|tail| tail.matches_path(relative) || tail.matches(source))
    })
}

/// Whether the object belongs to a target that is not to be profiled. What is in no target of cmake's is
/// profiled as long as there is no list of those that are.
pub fn excludes_target(order: &Order, output: &Path) -> bool {
    target_is_excluded(order, target_of(output).as_deref())
}

/// The same for a target that is known by its name.
pub fn target_is_excluded(order: &Order, target: Option<&str>) -> bool {
    is_excluded_by(&order.exclude_targets, &order.profile_targets, target)
}

/// The same by lists of those that are not profiled, and of the only ones that are.
pub fn is_excluded_by(exclude: &[String], only: &[String], target: Option<&str>) -> bool {
    let named = |globs: &[String]| {
        target.is_some_and(|target| globs.iter().any(|glob| names_target(glob, target)))
    };
    named(exclude) || !only.is_empty() && !named(only)
}

/// Whether a name or glob of fdo.toml means a target.
pub fn names_target(glob: &str, target: &str) -> bool {
    glob == target || glob::Pattern::new(glob).is_ok_and(|glob| glob.matches(target))
}

/// The target of cmake's that an object is compiled for: generators for make and ninja both put it into
/// `CMakeFiles/TARGET.dir/`.
pub fn target_of(output: &Path) -> Option<String> {
    let mut parts = output.iter();
    // An outer one may be of a build tree that this one lies in.
    let mut found = None;
    while let Some(part) = parts.next() {
        if part == "CMakeFiles"
            && let Some(next) = parts.clone().next()
            && let Some(target) = next.to_str().and_then(|next| next.strip_suffix(".dir"))
        {
            found = Some(target.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use fdo_build::protocol::Family;

    #[test]
    fn the_target_is_in_the_objects_path() {
        let of = |path: &str| target_of(Path::new(path));
        assert_eq!(
            of("/b/lib/CMakeFiles/rocksdb.dir/db/db.cc.o").as_deref(),
            Some("rocksdb")
        );
        assert_eq!(
            of("/b/CMakeFiles/outer.dir/x/CMakeFiles/in ner.dir/a.c.o").as_deref(),
            Some("in ner")
        );
        assert_eq!(of("/b/CMakeFiles/3.25.1/a.o"), None);
    }

    #[test]
    fn targets_are_chosen_by_name_or_glob() {
        let path = |target: &str| format!("/b/CMakeFiles/{target}.dir/a.c.o");
        let is_excluded =
            |order: &Order, target: &str| excludes_target(order, Path::new(&path(target)));
        let mut order = Order::nothing(Family::Clang);
        assert!(!is_excluded(&order, "db_bench"));
        order.exclude_targets.push("*_bench".into());
        assert!(is_excluded(&order, "db_bench") && !is_excluded(&order, "rocksdb"));
        order.profile_targets.push("rocksdb".into());
        assert!(is_excluded(&order, "tool") && !is_excluded(&order, "rocksdb"));
        assert!(excludes_target(&order, Path::new("/b/a.o")));
    }

    #[test]
    fn an_excluded_object_is_the_same_under_any_profile() {
        let mut order = Order::nothing(Family::Clang);
        order.flags.push("-fprofile-use=a".into());
        let [profiled, excluded] =
            [Treatment::Profiled, Treatment::Excluded].map(|it| it.stamp(&order));
        order.slice = "b".into();
        assert_ne!(Treatment::Profiled.stamp(&order), profiled);
        assert_eq!(Treatment::Excluded.stamp(&order), excluded);
        order.basis = "another compiler".into();
        assert_ne!(Treatment::Excluded.stamp(&order), excluded);
    }

    #[test]
    fn excluded_sources_match_from_the_package_or_as_a_tail() {
        let globs = ["tools/db_bench*".to_owned()];
        let is_excluded = |source| excludes(&globs, None, source);
        assert!(is_excluded("tools/db_bench_tool.cc"));
        assert!(is_excluded("/src/rocksdb/tools/db_bench.cc"));
        assert!(!is_excluded("/src/rocksdb/db/db_impl.cc"));
    }
}
