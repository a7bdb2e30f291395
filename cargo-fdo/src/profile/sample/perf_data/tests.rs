//! Recordings with exact records, written by [`writer`](super::writer).

use super::writer::{
    BRANCH_STACK, CALLCHAIN, CPU_CLOCK, Event, IDENTIFIER, IP_TID_TIME, Records, WRONG_PATH, file,
    pipe,
};
use crate::profile::sample::read::{InputKind, ReadError, Selection, read};
use crate::profile::sample::recording::{ImageSamples, OUTSIDE, Recording};
use std::collections::BTreeMap;

const LBR: Event = Event {
    sample_type: IP_TID_TIME | BRANCH_STACK,
    ..CPU_CLOCK
};

fn read_all(bytes: &[u8]) -> Result<Recording, ReadError> {
    read(bytes, &Selection::default())
}

fn recorded(records: &Records) -> Recording {
    read_all(&file(&[CPU_CLOCK], records, &[])).unwrap()
}

fn addresses(image: &ImageSamples) -> BTreeMap<u64, u64> {
    image.addresses.iter().map(|(&at, &n)| (at, n)).collect()
}

/// Path and addresses of every image.
fn images(recording: &Recording) -> Vec<(String, Vec<(u64, u64)>)> {
    let image = |image: &ImageSamples| {
        let path = String::from_utf8(image.path.clone()).unwrap();
        (path, addresses(image).into_iter().collect())
    };
    let mut images: Vec<_> = recording.images.iter().map(image).collect();
    images.sort();
    images
}

fn expected(images: &[(&str, &[(u64, u64)])]) -> Vec<(String, Vec<(u64, u64)>)> {
    let owned = |(path, addresses): &(&str, &[(u64, u64)])| (path.to_string(), addresses.to_vec());
    images.iter().map(owned).collect()
}

#[test]
fn samples_are_counted_by_offset_in_their_file() {
    let mut records = Records::of(CPU_CLOCK);
    records
        .map(0, 10, (0x5000, 0x1000, 0x2000), "/a", None)
        .map(0, 11, (0x9000, 0x1000, 0x2000), "/a", Some([3; 20]))
        .map(0, 12, (0x9000, 0x1000, 0), "/b", None)
        .sample(5, 10, 0x5010)
        .sample(6, 10, 0x5010)
        .sample(7, 11, 0x9010)
        .sample(8, 12, 0x9018)
        .sample(9, 12, 0xffff_ffff_8000_0000)
        .sample(9, 12, 0xa000)
        .end_pass();
    let bytes = file(&[CPU_CLOCK], &records, &[("/a", [3; 20]), ("/b", [4; 20])]);
    let recording = read_all(&bytes).unwrap();
    assert_eq!(
        images(&recording),
        expected(&[("/a", &[(0x2010, 3)]), ("/b", &[(0x18, 1)])])
    );
    let [a, b] = recording.images.as_slice() else {
        panic!("{recording:?}")
    };
    assert_eq!((a.samples, a.build_id.as_deref()), (3, Some(&[3; 20][..])));
    assert_eq!((b.samples, b.build_id.as_deref()), (1, Some(&[4; 20][..])));
    assert_eq!(recording.samples, 6);
    assert_eq!(recording.kernel_samples, 1);
    assert_eq!(recording.unmapped_samples, 1);
    assert_eq!(recording.cut_short_at, None);
    assert_eq!(recording.event.name, "cpu-clock");
    assert!(!recording.event.branch_stacks);
}

#[test]
fn a_pipe_says_the_same_as_a_file() {
    let mut records = Records::of(LBR);
    records.map(0, 10, (0x5000, 0x1000, 0), "/a", None).stack(
        5,
        10,
        0x5010,
        &[(0x5020, 0x5000, 0), (0x5030, 0x5008, 0)],
    );
    let from_file = read_all(&file(&[LBR], &records, &[])).unwrap();
    let from_pipe = read_all(&pipe(&[LBR], &records)).unwrap();
    assert_eq!(images(&from_pipe), images(&from_file));
    assert_eq!(from_pipe.images[0].ranges, from_file.images[0].ranges);
    assert_eq!(from_pipe.event, from_file.event);
    assert!(from_pipe.event.branch_stacks);
}

