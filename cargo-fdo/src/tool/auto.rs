//! Which C and C++ compiler a build gets if the user leaves it to us.
//!
//! What the user set stays, whether it can be profiled or not. Where nothing is set: the
//! machine's `cc`, if its objects can share a program with instrumented Rust; else a clang
//! that can.

use super::c_compiler::{
    CCompiler, fitting_clang, launcher_from_rustc_wrapper, launchers, pair, user_choice, with_cxx,
};
use super::{Places, Rustc};
use std::path::Path;

/// What the choice depends on.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The user's environment; `RUSTC_WRAPPER` also from cargo's configuration.
    pub env: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// The target triple.
    pub target: &'a str,
    /// The Rust compiler.
    pub rustc: &'a Rustc,
    /// The raw profile version of its objects.
    pub rustc_raw: u64,
    /// Where to look.
    pub places: &'a Places,
}

/// The compilers for the C half.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Choice {
    /// The C compiler.
    pub cc: CCompiler,
    /// The C++ compiler.
    pub cxx: CCompiler,
    /// Why these.
    pub why: String,
}

/// What [`choose`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Outcome {
    /// The compilers, if any fit; without, the C half stays as it is.
    pub choice: Option<Choice>,
    /// What did not fit, and why: the user's own first.
    pub passed_over: Vec<(CCompiler, String)>,
}

/// Chooses the compilers for the C half.
pub fn choose(request: Request<'_>, scratch: &Path) -> Outcome {
    let mut outcome = Outcome::default();
    let wish = |variable| user_choice(&request.env, request.target, &request.rustc.host, variable);
    let wanted = wish("CC");
    let is_set = wanted.is_some() || wish("CXX").is_some();
    let front = front(request.env, wanted.as_ref());
    let own = match wanted {
        Some((name, command)) => Some((format!("`{name}` asks for it"), command)),
        // What the `cc` crate falls back to; for another target it has a name of its own.
        None if request.target == request.rustc.host && request.places.find("cc").is_some() => {
            let why = "it is the `cc` of this machine".to_owned();
            Some((why, vec!["cc".to_owned()]))
        }
        None => None,
    };
    if let Some((why, command)) = own {
        match users(request, &command, wish("CXX"), scratch) {
            Ok((cc, cxx)) => {
                outcome.choice = Some(Choice {
                    cc: behind(&front, cc),
                    cxx: behind(&front, cxx),
                    why,
                });
                return outcome;
            }
            Err(passed_over) => outcome.passed_over.push(passed_over),
        }
    }
    if is_set {
        return outcome;
    }
    let llvm_major = request.rustc.llvm_major;
    let search = fitting_clang(request.rustc_raw, llvm_major, request.places, scratch);
    outcome.passed_over.extend(search.rejected);
    outcome.choice = search.found.map(|(cc, cxx)| Choice {
        why: if cc.major == llvm_major {
            format!("its LLVM is rustc's, {llvm_major}")
        } else {
            "its counters have rustc's format".to_owned()
        },
        cc: behind(&front, cc),
        cxx: behind(&front, cxx),
    });
    outcome
}

/// The user's own compilers, if they fit.
fn users(
    request: Request<'_>,
    command: &[String],
    cxx: Option<(String, Vec<String>)>,
    scratch: &Path,
) -> Result<(CCompiler, CCompiler), (CCompiler, String)> {
    let cc = CCompiler::inspect(command, scratch)
        .map_err(|error| (CCompiler::unusable(command), error.to_string()))?;
    if let Some(misfit) = cc.misfit(request.rustc_raw) {
        return Err((cc, misfit.to_string()));
    }
    let cxx = match cxx {
        None => with_cxx(&cc, request.rustc_raw, scratch).map_err(|misfit| misfit.to_string()),
        Some((name, command)) => CCompiler::inspect(&command, scratch)
            .map_err(|error| error.to_string())
            .and_then(|cxx| {
                pair(&cc, cxx, request.rustc_raw)
                    .map_err(|misfit| format!("the compiler of `{name}`: {misfit}"))
            }),
    };
    match cxx {
        Ok(cxx) => Ok((cc, cxx)),
        Err(reason) => Err((cc, reason)),
    }
}

