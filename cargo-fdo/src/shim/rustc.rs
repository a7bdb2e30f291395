//! In place of rustc: `fdo-rustc RUSTC ARGUMENTS…`, as cargo calls a `RUSTC_WRAPPER`.
//!
//! For a unit of the profiled target it pins the crate's metadata (stable symbol names), adds
//! the package's flags, and makes cargo watch the package's key. For a build script it makes
//! cargo watch the key of the package's C objects, so that a new profile runs it again.
//! Everything else passes through.

use super::arguments::{Unit, expand_argument_files, unstripped, with_stable_names};
use super::{Context, ENV_RUSTC_WRAPPER, become_tool, evidence, exit_code, fail, proof};
use crate::profile::digest;
use fdo_build::flags::{self, sample};
use fdo_build::protocol::{self, Family, Language, Order, Phase};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs as rustc's wrapper; `args` begins with the compiler.
pub(super) fn run(args: Vec<OsString>) -> ExitCode {
    let Some((compiler, rest)) = args.split_first() else {
        return fail("expected the path of rustc as the first argument");
    };
    let context = Context::from_env();
    let unit = Unit::parse(rest);
    let Some(context) = context.filter(|_| unit.is_compilation() || has_argument_file(rest)) else {
        return become_tool(real(compiler, rest));
    };
    let rest = expand_argument_files(rest.to_vec());
    let unit = Unit::parse(&rest);

    if unit.is_build_script() {
        return compile_build_script(&context, &unit, compiler, &rest);
    }
    if !unit.is_compilation() || unit.target.as_deref() != Some(context.target.as_str()) {
        return become_tool(real(compiler, &rest));
    }
    compile_unit(&context, &unit, compiler, &rest)
}

fn has_argument_file(args: &[OsString]) -> bool {
    args.iter().any(|arg| super::starts_with(arg, "@"))
}

fn compile_unit(
    context: &Context,
    unit: &Unit,
    compiler: &OsString,
    rest: &[OsString],
) -> ExitCode {
    let order = match context.order(Language::Rust) {
        Ok(order) => order,
        Err(error) => return fail(&error),
    };
    if let Some(flag) = rest
        .iter()
        .filter_map(|arg| arg.to_str())
        .find(|arg| flags::is_profile_flag(Family::Rustc, arg))
    {
        return fail(&format!(
            "`{flag}` in cargo's rustflags is a profile of its own; remove it for this run"
        ));
    }
    let mut args = with_stable_names(rest, &metadata(unit, &order), order.codegen_units);
    if !unit.has_mangling {
        // Names of v0 say which crate they come from, and can be rewritten.
        args.push("-Csymbol-mangling-version=v0".into());
    }
    if context.phase == Some(Phase::Sample) {
        // What perf sees must have its line tables; the optimised program is stripped as ever.
        args = unstripped(args);
    }
    let theirs: Vec<&str> = rest.iter().filter_map(|arg| arg.to_str()).collect();
    let enough = sample::has_more_than_lines(Family::Rustc, theirs);
    let ours = order
        .flags
        .iter()
        .filter(|flag| !(enough && sample::is_line_tables(flag)));
    args.extend(ours.map(OsString::from));
    let counts = !order.flags.is_empty();
    if unit.is_executable() || unit.is_shared_library() && counts {
        args.extend(order.link_flags.iter().map(OsString::from));
    }

    let mut command = real(compiler, &args);
    command.envs(order.env.iter().map(|(name, value)| (name, value)));
    let (status, seen) = match proof::run(&mut command, Family::Rustc, order.proof, &context.state)
    {
        Ok(done) => done,
        Err(error) => return fail(&error),
    };
    if !status.success() {
        return exit_code(status);
    }
    let record = evidence::RustUnit {
        crate_name: unit.crate_name.clone(),
        unit: format!("{}{}", unit.crate_name, unit.extra_filename),
        out_dir: unit.out_dir.clone().unwrap_or_default(),
        slice: order.slice.clone(),
        codegen_units: unit.codegen_units,
        words: seen.to_text(),
    };
    let key = protocol::key_file(&context.state, &context.package, Language::Rust);
    let finish = record
        .save(&context.state, &context.package)
        .and_then(|()| watch(unit, &key));
    match finish {
        Ok(()) => exit_code(status),
        Err(error) => fail(&error),
    }
}

