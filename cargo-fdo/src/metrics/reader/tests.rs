//! Each fixture's figures, and what is no text of a benchmark at all.

use super::*;
use crate::metrics::{Better, Figure, Pattern};
use std::fmt::Write;
use std::path::PathBuf;

fn fixtures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/metrics/fixtures"))
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(fixtures().join(name)).unwrap()
}

/// A line for each reading: `name: values unit, better`, with twelve digits.
fn shown(readings: &[Reading]) -> String {
    let mut shown = String::new();
    for reading in readings {
        let digits = |value: &f64| format!("{value:.11e}").parse::<f64>().unwrap().to_string();
        let values: Vec<String> = reading.values.iter().map(digits).collect();
        let unit = reading.unit.as_deref().unwrap_or("-");
        let better = match reading.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
        };
        let (name, values) = (&reading.name, values.join(" "));
        writeln!(shown, "{name}: {values} {unit}, {better}").unwrap();
    }
    shown
}

fn assert_reads(reader: Reader, name: &str, wanted: &str) {
    let found = shown(&reader.read(&fixture(name)).unwrap());
    let wanted: String = wanted
        .trim()
        .lines()
        .map(|l| format!("{}\n", l.trim()))
        .collect();
    assert_eq!(found, wanted, "{name}");
}

#[test]
fn names_lead_back_to_their_readers() {
    for reader in Reader::ALL {
        assert_eq!(Reader::from_name(reader.name()), Some(reader));
    }
    assert_eq!(Reader::from_name("perl"), None);
}

#[test]
fn db_bench_figures() {
    assert_reads(
        Reader::DbBench,
        "db_bench-histogram.txt",
        "
        fillseq ops/sec: 445696 ops/s, higher
        fillseq micros/op: 2.154 µs/op, lower
        fillseq write P50: 1.12 µs, lower
        fillseq write P75: 1.63 µs, lower
        fillseq write P99: 3.41 µs, lower
        fillseq write P99.9: 8.62 µs, lower
        fillseq write P99.99: 3150 µs, lower
        readrandom ops/sec: 447177 ops/s, higher
        readrandom micros/op: 2.234 µs/op, lower
        readrandom read P50: 0.64 µs, lower
        readrandom read P75: 0.96 µs, lower
        readrandom read P99: 2.88 µs, lower
        readrandom read P99.9: 8.55 µs, lower
        readrandom read P99.99: 4100 µs, lower
        readwhilewriting ops/sec: 472757 ops/s, higher
        readwhilewriting micros/op: 2.111 µs/op, lower
        readwhilewriting read P50: 0.58 µs, lower
        readwhilewriting read P75: 0.87 µs, lower
        readwhilewriting read P99: 1.96 µs, lower
        readwhilewriting read P99.9: 5.45 µs, lower
        readwhilewriting read P99.99: 3900 µs, lower
        overwrite ops/sec: 311703 ops/s, higher
        overwrite micros/op: 3.208 µs/op, lower
        overwrite write P50: 2.45 µs, lower
        overwrite write P75: 2.86 µs, lower
        overwrite write P99: 5.93 µs, lower
        overwrite write P99.9: 39.15 µs, lower
        overwrite write P99.99: 110 µs, lower
        compact ops/sec: 12 ops/s, higher
        compact micros/op: 78869 µs/op, lower
        ",
    );
    assert_reads(
        Reader::DbBench,
        "db_bench-old.txt",
        "
        fillseq ops/sec: 284331 ops/s, higher
        fillseq micros/op: 3.517 µs/op, lower
        readrandom ops/sec: 243105 ops/s, higher
        readrandom micros/op: 4.113 µs/op, lower
        ",
    );
    assert_reads(
        Reader::DbBench,
        "db_bench-progress.txt",
        "
        fillseq ops/sec: 471020 ops/s, higher
        fillseq micros/op: 2.121 µs/op, lower
        readrandom ops/sec: 549329 582784 500325 ops/s, higher
        readrandom micros/op: 1.814 1.711 1.683 µs/op, lower
        ",
    );
    assert_reads(
        Reader::DbBench,
        "db_bench-report.tsv",
        "
        fillseq.wal_disabled.v400 ops/sec: 1506250 ops/s, higher
        fillseq.wal_disabled.v400 micros/op: 0.7 µs/op, lower
        fillseq.wal_disabled.v400 P50: 0.5 µs, lower
        fillseq.wal_disabled.v400 P99: 2 µs, lower
        fillseq.wal_disabled.v400 P99.9: 7 µs, lower
        fillseq.wal_disabled.v400 P99.99: 110 µs, lower
        fillseq.wal_disabled.v400 max: 4423 µs, lower
        readrandom.t2 ops/sec: 1221849 ops/s, higher
        readrandom.t2 micros/op: 1.6 µs/op, lower
        readrandom.t2 P50: 1.1 µs, lower
        readrandom.t2 P99: 3 µs, lower
        readrandom.t2 P99.9: 28 µs, lower
        readrandom.t2 P99.99: 71 µs, lower
        readrandom.t2 max: 4730 µs, lower
        ",
    );
    assert_reads(
        Reader::DbBench,
        "db_bench.txt",
        "
        fillseq ops/sec: 534404 ops/s, higher
        fillseq micros/op: 1.871 µs/op, lower
        readrandom ops/sec: 854299 ops/s, higher
        readrandom micros/op: 1.17 µs/op, lower
        readseq ops/sec: 12360939 ops/s, higher
        readseq micros/op: 0.08 µs/op, lower
        updaterandom ops/sec: 244866 ops/s, higher
        updaterandom micros/op: 4.08 µs/op, lower
        crc32c ops/sec: 360091 ops/s, higher
        crc32c micros/op: 2.777 µs/op, lower
        compact ops/sec: 19 ops/s, higher
        compact micros/op: 52315 µs/op, lower
        ",
    );
}