#[test]
fn mappings_may_stand_behind_samples_that_need_them() {
    // Two processors: the first one's buffer is written first, with newer records.
    let mut records = Records::of(CPU_CLOCK);
    records
        .sample(30, 10, 0x5010)
        .sample(40, 10, 0x5010)
        .map(20, 10, (0x5000, 0x1000, 0), "/new", None)
        .end_pass();
    assert_eq!(
        images(&recorded(&records)),
        expected(&[("/new", &[(0x10, 2)])])
    );
}

#[test]
fn what_an_address_means_depends_on_the_time() {
    // The exec comes a pass before samples of the program that it ended, and two samples of the
    // new program before it.
    let mut records = Records::of(CPU_CLOCK);
    records
        .map(1, 10, (0x5000, 0x1000, 0), "/old", None)
        .sample(21, 10, 0x5011)
        .sample(22, 10, 0x5011)
        .exec(20, 10)
        .map(20, 10, (0x5000, 0x1000, 0x100), "/new", None)
        .end_pass()
        .sample(19, 10, 0x5010)
        .end_pass()
        .sample(30, 10, 0x5011)
        .end_pass();
    assert_eq!(
        images(&recorded(&records)),
        expected(&[("/new", &[(0x111, 3)]), ("/old", &[(0x10, 1)])])
    );
}

#[test]
fn a_library_mapped_over_another_one_hides_it_from_then_on() {
    let mut records = Records::of(CPU_CLOCK);
    records.map(1, 10, (0x5000, 0x3000, 0), "/first", None);
    for time in 2..200 {
        if time == 100 {
            records.map(100, 10, (0x6000, 0x1000, 0), "/second", None);
        }
        records.sample(time, 10, 0x6001).sample(time, 10, 0x7001);
        if time % 10 == 0 {
            records.end_pass();
        }
    }
    assert_eq!(
        images(&recorded(&records)),
        expected(&[
            ("/first", &[(0x1001, 98), (0x2001, 198)]),
            ("/second", &[(1, 100)])
        ])
    );
}

#[test]
fn children_have_their_parents_mappings_until_they_exec() {
    let mut records = Records::of(CPU_CLOCK);
    records
        .map(0, 10, (0x5000, 0x1000, 0), "/sh", None)
        .fork(5, 20, 10)
        .sample(6, 20, 0x5001)
        .exec(7, 20)
        .map(8, 20, (0x5000, 0x1000, 0), "/ls", None)
        .sample(9, 20, 0x5001)
        .sample(9, 10, 0x5001)
        .exit(10, 20)
        // The number is used again.
        .fork(11, 20, 10)
        .sample(12, 20, 0x5001)
        .end_pass();
    assert_eq!(
        images(&recorded(&records)),
        expected(&[("/ls", &[(1, 1)]), ("/sh", &[(1, 3)])])
    );
}

#[test]
fn many_processes_that_end_are_forgotten_and_their_samples_kept() {
    let mut records = Records::of(CPU_CLOCK);
    records.map(0, 1, (0x5000, 0x1000, 0), "/sh", None);
    let processes = 10_000;
    for n in 0..processes {
        let (pid, time) = (100 + n, 10 + 10 * u64::from(n));
        records
            .fork(time, pid, 1)
            .sample(time + 1, pid, 0x5001)
            .exit(time + 2, pid);
        if n % 100 == 0 {
            records.end_pass();
        }
    }
    assert_eq!(
        images(&recorded(&records)),
        expected(&[("/sh", &[(1, u64::from(processes))])])
    );
}

#[test]
fn memory_without_a_file_is_unmapped() {
    let mut records = Records::of(CPU_CLOCK);
    records
        .map(0, 10, (0x5000, 0x1000, 0), "//anon", None)
        .map(0, 10, (0x6000, 0x1000, 0), "[vdso]", None)
        .sample(1, 10, 0x5001)
        .sample(1, 10, 0x6001);
    let recording = recorded(&records);
    assert_eq!(images(&recording), expected(&[("[vdso]", &[(1, 1)])]));
    assert_eq!(recording.unmapped_samples, 1);
}

