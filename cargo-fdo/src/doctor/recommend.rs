//! Counters or samples: which method suits this machine, and why.
//!
//! The gains are those that were measured with instructions executed on SQLite, RocksDB and a Rust
//! parser: without branch stacks samples reach two thirds to four fifths of what counters do, with
//! (synthetic) ones nearly all of it.

use super::Report;
use crate::tool::perf::Perf;
use crate::tool::perf::probe::{self, Quality, Sampling, Wanted};
use crate::tool::rustc::Rustc;
use crate::tool::{Invocation, Places};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// Whether Rust can be compiled with counters.
    pub counters_rust: bool,
    /// Whether C and C++ can.
    pub counters_c: bool,
    /// Whether the C compiler that a build finds by itself is gcc.
    pub gcc: bool,
    /// How this rustc takes samples.
    pub rustc_samples: RustcSamples,
    /// How perf samples here, or why it does not.
    pub sampling: Result<Sampling, String>,
}

/// How a rustc takes samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RustcSamples {
    /// By `-C`.
    Stable,
    /// By `-Z`, which it takes as it is.
    Nightly,
    /// By `-Z`, which it takes with `RUSTC_BOOTSTRAP` only.
    Bootstrap,
    /// Not at all.
    None,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// `instrument`, `sample`, or none if neither works.
    pub method: Option<&'static str>,
    /// Why, a sentence each.
    pub reasons: Vec<String>,
    /// When the other one is better, a sentence each.
    pub otherwise: Vec<String>,
}

/// Weighs the facts.
pub fn advise(facts: &Facts) -> Advice {
    let mut reasons = Vec::new();
    let mut otherwise = Vec::new();
    let sampling = facts.sampling.as_ref();
    match sampling {
        Ok(sampling) => reasons.push(format!("perf can record here: {sampling}")),
        Err(words) => reasons.push(format!("perf can't record here: {words}")),
    }
    let rust_samples = match facts.rustc_samples {
        RustcSamples::Stable | RustcSamples::Nightly => true,
        RustcSamples::Bootstrap => {
            reasons.push(
                "this rustc uses samples for Rust only with RUSTC_BOOTSTRAP=1 \
                 (`rustc-bootstrap = true` in fdo.toml); without, C and C++ alone gain"
                    .into(),
            );
            false
        }
        RustcSamples::None => {
            reasons.push("this rustc can't use samples: C and C++ alone would gain".into());
            false
        }
    };
    if !facts.counters_rust {
        reasons.push("Rust can't be compiled with counters here: see the rows above".into());
    }
    if facts.counters_rust && !facts.counters_c {
        reasons.push(if facts.gcc {
            "no clang fits this rustc, and gcc's counters are not LLVM's: counters would cover \
             Rust alone, samples cover gcc's C and C++"
                .into()
        } else {
            "no C compiler fits this rustc: counters would cover Rust alone".into()
        });
    }
    let stacks = matches!(sampling, Ok(sampling) if sampling.quality == Quality::BranchStacks);
    let method = match (facts.counters_rust, sampling.is_ok()) {
        (false, false) => None,
        (true, false) => Some("instrument"),
        (false, true) => Some("sample"),
        (true, true) if !facts.counters_c && facts.gcc && rust_samples => Some("sample"),
        (true, true) => Some("instrument"),
    };
    match method {
        Some("instrument") => {
            reasons.push(
                "counters are exact, and a short workload is enough; the program is two to three \
                 times slower while it trains"
                    .into(),
            );
            if sampling.is_ok() {
                reasons.push(
                    if stacks {
                        "samples with branch stacks reach nearly the same"
                    } else {
                        "samples without branch stacks reach two thirds to four fifths of their gain"
                    }
                    .into(),
                );
                otherwise.push(
                    "a service that runs for long under real load, or must not be slowed down: \
                     `cargo fdo record --pid PID` there, `cargo fdo import` here (2 to 3 % \
                     overhead, no second build on the server)"
                        .into(),
                );
                otherwise.push(
                    "a program whose timing decides what it does (timeouts, adaptive code)".into(),
                );
                if !facts.counters_c && facts.gcc {
                    otherwise
                        .push("a program that spends its time in C or C++ compiled by gcc".into());
                }
            }
        }
        Some(_) => {
            otherwise.push(
                "once the rows above are `ok`, counters gain more from a short workload".into(),
            );
        }
        None => {}
    }
    Advice {
        method,
        reasons,
        otherwise,
    }
}

