use super::super::generate::{self, Random};
use super::super::llvm_text;
use super::super::{FunctionSamples, Location};
use super::*;
use std::collections::BTreeSet;

const VERSIONS: [Version; 3] = [Version::V1, Version::V2, Version::V3];

fn from_text(text: &str) -> SampleProfile {
    llvm_text::parse(text).unwrap()
}

fn file(version: Version, text: &str) -> Vec<u8> {
    write(&GcovProfile::new(version, from_text(text))).bytes
}

fn to_text(profile: &SampleProfile) -> String {
    llvm_text::write(profile).text
}

const SMALL: &str = "main:15:6\n 1: 12\n 2.3: 3 callback:2\n 4: parse:0\n  1: 0\n";

#[test]
fn the_bytes_are_those_that_gcc_expects() {
    let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
    let header = |version| words(&[MAGIC, version, 0, TAG_NAMES, 1 + 2 + 4 + 3 + 3, 4]);
    let after = words(&[
        TAG_FUNCTIONS,
        2 + 3 + 8 + 5 + 1 + 3 + 4 + 1,
        1, // length, functions
        6,
        0,
        2,
        2,
        1, // head, name, positions, call sites
        1 << 16,
        0,
        12,
        0, // 1: 12
        2 << 16 | 3,
        1,
        3,
        0,
        7,
        1,
        0,
        2,
        0, // 2.3: 3 callback:2
        4 << 16,
        3,
        1,
        0, // 4: parse
        1 << 16,
        0,
        0,
        0, //  1: 0
        TAG_MODULES,
        0,
        0,
        TAG_WORKING_SET,
        384,
    ]);
    let mut v1 = header(1);
    v1.extend(
        b"\x01\0\0\0\0\0\0\0\x03\0\0\0callback\0\0\0\0\x02\0\0\0main\0\0\0\0\x02\0\0\0parse\0\0\0",
    );
    v1.extend(&after);
    v1.extend([0; 128 * 12]);
    assert_eq!(file(Version::V1, SMALL), v1);
    let mut v2 = header(2);
    v2.extend(b"\x01\0\0\0\0\x09\0\0\0callback\0\x05\0\0\0main\0\x06\0\0\0parse\0");
    v2.extend(&after);
    v2.extend([0; 128 * 12]);
    assert_eq!(file(Version::V2, SMALL), v2);
}

#[test]
fn what_is_written_is_read_back() {
    for version in VERSIONS {
        let back = read(&file(version, SMALL)).unwrap();
        assert_eq!(back.version, version);
        assert_eq!(to_text(&back.profile), SMALL);
    }
}

#[test]
fn files_and_timestamps_of_version_3_are_kept() {
    let mut profile = GcovProfile::new(Version::V3, from_text(SMALL));
    profile.files.insert("main".into(), "src/main.c".into());
    profile.files.insert("parse".into(), "src/parse.c".into());
    profile.timestamps.insert("main".into(), 1 << 40);
    assert_eq!(read(&write(&profile).bytes).as_ref(), Ok(&profile));
    // Older versions have no place for them.
    profile.version = Version::V2;
    let back = read(&write(&profile).bytes).unwrap();
    assert!(back.files.is_empty() && back.timestamps.is_empty());
}

#[test]
fn version_3_from_before_timestamps_is_read() {
    let text = "a:3:9\n 1: 3\nb:12:6\n 1: 12\n";
    let mut bytes = file(Version::V3, text);
    // Behind the heads, which are the counters 9 and 6.
    for head in [9_u64, 6] {
        let with_zero: Vec<u8> = [head.to_le_bytes(), [0; 8]].concat();
        let at = bytes.windows(16).position(|w| w == with_zero).unwrap();
        bytes.drain(at + 8..at + 16);
    }
    let back = read(&bytes).unwrap();
    assert_eq!(to_text(&back.profile), "b:12:6\n 1: 12\na:3:9\n 1: 3\n");
}