#[test]
fn criterion_figures() {
    assert_reads(
        Reader::Criterion,
        "criterion-change.txt",
        "
        fib 20: 14737 ns, lower
        add: 0.48684 ns, lower
        sum of a slice/iterator/1000: 79.811 ns, lower
        sum of a slice/iterator/1000 throughput: 100237020496 B/s, higher
        sum of a slice/iterator/100000: 9073.2 ns, lower
        sum of a slice/iterator/100000 throughput: 88172457361.4 B/s, higher
        sum of a slice/three: 0.60622 ns, lower
        sum of a slice/three throughput: 4948700000 elem/s, higher
        slow: 41183 ns, lower
        ",
    );
    assert_reads(
        Reader::Criterion,
        "criterion.txt",
        "
        fib 20: 14784 ns, lower
        add: 0.46718 ns, lower
        sum of a slice/iterator/1000: 79.015 ns, lower
        sum of a slice/iterator/1000 throughput: 101247411552 B/s, higher
        sum of a slice/iterator/100000: 8805.4 ns, lower
        sum of a slice/iterator/100000 throughput: 90853590695.9 B/s, higher
        sum of a slice/three: 0.69194 ns, lower
        sum of a slice/three throughput: 4335600000 elem/s, higher
        slow: 37834 ns, lower
        ",
    );
}

#[test]
fn libtest_figures() {
    assert_reads(
        Reader::Libtest,
        "libtest.txt",
        "
        copies: 1418.92 ns/iter, lower
        copies throughput: 46217 MB/s, higher
        one: 0.27 ns/iter, lower
        thousand: 358.62 ns/iter, lower
        ",
    );
}

#[test]
fn hyperfine_figures() {
    assert_reads(
        Reader::Hyperfine,
        "hyperfine.json",
        "
        sleep 0.01: 0.01332674894 0.01382165594 0.01383854394 0.01380061694 0.00977704294 s, lower
        sleep 0.02: 0.01978144294 0.02596828494 0.02186126494 0.02188570194 0.02183257394 s, lower
        ",
    );
}

