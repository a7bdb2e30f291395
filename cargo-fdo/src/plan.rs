//! From settings to what will be done: environments, orders, commands. Pure data, nothing
//! runs here; `--dry-run` prints it.

pub mod native;
mod own;

pub use own::Own;

use crate::config::{Config, PackagePolicy};
use crate::settings::Cargo;
use crate::shim;
use crate::store::campaign::{Method, Partition};
use crate::store::keys::{KeyedPackage, Orders};
use crate::store::{Layout, keys};
use crate::tool::{Invocation, signals};
use crate::toolbox::{RustSamples, Toolbox, Verdict};
use crate::workspace::Workspace;
use fdo_build::flags::{self, Counters, Pins, sample};
use fdo_build::protocol::{self, Family, Language, Order, Phase, Proof};
use native::{Project, Tree};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The slices that the optimize phase reads, on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slices {
    /// What they hold.
    pub method: Method,
    /// Limits of the whole profile.
    pub pins: Pins,
    /// How the crates were divided when they were trained.
    pub partition: Partition,
    /// For rustc: content hash and file.
    pub rust: Option<Slice>,
    /// For clang, IR-level counters or samples.
    pub c: Option<Slice>,
    /// For clang, front-end counters.
    pub c_frontend: Option<Slice>,
    /// For gcc, samples.
    pub gcc: Option<Slice>,
    /// Which gcc that is, by its major version.
    pub gcc_major: u32,
    /// For the objects of single programs and shared libraries.
    pub own: Vec<Own>,
}

/// One slice, as one compiler reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Of its content, the same for every reader.
    pub hash: String,
    /// The indexed profile.
    pub file: PathBuf,
}

/// Everything that a phase's builds share.
#[derive(Debug, Clone)]
pub struct PhasePlan {
    /// Which phase.
    pub phase: Phase,
    /// The triple that is built for.
    pub target: String,
    /// Orders, keys, evidence.
    pub state: PathBuf,
    /// Cargo's target directory.
    pub target_dir: PathBuf,
    /// Variables for cargo and all that it runs.
    pub env: Vec<(String, Option<OsString>)>,
    /// What the shims do.
    pub orders: Orders,
    /// Packages that have keys.
    pub packages: Vec<KeyedPackage>,
    /// What cmake builds.
    pub trees: Vec<Tree>,
}

/// What a phase plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// Cargo.
    pub cargo: &'a Cargo,
    /// The user's configuration.
    pub config: &'a Config,
    /// The dependency graph.
    pub workspace: &'a Workspace,
    /// The tools.
    pub toolbox: &'a Toolbox,
    /// Where things are.
    pub layout: &'a Layout,
    /// The shims.
    pub links: &'a shim::Links,
    /// What cmake builds.
    pub projects: &'a [Project],
}

impl PhasePlan {
    /// The plan of a phase; `slices` in the optimize phase only.
    pub fn new(phase: Phase, inputs: Inputs<'_>, slices: Option<&Slices>) -> PhasePlan {
        let layout = inputs.layout;
        let orders = orders(phase, inputs, slices);
        let mut plan = PhasePlan {
            phase,
            target: inputs.cargo.target.clone(),
            state: layout.state(phase),
            target_dir: layout.phase_dir(phase),
            env: environment(phase, inputs, &orders),
            orders,
            packages: inputs
                .workspace
                .packages
                .iter()
                // Cargo looks at keys.
                .filter(|package| !package.is_native)
                .map(|package| KeyedPackage {
                    id: package.id(),
                    has_build_script: package.has_build_script,
                })
                .collect(),
            trees: Vec::new(),
        };
        let family = inputs.toolbox.c.family;
        let shims = || (inputs.links.cc(family), inputs.links.cxx(family));
        let projects = inputs.projects.iter();
        plan.trees = projects.map(|it| it.tree(&plan, shims())).collect();
        plan
    }

    /// A cargo command of this phase, without selection.
    pub fn cargo(&self, cargo: &Cargo, subcommand: &str) -> Invocation {
        let call = cargo
            .command(subcommand)
            .args(["--profile", &cargo.profile])
            .args(["--target", &cargo.target_argument])
            .arg("--target-dir")
            .arg(&self.target_dir)
            .args(&cargo.build_options)
            .args(&cargo.output_options)
            .args(self.unforced(cargo));
        self.with_env(call)
    }

    /// Lets our variables through where cargo's `[env]` table of the user has `force`.
    fn unforced(&self, cargo: &Cargo) -> Vec<String> {
        let is_ours = |name: &&String| self.env.iter().any(|(ours, _)| ours == *name);
        cargo
            .forced_env
            .iter()
            .filter(is_ours)
            .flat_map(|name| ["--config".to_owned(), format!("env.{name}.force=false")])
            .collect()
    }