fn compile_build_script(
    context: &Context,
    unit: &Unit,
    compiler: &OsString,
    rest: &[OsString],
) -> ExitCode {
    let key = protocol::key_file(&context.state, &context.package, Language::C);
    if !key.exists() {
        // A package that the plan does not know: nothing will change its key either.
        return become_tool(real(compiler, rest));
    }
    let status = match real(compiler, rest).status() {
        Ok(status) => status,
        Err(error) => {
            return fail(&format!(
                "can't start `{}`: {error}",
                compiler.to_string_lossy()
            ));
        }
    };
    if status.success()
        && let Err(error) = watch(unit, &key)
    {
        return fail(&error);
    }
    exit_code(status)
}

/// The user's own wrapper, if any, then the compiler.
fn real(compiler: &OsString, args: &[OsString]) -> Command {
    let mut command = match std::env::var_os(ENV_RUSTC_WRAPPER).filter(|value| !value.is_empty()) {
        Some(wrapper) => {
            let mut command = Command::new(wrapper);
            command.arg(compiler);
            command
        }
        None => Command::new(compiler),
    };
    command.args(args);
    command
}

/// A crate's `-C metadata`, from what must keep two crates of one program apart and nothing
/// else: cargo's own changes with every profile setting and with each version. What keeps two
/// packages of one name apart is their salt (`Workspace::salts`).
fn metadata(unit: &Unit, order: &Order) -> String {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let manifest_dir = variable("CARGO_MANIFEST_DIR");
    let salt = order
        .salts
        .iter()
        .find(|(directory, _)| *directory == manifest_dir)
        .map_or("", |(_, salt)| salt);
    let package = variable("CARGO_PKG_NAME");
    // A program's unit tests are never linked with the program, and their functions are its own: one
    // name for both lets tests and benchmarks use, and train, the program's profile. A library's are
    // another matter: what they depend on may depend on the library itself.
    let is_programs_test = unit.is_test && std::env::var_os("CARGO_BIN_NAME").is_some();
    let (crate_types, kind) = match unit.is_test {
        true if is_programs_test => ("bin".to_owned(), ""),
        true => (unit.crate_types.join(","), "test"),
        false => (unit.crate_types.join(","), ""),
    };
    // The zero keeps parts apart; the last one has it too.
    let parts = [&package, salt, &unit.crate_name, &crate_types, kind, ""];
    digest::short(parts.join("\0").as_bytes(), 8)
}

/// Makes cargo watch a key: adds it to the unit's dep-info.
fn watch(unit: &Unit, key: &Path) -> Result<(), String> {
    let Some(path) = unit.dep_info() else {
        return Ok(());
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        // Not every call asks for dep-info.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("can't read `{}`: {error}", path.display())),
    };
    let Some(new) = with_dependency(&text, &key.to_string_lossy()) else {
        return Ok(());
    };
    std::fs::write(&path, new).map_err(|error| format!("can't write `{}`: {error}", path.display()))
}

/// Adds a dependency to the first rule, the only one that cargo reads.
fn with_dependency(dep_info: &str, dependency: &str) -> Option<String> {
    let colon = dep_info.find(": ")?;
    let end = dep_info[colon..]
        .find('\n')
        .map_or(dep_info.len(), |at| colon + at);
    let escaped = dependency.replace(' ', "\\ ");
    Some(format!(
        "{} {escaped}{}",
        dep_info[..end].trim_end(),
        &dep_info[end..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_added_to_the_first_rule_with_its_spaces_escaped() {
        let text = "/o/a.d: src/lib.rs src/b.rs\n\nsrc/lib.rs:\nsrc/b.rs:\n";
        assert_eq!(
            with_dependency(text, "/my keys/a").unwrap(),
            "/o/a.d: src/lib.rs src/b.rs /my\\ keys/a\n\nsrc/lib.rs:\nsrc/b.rs:\n"
        );
    }

    #[test]
    fn dep_info_without_a_rule_is_left_alone() {
        assert_eq!(with_dependency("# env-dep:A=1\n", "/k"), None);
    }

    #[test]
    fn metadata_ignores_what_cargo_would_mix_in() {
        let unit = |extra: &str| Unit {
            crate_name: "a".into(),
            crate_types: vec!["lib".into()],
            extra_filename: extra.into(),
            ..Unit::default()
        };
        let order = Order::nothing(Family::Rustc);
        assert_eq!(metadata(&unit("-1"), &order), metadata(&unit("-2"), &order));
        let test = Unit {
            is_test: true,
            ..unit("-1")
        };
        assert_ne!(metadata(&unit("-1"), &order), metadata(&test, &order));
    }
}
