//! The lines without which a published figure is worth nothing.

use super::scale::Scale;
use crate::comparison::facts::{Comparison, Metric, Origin};
use crate::ui::plural;
use std::time::Duration;

/// Where, of what and with what was measured.
pub fn lines(comparison: &Comparison) -> Vec<String> {
    let (machine, project) = (&comparison.machine, &comparison.project);
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "n/a".into());
    let number = |number: Option<u32>| number.map_or_else(|| "n/a".into(), |n| n.to_string());
    let mut lines = vec![
        format!(
            "CPU {}, sockets {}, cores {}, threads {}, caches {}",
            known(&machine.cpu),
            number(machine.sockets),
            number(machine.cores),
            machine.threads,
            match machine.caches.is_empty() {
                true => "n/a".to_owned(),
                false => machine.caches.join(" "),
            }
        ),
        format!(
            "memory {}, disk {}, kernel {}, governor {}, virtual machine {}, load {}",
            machine.memory.map_or_else(
                || "n/a".into(),
                |bytes| Scale::of(bytes as f64, Some("B")).with_unit(bytes as f64)
            ),
            known(&machine.disk),
            machine.kernel,
            known(&machine.governor),
            known(&machine.virtual_machine),
            machine
                .load
                .map_or_else(|| "n/a".into(), |load| load.to_string())
        ),
        format!(
            "{} at revision {}, {}{}, target {}, profile `{}`",
            project.name,
            known(&project.revision),
            project.rustc,
            project
                .c_compiler
                .as_ref()
                .map_or_else(String::new, |c| format!(", optimised C by {c}")),
            project.target,
            project.profile
        ),
    ];
    if let Some(training) = &comparison.training {
        lines.push(format!(
            "profile {}, {}, trained with {} in {}",
            training.id,
            training.method,
            training.workloads.join(", "),
            crate::ui::seconds(Duration::try_from_secs_f64(training.seconds).unwrap_or_default())
        ));
    }
    for scenario in &comparison.scenarios {
        let prepare = scenario
            .prepare
            .as_ref()
            .map_or_else(String::new, |prepare| format!(", after `{prepare}`"));
        lines.push(format!(
            "`{}`: `{}`{prepare}; {} after {}",
            scenario.name,
            scenario.run,
            plural(scenario.rounds as usize, "round"),
            plural(scenario.warmup as usize, "warm-up round")
        ));
    }
    for variant in &comparison.variants {
        lines.push(format!("{}: {}", variant.name, variant.what));
    }
    let is_counted = |metric: &Metric| metric.origin == Origin::Processor;
    if !comparison
        .scenarios
        .iter()
        .any(|s| s.metrics.iter().any(is_counted))
    {
        lines.push("counters of the processor (cycles, branch-misses, …): n/a here".into());
    }
    lines.push(format!(
        "cargo-fdo {}, `{}`",
        comparison.cargo_fdo,
        comparison.command.join(" ")
    ));
    lines
}
