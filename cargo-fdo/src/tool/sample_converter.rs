//! Converters of others: autofdo's `create_gcov` and `create_llvm_prof`, LLVM's `llvm-profgen`,
//! and autofdo's `profile_merger`.
//!
//! Each is used only after it converted a recording of a tiny program, made with the very perf and
//! compiler. With distributions' versions they mostly fail, and mostly without a word: create_gcov
//! 0.19 reads neither DWARF 5 nor compressed records and writes an empty profile then, llvm-profgen
//! 22 wants branch stacks.

use super::invocation::{Invocation, ToolError};
use super::locate::Places;
use super::perf::probe::Sampling;
use super::perf::{Limits, Perf};
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use crate::profile::sample::{
    BodySample, FunctionSamples, Location, SampleProfile, gcov, llvm_text,
};
use std::path::{Path, PathBuf};

/// What makes a profile from a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Converter {
    /// Ours.
    #[default]
    Native,
    /// autofdo's, for gcc.
    CreateGcov,
    /// autofdo's, for LLVM.
    CreateLlvmProf,
    /// LLVM's; only with branch stacks.
    LlvmProfgen,
}

impl Converter {
    /// All, by their names.
    pub const NAMES: [(&'static str, Converter); 4] = [
        ("native", Converter::Native),
        ("create_gcov", Converter::CreateGcov),
        ("create_llvm_prof", Converter::CreateLlvmProf),
        ("llvm-profgen", Converter::LlvmProfgen),
    ];

    /// The name, which is that of the program where it is not ours.
    pub fn name(self) -> &'static str {
        Converter::NAMES
            .iter()
            .find(|(_, converter)| *converter == self)
            .map_or("native", |(name, _)| name)
    }
}

/// What merges profiles of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Merger {
    /// Ours.
    #[default]
    Native,
    /// autofdo's, for gcc's.
    ProfileMerger,
}

/// The program of the canary: one function that takes the time, called from a `main` that a
/// profile without heads would find cold.
const CANARY: &str = "\
__attribute__((noinline)) unsigned fdo_canary(unsigned n) {
  unsigned sum = 0;
  for (unsigned i = 0; i < n; i++)
    if (i % 3)
      sum += i * 7;
    else
      sum ^= i;
  return sum;
}
int main(void) {
  unsigned sum = 0;
  for (int i = 0; i < 100; i++)
    sum += fdo_canary(1000000 + i);
  return sum == 1;
}
";

/// The function that the canary's profile must hold.
const SINGS: &str = "fdo_canary";

/// A converter can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConverterError {
    /// It did not convert the canary, or not right.
    #[error(
        "`{program}` does not convert a recording of this machine: {reason}\n  command: {command}"
    )]
    Canary {
        /// The converter.
        program: String,
        /// What it did instead.
        reason: String,
        /// The call.
        command: String,
    },
    /// It makes no profile of that kind.
    #[error("`{program}` makes no profiles that {compiler} reads")]
    WrongKind {
        /// The converter.
        program: &'static str,
        /// `gcc`, or `rustc and clang`.
        compiler: &'static str,
    },
    /// The canary's program could not be compiled or recorded.
    #[error("`{program}` could not be tried out")]
    NoTrial {
        /// The converter.
        program: &'static str,
        /// Why.
        #[source]
        source: ToolError,
    },
    /// It failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// It wrote something unreadable.
    #[error("`{program}` wrote something that can't be read: {reason}")]
    Output {
        /// The converter.
        program: String,
        /// What is wrong.
        reason: String,
    },
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for ConverterError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        match self {
            ConverterError::Tool(error) => error.hint(),
            ConverterError::Fs(error) => error.hint(),
            _ => Some(
                "`converter = \"native\"` in the table [sample] of fdo.toml, the default, needs \
                 no other program"
                    .into(),
            ),
        }
    }
}

/// Which compilers read the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// rustc and clang.
    Llvm,
    /// gcc.
    Gcc,
}

impl Readers {
    fn name(self) -> &'static str {
        match self {
            Readers::Llvm => "rustc and clang",
            Readers::Gcc => "gcc",
        }
    }
}