#[test]
fn mappings_at_the_end_serve_processes_that_had_none() {
    // perf record --tail-synthesize
    let mut records = Records::of(CPU_CLOCK);
    records
        .sample(1, 10, 0x5001)
        .end_pass()
        .end_pass()
        .end_pass()
        .map(0, 10, (0x5000, 0x1000, 0), "/a", None);
    assert_eq!(images(&recorded(&records)), expected(&[("/a", &[(1, 1)])]));
}

#[test]
fn branch_stacks_become_branches_and_runs() {
    let kernel = 0xffff_ffff_8000_0010;
    let mut records = Records::of(LBR);
    records
        .map(0, 10, (0x5000, 0x1000, 0), "/a", None)
        .map(0, 10, (0x9000, 0x1000, 0), "/b", None)
        .stack(
            5,
            10,
            kernel,
            &[
                (0x5050, kernel, 0),
                (0x1, 0x2, WRONG_PATH), // not executed: the run goes on
                (0x9080, 0x5040, 0),
                (0x5090, 0x9070, 0),
                (0x5020, 0x5080, 0),
            ],
        );
    let recording = read_all(&file(&[LBR], &records, &[])).unwrap();
    assert_eq!((recording.samples, recording.kernel_samples), (1, 1));
    let image = |path: &[u8]| recording.images.iter().find(|i| i.path == path).unwrap();
    let sorted = |map: &std::collections::HashMap<(u64, u64), u64>| {
        let mut entries: Vec<_> = map.iter().map(|(&ends, &n)| (ends, n)).collect();
        entries.sort();
        entries
    };
    let (a, b) = (image(b"/a"), image(b"/b"));
    assert_eq!(
        sorted(&a.branches),
        [
            ((0x20, 0x80), 1),
            ((0x50, OUTSIDE), 1),
            ((0x90, OUTSIDE), 1),
            ((OUTSIDE, 0x40), 1)
        ]
    );
    assert_eq!(sorted(&a.ranges), [((0x40, 0x50), 1), ((0x80, 0x90), 1)]);
    assert_eq!(
        sorted(&b.branches),
        [((0x80, OUTSIDE), 1), ((OUTSIDE, 0x70), 1)]
    );
    assert_eq!(sorted(&b.ranges), [((0x70, 0x80), 1)]);
}

#[test]
fn the_first_sampled_event_is_read_and_told_apart_by_identifier() {
    let dummy = Event {
        kind: 1,
        config: 9,
        sample_type: IP_TID_TIME | IDENTIFIER,
        id: 1,
        registers: 0,
    };
    let cycles = Event {
        kind: 0,
        config: 0,
        id: 2,
        registers: 0,
        sample_type: dummy.sample_type | CALLCHAIN | BRANCH_STACK,
    };
    let cycles_of_small_cores = Event {
        config: 10 << 32,
        id: 3,
        ..cycles
    };
    let misses = Event {
        kind: 0,
        config: 3,
        id: 4,
        ..dummy
    };
    let mut records = Records::of(dummy);
    records
        .map(1, 10, (0x5000, 0x1000, 0), "/a", None)
        .switch(cycles)
        .stack(2, 10, 0x5001, &[(0x5002, 0x5003, 0)])
        .switch(misses)
        .sample(3, 10, 0x5001)
        .switch(cycles_of_small_cores)
        .sample(4, 10, 0x5001);
    let events = [dummy, cycles, cycles_of_small_cores, misses];
    let recording = read_all(&file(&events, &records, &[])).unwrap();
    assert_eq!(images(&recording), expected(&[("/a", &[(1, 2)])]));
    assert_eq!(recording.images[0].branches.len(), 1);
    assert_eq!((recording.samples, recording.other_events), (2, 1));
    assert_eq!(recording.event.name, "cycles");
}

#[test]
fn compressed_records_may_be_cut_anywhere() {
    let mut records = Records::of(CPU_CLOCK);
    records.map(0, 10, (0x5000, 0x1_0000, 0), "/a", None);
    for time in 1..2_000 {
        // Hardly compressible, so that there are several pieces.
        let ip = 0x5000 + time * 0x9e37_79b9 % 0x1_0000;
        records.sample(time, 10, ip).end_pass();
    }
    let plain = recorded(&records);
    for kind in [81, 83] {
        for piece in [13, 1000, 60_000] {
            let compressed = recorded(&records.compressed(kind, piece));
            assert_eq!(images(&compressed), images(&plain));
            assert_eq!(compressed.samples, 1_999);
        }
    }
}

