//! The flag table: what each compiler is told in each phase.
//!
//! Pure data in, strings out. Every odd flag has its reason beside it.

pub mod sample;

use crate::protocol::{Family, Phase};
use std::path::Path;

/// Which counters instrumented C code has.
///
/// Variant    | Flag                         | May share an image with Rust
/// -----------|------------------------------|------------------------------
/// `Ir`       | `-fprofile-generate`         | yes: the same raw profile
/// `Frontend` | `-fprofile-instr-generate`   | no: linked into one image, all C counts are lost silently
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Counters {
    /// Counters placed by LLVM on its intermediate representation, as rustc's are.
    Ir,
    /// Counters placed by clang's front end on the syntax tree.
    Frontend,
}

/// Hot and cold limits of the whole profile, so that a slice of it gives the same code.
///
/// A compiler derives the limits from the profile it reads. A slice has other ones, and so
/// would optimise the same function differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pins {
    /// Counts from here on are hot.
    pub hot: u64,
    /// Counts up to here are cold.
    pub cold: u64,
    /// Whether the program's hot part is so large that size matters everywhere.
    pub huge_working_set: bool,
    /// Whether it is large enough to matter at partly hot places.
    pub large_working_set: bool,
}

impl Pins {
    fn options(self) -> Vec<String> {
        // Limits on the number of hot blocks: 0 is always exceeded, the maximum never.
        let limit = |exceeded: bool| if exceeded { 0 } else { i32::MAX };
        vec![
            format!("-profile-summary-hot-count={}", self.hot),
            format!("-profile-summary-cold-count={}", self.cold),
            format!(
                "-profile-summary-huge-working-set-size-threshold={}",
                limit(self.huge_working_set)
            ),
            format!(
                "-profile-summary-large-working-set-size-threshold={}",
                limit(self.large_working_set)
            ),
        ]
    }
}

/// What rustc is told when it puts counters in. `default_dir` is where a program started
/// without `LLVM_PROFILE_FILE` leaves its raw profile.
pub fn rustc_instrument(default_dir: &Path) -> Vec<String> {
    // Always with a value: cc 1.2.2 to 1.7 fails on the bare form where it forwards it.
    vec![format!("-Cprofile-generate={}", default_dir.display())]
}

/// What makes counters survive whatever ends the process, beside `-fprofile-generate`: the runtime
/// maps its file into the program, and counters are reached through the mapping. Values (targets of
/// indirect calls, sizes) can't be counted so.
///
/// In both languages or in none: where one lacks them, all its counts are zero, without a word.
const CONTINUOUS: [&str; 2] = ["-runtime-counter-relocation", "-disable-vp=true"];

/// What rustc is told for counters in continuous mode, beside [`rustc_instrument`].
pub fn rustc_continuous() -> Vec<String> {
    let options = CONTINUOUS.iter();
    options.map(|it| format!("-Cllvm-args={it}")).collect()
}

/// What clang is told for counters in continuous mode, beside [`clang_instrument`].
pub fn clang_continuous() -> Vec<String> {
    let options = CONTINUOUS.iter();
    options
        .flat_map(|it| ["-mllvm".to_owned(), (*it).to_owned()])
        .collect()
}

/// What rustc is told when it uses a slice. With `verify` the compiler names each function
/// that it applied the profile to.
pub fn rustc_optimize(slice: &Path, pins: Pins, verify: bool) -> Vec<String> {
    let mut flags = vec![format!("-Cprofile-use={}", slice.display())];
    flags.extend(
        pins.options()
            .into_iter()
            .map(|option| format!("-Cllvm-args={option}")),
    );
    if verify {
        flags.push(format!("-Cllvm-args={VERIFY}"));
    }
    flags
}

/// Makes LLVM write the name and hash of every function that found its counts in the profile:
/// the only positive evidence that a release compiler gives. Costs about 1 % of compile time.
const VERIFY: &str = "-pgo-view-raw-counts=text";

/// What clang is told for a compilation that gets counters.
pub fn clang_instrument(counters: Counters, default_dir: &Path) -> Vec<String> {
    let mut flags = match counters {
        Counters::Ir => vec![format!("-fprofile-generate={}", default_dir.display())],
        Counters::Frontend => vec![format!(
            "-fprofile-instr-generate={}/default_%m_%p.profraw",
            default_dir.display()
        )],
    };
    flags.extend(clang_names());
    flags
}

/// What clang is told for a link in the instrument phase, so that the runtime is there.
pub fn clang_instrument_link(counters: Counters) -> Vec<String> {
    vec![match counters {
        Counters::Ir => "-fprofile-generate".to_owned(),
        Counters::Frontend => "-fprofile-instr-generate".to_owned(),
    }]
}

