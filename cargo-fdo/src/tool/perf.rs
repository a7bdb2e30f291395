//! perf: where it is, its version, and its calls.
//!
//! What it can record on this machine is tried out in [`probe`], what its refusals mean is in
//! [`refusal`].

pub mod probe;
pub mod refusal;

use super::invocation::Invocation;
use super::locate::Places;
use crate::error::{Diagnose, ExitCode};
use probe::Sampling;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Where Debian's and Ubuntu's packages put the perf of each kernel version.
///
/// Any of them works on any kernel: perf and the kernel agree on the size of their structures.
const KERNEL_DIRS: [&str; 3] = [
    "/usr/lib/linux-tools/*/perf",
    "/usr/lib/linux-tools-*/perf",
    "/usr/bin/perf_[0-9]*",
];

/// The variable that names a perf.
const VARIABLE: &str = "PERF";

/// What the variable names; an empty one names nothing.
pub fn variable() -> Option<PathBuf> {
    let value = std::env::var_os(VARIABLE)?;
    (!value.is_empty()).then(|| value.into())
}

/// A perf that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Perf {
    /// The program.
    pub program: PathBuf,
    /// What follows `perf version`.
    pub version: String,
}

/// There is no perf that runs.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// None was found.
    #[error("perf is not installed")]
    Missing,
    /// What was found is a script that looks for the perf of the running kernel, and fails.
    #[error("`{}` is a wrapper that finds no perf for the running kernel {kernel}", program.display())]
    Wrapper {
        /// The script.
        program: PathBuf,
        /// `uname -r`.
        kernel: String,
    },
    /// The one that was asked for does not run.
    #[error("`{}`, the perf of {origin}, can't be used: {reason}", program.display())]
    Unusable {
        /// The program.
        program: PathBuf,
        /// Who named it.
        origin: &'static str,
        /// Why.
        reason: String,
    },
}

impl Diagnose for PerfError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            PerfError::Missing => {
                "Debian: `apt install linux-perf`; Ubuntu: `apt install linux-tools-generic`; \
                 Fedora: `dnf install perf`; `--method instrument` needs none"
                    .into()
            }
            PerfError::Wrapper { kernel, .. } => format!(
                "`apt install linux-tools-{kernel}`, or `linux-tools-generic` for a perf of \
                 another kernel: it works too, and is found in /usr/lib/linux-tools"
            ),
            PerfError::Unusable { .. } => format!(
                "`perf` in the table [tool] of fdo.toml, or the variable {VARIABLE}, names \
                 another one; without both it is looked for"
            ),
        })
    }
}

impl Perf {
    /// The perf that is named, with who names it, or that the variable names, else the first that runs.
    ///
    /// # Errors
    ///
    /// [`PerfError`]
    pub fn locate(
        named: Option<(&Path, &'static str)>,
        variable: Option<&Path>,
        places: &Places,
    ) -> Result<Perf, PerfError> {
        let variable = variable.map(|program| (program, "the variable PERF"));
        if let Some((program, origin)) = named.or(variable) {
            return attempt(program, places).map_err(|reason| PerfError::Unusable {
                program: program.to_owned(),
                origin,
                reason,
            });
        }
        let in_path = places.find("perf");
        let mut candidates: Vec<PathBuf> = in_path.iter().cloned().collect();
        candidates.extend(of_kernels(&KERNEL_DIRS));
        if let Some(perf) = candidates
            .iter()
            .find_map(|program| attempt(program, places).ok())
        {
            return Ok(perf);
        }
        Err(match in_path {
            None => PerfError::Missing,
            Some(program) => match attempt(&program, places) {
                Err(reason) if is_wrapper(&reason) => PerfError::Wrapper {
                    program,
                    kernel: kernel(),
                },
                Err(reason) => PerfError::Unusable {
                    program,
                    origin: "PATH",
                    reason,
                },
                // It came to its senses in the meantime.
                Ok(perf) => return Ok(perf),
            },
        })
    }

    /// `perf record` around a command, which becomes its child with all that it starts.
    ///
    /// perf ends as the command does; a signal that ended the command, ends it too.
    pub fn record(
        &self,
        sampling: &Sampling,
        limits: &Limits,
        out: &Path,
        command: &Invocation,
    ) -> Invocation {
        let mut call = self.recorder(sampling, limits, out);
        call.env.extend(command.env.iter().cloned());
        call.cwd.clone_from(&command.cwd);
        call.arg("--").arg(&command.program).args(&command.args)
    }

    /// `perf record` of processes that run already, until SIGINT, their end, or that of `load`.
    pub fn attach(
        &self,
        sampling: &Sampling,
        limits: &Limits,
        out: &Path,
        whom: &Whom,
        load: Option<&Invocation>,
    ) -> Invocation {
        let call = self.recorder(sampling, limits, out);
        let call = match whom {
            Whom::Processes(pids) => {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                call.args(["-p", &pids.join(",")])
            }
            Whom::System => call.arg("-a"),
        };
        match load {
            None => call,
            Some(load) => {
                let mut call = call;
                call.env.extend(load.env.iter().cloned());
                call.cwd.clone_from(&load.cwd);
                call.arg("--").arg(&load.program).args(&load.args)
            }
        }
    }

    fn recorder(&self, sampling: &Sampling, limits: &Limits, out: &Path) -> Invocation {
        let mut call = Invocation::new(&self.program)
            // The user's ~/.perfconfig could switch on call graphs or other outputs.
            .env("PERF_CONFIG", "/dev/null")
            .args(["record", "-q", "-o"])
            .arg(out)
            .args(sampling.arguments());
        if let Some(size) = limits.max_bytes {
            call = call.args(["--max-size", &format!("{size}B")]);
        }
        if let Some(bytes) = limits.buffer_bytes {
            call = call.args(["-m", &format!("{bytes}B")]);
        }
        if limits.compress {
            call = call.arg("-z");
        }
        call
    }
}

/// What bounds a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// perf stops when its file has this size.
    pub max_bytes: Option<u64>,
    /// The buffer of each processor between kernel and perf.
    pub buffer_bytes: Option<u64>,
    /// Whether records are compressed.
    pub compress: bool,
}

