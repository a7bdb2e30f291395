//! Programs that loop until a signal ends them, with counts that must be exact.
//!
//! Each counts a million calls, says so, and waits in a loop that counts nothing of interest.

use super::super::canary::rust_canary;
use super::super::profdata::{self, FailureMode, write_list};
use super::super::real_tools::{rustc, skip, tool};
use super::super::{Invocation, Places, Profdata, Rustc};
use super::{build, supported};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use tempfile::TempDir;

const SIGUSR2: i32 = 12;
const SIGALRM: i32 = 14;
const SIGTERM: i32 = 15;

/// For each line on stdin, calls `counted` a thousand times; then answers.
const RUST: &str = r#"
use std::io::BufRead;
#[inline(never)] #[no_mangle] pub extern "C" fn counted_rust(x: u32) -> u32 { x.rotate_left(3) ^ 5 }
EXTRA
fn main() {
    setup();
    println!("ready");
    let mut lines = std::io::stdin().lock().lines();
    while let Some(Ok(_)) = lines.next() {
        let mut s = 1;
        for _ in 0..1000 { s = counted_rust(s); more(); }
        println!("done {}", s);
    }
}
"#;
const PLAIN: &str = "fn setup() {} fn more() {}";

const C: &str = r#"
#include <stdio.h>
__attribute__((noinline)) unsigned counted_c(unsigned x) { return (x << 3 | x >> 29) ^ 5; }
#ifndef LIBRARY
int main(void) {
  char line[16];
  puts("ready"); fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    unsigned s = 1;
    for (int i = 0; i < 1000; i++) s = counted_c(s);
    printf("done %u\n", s); fflush(stdout);
  }
  return 0;
}
#endif
"#;

struct Test {
    rustc: Rustc,
    profdata: Profdata,
    dir: TempDir,
}

struct Running {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Test {
    /// Everything that all of these need; `None` where it is not there, after saying so.
    fn new() -> Option<Test> {
        let (rustc, dir) = rustc();
        if !supported(&rustc.host) {
            return None;
        }
        let sample = rust_canary(&rustc, dir.path()).unwrap();
        let places = Places::of_process();
        let found = profdata::locate(None, None, &rustc, &sample.path, &places, dir.path());
        let Ok(profdata) = found else {
            skip("no llvm-profdata fits");
            return None;
        };
        build(&rustc, &rustc.host, &dir.path().join("signals.o")).unwrap();
        Some(Test {
            rustc,
            profdata,
            dir,
        })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn signals(&self) -> PathBuf {
        self.at("signals.o")
    }

    fn rust_program(&self, extra: &str, args: &[String]) -> PathBuf {
        let source = self.at("program.rs");
        std::fs::write(&source, RUST.replace("EXTRA", extra)).unwrap();
        Invocation::new(&self.rustc.program)
            .args([
                "--edition=2021",
                "-Copt-level=2",
                "-Cprofile-generate=/nonexistent",
                "-o",
            ])
            .arg(self.at("program"))
            .arg(source)
            .arg(format!("-Clink-arg={}", self.signals().display()))
            .args(args)
            .run()
            .unwrap();
        self.at("program")
    }

    fn start(&self, program: &Path) -> Running {
        let call = Invocation::new(program)
            .env("LLVM_PROFILE_FILE", self.at("raw/%p-%m.profraw"))
            .env("LD_LIBRARY_PATH", self.dir.path());
        Running::start(&mut call.command())
    }

    /// How often a function was counted, in all raw profiles together.
    fn counted(&self, function: &str) -> Option<u64> {
        let raws = crate::fs::list(&self.at("raw")).unwrap();
        let inputs: Vec<_> = raws.into_iter().map(|path| (1, path)).collect();
        if inputs.is_empty() {
            return None;
        }
        let list = self.at("raw.list");
        write_list(&list, self.dir.path(), &inputs).unwrap();
        let text = self.at("merged.proftext");
        self.profdata
            .merge_to_text(&list, FailureMode::Any, &text)
            .run()
            .unwrap();
        let text = std::fs::read_to_string(text).unwrap();
        let mut lines = text.lines().skip_while(|line| *line != function);
        lines.find(|line| *line == "# Counter Values:")?;
        lines.next()?.parse().ok()
    }
}

impl Running {
    fn start(command: &mut Command) -> Running {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut running = Running {
            child,
            stdin,
            stdout,
        };
        running.reads("ready");
        running
    }

