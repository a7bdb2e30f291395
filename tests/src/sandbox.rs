//! A project of its own, in an environment of its own.

use crate::{Call, Fake, Run, binaries};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A temporary directory with a project, tools and an environment that no setting of the
/// machine reaches.
#[derive(Debug)]
pub struct Sandbox {
    root: TempDir,
    project: PathBuf,
    env: BTreeMap<OsString, OsString>,
    removed: Vec<OsString>,
    /// Kept when a test fails and `FDO_TESTS_KEEP` is set.
    keep: bool,
}

impl Sandbox {
    /// A copy of `examples/NAME`, without what was built there.
    #[track_caller]
    pub fn example(name: &str) -> Sandbox {
        let t = Sandbox::empty(name);
        let example = binaries::repository().join("examples").join(name);
        assert!(example.is_dir(), "there is no example `{name}`");
        copy(&example, &t.project);
        t
    }

    /// A package `app` with nothing in it but a `main` that does nothing.
    pub fn project() -> Sandbox {
        Sandbox::empty("app")
            .file(
                "Cargo.toml",
                "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n",
            )
            .file("src/main.rs", "fn main() {}\n")
    }

    fn empty(name: &str) -> Sandbox {
        let root = tempfile::Builder::new()
            .prefix("fdo-")
            .tempdir()
            .expect("there is room for temporary files");
        // Cargo resolves links, so a path with one would not be found in its output.
        let path = root.path().canonicalize().expect("it was just made");
        let t = Sandbox {
            project: path.join(name),
            root,
            env: BTreeMap::new(),
            removed: Vec::new(),
            keep: std::env::var_os("FDO_TESTS_KEEP").is_some(),
        };
        for directory in [&t.project, &t.tools(), &path.join("cache")] {
            fs::create_dir_all(directory).expect("it was just made");
        }
        t.env("XDG_CACHE_HOME", path.join("cache"))
    }

    /// Adds a file to the project, or replaces it.
    #[must_use]
    #[track_caller]
    pub fn file(self, name: &str, text: &str) -> Sandbox {
        self.write(name, text);
        self
    }

