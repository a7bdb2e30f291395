//! Conclusions from made-up runs.

use super::*;
use crate::comparison::facts::*;

/// A measure whose variants have these values, one a round; a value of 0 is a failed run.
fn metric(name: &str, unit: Option<&str>, better: Better, samples: &[&[f64]]) -> Metric {
    let run = |value: &f64| if *value > 0.0 { vec![*value] } else { vec![] };
    Metric {
        name: name.into(),
        unit: unit.map(str::to_owned),
        better,
        origin: Origin::Kernel,
        is_main: true,
        samples: samples
            .iter()
            .map(|rounds| rounds.iter().map(run).collect())
            .collect(),
    }
}

fn scenario(name: &str, metrics: Vec<Metric>) -> Scenario {
    Scenario {
        name: name.into(),
        is_trained: false,

        sweep: None,
        prepare: None,
        run: "{bin:app} 7".into(),
        rounds: 6,
        rounds_wanted: None,
        warmup: 1,
        metrics,
        failures: Vec::new(),
        weather: Weather::default(),
    }
}

fn variant(name: &str, role: Role) -> Variant {
    Variant {
        name: name.into(),
        role,
        what: format!("the {name} build"),
        programs: vec![Program {
            name: "app".into(),
            path: format!("target/{name}/app"),
            bytes: 2_594_000,
            text_bytes: Some(1_928_000),
        }],
        build_seconds: (name == "release").then_some(39.2),
        saved: None,
    }
}

const BASE: [f64; 6] = [0.410, 0.412, 0.409, 0.415, 0.411, 0.413];
const AGAIN: [f64; 6] = [0.412, 0.409, 0.411, 0.413, 0.413, 0.410];
const FAST: [f64; 6] = [0.371, 0.373, 0.370, 0.374, 0.372, 0.371];

/// Two scenarios by three variants; in the second the optimised one is slower in operations a second.
pub(crate) fn comparison() -> Comparison {
    let wall = |name: &str| {
        let time = metric(name, Some("s"), Better::Lower, &[&BASE, &AGAIN, &FAST]);
        let mut memory = metric(
            "peak memory",
            Some("B"),
            Better::Lower,
            &[&[2e7; 6], &[2e7; 6], &[1.9e7; 6]],
        );
        memory.is_main = false;
        vec![time, memory]
    };
    let ops: [&[f64]; 3] = [
        &[1010.0, 1000.0, 1005.0, 998.0, 1003.0, 1001.0],
        &[1003.0, 1002.0, 1001.0, 1004.0, 1000.0, 999.0],
        &[960.0, 955.0, 958.0, 950.0, 0.0, 957.0],
    ];
    let mut second = wall("wall time");
    second.insert(
        0,
        Metric {
            origin: Origin::Workload,
            ..metric("get ops/sec", Some("ops/s"), Better::Higher, &ops)
        },
    );
    let mut scenarios = vec![scenario("read", wall("wall time")), scenario("get", second)];
    scenarios[1].failures.push(Failure {
        variant: "optimized".into(),
        round: 5,
        words: "exit status 3".into(),
    });
    scenarios[1].is_trained = true;
    scenarios[0].weather.others = vec![0.2; 18];
    Comparison {
        version: VERSION,
        cargo_fdo: "0.0.0".into(),
        made: 1_700_000_000,
        command: ["cargo", "fdo", "compare"].map(str::to_owned).to_vec(),
        machine: Machine {
            cpu: Some("A processor".into()),
            threads: 2,
            kernel: "Linux 6.1".into(),
            ..Machine::default()
        },
        project: Project {
            name: "app".into(),
            rustc: "rustc 1.95.0".into(),
            target: "x86_64-unknown-linux-gnu".into(),
            profile: "release".into(),
            ..Project::default()
        },
        training: None,
        variants: vec![
            variant("release", Role::Baseline),
            variant("release (again)", Role::Again),
            variant("optimized", Role::Candidate),
        ],
        scenarios,
    }
}

fn change_of(findings: &Findings, at: (usize, usize, usize)) -> Change {
    let is_it = |row: &&Row| (row.scenario, row.metric, row.variant) == at;
    findings.rows.iter().find(is_it).unwrap().change.unwrap()
}

