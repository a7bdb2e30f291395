use super::*;
use crate::comparison::facts::{
    Failure, Machine, Metric, Origin, Program, Project, Role, Scenario, Training as Trainer,
    VERSION, Variant, Weather,
};
use crate::metrics::Better;
use crate::profile::consumed::Language;
use crate::profile::shares::Missing;
use crate::profile::summary::Summary;
use crate::report::usage::{HotRow, Part};
use crate::stage::trained::{Function, Package};
use crate::store::campaign::{
    BinaryEntry, CEntry, FailedEntry, LimitsEntry, Method, Partition, WorkloadEntry,
};
use std::collections::BTreeMap;

/// What no name should be, and some are.
const NASTY: &str = "<T as \"Fn\"('&')>::x</style><script src=http://x.test>";

fn variant(name: &str, role: Role) -> Variant {
    Variant {
        name: name.into(),
        role,
        what: NASTY.into(),
        programs: vec![Program {
            name: "app".into(),
            path: "/a \"b\"/app".into(),
            bytes: 1000,
            text_bytes: None,
        }],
        build_seconds: Some(f64::INFINITY),
        saved: None,
    }
}

fn scenario(name: &str, samples: Vec<Vec<Vec<f64>>>) -> Scenario {
    Scenario {
        name: name.into(),
        is_trained: true,

        sweep: None,
        prepare: Some(NASTY.into()),
        run: NASTY.into(),
        rounds: 3,
        rounds_wanted: None,
        warmup: 0,
        metrics: vec![Metric {
            name: "wall time".into(),
            unit: Some("s".into()),
            better: Better::Lower,
            origin: Origin::Kernel,
            is_main: true,
            samples,
        }],
        failures: vec![Failure {
            variant: NASTY.into(),
            round: 1,
            words: NASTY.into(),
        }],
        weather: Weather::default(),
    }
}

fn comparison(scenarios: Vec<Scenario>) -> Comparison {
    Comparison {
        version: VERSION,
        cargo_fdo: "0".into(),
        made: u64::MAX,
        command: vec![NASTY.into()],
        machine: Machine::default(),
        project: Project::default(),
        training: Some(Trainer {
            id: NASTY.into(),
            method: "instrument".into(),
            workloads: vec![NASTY.into()],
            seconds: -1.0,
            made: 0,
        }),
        variants: vec![
            variant("release", Role::Baseline),
            variant("control", Role::Control),
            variant(NASTY, Role::Candidate),
        ],
        scenarios,
    }
}

/// Runs of all variants, by round.
fn runs(values: [&[f64]; 3]) -> Vec<Vec<Vec<f64>>> {
    let runs = |values: &[f64]| values.iter().map(|value| vec![*value]).collect();
    values.iter().map(|values| runs(values)).collect()
}

fn manifest() -> Manifest {
    Manifest {
        version: 1,
        id: "0123456789abcdef".into(),
        method: Method::Instrument,
        made: 1_800_000_000,
        target: "x86_64-unknown-linux-gnu".into(),
        profile: NASTY.into(),
        rustc: NASTY.into(),
        c_compiler: None,
        failed: vec![FailedEntry {
            name: NASTY.into(),
            words: NASTY.into(),
        }],
        workloads: vec![WorkloadEntry {
            name: NASTY.into(),
            weight: 1,
            files: 1,
            lost_processes: 0,
            seconds: f64::MAX,
            slowdown: Some(1.4),
        }],
        raw_files: 1,
        quarantined: 0,
        limits: LimitsEntry {
            hot: 1,
            cold: 0,
            huge_working_set: false,
            large_working_set: false,
        },
        partition: Partition::default(),
        functions: 2,
        functions_executed: 2,
        blocks: 3,
        hot_blocks: 1,
        thin: true,
        total: 12,
        hottest: Vec::new(),
        slices: BTreeMap::new(),
        c_objects: vec![CEntry {
            package: NASTY.into(),
            objects: 3,
            instrumented: 1,
            excluded: 1,
            unseen: 2,
        }],
        binaries: vec![binary(false), binary(true)],
        sampling: None,
    }
}