/// The launchers that the C compiler gets in an ordinary build.
fn front(
    env: &dyn Fn(&str) -> Option<String>,
    wanted: Option<&(String, Vec<String>)>,
) -> Vec<String> {
    let own = wanted.map_or(&[][..], |(_, command)| &command[..launchers(command)]);
    if !own.is_empty() {
        return own.to_vec();
    }
    let wrapper = env("RUSTC_WRAPPER");
    let launcher = wrapper.as_deref().and_then(launcher_from_rustc_wrapper);
    launcher.map(str::to_owned).into_iter().collect()
}

/// The compiler with launchers, unless it has its own.
fn behind(front: &[String], mut compiler: CCompiler) -> CCompiler {
    if launchers(&compiler.command) == 0 {
        compiler.command.splice(0..0, front.iter().cloned());
    }
    compiler
}

#[cfg(test)]
mod tests {
    use super::super::real_tools::{rustc, tool};
    use super::super::rustc::rustc_raw_version;
    use super::*;

    fn outcome(vars: &[(&str, &str)]) -> (Outcome, u32) {
        let (rustc, dir) = rustc();
        let env = |name: &str| {
            let found = vars.iter().find(|(known, _)| *known == name)?;
            Some(found.1.to_owned())
        };
        let request = Request {
            env: &env,
            target: &rustc.host,
            rustc: &rustc,
            rustc_raw: rustc_raw_version(&rustc, dir.path()).unwrap(),
            places: &Places::of_process(),
        };
        (choose(request, dir.path()), rustc.llvm_major)
    }

    #[test]
    fn a_clang_stands_in_for_the_gcc_of_the_machine_behind_the_launcher_of_rustc() {
        if tool("gcc").is_none() || tool("clang++-22").is_none() {
            return;
        }
        let (outcome, llvm_major) = outcome(&[("RUSTC_WRAPPER", "/opt/sccache")]);
        let choice = outcome.choice.unwrap();
        assert_eq!(choice.cc.command[0], "/opt/sccache");
        assert_eq!(choice.cxx.command[0], "/opt/sccache");
        assert_eq!(choice.cc.major, llvm_major);
        assert!(choice.why.contains("LLVM is rustc's"), "{}", choice.why);
        let (gcc, reason) = &outcome.passed_over[0];
        assert_eq!(gcc.command, ["cc"]);
        assert_eq!(reason, "gcc's counters are not LLVM's");
    }

    #[test]
    fn a_gcc_that_the_user_set_stays() {
        if tool("gcc").is_none() {
            return;
        }
        let (outcome, _) = outcome(&[("CC", "ccache gcc")]);
        assert_eq!(outcome.choice, None);
        assert_eq!(outcome.passed_over[0].1, "gcc's counters are not LLVM's");
    }

    #[test]
    fn the_user_s_own_clang_is_kept_and_gets_the_launcher_of_rustc() {
        if tool("clang++-19").is_none() {
            return;
        }
        let vars = [("CC", "clang-19"), ("RUSTC_WRAPPER", "/opt/sccache")];
        let choice = outcome(&vars).0.choice.unwrap();
        assert_eq!(choice.cc.command, ["/opt/sccache", "clang-19"]);
        assert_eq!(choice.cxx.command, ["/opt/sccache", "clang++-19"]);
        assert_eq!(choice.why, "`CC` asks for it");
    }

    #[test]
    fn a_wish_that_cannot_be_granted_is_reported() {
        if tool("clang++-22").is_none() || tool("clang++-19").is_none() {
            return;
        }
        let (broken, _) = outcome(&[("CC", "/no/such/cc")]);
        assert_eq!(broken.passed_over[0].1, "can't start `/no/such/cc`");
        assert_eq!(broken.choice, None);
        // One profile for two versions of LLVM would lose half of it.
        let (mixed, _) = outcome(&[("CC", "clang-19"), ("CXX", "clang++-22")]);
        assert!(
            mixed.passed_over[0]
                .1
                .starts_with("the compiler of `CXX`: "),
            "{mixed:?}"
        );
    }
}