    /// Adds the phase's variables to a call.
    pub fn with_env(&self, mut call: Invocation) -> Invocation {
        for (name, value) in &self.env {
            call = match value {
                Some(value) => call.env(name, value),
                None => call.env_remove(name),
            };
        }
        call
    }

    /// Drops objects that were compiled under another key, where the build system behind the
    /// build script would not notice (cmake with make).
    pub fn clean_packages(&self, cargo: &Cargo, packages: &[String]) -> Invocation {
        let mut call = cargo
            .command("clean")
            .args(["--profile", &cargo.profile])
            .args(["--target", &cargo.target_argument])
            .arg("--target-dir")
            .arg(&self.target_dir)
            .arg("--quiet");
        for package in packages {
            // `name-version` back to cargo's `name@version`.
            let spec = match self.split_id(package) {
                Some((name, version)) => format!("{name}@{version}"),
                None => package.clone(),
            };
            call = call.args(["--package", &spec]);
        }
        self.with_env(call)
    }

    fn split_id<'a>(&self, id: &'a str) -> Option<(&'a str, &'a str)> {
        // Versions begin at the first dash before a digit from which a version parses.
        id.match_indices('-').find_map(|(at, _)| {
            let (name, version) = (&id[..at], &id[at + 1..]);
            semver::Version::parse(version)
                .ok()
                .map(|_| (name, version))
        })
    }
}

/// The compilers under which units are seen by build systems.
fn environment(
    phase: Phase,
    inputs: Inputs<'_>,
    orders: &Orders,
) -> Vec<(String, Option<OsString>)> {
    let Inputs {
        cargo,
        toolbox,
        layout,
        links,
        ..
    } = inputs;
    let target_dir = layout.phase_dir(phase);
    let mut env: Vec<(String, Option<OsString>)> = Vec::new();
    let mut set = |name: &str, value: OsString| env.push((name.to_owned(), Some(value)));

    set(protocol::ENV_VERSION, protocol::VERSION.to_string().into());
    set(protocol::ENV_PHASE, phase.name().into());
    set(protocol::ENV_STATE, layout.state(phase).into());
    set(protocol::ENV_TARGET, cargo.target.clone().into());
    set(protocol::ENV_TARGET_DIR, target_dir.clone().into());
    set("RUSTC_WRAPPER", links.rustc().into());
    if let Some(wrapper) = &cargo.rustc_wrapper {
        set(shim::ENV_RUSTC_WRAPPER, wrapper.into());
    }
    // `build.build-dir` would move OUT_DIR out of the phase's directory.
    set("CARGO_BUILD_BUILD_DIR", target_dir.into());
    let (name, value) = flags::stray_profile_file(&layout.stray(phase));
    set(name, value.into());

    if !toolbox.c.cc.is_empty() {
        let family = toolbox.c.family;
        let (cc, cxx) = (links.cc(family), links.cxx(family));
        set(protocol::ENV_CC, cc.clone().into());
        set(protocol::ENV_CXX, cxx.clone().into());
        // The form with the dashed triple wins in every version of the cc crate; the plain one
        // is for cmake, make and autotools.
        for (name, value) in [("CC", cc), ("CXX", cxx)] {
            set(&format!("{name}_{}", cargo.target), value.clone().into());
            if cargo.other_target.is_none() {
                set(name, value.into());
            }
        }
        // A cache that the project itself puts before the compiler sees the shim and not its
        // flags: these make its keys differ.
        let mut extra = OsString::from(keys::cache_key_file(&layout.state(phase)));
        if let Some(theirs) = std::env::var_os("CCACHE_EXTRAFILES").filter(|v| !v.is_empty()) {
            extra.push(":");
            extra.push(theirs);
        }
        set("CCACHE_EXTRAFILES", extra);
        set("SCCACHE_C_CUSTOM_CACHE_BUSTER", orders.c_digest().into());
        for name in ["CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"] {
            if std::env::var_os(name).is_some() {
                // It runs inside the shim, before the real compiler.
                env.push((name.to_owned(), None));
            }
        }
    }
    env
}

