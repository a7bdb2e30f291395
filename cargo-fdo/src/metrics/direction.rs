//! Which way a figure gets better that only has a name and a unit.
//!
//! More is better of rates, everything else is taken as a cost. In this order:
//!
//! 1. a unit of time, or of time per something, is a cost: `ns/iter`;
//! 2. a unit per second is a rate: `MB/s`, `req/sec`;
//! 3. a name that says per second, or calls itself a rate of work, is one: `ops/sec`,
//!    `bytes_per_second`, `throughput`, `qps`;
//! 4. the rest is a cost.
//!
//! So `errors/s` would be a rate, and `hit_ratio` a cost. Figures like these want a description
//! ([`Figure`](super::Figure)), which says which way is better.

use super::Better;
use super::unit;

/// Words of a name that stand for work done in a time.
const RATES: [&str; 12] = [
    "throughput",
    "bandwidth",
    "goodput",
    "ops",
    "qps",
    "rps",
    "tps",
    "iops",
    "bps",
    "mips",
    "flops",
    "mbps",
];

/// Guesses from name and unit.
pub(super) fn better(name: &str, unit: Option<&str>) -> Better {
    let unit = unit.unwrap_or_default().to_lowercase();
    let (what, per) = unit.split_once('/').unwrap_or((&unit, ""));
    if is_second(per) {
        return Better::Higher;
    }
    if unit::converted(1.0, what, "s").is_some() {
        return Better::Lower;
    }
    if RATES.contains(&what) {
        return Better::Higher;
    }
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let per_second = words
        .windows(2)
        .any(|pair| pair[0] == "per" && is_second(pair[1]));
    let divided = name.split('/').skip(1).any(|per| {
        let word = per.split(|c: char| !c.is_alphanumeric()).next();
        word.is_some_and(is_second)
    });
    if per_second || divided || words.iter().any(|word| RATES.contains(word)) {
        Better::Higher
    } else {
        Better::Lower
    }
}

/// Whether it is a second.
fn is_second(word: &str) -> bool {
    matches!(word, "s" | "sec" | "second")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_better_when_higher() {
        for (name, unit) in [
            ("ops/sec", None),
            ("Requests/sec", None),
            ("reads_per_second", None),
            ("bytes-per-sec", None),
            ("throughput", None),
            ("Throughput (MB)", Some("B")),
            ("get.qps", None),
            ("total ops", None),
            ("read", Some("MB/s")),
            ("read", Some("req/sec")),
            ("write", Some("IOPS")),
            ("speed (keys/s)", None),
        ] {
            assert_eq!(better(name, unit), Better::Higher, "{name} {unit:?}");
        }
    }

    #[test]
    fn all_else_is_a_cost() {
        for (name, unit) in [
            ("latency_p95", Some("s")),
            ("throughput test", Some("s")),
            ("ops", Some("ms")),
            ("time", Some("ns/iter")),
            ("cycles", None),
            ("stops", None),
            ("seconds per op", None),
            ("sec/op", None),
            ("memory", Some("B")),
            ("hit_ratio", Some("%")),
            ("", None),
        ] {
            assert_eq!(better(name, unit), Better::Lower, "{name} {unit:?}");
        }
    }
}
