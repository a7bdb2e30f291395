use super::*;

/// All made of `tests-data/locals.c`.
const OBJECTS: [(&str, &[u8], u64, &str); 6] = [
    (
        "elf64",
        include_bytes!("../../../tests-data/elf64.o"),
        10,
        "locals.c;local",
    ),
    (
        "elf64-be",
        include_bytes!("../../../tests-data/elf64-be.o"),
        10,
        "locals.c;local",
    ),
    (
        "elf32",
        include_bytes!("../../../tests-data/elf32.o"),
        10,
        "locals.c;local",
    ),
    (
        "macho",
        include_bytes!("../../../tests-data/macho.o"),
        10,
        "locals.c;local",
    ),
    (
        "coff",
        include_bytes!("../../../tests-data/coff.o"),
        10,
        "locals.c;local",
    ),
    (
        "elf64-v8",
        include_bytes!("../../../tests-data/elf64-v8.o"),
        8,
        "locals.c:local",
    ),
];
const FRONTEND: &[u8] = include_bytes!("../../../tests-data/frontend.o");

#[test]
fn counters_are_found_in_every_kind_of_object() {
    for (kind, bytes, version, local) in OBJECTS {
        let mut found = counters(bytes).unwrap();
        found.names.sort();
        let expected = Counters {
            has_counters: true,
            counter_bytes: 24,
            records: 2,
            raw_version: Some(version | raw::VARIANT_IR),
            names: vec!["global".into(), local.into()],
        };
        assert_eq!(found, expected, "{kind}");
    }
}

#[test]
fn front_end_counters_have_no_raw_version() {
    let found = counters(FRONTEND).unwrap();
    assert!(found.has_counters);
    assert_eq!(found.raw_version, None);
}

#[test]
fn defined_functions_are_listed_as_the_source_names_them() {
    for (kind, bytes, _, _) in OBJECTS {
        let functions = defined_functions(bytes).unwrap();
        for name in ["global", "local"] {
            // On this target the symbol of the function proper begins with a dot.
            let dotted = format!(".{name}");
            assert!(
                functions.iter().any(|f| f == name || *f == dotted),
                "{kind}: {functions:?}"
            );
        }
        assert!(!functions.iter().any(|f| f == "outside"), "{kind}");
    }
}

#[test]
fn code_has_a_hash_that_only_code_changes() {
    let (_, elf, _, _) = OBJECTS[0];
    let hash = text_hash(elf).unwrap();
    assert_eq!(hash.len(), 64);
    assert_ne!(hash, text_hash(OBJECTS[2].1).unwrap());
    let mut renamed = elf.to_vec();
    let at = renamed.windows(8).position(|w| w == b"locals.c").unwrap();
    renamed[at] = b'X';
    assert_eq!(hash, text_hash(&renamed).unwrap());
}

#[test]
fn what_is_no_object_is_an_error() {
    assert!(counters(b"").is_err());
    assert!(text_hash(b"#!/bin/sh\n").is_err());
    assert!(defined_functions(b"BC\xc0\xde....").is_err());
}

/// Exercises every reader.
fn touch(bytes: &[u8]) {
    let _ = counters(bytes);
    let _ = defined_functions(bytes);
    let _ = text_hash(bytes);
}

#[test]
fn no_cut_and_no_flipped_bit_makes_it_panic() {
    let mut seed = 1u64;
    for (_, bytes, _, _) in OBJECTS {
        for end in 0..bytes.len() {
            touch(&bytes[..end]);
        }
        for _ in 0..400 {
            let mut bytes = bytes.to_vec();
            for _ in 0..3 {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let bit = (seed >> 33) as usize % (bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            touch(&bytes);
        }
    }
}

/// An archive as `ar` writes it, or a thin one, which holds names only.
fn archive(members: &[(&str, &[u8])], thin: bool) -> Vec<u8> {
    let mut out = if thin {
        b"!<thin>\n".to_vec()
    } else {
        b"!<arch>\n".to_vec()
    };
    let header = |name: &str, size: usize, out: &mut Vec<u8>| {
        out.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).bytes());
    };
    if thin {
        // Thin archives keep names in a table of their own.
        let table: String = members
            .iter()
            .map(|(name, _)| format!("{name}/\n"))
            .collect();
        header("//", table.len(), &mut out);
        out.extend(table.bytes());
        if out.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    let mut offset = 0;
    for (name, data) in members {
        if thin {
            header(&format!("/{offset}"), data.len(), &mut out);
            offset += name.len() + 2;
            continue;
        }
        header(&format!("{name}/"), data.len(), &mut out);
        out.extend_from_slice(data);
        if out.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}

const MEMBERS: [(&str, &[u8]); 5] = [
    ("lib.rmeta", b"rust"),
    ("a.o", OBJECTS[0].1),
    ("b.o", b"BC\xc0\xde...."),
    ("note.txt", b"x"),
    ("c.o", FRONTEND),
];

#[test]
fn an_archive_is_counted_by_what_its_members_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("libx.rlib");
    fs::write(&path, archive(&MEMBERS, false)).unwrap();
    let expected = Census {
        members: 4,
        objects: 2,
        with_counters: 2,
        bitcode: 1,
        ..Census::default()
    };
    assert_eq!(archive_census(&path).unwrap(), expected);
}

#[test]
fn a_thin_archive_is_followed_to_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("libx.a");
    fs::write(&path, archive(&MEMBERS, true)).unwrap();
    fs::write(dir.path().join("a.o"), OBJECTS[0].1).unwrap();
    let census = archive_census(&path).unwrap();
    assert_eq!((census.members, census.objects), (4, 1));
    assert_eq!((census.with_counters, census.missing), (1, 3));
}

#[test]
fn errors_name_the_archive() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none.a");
    assert!(matches!(archive_census(&path), Err(ObjectError::Io(..))));
    fs::write(&path, "x").unwrap();
    let error = archive_census(&path).unwrap_err().to_string();
    assert!(error.starts_with("can't read the archive") && error.contains("none.a"));
}

#[test]
fn no_cut_archive_makes_it_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("libx.a");
    let whole = archive(&[("a.o", &OBJECTS[0].1[..100]), ("b.o", b"x")], false);
    for end in 0..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        let _ = archive_census(&path);
    }
}
