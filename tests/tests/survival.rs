//! Counters survive what daemons go through; what is lost is said, and the rest is exact.

use fdo_tests::projects::{BY_HAND, SHARED};
use fdo_tests::{Sandbox, require, tools};

/// `app MODE READY` does a thousand rounds of work in Rust and in C, and then what its mode says.
const MAIN: &str = r#"
use std::time::Duration;

unsafe extern "C" {
    fn c_serve(n: u32) -> u32;
    fn signal(signal: i32, handler: usize) -> usize;
    fn fork() -> i32;
    fn _exit(code: i32) -> !;
    fn kill(pid: i32, signal: i32) -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn execl(path: *const u8, name: *const u8, end: *const u8) -> i32;
}

static STOP: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

extern "C" fn stop(_: i32) {
    STOP.store(true, std::sync::atomic::Ordering::SeqCst);
}

#[inline(never)]
fn rust_serve(n: u32) -> u32 {
    (0..n).fold(1, |s, x| std::hint::black_box(s ^ x))
}

fn work() {
    println!("{} {}", rust_serve(1000), unsafe { c_serve(1000) });
}

/// A worker of its own process; its number.
fn worker(work: impl FnOnce()) -> i32 {
    let pid = unsafe { fork() };
    if pid == 0 {
        work();
        std::process::exit(0);
    }
    pid
}

fn wait(pid: i32) {
    unsafe { waitpid(pid, std::ptr::null_mut(), 0) };
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args[1].as_str() {
        "handler" => drop(unsafe { signal(15, stop as extern "C" fn(i32) as usize) }),
        "deaf" => drop(unsafe { signal(15, 1) }),
        _ => {}
    }
    work();
    match args[1].as_str() {
        "once" => return,
        "workers" => {
            let workers = [(); 3].map(|()| worker(work));
            workers.into_iter().for_each(wait);
            return work();
        }
        "murder" => {
            let victim = worker(|| {
                work();
                std::thread::sleep(Duration::from_secs(600));
            });
            std::thread::sleep(Duration::from_secs(2));
            unsafe { kill(victim, 9) };
            wait(victim);
            return;
        }
        "programs" => {
            for _ in 0..3 {
                let pid = unsafe { fork() };
                if pid == 0 {
                    unsafe {
                        execl(c"/bin/true".as_ptr().cast(), c"true".as_ptr().cast(), std::ptr::null());
                        _exit(1);
                    }
                }
                wait(pid);
            }
            return;
        }
        // As daemon(3) does.
        "daemon" => {
            if unsafe { fork() } > 0 {
                unsafe { _exit(0) };
            }
            work();
        }
        _ => {}
    }
    std::fs::write(&args[2], "ready").unwrap();
    while !STOP.load(std::sync::atomic::Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(5));
    }
}
"#;

