//! Tools that a test needs and a machine may lack.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns from the test, which says so, when one of the tools is missing.
///
/// With `FDO_TESTS_NO_SKIP` set, as in CI, the test fails instead.
///
/// ```
/// # fn test() {
/// fdo_tests::require!("clang-22", "cmake");
/// # }
/// ```
#[macro_export]
macro_rules! require {
    ($($tool:expr),+ $(,)?) => {
        if $(!$crate::tools::require($tool))||+ {
            return;
        }
    };
}

/// Whether the tool is there; if not, says that the test is skipped.
///
/// # Panics
///
/// When the tool is missing and `FDO_TESTS_NO_SKIP` is set.
#[track_caller]
pub fn require(tool: &str) -> bool {
    if find(tool).is_some() {
        return true;
    }
    let test = std::thread::current();
    let test = test.name().unwrap_or("a test");
    let package = package_of(tool);
    assert!(
        std::env::var_os("FDO_TESTS_NO_SKIP").is_none(),
        "needs `{tool}`: install the Debian package {package}, or run tests/run, which does"
    );
    say(&format!(
        "skipped: {test} needs `{tool}` (Debian package {package})"
    ));
    false
}

/// Says that the test is skipped for want of something that can't be installed, such as root.
pub fn skip(wanted: &str) {
    let test = std::thread::current();
    let test = test.name().unwrap_or("a test");
    say(&format!("skipped: {test} needs {wanted}"));
}

/// Where the tool is.
pub fn find(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(tool))
        .find(|file| file.is_file())
}

/// The major version of rustc's LLVM: clang of that version fits for sure.
pub fn llvm_major() -> u32 {
    static MAJOR: OnceLock<u32> = OnceLock::new();
    *MAJOR.get_or_init(|| {
        let output = Command::new("rustc").arg("-vV").output();
        let output = output.expect("rustc runs").stdout;
        let text = String::from_utf8_lossy(&output);
        let version = text
            .lines()
            .find_map(|line| line.strip_prefix("LLVM version: "));
        let major = version.and_then(|version| version.split('.').next());
        major
            .and_then(|major| major.parse().ok())
            .expect("rustc -vV names its LLVM")
    })
}

/// A tool of the LLVM that rustc has, such as `clang-22` for `clang`.
pub fn llvm(tool: &str) -> String {
    format!("{tool}-{}", llvm_major())
}

/// The Debian package of a tool. `tests/packages.sh` installs them; a test holds the two
/// together.
pub fn package_of(tool: &str) -> String {
    let (name, version) = match tool.rsplit_once('-') {
        Some((name, version)) if version.parse::<u32>().is_ok() => (name, version),
        _ => (tool, ""),
    };
    match name {
        "clang" | "clang++" if !version.is_empty() => format!("clang-{version}"),
        "ld.lld" | "lld" if !version.is_empty() => format!("lld-{version}"),
        name if name.starts_with("llvm-") && !version.is_empty() => format!("llvm-{version}"),
        "ninja" => "ninja-build".to_owned(),
        "perf" => "linux-perf".to_owned(),
        "script" => "bsdutils".to_owned(),
        "callgrind_annotate" => "valgrind".to_owned(),
        _ => tool.to_owned(),
    }
}

/// Whether the file can be run. For tests of what `cargo fdo build` prints.
pub fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Writes to the real stderr: the test runner hides what a green test prints.
#[allow(
    clippy::explicit_write,
    reason = "`eprintln!` would go where the runner hides it"
)]
pub(crate) fn say(line: &str) {
    use std::io::Write as _;
    // Nobody may be listening.
    let _ = writeln!(std::io::stderr(), "{line}");
}