#[test]
fn the_summary_of_version_3_is_over_positions() {
    let text = "a:0:5\n 1: 90\n 2: 5\n 3: 2\n 4: 1\n 5: 1\n 6: b:0\n  1: 1\n";
    let bytes = file(Version::V3, text);
    let counter = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let head: Vec<_> = (0..6).map(|index| counter(16 + index * 8)).collect();
    assert_eq!(head, [100, 90, 5, 6, 1, 16]);
    let line = |index: usize| {
        let at = 64 + index * 20;
        let cutoff = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        (cutoff, counter(at + 4), counter(at + 12))
    };
    assert_eq!(line(0), (10_000, 90, 1));
    assert_eq!(line(10), (950_000, 5, 2));
    assert_eq!(line(11), (990_000, 1, 6));
}

#[test]
fn what_gcc_can_not_tell_apart_is_added_up() {
    let text = "f:10:1\n 1: 10 g.part.0:4 g:3\n 2: h.isra.0:1\n  1: 1\n 2: h:2\n  1: 2\n\
                f.cold:5:0\n 1: 2\n 7: 3\n_ZN1aD4Ev:1:1\n 1: 1\n_ZN1aD2Ev:2:1\n 1: 2\n";
    let written = write(&GcovProfile::new(Version::V2, from_text(text)));
    assert_eq!(written.left_out, BTreeSet::new());
    assert_eq!(
        to_text(&read(&written.bytes).unwrap().profile),
        "f:18:1\n 1: 12 g:7\n 7: 3\n 2: h:3\n  1: 3\n_ZN1aD2Ev:3:2\n 1: 3\n"
    );
}

#[test]
fn names_are_those_that_gcc_looks_for() {
    for (name, for_gcc) in [
        ("main", "main"),
        ("work.part.0.constprop.1", "work"),
        ("_ZN3FooC4Ev", "_ZN3FooC2Ev"),
        ("_ZN3FooD4Ev.cold", "_ZN3FooD2Ev"),
        ("_ZN3FooC4EPKc", "_ZN3FooC2EPKc"),
        ("_ZN3FooC4EPKcRKS2_", "_ZN3FooC2EPKcRKS2_"),
        ("D4Ev", "D4Ev"),
        (".text", ""),
    ] {
        assert_eq!(gcc_name(name), for_gcc);
    }
}

#[test]
fn what_has_no_place_is_left_out_and_named() {
    let mut profile = from_text("main:6:1\n 1: 2\n 2.65536: 3\n 3: 1 .text:1\n");
    profile
        .functions
        .insert("n\0l".into(), FunctionSamples::default());
    profile
        .functions
        .insert("[main:1 @ f]".into(), FunctionSamples::default());
    let written = write(&GcovProfile::new(Version::V2, profile));
    assert_eq!(written.positions_left_out, 1);
    let names: Vec<_> = written.left_out.iter().collect();
    assert_eq!(names, [".text", "[main:1 @ f]", "n\0l"]);
    let back = read(&written.bytes).unwrap().profile;
    assert_eq!(to_text(&back), "main:3:1\n 1: 2\n 3: 1\n");
}

#[test]
fn every_truncation_is_refused_with_its_place() {
    for version in VERSIONS {
        let bytes = file(version, SMALL);
        // A file may end behind the modules.
        let modules = bytes.len() - 128 * 12 - 8;
        for length in 0..bytes.len() {
            let result = read(&bytes[..length]);
            if length == modules {
                assert!(result.is_ok());
                continue;
            }
            let error = result.unwrap_err();
            assert!(matches!(error.what, GcovErrorKind::Truncated(_)), "{error}");
            assert!(error.at <= length, "{error}");
        }
    }
}

#[track_caller]
fn refused(bytes: &[u8], message: &str) {
    assert_eq!(read(bytes).unwrap_err().to_string(), message);
}

#[test]
fn errors_say_what_was_expected() {
    refused(
        b"main:5:1\n 1: 5\n",
        "is no AutoFDO profile of GCC at byte 0",
    );
    refused(
        b"adcg\x2a224",
        "version 875704874 is unknown, expected 1 to 3 at byte 4",
    );
    let good = file(Version::V2, SMALL);
    let with = |at: usize, word: u32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        bytes
    };
    let functions = good
        .windows(4)
        .position(|w| w == TAG_FUNCTIONS.to_le_bytes());
    let functions = functions.unwrap();
    refused(&with(12, 5), "the name table should begin at byte 12");
    refused(
        &with(functions, 5),
        &format!("the functions should begin at byte {functions}"),
    );
    let name = functions + 20;
    refused(
        &with(name, 4),
        &format!("no name has the number 4 at byte {name}"),
    );
    refused(
        &with(name, 0),
        &format!("no name has the number 0 at byte {name}"),
    );
    let kind = name + 12 + 32;
    refused(
        &with(kind, 1),
        &format!("unknown kind of values 1 at byte {kind}"),
    );
    let mut longer = good.clone();
    longer.push(0);
    refused(
        &longer,
        &format!("more bytes after the end at byte {}", good.len()),
    );
}