/// What clang is told for a compilation with a slice.
pub fn clang_optimize(counters: Counters, slice: &Path, pins: Pins, verify: bool) -> Vec<String> {
    let mut flags = vec![format!("-fprofile-instr-use={}", slice.display())];
    flags.extend(clang_names());
    for option in pins.options() {
        flags.extend(["-mllvm".to_owned(), option]);
    }
    // Front-end counters are applied by clang itself, long before LLVM could name them.
    if verify && counters == Counters::Ir {
        flags.extend(["-mllvm".to_owned(), VERIFY.to_owned()]);
    }
    // A project's -Werror must not turn a remark on the profile into a build failure.
    flags.push("-Wno-error=backend-plugin".to_owned());
    flags.push("-Wno-error=profile-instr-out-of-date".to_owned());
    flags.push("-Wno-error=profile-instr-unprofiled".to_owned());
    flags
}

/// Names of static functions without the build directory, in both phases alike.
fn clang_names() -> [String; 2] {
    [
        "-mllvm".to_owned(),
        "-static-func-full-module-prefix=false".to_owned(),
    ]
}

/// A compiler argument that puts in or uses a profile of the user's own.
///
/// Ours and theirs can't both hold: the caller refuses or removes it.
pub fn is_profile_flag(family: Family, argument: &str) -> bool {
    match family {
        Family::Rustc => {
            let option = ["-C", "-Z"]
                .iter()
                .find_map(|prefix| argument.strip_prefix(prefix))
                .unwrap_or(argument);
            // Coverage has counters of the front end in place of ours; rustc refuses both.
            [
                "profile-generate",
                "profile-use",
                "profile-sample-use",
                "instrument-coverage",
            ]
            .iter()
            .any(|name| option == *name || option.starts_with(&format!("{name}=")))
        }
        _ => [
            "-fprofile-generate",
            "-fprofile-use",
            "-fprofile-instr-generate",
            "-fprofile-instr-use",
            "-fcs-profile-generate",
            "-fprofile-sample-use",
            "-fauto-profile",
        ]
        .iter()
        .any(|name| argument == *name || argument.starts_with(&format!("{name}="))),
    }
}

/// The variable and value that keep build-time programs from dropping raw profiles where the
/// build runs: they go into `stray`.
pub fn stray_profile_file(stray: &Path) -> (&'static str, String) {
    (
        "LLVM_PROFILE_FILE",
        format!("{}/%m_%p.profraw", stray.display()),
    )
}

/// The name of the phase's raw profile pattern in `dir`: one file a process and image.
///
/// `%p` keeps processes apart, so that one that dies while it writes spoils its own file only;
/// `%m` keeps the images of one process apart and makes repeated dumps add up.
pub fn raw_profile_file(dir: &Path) -> String {
    format!("{}/%p-%m.profraw", dir.display())
}

/// The same for continuous mode, which `%c` asks for.
pub fn continuous_profile_file(dir: &Path) -> String {
    format!("{}/%c%p-%m.profraw", dir.display())
}

/// Whether a phase has counters that need a runtime at the link.
pub fn needs_runtime(phase: Phase) -> bool {
    phase == Phase::Instrument
}

#[cfg(test)]
mod tests {
    use super::*;

    const PINS: Pins = Pins {
        hot: 4096,
        cold: 2,
        huge_working_set: false,
        large_working_set: true,
    };

    #[test]
    fn working_sets_are_pinned_both_ways() {
        let options = PINS.options().join(" ");
        assert!(options.contains("huge-working-set-size-threshold=2147483647"));
        assert!(options.contains("large-working-set-size-threshold=0"));
    }

    #[test]
    fn front_end_counters_are_not_asked_for_evidence_they_cannot_give() {
        let flags = clang_optimize(Counters::Frontend, Path::new("/s"), PINS, true);
        assert!(!flags.iter().any(|flag| flag.contains("pgo-view")));
    }

    #[test]
    fn continuous_mode_is_the_same_in_both_languages() {
        let rust = rustc_continuous().join(" ").replace("-Cllvm-args=", "");
        let c = clang_continuous().join(" ").replace("-mllvm ", "");
        assert_eq!(rust, c);
    }

    #[test]
    fn forwarded_profile_flags_are_known() {
        assert!(is_profile_flag(Family::Clang, "-fprofile-generate=/x"));
        assert!(is_profile_flag(Family::Rustc, "-Cprofile-use=/x"));
        assert!(is_profile_flag(Family::Rustc, "profile-use=/x"));
        assert!(is_profile_flag(Family::Rustc, "-Zprofile-sample-use=/x"));
        assert!(is_profile_flag(Family::Rustc, "instrument-coverage"));
        assert!(!is_profile_flag(Family::Clang, "-fprofile-update=atomic"));
    }
}
