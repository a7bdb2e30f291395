//! What `cargo fdo` and a build script agree on.
//!
//! `cargo fdo` sets the variables below for the whole cargo run and writes two kinds of small
//! files for each package:
//!
//! * an **order** says what to add to the compilations of the package: read by the compiler
//!   shims and by [`configure`](crate::configure) at every call;
//! * a **key** changes whenever what the package was compiled with is out of date. Cargo
//!   watches it, so a new profile rebuilds what it concerns and nothing else.
//!
//! Both are line-based, so that reading them needs no dependency and takes microseconds.

use std::fmt;
use std::path::{Path, PathBuf};

/// The version of everything in this module.
///
/// A build script that meets another version fails instead of leaving its C half out.
pub const VERSION: u32 = 2;

/// Set to [`VERSION`] inside `cargo fdo`, absent outside.
pub const ENV_VERSION: &str = "CARGO_FDO";
/// The [`Phase`] by name.
pub const ENV_PHASE: &str = "CARGO_FDO_PHASE";
/// The directory that holds `orders/`, `keys/` and `evidence/` of the phase.
pub const ENV_STATE: &str = "CARGO_FDO_STATE";
/// The target triple that is profiled; other units are left alone.
pub const ENV_TARGET: &str = "CARGO_FDO_TARGET";
/// Cargo's target directory of the phase: tells host from target units by their `OUT_DIR`.
pub const ENV_TARGET_DIR: &str = "CARGO_FDO_TARGET_DIR";
/// The shim that stands in for the C compiler.
pub const ENV_CC: &str = "CARGO_FDO_CC";
/// The shim that stands in for the C++ compiler.
pub const ENV_CXX: &str = "CARGO_FDO_CXX";
/// The [package](package_id) that compilations outside of cargo belong to: a project that is built by
/// cmake or make. It goes before what cargo says.
pub const ENV_PACKAGE: &str = "CARGO_FDO_PACKAGE";
/// The version of what has none: packages that cargo does not build.
pub const NO_VERSION: &str = "0.0.0";

/// Which build of the program this is.
///
/// Variant      | Code is                                   | Name
/// -------------|-------------------------------------------|------------
/// `Instrument` | full of counters, to be trained           | `instrument`
/// `Sample`     | plain with line tables, to be recorded    | `sample`
/// `Optimize`   | compiled with the profile                 | `optimize`
/// `Baseline`   | plain, to be compared with                | `baseline`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Counters are compiled in.
    Instrument,
    /// Plain code with line tables, to be recorded by perf.
    Sample,
    /// Compiled with the profile.
    Optimize,
    /// The program as plain cargo builds it.
    Baseline,
}

impl Phase {
    /// All phases, in the order of the pipeline.
    pub const ALL: [Phase; 4] = [
        Phase::Instrument,
        Phase::Sample,
        Phase::Optimize,
        Phase::Baseline,
    ];

    /// The name in variables, paths and messages.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Instrument => "instrument",
            Phase::Sample => "sample",
            Phase::Optimize => "optimize",
            Phase::Baseline => "baseline",
        }
    }

    /// The phase of that name.
    pub fn from_name(name: &str) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whose flags an order or key is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// Units compiled by rustc.
    Rust,
    /// C and C++ objects.
    C,
}

impl Language {
    /// The name in file names and reports.
    pub fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::C => "c",
        }
    }
}

/// A package in file names: `name-version`.
pub fn package_id(name: &str, version: &str) -> String {
    format!("{name}-{version}")
}

/// A target of cmake's in the names of orders, beside its package: `@` is in no name of one.
pub fn target_id(package: &str, target: &str) -> String {
    format!("{package}@{target}")
}

/// Where the order of one package is, if it differs from the common one.
pub fn order_file(state: &Path, package: &str, language: Language) -> PathBuf {
    state
        .join("orders")
        .join(format!("{package}.{}", language.name()))
}

/// Where the order of all packages without one of their own is.
pub fn common_order_file(state: &Path, language: Language) -> PathBuf {
    state.join("orders").join(language.name())
}

/// The file that cargo watches for one package's objects of one language.
pub fn key_file(state: &Path, package: &str, language: Language) -> PathBuf {
    state
        .join("keys")
        .join(format!("{package}.{}", language.name()))
}

/// Where the shims write what they saw.
pub fn evidence_dir(state: &Path, package: &str, language: Language) -> PathBuf {
    state
        .join("evidence")
        .join(format!("{package}.{}", language.name()))
}

/// Who reads the flags of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// rustc.
    Rustc,
    /// clang and clang++.
    Clang,
    /// gcc and g++.
    Gcc,
    /// A compiler that we know no flags for.
    Unknown,
}

impl Family {
    /// The name in order files.
    pub fn name(self) -> &'static str {
        match self {
            Family::Rustc => "rustc",
            Family::Clang => "clang",
            Family::Gcc => "gcc",
            Family::Unknown => "unknown",
        }
    }

    fn from_name(name: &str) -> Family {
        [Family::Rustc, Family::Clang, Family::Gcc]
            .into_iter()
            .find(|family| family.name() == name)
            .unwrap_or(Family::Unknown)
    }
}

