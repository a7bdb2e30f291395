//! Fake tools: they write down how they were called, then do what the test wants.
//!
//! One binary is linked under the tools' names into a directory that comes first in `PATH`.
//! Beside each lies `NAME.fake.json`, what to do, and after a call `NAME.calls`, one JSON object
//! a line.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// What a fake tool does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fake {
    behaviour: Behaviour,
    /// Only calls with this argument; the real tool answers the others.
    when: Option<String>,
    /// The real tool, as far as there is one.
    real: Option<PathBuf>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Behaviour {
    Real,
    Wrap,
    Exit {
        code: u8,
        stdout: String,
        stderr: String,
    },
    Garbage,
    Signal(i32),
    Sleep(Duration),
}

impl Fake {
    /// Fails with status 1 and this message.
    pub fn fails(stderr: &str) -> Fake {
        Fake::exits(1, "", stderr)
    }

    /// Does nothing and is content: the commonest way to lose a profile.
    pub fn succeeds() -> Fake {
        Fake::exits(0, "", "")
    }

    /// Says this and is content, such as an answer to `--version`.
    pub fn prints(stdout: &str) -> Fake {
        Fake::exits(0, stdout, "")
    }

    /// Ends with this status and these last words.
    pub fn exits(code: u8, stdout: &str, stderr: &str) -> Fake {
        Fake::new(Behaviour::Exit {
            code,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        })
    }

    /// Writes bytes of no format to the file of `-o`, `--output` or `-o=`, and is content.
    pub fn writes_garbage() -> Fake {
        Fake::new(Behaviour::Garbage)
    }

    /// Is killed by this signal.
    pub fn dies_by(signal: i32) -> Fake {
        Fake::new(Behaviour::Signal(signal))
    }

    /// Takes so long, and is content.
    pub fn sleeps(time: Duration) -> Fake {
        Fake::new(Behaviour::Sleep(time))
    }

    /// Only writes the call down, then becomes the real tool.
    pub fn spy() -> Fake {
        Fake::new(Behaviour::Real)
    }

    /// Runs the command that its arguments are, as ccache, sccache and `RUSTC_WRAPPER` do.
    pub fn wrapper() -> Fake {
        Fake::new(Behaviour::Wrap)
    }

    /// Limits this to calls with `argument`; the real tool answers the others.
    #[must_use]
    pub fn when(mut self, argument: &str) -> Fake {
        self.when = Some(argument.to_owned());
        self
    }

    fn new(behaviour: Behaviour) -> Fake {
        Fake {
            behaviour,
            when: None,
            real: None,
        }
    }

    /// Puts the tool into `directory`; the real one is looked for in `path`.
    #[track_caller]
    pub(crate) fn install(
        mut self,
        directory: &Path,
        name: &str,
        program: &Path,
        path: &[PathBuf],
    ) {
        self.real = path
            .iter()
            .map(|place| place.join(name))
            .find(|file| file.is_file());
        let needs_real = self.when.is_some() || matches!(self.behaviour, Behaviour::Real);
        assert!(
            self.real.is_some() || !needs_real,
            "there is no real `{name}`: ask `tools::require` first"
        );
        let tool = directory.join(name);
        // A hard link, so that the tool keeps its name when its path is resolved.
        if !tool.exists() && fs::hard_link(program, &tool).is_err() {
            fs::copy(program, &tool).expect("the fake tool can be copied");
        }
        let spec = serde_json::to_vec(&self).expect("a fake is plain data");
        fs::write(spec_file(&tool), spec).expect("the sandbox is writable");
    }
}

/// One call of a fake tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The arguments, without the program.
    pub args: Vec<String>,
    /// Where it was called.
    pub cwd: PathBuf,
    /// Variables that compilers, cargo and cargo-fdo speak by.
    pub env: BTreeMap<String, String>,
}

impl Call {
    /// Whether this argument is among them.
    pub fn has(&self, argument: &str) -> bool {
        self.args.iter().any(|arg| arg == argument)
    }

    /// Whether some argument begins so.
    pub fn has_prefix(&self, prefix: &str) -> bool {
        self.args.iter().any(|arg| arg.starts_with(prefix))
    }

    /// The argument after this one.
    pub fn value_of(&self, option: &str) -> Option<&str> {
        let at = self.args.iter().position(|arg| arg == option)?;
        self.args.get(at + 1).map(String::as_str)
    }

