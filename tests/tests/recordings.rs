//! The readers of recordings against perf's own reading of what this machine's perf records.

use cargo_fdo::profile::sample::read::{ReadError, Selection, read};
use cargo_fdo::profile::sample::recording::Recording;
use fdo_tests::{require, tools};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Many short processes, several at a time.
const LOAD: &str = "for i in 1 2 3 4 5 6 7 8; do seq 1 20000 | sort -r | cksum; done; \
                    (seq 1 100000 | cksum) & seq 1 100000 | sort -r | cksum; wait";

/// Records the load into a file; `false` after saying that perf may not.
fn record(options: &[&str], file: &Path) -> bool {
    let perf = Command::new("perf")
        .args(["record", "-e", "cpu-clock", "-F", "5000", "-o"])
        .arg(file)
        .args(options)
        .args(["--", "sh", "-c", LOAD])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let recorded = perf.status.success() && file.metadata().is_ok_and(|file| file.len() > 0);
    if !recorded {
        tools::skip(&format!("a perf that may record: {perf:?}"));
    }
    recorded
}

fn read_file(file: &Path) -> Recording {
    read(File::open(file).unwrap(), &Selection::default()).unwrap()
}

/// What `perf script` prints.
fn script(file: &Path, options: &[&str]) -> String {
    let perf = Command::new("perf")
        .args(["script", "-G", "-i"])
        .arg(file)
        .args(options)
        .output()
        .unwrap();
    assert!(perf.status.success(), "{perf:?}");
    String::from_utf8_lossy(&perf.stdout).into_owned()
}

/// Samples by file and place in its page: mappings begin at whole pages, wherever they are.
type ByPlace = BTreeMap<(String, u64), u64>;
const PAGE: u64 = 0xfff;

fn by_place(recording: &Recording) -> ByPlace {
    let mut places = ByPlace::new();
    for image in &recording.images {
        let path = String::from_utf8_lossy(&image.path).into_owned();
        for (offset, count) in &image.addresses {
            *places.entry((path.clone(), offset & PAGE)).or_default() += count;
        }
    }
    places
}

/// The same from the lines `ip (file)`, those in files and outside of the kernel.
fn by_place_as_perf_says(file: &Path) -> ByPlace {
    let mut places = ByPlace::new();
    for line in script(file, &["-F", "ip,dso"]).lines() {
        let (ip, path) = line.trim().split_once(' ').unwrap();
        let ip = u64::from_str_radix(ip, 16).unwrap();
        let path = path.trim_matches(['(', ')']).to_owned();
        if ip >> 63 == 0 && path != "[unknown]" {
            *places.entry((path, ip & PAGE)).or_default() += 1;
        }
    }
    places
}

#[test]
fn every_form_of_recording_is_read_as_perf_reads_it() {
    require!("perf");
    let dir = tempfile::tempdir().unwrap();
    for options in [&[][..], &["-z"], &["-g"], &["-F", "20000", "-m", "4"]] {
        let file = dir.path().join("perf.data");
        if !record(options, &file) {
            return;
        }
        let recording = read_file(&file);
        assert!(recording.samples > 50, "{options:?}: {recording:?}");
        assert_eq!(recording.cut_short_at, None);
        assert_eq!(recording.event.name, "cpu-clock");
        assert_eq!(
            by_place(&recording),
            by_place_as_perf_says(&file),
            "{options:?}"
        );
    }
}

#[test]
fn text_of_perf_script_says_the_same_as_the_recording() {
    require!("perf");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("perf.data");
    if !record(&[], &file) {
        return;
    }
    let recording = read_file(&file);
    let events = ["--show-mmap-events", "--show-task-events"];
    for fields in ["pid,ip", "comm,pid,tid,time,event,ip,sym,dso"] {
        let text = script(&file, &["-F", fields, events[0], events[1]]);
        let from_text = read(text.as_bytes(), &Selection::default()).unwrap();
        assert_eq!(from_text.samples, recording.samples, "{fields}");
        assert_eq!(from_text.kernel_samples, recording.kernel_samples);
        let addresses = |recording: &Recording| -> BTreeMap<_, BTreeMap<_, _>> {
            let images = recording.images.iter();
            let image = images.map(|image| {
                let addresses = image.addresses.iter().map(|(&at, &n)| (at, n));
                (image.path.clone(), addresses.collect())
            });
            image.collect()
        };
        assert_eq!(addresses(&from_text), addresses(&recording), "{fields}");
    }
    let plain = script(&file, &[]);
    let error = read(plain.as_bytes(), &Selection::default()).unwrap_err();
    assert!(
        matches!(error, ReadError::NoMappingInText { .. }),
        "{error}"
    );
}

#[test]
fn a_pipe_is_read_while_perf_writes_it() {
    require!("perf");
    let dir = tempfile::tempdir().unwrap();
    if !record(&[], &dir.path().join("try")) {
        return;
    }
    let mut perf = Command::new("perf")
        .args(["record", "-e", "cpu-clock", "-F", "5000", "-o", "-"])
        .args(["--", "sh", "-c", &format!("({LOAD}) >/dev/null")])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let recording = read(perf.stdout.take().unwrap(), &Selection::default()).unwrap();
    assert!(perf.wait().unwrap().success());
    assert!(recording.samples > 50, "{recording:?}");
    assert_eq!(recording.event.name, "cpu-clock");
    let in_files: u64 = recording.images.iter().map(|image| image.samples).sum();
    assert!(in_files > 0);
    assert_eq!(
        in_files + recording.kernel_samples + recording.unmapped_samples,
        recording.samples
    );
    assert_eq!(recording.cut_short_at, None);
}

#[test]
fn what_a_killed_perf_left_is_read_up_to_its_end() {
    require!("perf");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("perf.data");
    if !record(&[], &file) {
        return;
    }
    std::fs::remove_file(&file).unwrap();
    let mut perf = Command::new("perf")
        .args(["record", "-e", "cpu-clock", "-F", "10000", "-m", "4", "-o"])
        .arg(&file)
        .args([
            "--",
            "sh",
            "-c",
            "exec timeout 60 sh -c 'while :; do :; done'",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while file.metadata().map_or(0, |file| file.len()) < 60_000 {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "perf records nothing"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    perf.kill().unwrap();
    perf.wait().unwrap();
    let recording = read_file(&file);
    assert!(recording.samples > 50, "{recording:?}");
    let cut = recording
        .cut_short_at
        .expect("perf did not finish its header");
    assert!(
        cut > 50_000 && cut <= file.metadata().unwrap().len(),
        "{cut}"
    );
    let shell = recording.images.first().expect("the shell was sampled");
    assert!(shell.samples > 0);
}

#[test]
fn a_recording_cut_at_every_kilobyte_gives_what_is_there() {
    require!("perf");
    let dir = tempfile::tempdir().unwrap();
    for options in [&[][..], &["-z"]] {
        let file = dir.path().join("perf.data");
        if !record(options, &file) {
            return;
        }
        let bytes = std::fs::read(&file).unwrap();
        let whole = read_file(&file);
        let mut last = 0;
        for len in (1024..bytes.len()).step_by(1024) {
            match read(&bytes[..len], &Selection::default()) {
                Ok(recording) => {
                    // Behind the records are sections that samples need nothing of.
                    let all = recording.samples == whole.samples;
                    assert!(all || recording.cut_short_at.is_some(), "{len}");
                    assert!(last <= recording.samples && recording.samples <= whole.samples);
                    last = recording.samples;
                }
                Err(error) => assert!(matches!(error, ReadError::Truncated { .. }), "{error}"),
            }
        }
        assert!(last > 0, "{options:?}");
    }
}