#[test]
fn k6_figures() {
    assert_reads(
        Reader::K6,
        "k6-compact.txt",
        "
        checks_total rate: 29.980643 1/s, higher
        queue_length avg: 15 -, lower
        queue_length min: 10 -, lower
        queue_length med: 15 -, lower
        queue_length max: 20 -, lower
        queue_length p(90): 19 -, lower
        queue_length p(95): 19.5 -, lower
        http_req_duration avg: 144.56 ms, lower
        http_req_duration min: 104.11 ms, lower
        http_req_duration med: 110.47 ms, lower
        http_req_duration max: 1140 ms, lower
        http_req_duration p(90): 203.54 ms, lower
        http_req_duration p(95): 215.95 ms, lower
        http_req_duration{expected_response:true} avg: 140.25 ms, lower
        http_req_duration{expected_response:true} min: 104.11 ms, lower
        http_req_duration{expected_response:true} med: 110.31 ms, lower
        http_req_duration{expected_response:true} max: 1140 ms, lower
        http_req_duration{expected_response:true} p(90): 203.5 ms, lower
        http_req_duration{expected_response:true} p(95): 214.8 ms, lower
        http_reqs rate: 29.980643 1/s, higher
        data_received rate: 43000 B/s, higher
        ",
    );
    assert_reads(
        Reader::K6,
        "k6-handle-summary.json",
        "
        data_received rate: 43304.9 B/s, higher
        http_req_duration avg: 144.56 ms, lower
        http_req_duration max: 1140.2 ms, lower
        http_req_duration med: 110.47 ms, lower
        http_req_duration min: 104.11 ms, lower
        http_req_duration p(90): 203.54 ms, lower
        http_req_duration p(95): 215.95 ms, lower
        http_reqs rate: 29.980643 1/s, higher
        my_time avg: 15 ms, lower
        my_time p(95): 19.5 ms, lower
        ",
    );
    assert_reads(
        Reader::K6,
        "k6-machine-readable.json",
        "
        data_received rate: 43333.3333333 B/s, higher
        http_req_duration avg: 144.56 ms, lower
        http_req_duration max: 1140.2 ms, lower
        http_req_duration med: 110.47 ms, lower
        http_req_duration min: 104.11 ms, lower
        http_req_duration p(90): 203.54 ms, lower
        http_req_duration p(95): 215.95 ms, lower
        http_reqs rate: 30 1/s, higher
        ",
    );
    assert_reads(
        Reader::K6,
        "k6-summary-export.json",
        "
        data_received rate: 43304.9 B/s, higher
        dropped_iterations rate: 0.199871 1/s, lower
        http_req_duration avg: 144.56 ms, lower
        http_req_duration max: 1140.2 ms, lower
        http_req_duration med: 110.47 ms, lower
        http_req_duration min: 104.11 ms, lower
        http_req_duration p(90): 203.54 ms, lower
        http_req_duration p(95): 215.95 ms, lower
        http_req_duration{expected_response:true} avg: 140.25 ms, lower
        http_req_duration{expected_response:true} max: 1140.2 ms, lower
        http_req_duration{expected_response:true} med: 110.31 ms, lower
        http_req_duration{expected_response:true} min: 104.11 ms, lower
        http_req_duration{expected_response:true} p(90): 203.5 ms, lower
        http_req_duration{expected_response:true} p(95): 214.8 ms, lower
        http_reqs rate: 29.980643 1/s, higher
        queue_length avg: 15 -, lower
        queue_length max: 20 -, lower
        queue_length med: 15 -, lower
        queue_length min: 10 -, lower
        queue_length p(90): 19 -, lower
        queue_length p(95): 19.5 -, lower
        ",
    );
    assert_reads(
        Reader::K6,
        "k6.txt",
        "
        data_received rate: 43000 B/s, higher
        data_sent rate: 2700 B/s, higher
        dropped_iterations rate: 0.199871 1/s, lower
        http_req_blocked avg: 0.05762 ms, lower
        http_req_blocked min: 0.00085 ms, lower
        http_req_blocked med: 0.01225 ms, lower
        http_req_blocked max: 1.35 ms, lower
        http_req_blocked p(90): 0.20941 ms, lower
        http_req_blocked p(95): 0.76361 ms, lower
        http_req_connecting avg: 0.02925 ms, lower
        http_req_connecting min: 0 ms, lower
        http_req_connecting med: 0 ms, lower
        http_req_connecting max: 0.45871 ms, lower
        http_req_connecting p(90): 0.10831 ms, lower
        http_req_connecting p(95): 0.22246 ms, lower
        http_req_duration avg: 144.56 ms, lower
        http_req_duration min: 104.11 ms, lower
        http_req_duration med: 110.47 ms, lower
        http_req_duration max: 61000 ms, lower
        http_req_duration p(90): 203.54 ms, lower
        http_req_duration p(95): 215.95 ms, lower
        http_req_duration{expected_response:true} avg: 140.25 ms, lower
        http_req_duration{expected_response:true} min: 104.11 ms, lower
        http_req_duration{expected_response:true} med: 110.31 ms, lower
        http_req_duration{expected_response:true} max: 1140 ms, lower
        http_req_duration{expected_response:true} p(90): 203.5 ms, lower
        http_req_duration{expected_response:true} p(95): 214.8 ms, lower
        http_reqs rate: 29.980643 1/s, higher
        iteration_duration avg: 244.9 ms, lower
        iteration_duration min: 204.5 ms, lower
        iteration_duration med: 210.9 ms, lower
        iteration_duration max: 1240 ms, lower
        iteration_duration p(90): 304.02 ms, lower
        iteration_duration p(95): 316.38 ms, lower
        iterations rate: 29.980643 1/s, higher
        queue_length avg: 15 -, lower
        queue_length min: 10 -, lower
        queue_length med: 15 -, lower
        queue_length max: 20 -, lower
        queue_length p(90): 19 -, lower
        queue_length p(95): 19.5 -, lower
        ",
    );
}

