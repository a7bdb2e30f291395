//! In place of a C or C++ compiler.
//!
//! For a compilation of a profiled package it adds the package's flags last, takes off
//! profile flags of others (the cc crate forwarded rustc's in 1.2.2 to 1.7), and looks at the
//! object that came out. Probes, preprocessing and host units pass through.

use super::cc_arguments::{Action, Call, expand_response_files};
use super::evidence::{CObject, Treatment};
use super::treatment::target_of;
use super::{Context, become_tool, command, exit_code, fail, proof};
use crate::profile::object_file;
use fdo_build::flags::{self, sample};
use fdo_build::protocol::{Family, Language, Order, Phase, Proof, key_file, target_id};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Which of the two compilers is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Driver {
    /// `CC`.
    C,
    /// `CXX`.
    Cxx,
}

/// Runs as the compiler.
pub(super) fn run(driver: Driver, args: Vec<OsString>) -> ExitCode {
    let Some(context) = Context::from_env() else {
        return fail(&format!(
            "this compiler link works inside `cargo fdo` only (`{}` is not set)",
            fdo_build::protocol::ENV_STATE
        ));
    };
    let order = match context.order(Language::C) {
        Ok(order) => order,
        Err(error) => return fail(&error),
    };
    let words = match driver {
        Driver::C => &order.cc,
        Driver::Cxx => &order.cxx,
    };
    let Some(mut real) = command(words) else {
        return fail("no C compiler was planned for this build");
    };

    let expanded = expand_response_files(&args);
    let call = Call::parse(&expanded);
    let order = match of_target(&context, order, &call) {
        Ok(order) => order,
        Err(error) => return fail(&error),
    };
    if call.action == Action::PassThrough || !context.is_target_unit() {
        real.args(&args);
        return become_tool(real);
    }
    if call.action == Action::Assemble {
        real.args(&args);
        let treatment = Treatment::Assembler;
        return compile(&context, &order, &call, real, treatment, Vec::new());
    }
    if order.flags.is_empty() && order.link_flags.is_empty() {
        return plain(&context, &order, &call, real, &args);
    }

    let cwd = std::env::current_dir().unwrap_or_default();
    let (kept, removed) = without_profile_flags(&args, &order);
    let planned_front_end = order.flags.iter().any(|flag| is_front_end(flag));
    if let Some(flag) = removed
        .iter()
        .find(|flag| is_front_end(flag) && !planned_front_end)
    {
        return fail(&format!(
            "`{flag}` in the flags of `{}` puts in counters that lose everything, silently, \
             beside Rust's; remove it, or set `counters = \"frontend\"` in \
             `[package.\"{}\"]` of fdo.toml if its code is an image of its own",
            context.package,
            context
                .package
                .rsplit_once('-')
                .map_or("", |(name, _)| name),
        ));
    }
    let treatment = treatment(&context, &order, &call, &cwd);
    let mut ours: Vec<&String> = Vec::new();
    let takes_flags = matches!(treatment, Treatment::Profiled | Treatment::Header);
    if takes_flags && !call.sources.is_empty() {
        let theirs: Vec<&str> = expanded.iter().filter_map(|arg| arg.to_str()).collect();
        let enough = sample::has_more_than_lines(order.family, theirs);
        let ours_counts = |flag: &&String| !(enough && sample::is_line_tables(flag));
        ours.extend(order.flags.iter().filter(ours_counts));
    }
    if call.action == Action::Link {
        // The signal object belongs to what is loaded: a shared library has a runtime of its own, and
        // its counters are lost with the program's. Linked twice into one image, it would save twice.
        let links = |flag: &&String| call.is_image || !flag.ends_with(".o");
        ours.extend(order.link_flags.iter().filter(links));
    }
    let (options, inputs) = split_at_inputs(&kept, &expanded);
    real.args(options).args(ours).args(inputs);
    if call.sources.is_empty() {
        return become_tool(real);
    }
    compile(&context, &order, &call, real, treatment, removed)
}

/// The order of the target of cmake's that a call is for, if it has one of its own.
fn of_target(context: &Context, order: Order, call: &Call) -> Result<Order, String> {
    if order.own_targets.is_empty() || !context.is_native {
        return Ok(order);
    }
    let cwd = std::env::current_dir().unwrap_or_default();
    let target = call.outputs(&cwd).first().and_then(|it| target_of(it));
    match target.filter(|target| order.own_targets.contains(target)) {
        Some(target) => {
            let id = target_id(&context.package, &target);
            Order::load(&context.state, &id, Language::C)
        }
        None => Ok(order),
    }
}