    /// Sets a variable for all commands.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Sandbox {
        self.removed.retain(|removed| removed != name);
        self.env.insert(name.into(), value.into());
        self
    }

    /// Unsets a variable of the machine that would reach the sandbox.
    #[must_use]
    pub fn env_remove(mut self, name: &str) -> Sandbox {
        self.removed.push(name.into());
        self
    }

    /// Leaves the fake tools out of `PATH`: they are called by their [`tool`](Self::tool) path
    /// only, and cargo-fdo knows the machine's tools from another sandbox.
    #[must_use]
    pub fn without_tools(self) -> Sandbox {
        let path = std::env::var_os("PATH").unwrap_or_default();
        self.env("PATH", path)
    }

    /// Where a fake tool is.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.tools().join(name)
    }

    /// Puts a tool before the real one of that name, if any.
    #[must_use]
    #[track_caller]
    pub fn fake(self, name: &str, fake: Fake) -> Sandbox {
        fake.install(&self.tools(), name, &binaries::fake_tool(), &machine_path());
        self
    }

    /// Has the calls of a real tool written down.
    #[must_use]
    #[track_caller]
    pub fn spy(self, name: &str) -> Sandbox {
        self.fake(name, Fake::spy())
    }

    /// Has the user's own `RUSTC_WRAPPER` write down its calls, as [`calls`](Self::calls) of
    /// `rustc-wrapper`: the command lines that a real sccache would see.
    #[must_use]
    #[track_caller]
    pub fn rustc_wrapper(self) -> Sandbox {
        let t = self.fake("rustc-wrapper", Fake::wrapper());
        let wrapper = t.tools().join("rustc-wrapper");
        t.env("RUSTC_WRAPPER", wrapper)
    }

    /// Makes spied real compilers the user's own `CC` and `CXX`.
    #[must_use]
    #[track_caller]
    pub fn compilers(self, cc: &str, cxx: &str) -> Sandbox {
        let t = self.spy(cc).spy(cxx);
        let (cc, cxx) = (t.tools().join(cc), t.tools().join(cxx));
        t.env("CC", cc).env("CXX", cxx)
    }

    /// Moves the project to another directory of the sandbox.
    #[must_use]
    #[track_caller]
    pub fn moved_to(mut self, name: &str) -> Sandbox {
        let place = self.root().join(name);
        fs::rename(&self.project, &place).expect("both are in one sandbox");
        self.project = place;
        self
    }

    /// Runs `cargo fdo` in the project, the way cargo calls it.
    #[must_use = "whether it succeeds is for the test to say"]
    #[track_caller]
    pub fn cargo_fdo(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Run {
        Run::of(self.command(binaries::cargo_fdo()).arg("fdo").args(args))
    }

    /// Runs `cargo fdo` at the end of another command, such as `sh -c 'ulimit -f 8; "$@"' sh`.
    #[must_use = "whether it succeeds is for the test to say"]
    #[track_caller]
    pub fn cargo_fdo_behind(&self, words: &[&str], args: &[&str]) -> Run {
        let (program, rest) = words.split_first().expect("a command has a program");
        let mut command = self.command(program);
        command.args(rest).arg(binaries::cargo_fdo());
        Run::of(command.arg("fdo").args(args))
    }

    /// `cargo fdo`, for a test that starts and stops it by itself; its outputs are caught.
    pub fn cargo_fdo_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(binaries::cargo_fdo());
        command
            .arg("fdo")
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs `cargo fdo` in a directory below the project, or beside it.
    #[must_use = "whether it succeeds is for the test to say"]
    #[track_caller]
    pub fn cargo_fdo_in(
        &self,
        directory: &str,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Run {
        let mut command = self.command(binaries::cargo_fdo());
        command.current_dir(self.path(directory));
        Run::of(command.arg("fdo").args(args))
    }

    /// Runs a shell script in the project that finds `cargo-fdo` in its `PATH`.
    #[must_use = "whether it succeeds is for the test to say"]
    #[track_caller]
    pub fn shell_with_cargo_fdo(&self, script: &str) -> Run {
        let link = self.tools().join("cargo-fdo");
        if !link.exists() {
            std::os::unix::fs::symlink(binaries::cargo_fdo(), &link)
                .expect("the sandbox is writable");
        }
        Run::of(self.command("sh").args(["-c", script]))
    }

    /// Runs plain cargo in the project.
    #[must_use = "whether it succeeds is for the test to say"]
    #[track_caller]
    pub fn cargo(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Run {
        let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
        Run::of(self.command(cargo).args(args))
    }

    /// Runs any program in the project, such as one that was built there.
    #[must_use = "whether it succeeds is for the test to say"]
    #[track_caller]
    pub fn run(
        &self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Run {
        Run::of(self.command(program).args(args))
    }

    /// A command in the project, with the sandbox's environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.project);
        for (name, _) in std::env::vars_os() {
            if !reaches_the_sandbox(&name) {
                command.env_remove(name);
            }
        }
        let path = [self.tools()].into_iter().chain(machine_path());
        command
            .env("PATH", std::env::join_paths(path).expect("from a PATH"))
            .env("CARGO_TERM_COLOR", "never")
            .env("LC_ALL", "C")
            .envs(&self.env);
        for name in &self.removed {
            command.env_remove(name);
        }
        command
    }

    /// How a fake or spied tool was called so far, in the order of the calls.
    pub fn calls(&self, name: &str) -> Vec<Call> {
        Call::read(&self.tools().join(name))
    }

    /// The project's directory, or a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.project.join(name)
    }

    /// The directory with everything in it.
    pub fn root(&self) -> &Path {
        self.project.parent().expect("the project lies in the root")
    }

    /// Text of a file of the project.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        let path = self.path(name);
        match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => panic!("can't read `{}`: {error}", path.display()),
        }
    }

    /// Writes a file of the project, with the directories it lies in.
    #[track_caller]
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        let directory = path.parent().expect("a file lies in a directory");
        let written = fs::create_dir_all(directory).and_then(|()| fs::write(&path, text));
        if let Err(error) = written {
            panic!("can't write `{}`: {error}", path.display());
        }
    }

    /// The raw profiles that `cargo fdo` has under `target/`, sorted.
    pub fn raw_profiles(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        find(&self.path("target"), "profraw", &mut found);
        found.sort();
        found
    }

    fn tools(&self) -> PathBuf {
        self.root().join("tools")
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if self.keep && std::thread::panicking() {
            self.root.disable_cleanup(true);
            crate::tools::say(&format!("kept: {}", self.root().display()));
        }
    }
}

/// Whether a variable of the machine may be seen: what finds programs, toolchains and the
/// network, and nothing that changes what a build does.
fn reaches_the_sandbox(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let exact = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TMPDIR",
        "TZ",
        "CARGO",
        "CARGO_HOME",
        "RUST_BACKTRACE",
    ];
    let families = [
        "RUSTUP_",
        "CARGO_NET_",
        "CARGO_HTTP_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "SSL_CERT_",
    ];
    exact.contains(&name)
        || families.iter().any(|family| name.starts_with(family))
        || name.to_ascii_lowercase().ends_with("_proxy")
}

fn machine_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect()
}

/// Copies an example. Paths out of it (`fdo-build = { path = "../../fdo-build" }`) still lead
/// into the repository.
fn copy(from: &Path, to: &Path) {
    let entries = fs::read_dir(from).expect("the repository is readable");
    for entry in entries {
        let entry = entry.expect("the repository is readable");
        let (source, place) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().expect("it exists").is_dir() {
            if entry.file_name() != "target" {
                fs::create_dir_all(&place).expect("the sandbox is writable");
                copy(&source, &place);
            }
        } else if entry.file_name() == "Cargo.toml" {
            let text = fs::read_to_string(&source).expect("a manifest is text");
            let repository = format!("\"{}/", binaries::repository().display());
            let text = text.replace("\"../../", &repository);
            fs::write(place, text).expect("the sandbox is writable");
        } else {
            fs::copy(source, place).expect("the sandbox is writable");
        }
    }
}

fn find(directory: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.is_symlink() {
            find(&path, extension, found);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
}
