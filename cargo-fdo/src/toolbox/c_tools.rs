//! Which C and C++ compilers a run uses, and whether they can be profiled with rustc.

use super::Basis;
use crate::config::CCompilerChoice;
use crate::error::{Diagnose, ExitCode, Result};
use crate::settings::Settings;
use crate::tool::auto;
use crate::tool::c_compiler::{self, CCompiler, family_name};
use crate::tool::locate::Places;
use crate::tool::profdata::{self, Profdata};
use crate::tool::rustc::{self, Rustc};
use fdo_build::protocol::Family;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What compiles C and C++, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CTools {
    /// The C compiler with its launchers; empty where the shims stay out of C.
    pub cc: Vec<String>,
    /// The C++ compiler with its launchers.
    pub cxx: Vec<String>,
    /// Whose flags they take.
    #[serde(with = "family_name")]
    pub family: Family,
    /// How the C compiler calls itself.
    pub version: String,
    /// Makes what this compiler reads, where that is not what rustc reads.
    pub profdata: Option<Profdata>,
    /// Whether it can be profiled together with rustc.
    pub verdict: Verdict,
    /// Who chose it.
    pub origin: Origin,
}

/// Whether C and C++ can be profiled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Yes.
    Fits,
    /// No.
    Unprofiled {
        /// Why not.
        reason: String,
        /// What to install or set.
        remedy: String,
    },
}

/// Who chose the C compiler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A variable of the user's, by name.
    Variable(String),
    /// fdo.toml or the command line.
    Setting,
    /// The system's default.
    Default,
    /// We did, because the default can't be profiled.
    Auto {
        /// The default, in its own words.
        instead_of: String,
    },
}

/// The C compiler that the user named for profiling can't be.
#[derive(Debug, thiserror::Error)]
#[error("the C compiler `{program}`{version} can't be profiled together with rustc: {reason}")]
pub(super) struct UnfitCompiler {
    program: String,
    /// ` (Debian clang version 14.0.6)`, if it says.
    version: String,
    reason: String,
    llvm_major: u32,
}

impl UnfitCompiler {
    pub(super) fn new(program: &Path, reason: String, llvm_major: u32) -> UnfitCompiler {
        UnfitCompiler {
            program: program.display().to_string(),
            version: String::new(),
            reason,
            llvm_major,
        }
    }
}

impl Diagnose for UnfitCompiler {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        Some(format!(
            "{}, or leave the choice to `c-compiler = \"auto\"`",
            packages(self.llvm_major)
        ))
    }
}

/// Where the decision comes from: the user's variables, the setting, what is installed.
struct Search<'a> {
    rustc: &'a Rustc,
    raw: u64,
    places: &'a Places,
    scratch: &'a Path,
    env: &'a (dyn Fn(&str) -> Option<String> + Sync),
}

pub(super) fn find(
    rustc: &Rustc,
    basis: &Basis,
    settings: &Settings,
    places: &Places,
    scratch: &Path,
    env: &(dyn Fn(&str) -> Option<String> + Sync),
) -> Result<CTools> {
    let search = Search {
        rustc,
        raw: rustc::rustc_raw_version(rustc, scratch)?,
        places,
        scratch,
        env,
    };
    match (&settings.c_compiler, &basis.user_cc, &basis.user_cxx) {
        (CCompilerChoice::Program(program), ..) => search.named(program),
        (_, None, None) if basis.target != rustc.host => Ok(nothing(&basis.target)),
        (CCompilerChoice::Auto, None, None) => search.automatic(),
        (CCompilerChoice::Keep, None, None) => {
            let (cc, cxx) = defaults();
            search.kept(&cc, &cxx, Origin::Setting)
        }
        (_, Some((name, cc)), Some((_, cxx))) => {
            search.kept(cc, cxx, Origin::Variable(name.clone()))
        }
        (_, Some((name, cc)), None) => {
            // The C++ compiler that belongs to it, where it has one.
            let cxx = c_compiler::cxx_command(cc)
                .filter(|command| CCompiler::inspect(command, scratch).is_ok())
                .unwrap_or_else(|| defaults().1);
            search.kept(cc, &cxx, Origin::Variable(name.clone()))
        }
        (_, None, Some((name, cxx))) => {
            search.kept(&defaults().0, cxx, Origin::Variable(name.clone()))
        }
    }
}

pub(super) fn defaults() -> (Vec<String>, Vec<String>) {
    (vec!["cc".into()], vec!["c++".into()])
}

/// For another target without a compiler named: what the build scripts find stays, unseen.
pub(super) fn nothing(target: &str) -> CTools {
    CTools {
        cc: Vec::new(),
        cxx: Vec::new(),
        family: Family::Unknown,
        version: String::new(),
        profdata: None,
        verdict: Verdict::Unprofiled {
            reason: format!("no C compiler is named for {target}"),
            remedy: format!("set CC_{target} and CXX_{target} to a clang"),
        },
        origin: Origin::Default,
    }
}

fn packages(llvm_major: u32) -> String {
    format!("install `clang-{llvm_major} libclang-rt-{llvm_major}-dev llvm-{llvm_major}`")
}

/// An error in one line.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    text
}

