//! Against numpy and scipy, and against what has to hold of any values.

use super::outliers::Fences;
use super::split_mix::SplitMix64;
use super::*;
use serde::Deserialize;

/// What `fixtures/make.py` wrote.
#[derive(Deserialize)]
struct Fixtures {
    sets: Vec<Set>,
    pairs: Vec<Pairs>,
}

#[derive(Deserialize)]
struct Set {
    name: String,
    values: Vec<f64>,
    mean: f64,
    stddevp: f64,
    median: f64,
    p95: f64,
    p99: f64,
    min: f64,
    max: f64,
    /// `None` for an infinite fence.
    inner: (Option<f64>, Option<f64>),
    outer: (Option<f64>, Option<f64>),
}

#[derive(Deserialize)]
struct Pairs {
    name: String,
    baseline: Vec<f64>,
    other: Vec<f64>,
    estimate: f64,
    p_value: Option<f64>,
    /// Ends of the logarithm's intervals, of more than one pair and where ratios differ.
    bootstrap: Option<(f64, f64)>,
    student: Option<(f64, f64)>,
}

fn fixtures() -> Fixtures {
    serde_json::from_str(include_str!("fixtures/sets.json")).unwrap()
}

/// Equal to nine digits of `scale`.
fn assert_near(found: f64, wanted: f64, scale: f64, what: &str) {
    let error = (found - wanted).abs();
    assert!(error <= 1e-9 * scale, "{what}: {found}, wanted {wanted}");
}

#[test]
fn summaries_are_those_of_numpy() {
    let sets = fixtures().sets;
    assert!(sets.len() >= 24);
    for set in sets {
        let summary = Summary::of(&set.values).unwrap();
        let near = |found: f64, wanted: f64, what: &str| {
            let what = format!("{what} of {}", set.name);
            assert_near(found, wanted, wanted.abs(), &what);
        };
        assert_eq!(summary.count, set.values.len());
        assert_eq!((summary.min, summary.max), (set.min, set.max));
        near(summary.median, set.median, "median");
        near(summary.p95, set.p95, "p95");
        near(summary.p99, set.p99, "p99");
        // Sums around zero lose digits, in numpy as here.
        let size = set.min.abs().max(set.max.abs());
        assert_near(summary.mean, set.mean, size * 1e-3, &set.name);
        assert_near(
            summary.stddevp,
            set.stddevp,
            set.stddevp.max(size * 1e-6),
            &set.name,
        );
    }
}

#[test]
fn fences_are_those_of_numpy() {
    for set in fixtures().sets {
        let fences = Fences::of(&set.values).unwrap();
        let size = set.min.abs().max(set.max.abs());
        for ((low, high), wanted) in [(fences.inner, set.inner), (fences.outer, set.outer)] {
            for (found, wanted) in [(low, wanted.0), (high, wanted.1)] {
                match wanted {
                    Some(wanted) => assert_near(found, wanted, size, &set.name),
                    None => assert!(found.is_infinite(), "{}", set.name),
                }
            }
        }
    }
}

#[test]
fn ratios_are_those_of_scipy() {
    for set in fixtures().pairs {
        let ratio = paired_ratio(&set.baseline, &set.other).unwrap();
        assert_near(ratio.estimate, set.estimate, set.estimate, &set.name);
        assert_eq!(
            ratio.p_value.is_some(),
            set.p_value.is_some(),
            "{}",
            set.name
        );
        if let (Some(found), Some(wanted)) = (ratio.p_value, set.p_value) {
            // Differences of a millionth are known to ten digits, and their logarithms to four
            // digits less.
            assert_near(found, wanted, wanted * 1e3, &set.name);
        }
    }
}

#[test]
fn intervals_are_those_of_scipy_and_of_a_bootstrap_in_python() {
    for set in fixtures().pairs {
        let logarithms = ratio::logarithms(&set.baseline, &set.other).unwrap();
        let near = |found: Option<(f64, f64)>, wanted: (f64, f64), what: &str| {
            let (low, high) = found.unwrap();
            let what = format!("{what} of {}", set.name);
            let width = wanted.1 - wanted.0;
            assert_near(low, wanted.0, width, &what);
            assert_near(high, wanted.1, width, &what);
        };
        if let (Some(bootstrap), Some(student)) = (set.bootstrap, set.student) {
            near(bootstrap::interval(&logarithms), bootstrap, "bootstrap");
            near(student::interval(&logarithms), student, "student");
            let ratio = paired_ratio(&set.baseline, &set.other).unwrap();
            let both = (bootstrap.0.min(student.0), bootstrap.1.max(student.1));
            let logarithms = ratio.interval.map(|(low, high)| (low.ln(), high.ln()));
            let clamped = (both.0.max(-708.0), both.1.min(708.0));
            near(logarithms, clamped, "interval");
        }
    }
}

