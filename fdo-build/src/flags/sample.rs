//! The flags of sampled profiles: plain code with line tables, to be recorded, and code that is
//! compiled with what was recorded.
//!
//! A sample is attributed to a line relative to its function, and to a discriminator where a line
//! has several blocks. Both builds must divide lines alike, so what decides about discriminators
//! (`-fdebug-info-for-profiling` and rustc's form of it) is the same in both. The DWARF version is
//! left to the compiler.
//!
//! Names of local functions stay as they are: `-funique-internal-linkage-names` would keep two of
//! one name apart, but by a hash of the source's path, and a profile could no longer be used in
//! another checkout. Two such functions share their samples, as gcc's always do.

use super::Pins;
use crate::protocol::Family;
use std::path::Path;

/// How a rustc is given a sample profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spelling {
    /// `-Cprofile-sample-use`.
    Stable,
    /// `-Zprofile-sample-use`, which a nightly rustc takes, and another one with
    /// `RUSTC_BOOTSTRAP` in its environment.
    Unstable,
}

/// What rustc is told for a program to be recorded.
///
/// `unstable`: it takes `-Z` options. Only then can its Rust be compiled with samples too.
///
/// Not `line-tables-only`: LLVM then leaves out of DWARF what functions are called and where they
/// are declared. `-fdebug-info-for-profiling` keeps these two for clang; rustc's form of it sets
/// discriminators alone (1.95).
pub fn rustc_record(unstable: bool) -> Vec<String> {
    let lines = RUSTC_FUNCTIONS.to_owned();
    [lines]
        .into_iter()
        .chain(rustc_discriminators(unstable))
        .collect()
}

fn rustc_discriminators(unstable: bool) -> Option<String> {
    unstable.then(|| RUSTC_DISCRIMINATORS.to_owned())
}

/// What rustc is told when it uses a slice.
pub fn rustc_use(slice: &Path, pins: Pins, spelling: Spelling, unstable: bool) -> Vec<String> {
    let letter = match spelling {
        Spelling::Stable => 'C',
        Spelling::Unstable => 'Z',
    };
    let mut flags = vec![format!("-{letter}profile-sample-use={}", slice.display())];
    // Enough here: LLVM's own representation has the names in any case.
    flags.push(RUSTC_LINES.to_owned());
    flags.extend(rustc_discriminators(unstable));
    flags.extend(
        pins.options()
            .into_iter()
            .chain([PROFI.to_owned()])
            .map(|option| format!("-Cllvm-args={option}")),
    );
    flags
}

/// What clang is told for a program to be recorded.
pub fn clang_record() -> Vec<String> {
    vec![CLANG_LINES.to_owned(), CLANG_DISCRIMINATORS.to_owned()]
}

/// What clang is told when it uses a slice. `profi`: it knows `-fsample-profile-use-profi`, the
/// inference of counts by minimum-cost flow, from version 15 on.
pub fn clang_use(slice: &Path, pins: Pins, profi: bool) -> Vec<String> {
    let mut flags = vec![format!("-fprofile-sample-use={}", slice.display())];
    flags.extend(clang_record());
    if profi {
        flags.push("-fsample-profile-use-profi".to_owned());
    }
    for option in pins.options() {
        flags.extend(["-mllvm".to_owned(), option]);
    }
    // A project's -Werror must not turn a remark on the profile into a build failure.
    flags.push("-Wno-error=backend-plugin".to_owned());
    flags
}

/// What gcc is told for a program to be recorded: `-g1` has all that is needed, declaration lines,
/// inlined calls and discriminators, in an eighth of the space of `-g`.
pub fn gcc_record() -> Vec<String> {
    vec![GCC_LINES.to_owned()]
}

/// What gcc is told when it uses an AutoFDO file.
///
/// gcc has no options for the limits of hot and cold code: it takes them from the file.
pub fn gcc_use(slice: &Path) -> Vec<String> {
    let mut flags = vec![format!("-fauto-profile={}", slice.display())];
    flags.extend(gcc_record());
    // One warning a statement that is more than 65,535 lines from its function's declaration, or
    // from another file: 159 kB of them for SQLite's amalgamation. They have the group of
    // constants that overflow, whose own warnings every plain build shows.
    flags.push("-Wno-overflow".to_owned());
    flags
}

/// What makes a compiler write down which samples it applied: clang and gcc into the file `place`,
/// rustc into the directory `place`, one file a codegen unit.
///
/// Each call has a place of its own, so these flags are in no order: the shim adds them.
pub fn proof(family: Family, place: &Path) -> Vec<String> {
    let place = place.display();
    match family {
        Family::Rustc => vec![
            format!("-Cremark={REMARKS}"),
            format!("-Zremark-dir={place}"),
        ],
        Family::Clang => vec![
            "-fsave-optimization-record=yaml".to_owned(),
            format!("-foptimization-record-passes=^{REMARKS}$"),
            format!("-foptimization-record-file={place}"),
        ],
        // Names as the linker sees them, which are the profile's.
        Family::Gcc => vec![format!("-fdump-ipa-afdo-asmname={place}")],
        Family::Unknown => Vec::new(),
    }
}

/// LLVM's name of what applies samples, in remarks.
const REMARKS: &str = "sample-profile-impl";

