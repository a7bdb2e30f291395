use super::super::generate::{self, Random};
use super::*;

fn at(offset: u32, discriminator: u32) -> Location {
    Location {
        offset,
        discriminator,
    }
}

#[track_caller]
fn refused(text: &str, line: usize, what: TextErrorKind) {
    assert_eq!(parse(text), Err(TextError { line, what }));
}

#[test]
fn every_part_is_read_and_written_as_it_was() {
    let text = "main:1840:6\n 1: 12\n 2.3: 40 callback:30 other:10\n 4: parse:120\n  1: 100\n  \
                2: get:20\n   0: 20\nget:9:4\n 1: 9\n";
    let profile = parse(text).unwrap();
    let main = &profile.functions["main"];
    assert_eq!((main.total, main.head), (1840, 6));
    assert_eq!(main.body[&at(2, 3)].count, 40);
    assert_eq!(main.body[&at(2, 3)].targets["callback"], 30);
    let parse = &main.call_sites[&at(4, 0)]["parse"];
    assert_eq!((parse.total, parse.body[&at(1, 0)].count), (120, 100));
    assert_eq!(parse.call_sites[&at(2, 0)]["get"].body[&at(0, 0)].count, 20);
    assert_eq!(write(&profile).text, text);
}

#[test]
fn contexts_checksums_and_attributes_are_read_and_written_as_they_were() {
    let text = "[main:3.1 @ foo:2 @ bar]:20:3\n 1: 20\n !CFGChecksum: 56\n !Attributes: 2\n\
                [main]:10:1\n 1: 10\n !CFGChecksum: 0\n";
    let profile = parse(text).unwrap();
    let bar = &profile.functions["[main:3.1 @ foo:2 @ bar]"];
    assert_eq!((bar.checksum, bar.attributes), (Some(56), Some(2)));
    assert_eq!(profile.functions["[main]"].checksum, None);
    assert_eq!(write(&profile).text, text);
    // What is not part of a context does not make another one.
    let same = parse("[main:3.1 @ foo:2 @ bar:9]:20:3\n").unwrap();
    assert!(same.functions.contains_key("[main:3.1 @ foo:2 @ bar]"));
}

#[test]
fn comments_blank_lines_and_deeper_indentation_mean_nothing() {
    let text =
        "# by hand\n\nmain:5:1\r\n   # inside\n     1: 3\n\n   2: inlined:2\n    7: 2\n !Flat\n";
    let profile = parse(text).unwrap();
    assert_eq!(
        write(&profile).text,
        "main:5:1\n 1: 3\n 2: inlined:2\n  7: 2\n"
    );
    assert_eq!(parse("").unwrap(), SampleProfile::default());
}

#[test]
fn what_is_listed_twice_is_added_up_and_saturates() {
    let max = u64::MAX;
    let text = format!("a:{max}:1\n 1: {max} b:2\n 1: 5 b:3\na:1:1\n 1: 1\n");
    assert_eq!(
        write(&parse(&text).unwrap()).text,
        format!("a:{max}:2\n 1: {max} b:5\n")
    );
}

#[test]
fn names_may_hold_blanks_and_colons() {
    let text = "std::pair<a, b>::first:7:1\n 1: 7 _M_construct<char *>:4 -[View draw:]:3\n \
                2: operator new(unsigned long):0\n";
    let profile = parse(text).unwrap();
    let first = &profile.functions["std::pair<a, b>::first"];
    let targets: Vec<_> = first.body[&at(1, 0)].targets.keys().collect();
    assert_eq!(targets, ["-[View draw:]", "_M_construct<char *>"]);
    assert!(first.call_sites[&at(2, 0)].contains_key("operator new(unsigned long)"));
    assert_eq!(write(&profile).text, text);
}

#[test]
fn names_that_no_line_can_hold_are_left_out_and_named() {
    let mut profile = SampleProfile::default();
    let mut main = FunctionSamples::default();
    let body = main.body.entry(at(1, 0)).or_default();
    body.targets
        .extend([("a:1 b".to_owned(), 1), ("good".to_owned(), 2)]);
    let site = main.call_sites.entry(at(2, 0)).or_default();
    site.insert("7up".to_owned(), FunctionSamples::default());
    for name in ["main", "two\nlines", " blank", "#comment", ""] {
        profile.functions.insert(name.to_owned(), main.clone());
    }
    let written = write(&profile);
    assert_eq!(written.text, "main:0:0\n 1: 0 good:2\n");
    let left_out: Vec<_> = written.left_out.iter().collect();
    assert_eq!(
        left_out,
        ["", " blank", "#comment", "7up", "a:1 b", "two\nlines"]
    );
}