/// The call that converts, and which compilers it is for; `None` for our own converter.
fn call(
    converter: Converter,
    binary: &Path,
    recording: &Path,
    out: &Path,
) -> Option<(Invocation, Readers)> {
    let option = |name: &str, path: &Path| format!("--{name}={}", path.display());
    Some(match converter {
        Converter::Native => return None,
        Converter::CreateGcov => (
            Invocation::new("create_gcov")
                .arg(option("binary", binary))
                .arg(option("profile", recording))
                .arg(option("gcov", out))
                .arg("--gcov_version=2"),
            Readers::Gcc,
        ),
        Converter::CreateLlvmProf => (
            Invocation::new("create_llvm_prof")
                .arg(option("binary", binary))
                .arg(option("profile", recording))
                .arg(option("out", out))
                .arg("--format=text"),
            Readers::Llvm,
        ),
        Converter::LlvmProfgen => (
            Invocation::new("llvm-profgen")
                .arg(option("binary", binary))
                .arg(option("perfdata", recording))
                .arg(option("output", out))
                .arg("--format=text"),
            Readers::Llvm,
        ),
    })
}

/// A converter that proved that it works.
#[derive(Debug, Clone)]
pub struct Proved {
    converter: Converter,
    program: PathBuf,
}

/// Finds the converter and has it convert a recording of a tiny program.
///
/// `compile`: a C compiler and its flags for the phase that is recorded. `program`: where the
/// converter is, if not under its name in `PATH`.
///
/// # Errors
///
/// [`ConverterError`]: it does not work here, with what it said.
pub fn prove(
    converter: Converter,
    program: Option<&Path>,
    compile: &[String],
    perf: &Perf,
    sampling: &Sampling,
    scratch: &Path,
) -> Result<Proved, ConverterError> {
    let program = program.map_or_else(|| located(converter), Path::to_owned);
    let dir = scratch.join("converter");
    fs::create_dir(&dir)?;
    let (source, binary) = (dir.join("canary.c"), dir.join("canary"));
    fs::write_quick(&source, CANARY.as_bytes())?;
    let no_trial = |source| ConverterError::NoTrial {
        program: converter.name(),
        source,
    };
    let (cc, flags) = compile.split_first().ok_or_else(|| {
        let error = std::io::Error::other("no C compiler to try it with");
        no_trial(Invocation::new("cc").start_error(error))
    })?;
    Invocation::new(cc)
        .args(flags)
        .args(["-O2", "-o"])
        .arg(&binary)
        .arg(&source)
        .run()
        .map_err(no_trial)?;
    let recording = dir.join("perf.data");
    perf.record(
        sampling,
        &Limits::default(),
        &recording,
        &Invocation::new(&binary),
    )
    .run()
    .map_err(no_trial)?;
    let proved = Proved { converter, program };
    let fail = |reason: String, command: String| ConverterError::Canary {
        program: converter.name().to_owned(),
        reason,
        command,
    };
    let (profile, command) = match proved.attempt(&binary, &recording, &dir) {
        Ok(done) => done,
        Err((reason, command)) => return Err(fail(reason, command)),
    };
    let samples = profile.functions.get(SINGS).map_or(0, |function| {
        function
            .total
            .max(function.body.values().map(|body| body.count).sum())
    });
    if samples == 0 {
        return Err(fail(
            format!("it ended well, and its profile has no samples of `{SINGS}`"),
            command,
        ));
    }
    Ok(proved)
}

/// By its name, or where packages have it with a version only, the newest.
fn located(converter: Converter) -> PathBuf {
    let places = Places::of_process();
    let name = PathBuf::from(converter.name());
    if places.find(&name).is_some() {
        return name;
    }
    let versions = places.versions(converter.name());
    versions.into_iter().next().map_or(name, |(_, path)| path)
}

impl Proved {
    /// Converts a recording of a program.
    ///
    /// # Errors
    ///
    /// If it fails, or makes nothing that can be read.
    pub fn convert(
        &self,
        readers: Readers,
        binary: &Path,
        recording: &Path,
        scratch: &Path,
    ) -> Result<SampleProfile, ConverterError> {
        if self.readers() != Some(readers) {
            return Err(ConverterError::WrongKind {
                program: self.converter.name(),
                compiler: readers.name(),
            });
        }
        self.attempt(binary, recording, scratch)
            .map(|(profile, _)| profile)
            .map_err(|(reason, _)| ConverterError::Output {
                program: self.converter.name().to_owned(),
                reason,
            })
    }