/// Noise of several shapes.
struct Noise(SplitMix64);

impl Noise {
    /// From 0 to 1, neither of them.
    fn uniform(&mut self) -> f64 {
        ((self.0.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Of mean 0 and deviation 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    fn values(&mut self, count: usize, mut one: impl FnMut(&mut Noise) -> f64) -> Vec<f64> {
        (0..count).map(|_| one(self)).collect()
    }
}

#[test]
fn what_holds_of_any_pairs() {
    let mut noise = Noise(SplitMix64::new(1));
    for round in 0..60 {
        let count = 1 + round % 12;
        let baseline = noise.values(count, |n| 10.0 * (0.2 * n.normal()).exp());
        let other = noise.values(count, |n| 9.0 * (0.2 * n.normal()).exp());
        let ratio = paired_ratio(&baseline, &other).unwrap();
        let near = |found: Ratio, wanted: Ratio, what: &str| {
            assert_near(found.estimate, wanted.estimate, 1.0, what);
            assert_eq!(found.interval.is_some(), wanted.interval.is_some());
            if let (Some(found), Some(wanted)) = (found.interval, wanted.interval) {
                assert_near(found.0, wanted.0, wanted.0, what);
                assert_near(found.1, wanted.1, wanted.1, what);
            }
        };

        if let Some((low, high)) = ratio.interval {
            assert!(low <= ratio.estimate && ratio.estimate <= high);
            let sure = ratio.p_value.unwrap() < 0.05;
            assert!(sure || !ratio.is_significant());
        }
        // Another unit.
        let scale = |values: &[f64]| -> Vec<f64> { values.iter().map(|v| v * 1e-9).collect() };
        let scaled = paired_ratio(&scale(&baseline), &scale(&other)).unwrap();
        near(scaled, ratio, "another unit");
        // The other way round.
        let turned = paired_ratio(&other, &baseline).unwrap();
        near(turned, ratio.inverse(), "the other way round");
        assert_eq!(turned.is_significant(), ratio.is_significant());
        near(ratio.inverse().inverse(), ratio, "there and back");
        // The estimate is the geometric mean of the ratios.
        let ratios: Vec<f64> = baseline.iter().zip(&other).map(|(b, o)| o / b).collect();
        assert_near(
            ratio.estimate,
            geometric_mean(&ratios).unwrap(),
            1.0,
            "mean",
        );
        // Several times the same scenario is that scenario.
        let overall = overall_ratio(&[(&baseline[..], &other[..]); 3]).unwrap();
        near(overall, ratio, "three times the same");
    }
}

#[test]
fn what_holds_of_any_values() {
    let mut noise = Noise(SplitMix64::new(2));
    for round in 0..200 {
        let values = noise.values(1 + round % 40, Noise::normal);
        let summary = Summary::of(&values).unwrap();
        let rising = [
            summary.min,
            summary.median,
            summary.p95,
            summary.p99,
            summary.max,
        ];
        assert!(rising.is_sorted(), "{summary:?}");
        assert!((summary.min..=summary.max).contains(&summary.mean));
        let mut turned = values.clone();
        turned.reverse();
        assert_eq!(Summary::of(&turned).unwrap(), summary);
        for outlier in outliers(&values) {
            assert_ne!(values[outlier.at], summary.median);
        }
    }
}

/// The table in `ratio.rs`: without a true difference, how many intervals hold 1.
#[test]
fn intervals_hold_what_they_promise() {
    type Shape = fn(&mut Noise) -> f64;
    let shapes: [(&str, Shape); 3] = [
        ("normal", |n| 1.0 + 0.01 * n.normal()),
        ("log-normal", |n| 1.0 + 0.01 * n.normal().exp()),
        ("exponential", |n| 1.0 - 0.02 * n.uniform().ln()),
    ];
    let experiments = 2000;
    for count in [5, 10] {
        for (name, shape) in shapes {
            let mut noise = Noise(SplitMix64::new(3));
            let held = (0..experiments)
                .filter(|_| {
                    let baseline = noise.values(count, shape);
                    let other = noise.values(count, shape);
                    // What Student's interval holds, both hold, so the slow part can be left out.
                    let logarithms = ratio::logarithms(&baseline, &other).unwrap();
                    let (low, high) = student::interval(&logarithms).unwrap();
                    (low <= 0.0 && high >= 0.0)
                        || !paired_ratio(&baseline, &other).unwrap().is_significant()
                })
                .count();
            let share = held as f64 / f64::from(experiments);
            let promised = (0.92..0.985).contains(&share);
            assert!(promised, "{count} pairs, {name}: {share}");
        }
    }
}
