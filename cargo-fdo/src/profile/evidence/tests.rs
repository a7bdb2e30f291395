use super::*;

/// Feeds a whole stderr; returns what is left of it and the evidence.
fn filter(stderr: &str) -> (String, Evidence) {
    let mut filter = Filter::default();
    let mut out = Vec::new();
    for line in stderr.as_bytes().split_inclusive(|&byte| byte == b'\n') {
        out.extend_from_slice(&filter.line(line).unwrap_or_default());
    }
    (String::from_utf8(out).unwrap(), filter.finish())
}

const DUMP: &str = "pgo-view-raw-counts: f\n\
    Dump Function my file.c;f Hash: 742261418966908927\t\n\
    \x20 Number of Basic Blocks: 2\n\
    \x20 BB: FakeNode  Index=0\n\
    \x20 BB: for.body  Index=1  Count=1\n\
    \x20 BB:   Index=2  Count=1\n\
    \x20 Number of Edges: 2 (*: Instrument, C: CriticalEdge, -: Removed)\n\
    \x20 Edge 0: 0-->1 *   W=18014398509481984  Count=1\n\
    \x20 Edge 1: 5-->7  c  W=211106232532992000  Count=0\n\
    \x20 Edge 2: 1-->0 -*c  W=18014398509481984  Count=1\n";

#[test]
fn a_dump_disappears_and_the_rest_stays() {
    let (left, evidence) = filter(&format!("before\n{DUMP}after\n{DUMP}\n"));
    assert_eq!(left, "before\nafter\n");
    let applied = [("my file.c;f".to_owned(), 742_261_418_966_908_927)];
    assert_eq!(evidence.applied, BTreeSet::from(applied));
    assert!(evidence.tokens.is_empty());
}

#[test]
fn compiler_output_passes_unchanged() {
    let text = "In file included from a.c:1:\n\
        a.c:3:5: warning: unused variable 'c' [-Wunused-variable]\n\
        \x20   3 | int c;\n\
        \x20     |     ^\n\
        \n\
        warning: unused\n --> src/lib.rs:1:4\n  |\n1 | fn f() {}\n  |    ^\n\n\
        12\n  -->\n\t\nmain\n_RNvC1a1f\n: c *\nIndex=3\n  Edge cases: none\n\
        2 warnings generated.\r\n";
    assert_eq!(filter(text).0, text);
}

#[test]
fn other_bytes_than_utf8_pass_unchanged() {
    let line = b"caf\xe9.c:1: warning: \xff\n";
    assert_eq!(Filter::default().line(line).as_deref(), Some(&line[..]));
    let mut filter = Filter::default();
    assert_eq!(filter.line(b"pgo-view-raw-counts: caf\xe9"), None);
    assert_eq!(filter.line(b"Dump Function caf\xe9.c;f Hash: 1\t"), None);
    assert_eq!(filter.finish().tokens.len(), 2);
}

#[test]
fn a_json_message_at_the_end_of_a_fragment_is_saved() {
    let json = "{\"$message_type\":\"artifact\",\"artifact\":\"x  BB: \",\"emit\":\"link\"}\n";
    for fragment in [
        "",
        "pgo-view-raw-counts: ",
        "Dump Function ",
        "Dump Function _RNvC1a1f",
        "  BB: ",
        "  Edge 3: 4",
        "pgo-view-raw-counts: pgo-view-raw-counts: _RNvC1a1f",
    ] {
        let (left, _) = filter(&format!("{DUMP}{fragment}{json}{DUMP}"));
        assert!(
            left.contains(json) && left.ends_with(json),
            "{fragment}: {left}"
        );
    }
}