impl Search<'_> {
    /// The user's compilers as they are; profiled if they fit.
    fn kept(&self, cc: &[String], cxx: &[String], origin: Origin) -> Result<CTools> {
        let inspected = CCompiler::inspect(cc, self.scratch)
            .and_then(|found_cc| Ok((found_cc, CCompiler::inspect(cxx, self.scratch)?)));
        let remedy = match &origin {
            Origin::Variable(name) => {
                let clang = format!("clang-{}", self.rustc.llvm_major);
                match self.places.find(&clang) {
                    Some(_) => format!("unset {name}, or set it to `{clang}`"),
                    None => format!(
                        "{} and unset {name}, or set it to that clang",
                        packages(self.rustc.llvm_major)
                    ),
                }
            }
            Origin::Setting => "`c-compiler = \"auto\"` would use a clang that fits".to_owned(),
            _ => packages(self.rustc.llvm_major),
        };
        let chosen_by = match &origin {
            Origin::Variable(name) => format!("{name}, "),
            _ => String::new(),
        };
        let unprofiled = |compiler: &CCompiler, reason: String| Verdict::Unprofiled {
            reason: format!(
                "`{}` ({chosen_by}{}): {reason}",
                compiler.command.join(" "),
                compiler.version_line
            ),
            remedy: remedy.clone(),
        };
        let mut tools = CTools {
            cc: cc.to_vec(),
            cxx: cxx.to_vec(),
            family: Family::Unknown,
            version: String::new(),
            profdata: None,
            verdict: Verdict::Fits,
            origin,
        };
        let (found_cc, found_cxx) = match inspected {
            Ok(pair) => pair,
            Err(error) => {
                // The build will say more, if it compiles any C at all.
                tools.verdict = Verdict::Unprofiled {
                    reason: with_causes(&error),
                    remedy,
                };
                return Ok(tools);
            }
        };
        tools.family = found_cc.family;
        tools.version.clone_from(&found_cc.version_line);
        let misfit = found_cc
            .misfit(self.raw)
            .map(|misfit| (&found_cc, misfit.to_string()))
            .or_else(|| Some((&found_cxx, found_cxx.misfit(self.raw)?.to_string())))
            .or_else(|| {
                (found_cc.major != found_cxx.major).then(|| {
                    (
                        &found_cxx,
                        "the C and the C++ compiler are of different versions".to_owned(),
                    )
                })
            });
        match misfit {
            Some((compiler, reason)) => tools.verdict = unprofiled(compiler, reason),
            None => match self.own_profdata(&found_cc) {
                Ok(profdata) => tools.profdata = profdata,
                Err(error) => tools.verdict = unprofiled(&found_cc, error.to_string()),
            },
        }
        Ok(tools)
    }

    /// The compiler of the setting: it must fit.
    fn named(&self, program: &Path) -> Result<CTools> {
        let unfit = |version: String, reason: String| UnfitCompiler {
            program: program.display().to_string(),
            version,
            reason,
            llvm_major: self.rustc.llvm_major,
        };
        let cc = vec![program.display().to_string()];
        let found = CCompiler::inspect(&cc, self.scratch)
            .map_err(|error| unfit(String::new(), with_causes(&error)))?;
        let version = format!(" ({})", found.version_line);
        let cxx = c_compiler::with_cxx(&found, self.raw, self.scratch)
            .map_err(|misfit| unfit(version, misfit.to_string()))?;
        self.pair(found, cxx, Origin::Setting)
    }

    /// The default where it fits, else the best clang that does.
    fn automatic(&self) -> Result<CTools> {
        let request = auto::Request {
            env: self.env,
            target: &self.rustc.host,
            rustc: self.rustc,
            rustc_raw: self.raw,
            places: self.places,
        };
        let outcome = auto::choose(request, self.scratch);
        let instead_of = outcome
            .passed_over
            .first()
            .map(|(default, _)| default.version_line.clone())
            .filter(|version| !version.is_empty())
            .unwrap_or_else(|| "`cc`, which does not run".to_owned());
        match outcome.choice {
            Some(choice) if outcome.passed_over.is_empty() => {
                self.pair(choice.cc, choice.cxx, Origin::Default)
            }
            Some(choice) => self.pair(choice.cc, choice.cxx, Origin::Auto { instead_of }),
            None => {
                let (cc, cxx) = defaults();
                self.kept(&cc, &cxx, Origin::Default)
            }
        }
    }

    fn pair(&self, cc: CCompiler, cxx: CCompiler, origin: Origin) -> Result<CTools> {
        Ok(CTools {
            profdata: self.own_profdata(&cc)?,
            cc: cc.command,
            cxx: cxx.command,
            family: cc.family,
            version: cc.version_line,
            verdict: Verdict::Fits,
            origin,
        })
    }

    /// The llvm-profdata of a clang whose LLVM is not rustc's.
    fn own_profdata(
        &self,
        cc: &CCompiler,
    ) -> std::result::Result<Option<Profdata>, profdata::Error> {
        if cc.major == self.rustc.llvm_major {
            return Ok(None);
        }
        profdata::for_clang(cc.major, Some(cc.program()), self.places, self.scratch).map(Some)
    }
}