fn binary(left_out: bool) -> BinaryEntry {
    BinaryEntry {
        name: NASTY.into(),
        target: None,
        share: 0.5,
        workloads: Vec::new(),
        functions: 1,
        left_out,
        files: Vec::new(),
        own: BTreeMap::new(),
        limits: LimitsEntry::default(),
    }
}

fn trained(functions: usize) -> Trained {
    let functions: Vec<Function> = (0..functions)
        .map(|number| Function {
            name: format!("{NASTY}{number}"),
            count: (functions - number) as u128,
            language: Language::C,
            package: NASTY.into(),
        })
        .collect();
    let total = functions.iter().map(|function| function.count).sum();
    Trained {
        packages: vec![Package {
            name: NASTY.into(),
            language: Language::C,
            count: total,
            functions: functions.len(),
        }],
        total,
        summary: Summary::of_counts(1, [0, 1, 5000]),
        functions,
        ..Trained::default()
    }
}

fn used() -> UseReport {
    let part = Part {
        total: 10,
        used: 5,
        functions: 2,
        functions_used: 1,
    };
    UseReport {
        campaign: "0123456789abcdef".into(),
        basis: String::new(),
        is_sampled: false,
        absent: Vec::new(),
        all: part,
        languages: vec![("C and C++".into(), part)],
        packages: Vec::new(),
        other_packages: None,
        lost: Vec::new(),
        hottest: vec![
            HotRow {
                name: format!("{NASTY}0"),
                count: 7,
                lost: None,
            },
            HotRow {
                name: format!("{NASTY}1"),
                count: 3,
                lost: Some("gone".into()),
            },
        ],
        mismatched_counts: 0,
        elsewhere_ratio: 0.0,
        elsewhere: Vec::new(),
        unseen: vec![(NASTY.into(), 1)],
        other_units: Some((1, 0)),
    }
}

/// The page of these facts, checked.
#[track_caller]
fn page(comparison: Option<&Comparison>, training: Option<Training<'_>>) -> String {
    let findings = comparison.map(Findings::of);
    let coverage = Coverage {
        overlap: 0.5,
        ran: 0.7,
        missing: vec![Missing {
            name: NASTY.into(),
            share: 0.3,
            trained: None,
        }],
    };
    let evaluation = training.is_some().then(|| Evaluation {
        file: NASTY.into(),
        kind: "a profile".into(),
        is_counted: true,
        coverage: &coverage,
    });
    let text = render(&Page {
        project: NASTY,
        compared: comparison
            .zip(findings.as_ref())
            .map(|(comparison, findings)| Compared {
                name: "last",
                comparison,
                findings,
            }),
        training,
        evaluation,
        warnings: vec![NASTY.into()],
        top: 100,
    });
    check(&text);
    text
}

/// A strict reader of what we write: every tag balanced, nothing fetched, nothing that runs, ids
/// that are distinct and there.
#[track_caller]
fn check(text: &str) {
    let mut rest = text
        .strip_prefix("<!DOCTYPE html>\n")
        .expect("a document type");
    let mut open: Vec<&str> = Vec::new();
    let mut ids = Vec::new();
    let mut wanted = Vec::new();
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains('>'), "a `>` in a text");
        let end = rest[at..].find('>').expect("a tag ends") + at;
        let tag = &rest[at + 1..end];
        assert!(!tag.contains('<'), "{tag}");
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed in order");
            continue;
        }
        let name = tag.split(' ').next().unwrap_or_default();
        assert_ne!(name, "script");
        for (attr, value) in attributes(&tag[name.len()..]) {
            assert!(!attr.starts_with("on") && attr != "src", "{tag}");
            match attr {
                "href" => assert!(value.starts_with('#') || value == "data:,", "{tag}"),
                "id" => ids.push(value),
                "aria-labelledby" => wanted.extend(value.split(' ')),
                "d" | "cx" | "cy" | "x" | "y" | "x1" | "x2" | "y1" | "y2" => {
                    assert!(!value.contains("NaN") && !value.contains("inf"), "{tag}");
                }
                _ => {}
            }
        }
        if !["meta", "link", "br"].contains(&name) {
            open.push(name);
        }
    }
    assert_eq!(open, [""; 0]);
    assert_eq!(rest, "\n");
    let css = text
        .split("<style>")
        .nth(1)
        .unwrap()
        .split("</style>")
        .next()
        .unwrap();
    assert!(!css.contains("url(") && !css.contains("@import"));
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "ids are distinct");
    assert!(
        wanted.iter().all(|id| ids.contains(id)),
        "{wanted:?} of {ids:?}"
    );
}

