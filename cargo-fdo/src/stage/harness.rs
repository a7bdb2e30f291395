//! Benchmarks and tests that there are none of: cargo makes harnesses for a library and its programs
//! whether they hold any or not, and training one of these would replace a good profile by nothing.

use super::build::Built;
use crate::tool::Invocation;
use cargo_metadata::TargetKind;
use std::path::Path;

/// Whether `cargo bench` or `cargo test` would run something of what it built.
///
/// Only harnesses of libraries and programs are asked (libtest's `--list`). A bench or test target is
/// there because somebody wrote one, and may have a harness of its own that would run at once. A
/// harness that does not answer is believed to hold something.
pub(super) fn has_work(built: &Built, subcommand: &str, of_target: &Path) -> bool {
    let kind_of_item = match subcommand {
        "bench" => ": benchmark",
        "test" => ": test",
        _ => return true,
    };
    let mut harnesses = built
        .artifacts
        .iter()
        .filter_map(|artifact| Some((artifact, artifact.executable.as_ref()?)))
        .peekable();
    if harnesses.peek().is_none() {
        // Only documentation tests, or nothing: another check's business.
        return true;
    }
    harnesses.any(|(artifact, program)| {
        let is_generated = artifact.is_test
            && program.starts_with(of_target)
            && !matches!(
                artifact.kind,
                TargetKind::Bench | TargetKind::Test | TargetKind::Example
            );
        // `cargo test` builds a package's plain programs too, for its integration tests.
        if !artifact.is_test {
            return false;
        }
        !is_generated || holds(program, kind_of_item)
    })
}

fn holds(program: &Path, item: &str) -> bool {
    let listed = Invocation::new(program)
        .arg("--list")
        // It is instrumented, and these counts are nobody's.
        .env("LLVM_PROFILE_FILE", "/dev/null")
        .probe();
    match listed {
        Ok(listed) if listed.status.success() => {
            listed.stdout.lines().any(|line| line.ends_with(item))
        }
        _ => true,
    }
}
