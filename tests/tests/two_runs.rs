//! Two runs at once, and surroundings that hinder one: full and read-only disks, no home, no
//! input. Whatever happens, the next run finds a usable state.

use fdo_tests::{Run, Sandbox, tools};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

const TRAIN: [&str; 4] = ["train", "--no-overhead", "--", "{bin:app}"];

#[test]
fn a_second_run_waits_for_the_first_and_both_end_well() {
    let t = Sandbox::mixed();
    let (started, go) = (t.root().join("started"), t.root().join("go"));
    // With an end of its own: where this test fails, nothing is left behind.
    let wait = format!(
        "touch '{}'; for i in $(seq 6000); do [ ! -e '{}' ] || break; sleep 0.1; done; {{bin:app}}",
        started.display(),
        go.display()
    );
    t.write(
        "fdo.toml",
        &format!("[workload.waits]\nrun = '''{wait}'''\n"),
    );
    let first = t
        .cargo_fdo_command(&["train", "--no-overhead"])
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(600);
    while !started.exists() {
        assert!(
            Instant::now() < end,
            "the first run never came to its workload"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut second = t.cargo_fdo_command(&["build"]).spawn().unwrap();
    let mut lines = BufReader::new(second.stderr.take().unwrap()).lines();
    let mut words = Vec::new();
    for line in lines.by_ref().map(Result::unwrap) {
        let waits = line.contains("Blocking waiting for another `cargo fdo` on `");
        words.push(line);
        if waits {
            fs::write(&go, "").unwrap();
            break;
        }
    }
    // Where it did not wait, its words are at their end.
    assert!(go.exists(), "the second run did not wait: {words:#?}");
    words.extend(lines.map(Result::unwrap));
    assert!(second.wait().unwrap().success(), "{words:#?}");
    let used = |line: &String| line.contains("of the counts were used");
    assert!(words.iter().any(used), "{words:#?}");

    let first = first.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&first.stderr);
    assert!(first.status.success(), "{words}");
    assert!(!words.contains("waiting for another"), "{words}");
}

/// Mounts something over the project's target directory for as long as `cargo fdo` runs.
fn with_mount(t: &Sandbox, mount: &str, args: &[&str]) -> Run {
    let target = t.path("target").display().to_string();
    let mount = format!("{}; exec \"$@\"", mount.replace("TARGET", &target));
    t.cargo_fdo_behind(&["unshare", "-m", "sh", "-ec", &mount, "sh"], args)
}

fn may_mount() -> bool {
    let mount = Command::new("unshare")
        .args(["-m", "sh", "-c", "mount -t tmpfs none /mnt"])
        .output();
    let may = mount.is_ok_and(|output| output.status.success());
    if !may {
        tools::skip("the right to mount");
    }
    may
}

#[test]
fn little_space_is_said_before_anything_fails_for_it() {
    if !may_mount() {
        return;
    }
    let t = Sandbox::mixed();
    fs::create_dir(t.path("target")).unwrap();
    let tmpfs = |size: &str| format!("mount -t tmpfs -o size={size} none TARGET");
    let run = with_mount(&t, &tmpfs("2m"), &TRAIN).fails_with(3);
    run.stderr_has("warning: only 2 MB are free for `");
    run.stderr_has("free some space, or choose another place with `--target-dir");
    // Nothing at all can be written.
    let full = format!("{}; head -c 1m /dev/zero > TARGET/x || true", tmpfs("64k"));
    let _ = with_mount(&t, &full, &TRAIN).fails_saying(
        3,
        &["No space left on device", "target/fdo", "free some space"],
    );
    with_mount(&t, &tmpfs("500m"), &TRAIN)
        .succeeds()
        .stderr_lacks("are free");
}

#[test]
fn a_limit_on_the_size_of_files_leaves_the_state_usable() {
    let t = Sandbox::trained();
    let before = fs::read_to_string(t.store().join("current")).unwrap();
    let raw = t.raw_profile().display().to_string();
    // 512 bytes: less than any file of a campaign.
    let limited = [
        "bash",
        "-c",
        "trap '' XFSZ; ulimit -f 1; exec \"$@\"",
        "bash",
    ];
    let collect = ["train", "--collect", &raw];
    let run = t.cargo_fdo_behind(&limited, &collect);
    run.stderr_has("error: ");
    run.stderr_has("too large");
    run.stderr_has("target/fdo/v1/");
    run.stderr_lacks("panicked");
    let run = run.fails_with(3);
    run.stderr_has("ulimit -f");
    assert_eq!(
        fs::read_to_string(t.store().join("current")).unwrap(),
        before
    );
    let _ = t.cargo_fdo(["build"]).succeeds();
    let _ = t.cargo_fdo(collect).succeeds();
}

#[test]
fn a_read_only_target_directory_is_named_with_the_way_around() {
    if !may_mount() {
        return;
    }
    let t = Sandbox::trained();
    let read_only = "mount --bind TARGET TARGET; mount -o remount,ro,bind TARGET";
    for args in [&TRAIN[..], &["build"]] {
        let _ = with_mount(&t, read_only, args).fails_saying(
            3,
            &[
                "target/fdo/v1/lock",
                "Read-only file system",
                "--target-dir DIR",
            ],
        );
    }
    // Looking needs no right to write.
    let _ = with_mount(&t, read_only, &["status"]).succeeds();
}

#[test]
fn a_target_directory_of_another_user_is_named() {
    let t = Sandbox::mixed();
    if fs::metadata(t.path("")).unwrap().uid() == 0 {
        tools::skip("to be another user than root");
        return;
    }
    fs::create_dir_all(t.store()).unwrap();
    let mut rights = fs::metadata(t.store()).unwrap().permissions();
    rights.set_readonly(true);
    fs::set_permissions(t.store(), rights).unwrap();
    let _ = t
        .cargo_fdo(TRAIN)
        .fails_saying(3, &["target/fdo/v1", "check who owns it"]);
}

#[test]
fn neither_home_nor_cache_nor_input_is_needed() {
    let cargo_home = std::env::var("CARGO_HOME").unwrap_or_else(|_| {
        let home = std::env::var("HOME").expect("this machine has one");
        format!("{home}/.cargo")
    });
    let rustup_home = std::env::var("RUSTUP_HOME").unwrap_or_else(|_| {
        let home = std::env::var("HOME").expect("this machine has one");
        format!("{home}/.rustup")
    });
    let t = Sandbox::mixed()
        .env("CARGO_HOME", cargo_home)
        .env("RUSTUP_HOME", rustup_home);
    // A file where the cache should be; then the links go into the temporary directory.
    let t = t
        .env("XDG_CACHE_HOME", "/dev/null")
        .env("HOME", "/dev/null");
    let tmp = t.root().join("tmp");
    fs::create_dir(&tmp).unwrap();
    let t = t.env("TMPDIR", &tmp);
    let closed = ["sh", "-c", "exec 0<&-; exec \"$@\"", "sh"];
    let _ = t.cargo_fdo_behind(&closed, &TRAIN).succeeds();
    assert!(fs::read_dir(&tmp).unwrap().count() > 0);

    let all_closed = ["sh", "-c", "exec 0<&- 1>&- 2>&-; exec \"$@\"", "sh"];
    let t = t.env_remove("XDG_CACHE_HOME").env_remove("HOME");
    let _ = t.cargo_fdo_behind(&all_closed, &["build"]).succeeds();

    let t = t
        .env("XDG_CACHE_HOME", "/dev/null")
        .env("HOME", "/dev/null");
    let t = t.env("TMPDIR", "/dev/null");
    let _ = t.cargo_fdo(["status"]).fails_saying(
        3,
        &[
            "can't make the compiler links in `/dev/null/",
            "set XDG_CACHE_HOME",
        ],
    );
}