/// How a compiler proves that it used the profile.
///
/// Variant     | Profile by | What the compiler is asked for
/// ------------|------------|---------------------------------------------------
/// `None`      |            | nothing
/// `RawCounts` | counters   | LLVM's `-pgo-view-raw-counts=text`, on stderr
/// `Remarks`   | samples    | LLVM's remarks on applied samples, in a file
/// `Dump`      | samples    | gcc's dump of its `afdo` pass, in a file
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Proof {
    /// None.
    #[default]
    None,
    /// The compiler's stderr; the order's flags ask for it.
    RawCounts,
    /// A file of remarks; the shim adds the flags, for each call has a file of its own.
    Remarks,
    /// A dump of a pass; likewise.
    Dump,
}

impl Proof {
    const ALL: [Proof; 4] = [Proof::None, Proof::RawCounts, Proof::Remarks, Proof::Dump];

    /// The name in order files.
    pub fn name(self) -> &'static str {
        match self {
            Proof::None => "none",
            Proof::RawCounts => "raw-counts",
            Proof::Remarks => "remarks",
            Proof::Dump => "dump",
        }
    }
}

/// What a shim does to the compilations of one package in one language.
///
/// As a file: one `word value` a line, lists as repeated words, the first line names the
/// format. No value holds a line break; [`Order::parse`] refuses what [`Order::write`] never
/// makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Who the flags are for.
    pub family: Family,
    /// The C compiler with the launchers before it (`ccache clang-22`); empty for rustc.
    pub cc: Vec<String>,
    /// The C++ compiler with the launchers before it; empty for rustc.
    pub cxx: Vec<String>,
    /// Added to every real compilation.
    pub flags: Vec<String>,
    /// Added to every link.
    pub link_flags: Vec<String>,
    /// Sources (globs, relative to the package or the path's tail) that get no flags.
    pub exclude: Vec<String>,
    /// Targets of cmake's (globs) whose objects get no flags.
    pub exclude_targets: Vec<String>,
    /// If there are any: the only targets of cmake's whose objects get flags.
    pub profile_targets: Vec<String>,
    /// Targets of cmake's whose objects have an order of their own, of their [`target_id`].
    pub own_targets: Vec<String>,
    /// What else decides the outcome, such as the content hash of the slice.
    pub slice: String,
    /// What else makes objects out of date: the compiler's version, say.
    pub basis: String,
    /// The number of codegen units instead of what cargo asks for; 0 for rustc's own choice,
    /// which differs from its number said aloud: small units are merged. `None` changes nothing.
    pub codegen_units: Option<u32>,
    /// Keeps packages of one name apart: manifest directory → salt.
    pub salts: Vec<(String, String)>,
    /// Variables for the compiler itself and nothing that it was started by.
    pub env: Vec<(String, String)>,
    /// How the compiler proves that it used the slice.
    pub proof: Proof,
}

impl Order {
    /// An order that changes nothing.
    pub fn nothing(family: Family) -> Order {
        Order {
            family,
            cc: Vec::new(),
            cxx: Vec::new(),
            flags: Vec::new(),
            link_flags: Vec::new(),
            exclude: Vec::new(),
            exclude_targets: Vec::new(),
            profile_targets: Vec::new(),
            own_targets: Vec::new(),
            slice: String::new(),
            basis: String::new(),
            codegen_units: None,
            salts: Vec::new(),
            env: Vec::new(),
            proof: Proof::None,
        }
    }

    /// The order as a file.
    pub fn write(&self) -> String {
        let mut out = format!("cargo-fdo order {VERSION}\nfamily {}\n", self.family.name());
        let lists = [
            ("cc", &self.cc),
            ("cxx", &self.cxx),
            ("flag", &self.flags),
            ("link-flag", &self.link_flags),
            ("exclude", &self.exclude),
            ("exclude-target", &self.exclude_targets),
            ("profile-target", &self.profile_targets),
            ("own-target", &self.own_targets),
        ];
        for (word, values) in lists {
            for value in values {
                out.push_str(&format!("{word} {value}\n"));
            }
        }
        out.push_str(&format!("slice {}\n", self.slice));
        if !self.basis.is_empty() {
            out.push_str(&format!("basis {}\n", self.basis));
        }
        if let Some(units) = self.codegen_units {
            out.push_str(&format!("codegen-units {units}\n"));
        }
        for (directory, salt) in &self.salts {
            out.push_str(&format!("salt {salt} {directory}\n"));
        }
        for (name, value) in &self.env {
            out.push_str(&format!("env {name}={value}\n"));
        }
        if self.proof != Proof::None {
            out.push_str(&format!("proof {}\n", self.proof.name()));
        }
        out
    }