/// Which running processes are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    /// These, and what they start from now on.
    Processes(Vec<u32>),
    /// All.
    System,
}

/// How long a perf may take to say its version: it may be on a slow disk.
const ANSWER: std::time::Duration = std::time::Duration::from_secs(20);

/// A perf that says its version, or the first line of why not.
fn attempt(program: &Path, places: &Places) -> Result<Perf, String> {
    let Some(program) = places.find(program) else {
        return Err("it is not there, or no program".to_owned());
    };
    let said = Invocation::new(&program)
        .arg("--version")
        .probe_within(ANSWER)
        .map_err(|error| error.to_string())?;
    match said.stdout.trim().strip_prefix("perf version ") {
        Some(version) if said.status.success() => Ok(Perf {
            program,
            version: version.trim().to_owned(),
        }),
        _ => Err(said
            .stderr
            .lines()
            .chain(said.stdout.lines())
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or("it does not say its version")
            .to_owned()),
    }
}

/// `WARNING: perf not found for kernel 6.8.0-45`, as Ubuntu's script says it, or Debian's
/// `E: linux-perf-5.10 is not installed.`
fn is_wrapper(words: &str) -> bool {
    words.contains("not found for kernel")
        || (words.contains("linux-perf") && words.contains("not installed"))
}

/// The perfs of kernel packages, the highest version first.
fn of_kernels(patterns: &[&str]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = patterns
        .iter()
        .flat_map(|pattern| glob::glob(pattern).into_iter().flatten().flatten())
        .collect();
    found.sort_by_cached_key(|path| std::cmp::Reverse(numbers(&path.to_string_lossy())));
    found
}

/// The numbers in a text, so that 6.10 comes after 6.8.
fn numbers(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

/// The running kernel's release, as `uname -r` says it.
pub fn kernel() -> String {
    rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::probe::{Pace, Quality};
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_wrapper_without_its_perf_is_told_from_none_and_from_a_broken_one() {
        let dir = tempfile::tempdir().unwrap();
        let perf = dir.path().join("perf");
        let places = Places::only(dir.path());
        script(
            &perf,
            "echo 'WARNING: perf not found for kernel 6.8.0-45' >&2; exit 2",
        );
        let reason = attempt(&perf, &places).unwrap_err();
        assert!(is_wrapper(&reason), "{reason}");
        script(
            &perf,
            "echo 'error while loading shared libraries' >&2; exit 127",
        );
        let reason = attempt(&perf, &places).unwrap_err();
        assert!(!is_wrapper(&reason), "{reason}");

        script(&perf, "echo 'perf version 6.8.12'");
        let found = Perf::locate(None, None, &places).unwrap();
        assert_eq!((found.program, found.version.as_str()), (perf, "6.8.12"));
        let named =
            Perf::locate(Some((Path::new("no/perf"), "fdo.toml")), None, &places).unwrap_err();
        assert!(named.to_string().contains("not there"), "{named}");
    }

    #[test]
    fn the_newest_perf_of_the_kernel_packages_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        let at = |version: &str| dir.path().join(version).join("perf");
        for version in ["5.15.0-9-generic", "6.8.0-45-generic", "6.10.1-1-generic"] {
            script(&at(version), "");
        }
        let pattern = format!("{}/*/perf", dir.path().display());
        assert_eq!(
            of_kernels(&[&pattern]),
            [
                at("6.10.1-1-generic"),
                at("6.8.0-45-generic"),
                at("5.15.0-9-generic")
            ]
        );
    }

    #[test]
    fn a_recording_has_the_commands_words_directory_and_variables() {
        let perf = Perf {
            program: "perf".into(),
            version: "6.1".into(),
        };
        let sampling = Sampling {
            event: "cpu-clock:u".into(),
            branch_stacks: false,
            pace: Pace::Frequency(15_000),
            quality: Quality::Clock,
            calls: None,
            build_ids: true,
        };
        let limits = Limits {
            max_bytes: Some(1 << 20),
            ..Limits::default()
        };
        let command = Invocation::new("./app").arg("a b").env("A", "1").cwd("/w");
        let call = perf.record(&sampling, &limits, Path::new("/o/perf.data"), &command);
        assert_eq!(
            call.to_string(),
            "cd /w && PERF_CONFIG=/dev/null A=1 perf record -q -o /o/perf.data -e cpu-clock:u \
             -F 15000 --buildid-mmap --max-size 1048576B -- ./app 'a b'"
        );
        let whom = Whom::Processes(vec![7, 12]);
        let call = perf.attach(&sampling, &Limits::default(), Path::new("o"), &whom, None);
        assert!(
            call.to_string().ends_with("--buildid-mmap -p '7,12'"),
            "{call}"
        );
    }
}