    fn reads(&mut self, start: &str) {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with(start), "{line:?}");
    }

    /// A thousand calls.
    fn work(&mut self) {
        writeln!(self.stdin).unwrap();
        self.reads("done");
    }

    fn signal(&self, signal: i32) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let signal = rustix::process::Signal::from_named_raw(signal).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    fn status(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

#[test]
fn rust_saves_on_request_and_at_its_end_and_counts_nothing_twice() {
    let Some(t) = Test::new() else { return };
    let mut program = t.start(&t.rust_program(PLAIN, &[]));
    program.work();
    program.signal(SIGUSR2);
    program.work();
    assert_eq!(t.counted("counted_rust"), Some(1000));
    program.signal(SIGUSR2);
    program.work();
    program.work();
    program.signal(SIGTERM);
    assert_eq!(program.status().signal(), Some(SIGTERM));
    assert_eq!(t.counted("counted_rust"), Some(4000));
}

#[test]
fn a_normal_end_after_a_save_adds_the_rest() {
    let Some(t) = Test::new() else { return };
    let mut program = t.start(&t.rust_program(PLAIN, &[]));
    program.work();
    program.signal(SIGUSR2);
    program.work();
    let Running {
        mut child, stdin, ..
    } = program;
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(t.counted("counted_rust"), Some(2000));
}

#[test]
fn it_links_with_gnu_ld_and_twice() {
    let Some(t) = Test::new() else { return };
    if tool("ld.bfd").is_none() {
        return;
    }
    let again = t.at("again.o");
    std::fs::copy(t.signals(), &again).unwrap();
    let args = [
        "-Clink-arg=-fuse-ld=bfd".to_owned(),
        format!("-Clink-arg={}", again.display()),
    ];
    let mut program = t.start(&t.rust_program(PLAIN, &args));
    program.work();
    program.signal(SIGUSR2);
    program.work();
    program.signal(SIGTERM);
    assert_eq!(program.status().signal(), Some(SIGTERM));
    assert_eq!(t.counted("counted_rust"), Some(2000));
}

/// `signal(2)`, and what libraries do that share a signal: call the handler before theirs.
const OWN: &str = r#"
extern "C" { fn signal(signal: i32, handler: usize) -> usize; fn _exit(code: i32) -> !;
             fn __llvm_profile_write_file() -> i32; }
fn more() {}
"#;

#[test]
fn what_the_program_ignores_or_handles_stays_its_own() {
    let Some(t) = Test::new() else { return };
    let handles = format!(
        "{OWN} extern \"C\" fn own(_: i32) {{ unsafe {{ __llvm_profile_write_file(); _exit(7) }} }}\n\
         fn setup() {{ unsafe {{ signal(15, own as extern \"C\" fn(i32) as usize); }} }}"
    );
    let mut program = t.start(&t.rust_program(&handles, &[]));
    program.work();
    program.signal(SIGTERM);
    assert_eq!(program.status().code(), Some(7));
    assert_eq!(t.counted("counted_rust"), Some(1000));

    // `nohup`-like: ignored from the start.
    let program = t.rust_program(PLAIN, &[]);
    let script = t.at("ignore.sh");
    std::fs::write(
        &script,
        format!("trap '' TERM USR2\nexec '{}'\n", program.display()),
    )
    .unwrap();
    let shell = Invocation::new("sh")
        .arg(&script)
        .env("LLVM_PROFILE_FILE", t.at("raw/%p-%m.profraw"));
    let mut running = Running::start(&mut shell.command());
    running.signal(SIGTERM);
    running.signal(SIGUSR2);
    running.work();
    drop(running.stdin);
    assert!(running.child.wait().unwrap().success());
    assert_eq!(t.counted("counted_rust"), Some(2000));
}

#[test]
fn a_handler_that_calls_the_one_before_it_still_ends_the_program_in_its_own_way() {
    let Some(t) = Test::new() else { return };
    // As signal-hook, and so tokio, do it. `_exit` writes nothing, so the counts are ours.
    let chains = format!(
        "{OWN} static mut BEFORE: usize = 0;\n\
         extern \"C\" fn own(n: i32) {{ unsafe {{\n\
           if BEFORE > 1 {{ std::mem::transmute::<usize, extern \"C\" fn(i32)>(BEFORE)(n) }}\n\
           _exit(9) }} }}\n\
         fn setup() {{ unsafe {{ BEFORE = signal(15, own as extern \"C\" fn(i32) as usize); }} }}"
    );
    let mut program = t.start(&t.rust_program(&chains, &[]));
    program.work();
    program.signal(SIGTERM);
    assert_eq!(program.status().code(), Some(9));
    assert_eq!(t.counted("counted_rust"), Some(1000));
}

#[test]
fn a_hanging_save_does_not_keep_the_program_alive() {
    let Some(t) = Test::new() else { return };
    // The same object, less patient.
    for (name, text) in super::SOURCES {
        std::fs::write(t.at(name), text).unwrap();
    }
    let (name, text) = super::SOURCES[0];
    let source = t.at(name);
    let impatient = text.replace("PATIENCE: u32 = 10;", "PATIENCE: u32 = 1;");
    assert_ne!(impatient, text);
    std::fs::write(&source, impatient).unwrap();
    super::compile(&t.rustc, &t.rustc.host, &source, &t.signals())
        .run()
        .unwrap();
    let program = t.rust_program(PLAIN, &[]);
    let pattern = t.at("raw/%m.profraw");
    let call = Invocation::new(&program).env("LLVM_PROFILE_FILE", &pattern);
    call.run().unwrap();
    // The runtime waits for whoever has locked the file that it adds to.
    let raws = crate::fs::list(&t.at("raw")).unwrap();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&raws[0])
        .unwrap();
    rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    for (signal, end) in [(SIGTERM, SIGTERM), (SIGUSR2, SIGALRM)] {
        let mut command = call.command();
        let mut running = Running::start(command.stderr(Stdio::piped()));
        let mut stderr = running.child.stderr.take().unwrap();
        running.signal(signal);
        assert_eq!(running.status().signal(), Some(end));
        let said = std::io::read_to_string(&mut stderr).unwrap();
        assert!(said.contains("saving the profile hangs"), "{said}");
    }
}

#[test]
fn a_program_linked_by_clang_saves_too() {
    let Some(t) = Test::new() else { return };
    let Some(clang) = tool(&format!("clang-{}", t.rustc.llvm_major)) else {
        return;
    };
    let source = t.at("program.c");
    std::fs::write(&source, C).unwrap();
    Invocation::new(clang)
        .args(["-O2", "-fprofile-generate"])
        .arg(&source)
        .arg(t.signals())
        .arg("-o")
        .arg(t.at("c-program"))
        .run()
        .unwrap();
    let mut program = t.start(&t.at("c-program"));
    program.work();
    program.signal(SIGUSR2);
    program.work();
    program.signal(SIGUSR2);
    program.work();
    program.signal(SIGTERM);
    assert_eq!(program.status().signal(), Some(SIGTERM));
    assert_eq!(t.counted("counted_c"), Some(3000));
}

#[test]
fn a_shared_library_with_a_runtime_of_its_own_saves_beside_the_program() {
    let Some(t) = Test::new() else { return };
    let Some(clang) = tool(&format!("clang-{}", t.rustc.llvm_major)) else {
        return;
    };
    let source = t.at("library.c");
    std::fs::write(&source, C).unwrap();
    Invocation::new(clang)
        .args(["-O2", "-fprofile-generate", "-DLIBRARY", "-shared", "-fPIC"])
        .arg(&source)
        .arg(t.signals())
        .arg("-o")
        .arg(t.at("libcounted.so"))
        .run()
        .unwrap();
    let extra = "#[link(name = \"counted\", kind = \"dylib\")]\n\
                 extern \"C\" { fn counted_c(x: u32) -> u32; }\n\
                 fn setup() {} fn more() { unsafe { counted_c(1); } }";
    let args = [format!("-L{}", t.dir.path().display())];
    let mut program = t.start(&t.rust_program(extra, &args));
    program.work();
    program.signal(SIGUSR2);
    program.work();
    program.signal(SIGTERM);
    assert_eq!(program.status().signal(), Some(SIGTERM));
    assert_eq!(t.counted("counted_rust"), Some(2000));
    assert_eq!(t.counted("counted_c"), Some(2000));
}

#[path = "mark_tests.rs"]
mod marks;
