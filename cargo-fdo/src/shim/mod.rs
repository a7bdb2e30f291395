//! What runs in place of a compiler.
//!
//! Links to the cargo-fdo binary, under compiler names, in a per-user directory. Cargo runs
//! `fdo-rustc` as its `RUSTC_WRAPPER`; build scripts run the others as `CC` and `CXX`. Each
//! call decides from its own arguments and environment whether it is a real compilation of a
//! profiled unit, reads the [`Order`] of its package, and adds
//! flags behind cargo's back: the user's rustflags, wrappers and launchers stay whole.
//!
//! A shim starts hundreds of times in a build. It parses no TOML, asks no tool for its
//! version, and everything that it does not understand passes through untouched.

mod arguments;
pub mod cc;
mod cc_arguments;
pub mod evidence;
mod links;
mod proof;
pub mod rustc;
mod stderr;
pub mod treatment;

pub use links::{Links, LinksError};

use fdo_build::protocol::{self, Language, Order, Phase};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

/// The name under which cargo calls us instead of rustc.
pub const RUSTC_LINK: &str = "fdo-rustc";

/// The user's own `RUSTC_WRAPPER`, which still runs.
pub const ENV_RUSTC_WRAPPER: &str = "CARGO_FDO_RUSTC_WRAPPER";
/// Where build-time programs of the phase leave their raw profiles.
pub const ENV_STRAY: &str = "CARGO_FDO_STRAY";

/// Runs as a compiler if this process was started under a compiler's name.
pub fn dispatch() -> Option<ExitCode> {
    let mut args = std::env::args_os();
    let program = PathBuf::from(args.next()?);
    let name = program.file_name()?.to_str()?;
    let args: Vec<OsString> = args.collect();
    match name {
        RUSTC_LINK => Some(rustc::run(args)),
        crate::stage::guard::NAME => Some(crate::stage::guard::run(&args)),
        "clang" | "gcc" | "cc" => Some(cc::run(cc::Driver::C, args)),
        "clang++" | "g++" | "c++" => Some(cc::run(cc::Driver::Cxx, args)),
        _ => None,
    }
}

/// Where a shim call stands: which phase, which package.
struct Context {
    phase: Option<Phase>,
    state: PathBuf,
    target: String,
    target_dir: PathBuf,
    package: String,
    /// No build of cargo's: what other orders made was dropped before it began.
    is_native: bool,
}

impl Context {
    /// `None` outside `cargo fdo`.
    fn from_env() -> Option<Context> {
        let named = std::env::var(protocol::ENV_PACKAGE).ok();
        let is_native = named.is_some();
        let package = match (
            named,
            std::env::var("CARGO_PKG_NAME"),
            std::env::var("CARGO_PKG_VERSION"),
        ) {
            (Some(package), ..) => package,
            (_, Ok(name), Ok(version)) => protocol::package_id(&name, &version),
            // Another build system under the environment that `cargo fdo env` printed.
            _ => OUTSIDE_CARGO.to_owned(),
        };
        let phase = std::env::var(protocol::ENV_PHASE);
        Some(Context {
            phase: phase.ok().and_then(|name| Phase::from_name(&name)),
            state: std::env::var_os(protocol::ENV_STATE)?.into(),
            target: std::env::var(protocol::ENV_TARGET).ok()?,
            target_dir: std::env::var_os(protocol::ENV_TARGET_DIR)?.into(),
            package,
            is_native,
        })
    }

    /// The directory that globs are from, where cargo says it.
    fn package_dir(&self) -> Option<PathBuf> {
        let dir = std::env::var_os("CARGO_MANIFEST_DIR").filter(|_| !self.is_native)?;
        Some(dir.into())
    }

    fn order(&self, language: Language) -> Result<Order, String> {
        Order::load(&self.state, &self.package, language)
    }

    /// Whether the build script that calls us builds for the profiled target.
    fn is_target_unit(&self) -> bool {
        match std::env::var_os("OUT_DIR").filter(|_| !self.is_native) {
            Some(out_dir) => {
                protocol::is_target_unit(Path::new(&out_dir), &self.target_dir, &self.target)
            }
            None => true,
        }
    }
}

/// The package that compilations outside cargo are counted under.
pub const OUTSIDE_CARGO: &str = "outside-cargo";

/// Becomes the real compiler: nothing is left to do afterwards.
pub(crate) fn become_tool(mut command: Command) -> ExitCode {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let error = command.exec();
        fail(&format!(
            "can't start `{}`: {error}",
            command.get_program().to_string_lossy()
        ))
    }
    #[cfg(not(unix))]
    match command.status() {
        Ok(status) => exit_code(status),
        Err(error) => fail(&format!(
            "can't start `{}`: {error}",
            command.get_program().to_string_lossy()
        )),
    }
}

/// Ends as the compiler did; a signal becomes 128 + its number, as in a shell.
fn exit_code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return ExitCode::from(128u8.wrapping_add(signal as u8));
        }
    }
    ExitCode::from(status.code().unwrap_or(1) as u8)
}

/// Fails the compilation in our own name.
#[allow(clippy::print_stderr, reason = "a shim has no `ui`: it is a compiler")]
fn fail(message: &str) -> ExitCode {
    eprintln!("error: cargo-fdo: {message}");
    ExitCode::from(1)
}

/// A program and its first arguments as a command.
fn command(words: &[String]) -> Option<Command> {
    let (program, rest) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(rest);
    Some(command)
}

fn starts_with(argument: &OsStr, prefix: &str) -> bool {
    argument.as_encoded_bytes().starts_with(prefix.as_bytes())
}
