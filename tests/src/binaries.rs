//! Where the programs under test are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The repository.
pub(crate) fn repository() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("tests/ lies in the repository")
}

/// `cargo-fdo`, built once a test program if it is out of date.
///
/// Cargo builds another package's binaries for nobody's tests, so a `cargo test` that has just
/// compiled the library may find last week's binary.
pub(crate) fn cargo_fdo() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let directory = profile_dir();
        let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
        let mut build = Command::new(cargo);
        build
            .args(["build", "--quiet", "-p", "cargo-fdo", "--bin", "cargo-fdo"])
            .arg("--target-dir")
            .arg(target_dir(&directory))
            .current_dir(repository());
        if directory.ends_with("release") {
            build.arg("--release");
        }
        let status = build.status().expect("cargo runs");
        assert!(status.success(), "can't build cargo-fdo: {status}");
        existing(directory.join("cargo-fdo"))
    })
}

/// The program that plays the fake tools; cargo builds it for this package's tests.
pub(crate) fn fake_tool() -> PathBuf {
    existing(profile_dir().join("fake-tool"))
}

/// A directory for what tests keep between runs.
pub(crate) fn scratch() -> PathBuf {
    target_dir(&profile_dir()).join("tmp")
}

/// `target/debug` or `target/release`: two levels above `deps/<this test program>`.
fn profile_dir() -> PathBuf {
    let program = std::env::current_exe().expect("the test program has a path");
    let deps = program.parent().expect("it lies in a directory");
    deps.parent().unwrap_or(deps).to_owned()
}

/// The target directory that a profile's directory belongs to. With `--target` there is a
/// triple between the two; building once more beside it does no harm.
fn target_dir(profile_dir: &Path) -> &Path {
    profile_dir.parent().unwrap_or(profile_dir)
}

#[track_caller]
fn existing(path: PathBuf) -> PathBuf {
    assert!(
        path.is_file(),
        "`{}` is not there: run `cargo test -p fdo-tests`, which builds it",
        path.display()
    );
    path
}
