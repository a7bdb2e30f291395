//! `cargo fdo record` with the real perf: what is recorded is whole, however it ends.

use fdo_tests::{Sandbox, require};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Busy for so many rounds of the shell.
fn busy(rounds: u32) -> String {
    format!("i=0; while [ $i -lt {rounds} ]; do i=$((i+1)); done")
}

/// Ended when dropped, however the test ends.
struct Service(Child);

impl Service {
    /// Busy until it is killed.
    fn start() -> Service {
        let child = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn();
        Service(child.expect("sh runs"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(120), "no {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The process that a process started under this name, at whatever depth.
fn descendant(parent: u32, name: &str) -> Option<u32> {
    let children =
        std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    children.split_whitespace().find_map(|child| {
        let pid: u32 = child.parse().ok()?;
        let is = |found: String| found.trim() == name;
        let comm = std::fs::read_to_string(format!("/proc/{pid}/comm"));
        if comm.is_ok_and(is) {
            Some(pid)
        } else {
            descendant(pid, name)
        }
    })
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// `cargo fdo record` in the background, up to where perf records.
fn start(t: &Sandbox, args: &[&str], out: &Path) -> Child {
    let child = t
        .cargo_fdo_command(args)
        .stdout(Stdio::piped())
        .spawn()
        .expect("cargo-fdo starts");
    wait_for("recording", || {
        descendant(child.id(), "perf").is_some() && out.metadata().is_ok_and(|it| it.len() > 0)
    });
    child
}

/// `cargo fdo record` of a shell script, its perf, and the script's process.
fn start_script(t: &Sandbox, script: &str, out: &Path) -> (Child, u32, u32) {
    let args = ["record", "-o", "out.data", "--", "sh", "-c", script];
    let child = start(t, &args, out);
    let perf = descendant(child.id(), "perf").expect("it records");
    wait_for("command", || descendant(perf, "sh").is_some());
    let command = descendant(perf, "sh").expect("it was just seen");
    (child, perf, command)
}

#[test]
fn a_command_with_what_it_starts() {
    require!("perf");
    let t = Sandbox::project();
    let script = format!("({}) & wait", busy(300_000));
    let run = t
        .cargo_fdo(["record", "-o", "out.data", "--", "sh", "-c", &script])
        .succeeds();
    run.stderr_has("Recording").stderr_has("Samples");
    assert_eq!(PathBuf::from(run.stdout().trim_end()), t.path("out.data"));
    assert!(t.path("out.data").is_file());
}

#[test]
fn a_running_process_until_its_time_is_over_its_load_ends_or_ctrl_c() {
    require!("perf");
    let t = Sandbox::project();
    let service = Service::start();
    let pid = service.0.id().to_string();
    let samples = |run: &fdo_tests::Run| {
        run.stderr_has("Samples").stderr_lacks("cut short");
    };
    let timed = ["record", "--pid", &pid, "--duration", "1s"];
    samples(&t.cargo_fdo(timed).succeeds());
    let load = ["record", "--pid", &pid, "--", "sleep", "2"];
    samples(&t.cargo_fdo(load).succeeds());

    let out = t.path("int.data");
    let child = start(&t, &["record", "--pid", &pid, "-o", "int.data"], &out);
    std::thread::sleep(Duration::from_secs(1));
    signal(child.id(), rustix::process::Signal::INT);
    let output = child.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    assert!(
        words.contains("Samples") && !words.contains("cut short"),
        "{words}"
    );
}

#[test]
fn a_perf_that_is_killed_leaves_what_it_had_and_an_error() {
    require!("perf");
    let t = Sandbox::project();
    let out = t.path("cut.data");
    // Large enough that perf writes before it ends.
    let args = [
        "record",
        "-o",
        "cut.data",
        "--",
        "sh",
        "-c",
        "while :; do :; done",
    ];
    let child = start(&t, &args, &out);
    let load = descendant(child.id(), "sh");
    wait_for("records", || {
        out.metadata().is_ok_and(|it| it.len() > 200_000)
    });
    signal(
        descendant(child.id(), "perf").expect("it records"),
        rustix::process::Signal::KILL,
    );
    let output = child.wait_with_output().unwrap();
    if let Some(load) = load {
        // perf can't stop it any more.
        signal(load, rustix::process::Signal::KILL);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{words}");
    assert!(
        words.contains("perf was killed while it recorded"),
        "{words}"
    );
    assert!(words.contains("cargo fdo import"), "{words}");
}

#[test]
fn a_program_that_only_waits_is_no_training() {
    require!("perf");
    let t = Sandbox::project();
    let _ = t
        .cargo_fdo(["record", "--frequency", "1", "--", "sleep", "0.05"])
        .fails_saying(
            5,
            &["holds no samples", "A program that waits is not sampled"],
        );
}

#[test]
fn a_command_that_fails_fails_the_recording_which_is_kept() {
    require!("perf");
    let t = Sandbox::project();
    let load = format!("{}; exit 3", busy(100_000));
    let run = t.cargo_fdo(["record", "-o", "out.data", "--", "sh", "-c", &load]);
    let _ = run.fails_saying(5, &["the command failed", "exit status 3", "out.data"]);
    assert!(t.path("out.data").metadata().unwrap().len() > 0);
}

#[test]
fn recordings_without_samples_push_no_earlier_one_out() {
    require!("perf");
    let t = Sandbox::project();
    let script = busy(100_000);
    t.cargo_fdo(["record", "-o", "out.data", "--", "sh", "-c", &script])
        .succeeds();
    let good = std::fs::read(t.path("out.data")).unwrap();
    for _ in 0..2 {
        let _ = t
            .cargo_fdo([
                "record",
                "--frequency",
                "1",
                "-o",
                "out.data",
                "--",
                "sleep",
                "0.05",
            ])
            .fails_saying(5, &["holds no samples"]);
        assert_eq!(std::fs::read(t.path("out.data")).unwrap(), good);
    }
}

#[test]
fn a_command_that_ignores_its_end_is_killed_and_a_closed_terminal_is_an_end() {
    require!("perf");
    let t = Sandbox::project();
    let out = t.path("out.data");
    let stubborn = "trap '' TERM INT HUP; while :; do :; done";
    let (mut child, ..) = start_script(&t, stubborn, &out);
    // Until it has surely been sampled.
    std::thread::sleep(Duration::from_secs(2));
    signal(child.id(), rustix::process::Signal::HUP);
    wait_for("end", || child.try_wait().unwrap().is_some());
    let output = child.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    let recording = cargo_fdo::profile::sample::perf_data::read(
        std::fs::File::open(&out).unwrap(),
        &cargo_fdo::profile::sample::read::Selection::default(),
    );
    assert_eq!(recording.unwrap().cut_short_at, None);
}

/// No handler sees SIGKILL, so the kernel is asked beforehand.
#[test]
fn perf_and_its_command_end_when_cargo_fdo_is_killed() {
    require!("perf");
    let t = Sandbox::project();
    let out = t.path("out.data");
    let (mut child, perf, command) = start_script(&t, "while :; do :; done", &out);
    child.kill().unwrap();
    child.wait().unwrap();
    let is_gone = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    };
    wait_for("end of perf", || is_gone(perf));
    wait_for("end of its command", || is_gone(command));
}

#[test]
fn a_recording_that_is_full_is_kept() {
    require!("perf");
    let t = Sandbox::project();
    let script = busy(20_000_000);
    let run = t
        .cargo_fdo(["record", "--max-size", "200K", "--", "sh", "-c", &script])
        .succeeds();
    run.stderr_has("greatest size").stderr_has("Samples");
}

#[test]
fn a_recording_takes_the_place_of_no_other_file() {
    require!("perf");
    let t = Sandbox::project()
        .file("notes.txt", "not a recording\n")
        .file("dir/report.txt", "a report\n");
    let busy = busy(300_000);
    let record = |out: &str, more: &[&str]| {
        let args = [&["record", "-o", out], more, &["--", "sh", "-c", &busy]].concat();
        t.cargo_fdo(args)
    };
    record("notes.txt", &[]).fails_saying(2, &["notes.txt", "another kind"]);
    assert_eq!(t.read("notes.txt"), "not a recording\n");
    record("dir", &[]).fails_saying(2, &["dir", "not a file"]);
    assert_eq!(t.read("dir/report.txt"), "a report\n");
    record("nodir/a.data", &[]).fails_saying(2, &["nodir", "not there"]);

    let _ = record("a.data", &[]).succeeds();
    let first = std::fs::read(t.path("a.data")).unwrap();
    record("a.data", &["--frequency", "0"]).fails_saying(2, &["--frequency"]);
    assert_eq!(std::fs::read(t.path("a.data")).unwrap(), first);
    std::os::unix::fs::symlink("a.data", t.path("link")).unwrap();
    record("link", &[]).succeeds().stderr_has("a.data.old");
    assert!(t.path("link").is_symlink());
    assert_eq!(std::fs::read(t.path("a.data.old")).unwrap(), first);
}

#[test]
fn a_recording_is_converted_by_the_program_that_it_is_of() {
    require!("perf", "gcc");
    let t = Sandbox::project().file(
        "hot.c",
        "__attribute__((noinline)) unsigned hot(unsigned n) {\n\
         \x20 unsigned sum = 0;\n\
         \x20 for (unsigned i = 0; i < n; i++)\n\
         \x20   sum = sum * 31 + (i & 3);\n\
         \x20 return sum;\n\
         }\n\
         int main(int argc, char **argv) { return hot(300000000u + argc) == 7; }\n",
    );
    let _ = t.run("gcc", ["-O2", "-g", "hot.c", "-o", "hot"]).succeeds();
    let _ = t.cargo_fdo(["record", "--", "./hot"]).succeeds();
    let convert = |to, out| {
        let words = [
            "profile",
            "convert",
            "--to",
            to,
            "--binary",
            "hot",
            "perf.data",
            "-o",
            out,
        ];
        t.cargo_fdo(words)
    };
    let _ = convert("gcov-v2", "hot.afdo").succeeds();
    let show = t.cargo_fdo(["profile", "show", "hot.afdo"]).succeeds();
    show.stdout_has("hot");
    let _ = convert("llvm-text", "hot.txt").fails_saying(
        6,
        &["no sample in `hot` is in code that rustc or clang compiled"],
    );
    let recording = std::fs::read(t.path("perf.data")).unwrap();
    std::fs::write(t.path("perf.data"), &recording[..recording.len() / 2]).unwrap();
    let run = convert("gcov-v2", "cut.afdo").succeeds();
    run.stderr_has("cut short at byte");
}