#[test]
fn errors_name_the_line() {
    refused("main:5\n", 1, TextErrorKind::Head);
    refused("main:5:x\n", 1, TextErrorKind::Head);
    refused("main:+5:1\n", 1, TextErrorKind::Head);
    refused(":5:1\n", 1, TextErrorKind::Head);
    refused("main:99999999999999999999:1\n", 1, TextErrorKind::Head);
    refused("\n 1: 5\n", 2, TextErrorKind::NoFunction);
    refused("a:1:1\n 70000: 5\n", 2, TextErrorKind::Position);
    refused("a:1:1\n 1.x: 5\n", 2, TextErrorKind::Position);
    refused("a:1:1\n 1:5\n", 2, TextErrorKind::Position);
    refused("a:1:1\n 1\n", 2, TextErrorKind::Position);
    refused("a:1:1\n\n 1: 5 b\n", 3, TextErrorKind::Body);
    refused("a:1:1\n 1: 5 :3\n", 2, TextErrorKind::Body);
    refused("a:1:1\n 1: 5x\n", 2, TextErrorKind::Body);
    refused("a:1:1\n 1: b\n", 2, TextErrorKind::CallSite);
    refused("a:1:1\n 1: \n", 2, TextErrorKind::CallSite);
    refused("a:1:1\n !Speed: 3\n", 2, TextErrorKind::Metadata);
    refused(
        "a:1:1\n !Attributes: 4294967296\n",
        2,
        TextErrorKind::Metadata,
    );
    refused(
        "a:1:1\n !CFGChecksum: 3\n 1: 2\n",
        3,
        TextErrorKind::AfterMetadata,
    );
    refused("a:1:1\n[b]:1:1\n", 2, TextErrorKind::Mixed);
    refused("[a:x @ b]:1:1\n", 1, TextErrorKind::Context);
    refused("[a:1:1\n", 1, TextErrorKind::Context);
    refused("[a]:1:1\n 1: b:3\n", 2, TextErrorKind::InlinedInContext);
    refused("a:1:1\n 1: vtables _ZTVa:3\n", 2, TextErrorKind::Vtables);
    let not_text = read(b"a:1:1\n 1: 2\n \xff\n").unwrap_err();
    assert_eq!(not_text.to_string(), "no text at line 3");
}

#[test]
fn nesting_has_a_bound() {
    let nested = |depth: usize| {
        let mut text = String::from("a:1:1\n");
        for level in 1..=depth {
            text += &format!("{:level$}1: f:1\n", "");
        }
        text
    };
    let deepest = parse(&nested(MAX_DEPTH - 1)).unwrap();
    assert_eq!(write(&deepest).text, nested(MAX_DEPTH - 1));
    let at = MAX_DEPTH + 1;
    refused(&nested(MAX_DEPTH), at, TextErrorKind::TooDeep);
    refused(&nested(2000), at, TextErrorKind::TooDeep);
}

#[test]
fn the_form_is_recognised_by_its_first_line() {
    assert!(recognises(b"# comment\n\nmain:5:1\n 1: 5\n"));
    assert!(recognises(b"main:5:1\r\n"));
    assert!(!recognises(b""));
    assert!(!recognises(b"# IR level Instrumentation Flag\n:ir\nmain\n"));
    assert!(!recognises(b" 1: 5\n"));
    assert!(!recognises(b"main:5:1\xff\n"));
}

#[test]
fn written_and_read_back_a_profile_is_the_same() {
    for seed in 0..100 {
        let random = &mut Random::new(seed);
        let mut profile = match seed % 3 {
            0 => generate::with_contexts(random),
            _ => generate::profile(random),
        };
        if seed.is_multiple_of(2) {
            generate::add_checksums(&mut profile);
        }
        let written = write(&profile);
        assert_eq!(written.left_out, BTreeSet::new(), "seed {seed}");
        assert_eq!(parse(&written.text), Ok(profile), "seed {seed}");
    }
}

#[test]
fn garbage_is_read_or_refused() {
    let mut refused = 0;
    for seed in 0..1000 {
        let random = &mut Random::new(seed);
        let text = write(&generate::profile(random)).text;
        let damaged = generate::damage(random, text.as_bytes());
        match read(&damaged) {
            // What is understood can be written, and is then understood the same way.
            Ok(profile) => {
                let written = write(&profile);
                if written.left_out.is_empty() {
                    assert_eq!(parse(&written.text), Ok(profile), "seed {seed}");
                }
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 250, "{refused} of 1000 refused");
}
