//! C and C++ compilers: which one a build would use, what it is, and whether its counters fit
//! rustc's.
//!
//! A compiler is known by what it does: `cc` may be gcc or clang, and a name with a version
//! may be a link to another one. So each is asked to preprocess, compile and link.

use super::locate::first_time;
use super::{Invocation, Places, ToolError, raw_version, scratch};
use crate::error::{Diagnose, ExitCode};
use crate::fs::FsError;
use fdo_build::protocol::Family;
use std::fmt;
use std::path::{Path, PathBuf};

/// The oldest clang worth trying: older formats fit no rustc that we support, and each trial
/// takes time.
const OLDEST_CLANG: u32 = 15;

/// Programs that run the compiler named after them.
const LAUNCHERS: [&str; 6] = [
    "ccache",
    "sccache",
    "distcc",
    "icecc",
    "cachepot",
    "buildcache",
];

/// One C or C++ compiler.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CCompiler {
    /// Launchers, the program, and the arguments that belong to it.
    pub command: Vec<String>,
    /// Whose flags it takes.
    #[serde(with = "family_name")]
    pub family: Family,
    /// The first line of `--version`.
    pub version_line: String,
    /// Its major version; of clang, that of its LLVM (Apple counts otherwise).
    pub major: u32,
    /// The target that it says it compiles for, in its own spelling.
    pub target: Option<String>,
    /// The raw profile version of its objects with IR-level counters; none for gcc.
    pub raw_version: Option<u64>,
    /// Whether it can link an instrumented program of its own.
    pub runtime: bool,
}

/// Why a compiler can't be asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no program in the command.
    #[error("the C compiler's command is empty")]
    Empty,
    /// It does not run, or does not compile.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A probe could not be written or read.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for Error {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        match self {
            Error::Empty => Some("look at `CC` and its forms with a target triple".into()),
            Error::Tool(error) => error.hint(),
            Error::Fs(error) => error.hint(),
        }
    }
}

/// Why a C compiler's objects can't share a program with instrumented Rust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// Its counters are of another kind.
    NotClang(Family),
    /// It puts no IR-level counters in.
    NoCounters,
    /// Its counters have another format; linking them crashes the program.
    RawVersion {
        /// The format of this compiler.
        own: u64,
        /// The format of rustc.
        rustc: u64,
    },
    /// It has no profile runtime, so a build that links with it fails.
    NoRuntime,
    /// There is no C++ compiler of the same version.
    NoCxx,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::NotClang(Family::Gcc) => f.write_str("gcc's counters are not LLVM's"),
            Misfit::NotClang(_) => f.write_str("not clang"),
            Misfit::NoCounters => f.write_str("`-fprofile-generate` puts no counters in"),
            Misfit::RawVersion { own, rustc } => write!(
                f,
                "writes raw profile version {own}, rustc writes {rustc}: \
                 a program linked from both would crash"
            ),
            Misfit::NoRuntime => f.write_str("its profile runtime (libclang-rt) is missing"),
            Misfit::NoCxx => f.write_str("there is no C++ compiler of its version beside it"),
        }
    }
}

impl CCompiler {
    /// Tries a compiler out.
    ///
    /// Launchers are left out of it: a cache should not hold probes, and may need a server.
    ///
    /// # Errors
    ///
    /// It does not run or can't even preprocess. What it merely has not got is in the result.
    pub fn inspect(command: &[String], scratch: &Path) -> Result<CCompiler, Error> {
        let dir = scratch::dir(scratch)?;
        let bare = &command[launchers(command)..];
        let (program, args) = bare.split_first().ok_or(Error::Empty)?;
        let program = absolute(program);
        let call = || Invocation::new(&program).args(args).cwd(dir.path());

        scratch::write(&dir.path().join("macros.c"), MACROS)?;
        let macros = call().args(["-E", "macros.c"]).run()?.stdout;
        let (family, major) = parse_macros(&macros);
        let version = call().arg("--version").probe()?.stdout;
        let machine = call().arg("-dumpmachine").probe()?;

        let mut compiler = CCompiler {
            command: command.to_vec(),
            family,
            version_line: version.lines().next().unwrap_or_default().trim().to_owned(),
            major,
            target: Some(machine.stdout.trim().to_owned())
                .filter(|target| machine.status.success() && !target.is_empty()),
            raw_version: None,
            runtime: false,
        };
        if family == Family::Unknown {
            return Ok(compiler);
        }
        // `-x c`, since clang++ would warn; one file for both, since a link needs `main`.
        scratch::write(&dir.path().join("probe.c"), PROBE)?;
        if family == Family::Clang {
            let compiled = call()
                .args([
                    "-fprofile-generate",
                    "-x",
                    "c",
                    "-c",
                    "probe.c",
                    "-o",
                    "probe.o",
                ])
                .probe()?;
            if compiled.status.success() {
                compiler.raw_version = raw_version::read(&dir.path().join("probe.o"))
                    .ok()
                    .flatten();
            }
        }
        let linked = call()
            .args(["-fprofile-generate", "-x", "c", "probe.c", "-o", "probe"])
            .probe()?;
        compiler.runtime = linked.status.success();
        Ok(compiler)
    }