#[test]
fn compressed_garbage_is_an_error_at_its_record() {
    let mut records = Records::of(CPU_CLOCK);
    records.map(0, 10, (0x5000, 0x1000, 0), "/a", None);
    let at = file(&[CPU_CLOCK], &records, &[]).len() as u64 - 16;
    records.record(81, 0, b"this is not zstd");
    let error = read_all(&file(&[CPU_CLOCK], &records, &[])).unwrap_err();
    assert!(
        matches!(error, ReadError::Zstd { at: e, .. } if e == at),
        "{error}"
    );
}

#[test]
fn payload_behind_a_record_is_skipped() {
    let mut records = Records::of(CPU_CLOCK);
    records.map(0, 10, (0x5000, 0x1000, 0), "/a", None).record(
        71,
        0,
        &[&300_000_u64.to_le_bytes()[..], &[0; 32]].concat(),
    );
    records.bytes.resize(records.bytes.len() + 300_000, 0xff);
    records.sample(1, 10, 0x5001);
    assert_eq!(images(&recorded(&records)), expected(&[("/a", &[(1, 1)])]));
}

/// perf was killed: the header says that there are no records, and the file ends anywhere.
#[test]
fn a_recording_without_an_end_gives_what_is_there() {
    let mut records = Records::of(CPU_CLOCK);
    records.map(0, 10, (0x5000, 0x1000, 0), "/a", None);
    records.sample(1, 10, 0x5001).sample(2, 10, 0x5001);
    let mut bytes = file(&[CPU_CLOCK], &records, &[]);
    let end = bytes.len() - 16; // without the table of features
    bytes.truncate(end);
    bytes[48..56].fill(0);
    let recording = read_all(&bytes).unwrap();
    assert_eq!(images(&recording), expected(&[("/a", &[(1, 2)])]));
    assert_eq!(recording.cut_short_at, Some(end as u64));
    bytes.truncate(end - 5);
    let recording = read_all(&bytes).unwrap();
    assert_eq!(images(&recording), expected(&[("/a", &[(1, 1)])]));
    let last = end as u64 - 32;
    assert_eq!(recording.cut_short_at, Some(last));
}

#[test]
fn a_recording_cut_anywhere_is_no_panic_and_says_so() {
    let mut records = Records::of(LBR);
    records.map(0, 10, (0x5000, 0x1000, 0), "/a", None);
    for time in 1..20 {
        records.stack(
            time,
            10,
            0x5001,
            &[(0x5020, 0x5000, 0), (0x5030, 0x5008, 0)],
        );
    }
    let bytes = file(&[LBR], &records, &[("/a", [1; 20])]);
    let whole = read_all(&bytes).unwrap();
    assert_eq!(whole.cut_short_at, None);
    for len in 0..bytes.len() {
        match read_all(&bytes[..len]) {
            Ok(recording) => {
                assert!(
                    recording.cut_short_at.is_some_and(|at| at <= len as u64),
                    "{len}"
                );
                assert!(recording.samples <= whole.samples);
            }
            Err(ReadError::Truncated { at, .. }) => assert_eq!(at, len as u64),
            Err(ReadError::Empty) => assert_eq!(len, 0),
            // Of a few bytes of the magic number nothing can be said.
            Err(ReadError::NoSampleInText { .. }) => assert!(len < 8),
            Err(error) => panic!("{len}: {error}"),
        }
    }
}