/// Finds out what [`advise`] wants to know.
pub fn facts(report: &Report, rustc: &Path, places: &Places) -> Facts {
    let alive = |canary: &Option<crate::tool::canary::Canary>| {
        canary
            .as_ref()
            .is_some_and(crate::tool::canary::Canary::alive)
    };
    let variable = crate::tool::perf::variable();
    let sampling = tempfile::tempdir()
        .map_err(|error| error.to_string())
        .and_then(|scratch| {
            let perf = Perf::locate(None, variable.as_deref(), places)
                .map_err(|error| error.to_string())?;
            probe::find(&perf, &Wanted::default(), places, scratch.path(), None).map_err(|error| {
                match error.hint() {
                    Some(hint) => format!("{error} ({hint})"),
                    None => error.to_string(),
                }
            })
        });
    Facts {
        counters_rust: alive(&report.rust),
        counters_c: alive(&report.mixed),
        gcc: says(places.find("cc"), "gcc") || says(places.find("cc"), "Free Software Foundation"),
        rustc_samples: Rustc::inspect(rustc)
            .map_or(RustcSamples::None, |rustc| rustc_samples(&rustc)),
        sampling,
    }
}

fn says(program: Option<PathBuf>, word: &str) -> bool {
    program
        .and_then(|program| Invocation::new(program).arg("--version").probe().ok())
        .is_some_and(|said| said.stdout.contains(word))
}

fn rustc_samples(rustc: &Rustc) -> RustcSamples {
    let has = |args: [&str; 2]| {
        Invocation::new(&rustc.program)
            .args(args)
            // Only so does a stable rustc list its unstable options.
            .env("RUSTC_BOOTSTRAP", "1")
            .probe()
            .is_ok_and(|said| said.stdout.contains("profile-sample-use"))
    };
    if has(["-C", "help"]) {
        return RustcSamples::Stable;
    }
    if !has(["-Z", "help"]) {
        return RustcSamples::None;
    }
    if rustc.release.pre.is_empty() || rustc.release.pre.starts_with("beta") {
        RustcSamples::Bootstrap
    } else {
        RustcSamples::Nightly
    }
}

/// For people.
pub fn text(advice: &Advice) -> String {
    let mut out = match advice.method {
        Some(method) => format!("Recommended: `--method {method}`, because\n"),
        None => "Recommended: nothing works here yet, because\n".to_owned(),
    };
    for reason in &advice.reasons {
        out.push_str(&format!("  - {reason}\n"));
    }
    if !advice.otherwise.is_empty() {
        let other = match advice.method {
            Some("instrument") => "sample",
            _ => "instrument",
        };
        out.push_str(&format!("`--method {other}` is the better one for\n"));
        for case in &advice.otherwise {
            out.push_str(&format!("  - {case}\n"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::perf::probe::Pace;

    fn sampling(quality: Quality) -> Sampling {
        Sampling {
            event: "e:u".into(),
            branch_stacks: quality == Quality::BranchStacks,
            pace: Pace::Frequency(4000),
            quality,
            calls: None,
            build_ids: true,
        }
    }

    fn facts() -> Facts {
        Facts {
            counters_rust: true,
            counters_c: true,
            gcc: true,
            rustc_samples: RustcSamples::Bootstrap,
            sampling: Ok(sampling(Quality::Clock)),
        }
    }

    #[test]
    fn counters_where_they_work_and_what_speaks_for_samples() {
        let advice = advise(&facts());
        assert_eq!(advice.method, Some("instrument"));
        let text = text(&advice);
        for part in [
            "two thirds to four fifths",
            "`--method sample` is the better one",
            "RUSTC_BOOTSTRAP",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let stacks = Facts {
            sampling: Ok(sampling(Quality::BranchStacks)),
            ..facts()
        };
        assert!(
            advise(&stacks)
                .reasons
                .iter()
                .any(|it| it.contains("nearly the same"))
        );
    }

    #[test]
    fn samples_where_only_gcc_is_there_and_rustc_takes_them() {
        let gcc = Facts {
            counters_c: false,
            rustc_samples: RustcSamples::Stable,
            ..facts()
        };
        assert_eq!(advise(&gcc).method, Some("sample"));
        let stable_rustc = Facts {
            rustc_samples: RustcSamples::Bootstrap,
            ..gcc
        };
        assert_eq!(advise(&stable_rustc).method, Some("instrument"));
    }

    #[test]
    fn what_does_not_work_is_not_recommended() {
        let no_perf = Facts {
            sampling: Err("perf is not installed".into()),
            ..facts()
        };
        let advice = advise(&no_perf);
        assert_eq!(advice.method, Some("instrument"));
        assert!(advice.otherwise.is_empty());
        let no_counters = Facts {
            counters_rust: false,
            counters_c: false,
            ..facts()
        };
        assert_eq!(advise(&no_counters).method, Some("sample"));
        let nothing = Facts {
            counters_rust: false,
            ..no_perf
        };
        assert_eq!(advise(&nothing).method, None);
    }
}