    /// A compiler that could not be asked.
    pub fn unusable(command: &[String]) -> CCompiler {
        CCompiler {
            command: command.to_vec(),
            family: Family::Unknown,
            version_line: String::new(),
            major: 0,
            target: None,
            raw_version: None,
            runtime: false,
        }
    }

    /// The compiler without launchers.
    pub fn program(&self) -> &Path {
        let bare = &self.command[launchers(&self.command)..];
        Path::new(bare.first().map_or("", String::as_str))
    }

    /// A call of the compiler without launchers, to be given its work.
    pub fn call(&self) -> Invocation {
        let bare = &self.command[launchers(&self.command)..];
        Invocation::new(self.program()).args(bare.iter().skip(1))
    }

    /// Why its objects can't be linked with instrumented Rust; `None` if they can.
    pub fn misfit(&self, rustc_raw: u64) -> Option<Misfit> {
        if self.family != Family::Clang {
            return Some(Misfit::NotClang(self.family));
        }
        match self.raw_version {
            None => Some(Misfit::NoCounters),
            Some(own) if own != rustc_raw => Some(Misfit::RawVersion {
                own,
                rustc: rustc_raw,
            }),
            Some(_) if !self.runtime => Some(Misfit::NoRuntime),
            Some(_) => None,
        }
    }
}

/// The probes run elsewhere, where a relative path means something else; a name does not.
fn absolute(program: &str) -> PathBuf {
    let path = Path::new(program);
    if path.components().count() > 1 {
        std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
    } else {
        path.to_owned()
    }
}

/// Tells compilers apart by what they define, whatever they are called.
///
/// Intel's and others' pretend to be gcc, but don't take all its flags.
const MACROS: &str = "\
#if defined(__clang__)
cargo_fdo clang __clang_major__
#elif defined(__INTEL_COMPILER) || defined(__PGI) || defined(__TINYC__)
cargo_fdo unknown 0
#elif defined(__GNUC__)
cargo_fdo gcc __GNUC__
#endif
";

const PROBE: &str = "int probe(int x) { return x > 3 ? x : 1; }\n\
                     int main(int argc, char **argv) { (void)argv; return probe(argc) - 1; }\n";

fn parse_macros(preprocessed: &str) -> (Family, u32) {
    let words = preprocessed
        .lines()
        .find_map(|line| line.trim().strip_prefix("cargo_fdo "));
    let mut words = words.unwrap_or_default().split_whitespace();
    let family = match words.next() {
        Some("clang") => Family::Clang,
        Some("gcc") => Family::Gcc,
        _ => Family::Unknown,
    };
    let major = words.next().and_then(|word| word.parse().ok());
    (family, major.unwrap_or(0))
}

/// How many words of a command are launchers such as `ccache`.
pub fn launchers(command: &[String]) -> usize {
    command
        .iter()
        .take_while(|word| {
            let stem = Path::new(word).file_stem().unwrap_or_default();
            LAUNCHERS.iter().any(|launcher| stem == *launcher)
        })
        .count()
        // A launcher alone is not a command; better let it explain itself.
        .min(command.len().saturating_sub(1))
}

/// The launcher that the `cc` crate takes over from `RUSTC_WRAPPER` where `CC` names none.
///
/// Inside cargo-fdo that variable is ours, so we have to do it.
pub fn launcher_from_rustc_wrapper(wrapper: &str) -> Option<&str> {
    let stem = Path::new(wrapper).file_stem()?;
    ["sccache", "cachepot", "buildcache"]
        .iter()
        .any(|launcher| stem == *launcher)
        .then_some(wrapper)
}

/// The compiler that the user's environment asks for, as the `cc` crate reads it: the name of
/// the deciding variable and its words. `variable` is `CC` or `CXX`.
///
/// The first one that is set decides, even if it is empty (then: no choice).
pub fn user_choice(
    env: &dyn Fn(&str) -> Option<String>,
    triple: &str,
    host: &str,
    variable: &str,
) -> Option<(String, Vec<String>)> {
    let kind = if triple == host { "HOST" } else { "TARGET" };
    let names = [
        format!("{variable}_{triple}"),
        format!("{variable}_{}", triple.replace(['-', '.'], "_")),
        format!("{kind}_{variable}"),
        variable.to_owned(),
    ];
    let (name, value) = names
        .into_iter()
        .find_map(|name| env(&name).map(|value| (name, value)))?;
    let words = words(&value);
    (!words.is_empty()).then_some((name, words))
}

