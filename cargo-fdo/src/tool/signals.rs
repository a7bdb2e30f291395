//! The object that makes an instrumented program save its profile when it is told to end.
//!
//! Daemons are stopped by SIGTERM, whose default action ends a process before it writes its
//! counters. Code inside the program is the only way to reach the profile runtime, whose
//! functions are hidden from preloaded libraries. What the object does, and what it can't,
//! is at the top of `signals/save_on_signal.rs`.

use super::{Invocation, Rustc, ToolError, scratch};
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use crate::profile::digest;
use std::path::Path;

/// Its modules by file name, the root first.
const SOURCES: [(&str, &str); 3] = [
    (
        "save_on_signal.rs",
        include_str!("signals/save_on_signal.rs"),
    ),
    ("fork.rs", include_str!("signals/fork.rs")),
    ("mark.rs", include_str!("signals/mark.rs")),
];

/// Names the source: an object of another one has another path, and programs are linked anew.
pub fn revision() -> String {
    let texts = SOURCES.map(|(_, text)| text).concat();
    digest::short(texts.as_bytes(), 8)
}

/// Where instrumented processes mark that they have counters to save: a directory beside their raw
/// profiles. The object makes marks where it is there.
pub const MARKS: &str = "running";

/// Why there is no such object.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody has looked at the signals of this target.
    #[error("no program for `{target}` can be made to save its profile on a signal")]
    Unsupported {
        /// The target.
        target: String,
    },
    /// The compiler failed.
    #[error("can't compile the object that saves a profile on a signal")]
    Tool(#[from] ToolError),
    /// The source could not be written.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for Error {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        match self {
            Error::Unsupported { .. } => {
                Some("let the workload end the program in a way that returns from `main`".into())
            }
            Error::Tool(_) => {
                Some("`rustup target add` installs what rustc needs to compile for a target".into())
            }
            Error::Fs(error) => error.hint(),
        }
    }
}

/// Whether the object can be made for a target: only where its `struct sigaction` is right.
pub fn supported(target: &str) -> bool {
    let mut parts = target.split('-');
    let arch = parts.next().unwrap_or_default();
    let arch = matches!(
        arch,
        "x86_64" | "aarch64" | "riscv64gc" | "powerpc64le" | "loongarch64"
    );
    let linux = target.contains("-linux-");
    // 32-bit words on a 64-bit machine.
    let libc = ["gnu", "musl"].contains(&parts.next_back().unwrap_or_default());
    arch && linux && libc
}

/// Compiles the object for `target` into `out`, unless it is there.
///
/// The path of `out` should name everything that decides its content: rustc, target and
/// [`revision`].
///
/// # Errors
///
/// The target is not supported, or rustc fails.
pub fn build(rustc: &Rustc, target: &str, out: &Path) -> Result<(), Error> {
    if !supported(target) {
        return Err(Error::Unsupported {
            target: target.to_owned(),
        });
    }
    if out.is_file() {
        return Ok(());
    }
    let parent = out.parent().unwrap_or(Path::new("."));
    let dir = scratch::dir(parent)?;
    let object = dir.path().join("save_on_signal.o");
    for (name, text) in SOURCES {
        scratch::write(&dir.path().join(name), text)?;
    }
    compile(rustc, target, &dir.path().join(SOURCES[0].0), &object).run()?;
    let bytes = std::fs::read(&object).map_err(|error| FsError::new("read", &object, error))?;
    Ok(fs::write_atomic(out, &bytes)?)
}

fn compile(rustc: &Rustc, target: &str, source: &Path, object: &Path) -> Invocation {
    let mut call = Invocation::new(&rustc.program)
        .args(["--crate-name=cargo_fdo_signals", "--crate-type=lib"])
        .args(["--edition=2021", "--cap-lints=allow"])
        .args(["--target", target])
        // One unit and no panics, so that every symbol is local to the object.
        .args(["-Copt-level=2", "-Ccodegen-units=1", "-Cpanic=abort"])
        .args(["-Coverflow-checks=off", "-Cdebug-assertions=off"])
        // It goes into executables and shared libraries.
        .arg("-Crelocation-model=pic");
    if target.starts_with("aarch64") {
        // A program without Rust has no helpers for these.
        call = call.arg("-Ctarget-feature=-outline-atomics");
    }
    call.args(super::rustc::emit("obj", object)).arg(source)
}

#[cfg(test)]
mod tests {
    use super::super::real_tools;
    use super::*;

    #[test]
    fn only_known_layouts_are_supported() {
        for good in [
            "x86_64-unknown-linux-gnu",
            "aarch64-unknown-linux-musl",
            "x86_64-alpine-linux-musl",
        ] {
            assert!(supported(good), "{good}");
        }
        for bad in [
            "x86_64-unknown-linux-gnux32",
            "i686-unknown-linux-gnu",
            "mips64-unknown-linux-gnuabi64",
            "s390x-unknown-linux-gnu",
            "aarch64-apple-darwin",
            "x86_64-pc-windows-gnu",
            "x86_64-unknown-freebsd",
        ] {
            assert!(!supported(bad), "{bad}");
        }
    }

    #[test]
    fn the_object_marks_processes_where_marks_are_looked_for() {
        let (_, mark) = SOURCES[2];
        assert!(mark.contains(&format!("b\"{MARKS}/\"")));
    }

    #[test]
    fn the_object_defines_nothing_that_could_clash_and_needs_no_rust() {
        use object::{Object, ObjectSymbol};
        let (rustc, dir) = real_tools::rustc();
        if !supported(&rustc.host) {
            return;
        }
        let out = dir.path().join("deep/er/signals.o");
        build(&rustc, &rustc.host, &out).unwrap();
        let data = std::fs::read(&out).unwrap();
        let file = object::File::parse(&*data).unwrap();
        let mut wanted = Vec::new();
        for symbol in file.symbols() {
            if symbol.is_undefined() {
                wanted.push(symbol.name().unwrap());
            } else {
                assert!(!symbol.is_global(), "{symbol:?}");
            }
        }
        assert!(wanted.contains(&"__llvm_profile_write_file"));
        assert!(
            !wanted
                .iter()
                .any(|name| name.contains("core") || name.starts_with("_R"))
        );
        // Cached by path.
        std::fs::write(&out, "mine").unwrap();
        build(&rustc, &rustc.host, &out).unwrap();
        assert_eq!(std::fs::read(&out).unwrap(), b"mine");
    }
}

#[cfg(all(test, target_os = "linux"))]
#[path = "signals/tests.rs"]
mod programs;