/// `name="value"`, again and again.
#[track_caller]
fn attributes(mut text: &str) -> Vec<(&str, &str)> {
    let mut all = Vec::new();
    while let Some(rest) = text.strip_prefix(' ') {
        let (name, rest) = rest.split_once("=\"").expect("a quoted value");
        let (value, rest) = rest.split_once('"').expect("an end of it");
        all.push((name, value));
        text = rest;
    }
    assert_eq!(text, "", "nothing but attributes");
    all
}

#[test]
fn names_with_markup_in_them_are_text_everywhere() {
    let comparison = comparison(vec![scenario(
        NASTY,
        runs([&[1.0, 1.1, 1.2], &[1.0, 1.0, 1.0], &[0.5, 0.6, 0.7]]),
    )]);
    let (manifest, trained, used) = (manifest(), trained(3), used());
    let training = Training {
        manifest: &manifest,
        trained: &trained,
        used: Some(&used),
        build_seconds: Some(3.0),
    };
    let text = page(Some(&comparison), Some(training));
    assert!(text.contains("&lt;T as &quot;Fn&quot;(&#39;&amp;&#39;)&gt;::x"));
    assert!(text.contains("exercised nearly nothing"));
    assert!(text.contains("1 object of C or C++ had no counters"));
    assert!(text.contains("lost: gone") && text.contains(">used<"));
    assert!(text.contains("1 function more with that share and no counters"));
}

#[test]
fn charts_of_equal_values_one_value_zeros_and_none() {
    let sets = [
        [&[2.0, 2.0][..], &[2.0, 2.0], &[2.0, 2.0]],
        [&[1.0], &[2.0], &[3.0]],
        [&[0.0, 0.0], &[0.0, 0.0], &[0.0, 0.0]],
        [&[1.0, 1.0], &[], &[1.0, 0.0]],
        [&[], &[], &[]],
        [&[1e-300, 1e-300], &[1e300, 1e300], &[1.0, 1.0]],
        [
            &[f64::MAX, f64::MAX],
            &[f64::MIN_POSITIVE, 1.0],
            &[-1.0, 5.0],
        ],
    ];
    for set in sets {
        page(Some(&comparison(vec![scenario("s", runs(set))])), None);
    }
    page(Some(&comparison(Vec::new())), None);
}

#[test]
fn a_training_alone_and_a_comparison_alone_say_what_is_missing() {
    let (manifest, trained) = (manifest(), trained(3));
    let training = Training {
        manifest: &manifest,
        trained: &trained,
        used: None,
        build_seconds: None,
    };
    let text = page(None, Some(training));
    assert!(text.contains("Nothing was measured yet"));
    assert!(text.contains("no build has used this profile yet"));
    assert!(!text.contains("id=\"charts\""));

    let text = page(Some(&comparison(Vec::new())), None);
    assert!(text.contains("There is no training here"));
    assert!(!text.contains("id=\"functions\""));
}

#[test]
fn a_big_page_stays_small() {
    let values: Vec<f64> = (0..100)
        .map(|round| 1.0 + f64::from(round % 7) / 100.0)
        .collect();
    let scenarios = (0..5)
        .map(|number| scenario(&format!("s{number}"), runs([&values, &values, &values])))
        .collect();
    let (manifest, trained) = (manifest(), trained(30_000));
    let training = Training {
        manifest: &manifest,
        trained: &trained,
        used: None,
        build_seconds: None,
    };
    let text = page(Some(&comparison(scenarios)), Some(training));
    assert!(text.len() < 500_000, "{} bytes", text.len());
    assert!(text.contains("100 of 30,000 functions"));
}
