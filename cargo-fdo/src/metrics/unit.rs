//! Units of times, sizes and counts, and how many of one are another.
//!
//! `k`, `M`, `G` … are powers of 1000 and `Ki`, `Mi` … of 1024, whatever a program means by `KB`:
//! one that always means the same is off by the same factor in all rounds.

use super::number;

/// What is measured; only units of the same kind can become each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    Bytes,
    Bits,
    Elements,
    Count,
}

/// A unit without what it is per.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Unit {
    kind: Kind,
    /// In picoseconds or single pieces: whole numbers, so that what is exact stays exact.
    size: f64,
}

impl Unit {
    fn of(text: &str) -> Option<Unit> {
        if let Some(size) = time(text) {
            return Some(Unit {
                kind: Kind::Time,
                size,
            });
        }
        let (size, rest) = prefix(text);
        let kind = match rest {
            "B" => Kind::Bytes,
            "b" => Kind::Bits,
            "elem" => Kind::Elements,
            "byte" | "bytes" if size == 1.0 => Kind::Bytes,
            "" if size != 1.0 => Kind::Count,
            _ => return None,
        };
        Some(Unit { kind, size })
    }

    /// The unit that all of this kind are given in.
    fn base(self) -> (&'static str, f64) {
        match self.kind {
            Kind::Time => ("s", SECOND),
            Kind::Bytes => ("B", 1.0),
            Kind::Bits => ("b", 1.0),
            Kind::Elements => ("elem", 1.0),
            Kind::Count => ("", 1.0),
        }
    }
}

/// In picoseconds.
const SECOND: f64 = 1e12;

/// A unit of time in picoseconds.
fn time(text: &str) -> Option<f64> {
    Some(match text {
        "ps" => 1.0,
        "ns" | "nsec" | "nsecs" | "nanos" | "nanoseconds" => 1e3,
        // U+00B5 and U+03BC look the same.
        "us" | "\u{b5}s" | "\u{3bc}s" | "usec" | "usecs" | "micros" | "microseconds" => 1e6,
        "ms" | "msec" | "msecs" | "millis" | "milliseconds" => 1e9,
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "min" | "mins" | "minute" | "minutes" => 60.0 * SECOND,
        "h" | "hour" | "hours" => 3600.0 * SECOND,
        _ => return None,
    })
}

/// The factor that a unit's prefix stands for, and the rest of the unit.
fn prefix(text: &str) -> (f64, &str) {
    let Some(first) = text.chars().next() else {
        return (1.0, text);
    };
    let power = match first {
        'k' | 'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        'P' => 5,
        'E' => 6,
        _ => return (1.0, text),
    };
    let rest = &text[1..];
    match rest.strip_prefix('i') {
        Some(rest) => (1024_f64.powi(power), rest),
        None => (1000_f64.powi(power), rest),
    }
}

/// What it is, and what it is per: `MB` and `/s`.
fn divided(unit: &str) -> (&str, &str) {
    unit.split_at(unit.find('/').unwrap_or(unit.len()))
}

/// A value in seconds, bytes or single pieces, if its unit is one of them or a multiple; as it is
/// otherwise. What it is per stays.
pub(super) fn normalised(value: f64, unit: &str) -> (f64, Option<String>) {
    let (what, per) = divided(unit);
    let (value, unit) = match Unit::of(what) {
        Some(known) => {
            let (base, size) = known.base();
            (value * known.size / size, format!("{base}{per}"))
        }
        None => (value, unit.to_owned()),
    };
    (value, Some(unit).filter(|unit| !unit.is_empty()))
}

/// A value given in one unit, in another; `None` if that can't be.
pub(super) fn converted(value: f64, from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(value);
    }
    let ((from, from_per), (to, to_per)) = (divided(from), divided(to));
    let (from, to) = (Unit::of(from)?, Unit::of(to)?);
    (from.kind == to.kind && from_per == to_per).then(|| value * from.size / to.size)
}

/// A duration in another unit of time: `1.5ms`, or as Go prints it, `1h2m3.5s`.
pub(super) fn duration(text: &str, to: &str) -> Option<f64> {
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let (value, after) = number::split(rest)?;
        let end = after
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        // A minute, here; elsewhere it may be anything.
        sum += value * time(if unit == "m" { "min" } else { unit })?;
        rest = after;
    }
    (!text.is_empty()).then_some(sum / time(to)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_seconds_and_sizes_bytes() {
        let normal = |value, unit| {
            let (value, unit) = normalised(value, unit);
            (value, unit.unwrap_or_default())
        };
        let wanted = |value: f64, unit: &str| (value, unit.to_owned());
        assert_eq!(normal(1.24, "ms"), wanted(0.00124, "s"));
        assert_eq!(normal(7.0, "µs"), wanted(7e-6, "s"));
        assert_eq!(normal(7.0, "ns/iter"), wanted(7e-9, "s/iter"));
        assert_eq!(normal(2.0, "min"), wanted(120.0, "s"));
        assert_eq!(normal(1.5, "KiB"), wanted(1536.0, "B"));
        assert_eq!(normal(1.5, "MB/s"), wanted(1.5e6, "B/s"));
        assert_eq!(normal(3.0, "Gelem/s"), wanted(3e9, "elem/s"));
        assert_eq!(normal(4.5, "k"), wanted(4500.0, ""));
        assert_eq!(normal(4.5, "k/s"), wanted(4500.0, "/s"));
        for unit in ["", "%", "ops/sec", "cycles", "m", "Kelvin", "i", "µ", "日"] {
            assert_eq!(normal(3.0, unit), wanted(3.0, unit));
        }
    }

    #[test]
    fn only_alike_becomes_alike() {
        assert_eq!(converted(1.5, "ms", "us"), Some(1500.0));
        assert_eq!(converted(1.5, "MB/s", "kB/s"), Some(1500.0));
        assert_eq!(converted(3.0, "widgets", "widgets"), Some(3.0));
        assert_eq!(converted(1.5, "ms", "B"), None);
        assert_eq!(converted(1.5, "MB/s", "MB"), None);
        assert_eq!(converted(1.5, "MB", "Mb"), None);
    }

    #[test]
    fn durations_of_go() {
        assert_eq!(duration("144.56ms", "ms"), Some(144.56));
        assert_eq!(duration("12.25µs", "ms"), Some(0.01225));
        assert_eq!(duration("0s", "ms"), Some(0.0));
        assert_eq!(duration("1m30s", "s"), Some(90.0));
        assert_eq!(duration("1h2m3.5s", "ms"), Some(3_723_500.0));
        for text in ["", "1", "s", "1x", "1m30", "1s-", "ms1"] {
            assert_eq!(duration(text, "ms"), None, "{text}");
        }
    }
}
