//! Services of a workload: started in order, watched, stopped with their counters kept, and gone
//! afterwards, however `cargo fdo` ends.

use fdo_tests::{Sandbox, require, tools};
use rustix::process::{Pid, Signal};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// `server PORT MODE`: adds up for whoever asks. `client PORT REQUESTS [seconds to wait at the end]`.
const SERVER: &str = r#"
use std::io::{BufRead, BufReader, Write};
unsafe extern "C" { fn signal(number: i32, handler: usize) -> usize; }

#[inline(never)]
pub fn served(n: u64) -> u64 {
    (0..n).filter(|i| i % 3 == 0).map(|i| i ^ n).sum()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mode = args.get(2).map_or("", String::as_str);
    if mode == "ignores" {
        unsafe { signal(15, 1); }
    }
    println!("mode {mode}");
    if mode == "deaf" {
        std::thread::sleep(std::time::Duration::from_secs(600));
    }
    let socket = std::net::TcpListener::bind(format!("127.0.0.1:{}", args[1])).unwrap();
    println!("listens");
    for stream in socket.incoming() {
        let Ok(stream) = stream else { continue };
        stream.set_nodelay(true).unwrap();
        let mut out = stream.try_clone().unwrap();
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { break };
            if mode == "crashes" {
                eprintln!("fatal: out of widgets");
                std::process::abort();
            }
            let Ok(n) = line.parse::<u64>() else { break };
            if out.write_all(format!("{}\n", served(n)).as_bytes()).is_err() { break }
        }
    }
}
"#;

const CLIENT: &str = r#"
use std::io::{BufRead, BufReader, Write};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut stream = std::net::TcpStream::connect(format!("127.0.0.1:{}", args[1])).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    for _ in 0..args[2].parse().unwrap() {
        stream.write_all(b"5000\n").unwrap();
        let answer: u64 = lines.next().unwrap().unwrap().parse().unwrap();
        assert!(answer > 0);
    }
    println!("answers per second: 12.5");
    if let Some(seconds) = args.get(3) {
        std::fs::write("waiting", "").unwrap();
        std::thread::sleep(std::time::Duration::from_secs_f64(seconds.parse().unwrap()));
    }
}
"#;

fn project(configuration: &str) -> Sandbox {
    Sandbox::project()
        .file("src/bin/server.rs", SERVER)
        .file("src/bin/client.rs", CLIENT)
        .file("fdo.toml", configuration)
        .without_tools()
}

fn server(mode: &str, rest: &str) -> String {
    format!(
        "[service.server]\nrun = ['{{bin:server}}', '{{port:server}}', '{mode}']\n\
         ready = {{ port = '{{port:server}}' }}\n{rest}\n"
    )
}

const ASKS: &str = "[workload.asks]\nservices = ['server']\n\
                    run = ['{bin:client}', '{port:server}', '100']\n";

/// Processes whose program lies in a directory.
fn programs_below(t: &Sandbox) -> Vec<String> {
    let root = t.root().canonicalize().unwrap();
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|process| {
            let program = std::fs::read_link(process.path().join("exe")).ok()?;
            program
                .starts_with(&root)
                .then(|| program.display().to_string())
        })
        .collect()
}

#[track_caller]
fn assert_gone(t: &Sandbox) {
    let left = programs_below(t);
    assert!(left.is_empty(), "left over: {left:?}");
}

/// Waits for something that surely comes.
fn wait(what: &str, is_there: &dyn Fn() -> bool) {
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < Duration::from_secs(240), "no {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn services_start_in_order_and_their_counters_are_kept() {
    require!(&tools::llvm("llvm-profdata"));
    let second = "[service.second]\nneeds = ['server']\nrun = 'sleep 600'\n\
                  ready = { command = ['{bin:client}', '{port:server}', '1'] }\n";
    let workload = "[workload.asks]\nservices = ['second']\n\
                    run = ['{bin:client}', '{port:server}', '100']\n";
    let t = project(&format!("{second}{}{workload}", server("", "")));
    let run = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    // Of the server alone: the load is not what one trains.
    run.stderr_has("1 raw profile");
    assert_gone(&t);
    // What only asks whether it is ready has counters too.
    assert!(!t.path("default.profraw").exists());
    let shown = t.cargo_fdo(["status"]).succeeds();
    shown.stdout_has("asks");
    let whole = t.campaign("rust.proftext");
    let text = std::fs::read_to_string(whole).unwrap();
    assert!(text.contains("served"), "{text}");
    assert!(!text.contains("6client"), "{text}");
}