    pub(crate) fn read(tool: &Path) -> Vec<Call> {
        // A tool that was never called has no file.
        let text = fs::read_to_string(calls_file(tool)).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).expect("the fake tool writes JSON lines"))
            .collect()
    }

    fn of_this_process() -> Call {
        let speaks = |name: &str| {
            [
                "CARGO", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LLVM", "RUST", "CCACHE",
            ]
            .iter()
            .any(|prefix| name.starts_with(prefix))
                || ["OUT_DIR", "TARGET", "HOST", "PATH"].contains(&name)
        };
        Call {
            args: std::env::args_os()
                .skip(1)
                .map(|arg| arg.to_string_lossy().into_owned())
                .collect(),
            cwd: std::env::current_dir().unwrap_or_default(),
            env: std::env::vars_os()
                .map(|(name, value)| {
                    let text = |part: std::ffi::OsString| part.to_string_lossy().into_owned();
                    (text(name), text(value))
                })
                .filter(|(name, _)| speaks(name))
                .collect(),
        }
    }
}

/// The fake tool's `main`.
#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is what the test is about"
)]
pub fn play() -> ExitCode {
    // The link's name, unlike `argv[0]`, is right however the tool was found.
    let tool = std::env::current_exe().expect("a program has a path");
    let call = Call::of_this_process();
    note(&tool, &call);

    let spec = fs::read(spec_file(&tool)).expect("a fake tool lies beside what it is to do");
    let fake: Fake = serde_json::from_slice(&spec).expect("`Fake::install` writes JSON");
    let meant = fake.when.as_ref().is_none_or(|when| call.has(when));
    match fake.behaviour {
        _ if !meant => become_real(&fake),
        Behaviour::Real => become_real(&fake),
        Behaviour::Wrap => {
            let mut args = std::env::args_os().skip(1);
            let program = args.next().expect("a wrapper is given a command");
            become_program(Command::new(program).args(args))
        }
        Behaviour::Exit {
            code,
            stdout,
            stderr,
        } => {
            print!("{stdout}");
            eprint!("{stderr}");
            ExitCode::from(code)
        }
        Behaviour::Garbage => {
            for file in outputs(&call) {
                fs::write(file, b"\x00\xff garbage \x81").expect("the output is writable");
            }
            ExitCode::SUCCESS
        }
        Behaviour::Signal(signal) => {
            let signal = rustix::process::Signal::from_named_raw(signal).expect("a signal");
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, signal).expect("a process may kill itself");
            // The signal may take a moment, or be ignored.
            std::thread::sleep(Duration::from_secs(1));
            ExitCode::SUCCESS
        }
        Behaviour::Sleep(time) => {
            std::thread::sleep(time);
            ExitCode::SUCCESS
        }
    }
}

fn become_real(fake: &Fake) -> ExitCode {
    let real = fake.real.as_ref().expect("`Fake::install` found it");
    become_program(Command::new(real).args(std::env::args_os().skip(1)))
}

fn become_program(command: &mut Command) -> ExitCode {
    let error = command.exec();
    panic!("can't run {command:?}: {error}");
}

/// One write for each call: parallel calls of a tool append to one file.
fn note(tool: &Path, call: &Call) {
    let mut line = serde_json::to_string(call).expect("a call is plain data");
    line.push('\n');
    fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(calls_file(tool))
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .expect("the sandbox is writable");
}

fn outputs(call: &Call) -> Vec<&str> {
    let options = ["-o", "--output", "-output"];
    let apart = options.iter().filter_map(|option| call.value_of(option));
    let joined = call.args.iter().filter_map(|arg| {
        let (option, file) = arg.split_once('=')?;
        options.contains(&option).then_some(file)
    });
    apart.chain(joined).collect()
}

fn spec_file(tool: &Path) -> PathBuf {
    beside(tool, "fake.json")
}

fn calls_file(tool: &Path) -> PathBuf {
    beside(tool, "calls")
}

fn beside(tool: &Path, ending: &str) -> PathBuf {
    let name = tool.file_name().expect("a tool has a name");
    // Not `with_extension`: `clang-22.1` has none.
    tool.with_file_name(format!("{}.{ending}", name.to_string_lossy()))
}
