//! Texts as `perf script` prints them, whole.

use crate::profile::sample::read::{ReadError, Selection, read};
use crate::profile::sample::recording::Recording;

fn read_all(text: &str) -> Result<Recording, ReadError> {
    read(text.as_bytes(), &Selection::default())
}

/// Path and offsets with counts of every image.
fn images(recording: &Recording) -> Vec<(String, Vec<(u64, u64)>)> {
    let mut images: Vec<_> = recording
        .images
        .iter()
        .map(|image| {
            let mut addresses: Vec<_> = image.addresses.iter().map(|(&a, &n)| (a, n)).collect();
            addresses.sort_unstable();
            (String::from_utf8(image.path.clone()).unwrap(), addresses)
        })
        .collect();
    images.sort();
    images
}

#[test]
fn processes_are_told_apart() {
    let recording = read_all(
        "\
10 PERF_RECORD_MMAP2 10/10: [0x5000(0x1000) @ 0x2000 08:02 17 0]: r-xp /bin/sh
10            5010
10 PERF_RECORD_FORK(20:20):(10:10)
20            5010
20 PERF_RECORD_COMM exec: ls:20/20
20 PERF_RECORD_MMAP2 20/20: [0x5000(0x1000) @ 0 08:02 18 0]: r-xp /bin/ls
20            5010
20 PERF_RECORD_FORK(20:21):(20:20)
21            5010
21  ffffffff81000000
21            9010
",
    )
    .unwrap();
    assert_eq!(
        images(&recording),
        [
            ("/bin/ls".to_owned(), vec![(0x10, 2)]),
            ("/bin/sh".to_owned(), vec![(0x2010, 2)])
        ]
    );
    assert_eq!(recording.samples, 6);
    assert_eq!(recording.kernel_samples, 1);
    assert_eq!(recording.unmapped_samples, 1);
    assert!(!recording.event.branch_stacks);
}

#[test]
fn the_form_of_llvm_profgen_is_read() {
    let text = "\
PERF_RECORD_MMAP2 4242/4242: [0x401000(0x1000) @ 0x1000 08:02 1 1]: r-xp /tmp/app
 401020 0x401018/0x401020/P/-/-/0  0x401030/0x401010/P/-/-/0
\t          401020
\t          401050

 0x401018/0x401020/P/-/-/0  0x401030/0x401010/P/-/-/0
";
    let recording = read_all(text).unwrap();
    let [image] = recording.images.as_slice() else {
        panic!("{recording:?}")
    };
    assert_eq!(image.ranges[&(0x1010, 0x1018)], 2);
    assert_eq!(image.branches[&(0x1018, 0x1020)], 2);
    assert_eq!(image.branches[&(0x1030, 0x1010)], 2);
    assert_eq!(image.addresses[&0x1020], 1);
    assert!(recording.event.branch_stacks);
    // The call chain is a sample too, at an address that isn't certain.
    assert_eq!((recording.samples, recording.unmapped_samples), (2, 1));
}

#[test]
fn other_events_are_left_out() {
    let recording = read_all(
        "\
 a 1/1  2.5: PERF_RECORD_MMAP2 1/1: [0x5000(0x1000) @ 0 08:02 17 0]: r-xp /a
 a 1/1  2.6:  1000 cpu_core/cycles/:          5001 main+0x1 (/a)
 a 1/1  2.7:     3 cache-misses:          5002 main+0x2 (/a)
 a 1/1  2.8:  1000 cpu_atom/cycles/:          5001 main+0x1 (/a)
",
    )
    .unwrap();
    assert_eq!(images(&recording), [("/a".to_owned(), vec![(1, 2)])]);
    assert_eq!((recording.samples, recording.other_events), (2, 1));
    assert_eq!(recording.event.name, "cpu_core/cycles/");
}

#[test]
fn offsets_need_no_mappings() {
    let recording = read_all(" 12  5001 main (/a b+0x11)\n 12  5001 main (/a b+0x11)\n").unwrap();
    assert_eq!(images(&recording), [("/a b".to_owned(), vec![(0x11, 2)])]);
}

#[test]
fn a_text_that_can_not_be_used_is_an_error_that_names_the_fields() {
    let prose = read_all("Dear Sir,\nno sample here.\n").unwrap_err();
    assert!(
        matches!(prose, ReadError::NoSampleInText { lines: 2, first: 1 }),
        "{prose}"
    );
    let symbols = read_all("  a 12   1.5: 9 cycles:   5001 main+0x1 (/a)\n").unwrap_err();
    assert!(
        matches!(symbols, ReadError::NoMappingInText { samples: 1 }),
        "{symbols}"
    );
    let chains = read_all("a 12 1.5: 9 cycles: \n\t   5001 main (/a)\n\t 6001 f (/a)\n\n");
    let chains = chains.unwrap_err();
    assert!(
        matches!(chains, ReadError::CallChainsInText { samples: 1 }),
        "{chains}"
    );
    for error in [prose, symbols, chains] {
        let error = error.to_string();
        assert!(error.contains("--show-mmap-events"), "{error}");
    }
    let two = read_all(
        "\
PERF_RECORD_MMAP2 1/1: [0x401000(0x1000) @ 0 08:02 1 1]: r-xp /a
          401020
PERF_RECORD_MMAP2 2/2: [0x401000(0x1000) @ 0 08:02 1 1]: r-xp /b
          401020
",
    )
    .unwrap_err();
    assert!(
        matches!(two, ReadError::NoProcessInText { line: 3 }),
        "{two}"
    );
}

#[test]
fn a_line_without_an_end_takes_bounded_memory_and_is_passed_over() {
    let mut text = "#".to_owned() + &"x".repeat(3 << 20);
    text += "\nPERF_RECORD_MMAP2 1/1: [0x5000(0x1000) @ 0 08:02 1 1]: r-xp /a\n";
    text += " 1            5001\n";
    let recording = read_all(&text).unwrap();
    assert_eq!(images(&recording), [("/a".to_owned(), vec![(1, 1)])]);
}

#[test]
fn texts_cut_anywhere_are_no_panic() {
    let text = "\
# comment
 a b 1/1 [001]  2.5: PERF_RECORD_MMAP2 1/1: [0x5000(0x1000) @ 0 <00ff>]: r-xp /a
 a b 1/1 [001]  2.6:  1000 cycles:u:          5001 main+0x1 (/a)  0x5/0x6(/b)/P/-/-/0
 a b 1/1 [001]  2.6: PERF_RECORD_FORK(2:2):(1:1)
 a b 1/1 [001]  2.6: PERF_RECORD_COMM exec: c:2/2
PERF_RECORD_LOST lost 4
\t 5001 x (y)
";
    let whole = read_all(text).unwrap();
    assert_eq!((whole.samples, whole.lost_samples), (2, 4));
    for from in 0..text.len() {
        for to in [text.len(), (from + 40).min(text.len())] {
            // Whatever comes out, it must not be more than there is.
            if let Ok(recording) = read_all(&text[from..to]) {
                assert!(recording.samples <= 8, "{}", &text[from..to]);
            }
        }
    }
}