#[test]
fn directions_and_noise() {
    let findings = Findings::of(&comparison());
    let faster = change_of(&findings, (0, 0, 2));
    assert_eq!(faster.verdict, Verdict::Better);
    assert!((faster.gain - 0.0969).abs() < 1e-3, "{faster:?}");
    let same = change_of(&findings, (0, 0, 1));
    assert_eq!(same.verdict, Verdict::NoSignificantChange);
    // Fewer operations a second are worse, and the failed round is in neither side.
    let slower = change_of(&findings, (1, 0, 2));
    assert_eq!((slower.verdict, slower.ratio.pairs), (Verdict::Worse, 5));
    assert!(slower.gain < -0.04, "{slower:?}");
}

#[test]
fn the_worst_regression_is_of_a_main_measure() {
    let comparison = comparison();
    let findings = Findings::of(&comparison);
    let worst = &findings.rows[findings.worst.unwrap()];
    assert_eq!(metric_of(&comparison, worst).name, "get ops/sec");
    assert_eq!(findings.regressions(&comparison, 0.04).count(), 1);
    assert_eq!(findings.regressions(&comparison, 0.10).count(), 0);
}

#[test]
fn what_the_control_loses_is_not_the_profiles() {
    let mut comparison = comparison();
    comparison.variants[2].role = Role::Control;
    let findings = Findings::of(&comparison);
    assert_eq!(findings.worst, None);
    assert_eq!(findings.regressions(&comparison, 0.0).count(), 0);
}

#[test]
fn the_mean_over_scenarios_is_of_what_both_have() {
    let findings = Findings::of(&comparison());
    let names: Vec<(&str, usize)> = findings
        .overall
        .iter()
        .map(|overall| (overall.metric.as_str(), overall.variant))
        .collect();
    assert_eq!(names, [("wall time", 1), ("wall time", 2)]);
    let overall = &findings.overall[1];
    assert_eq!(overall.scenarios, 2);
    // Both have the same times.
    let one = change_of(&findings, (0, 0, 2));
    assert!((overall.change.ratio.estimate - one.ratio.estimate).abs() < 1e-12);
}

#[test]
fn readers_are_warned() {
    let findings = Findings::of(&comparison());
    let has = |words: &str| {
        findings
            .warnings
            .iter()
            .any(|warning| warning.contains(words))
    };
    assert!(has("trained with `get`"), "{:?}", findings.warnings);
    assert!(has("`get`: 1 run failed"));
    assert!(has("exit status 3"));
    assert!(has(
        "`read`: the machine was not quiet: other programs used 20.00 %"
    ));
    assert!(!has("differs from itself"));

    let mut noisy = comparison();
    noisy.scenarios[0].metrics[0].samples.swap(1, 2);
    let findings = Findings::of(&noisy);
    let has = |words: &str| {
        findings
            .warnings
            .iter()
            .any(|warning| warning.contains(words))
    };
    assert!(has(
        "`read`, wall time: the baseline differs from itself by 9"
    ));
}

#[test]
fn a_saved_result_is_not_paired_and_that_is_said() {
    let mut comparison = comparison();
    comparison.variants[0].saved = Some("before".into());
    // Other rounds than today's.
    for metric in comparison.scenarios.iter_mut().flat_map(|s| &mut s.metrics) {
        metric.samples[0].truncate(3);
    }
    let findings = Findings::of(&comparison);
    let change = change_of(&findings, (0, 0, 2));
    assert!(!change.is_paired);
    assert_eq!(change.verdict, Verdict::Better);
    assert!(findings.overall.is_empty());
    assert!(findings.warnings.iter().any(|w| w.contains("`before`")));
}

#[test]
fn one_run_proves_nothing() {
    let mut comparison = comparison();
    for metric in comparison.scenarios.iter_mut().flat_map(|s| &mut s.metrics) {
        metric
            .samples
            .iter_mut()
            .for_each(|rounds| rounds.truncate(1));
    }
    let findings = Findings::of(&comparison);
    assert_eq!(change_of(&findings, (0, 0, 2)).verdict, Verdict::Unknown);
    assert_eq!(findings.worst, None);
    let few = "1 run of each variant can't tell much: `--runs 10` or more";
    assert!(findings.warnings.iter().any(|w| w == few));
}

#[test]
fn nothing_measured_is_nothing_found() {
    let mut comparison = comparison();
    comparison.scenarios.clear();
    let findings = Findings::of(&comparison);
    assert!(findings.rows.is_empty() && findings.overall.is_empty());
}