#[test]
fn wrk_figures() {
    assert_reads(
        Reader::Wrk,
        "wrk-latency.txt",
        "
        Latency avg: 43.46 ms, lower
        Latency max: 48.02 ms, lower
        Req/Sec avg: 45.82 1/s, higher
        Latency p50: 43.99 ms, lower
        Latency p75: 44 ms, lower
        Latency p90: 44.01 ms, lower
        Latency p99: 48 ms, lower
        Requests/sec: 91.6 1/s, higher
        Transfer/sec: 10864.64 B/s, higher
        ",
    );
    assert_reads(
        Reader::Wrk,
        "wrk.txt",
        "
        Latency avg: 43.84 ms, lower
        Latency max: 55.96 ms, lower
        Req/Sec avg: 45.33 1/s, higher
        Requests/sec: 90.64 1/s, higher
        Transfer/sec: 10752 B/s, higher
        ",
    );
}

#[test]
fn key_value_figures() {
    assert_reads(
        Reader::KeyValue,
        "key-value.txt",
        "
        latency_p95: 0.00124 0.00098 s, lower
        ops/sec: 1234 -, higher
        map::get: 0.0000000035 s/op, lower
        resident memory: 1572864 B, lower
        cache hits: 97.5 %, lower
        throughput: 12500000 B/s, higher
        ",
    );
    assert_reads(
        Reader::KeyValue,
        "perf-stat.txt",
        "
        task-clock: 0.00081 s, lower
        context-switches: 2 -, lower
        cpu-migrations: 0 -, lower
        page-faults: 75 -, lower
        time elapsed: 0.011394 s, lower
        ",
    );
}

#[test]
fn text_without_figures_is_shown() {
    for reader in [
        Reader::DbBench,
        Reader::Criterion,
        Reader::Libtest,
        Reader::K6,
        Reader::Wrk,
    ] {
        let error = reader.read("usage: bench\n").unwrap_err().to_string();
        let wanted = format!(
            "`{}` is not in what was printed, which is:\n    usage: bench",
            reader.name()
        );
        assert_eq!(error, wanted);
    }
    let error = Reader::Hyperfine
        .read("usage: bench\n")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("`hyperfine` wants JSON, and line 1, column 1 is not"),
        "{error}"
    );
    let error = Reader::Hyperfine
        .read("{\"a\": 1}")
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("`` is an object with the keys a"),
        "{error}"
    );
}