#[test]
fn lengths_of_billions_cost_nothing() {
    let good = file(Version::V3, SMALL);
    for at in 12..good.len() - 128 * 12 {
        let mut bytes = good.clone();
        bytes[at..at + 4].fill(0xff);
        // Read or refused, but soon and in place.
        drop(read(&bytes));
    }
}

#[test]
fn names_can_not_be_blown_up() {
    let mut file = GcovProfile::new(Version::V2, SampleProfile::default());
    let function = file.profile.functions.entry("f".into()).or_default();
    let long = "x".repeat(1 << 20);
    for offset in 0..400 {
        let location = Location {
            offset,
            discriminator: 0,
        };
        let site = function.call_sites.entry(location).or_default();
        site.insert(long.clone(), FunctionSamples::default());
    }
    let error = read(&write(&file).bytes).unwrap_err();
    assert_eq!(error.what, GcovErrorKind::Inflated);
}

#[test]
fn nesting_has_a_bound() {
    let nested = |depth: usize| {
        let mut text = String::from("a:1:1\n");
        for level in 1..=depth {
            text += &format!("{:level$}1: f:1\n", "");
        }
        from_text(&text)
    };
    let profile = GcovProfile::new(Version::V2, nested(MAX_DEPTH - 1));
    let bytes = write(&profile).bytes;
    assert!(read(&bytes).is_ok());
    // One call site more, in front of the innermost function: "0 positions, 0 call sites".
    let modules = bytes
        .windows(4)
        .position(|w| w == TAG_MODULES.to_le_bytes())
        .unwrap();
    let mut deeper = bytes[..modules - 4].to_vec();
    for _ in 0..100_000 {
        deeper.extend([1, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    }
    assert_eq!(read(&deeper).unwrap_err().what, GcovErrorKind::TooDeep);
}

#[test]
fn gccs_counters_are_not_taken_for_it() {
    assert!(recognises(&file(Version::V1, SMALL)));
    assert!(recognises(&file(Version::V3, SMALL)));
    assert!(recognises(b"adcg\x04\0\0\0"));
    // create_gcov's own default: versions of compilers, but the rest is AutoFDO.
    assert!(recognises(b"adcg*704\0\0\0\0\0\0\0\xaa"));
    // gcc 12: version, stamp, checksum, then the first function.
    assert!(!recognises(
        b"adcg*22B\x12\x34\x56\x78\x9a\xbc\xde\xf0\0\0\0\x01"
    ));
    assert!(!recognises(b"adcg"));
    assert!(!recognises(b""));
}

#[test]
fn written_and_read_back_a_profile_is_the_same() {
    for seed in 0..100 {
        let random = &mut Random::new(seed);
        let mut profile = generate::profile(random);
        for samples in profile.functions.values_mut() {
            samples.recount();
        }
        for version in VERSIONS {
            let file = GcovProfile::new(version, profile.clone());
            let written = write(&file);
            assert_eq!(written.left_out, BTreeSet::new(), "seed {seed}");
            assert_eq!(read(&written.bytes), Ok(file), "seed {seed}");
        }
    }
}

#[test]
fn garbage_is_read_or_refused() {
    let mut refused = 0;
    for seed in 0..1000 {
        let random = &mut Random::new(seed);
        let version = VERSIONS[seed as usize % 3];
        let file = GcovProfile::new(version, generate::profile(random));
        let damaged = generate::damage(random, &write(&file).bytes);
        match read(&damaged) {
            Ok(profile) => assert!(read(&write(&profile).bytes).is_ok(), "seed {seed}"),
            Err(error) => {
                assert!(error.at <= damaged.len(), "seed {seed}: {error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 500, "{refused} of 1000 refused");
}
