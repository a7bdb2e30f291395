//! What a rustc command line is about.

use super::starts_with;
use std::ffi::OsString;
use std::path::PathBuf;

/// The parts of a rustc call that decide what the shim does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) crate_name: String,
    pub(super) crate_types: Vec<String>,
    pub(super) target: Option<String>,
    pub(super) out_dir: Option<PathBuf>,
    pub(super) extra_filename: String,
    /// `--test`: the harness build of a crate, which may be linked beside the crate itself.
    pub(super) is_test: bool,
    pub(super) has_metadata: bool,
    /// The user chose a mangling; it stays.
    pub(super) has_mangling: bool,
    /// Into how many units the crate is to be divided; 0 where that is left to rustc.
    pub(super) codegen_units: u32,
    pub(super) emits_code: bool,
    pub(super) is_probe: bool,
}

impl Unit {
    /// Reads the arguments after the compiler's path.
    pub(super) fn parse(args: &[OsString]) -> Unit {
        let mut unit = Unit {
            // Without `--emit` rustc links.
            emits_code: true,
            ..Unit::default()
        };
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let Some(arg) = arg.to_str() else { continue };
            // Cargo writes `--flag value` and `-C option`; build scripts that probe also
            // write the joined forms.
            let (flag, value) = match arg {
                "--crate-name" | "--crate-type" | "--target" | "--out-dir" | "--emit" | "-C"
                | "--codegen" => (
                    arg,
                    rest.next().and_then(|value| value.to_str()).unwrap_or(""),
                ),
                _ => match arg.split_once('=') {
                    Some((flag, value)) if flag.starts_with("--") => (flag, value),
                    _ if arg.starts_with("-C") => ("-C", &arg[2..]),
                    _ => (arg, ""),
                },
            };
            match flag {
                "--crate-name" => unit.crate_name = value.to_owned(),
                "--crate-type" => unit.crate_types.push(value.to_owned()),
                "--target" => unit.target = Some(value.to_owned()),
                "--out-dir" => unit.out_dir = Some(value.into()),
                "--emit" => {
                    unit.emits_code = value
                        .split(',')
                        .any(|kind| kind == "link" || kind.starts_with("link="));
                }
                "--test" => unit.is_test = true,
                "--print" | "-" | "-vV" | "-V" | "--version" | "--explain" => unit.is_probe = true,
                "-C" | "--codegen" => unit.codegen_option(value),
                _ => {}
            }
        }
        unit
    }

    fn codegen_option(&mut self, option: &str) {
        match option.split_once('=') {
            Some(("metadata", _)) => self.has_metadata = true,
            Some(("codegen-units", value)) => self.codegen_units = value.parse().unwrap_or(0),
            Some(("extra-filename", value)) => self.extra_filename = value.to_owned(),
            Some(("symbol-mangling-version", _)) => self.has_mangling = true,
            _ => {}
        }
    }

    /// A compilation that cargo plans, and that makes code: no probe, no check.
    pub(super) fn is_compilation(&self) -> bool {
        self.emits_code
            && !self.is_probe
            && self.has_metadata
            && !self.crate_name.is_empty()
            && self.crate_name != "___"
    }

    /// The program that a build script becomes.
    pub(super) fn is_build_script(&self) -> bool {
        self.is_compilation()
            && self.target.is_none()
            && self.crate_name.starts_with("build_script_")
    }

    /// A program that will run with a runtime of its own.
    pub(super) fn is_executable(&self) -> bool {
        self.is_test || self.crate_types.iter().any(|kind| kind == "bin")
    }

    /// A library that other programs load, with a runtime of its own where it has counters.
    pub(super) fn is_shared_library(&self) -> bool {
        let mut kinds = self.crate_types.iter();
        kinds.any(|kind| kind == "cdylib" || kind == "dylib")
    }

    /// Where rustc writes the dep-info.
    pub(super) fn dep_info(&self) -> Option<PathBuf> {
        let name = format!("{}{}.d", self.crate_name, self.extra_filename);
        Some(self.out_dir.as_ref()?.join(name))
    }
}

/// The arguments for symbol names that last: cargo's `-C metadata=…` replaced, `-C incremental=…`
/// left out, and with `units` the number of codegen units set (0: left to rustc).
///
/// Cargo's metadata changes with every profile setting, with the version, with a
/// build-dependency's version; every Rust symbol carries it, so all counts would be lost.
///
/// An incremental build gives a crate up to 256 units named by hashes, so that other functions
/// are local, under other names, than in the next build. And it could reuse objects of another
/// profile: that is nothing that a build for speed should risk or gains much from.
pub(super) fn with_stable_names(
    args: &[OsString],
    metadata: &str,
    units: Option<u32>,
) -> Vec<OsString> {
    let mut out = Vec::with_capacity(args.len() + 8);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let (value, joined) = if arg == "-C" || arg == "--codegen" {
            (rest.next(), false)
        } else {
            (Some(arg), true)
        };
        let prefix = if joined { "-C" } else { "" };
        let names = |option: &str| {
            value.is_some_and(|value| starts_with(value, &format!("{prefix}{option}=")))
        };
        if names("incremental") || (units.is_some() && names("codegen-units")) {
            continue;
        }
        if !joined {
            out.push(arg.clone());
        }
        if names("metadata") {
            out.push(format!("{prefix}metadata={metadata}").into());
        } else {
            out.extend(value.cloned());
        }
    }
    if let Some(units) = units.filter(|units| *units > 0) {
        out.push(format!("-Ccodegen-units={units}").into());
    }
    out
}