/// Splits a value of `CC` into words; a path with spaces that exists is one word.
fn words(value: &str) -> Vec<String> {
    let value = value.trim();
    if Path::new(value).is_file() {
        return vec![value.to_owned()];
    }
    // An unpaired quote is no reason to forget the user's choice: `cc` splits at spaces alone.
    shlex::split(value).unwrap_or_else(|| value.split_whitespace().map(str::to_owned).collect())
}

/// What a search for a clang found.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Search {
    /// The C and the C++ compiler to use.
    pub found: Option<(CCompiler, CCompiler)>,
    /// What else was tried, and why not.
    pub rejected: Vec<(CCompiler, String)>,
}

/// Finds a clang whose objects can be linked with instrumented Rust, best one with rustc's own
/// LLVM version: then both read the same profile.
pub fn fitting_clang(rustc_raw: u64, llvm_major: u32, places: &Places, scratch: &Path) -> Search {
    let mut search = Search::default();
    let mut second_best = None;
    for candidate in clang_candidates(llvm_major, places) {
        let command = [candidate.display().to_string()];
        let cc = match CCompiler::inspect(&command, scratch) {
            Ok(cc) => cc,
            Err(error) => {
                let rejected = (CCompiler::unusable(&command), error.to_string());
                search.rejected.push(rejected);
                continue;
            }
        };
        match with_cxx(&cc, rustc_raw, scratch) {
            Ok(cxx) if cc.major == llvm_major => {
                search.found = Some((cc, cxx));
                return search;
            }
            Ok(cxx) if second_best.is_none() => second_best = Some((cc, cxx)),
            Ok(_) => {}
            Err(misfit) => search.rejected.push((cc, misfit.to_string())),
        }
    }
    search.found = second_best;
    search
}

/// The clangs of this machine, in the order to try them.
pub fn clang_candidates(llvm_major: u32, places: &Places) -> Vec<PathBuf> {
    let versions = places.versions("clang");
    let own = versions
        .iter()
        .filter(|(version, _)| *version == llvm_major)
        .map(|(_, path)| path.clone());
    let others = versions
        .iter()
        .filter(|(version, _)| *version != llvm_major && *version >= OLDEST_CLANG)
        .map(|(_, path)| path.clone());
    let mut seen = Vec::new();
    own.chain(places.find("clang"))
        .chain(others)
        .filter(|path| first_time(&mut seen, path))
        .collect()
}

/// The C++ compiler beside a C compiler that fits.
///
/// # Errors
///
/// Why the pair can't be used.
pub fn with_cxx(cc: &CCompiler, rustc_raw: u64, scratch: &Path) -> Result<CCompiler, Misfit> {
    if let Some(misfit) = cc.misfit(rustc_raw) {
        return Err(misfit);
    }
    let command = cxx_command(&cc.command).ok_or(Misfit::NoCxx)?;
    let cxx = CCompiler::inspect(&command, scratch).map_err(|_| Misfit::NoCxx)?;
    pair(cc, cxx, rustc_raw)
}

/// A C++ compiler, if it goes with that C compiler: they share the profile.
///
/// # Errors
///
/// Why it does not.
pub fn pair(cc: &CCompiler, cxx: CCompiler, rustc_raw: u64) -> Result<CCompiler, Misfit> {
    match cxx.misfit(rustc_raw) {
        Some(misfit) => Err(misfit),
        None if cxx.major != cc.major => Err(Misfit::NoCxx),
        None => Ok(cxx),
    }
}

/// The command with `clang++-22` for `clang-22` or `c++` for `cc`, launchers and arguments kept.
pub(crate) fn cxx_command(command: &[String]) -> Option<Vec<String>> {
    let at = launchers(command);
    let program = Path::new(command.get(at)?);
    let name = program.file_name()?.to_str()?;
    // The last one: a cross compiler is called `aarch64-linux-gnu-clang`.
    let cxx_name = match name.rsplit_once("clang") {
        Some((before, after)) => format!("{before}clang++{after}"),
        None => format!("{}c++", name.strip_suffix("cc")?),
    };
    let mut cxx = command.to_vec();
    cxx[at] = program.with_file_name(cxx_name).to_str()?.to_owned();
    Some(cxx)
}

pub(crate) mod family_name {
    //! [`Family`] by name: its crate has no dependencies, so no serde.