const C: &str = "\
unsigned c_serve(unsigned n) {
  unsigned s = 1;
  for (unsigned i = 0; i < n; i++) { s = s << 3 ^ i; __asm__ volatile(\"\" : \"+r\"(s)); }
  return s;
}
";

/// Starts `app MODE` in the background, `$!`, and waits until it is ready.
fn start(mode: &str) -> String {
    format!("{{bin:app}} {mode} {{tmp}}/ready & while ! test -s {{tmp}}/ready; do sleep 0.02; done")
}

fn project(workloads: &[(&str, String)]) -> Sandbox {
    let tables: Vec<String> = workloads
        .iter()
        .map(|(name, run)| format!("[workload.{name}]\nrun = '''{run}'''\n"))
        .collect();
    Sandbox::project()
        .file("src/main.rs", MAIN)
        .file("hot.c", C)
        .file("build.rs", BY_HAND)
        .file("fdo.toml", &tables.join("\n"))
}

/// How often the loops in Rust and in C went round.
#[track_caller]
fn served(t: &Sandbox) -> (u64, u64) {
    let status = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    let rows = status["campaign"]["hottest"].as_array().unwrap();
    let of = |name: &str| {
        let row = rows
            .iter()
            .find(|row| row[0].as_str().unwrap().contains(name));
        row.map_or(0, |row| row[1].as_u64().unwrap())
    };
    (of("rust_serve"), of("c_serve"))
}

/// How many processes of the training lost their counters, as the manifest has it.
#[track_caller]
fn lost(t: &Sandbox) -> u64 {
    let status = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    status["campaign"]["workloads"][0]["lost_processes"]
        .as_u64()
        .unwrap()
}

const LOST: &str = "ended without saving";

#[test]
fn a_daemon_saves_however_it_takes_sigterm() {
    require!(&tools::llvm("clang"));
    let handled = format!("{}; kill -TERM $!; wait $!", start("handler"));
    let default = format!("{}; kill -TERM $!; wait $!; test $? = 143", start("plain"));
    let t = project(&[
        ("handler", handled),
        ("default", default),
        // Nobody stops it: cargo-fdo has to, and its SIGTERM does nothing.
        ("deaf", start("deaf")),
    ]);
    for workload in ["handler", "default", "deaf"] {
        let run = t
            .cargo_fdo(["train", "--no-overhead", "-w", workload])
            .succeeds();
        run.stderr_lacks(LOST);
        assert_eq!(served(&t), (1000, 1000), "{workload}");
        assert_eq!(lost(&t), 0, "{workload}");
    }
}

#[test]
fn forked_processes_count_for_themselves() {
    require!(&tools::llvm("clang"));
    let t = project(&[
        ("workers", "{bin:app} workers".into()),
        ("murder", "{bin:app} murder".into()),
        ("programs", "{bin:app} programs".into()),
        (
            "daemon",
            "{bin:app} daemon {tmp}/ready; while ! test -s {tmp}/ready; do sleep 0.02; done".into(),
        ),
    ]);
    let train = |workload| {
        t.cargo_fdo(["train", "--no-overhead", "-w", workload])
            .succeeds()
    };
    // The parent before and after its forks, and three workers.
    let run = train("workers");
    run.stderr_has("4 raw profiles");
    assert_eq!((served(&t), lost(&t)), ((5000, 5000), 0));
    // What a worker did is lost, and only that.
    let run = train("murder");
    run.stderr_has("1 of 2 instrumented processes ended without saving its counters: app ");
    assert_eq!((served(&t), lost(&t)), ((1000, 1000), 1));
    // A child that executes another program loses nothing.
    let run = train("programs");
    run.stderr_lacks(LOST);
    assert_eq!((served(&t), lost(&t)), ((1000, 1000), 0));
    // What the first process did before it left is there, once.
    let run = train("daemon");
    run.stderr_lacks(LOST);
    assert_eq!((served(&t), lost(&t)), ((2000, 2000), 0));
}

#[test]
fn a_shared_library_saves_and_forks_with_its_program() {
    require!(&tools::llvm("clang"));
    let default = format!("{}; kill -TERM $!; wait $!; test $? = 143", start("plain"));
    let t = project(&[
        ("default", default),
        ("workers", "{bin:app} workers".into()),
        ("deaf", start("deaf")),
    ])
    .file("build.rs", SHARED);
    for (workload, all) in [("default", 1000), ("workers", 5000), ("deaf", 1000)] {
        t.cargo_fdo(["train", "--no-overhead", "-w", workload])
            .succeeds()
            .stderr_lacks(LOST);
        assert_eq!(served(&t), (all, all), "{workload}");
    }
}

#[test]
fn of_sixteen_processes_three_are_killed_and_the_rest_is_exact() {
    require!(&tools::llvm("clang"));
    let run = "\
        for i in 1 2 3; do {bin:app} plain {tmp}/ready$i & victims=\"$victims $!\"; done
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do {bin:app} once & rest=\"$rest $!\"; done
        for i in 1 2 3; do while ! test -s {tmp}/ready$i; do sleep 0.02; done; done
        kill -KILL $victims
        for pid in $rest; do wait $pid || exit 1; done";
    let t = project(&[("many", run.into())]);
    let run = t
        .cargo_fdo(["train", "--no-overhead", "-w", "many"])
        .succeeds();
    run.stderr_has(
        "workload `many`: 3 of 16 instrumented processes ended without saving their counters: app ",
    )
    .stderr_has("13 raw profiles, 3 processes without one");
    assert_eq!((served(&t), lost(&t)), ((13_000, 13_000), 3));
}

#[test]
fn a_supervisor_that_kills_takes_the_counters_and_this_is_said() {
    require!(&tools::llvm("clang"));
    let killed = format!("{}; kill -KILL $!; wait $!; test $? = 137", start("plain"));
    // A daemon has no parent but cargo-fdo, which so knows how it ended.
    let orphan = format!(
        "sh -c '{} & echo $! > {{tmp}}/pid'; while ! test -s {{tmp}}/ready; do sleep 0.02; done; \
         kill -KILL $(cat {{tmp}}/pid); sleep 0.5",
        "{bin:app} plain {tmp}/ready"
    );
    let t = project(&[("killed", killed), ("orphan", orphan)]);
    for (workload, said) in [("killed", ""), ("orphan", " (signal 9, SIGKILL)")] {
        let run = t
            .cargo_fdo(["train", "--no-overhead", "-w", workload])
            .fails_with(5);
        run.stderr_has("1 of 1 instrumented process ended without saving its counters: app ")
            .stderr_has("`continuous = true`")
            .stderr_has(said);
    }
}

#[test]
fn what_was_lost_by_hand_is_said_where_it_could_be_marked() {
    require!(&tools::llvm("clang"));
    let t = project(&[("once", "{bin:app} once".into())]);
    let app = t
        .cargo_fdo(["train", "--build-only"])
        .succeeds()
        .stdout()
        .trim()
        .to_owned();
    let script = format!(
        "export LLVM_PROFILE_FILE=\"$PWD/raws/%p-%m.profraw\"; mkdir -p raws/running; '{app}' once; \
         '{app}' plain ready & while ! test -s ready; do sleep 0.02; done; kill -KILL $!; wait $!; true"
    );
    t.run("sh", ["-c", &script]).succeeds();
    t.cargo_fdo(["train", "--collect", "raws"])
        .succeeds()
        .stderr_has("1 of 2 instrumented processes ended without saving its counters: app ");
    assert_eq!((served(&t), lost(&t)), ((1000, 1000), 1));
}

#[test]
fn continuous_mode_keeps_what_is_killed_and_the_build_uses_it() {
    require!(&tools::llvm("clang"));
    let killed = format!("{}; kill -KILL $!; wait $!; test $? = 137", start("plain"));
    let t = project(&[("killed", killed), ("murder", "{bin:app} murder".into())]);
    let file = t.read("fdo.toml");
    t.write("fdo.toml", &format!("continuous = true\n{file}"));
    for (workload, all) in [("killed", 1000), ("murder", 2000)] {
        t.cargo_fdo(["train", "--no-overhead", "-w", workload])
            .succeeds()
            .stderr_lacks(LOST);
        assert_eq!(served(&t), (all, all), "{workload}");
    }
    // The functions are the same as those that are compiled without its flags.
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("Rust"), Some(1.0));
    assert_eq!(t.used("C and C++"), Some(1.0));
}

#[test]
fn continuous_mode_in_one_language_alone_is_refused() {
    require!(&tools::llvm("clang"));
    let clang = tools::llvm("clang");
    // What a compiler does that does not know the option, or forgets it.
    let half = format!(
        "#!/bin/sh\nfor arg do shift; case $arg in *counter-relocation*) set -- \"$@\" \
         -unroll-max-count=8 ;; *) set -- \"$@\" \"$arg\" ;; esac; done\nexec {clang} \"$@\"\n"
    );
    let t = project(&[("once", "{bin:app} once".into())]).file("half", &half);
    let file = t.read("fdo.toml");
    t.write("fdo.toml", &format!("continuous = true\n{file}"));
    let script = t.path("half");
    make_executable(&script);
    let t = t.env("CC", script.clone()).env("CXX", script);
    t.cargo_fdo(["train", "--no-overhead", "-w", "once"])
        .fails_with(3)
        .stderr_has("`continuous = true` does not work with rustc ")
        .stderr_has("`fdo_canary_c` was counted 0 times, but ran 1000 times");
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
