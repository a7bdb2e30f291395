//! Values of many runs, sorted by measure, variant and round.

use super::counters::RATES;
use super::run::Measured;
use crate::comparison::facts::{Metric, Origin};
use crate::metrics::{Better, Reading};

/// Grows with every run.
#[derive(Debug)]
pub(super) struct Table {
    variants: usize,
    rounds: usize,
    metrics: Vec<Metric>,
}

impl Table {
    pub(super) fn new(variants: usize, rounds: usize) -> Table {
        Table {
            variants,
            rounds,
            metrics: Vec::new(),
        }
    }

    /// A figure that has another unit than in an earlier run, in words: the two can't be compared.
    pub(super) fn other_unit(&self, readings: &[Reading]) -> Option<String> {
        let words = |unit: &Option<String>| match unit {
            Some(unit) => format!("in {unit}"),
            None => "without a unit".to_owned(),
        };
        readings.iter().find_map(|reading| {
            let is_it =
                |metric: &&Metric| metric.origin == Origin::Workload && metric.name == reading.name;
            let known = self.metrics.iter().find(is_it)?;
            (known.unit != reading.unit).then(|| {
                format!(
                    "metric `{}` is {} in this run, and was {} before",
                    reading.name,
                    words(&reading.unit),
                    words(&known.unit)
                )
            })
        })
    }

    /// Everything that one run gave.
    pub(super) fn add(&mut self, variant: usize, round: usize, measured: &Measured) {
        if let Ok(readings) = &measured.readings {
            for reading in readings {
                let (unit, better) = (reading.unit.as_deref(), reading.better);
                let kind = Kind(&reading.name, unit, better, Origin::Workload);
                self.put(kind, variant, round, reading.values.clone());
            }
        }
        let usage = &measured.ended.usage;
        let (user, system) = (usage.user.as_secs_f64(), usage.system.as_secs_f64());
        let kernel = [
            (WALL, Some("s"), measured.ended.wall.as_secs_f64()),
            ("CPU time", Some("s"), user + system),
            ("user time", Some("s"), user),
            ("system time", Some("s"), system),
            (
                "voluntary context switches",
                None,
                usage.voluntary_switches as f64,
            ),
            (
                "involuntary context switches",
                None,
                usage.involuntary_switches as f64,
            ),
            ("minor page faults", None, usage.minor_faults as f64),
            ("major page faults", None, usage.major_faults as f64),
        ];
        for (name, unit, value) in kernel {
            let kind = Kind(name, unit, Better::Lower, Origin::Kernel);
            self.put(kind, variant, round, vec![value]);
        }
        for (service, time) in &measured.services {
            let name = format!("CPU time of {service}");
            let kind = Kind(&name, Some("s"), Better::Lower, Origin::Kernel);
            self.put(kind, variant, round, vec![time.as_secs_f64()]);
        }
        // A row without values says that it is not known.
        let memory = measured.peak_memory.map(|bytes| bytes as f64);
        let kind = Kind("peak memory", Some("B"), Better::Lower, Origin::Kernel);
        self.put(kind, variant, round, memory.into_iter().collect());
        for (name, count) in &measured.counts {
            let kind = Kind(name, None, Better::Lower, Origin::Processor);
            self.put(kind, variant, round, vec![*count]);
        }
        let count_of = |name: &str| {
            let (_, count) = measured.counts.iter().find(|(known, _)| *known == name)?;
            Some(*count)
        };
        for (name, over, under, unit, is_more_better) in RATES {
            let (Some(over), Some(under)) = (count_of(over), count_of(under)) else {
                continue;
            };
            if under > 0.0 {
                let scale = if unit.is_some() { 100.0 } else { 1.0 };
                let better = match is_more_better {
                    true => Better::Higher,
                    false => Better::Lower,
                };
                let kind = Kind(name, unit, better, Origin::Processor);
                self.put(kind, variant, round, vec![scale * over / under]);
            }
        }
    }

    /// Instructions by callgrind, of the workload or of one of its services.
    pub(super) fn add_instructions(
        &mut self,
        variant: usize,
        round: usize,
        service: Option<&str>,
        count: u64,
    ) {
        let of_service = service.map(|name| format!("instructions of {name} (callgrind)"));
        let name = of_service.as_deref().unwrap_or(INSTRUCTIONS);
        let kind = Kind(name, None, Better::Lower, Origin::Callgrind);
        self.put(kind, variant, round, vec![count as f64]);
    }

    fn put(&mut self, kind: Kind<'_>, variant: usize, round: usize, values: Vec<f64>) {
        let Kind(name, unit, better, origin) = kind;
        let is_it = |metric: &Metric| {
            metric.name == name && metric.origin == origin && metric.unit.as_deref() == unit
        };
        let at = match self.metrics.iter().position(is_it) {
            Some(at) => at,
            None => {
                self.metrics.push(Metric {
                    name: name.to_owned(),
                    unit: unit.map(str::to_owned),
                    better,
                    origin,
                    is_main: false,
                    samples: vec![vec![Vec::new(); self.rounds]; self.variants],
                });
                self.metrics.len() - 1
            }
        };
        if let Some(cell) = self.metrics[at]
            .samples
            .get_mut(variant)
            .and_then(|rounds| rounds.get_mut(round))
        {
            *cell = values;
        }
    }

    /// All measures: those that the comparison is about first.
    ///
    /// That is what the workload itself prints; the time of its run where it prints nothing; and
    /// instructions where somebody asked for them.
    pub(super) fn finish(mut self) -> Vec<Metric> {
        // Rounds that nobody ran, because it was interrupted.
        for metric in &mut self.metrics {
            let is_run = |rounds: &Vec<Vec<f64>>| rounds.iter().rposition(|run| !run.is_empty());
            let ran = metric.samples.iter().filter_map(is_run).max();
            let length = ran.map_or(0, |last| last + 1);
            for rounds in &mut metric.samples {
                rounds.truncate(length);
            }
        }
        let has_own = self
            .metrics
            .iter()
            .any(|metric| metric.origin == Origin::Workload);
        for metric in &mut self.metrics {
            metric.is_main = match metric.origin {
                Origin::Workload | Origin::Callgrind => true,
                Origin::Kernel => metric.name == WALL && !has_own,
                Origin::Processor => false,
            };
        }
        self.metrics.sort_by_key(|metric| {
            let rank = match metric.origin {
                Origin::Workload => 0,
                Origin::Kernel => 1,
                Origin::Callgrind => 2,
                Origin::Processor => 3,
            };
            (!metric.is_main, rank)
        });
        self.metrics
    }
}

/// From a program's start to its end.
const WALL: &str = "wall time";

/// Not the processor's own count, which has the same name.
const INSTRUCTIONS: &str = "instructions (callgrind)";

struct Kind<'a>(&'a str, Option<&'a str>, Better, Origin);
