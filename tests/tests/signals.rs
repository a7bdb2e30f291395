//! Programs that end by a signal keep their counters.

use fdo_tests::Sandbox;

/// A program that works for ever, and says when it has begun.
fn daemon() -> Sandbox {
    Sandbox::project().file(
        "src/main.rs",
        r#"
#[inline(never)]
fn serve(n: u64) -> u64 {
    (0..n).fold(1, |s, x| std::hint::black_box(s ^ x))
}

fn main() {
    println!("{}", serve(5000));
    std::fs::write(std::env::args().nth(1).unwrap(), "ready").unwrap();
    loop {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
"#,
    )
}

#[track_caller]
fn served(t: &Sandbox) -> u64 {
    let status = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    let rows = status["campaign"]["hottest"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row[0].as_str().unwrap().contains("serve"));
    row.map_or(0, |row| row[1].as_u64().unwrap())
}

const WAIT: &str = "{bin:app} {tmp}/ready & while ! test -s {tmp}/ready; do sleep 0.02; done";

#[test]
fn sigterm_saves_the_counters_and_is_still_death_by_sigterm() {
    let run = format!("{WAIT}; kill -TERM $!; wait $!; test $? = 143");
    let t = daemon().file("fdo.toml", &format!("[workload.d]\nrun = '''{run}'''\n"));
    t.cargo_fdo(["train", "--no-overhead", "-w", "d"])
        .succeeds();
    assert_eq!(served(&t), 5000);
}

#[test]
fn sigusr2_saves_the_counters_each_time_once_and_the_program_goes_on() {
    let ready = "while test $(cat \"$dir\"/*.profraw | wc -c) = 0; do sleep 0.02; done";
    let run = format!(
        "dir=$(dirname \"$LLVM_PROFILE_FILE\"); {WAIT}; kill -USR2 $!; sleep 0.2; kill -USR2 $!; {ready}; \
         sleep 0.2; kill -0 $! && kill -KILL $!; wait $!; test $? = 137"
    );
    let t = daemon().file("fdo.toml", &format!("[workload.d]\nrun = '''{run}'''\n"));
    t.cargo_fdo(["train", "--no-overhead", "-w", "d"])
        .succeeds();
    assert_eq!(served(&t), 5000);
}
