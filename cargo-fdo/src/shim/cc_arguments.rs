//! What a C compiler's command line is about.
//!
//! Only as much of the gcc/clang command line as decides between "a real compilation", "a
//! link" and "leave it alone"; what is not understood is left alone.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Asks something, preprocesses, or is a configure step's probe.
    PassThrough,
    /// Makes an object of assembler.
    Assemble,
    /// Makes an object (`-c`) or assembly (`-S`) of C or C++ sources.
    Compile,
    /// Makes a precompiled header, whose code is compiled where it is included.
    Precompile,
    /// Makes a program or shared library, of objects and perhaps of sources.
    Link,
}

/// A C compiler call, as far as the shim cares.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) action: Action,
    pub(super) sources: Vec<String>,
    pub(super) output: Option<PathBuf>,
    pub(super) depfile: Option<PathBuf>,
    /// A program or a shared library: a link that is not to be linked again (`-r`).
    pub(super) is_image: bool,
}

/// Options whose value is the next argument.
const WITH_VALUE: &[&str] = &[
    "-I",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-isysroot",
    "--sysroot",
    "-D",
    "-U",
    "-include",
    "-imacros",
    "-MT",
    "-MQ",
    "-Xclang",
    "-mllvm",
    "-target",
    "-arch",
    "-L",
    "-l",
    "-framework",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-T",
    "-u",
    "-z",
    "-e",
    "-G",
    "-A",
    "-B",
    "-specs",
    "--param",
    "-dumpbase",
    "-dumpdir",
    "-aux-info",
    "-gcc-toolchain",
    "-Xarch_host",
    "-Xarch_device",
];

/// Options that make a call a question.
const QUESTIONS: &[&str] = &[
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "-###",
    "--version",
    "-version",
    "--help",
    "-V",
    "-qversion",
    "-?",
    "-dumpversion",
    "-dumpmachine",
    "-dumpspecs",
    "-dumpfullversion",
];

impl Call {
    pub(super) fn parse(args: &[OsString]) -> Call {
        let mut call = Call {
            action: Action::Link,
            sources: Vec::new(),
            output: None,
            depfile: None,
            is_image: true,
        };
        let mut inputs = 0;
        let mut asks = false;
        let mut compiles = false;
        let mut assembler = Vec::new();
        let mut headers = Vec::new();
        let mut writes_deps = false;
        let mut language: Option<String> = None;
        let mut rest = args.iter().map(|arg| arg.to_string_lossy());
        while let Some(arg) = rest.next() {
            match &*arg {
                "-c" | "-S" => compiles = true,
                "-o" => call.output = rest.next().map(|value| PathBuf::from(&*value)),
                "-MF" => call.depfile = rest.next().map(|value| PathBuf::from(&*value)),
                "-MD" | "-MMD" => writes_deps = true,
                "-x" => language = rest.next().map(|value| value.into_owned()),
                "-r" => call.is_image = false,
                option
                    if QUESTIONS.contains(&option)
                        || option.starts_with("-print-")
                        || option.starts_with("--print-") =>
                {
                    asks = true;
                }
                option if WITH_VALUE.contains(&option) => {
                    rest.next();
                }
                option if option.starts_with("-o") && option.len() > 2 => {
                    call.output = Some(PathBuf::from(&option[2..]));
                }
                option if option.starts_with("-x") && option.len() > 2 => {
                    language = Some(option[2..].to_owned());
                }
                // The end of options: all that follows is input.
                "--" => {
                    for input in rest.by_ref() {
                        inputs += 1;
                        if is_source(&input, language.as_deref()) {
                            call.sources.push(input.into_owned());
                        } else if is_assembler(&input, language.as_deref()) {
                            assembler.push(input.into_owned());
                        } else if is_header(language.as_deref()) {
                            headers.push(input.into_owned());
                        }
                    }
                }
                // Standard input: only probes read it.
                "-" => asks = true,
                option if option.starts_with('-') => {}
                input => {
                    inputs += 1;
                    if is_source(input, language.as_deref()) {
                        call.sources.push(input.to_owned());
                    } else if is_assembler(input, language.as_deref()) {
                        assembler.push(input.to_owned());
                    } else if is_header(language.as_deref()) {
                        headers.push(input.to_owned());
                    }
                }
            }
        }
        call.action = if asks || inputs == 0 || is_probe(args) {
            Action::PassThrough
        } else if compiles && call.sources.is_empty() && !assembler.is_empty() {
            call.sources = assembler;
            Action::Assemble
        } else if compiles && call.sources.is_empty() && headers.len() == 1 {
            call.sources = headers;
            Action::Precompile
        } else if compiles && call.sources.is_empty() {
            // Precompiled bitcode.
            Action::PassThrough
        } else if compiles {
            Action::Compile
        } else {
            Action::Link
        };
        if writes_deps && call.depfile.is_none() {
            call.depfile = call
                .output
                .as_ref()
                .map(|output| output.with_extension("d"));
        }
        call
    }