#[test]
fn lengths_that_can_not_be_true_are_errors_with_a_place() {
    let mut records = Records::of(LBR);
    records.map(0, 10, (0x5000, 0x1000, 0), "/a", None);
    let sample_at = file(&[LBR], &records, &[]).len() as u64 - 16;
    records.stack(1, 10, 0x5001, &[(0x5020, 0x5000, 0)]);
    let good = file(&[LBR], &records, &[]);
    let place = |bytes: &[u8]| match read_all(bytes).unwrap_err() {
        ReadError::Corrupt { at, .. } => at,
        error => panic!("{error}"),
    };
    let sample = sample_at as usize;
    let mut branches = good.clone();
    branches[sample + 32..sample + 40].copy_from_slice(&1_000_000_000_u64.to_le_bytes());
    assert_eq!(place(&branches), sample_at);
    let mut short = good.clone();
    short[sample + 6..sample + 8].copy_from_slice(&7_u16.to_le_bytes());
    assert_eq!(place(&short), sample_at);
    let mut far = good.clone();
    far[40..48].copy_from_slice(&1_000_000_000_u64.to_le_bytes());
    assert_eq!(place(&far), 40);
    let mut attrs = good;
    attrs[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(place(&attrs), 16);
}

/// A small generator of the same numbers every time (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

#[test]
fn bit_flips_never_panic() {
    let mut records = Records::of(LBR);
    records
        .map(0, 10, (0x5000, 0x1000, 0), "/a", Some([5; 20]))
        .fork(1, 11, 10)
        .exec(2, 11)
        .stack(3, 10, 0x5001, &[(0x5020, 0x5000, 0), (0x5030, 0x5008, 0)])
        .end_pass()
        .exit(4, 11);
    let compressed = records.compressed(83, 100);
    records.bytes.extend(&compressed.bytes);
    let recordings = [
        file(&[LBR, CPU_CLOCK], &records, &[("/a", [1; 20])]),
        pipe(&[LBR, CPU_CLOCK], &records),
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..3_000 {
        let mut bytes = recordings[random.below(2)].clone();
        for _ in 0..=random.below(8) {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        match read_all(&bytes) {
            Ok(_) => read += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(
        read > 100 && refused > 100,
        "{read} read, {refused} refused"
    );
}

#[test]
fn other_files_are_named() {
    for (start, kind) in [
        (
            &b"2ELIFREP\0\0\0\0\0\0\0\x68"[..],
            InputKind::PerfDataBigEndian,
        ),
        (b"PERFFILE________", InputKind::PerfDataV1),
        (b"\x7fELF\x02\x01\x01", InputKind::Elf),
        (b"\x81rforpl\xff\x0a", InputKind::RawProfile),
        (b"\xfflprofi\x81\x0c", InputKind::IndexedProfile),
        (b"adcg\x02\0\0\0", InputKind::Gcov),
        (b"\x00\x01", InputKind::Unknown),
    ] {
        assert_eq!(InputKind::of(start), kind);
        let error = read_all(start).unwrap_err();
        assert!(
            matches!(error, ReadError::NotARecording(k) if k == kind),
            "{error}"
        );
    }
    assert!(matches!(read_all(b"").unwrap_err(), ReadError::Empty));
    let big_endian = read_all(b"2ELIFREP\0\0\0\0\0\0\0\x68").unwrap_err();
    assert_eq!(
        big_endian.to_string(),
        "is no perf recording that can be read, but one of a big-endian machine; print it there with \
         `perf script`"
    );
}

#[test]
fn samples_without_a_process_are_refused() {
    let event = Event {
        sample_type: 1,
        ..CPU_CLOCK
    };
    let mut records = Records::of(event);
    records.record(9, 2, &0x5001_u64.to_le_bytes());
    let error = read_all(&file(&[event], &records, &[])).unwrap_err();
    assert!(matches!(error, ReadError::MissingField { .. }), "{error}");
}

#[test]
fn a_selection_keeps_what_is_wanted() {
    let mut records = Records::of(CPU_CLOCK);
    records
        .map(0, 10, (0x5000, 0x1000, 0), "/a", None)
        .map(0, 10, (0x6000, 0x1000, 0), "/b", None)
        .map(0, 11, (0x5000, 0x1000, 0), "/a", None)
        .sample(1, 10, 0x5001)
        .sample(1, 10, 0x6001)
        .sample(1, 11, 0x5001);
    let selection = Selection {
        pids: &[10],
        image: Some(&|path| path == b"/a"),
    };
    let bytes = file(&[CPU_CLOCK], &records, &[]);
    let recording = read(&bytes[..], &selection).unwrap();
    assert_eq!(
        images(&recording),
        expected(&[("/a", &[(1, 1)]), ("/b", &[])])
    );
    assert_eq!(recording.samples, 2);
    assert_eq!(recording.images.iter().map(|i| i.samples).sum::<u64>(), 2);
}