/// Of several sources in one call all are left out if one is.
fn treatment(context: &Context, order: &Order, call: &Call, cwd: &Path) -> Treatment {
    let dir = context.package_dir();
    let outputs = call.outputs(cwd);
    let of_source = |(at, source): (usize, &String)| {
        // A link of sources has one output.
        let output = outputs.get(at).or(outputs.last());
        let output = output.map_or(Path::new(""), PathBuf::as_path);
        Treatment::of(order, dir.as_deref(), &absolute(cwd, source), output)
    };
    let found = call.sources.iter().enumerate().map(of_source);
    match found.into_iter().find(|it| *it != Treatment::Profiled) {
        Some(other) => other,
        None if call.action == Action::Precompile => Treatment::Header,
        None => Treatment::Profiled,
    }
}

/// A compiler without flags for this phase: recorded, so that the census can say so.
fn plain(
    context: &Context,
    order: &Order,
    call: &Call,
    mut real: Command,
    args: &[OsString],
) -> ExitCode {
    real.args(args);
    if call.sources.is_empty() {
        return become_tool(real);
    }
    compile(context, order, call, real, Treatment::Plain, Vec::new())
}

fn compile(
    context: &Context,
    order: &Order,
    call: &Call,
    mut real: Command,
    treatment: Treatment,
    removed: Vec<String>,
) -> ExitCode {
    let compiler = real.get_program().to_string_lossy().into_owned();
    // Two sources of one call would write into one file.
    let kind = match (treatment, order.proof) {
        (Treatment::Profiled, Proof::Remarks | Proof::Dump) if call.sources.len() > 1 => {
            Proof::None
        }
        (Treatment::Profiled, kind) => kind,
        _ => Proof::None,
    };
    let outcome = proof::run(&mut real, order.family, kind, &context.state);
    let (status, seen) = match outcome {
        Ok(done) => done,
        Err(error) => return fail(&error),
    };
    if !status.success() {
        return exit_code(status);
    }
    let cwd = std::env::current_dir().unwrap_or_default();
    if treatment == Treatment::Profiled && !order.slice.is_empty() && !context.is_native {
        // ninja reads depfiles and so sees a new profile; make does not read clang's.
        if let Some(depfile) = &call.depfile {
            let key = key_file(&context.state, &context.package, Language::C);
            add_to_depfile(&cwd.join(depfile), &key);
        }
    }
    let mut words = seen.to_text();
    for (at, output) in call.outputs(&cwd).into_iter().enumerate() {
        // `-o /dev/null` and the like leave nothing that could be linked.
        if !output.is_file() {
            continue;
        }
        let Ok(bytes) = std::fs::read(&output) else {
            continue;
        };
        let asks = context.phase == Some(Phase::Sample) || order.slice.is_empty();
        let machine_code = match asks && object_file::is_bitcode(&bytes) {
            true => machine_code(context, order, &output),
            false => None,
        };
        let readable = machine_code.as_deref().unwrap_or(&bytes);
        let counted = if context.phase == Some(Phase::Sample) {
            // Samples are of any function.
            object_file::defined_functions(readable).unwrap_or_default()
        } else if order.slice.is_empty() {
            object_file::counters(readable)
                .map(|counters| counters.names)
                .unwrap_or_default()
        } else {
            Vec::new()
        };
        let record = CObject {
            code: object_file::code_id(&bytes),
            output,
            source: call
                .sources
                .get(at)
                .map(|source| absolute(&cwd, source))
                .unwrap_or_default(),
            compiler: compiler.clone(),
            treatment,
            stamp: treatment.stamp(order),
            slice: if treatment == Treatment::Profiled {
                order.slice.clone()
            } else {
                String::new()
            },
            removed: removed.clone(),
            counted,
            // All that the compiler said is with the first.
            words: std::mem::take(&mut words),
        };
        if let Err(error) = record.save(&context.state, &context.package) {
            return fail(&error);
        }
    }
    exit_code(status)
}

/// What a link with `-flto` would make of a file of bitcode, unoptimised and maybe for another processor:
/// only its names are looked at.
fn machine_code(context: &Context, order: &Order, bitcode: &Path) -> Option<Vec<u8>> {
    // Launchers too: a cache has it next time.
    let mut compiler = command(&order.cc)?;
    let made = tempfile::Builder::new()
        .prefix("bitcode-")
        .suffix(".o")
        .tempfile_in(&context.state)
        .ok()?;
    let done = compiler
        .args(["-x", "ir", "-O0", "-fPIC", "-w", "-Wno-override-module"])
        .arg("-c")
        .arg(bitcode)
        .arg("-o")
        .arg(made.path())
        .stdin(Stdio::null())
        .output()
        .ok()?;
    done.status
        .success()
        .then(|| std::fs::read(made.path()).ok())?
}