    /// What the call makes: `-o`, or what is named after each source.
    pub(super) fn outputs(&self, cwd: &Path) -> Vec<PathBuf> {
        if let Some(output) = &self.output {
            return vec![cwd.join(output)];
        }
        if self.action == Action::Link {
            return vec![cwd.join("a.out")];
        }
        let names = self.sources.iter().filter_map(|source| {
            let name = Path::new(source).file_name()?;
            Some(cwd.join(name).with_extension("o"))
        });
        names.collect()
    }
}

fn is_source(input: &str, language: Option<&str>) -> bool {
    match language {
        None | Some("none") => matches!(
            Path::new(input)
                .extension()
                .and_then(|ending| ending.to_str()),
            Some("c" | "i" | "cc" | "cp" | "cxx" | "cpp" | "CPP" | "c++" | "C" | "ii" | "m" | "mm")
        ),
        Some("c" | "c++" | "cpp-output" | "c++-cpp-output" | "objective-c" | "objective-c++") => {
            true
        }
        Some(_) => false,
    }
}

/// Headers are precompiled where that is asked for: by its name alone, one may be a mistake.
fn is_header(language: Option<&str>) -> bool {
    matches!(language, Some("c-header" | "c++-header"))
}

fn is_assembler(input: &str, language: Option<&str>) -> bool {
    match language {
        None | Some("none") => Path::new(input)
            .extension()
            .is_some_and(|ending| ["s", "S", "sx"].iter().any(|known| ending == *known)),
        Some(language) => language.starts_with("assembler"),
    }
}

/// Whether this is a step of configure, of CMake's or meson's checks, or of the cc crate's
/// flag tests: they must see the compiler as it is, and what they build must not leave
/// profiles.
fn is_probe(args: &[OsString]) -> bool {
    const MARKS: &[&str] = &[
        "/CMakeFiles/CMakeTmp",
        "/CMakeFiles/CMakeScratch/",
        "/CMakeFiles/_CMakeLTOTest-",
        "/CMakeScratch/",
        "CMakeCCompilerId",
        "CMakeCXXCompilerId",
        "CMakeCCompilerABI",
        "CMakeCXXCompilerABI",
        "/meson-private/",
        "meson-private/tmp",
    ];
    let marked = |text: &str| MARKS.iter().any(|mark| text.contains(mark));
    let named = |text: &str| {
        matches!(
            Path::new(text).file_stem().and_then(|stem| stem.to_str()),
            Some("conftest" | "flag_check" | "detect_compiler_family")
        )
    };
    std::env::current_dir().is_ok_and(|dir| marked(&dir.to_string_lossy()))
        || args.iter().any(|arg| {
            let arg = arg.to_string_lossy();
            marked(&arg) || (!arg.starts_with('-') && named(&arg))
        })
}