const RUSTC_LINES: &str = "-Cdebuginfo=line-tables-only";
const RUSTC_FUNCTIONS: &str = "-Cdebuginfo=1";
const RUSTC_DISCRIMINATORS: &str = "-Zdebug-info-for-profiling";
const CLANG_LINES: &str = "-gline-tables-only";
const CLANG_DISCRIMINATORS: &str = "-fdebug-info-for-profiling";
const GCC_LINES: &str = "-g1";
/// rustc passes it to LLVM, where clang has a flag of its own.
const PROFI: &str = "-sample-profile-use-profi";

/// Whether `flag` is ours for line tables, to be left out where the user asks for more.
pub fn is_line_tables(flag: &str) -> bool {
    matches!(
        flag,
        RUSTC_LINES | RUSTC_FUNCTIONS | CLANG_LINES | GCC_LINES
    )
}

/// Whether arguments ask for more debug information than line tables; the last word holds, as
/// with the compilers.
///
/// `args` are those of one call; for rustc `-C` and its option may be one argument or two.
pub fn has_more_than_lines<'a>(family: Family, args: impl IntoIterator<Item = &'a str>) -> bool {
    let mut more = false;
    let mut after_c = false;
    for arg in args {
        let level = match family {
            Family::Rustc => {
                let option = if after_c {
                    Some(arg)
                } else {
                    arg.strip_prefix("-C")
                };
                after_c = matches!(arg, "-C" | "--codegen");
                if arg == "-g" {
                    Some(true)
                } else {
                    option
                        .and_then(|option| option.strip_prefix("debuginfo="))
                        .map(|level| matches!(level, "1" | "2" | "limited" | "full"))
                }
            }
            _ => c_debug_level(arg),
        };
        more = level.unwrap_or(more);
    }
    more
}

/// What one argument says: more than line tables, or not; `None` if it is about something else.
fn c_debug_level(arg: &str) -> Option<bool> {
    let level = arg.strip_prefix("-g")?;
    match level {
        "" | "gdb" | "full" | "limited" | "lldb" => return Some(true),
        "line-tables-only" | "line-directives-only" | "mlt" => return Some(false),
        _ => {}
    }
    // `-g2`, `-ggdb3`, and no `-gdwarf-5` or `-gz`, which say how and not how much (but turn
    // debug information on).
    let digits = level.strip_prefix("gdb").unwrap_or(level);
    match digits {
        "0" | "1" => Some(false),
        "2" | "3" => Some(true),
        _ if level.starts_with("dwarf") && !level.starts_with("dwarf32") => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PINS: Pins = Pins {
        hot: 64,
        cold: 1,
        huge_working_set: false,
        large_working_set: false,
    };

    #[test]
    fn both_builds_divide_lines_alike() {
        let slice = Path::new("/s");
        let pairs = [
            (
                rustc_record(true),
                rustc_use(slice, PINS, Spelling::Unstable, true),
            ),
            (
                rustc_record(false),
                rustc_use(slice, PINS, Spelling::Stable, false),
            ),
            (clang_record(), clang_use(slice, PINS, true)),
            (gcc_record(), gcc_use(slice)),
        ];
        for (record, with_profile) in pairs {
            let decides = |flag: &&String| flag.contains("for-profiling");
            assert_eq!(
                record.iter().find(decides),
                with_profile.iter().find(decides),
                "{record:?} {with_profile:?}"
            );
            assert!(with_profile.iter().any(|flag| is_line_tables(flag)));
        }
    }

    #[test]
    fn a_recorded_program_of_rust_names_its_functions() {
        assert!(rustc_record(true).contains(&"-Cdebuginfo=1".to_owned()));
    }

    #[test]
    fn limits_are_pinned_where_the_compiler_takes_them() {
        let rustc = rustc_use(Path::new("/s"), PINS, Spelling::Stable, false);
        assert!(rustc.contains(&"-Cprofile-sample-use=/s".to_owned()));
        assert!(rustc.contains(&"-Cllvm-args=-profile-summary-hot-count=64".to_owned()));
        let clang = clang_use(Path::new("/s"), PINS, false);
        assert!(clang.contains(&"-profile-summary-hot-count=64".to_owned()));
        assert!(!clang.iter().any(|flag| flag.contains("use-profi")));
    }

    #[test]
    fn the_users_debug_information_is_weighed() {
        let c = |line: &str| has_more_than_lines(Family::Clang, line.split(' '));
        for more in ["-g", "-O2 -ggdb3", "-g0 -g", "-g3", "-gdwarf-4", "-glldb"] {
            assert!(c(more), "{more}");
        }
        for less in [
            "-O2",
            "-g0",
            "-g -g0",
            "-g1",
            "-gline-tables-only",
            "-gz",
            "-grecord-gcc-switches",
        ] {
            assert!(!c(less), "{less}");
        }
        let rust = |line: &str| has_more_than_lines(Family::Rustc, line.split(' '));
        for more in [
            "-C debuginfo=2",
            "-Cdebuginfo=limited",
            "-g",
            "-Cdebuginfo=0 -C debuginfo=full",
        ] {
            assert!(rust(more), "{more}");
        }
        for less in [
            "-C debuginfo=0",
            "-Cdebuginfo=line-tables-only",
            "-C opt-level=3",
            "debuginfo=2",
        ] {
            assert!(!rust(less), "{less}");
        }
    }
}
