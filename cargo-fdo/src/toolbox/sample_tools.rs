//! What the compilers of a run do with sampled profiles.
//!
//! Nothing of LLVM's or gcc's runtime takes part, and no raw profile has a version that must fit
//! rustc's: so any compiler will do for C that reads the profile made for it, the machine's gcc
//! above all.

use super::Basis;
use super::c_tools::{self, CTools, Origin, UnfitCompiler, Verdict};
use crate::config::CCompilerChoice;
use crate::error::Result;
use crate::settings::Settings;
use crate::tool::c_compiler::{self, CCompiler};
use crate::tool::canary::samples::{self, Reads};
use crate::tool::rustc::Rustc;
use crate::tool::{Invocation, Places};
use fdo_build::flags::sample::Spelling;
use fdo_build::protocol::Family;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What the compilers do with samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleTools {
    /// rustc.
    pub rust: RustSamples,
    /// The C compiler; `None` where it can't use samples ([`CTools::verdict`] says why).
    pub c: Option<Reads>,
    /// The major version of the C compiler: a gcc's decides about the form of its file.
    pub c_major: u32,
}

/// How rustc is given samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RustSamples {
    /// By a stable option.
    Stable(Reads),
    /// By an unstable option, which this rustc takes.
    Nightly(Reads),
    /// By an unstable option, with `RUSTC_BOOTSTRAP` for the crates of the target, as the user
    /// allowed.
    Bootstrap(Reads),
    /// Not at all.
    Unusable {
        /// Why not.
        reason: String,
        /// What would help.
        remedy: String,
    },
}

impl RustSamples {
    /// What it does with samples; `None` if it takes none.
    pub fn reads(&self) -> Option<Reads> {
        match self {
            RustSamples::Stable(reads)
            | RustSamples::Nightly(reads)
            | RustSamples::Bootstrap(reads) => Some(*reads),
            RustSamples::Unusable { .. } => None,
        }
    }

    /// How the option is written.
    pub fn spelling(&self) -> Spelling {
        match self {
            RustSamples::Stable(_) => Spelling::Stable,
            _ => Spelling::Unstable,
        }
    }

    /// Whether other unstable options can be used beside it.
    pub fn is_unstable(&self) -> bool {
        matches!(self, RustSamples::Nightly(_) | RustSamples::Bootstrap(_))
    }
}

impl SampleTools {
    /// Whether every compiler that uses samples proves it. So it is where none uses any: that
    /// nothing was used needs no other proof.
    pub fn verify(&self) -> bool {
        let all = [self.rust.reads(), self.c];
        all.iter().flatten().all(|reads| reads.verify)
    }
}

/// Finds out what rustc does with samples. `opt_in`: the user allows `RUSTC_BOOTSTRAP`.
pub fn rust(rustc: &Rustc, opt_in: bool, scratch: &Path) -> RustSamples {
    let options = Invocation::new(&rustc.program).args(["-C", "help"]).probe();
    let is_stable = options.is_ok_and(|output| output.stdout.contains("profile-sample-use"));
    let unusable = |error| RustSamples::Unusable {
        reason: format!(
            "rustc {} can't compile with samples: {error}",
            rustc.release
        ),
        remedy: "`cargo fdo doctor` shows what fits".to_owned(),
    };
    if is_stable {
        return samples::rustc(rustc, Spelling::Stable, false, scratch)
            .map_or_else(unusable, RustSamples::Stable);
    }
    // `nightly` and `dev`; a beta is as closed as a stable one.
    let is_nightly = matches!(rustc.release.pre.as_str(), "nightly" | "dev");
    if is_nightly {
        return samples::rustc(rustc, Spelling::Unstable, false, scratch)
            .map_or_else(unusable, RustSamples::Nightly);
    }
    if opt_in {
        return samples::rustc(rustc, Spelling::Unstable, true, scratch)
            .map_or_else(unusable, RustSamples::Bootstrap);
    }
    RustSamples::Unusable {
        reason: format!(
            "rustc {} takes samples by an unstable option only (`-Zprofile-sample-use`)",
            rustc.release
        ),
        remedy: "`rustc-bootstrap = true` in fdo.toml, or RUSTC_BOOTSTRAP=1 in the environment, \
                 allows it for the crates of the optimised program; a nightly rustc needs neither"
            .to_owned(),
    }
}

/// The C compilers of a run that samples: the user's, or the machine's.
pub(super) fn c(
    rustc: &Rustc,
    basis: &Basis,
    settings: &Settings,
    places: &Places,
    scratch: &Path,
) -> Result<(CTools, Option<Reads>, u32)> {
    let default = c_tools::defaults;
    let beside = |cc: &[String]| {
        c_compiler::cxx_command(cc)
            .or_else(|| gxx_command(cc))
            .filter(|command| CCompiler::inspect(command, scratch).is_ok())
    };
    let (cc, cxx, origin) = match (&settings.c_compiler, &basis.user_cc, &basis.user_cxx) {
        (CCompilerChoice::Program(program), ..) => {
            let cc = vec![program.display().to_string()];
            let cxx = beside(&cc).unwrap_or_else(|| default().1);
            (cc, cxx, Origin::Setting)
        }
        (_, None, None) if basis.target != rustc.host => {
            return Ok((c_tools::nothing(&basis.target), None, 0));
        }
        (_, None, None) => {
            let (cc, cxx) = default();
            if places.find("cc").is_none() && settings.c_compiler == CCompilerChoice::Auto {
                // Build scripts would find none either, but there may be a clang by number.
                return Ok(any_clang(rustc, places, scratch));
            }
            (cc, cxx, Origin::Default)
        }
        (_, Some((name, cc)), Some((_, cxx))) => {
            (cc.clone(), cxx.clone(), Origin::Variable(name.clone()))
        }
        (_, Some((name, cc)), None) => {
            let cxx = beside(cc).unwrap_or_else(|| default().1);
            (cc.clone(), cxx, Origin::Variable(name.clone()))
        }
        (_, None, Some((name, cxx))) => (default().0, cxx.clone(), Origin::Variable(name.clone())),
    };
    let (tools, reads, major) = inspect(cc, cxx, origin, scratch);
    // Whoever names a compiler for profiling wants it to be profiled.
    if let (CCompilerChoice::Program(program), Verdict::Unprofiled { reason, .. }) =
        (&settings.c_compiler, &tools.verdict)
    {
        return Err(UnfitCompiler::new(program, reason.clone(), rustc.llvm_major).into());
    }
    Ok((tools, reads, major))
}