fn orders(phase: Phase, inputs: Inputs<'_>, slices: Option<&Slices>) -> Orders {
    let everything = PackagePolicy::default();
    let mut own = BTreeMap::new();
    let basis = format!("{} {}", env!("CARGO_PKG_VERSION"), inputs.toolbox.c.version);
    let common_units = slices.and_then(|slices| slices.partition.common);
    for package in &inputs.workspace.packages {
        let policy = inputs.config.policy(&package.name);
        let id = package.id();
        let units = slices.and_then(|slices| slices.partition.of_package(&package.name));
        if *policy != everything || units != common_units {
            own.insert(
                (id.clone(), Language::Rust),
                rust_order(phase, inputs, slices, policy, units),
            );
        }
        if package.is_native {
            let mut order = c_order(phase, inputs, slices, policy);
            order.basis.clone_from(&basis);
            if let Some(project) = inputs.config.cmake.get(&package.name) {
                order.exclude_targets.clone_from(&project.exclude_targets);
                order.profile_targets.clone_from(&project.profile_targets);
            }
            if let (Phase::Optimize, Some(slices)) = (phase, slices) {
                let name = &package.name;
                own::add_orders(inputs, slices, policy, name, &mut order, &mut own);
            }
            own.insert((id, Language::C), order);
        } else if *policy != everything {
            own.insert((id, Language::C), c_order(phase, inputs, slices, policy));
        }
    }
    Orders {
        rust: rust_order(phase, inputs, slices, &everything, common_units),
        c: c_order(phase, inputs, slices, &everything),
        own,
        basis,
    }
}

fn rust_order(
    phase: Phase,
    inputs: Inputs<'_>,
    slices: Option<&Slices>,
    policy: &PackagePolicy,
    codegen_units: Option<u32>,
) -> Order {
    let mut order = Order::nothing(Family::Rustc);
    order.salts = inputs.workspace.salts();
    if !policy.rust {
        if phase == Phase::Instrument
            && let Some(runtime) = &inputs.toolbox.runtime
        {
            // What else is in the program may have counters: rustc links what saves them only
            // for Rust that has some too.
            order.link_flags = vec![
                format!("-Clink-arg=-Wl,-u,{RUNTIME_HOOK}"),
                format!("-Clink-arg={}", signal_object(inputs).display()),
                format!("-Clink-arg={}", runtime.display()),
            ];
        }
        return order;
    }
    match (phase, slices) {
        (Phase::Instrument, _) => {
            order.flags = flags::rustc_instrument(&inputs.layout.raw_by_hand());
            if inputs.config.continuous {
                order.flags.extend(flags::rustc_continuous());
            }
            order.flags.extend(policy.rustflags.iter().cloned());
            if signals::supported(&inputs.cargo.target) {
                let object = signal_object(inputs);
                order.link_flags = vec![format!("-Clink-arg={}", object.display())];
            }
        }
        (Phase::Sample, _) => {
            let rust = rust_samples(inputs);
            order.flags = sample::rustc_record(rust.is_some_and(RustSamples::is_unstable));
            order.env = rust.map(bootstrap).unwrap_or_default();
            order.flags.extend(policy.rustflags.iter().cloned());
        }
        (Phase::Optimize, Some(slices)) if slices.method == Method::Sample => {
            use_rust_samples(&mut order, inputs, slices);
            order.flags.extend(policy.rustflags.iter().cloned());
        }
        (Phase::Optimize, Some(slices)) => {
            if let Some(slice) = &slices.rust {
                order.proof = proof(inputs.toolbox.verify, Proof::RawCounts);
                order.flags =
                    flags::rustc_optimize(&slice.file, slices.pins, inputs.toolbox.verify);
                order.codegen_units = codegen_units;
                order.slice.clone_from(&slice.hash);
            }
            order.flags.extend(policy.rustflags.iter().cloned());
        }
        _ => {}
    }
    order
}

fn rust_samples<'a>(inputs: Inputs<'a>) -> Option<&'a RustSamples> {
    inputs.toolbox.samples.as_ref().map(|samples| &samples.rust)
}

/// The codegen units stay the user's: lines are matched, not control flow.
fn use_rust_samples(order: &mut Order, inputs: Inputs<'_>, slices: &Slices) {
    let (Some(slice), Some(rust)) = (&slices.rust, rust_samples(inputs)) else {
        return;
    };
    let Some(reads) = rust.reads() else { return };
    let unstable = rust.is_unstable();
    order.flags = sample::rustc_use(&slice.file, slices.pins, rust.spelling(), unstable);
    order.slice.clone_from(&slice.hash);
    order.proof = proof(reads.verify, Proof::Remarks);
    order.env = bootstrap(rust);
}

/// What opens rustc for unstable options, where the user allowed it.
///
/// For the crates of the target and not for the whole build: build scripts of many crates look for
/// unstable features by compiling something, and would find and use them.
fn bootstrap(rust: &RustSamples) -> Vec<(String, String)> {
    match rust {
        RustSamples::Bootstrap(_) => vec![("RUSTC_BOOTSTRAP".into(), "1".into())],
        _ => Vec::new(),
    }
}

fn use_c_samples(order: &mut Order, inputs: Inputs<'_>, slices: &Slices) {
    let reads = inputs
        .toolbox
        .samples
        .as_ref()
        .and_then(|samples| samples.c);
    let (slice, kind) = match order.family {
        Family::Gcc => (&slices.gcc, Proof::Dump),
        _ => (&slices.c, Proof::Remarks),
    };
    let (Some(slice), Some(reads)) = (slice, reads) else {
        return;
    };
    order.flags = match order.family {
        Family::Gcc => sample::gcc_use(&slice.file),
        _ => sample::clang_use(&slice.file, slices.pins, reads.profi),
    };
    order.slice.clone_from(&slice.hash);
    order.proof = proof(reads.verify, kind);
}