    use fdo_build::protocol::Family;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(family: &Family, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(family.name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Family, D::Error> {
        let name = String::deserialize(d)?;
        Ok([Family::Rustc, Family::Clang, Family::Gcc]
            .into_iter()
            .find(|family| family.name() == name)
            .unwrap_or(Family::Unknown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIPLE: &str = "x86_64-unknown-linux-gnu";

    fn choice(vars: &[(&str, &str)], triple: &str) -> Option<(String, Vec<String>)> {
        let env = |name: &str| {
            vars.iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        user_choice(&env, triple, TRIPLE, "CC")
    }

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn the_most_specific_variable_decides() {
        let all = [
            ("CC", "e"),
            ("TARGET_CC", "d"),
            ("HOST_CC", "c"),
            ("CC_x86_64_unknown_linux_gnu", "b"),
            ("CC_x86_64-unknown-linux-gnu", "a"),
        ];
        let names: Vec<_> = (1..=5)
            .rev()
            .map(|n| choice(&all[..n], TRIPLE).unwrap().0)
            .collect();
        assert_eq!(
            names,
            [
                "CC_x86_64-unknown-linux-gnu",
                "CC_x86_64_unknown_linux_gnu",
                "HOST_CC",
                "CC",
                "CC"
            ]
        );
        let cross = choice(&all, "aarch64-unknown-linux-gnu").unwrap();
        assert_eq!(cross.0, "TARGET_CC");
    }

    #[test]
    fn an_empty_variable_decides_too() {
        let vars = [("CC_x86_64-unknown-linux-gnu", " "), ("CC", "clang")];
        assert_eq!(choice(&vars, TRIPLE), None);
        assert_eq!(choice(&[], TRIPLE), None);
    }

    #[test]
    fn words_are_a_shell_s_but_an_existing_path_is_one() {
        let words = |value: &str| choice(&[("CC", value)], TRIPLE).unwrap().1;
        assert_eq!(words("ccache clang -m32"), ["ccache", "clang", "-m32"]);
        assert_eq!(words("'/opt/my cc' -x"), ["/opt/my cc", "-x"]);
        assert_eq!(words("it's clang"), ["it's", "clang"]);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my cc");
        std::fs::write(&path, "").unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(words(path), [path]);
    }

    #[test]
    fn launchers_are_known_by_their_file_names() {
        assert_eq!(
            launchers(&strings(&["ccache", "/usr/bin/distcc", "gcc"])),
            2
        );
        assert_eq!(launchers(&strings(&["clang", "ccache"])), 0);
        assert_eq!(launchers(&strings(&["ccache"])), 0);
        assert_eq!(launchers(&[]), 0);
        assert_eq!(
            launcher_from_rustc_wrapper("/o/sccache"),
            Some("/o/sccache")
        );
        assert_eq!(launcher_from_rustc_wrapper("/o/other"), None);
    }

    #[test]
    fn the_preprocessor_tells_the_family() {
        assert_eq!(
            parse_macros("# 1 \"macros.c\"\n\ncargo_fdo clang 22\n"),
            (Family::Clang, 22)
        );
        assert_eq!(parse_macros("cargo_fdo gcc 12\n"), (Family::Gcc, 12));
        assert_eq!(parse_macros("cargo_fdo unknown 0"), (Family::Unknown, 0));
        assert_eq!(parse_macros(""), (Family::Unknown, 0));
    }

    #[test]
    fn the_cpp_compiler_keeps_version_launcher_and_arguments() {
        assert_eq!(
            cxx_command(&strings(&["ccache", "/usr/bin/clang-22", "-m32"])),
            Some(strings(&["ccache", "/usr/bin/clang++-22", "-m32"]))
        );
        assert_eq!(
            cxx_command(&strings(&["/clang/bin/clang"])),
            Some(strings(&["/clang/bin/clang++"]))
        );
        assert_eq!(cxx_command(&strings(&["cc"])), Some(strings(&["c++"])));
        assert_eq!(cxx_command(&strings(&["tcl"])), None);
    }

    #[test]
    fn misfits_are_found_before_anything_is_linked() {
        let clang = CCompiler {
            command: strings(&["ccache", "clang-14", "-m64"]),
            family: Family::Clang,
            version_line: "clang version 14.0.6".into(),
            major: 14,
            target: None,
            raw_version: Some(8),
            runtime: true,
        };
        assert_eq!(clang.program(), Path::new("clang-14"));
        assert_eq!(clang.call().to_string(), "clang-14 -m64");
        assert_eq!(
            clang.misfit(10),
            Some(Misfit::RawVersion { own: 8, rustc: 10 })
        );
        assert_eq!(clang.misfit(8), None);
        let bare = CCompiler {
            runtime: false,
            ..clang.clone()
        };
        assert_eq!(bare.misfit(8), Some(Misfit::NoRuntime));
        let gcc = CCompiler {
            family: Family::Gcc,
            raw_version: None,
            ..clang.clone()
        };
        assert_eq!(gcc.misfit(8), Some(Misfit::NotClang(Family::Gcc)));
        let json = serde_json::to_string(&gcc).unwrap();
        assert_eq!(serde_json::from_str::<CCompiler>(&json).unwrap(), gcc);
    }
}