/// The arguments without what takes line tables out of a program, or puts them elsewhere.
pub(super) fn unstripped(args: Vec<OsString>) -> Vec<OsString> {
    let takes_out = |option: &OsString, prefix: &str| {
        ["strip=", "split-debuginfo="]
            .iter()
            .any(|name| starts_with(option, &format!("{prefix}{name}")))
    };
    let mut out = Vec::with_capacity(args.len());
    let mut rest = args.into_iter();
    while let Some(arg) = rest.next() {
        if arg == "-C" || arg == "--codegen" {
            match rest.next() {
                Some(option) if takes_out(&option, "") => {}
                option => {
                    out.push(arg);
                    out.extend(option);
                }
            }
        } else if !takes_out(&arg, "-C") {
            out.push(arg);
        }
    }
    out
}

/// Replaces `@file` arguments by what the file holds, one argument a line (rustc's form).
pub(super) fn expand_argument_files(args: Vec<OsString>) -> Vec<OsString> {
    if !args.iter().any(|arg| starts_with(arg, "@")) {
        return args;
    }
    let mut out = Vec::new();
    for arg in args {
        let lines = arg
            .to_str()
            .and_then(|arg| arg.strip_prefix('@'))
            .and_then(|path| std::fs::read_to_string(path).ok());
        match lines {
            Some(text) => out.extend(text.lines().map(OsString::from)),
            None => out.push(arg),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn a_library_unit_of_cargo_is_a_compilation() {
        let unit = Unit::parse(&words(
            "--crate-name memchr --edition=2021 src/lib.rs --error-format=json --crate-type lib \
             --emit=dep-info,metadata,link -C opt-level=3 -C metadata=aa -C extra-filename=-bb \
             --out-dir /t/deps --target x86_64-unknown-linux-gnu",
        ));
        assert!(unit.is_compilation() && !unit.is_executable() && !unit.is_build_script());
        assert_eq!(unit.dep_info(), Some("/t/deps/memchr-bb.d".into()));
        assert_eq!(unit.target.as_deref(), Some("x86_64-unknown-linux-gnu"));
    }

    #[test]
    fn probes_and_checks_are_left_alone() {
        for line in [
            "-vV",
            "- --crate-name ___ --print=file-names --crate-type bin --target x",
            "--crate-name a src/lib.rs --emit=dep-info,metadata -C metadata=aa",
            "--crate-name anyhow_build --crate-type lib --emit=dep-info,metadata --out-dir /o build/probe.rs",
            "--crate-name probe --emit=link --out-dir /o -",
        ] {
            assert!(!Unit::parse(&words(line)).is_compilation(), "{line}");
        }
    }

    #[test]
    fn a_build_script_is_told_from_a_program_of_the_target() {
        let host = "--crate-name build_script_build build.rs --crate-type bin --emit=dep-info,link -C metadata=a --out-dir /o";
        assert!(Unit::parse(&words(host)).is_build_script());
        let target = format!("{host} --target x86_64-unknown-linux-gnu");
        assert!(!Unit::parse(&words(&target)).is_build_script());
    }

    #[test]
    fn metadata_is_replaced_in_both_spellings_and_nothing_else_is() {
        let args = words("-C metadata=aa -C opt-level=3 -Cmetadata=bb src/metadata=cc.rs");
        let expected = words("-C metadata=X -C opt-level=3 -Cmetadata=X src/metadata=cc.rs");
        assert_eq!(with_stable_names(&args, "X", None), expected);
    }

    #[test]
    fn incremental_compilation_is_left_out_in_both_spellings() {
        let args = words("-C incremental=/i -Cincremental=/i -C opt-level=3 src/incremental=a.rs");
        let expected = words("-C opt-level=3 src/incremental=a.rs");
        assert_eq!(with_stable_names(&args, "X", None), expected);
    }

    #[test]
    fn nothing_is_stripped_from_a_program_to_be_recorded() {
        let args = words(
            "-C strip=debuginfo -C opt-level=3 -Cstrip=symbols -Csplit-debuginfo=packed a.rs -C",
        );
        assert_eq!(unstripped(args), words("-C opt-level=3 a.rs -C"));
    }

    #[test]
    fn the_number_of_units_is_set_or_left_to_rustc() {
        let args = words("-C codegen-units=1 -C opt-level=3");
        let with = |units| with_stable_names(&args, "X", units);
        assert_eq!(with(None), args);
        assert_eq!(with(Some(0)), words("-C opt-level=3"));
        assert_eq!(with(Some(4)), words("-C opt-level=3 -Ccodegen-units=4"));
        assert_eq!(Unit::parse(&args).codegen_units, 1);
        assert_eq!(Unit::parse(&with(Some(0))).codegen_units, 0);
    }
}