/// Replaces `@file` arguments by what the file holds, as gcc and clang read it.
pub(super) fn expand_response_files(args: &[OsString]) -> Vec<OsString> {
    args.iter()
        .flat_map(|arg| {
            let words = arg
                .to_str()
                .and_then(|arg| arg.strip_prefix('@'))
                .and_then(|path| std::fs::read_to_string(path).ok())
                .and_then(|text| shlex::split(&text));
            match words {
                Some(words) => words.into_iter().map(OsString::from).collect(),
                None => vec![arg.clone()],
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Call {
        Call::parse(
            &line
                .split_whitespace()
                .map(OsString::from)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn a_compilation_of_the_cc_crate_is_one() {
        let call = parse("-O3 -ffunction-sections -I src -DX=1 -o /o/a.o -c src/a.c");
        assert_eq!(call.action, Action::Compile);
        assert_eq!(call.sources, ["src/a.c"]);
        assert_eq!(call.outputs(Path::new("/w")), [PathBuf::from("/o/a.o")]);
    }

    #[test]
    fn a_compilation_of_cmake_names_its_depfile() {
        let call = parse("-O2 -MD -MT a.o -MF a.o.d -o a.o -c /s/a.cc");
        assert_eq!(call.depfile, Some("a.o.d".into()));
        assert_eq!(parse("-MMD -c a.c -o x/a.o").depfile, Some("x/a.d".into()));
    }

    #[test]
    fn questions_and_probes_pass_through() {
        for line in [
            "--version",
            "-E x.c",
            "-dumpmachine",
            "-print-search-dirs",
            "-",
            "",
            "-c /o/flag_check.c -o /o/flag_check",
            "-o conftest conftest.c",
            "-c x.bc -o x.o",
            "-M x.c",
            "-c /b/CMakeFiles/CMakeScratch/TryCompile-1/t.c -o t.o",
        ] {
            assert_eq!(parse(line).action, Action::PassThrough, "{line}");
        }
    }

    #[test]
    fn assembler_is_told_from_c() {
        for line in ["-c x.s -o x.o", "-x assembler-with-cpp -c x.c", "-c -- x.S"] {
            assert_eq!(parse(line).action, Action::Assemble, "{line}");
        }
    }

    #[test]
    fn precompiled_headers_are_no_objects() {
        let line = "-O2 -x c++-header -o m.dir/cmake_pch.hxx.gch -c m.dir/cmake_pch.hxx.cxx";
        let call = parse(line);
        assert_eq!(call.action, Action::Precompile);
        assert_eq!(call.sources, ["m.dir/cmake_pch.hxx.cxx"]);
    }

    #[test]
    fn each_source_without_an_output_has_its_own() {
        let outputs = |line: &str| parse(line).outputs(Path::new("/w"));
        assert_eq!(
            outputs("-c a.c src/b.cc"),
            [PathBuf::from("/w/a.o"), PathBuf::from("/w/b.o")]
        );
        assert_eq!(outputs("a.c b.o"), [PathBuf::from("/w/a.out")]);
        assert_eq!(
            outputs("-shared a.c -o x/l.so"),
            [PathBuf::from("/w/x/l.so")]
        );
    }

    #[test]
    fn links_are_told_from_compilations() {
        assert_eq!(parse("a.o b.o -o prog").action, Action::Link);
        assert!(parse("a.o -o prog").is_image);
        assert!(parse("-shared a.o -o lib.so").is_image);
        assert!(!parse("-r a.o b.o -o ab.o").is_image);
        let both = parse("main.c -o prog");
        assert_eq!((both.action, both.sources.len()), (Action::Link, 1));
    }

    #[test]
    fn values_of_options_are_no_inputs() {
        assert_eq!(parse("-include x.c -I y.c --version").sources.len(), 0);
        assert_eq!(parse("-x c -c - -o a.o").action, Action::PassThrough);
    }
}