/// What rustc 1.95 wrote with 11 units on two cores.
#[test]
fn a_dump_torn_by_threads_disappears_and_keeps_its_names() {
    let torn = "pgo-view-raw-counts: pgo-view-raw-counts: _RNvC1p2m7\n\
        _RNvNtC1p3m121fDump Function \n\
        _RNvXs1_NtC5alloc4dropDump Function  Hash: _RNvNtC1p3m121f784007056844089447 Hash: \t742261418966908927\n\
        \t\n\
        \x20 Number of Basic Blocks: \n\
        4\n\
        \x20 Number of Basic Blocks:   BB: 2FakeNode\n\
        \x20   BB: Index=0FakeNode  \n\
        Index=0  BB: \n\
        \x20   BB: Index=3  Count=1  \n\
        Index=1  Count=1  BB: \n\
        \x20   Number of Edges: Index=2  Count=12\n\
        \x20(*: Instrument, C: CriticalEdge, -: Removed)\n\
        0  Number of Edges: -->51 (*: Instrument, C: CriticalEdge, -: Removed)\n\
        \x20*   W=18014398509481984  Count=1  Edge 0\n\
        :   Edge 11-->: 21  c  W=6755399441055744000  Count=0-->0\n\
        \x20    W=18014398509481984  Count=1  Edge \n\
        1: 2-->0     W=18014398509481985  Count=1\n\
        \n";
    let (left, evidence) = filter(torn);
    assert_eq!(left, "");
    let tokens: Vec<&str> = evidence.tokens.iter().map(String::as_str).collect();
    assert_eq!(
        tokens,
        [
            "_RNvC1p2m7",
            "_RNvNtC1p3m121f",
            "_RNvNtC1p3m121f784007056844089447",
            "_RNvXs1_NtC5alloc4drop"
        ]
    );
}

const MISMATCH: &str =
    "function control flow change detected (hash mismatch) g Hash = 54174 up to 7 count discarded";

#[track_caller]
fn mismatches(text: &str, left: &str) {
    let (out, evidence) = filter(text);
    assert_eq!(out, left);
    let mismatch = Mismatch {
        symbol: "g".into(),
        hash: 54174,
        discarded: 7,
    };
    assert_eq!(evidence.mismatched, BTreeSet::from([mismatch]));
}

#[test]
fn clangs_mismatch_is_taken_out_and_its_count_put_right() {
    let warning = format!("warning: /x/error.c: {MISMATCH} [-Wbackend-plugin]\n");
    mismatches(&format!("{warning}1 warning generated.\n"), "");
    mismatches(
        &format!("a.c:1:1: warning: x\n{warning}{warning}3 warnings generated.\n"),
        "a.c:1:1: warning: x\n1 warning generated.\n",
    );
    mismatches(
        &format!("{warning}2 warnings and 1 error generated.\n"),
        "2 warnings and 1 error generated.\n",
    );
}

#[test]
fn an_error_is_noted_but_stays() {
    let error = format!("error: /x/a.c: {MISMATCH} [-Werror,-Wbackend-plugin]\n");
    mismatches(&error, &error);
}

#[test]
fn rustcs_mismatch_is_taken_out_as_text_and_as_json() {
    let text = format!("warning: p.c14f87a213e14aa-cgu.10: {MISMATCH}\n\nnext\n");
    mismatches(&text, "next\n");
    let json = |level: &str, message: &str| {
        format!(
            "{{\"$message_type\":\"diagnostic\",\"message\":\"{message}\",\"code\":null,\
             \"level\":\"{level}\",\"spans\":[],\"children\":[],\"rendered\":\"{message}\\n\"}}\n"
        )
    };
    let warning = json("warning", MISMATCH);
    mismatches(&warning, "");
    mismatches(&format!("Dump Function {warning}"), "");
    mismatches(
        &format!("{warning}{}", json("warning", "1 warning emitted")),
        "",
    );
    mismatches(
        &format!("{warning}{}", json("warning", "3 warnings emitted")),
        &json("warning", "2 warnings emitted"),
    );
    let error = json("error", MISMATCH);
    mismatches(&error, &error);
}

#[test]
fn evidence_survives_its_file() {
    let (_, mut evidence) = filter(&format!(
        "{DUMP}pgo-view-raw-counts: _RNvC1a1f\nwarning: x: {MISMATCH}\n"
    ));
    let read = Evidence::parse(&evidence.to_text()).unwrap();
    assert_eq!(read, evidence);
    assert_eq!((evidence.applied.len(), evidence.tokens.len()), (1, 1));
    evidence.merge(read.clone());
    assert_eq!(read, evidence);
    assert_eq!(Evidence::parse("token\tx\nwhat\n"), Err(2));
    assert_eq!(Evidence::parse("applied\tx\tf\n"), Err(1));
}

#[test]
fn no_cut_and_no_changed_byte_makes_it_panic() {
    let text = format!("{DUMP}warning: x: {MISMATCH}\n3 warnings generated.\n{{\"a\":1}}\n");
    for at in 0..text.len() {
        for byte in [0, b'\n', b' ', b'c', b'{', b'"', b'9', 0xff] {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = byte;
            let mut filter = Filter::default();
            for line in bytes.split(|&byte| byte == b'\n') {
                let _ = filter.line(line);
            }
            let _ = filter.line(&bytes[at..]);
        }
    }
}