#[test]
fn a_figure_that_is_no_number_is_an_error() {
    let old = fixture("db_bench-old.txt");
    for (reader, text, wanted) in [
        (
            Reader::DbBench,
            old.replace("4.113", "-nan"),
            "`readrandom micros/op` is `-nan` on line 2",
        ),
        (
            Reader::DbBench,
            fixture("db_bench-report.tsv").replace("1221849", "failed"),
            "`readrandom.t2 ops/sec` is `failed` on line 28",
        ),
        (
            Reader::Criterion,
            fixture("criterion.txt").replace("467.18", "x"),
            "`add` is `x` on line 6",
        ),
        (
            Reader::Libtest,
            fixture("libtest.txt").replace("0.27", "0,27"),
            "`one` is `0,27` on line 6",
        ),
        (
            Reader::Hyperfine,
            fixture("hyperfine.json").replace(
                "0.02186126494,\n        0.021885",
                "\"x\",\n        0.021885",
            ),
            "`sleep 0.02` is `\"x\"`, which",
        ),
        (
            Reader::K6,
            fixture("k6.txt").replace("144.56ms", "144,56ms"),
            "`http_req_duration avg` is `144,56ms` on line 10",
        ),
        (
            Reader::K6,
            fixture("k6-summary-export.json").replace("144.56", "null"),
            "`http_req_duration avg` is `null`, which",
        ),
        (
            Reader::Wrk,
            fixture("wrk.txt").replace("43.84ms", "-nanus"),
            "`Latency avg` is `-nanus` on line 4",
        ),
        (
            Reader::Wrk,
            fixture("wrk.txt").replace("10.50KB", "10.50XB"),
            "`Transfer/sec` is `10.50XB` on line 8",
        ),
    ] {
        let error = reader.read(&text).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{error}");
    }
}

/// Every reader and figure reads anything: what it says is a reading of finite values, or an
/// error.
#[test]
fn nothing_makes_them_panic() {
    let figure = |pattern| Figure {
        name: "figure".to_owned(),
        pattern,
        unit: None,
        better: Better::Lower,
    };
    let figures = [
        figure(Pattern::regex(r"([\d.,]+ ?\w*)").unwrap()),
        figure(Pattern::regex(r":(.*)$").unwrap()),
        figure(Pattern::pointer("/results/0/times").unwrap()),
        figure(Pattern::pointer("").unwrap()),
    ];
    let read = |text: &str| {
        for reader in Reader::ALL {
            match reader.read(text) {
                Ok(readings) => assert!(readings.iter().all(is_sound), "{readings:?}"),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
        for figure in &figures {
            match figure.read(text) {
                Ok(reading) => assert!(is_sound(&reading), "{reading:?}"),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    };
    for text in [
        "", "\n", "\r", "\0", "{", "{}", "[]", "null", "\u{feff}", "é: 1 é", "\u{2028}",
    ] {
        read(text);
    }
    for text in [
        "a: 1e308 GB",
        "a    time: [1 h 1e308 h 1 h]",
        "Requests/sec: 1e308k",
        "b...: 1 1e308 kB/s",
    ] {
        read(text);
    }
    let all: Vec<u8> = (0..=255).cycle().take(2000).collect();
    read(&String::from_utf8_lossy(&all));
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        for end in (0..bytes.len()).step_by(50) {
            read(&String::from_utf8_lossy(&bytes[..end]));
            // One byte of the rest destroyed.
            let mut broken = bytes.clone();
            broken[end] = broken[end].wrapping_mul(31).wrapping_add(end as u8);
            read(&String::from_utf8_lossy(&broken));
        }
    }
}

fn is_sound(reading: &Reading) -> bool {
    let finite = reading.values.iter().all(|value| value.is_finite());
    finite && !reading.values.is_empty() && !reading.name.is_empty()
}