    /// Reads what [`Order::write`] wrote.
    ///
    /// # Errors
    ///
    /// A sentence that says which line is not of the format.
    pub fn parse(text: &str) -> Result<Order, String> {
        let mut lines = text.lines();
        let head = lines.next().unwrap_or_default();
        if head != format!("cargo-fdo order {VERSION}") {
            return Err(format!(
                "expected `cargo-fdo order {VERSION}`, found `{head}`"
            ));
        }
        let mut order = Order::nothing(Family::Unknown);
        for line in lines {
            let (word, value) = line
                .split_once(' ')
                .ok_or_else(|| format!("`{line}` is not `word value`"))?;
            match word {
                "family" => order.family = Family::from_name(value),
                "cc" => order.cc.push(value.to_owned()),
                "cxx" => order.cxx.push(value.to_owned()),
                "flag" => order.flags.push(value.to_owned()),
                "link-flag" => order.link_flags.push(value.to_owned()),
                "exclude" => order.exclude.push(value.to_owned()),
                "exclude-target" => order.exclude_targets.push(value.to_owned()),
                "profile-target" => order.profile_targets.push(value.to_owned()),
                "own-target" => order.own_targets.push(value.to_owned()),
                "slice" => order.slice = value.to_owned(),
                "basis" => order.basis = value.to_owned(),
                "codegen-units" => {
                    let units = value
                        .parse()
                        .map_err(|_| format!("`{line}` is not `codegen-units NUMBER`"))?;
                    order.codegen_units = Some(units);
                }
                "salt" => {
                    let (salt, directory) = value
                        .split_once(' ')
                        .ok_or_else(|| format!("`{line}` is not `salt SALT DIRECTORY`"))?;
                    order.salts.push((directory.to_owned(), salt.to_owned()));
                }
                "env" => {
                    let (name, value) = value
                        .split_once('=')
                        .ok_or_else(|| format!("`{line}` is not `env NAME=VALUE`"))?;
                    order.env.push((name.to_owned(), value.to_owned()));
                }
                "proof" => {
                    order.proof = Proof::ALL
                        .into_iter()
                        .find(|proof| proof.name() == value)
                        .ok_or_else(|| format!("`{value}` is no kind of proof"))?;
                }
                _ => return Err(format!("unknown word `{word}`")),
            }
        }
        Ok(order)
    }

    /// The order that applies to a package: its own, or else the common one.
    ///
    /// # Errors
    ///
    /// A sentence that names the file: unreadable, or of another version.
    pub fn load(state: &Path, package: &str, language: Language) -> Result<Order, String> {
        let own = order_file(state, package, language);
        let (path, text) = match std::fs::read_to_string(&own) {
            Ok(text) => (own, text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let common = common_order_file(state, language);
                let text = std::fs::read_to_string(&common)
                    .map_err(|error| format!("can't read `{}`: {error}", common.display()))?;
                (common, text)
            }
            Err(error) => return Err(format!("can't read `{}`: {error}", own.display())),
        };
        Order::parse(&text).map_err(|error| format!("`{}`: {error}", path.display()))
    }
}

/// Whether a build script's `OUT_DIR` belongs to a unit of the profiled target.
///
/// With `--target`, cargo puts target units under `<target dir>/<triple>/` and host units
/// (build scripts' and proc macros' dependencies) directly under `<target dir>/`. No
/// environment variable tells the two apart where host and target are the same triple.
pub fn is_target_unit(out_dir: &Path, target_dir: &Path, triple: &str) -> bool {
    out_dir.starts_with(target_dir.join(triple))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_survives_the_round_trip() {
        let order = Order {
            family: Family::Clang,
            cc: vec!["ccache".into(), "/opt/my tools/clang".into()],
            cxx: vec!["/opt/my tools/clang++".into()],
            flags: vec!["-mllvm".into(), "-x=a b".into()],
            link_flags: vec!["-fprofile-generate".into()],
            exclude: vec!["tools/*".into()],
            exclude_targets: vec!["bench_*".into()],
            profile_targets: vec!["core".into()],
            own_targets: vec!["storaged".into()],
            slice: "abc".into(),
            basis: "0.1.0 clang version 22".into(),
            codegen_units: Some(0),
            salts: vec![("/with space/dir".into(), "s1".into())],
            env: vec![("RUSTC_BOOTSTRAP".into(), "1".into())],
            proof: Proof::Remarks,
        };
        assert_eq!(Order::parse(&order.write()), Ok(order));
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let error = Order::parse("cargo-fdo order 9\n").unwrap_err();
        assert!(error.contains("cargo-fdo order 9"), "{error}");
    }

    #[test]
    fn host_units_are_told_from_target_units() {
        let target_dir = Path::new("/t/fdo/instrument");
        let triple = "x86_64-unknown-linux-gnu";
        let unit = |path: &str| is_target_unit(Path::new(path), target_dir, triple);
        assert!(unit(
            "/t/fdo/instrument/x86_64-unknown-linux-gnu/release/build/a-1/out"
        ));
        assert!(!unit("/t/fdo/instrument/release/build/a-1/out"));
    }
}