    /// Which compilers its profiles are for.
    pub fn readers(&self) -> Option<Readers> {
        let nowhere = Path::new("");
        call(self.converter, nowhere, nowhere, nowhere).map(|(_, readers)| readers)
    }

    /// The profile and the call, or the reason and the call.
    fn attempt(
        &self,
        binary: &Path,
        recording: &Path,
        scratch: &Path,
    ) -> Result<(SampleProfile, String), (String, String)> {
        let out = scratch.join("converted");
        let _ = std::fs::remove_file(&out);
        let Some((mut call, readers)) = call(self.converter, binary, recording, &out) else {
            return Err(("it is our own".to_owned(), String::new()));
        };
        call.program.clone_from(&self.program);
        let command = call.to_string();
        let fail = |reason: String| (reason, command.clone());
        let said = call.run().map_err(|error| fail(error.to_string()))?;
        let bytes = std::fs::read(&out).unwrap_or_default();
        let words = said
            .stderr
            .lines()
            .find(|line| !line.trim().is_empty())
            .map_or(String::new(), |line| format!("; it said: {}", line.trim()));
        if bytes.is_empty() {
            return Err(fail(format!("it ended well, and wrote nothing{words}")));
        }
        let profile = match readers {
            Readers::Llvm => llvm_text::read(&bytes).map_err(|error| error.to_string()),
            Readers::Gcc => gcov::read(&bytes)
                .map(|file| file.profile)
                .map_err(|error| error.to_string()),
        };
        let profile = profile.map_err(fail)?;
        if profile.functions.is_empty() {
            return Err(fail(format!(
                "it ended well, and wrote a profile of {} bytes without functions{words}",
                bytes.len()
            )));
        }
        Ok((profile, command))
    }
}

/// Has autofdo's merger add up two profiles of one function.
///
/// # Errors
///
/// [`ConverterError`]: it does not work here, with what it said.
pub fn prove_merger(scratch: &Path) -> Result<(), ConverterError> {
    let dir = scratch.join("merger");
    fs::create_dir(&dir)?;
    let mut files = Vec::new();
    // It drops functions of a few samples.
    for count in [5000, 7000] {
        let body = BodySample {
            count,
            ..BodySample::default()
        };
        let function = FunctionSamples {
            total: count,
            head: count,
            body: [(Location::default(), body)].into(),
            ..FunctionSamples::default()
        };
        let mut profile = SampleProfile::default();
        profile.functions.insert(SINGS.to_owned(), function);
        let path = dir.join(format!("{count}.afdo"));
        let file = gcov::GcovProfile::new(gcov::Version::V1, profile);
        fs::write_quick(&path, &gcov::write(&file).bytes)?;
        files.push(path);
    }
    let merged = merge_gcov(&files, &dir)?;
    match merged.functions.get(SINGS).map(|function| function.head) {
        Some(12000) => Ok(()),
        other => Err(ConverterError::Output {
            program: "profile_merger".to_owned(),
            reason: format!("it made {} of 5000 and 7000", other.unwrap_or(0)),
        }),
    }
}

/// Merges AutoFDO files by autofdo's own program. They are of version 1, as 0.19 aborts on any of
/// version 2; it leaves out functions with ten samples and fewer.
///
/// # Errors
///
/// If it fails, or makes nothing that can be read.
pub fn merge_gcov(files: &[PathBuf], scratch: &Path) -> Result<SampleProfile, ConverterError> {
    const PROGRAM: &str = "profile_merger";
    let out = scratch.join("merged.afdo");
    Invocation::new(PROGRAM)
        .arg(format!("--output_file={}", out.display()))
        .args(["--gcov_version=1", "--sample_threshold_frac=0"])
        .args(files)
        .run()?;
    let bytes = std::fs::read(&out).unwrap_or_default();
    let fail = |reason: String| ConverterError::Output {
        program: PROGRAM.to_owned(),
        reason,
    };
    let merged = gcov::read(&bytes).map_err(|error| fail(error.to_string()))?;
    if merged.profile.functions.is_empty() {
        return Err(fail("it has no functions".to_owned()));
    }
    Ok(merged.profile)
}