#[test]
fn the_load_is_profiled_where_that_is_wanted() {
    require!(&tools::llvm("llvm-profdata"));
    let t = project(&format!("{}{ASKS}profile-load = true\n", server("", "")));
    let run = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    run.stderr_has("2 raw profiles");
}

#[test]
fn a_crash_is_the_error_with_the_end_of_the_log() {
    let t = project(&format!("{}{ASKS}", server("crashes", "")));
    let _ = t.cargo_fdo(["train", "--no-overhead"]).fails_saying(
        5,
        &[
            "workload `asks`: service `server` ended while it was needed",
            "signal",
            "fatal: out of widgets",
        ],
    );
    assert_gone(&t);
}

#[test]
fn a_service_that_never_answers_and_one_that_ends_at_once_are_named() {
    let t = project(&format!(
        "[service.server]\nrun = ['{{bin:server}}', '{{port:server}}', 'deaf']\n\
         ready = {{ port = '{{port:server}}', timeout = '1s' }}\n{ASKS}"
    ));
    let _ = t
        .cargo_fdo(["train", "--no-overhead"])
        .fails_saying(5, &["service `server` was not ready after 1s", "mode deaf"]);
    assert_gone(&t);
    t.write(
        "fdo.toml",
        &format!(
            "[service.server]\nrun = 'echo no disk; exit 7'\nready = {{ log = 'listens' }}\n{ASKS}"
        ),
    );
    let _ = t.cargo_fdo(["train", "--no-overhead"]).fails_saying(
        5,
        &[
            "service `server` ended while it was needed (exit status 7)",
            "no disk",
        ],
    );
}

#[test]
fn whose_port_is_taken_says_by_whom() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let t = project(&format!(
        "[service.server]\nrun = ['{{bin:server}}', '{port}']\nready = {{ port = {port} }}\n{ASKS}"
    ));
    let _ = t.cargo_fdo(["train", "--no-overhead"]).fails_saying(
        5,
        &[
            &format!(
                "service `server` can't have 127.0.0.1:{port}: it is in use by process {}",
                std::process::id()
            ),
            "{port:server}",
        ],
    );
}

#[test]
fn each_way_of_being_ready_is_waited_for() {
    require!(&tools::llvm("llvm-profdata"));
    for ready in [
        "{ log = '^listens$' }",
        "{ file = '{tmp}/there' }",
        "{ command = 'test -e {tmp}/there' }",
    ] {
        let t = project(&format!(
            "[service.server]\nrun = 'sleep 0.3; touch {{tmp}}/there; exec {{bin:server}} {{port:server}}'\n\
             ready = {ready}\n\
             [workload.asks]\nservices = ['server']\n\
             run = 'test -e {{tmp}}/there && sleep 0.3 && {{bin:client}} {{port:server}} 1'\n"
        ));
        let _ = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    }
}

#[test]
fn one_that_ignores_its_signal_is_killed_and_its_counters_are_saved_before() {
    require!(&tools::llvm("llvm-profdata"));
    let t = project(&format!("{}{ASKS}", server("ignores", "grace = '500ms'")));
    let run = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    run.stderr_has("service `server` did not end within 500ms of SIGTERM and was killed");
    run.stderr_has("1 raw profile");
    assert_gone(&t);
}