/// Splits off profile flags of others, and ours where the build script already passed them
/// (`Configuration::cflags`): they come once, last.
fn without_profile_flags(args: &[OsString], order: &Order) -> (Vec<OsString>, Vec<String>) {
    let is_ours = |arg: &str| {
        arg != "-mllvm"
            && (order.flags.iter().any(|flag| flag == arg)
                || order.link_flags.iter().any(|flag| flag == arg))
    };
    let mut kept = Vec::with_capacity(args.len());
    let mut removed = Vec::new();
    let mut rest = args.iter().peekable();
    while let Some(arg) = rest.next() {
        let text = arg.to_string_lossy();
        let next = rest.peek().map(|next| next.to_string_lossy());
        if text == "-mllvm" && next.is_some_and(|next| is_ours(&next)) {
            rest.next();
        } else if is_ours(&text) {
            // Comes back at the end.
        } else if flags::is_profile_flag(Family::Clang, &text) {
            removed.push(text.into_owned());
        } else {
            kept.push(arg.clone());
        }
    }
    (kept, removed)
}

/// Divides a command line where flags can be put last: before a `--`, after which all words are
/// inputs. Where only a response file holds the `--`, flags go first.
fn split_at_inputs<'a>(
    args: &'a [OsString],
    expanded: &[OsString],
) -> (&'a [OsString], &'a [OsString]) {
    let separator = |args: &[OsString]| args.iter().position(|arg| arg == "--");
    match (separator(args), separator(expanded)) {
        (Some(at), _) => args.split_at(at),
        (None, Some(_)) => args.split_at(0),
        (None, None) => args.split_at(args.len()),
    }
}

fn is_front_end(flag: &str) -> bool {
    flag.starts_with("-fprofile-instr-generate")
}

/// A source as its path from the root, without `..`: `make -C` runs the compiler elsewhere than in
/// the package's directory, from which globs are.
fn absolute(cwd: &Path, source: &str) -> String {
    let mut path = PathBuf::new();
    for part in cwd.join(source).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path.display().to_string()
}

/// Adds a file to the first rule of a depfile. Best effort: without it the objects of a
/// changed package are dropped before the build anyway.
fn add_to_depfile(depfile: &Path, dependency: &Path) {
    let Ok(text) = std::fs::read_to_string(depfile) else {
        return;
    };
    let escaped: String = dependency
        .to_string_lossy()
        .chars()
        .flat_map(|c| match c {
            ' ' | '#' => vec!['\\', c],
            '$' => vec!['$', '$'],
            c => vec![c],
        })
        .collect();
    if let Some(colon) = text.find(": ") {
        let new = format!("{}: {escaped} {}", &text[..colon], &text[colon + 2..]);
        let _ = std::fs::write(depfile, new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn flags_never_come_after_the_end_of_options() {
        let split = |line: &str, expanded: &str| {
            let (args, expanded) = (words(line), words(expanded));
            let (options, inputs) = split_at_inputs(&args, &expanded);
            (options.len(), inputs.len())
        };
        assert_eq!(split("-O2 -c a.c", "-O2 -c a.c"), (3, 0));
        // cc 1.2.8 and later with clang.
        assert_eq!(split("-O2 -c -- a.c", "-O2 -c -- a.c"), (2, 2));
        assert_eq!(split("@args", "-O2 -c -- a.c"), (0, 1));
    }

    #[test]
    fn forwarded_profile_flags_are_taken_off() {
        let args = words("-O2 -fprofile-use=/x -c a.c");
        let (kept, removed) = without_profile_flags(&args, &Order::nothing(Family::Clang));
        assert_eq!(kept, words("-O2 -c a.c"));
        assert_eq!(removed, ["-fprofile-use=/x"]);
    }

    #[test]
    fn our_flags_from_the_build_script_do_not_come_twice() {
        let mut order = Order::nothing(Family::Clang);
        order.flags = ["-fprofile-instr-use=/s", "-mllvm", "-a=1"]
            .map(String::from)
            .into();
        let args = words("-mllvm -b=2 -fprofile-instr-use=/s -mllvm -a=1 -c a.c");
        let (kept, removed) = without_profile_flags(&args, &order);
        assert_eq!(kept, words("-mllvm -b=2 -c a.c"));
        assert!(removed.is_empty());
    }

    #[test]
    fn sources_are_told_by_their_whole_path() {
        let path = |source| absolute(Path::new("/p/vendor"), source);
        assert_eq!(path("src/a.c"), "/p/vendor/src/a.c");
        assert_eq!(path("./../c/a.c"), "/p/c/a.c");
        assert_eq!(path("/src/a.c"), "/src/a.c");
    }

    #[test]
    fn the_key_enters_the_depfiles_first_rule() {
        let dir = tempfile::tempdir().unwrap();
        let depfile = dir.path().join("a.o.d");
        std::fs::write(&depfile, "a.o: a.c \\\n  a.h\n\na.h:\n").unwrap();
        add_to_depfile(&depfile, Path::new("/my keys/k"));
        assert_eq!(
            std::fs::read_to_string(&depfile).unwrap(),
            "a.o: /my\\ keys/k a.c \\\n  a.h\n\na.h:\n"
        );
    }
}
