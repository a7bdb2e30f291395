//! Marks of processes, and forked children.

use super::super::MARKS;
use super::{Invocation, PLAIN, SIGTERM, SIGUSR2, Test};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

/// Forks three children, each of which counts a thousand and ends as `END` says.
const FORKS: &str = r#"
extern "C" { fn fork() -> i32; fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
             fn _exit(code: i32) -> !; }
fn setup() {
    let mut s = 1;
    for _ in 0..500 { s = counted_rust(s); }
    println!("before {}", s);
    for _ in 0..3 { unsafe {
        let pid = fork();
        if pid == 0 {
            for _ in 0..1000 { s = counted_rust(s); }
            assert!(s != 7);
            END
        }
        waitpid(pid, std::ptr::null_mut(), 0);
    } }
}
fn more() {}
"#;

/// The marks: process and text.
fn marks(t: &Test) -> Vec<(i32, String)> {
    let files = crate::fs::list(&t.at("raw").join(MARKS)).unwrap();
    let mut marks = Vec::new();
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let pid = name.split_once('-').unwrap().0.parse().unwrap();
        marks.push((pid, std::fs::read_to_string(&file).unwrap()));
    }
    marks
}

/// The raw profiles, whatever else there is.
fn raw_profiles(t: &Test) -> usize {
    let files = crate::fs::list(&t.at("raw")).unwrap();
    files.iter().filter(|file| file.is_file()).count()
}

#[test]
fn children_count_for_themselves_in_files_of_their_own() {
    let Some(t) = Test::new() else { return };
    for (end, all, files) in [
        ("std::process::exit(0)", 500 + 3 * 1000 + 1000, 4),
        // What a child counts is lost then, and not its parent's.
        ("_exit(0)", 500 + 1000, 1),
    ] {
        let program = t.rust_program(&FORKS.replace("END", end), &[]);
        let call = Invocation::new(&program).env("LLVM_PROFILE_FILE", t.at("raw/%p-%m.profraw"));
        let mut child = call
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        writeln!(child.stdin.take().unwrap()).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(raw_profiles(&t), files, "{end}");
        assert_eq!(t.counted("counted_rust"), Some(all), "{end}");
        std::fs::remove_dir_all(t.at("raw")).unwrap();
    }
}

#[test]
fn a_process_is_marked_until_its_counters_are_saved() {
    let Some(t) = Test::new() else { return };
    let file = t.rust_program(PLAIN, &[]);
    let dir = t.at("raw").join(MARKS);
    std::fs::create_dir_all(&dir).unwrap();
    let text = |saves: u32| format!("{saves:010} rs\n{}", file.display());
    // Ends by itself.
    let mut program = t.start(&file);
    let pid = program.child.id() as i32;
    assert_eq!(marks(&t), [(pid, text(0))]);
    program.work();
    program.signal(SIGUSR2);
    program.work();
    assert_eq!(marks(&t), [(pid, text(1))]);
    program.signal(SIGUSR2);
    program.work();
    assert_eq!(marks(&t), [(pid, text(2))]);
    drop(program.stdin);
    assert!(program.child.wait().unwrap().success());
    assert_eq!(marks(&t), []);
    // Ends by SIGTERM.
    let program = t.start(&file);
    assert_eq!(marks(&t).len(), 1);
    program.signal(SIGTERM);
    assert_eq!(program.status().signal(), Some(SIGTERM));
    assert_eq!(marks(&t), []);
    // Is killed.
    let mut program = t.start(&file);
    let pid = program.child.id() as i32;
    program.child.kill().unwrap();
    program.status();
    assert_eq!(marks(&t), [(pid, text(0))]);
}

#[test]
fn a_mark_that_cannot_be_made_disturbs_nothing() {
    let Some(t) = Test::new() else { return };
    let file = t.rust_program(PLAIN, &[]);
    // No directory; a file in its place; all descriptors closed; a relative name.
    std::fs::create_dir_all(t.at("raw")).unwrap();
    std::fs::write(t.at("raw").join(MARKS), "mine").unwrap();
    let script = format!("exec 0<&- 1>&- 2>&-; exec '{}'", file.display());
    for pattern in [
        t.at("none/%p-%m.profraw"),
        t.at("raw/%p-%m.profraw"),
        "a/%p.profraw".into(),
    ] {
        let call = Invocation::new("sh")
            .args(["-c", &script])
            .cwd(t.dir.path())
            .env("LLVM_PROFILE_FILE", &pattern);
        let output = call.probe().unwrap();
        // It can't say that it is ready: Rust ends it for that alone, after the object was at work.
        assert!(output.status.signal().is_none(), "{pattern:?}");
    }
    assert_eq!(std::fs::read(t.at("raw").join(MARKS)).unwrap(), b"mine");
}