fn proof(verify: bool, kind: Proof) -> Proof {
    if verify { kind } else { Proof::None }
}

/// What pulls the runtime into a link (`INSTR_PROF_PROFILE_RUNTIME_VAR`).
const RUNTIME_HOOK: &str = "__llvm_profile_runtime";

fn c_order(
    phase: Phase,
    inputs: Inputs<'_>,
    slices: Option<&Slices>,
    policy: &PackagePolicy,
) -> Order {
    let c = &inputs.toolbox.c;
    let mut order = Order::nothing(c.family);
    let launcher = launcher(inputs.cargo, &c.cc);
    order.cc = launcher.iter().chain(&c.cc).cloned().collect();
    order.cxx = launcher.iter().chain(&c.cxx).cloned().collect();
    order.exclude = policy.c_exclude.iter().map(ToString::to_string).collect();
    if !policy.c || c.verdict != Verdict::Fits {
        return order;
    }
    match (phase, slices) {
        (Phase::Instrument, _) => {
            order.flags = flags::clang_instrument(policy.counters, &inputs.layout.raw_by_hand());
            if inputs.config.continuous {
                order.flags.extend(flags::clang_continuous());
            }
            order.flags.extend(policy.cflags.iter().cloned());
            order.link_flags = flags::clang_instrument_link(policy.counters);
            if signals::supported(&inputs.cargo.target) {
                order
                    .link_flags
                    .push(signal_object(inputs).display().to_string());
            }
        }
        (Phase::Sample, _) => {
            order.flags = match c.family {
                Family::Gcc => sample::gcc_record(),
                _ => sample::clang_record(),
            };
            order.flags.extend(policy.cflags.iter().cloned());
        }
        (Phase::Optimize, Some(slices)) if slices.method == Method::Sample => {
            use_c_samples(&mut order, inputs, slices);
            order.flags.extend(policy.cflags.iter().cloned());
        }
        (Phase::Optimize, Some(slices)) => {
            let slice = match policy.counters {
                Counters::Ir => &slices.c,
                Counters::Frontend => &slices.c_frontend,
            };
            if let Some(slice) = slice {
                order.flags = flags::clang_optimize(
                    policy.counters,
                    &slice.file,
                    slices.pins,
                    inputs.toolbox.verify,
                );
                order.slice.clone_from(&slice.hash);
                // Front-end counters are applied by clang itself, long before LLVM could name them.
                let says = inputs.toolbox.verify && policy.counters == Counters::Ir;
                order.proof = proof(says, Proof::RawCounts);
            }
            order.flags.extend(policy.cflags.iter().cloned());
        }
        _ => {}
    }
    order
}

/// Where the signal object of this rustc is.
pub fn signal_object(inputs: Inputs<'_>) -> PathBuf {
    let rustc = &inputs.toolbox.rustc.release;
    let name = format!("{rustc}-{}", signals::revision());
    inputs.layout.signal_object(&name)
}

/// A compiler cache that the user put before C compilers other than in `CC`.
fn launcher(cargo: &Cargo, cc: &[String]) -> Vec<String> {
    if cc.is_empty() || crate::tool::c_compiler::launchers(cc) > 0 {
        return Vec::new();
    }
    if let Ok(value) = std::env::var("CMAKE_C_COMPILER_LAUNCHER")
        && !value.is_empty()
    {
        return value.split(';').map(str::to_owned).collect();
    }
    // The cc crate takes it from there too, if it knows the name.
    cargo
        .rustc_wrapper
        .as_deref()
        .and_then(Path::to_str)
        .and_then(crate::tool::c_compiler::launcher_from_rustc_wrapper)
        .map(|launcher| vec![launcher.to_owned()])
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_split_at_the_version() {
        let plan = PhasePlan {
            phase: Phase::Optimize,
            target: String::new(),
            state: PathBuf::new(),
            target_dir: PathBuf::new(),
            env: Vec::new(),
            orders: Orders {
                rust: Order::nothing(Family::Rustc),
                c: Order::nothing(Family::Clang),
                own: BTreeMap::new(),
                basis: String::new(),
            },
            packages: Vec::new(),
            trees: Vec::new(),
        };
        assert_eq!(
            plan.split_id("librocksdb-sys-0.17.3+10.4.2"),
            Some(("librocksdb-sys", "0.17.3+10.4.2"))
        );
        assert_eq!(plan.split_id("a-1-2.0.0"), Some(("a-1", "2.0.0")));
    }
}