#[test]
fn what_prepare_did_is_not_profiled() {
    require!(&tools::llvm("llvm-profdata"));
    let count = |prepare: &str| {
        let t = project(&format!("{}{ASKS}{prepare}", server("", "")));
        let _ = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
        let text = std::fs::read_to_string(t.campaign("rust.proftext")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let at = lines
            .iter()
            .position(|line| line.contains("served"))
            .unwrap();
        // The largest of its counts: the loop's.
        let counts = lines[at + 1..]
            .iter()
            .take_while(|line| !line.contains("_R"));
        counts
            .filter_map(|line| line.parse::<u64>().ok())
            .filter(|n| *n < 1 << 40)
            .max()
            .unwrap()
    };
    let plain = count("");
    let prepared = count("prepare = ['{bin:client}', '{port:server}', '900']\n");
    assert_eq!(plain, prepared);
}

#[test]
fn nothing_is_left_when_cargo_fdo_is_killed_and_the_next_run_works() {
    require!("setsid", &tools::llvm("llvm-profdata"));
    let long = "[workload.long]\nservices = ['server']\n\
                run = ['{bin:client}', '{port:server}', '10', '600']\n\
                [workload.prepares]\nservices = ['server']\n\
                prepare = ['{bin:client}', '{port:server}', '10', '600']\nrun = 'true'\n";
    // It ignores SIGTERM, and has left its first process.
    let daemon = server("ignores", "grace = '500ms'").replace(
        "run = ['{bin:server}', '{port:server}', 'ignores']",
        "forks = true\nrun = 'setsid -f {bin:server} {port:server} ignores'",
    );
    for (service, signal) in [
        (server("ignores", "grace = '500ms'"), Signal::KILL),
        (daemon, Signal::KILL),
        (server("ignores", "grace = '500ms'"), Signal::TERM),
    ] {
        let t = project(&format!("{service}{ASKS}{long}"));
        let _ = t.cargo_fdo(["train", "--build-only"]).succeeds();
        for workload in ["long", "prepares"] {
            let mut child = t
                .cargo_fdo_command(&["train", "--no-overhead", "-w", workload])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            wait("load", &|| t.path("waiting").exists());
            let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
            rustix::process::kill_process(pid, signal).unwrap();
            let _ = child.wait().unwrap();
            wait("end of the services", &|| programs_below(&t).is_empty());
            std::fs::remove_file(t.path("waiting")).unwrap();
        }
        let _ = t
            .cargo_fdo(["train", "--no-overhead", "-w", "asks"])
            .succeeds();
        assert_gone(&t);
    }
}

#[test]
fn builds_are_compared_by_services_of_their_own() {
    require!(&tools::llvm("llvm-profdata"));
    let metrics = "metrics = { rate = { regex = 'second: ([0-9.]+)', better = 'higher' } }\n";
    for keep in ["", "keep-services = true\n"] {
        let t = project(&format!("{}{ASKS}{metrics}{keep}", server("", "")));
        let _ = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
        let run = t
            .cargo_fdo([
                "compare", "-w", "asks", "--runs", "2", "--warmup", "0", "--format", "json",
            ])
            .succeeds();
        run.stdout_has("CPU time of server");
        run.stdout_has("rate");
        assert_gone(&t);
    }
}

/// They have the same names and run at the same time: each is stopped by its own signal, and not as what was
/// left of another build's.
#[test]
fn kept_services_of_several_builds_are_told_apart() {
    require!(&tools::llvm("llvm-profdata"));
    let t = project(&format!(
        "[service.server]\nready = {{ port = '{{port:server}}' }}\n\
         run = '''{{bin:server}} {{port:server}} & trap \"echo asked >> asked; kill $!; exit\" TERM; wait'''\n\
         {ASKS}keep-services = true\n"
    ));
    let _ = t.cargo_fdo(["train", "--no-overhead"]).succeeds();
    std::fs::remove_file(t.path("asked")).unwrap();
    let args = ["compare", "-w", "asks", "--runs", "1", "--warmup", "0"];
    let _ = t.cargo_fdo(args).succeeds();
    // `release` twice, and `optimized`.
    assert_eq!(t.read("asked"), "asked\n".repeat(3));
    assert_gone(&t);
}

#[test]
fn services_are_recorded_while_the_load_runs() {
    require!("perf", "cc");
    let t = project(&format!(
        "rustc-bootstrap = true\nsample.min-mapped = 0.1\n{}\
         [workload.asks]\nservices = ['server']\nrun = ['{{bin:client}}', '{{port:server}}', '60000']\n",
        server("", "")
    ));
    let run = t.cargo_fdo(["train", "--method", "sample"]).succeeds();
    run.stderr_has("server");
    assert_gone(&t);
}

#[test]
fn slips_in_the_file_are_named() {
    let t = project(
        "[service.a]\nrun = 'true'\nneeds = ['b']\n[service.b]\nrun = 'true'\nneeds = ['a']\n\
         [service.c]\nrun = 'true'\nneeds = ['d']\nready = { prot = 1 }\nstop-signal = 'SIGTREM'\n\
         [workload.w]\nrun = 'true'\nservices = ['e']\n",
    );
    let _ = t.cargo_fdo(["train"]).fails_saying(
        2,
        &[
            "service `a` needs `b`, which needs `a`: neither can start first",
            "service `c` needs `d`, and there is no such service",
            "unknown key `prot` in [service.c.ready]; did you mean `port`?",
            "must be one of SIGTERM",
            "has `e`, and there is no [service.e]",
        ],
    );
}
