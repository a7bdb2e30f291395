//! Everything that one `cargo fdo compare` measured, as it is saved: no conclusions.

use crate::metrics::Better;
use serde::{Deserialize, Serialize};

/// Of the form below. A file of another one is refused, not guessed at.
pub const VERSION: u32 = 1;

/// One `cargo fdo compare`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`VERSION`]
    pub version: u32,
    /// The version of cargo-fdo that measured.
    pub cargo_fdo: String,
    /// When it was done, seconds since 1970.
    pub made: u64,
    /// The command line.
    pub command: Vec<String>,
    /// Where it ran.
    pub machine: Machine,
    /// What was built, and with what.
    pub project: Project,
    /// The profile, if one variant uses it.
    pub training: Option<Training>,
    /// What was compared; the first is the baseline.
    pub variants: Vec<Variant>,
    /// What they ran.
    pub scenarios: Vec<Scenario>,
}

/// The machine, as published results describe it. `None` and empty: not to be found out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's own name.
    pub cpu: Option<String>,
    /// Sockets.
    pub sockets: Option<u32>,
    /// Cores.
    pub cores: Option<u32>,
    /// Threads that the system runs on.
    pub threads: u32,
    /// Caches of one core, such as `L2 1024K`.
    pub caches: Vec<String>,
    /// Bytes.
    pub memory: Option<u64>,
    /// Name and release of the kernel.
    pub kernel: String,
    /// How the clock rate is chosen.
    pub governor: Option<String>,
    /// Kind of disk and file system that holds the workloads' directories.
    pub disk: Option<String>,
    /// The hypervisor, `none` on hardware.
    pub virtual_machine: Option<String>,
    /// The load average of the last minute, when the comparison began.
    pub load: Option<f64>,
}

/// What was built, and with what.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Project {
    /// The directory's name.
    pub name: String,
    /// The revision of the sources, with `-dirty` where they are changed.
    pub revision: Option<String>,
    /// `rustc -vV`, first line.
    pub rustc: String,
    /// The C compiler of the optimised build.
    pub c_compiler: Option<String>,
    /// The target triple.
    pub target: String,
    /// The cargo profile.
    pub profile: String,
}

/// The campaign behind the optimised variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// The campaign.
    pub id: String,
    /// `instrument` or `sample`.
    pub method: String,
    /// The workloads that it was trained with.
    pub workloads: Vec<String>,
    /// How long these ran, seconds.
    pub seconds: f64,
    /// When, seconds since 1970.
    pub made: u64,
}

/// What a variant is in the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// All others are held against it.
    Baseline,
    /// The baseline once more: how far it differs from itself is the noise.
    Again,
    /// No profile, but all else that the optimised build has: what that changes is not the profile's.
    Control,
    /// What may be faster.
    Candidate,
}

/// One of the programs that are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Its name in tables.
    pub name: String,
    /// What it is here.
    pub role: Role,
    /// What it is, in words.
    pub what: String,
    /// Its programs.
    pub programs: Vec<Program>,
    /// How long its build took, seconds; `None` where nothing was to be built.
    pub build_seconds: Option<f64>,
    /// The saved result that its values are from: not measured in turn with the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
}

/// A program file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Where it was.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Of its machine code: all sections that can be executed.
    pub text_bytes: Option<u64>,
}

/// One workload, run by all variants in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// The workload.
    pub name: String,
    /// Whether the profile was trained with it.
    pub is_trained: bool,
    /// Which point of a sweep it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Point>,
    /// What prepared it.
    pub prepare: Option<String>,
    /// What ran.
    pub run: String,
    /// Rounds; in each, every variant ran once.
    pub rounds: u32,
    /// How many it should have been, where somebody ended it early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_wanted: Option<u32>,
    /// Rounds before, that do not count.
    pub warmup: u32,
    /// What was measured.
    pub metrics: Vec<Metric>,
    /// What went wrong.
    pub failures: Vec<Failure>,
    /// What else the machine did.
    pub weather: Weather,
}

/// One value of a parameter that a scenario was run with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// The scenario, without the parameter.
    pub scenario: String,
    /// The parameter.
    pub parameter: String,
    /// Its value.
    pub value: String,
}

/// Where a metric's values come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The kernel's account of the process: time, memory, switches.
    Kernel,
    /// The processor's counters.
    Processor,
    /// Instructions that valgrind executed.
    Callgrind,
    /// What the workload itself printed.
    Workload,
}

/// One measure of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Of its values.
    pub unit: Option<String>,
    /// Which direction is good.
    pub better: Better,
    /// Who measured.
    pub origin: Origin,
    /// Whether it is what the comparison is about, and not a circumstance.
    pub is_main: bool,
    /// By variant, in the order of [`Comparison::variants`], by round: the values of that run.
    /// None where the run failed; many where the workload prints a distribution.
    pub samples: Vec<Vec<Vec<f64>>>,
}

/// A run that did not do its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The variant.
    pub variant: String,
    /// The round, from 1; 0 while warming up or preparing.
    pub round: u32,
    /// What happened.
    pub words: String,
}

/// What the machine did beside the runs, one value for each run, in the order in which they ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Weather {
    /// Share of the machine's processor time that others used, 0 to 1.
    pub others: Vec<f64>,
    /// Share that a hypervisor gave to other machines.
    pub stolen: Vec<f64>,
    /// Share in which a processor waited for a disk.
    pub waiting: Vec<f64>,
    /// Most processes that wanted to run at a time, this one's included.
    pub runnable: Vec<u32>,
    /// Least memory that was available, bytes.
    pub available: Vec<u64>,
    /// Bytes that the disks read and wrote.
    pub disk_bytes: Vec<u64>,
}