/// `g++-12` for `gcc-12`, launchers and arguments kept.
fn gxx_command(command: &[String]) -> Option<Vec<String>> {
    let at = c_compiler::launchers(command);
    let program = Path::new(command.get(at)?);
    let (before, after) = program.file_name()?.to_str()?.rsplit_once("gcc")?;
    let mut cxx = command.to_vec();
    let name = format!("{before}g++{after}");
    *cxx.get_mut(at)? = program.with_file_name(name).to_str()?.to_owned();
    Some(cxx)
}

/// Looks at a pair of compilers and takes the canary through the C one.
fn inspect(
    cc: Vec<String>,
    cxx: Vec<String>,
    origin: Origin,
    scratch: &Path,
) -> (CTools, Option<Reads>, u32) {
    let mut tools = CTools {
        cc,
        cxx,
        family: Family::Unknown,
        version: String::new(),
        profdata: None,
        verdict: Verdict::Fits,
        origin,
    };
    let unprofiled = |reason: String| Verdict::Unprofiled {
        reason,
        remedy: "set CC and CXX to a gcc or a clang that reads sampled profiles".to_owned(),
    };
    let found = CCompiler::inspect(&tools.cc, scratch)
        .and_then(|cc| Ok((cc, CCompiler::inspect(&tools.cxx, scratch)?)));
    let (cc, cxx) = match found {
        Ok(pair) => pair,
        Err(error) => {
            tools.verdict = unprofiled(c_tools::with_causes(&error));
            return (tools, None, 0);
        }
    };
    tools.family = cc.family;
    tools.version.clone_from(&cc.version_line);
    let name = || format!("`{}` ({})", cc.command.join(" "), cc.version_line);
    if (cc.family, cc.major) != (cxx.family, cxx.major) {
        tools.verdict = unprofiled(format!(
            "the C and the C++ compiler are not of one kind and version: {} and `{}` ({})",
            name(),
            cxx.command.join(" "),
            cxx.version_line
        ));
        return (tools, None, cc.major);
    }
    match samples::c(&cc, scratch) {
        Ok(reads) => (tools, Some(reads), cc.major),
        Err(reason) => {
            tools.verdict = unprofiled(format!("{} can't compile with samples: {reason}", name()));
            (tools, None, cc.major)
        }
    }
}

fn any_clang(rustc: &Rustc, places: &Places, scratch: &Path) -> (CTools, Option<Reads>, u32) {
    for program in c_compiler::clang_candidates(rustc.llvm_major, places) {
        let cc = vec![program.display().to_string()];
        let Some(cxx) = c_compiler::cxx_command(&cc) else {
            continue;
        };
        let instead_of = "`cc`, which is not there".to_owned();
        let found = inspect(cc, cxx, Origin::Auto { instead_of }, scratch);
        if found.1.is_some() {
            return found;
        }
    }
    let (cc, cxx) = c_tools::defaults();
    inspect(cc, cxx, Origin::Default, scratch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::real_tools::{rustc, tool};

    #[test]
    fn the_cpp_compiler_of_a_gcc_keeps_version_and_launcher() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            gxx_command(&words("ccache /usr/bin/x86_64-linux-gnu-gcc-12 -m64")),
            Some(words("ccache /usr/bin/x86_64-linux-gnu-g++-12 -m64"))
        );
        assert_eq!(gxx_command(&words("clang")), None);
    }

    #[test]
    fn the_gcc_of_the_machine_reads_samples_and_proves_it() {
        let Some(gcc) = tool("gcc") else { return };
        let dir = tempfile::tempdir().unwrap();
        let gcc = CCompiler::inspect(&[gcc.display().to_string()], dir.path()).unwrap();
        assert!(samples::c(&gcc, dir.path()).unwrap().verify);
    }

    #[test]
    fn each_clang_reads_samples_with_and_without_profi() {
        for (version, profi) in [("22", true), ("19", true), ("14", false)] {
            let Some(clang) = tool(&format!("clang-{version}")) else {
                continue;
            };
            let dir = tempfile::tempdir().unwrap();
            let clang = CCompiler::inspect(&[clang.display().to_string()], dir.path()).unwrap();
            let reads = samples::c(&clang, dir.path());
            let expected = Reads {
                verify: true,
                profi,
            };
            assert_eq!(reads, Ok(expected), "clang {version}");
        }
    }

    #[test]
    fn rustc_takes_samples_when_it_is_allowed_to() {
        let (rustc, dir) = rustc();
        let allowed = rust(&rustc, true, dir.path());
        assert!(
            allowed.reads().is_some_and(|reads| reads.verify),
            "{allowed:?}"
        );
        let closed = rust(&rustc, false, dir.path());
        match &closed {
            RustSamples::Unusable { remedy, .. } => assert!(remedy.contains("RUSTC_BOOTSTRAP")),
            // A rustc of a later day, or a nightly one.
            other => assert!(other.reads().is_some(), "{other:?}"),
        }
    }
}
