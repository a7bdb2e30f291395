//! What every subcommand that builds starts with.

use super::native::select::{self as natives};
use crate::cli::{CargoArgs, FdoArgs, MatchArgs, ProjectArgs};
use crate::config::cmake::CmakeProject;
use crate::config::{self, CCompilerChoice, Config, ConfigError};
use crate::error::{Diagnose, ExitCode, Result};
use crate::fs;
use crate::plan::native;
use crate::plan::{Inputs, PhasePlan, Slices, signal_object};
use crate::project::{self, Project};
use crate::recall::{Answers, Question};
use crate::settings::{self, Cargo, Settings, SettingsError};
use crate::shim::Links;
use crate::shim::treatment::is_excluded_by;
use crate::stage::binaries::Targets;
use crate::store::campaign::Method;
use crate::store::{Layout, Lock, Trees, keys};
use crate::tool::canary::continuous::CCommand;
use crate::tool::rustc::Rustc;
use crate::tool::{Invocation, canary, signals};
use crate::toolbox::{Origin, RustSamples, Toolbox, Verdict};
use crate::ui::Ui;
use crate::workspace::{self, Package, Query, Workspace};
use fdo_build::protocol::Phase;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The build with the profile for Rust alone, in tables and in paths.
pub const RUST_ONLY: &str = "rust-only";

/// The resolved surroundings of one run.
#[derive(Debug, Clone)]
pub struct Session {
    /// Where words go.
    pub ui: Ui,
    /// Cargo.
    pub cargo: Cargo,
    /// rustc.
    pub rustc: Rustc,
    /// The user's workspace.
    pub workspace: Workspace,
    /// Its configuration.
    pub config: Config,
    /// The user's other wishes.
    pub settings: Settings,
    /// Where things are.
    pub layout: Layout,
    /// The shims.
    pub links: Links,
    /// What this run builds by cmake.
    pub projects: Vec<native::Project>,
    /// Whether it builds anything by cargo.
    pub builds_cargo: bool,
}

impl Session {
    /// For commands that look at a project, or write its files, but build nothing.
    ///
    /// # Errors
    ///
    /// As [`open`](Session::open).
    pub fn of_project(project: ProjectArgs, toolchain: Option<String>) -> Result<Session> {
        let (fdo, matching) = (FdoArgs::default(), MatchArgs::default());
        Session::open(&project.into(), &fdo, &matching, None, toolchain)
    }

    /// Resolves everything that can be resolved without running a compiler.
    ///
    /// # Errors
    ///
    /// Usage, configuration, or a workspace that can't be read.
    pub fn open(
        cargo_args: &CargoArgs,
        fdo: &FdoArgs,
        matching: &MatchArgs,
        max_loss: Option<&str>,
        toolchain: Option<String>,
    ) -> Result<Session> {
        let args = &cargo_args.project;
        let project = project::here(args.manifest_path.as_deref(), args.target_dir.as_deref());
        Session::of(&project, cargo_args, fdo, matching, max_loss, toolchain)
    }

    /// The same for a project that was looked for already.
    ///
    /// # Errors
    ///
    /// As [`open`](Session::open).
    pub fn of(
        project: &Project,
        cargo_args: &CargoArgs,
        fdo: &FdoArgs,
        matching: &MatchArgs,
        max_loss: Option<&str>,
        toolchain: Option<String>,
    ) -> Result<Session> {
        let ui = settings::ui(cargo_args);
        let configuration = cargo_config2::Config::load_with_cwd(workspace::here())
            .map_err(SettingsError::CargoConfig)?;
        let (cargo_program, rustc_program) = programs(toolchain.as_deref(), &configuration)?;
        let links = Links::ensure()?;
        let mut words = settings::workspace_words(cargo_args);
        if let Project::Alone(root) = project {
            words.push(format!("without cargo in {}", root.display()));
        }
        let question = Question::new(&cargo_program, &rustc_program, words);
        let resolve = |rustc: &Rustc| {
            Cargo::resolve(
                cargo_args,
                toolchain.clone(),
                cargo_program.clone(),
                rustc,
                &configuration,
            )
        };
        let (
            mut cargo,
            Answers {
                rustc,
                mut workspace,
            },
        ) = match question.recall(links.cache()) {
            Some(answers) => (resolve(&answers.rustc)?, answers),
            None => {
                let rustc = Rustc::inspect(&rustc_program)?;
                let cargo = resolve(&rustc)?;
                cargo.refuse_foreign_configuration(&configuration)?;
                let workspace = match project {
                    Project::Alone(root) => Workspace::without_cargo(root, root.join("target")),
                    Project::Cargo => Workspace::load(&Query {
                        cargo: cargo.program.clone(),
                        manifest_path: cargo.manifest_path.clone(),
                        options: cargo.options.clone(),
                        target: cargo.target.clone(),
                        toolchain: cargo.toolchain.clone(),
                    })?,
                };
                let answers = Answers { rustc, workspace };
                question.remember(links.cache(), &answers);
                (cargo, answers)
            }
        };
        let config = config::load(&workspace.root)?;
        let projects = natives::select(&mut cargo, &mut workspace, &config)?;
        let target_dir = match &cargo.target_dir {
            Some(dir) => workspace::here().join(dir),
            None if !workspace.is_cargo => {
                project::target_dir_variable().unwrap_or_else(|| workspace.target_dir.clone())
            }
            None => workspace.target_dir.clone(),
        };
        if target_dir.as_os_str().as_encoded_bytes().contains(&b'%') {
            return Err(SettingsError::Percent(target_dir).into());
        }
        let layout = Layout::new(&target_dir, cargo.other_target.as_deref());
        for tree in Trees::load(&layout).trees {
            workspace.add_native(&tree.package, &tree.source);
        }
        let known: BTreeSet<String> = workspace
            .packages
            .iter()
            .map(|package| package.name.clone())
            .collect();
        if let Some(error) = ConfigError::of(config.unknown_packages(&known)) {
            return Err(error.into());
        }
        let settings = Settings::resolve(fdo, matching, max_loss, &config)?;
        Ok(Session {
            ui,
            cargo,
            rustc,
            workspace,
            config,
            settings,
            layout,
            links,
            projects: projects.native,
            builds_cargo: projects.cargo,
        })
    }

    /// Directories in which a phase's linked files are: cargo's, those of cmake's trees, and what was
    /// built by hand.
    pub fn places_of(&self, phase: Phase) -> Vec<PathBuf> {
        let target_dir = self.layout.phase_dir(phase);
        let mut places = vec![
            target_dir.join(&self.cargo.target),
            native::native_dir(&target_dir),
        ];
        let trees = Trees::load(&self.layout).trees.into_iter();
        places.extend(trees.filter(|it| it.phase == phase.name()).map(|it| it.dir));
        places.dedup();
        places
    }

    /// The programs and shared libraries that cmake makes in a phase, of the targets that are to be
    /// profiled.
    pub fn targets_of(&self, phase: Phase) -> Targets {
        let dir = self.layout.phase_dir(phase);
        let projects = self.projects.iter().map(|project| {
            let tree = project.plain(&dir);
            (project.name.clone(), tree.dir)
        });
        let by_hand = Trees::load(&self.layout).trees.into_iter();
        let by_hand = by_hand.filter(|tree| tree.phase == phase.name());
        let trees = projects.chain(by_hand.map(|tree| (tree.package, tree.dir)));
        Targets::read(trees, |project, target| {
            let config = self.config.cmake.get(project);
            config.is_none_or(|config| {
                let CmakeProject {
                    exclude_targets,
                    profile_targets,
                    ..
                } = config;
                !is_excluded_by(exclude_targets, profile_targets, Some(target))
            })
        })
    }

    /// The same project with the profile for its Rust alone, and its C compiled as ever; builds of its
    /// own, so that the user's are not compiled again.
    pub fn rust_only(&self) -> Session {
        let mut session = self.clone();
        session.settings.c_compiler = CCompilerChoice::Keep;
        session.layout = self.layout.variant(RUST_ONLY);
        let names = self.workspace.packages.iter().map(|package| &package.name);
        session.config.leave_c_alone(names);
        session
    }

    /// Fails where neither cargo nor cmake has anything to build.
    ///
    /// # Errors
    ///
    /// Usage.
    pub fn has_work(&self) -> Result<()> {
        match self.builds_cargo || !self.projects.is_empty() {
            true => Ok(()),
            false => Err(natives::NativeError::NothingToBuild.into()),
        }
    }

    /// Takes the lock of the store.
    ///
    /// # Errors
    ///
    /// If the store can't be written.
    pub fn lock(&self) -> Result<Lock> {
        self.layout.create()?;
        let lock = Lock::take(&self.layout.lock(), &self.ui)?;
        // Left by a run that was killed: who has the lock has nothing there yet.
        fs::remove_ours(self.layout.root(), &self.layout.tmp())?;
        if let Some(free) = fs::free_bytes(self.layout.root())
            && free < LITTLE_SPACE
        {
            // Said first: a linker on a full disk dies by a signal, without a word.
            self.ui.warn(format_args!(
                "only {} MB are free for `{}`; free some space, or choose another place with \
                 `--target-dir DIR`",
                free / 1_000_000,
                self.layout.root().display()
            ));
        }
        Ok(lock)
    }

    /// Whether C or C++ will be compiled, as far as one can tell before.
    pub fn expects_c(&self) -> bool {
        let wraps_c = self
            .workspace
            .packages
            .iter()
            .any(|package| package.has_build_script && package.links.is_some());
        wraps_c
            || !self.projects.is_empty()
            || keys::packages_with_c(&self.layout.state(Phase::Instrument))
                .is_ok_and(|packages| !packages.is_empty())
    }

    /// Whether the user's file leaves C of any package to be profiled.
    pub fn profiles_c(&self) -> bool {
        let packages = &self.workspace.packages;
        packages
            .iter()
            .any(|package| self.config.policy(&package.name).c)
    }

    /// Finds the tools for a method.
    ///
    /// # Errors
    ///
    /// If they can't do it.
    pub fn toolbox(&self, method: Method) -> Result<Toolbox> {
        Toolbox::find(
            method,
            &self.rustc,
            &self.cargo,
            &self.settings,
            &self.layout,
        )
    }

    /// The plan of a phase.
    pub fn plan(&self, phase: Phase, toolbox: &Toolbox, slices: Option<&Slices>) -> PhasePlan {
        PhasePlan::new(phase, self.inputs(toolbox), slices)
    }

    /// Makes the object that saves counters on a signal, if it is not there.
    ///
    /// # Errors
    ///
    /// If rustc can't compile it.
    pub fn make_signal_object(&self, toolbox: &Toolbox) -> Result<()> {
        if !signals::supported(&self.cargo.target) {
            self.ui.note(format_args!(
                "programs for {} do not save their counters on SIGTERM and SIGUSR2",
                self.cargo.target
            ));
            return Ok(());
        }
        let object = signal_object(self.inputs(toolbox));
        if !object.exists() {
            signals::build(&toolbox.rustc, &self.cargo.target_argument, &object)?;
        }
        Ok(())
    }

    /// Whether counters survive SIGKILL with these compilers, where fdo.toml asks for that.
    ///
    /// # Errors
    ///
    /// If they do not.
    pub fn prove_continuous_mode(&self, toolbox: &Toolbox) -> Result<()> {
        if !self.config.continuous || self.settings.dry_run {
            return Ok(());
        }
        let c = CCommand {
            command: &toolbox.c.cc,
            version: &toolbox.c.version,
        };
        fs::create_dir(&self.layout.tmp())?;
        Ok(canary::continuous::continuous(
            &toolbox.rustc,
            (toolbox.c.verdict == Verdict::Fits).then_some(c),
            toolbox.profdata()?,
            &self.layout.tmp(),
        )?)
    }

    /// Writes orders and keys; drops C objects of other orders first.
    ///
    /// # Errors
    ///
    /// If a file can't be written, or cargo can't clean.
    pub fn prepare(&self, plan: &PhasePlan) -> Result<()> {
        fs::create_dir(&self.layout.stray(plan.phase))?;
        plan.orders.write(&plan.state)?;
        if let Some(clean) = self.outdated(plan)? {
            clean.run()?;
        }
        let with_c = keys::packages_with_c(&plan.state)?;
        plan.orders
            .write_keys(&plan.state, &plan.packages, &with_c)?;
        Ok(())
    }

    /// Makes the printed commands of a dry run whole. Objects of other orders stay, and so
    /// must their keys: the next run drops them.
    ///
    /// # Errors
    ///
    /// If a file can't be written.
    pub fn prepare_dry_run(&self, plan: &PhasePlan) -> Result<Option<Invocation>> {
        fs::create_dir(&self.layout.stray(plan.phase))?;
        plan.orders.write(&plan.state)?;
        let clean = self.outdated(plan)?;
        if clean.is_none() {
            let with_c = keys::packages_with_c(&plan.state)?;
            plan.orders
                .write_keys(&plan.state, &plan.packages, &with_c)?;
        }
        Ok(clean)
    }

    /// What drops C objects that were compiled under other orders.
    fn outdated(&self, plan: &PhasePlan) -> Result<Option<Invocation>> {
        let with_c = keys::packages_with_c(&plan.state)?;
        let outdated = plan
            .orders
            .outdated_c(&plan.state, &plan.packages, &with_c)?;
        Ok((!outdated.is_empty() && plan.target_dir.exists())
            .then(|| plan.clean_packages(&self.cargo, &outdated)))
    }

    fn inputs<'a>(&'a self, toolbox: &'a Toolbox) -> Inputs<'a> {
        Inputs {
            cargo: &self.cargo,
            config: &self.config,
            workspace: &self.workspace,
            toolbox,
            layout: &self.layout,
            links: &self.links,
            projects: &self.projects,
        }
    }

    /// Says that Rust stays without samples, where it does.
    pub fn explain_rustc(&self, toolbox: &Toolbox) {
        // Crates: what cmake builds has none.
        let is_rust = |package: &Package| {
            !package.crates.is_empty() && self.config.policy(&package.name).rust
        };
        if let Some(samples) = &toolbox.samples
            && let RustSamples::Unusable { reason, remedy } = &samples.rust
            && self.workspace.packages.iter().any(is_rust)
        {
            self.ui.warn(format_args!(
                "only C and C++ are optimised: {reason}; {remedy}"
            ));
        }
    }

    /// Says which C compiler compiles profiled code, where that is not plainly the user's.
    pub fn explain_c_compiler(&self, toolbox: &Toolbox) {
        let c = &toolbox.c;
        match (&c.verdict, &c.origin) {
            (Verdict::Fits, Origin::Auto { instead_of }) if toolbox.samples.is_some() => {
                self.ui.note(format_args!(
                    "C and C++ are compiled by `{}` ({}) instead of {instead_of}",
                    c.cc.join(" "),
                    c.version
                ));
            }
            (Verdict::Fits, Origin::Auto { instead_of }) => self.ui.note(format_args!(
                "C and C++ are compiled by `{}` ({}) instead of `cc` ({instead_of}), whose \
                 profiles are not LLVM's; `c-compiler = \"keep\"` in fdo.toml leaves them alone",
                c.cc.join(" "),
                c.version
            )),
            (Verdict::Unprofiled { reason, remedy }, _) => self.ui.warn(format_args!(
                "C and C++ are left without a profile: {reason}; {remedy}"
            )),
            _ => {}
        }
    }
}

/// Cargo and rustc. Inside a cargo subcommand `CARGO` is the toolchain's own cargo, and the
/// rustc that it uses lies beside it.
pub(super) fn programs(
    toolchain: Option<&str>,
    configuration: &cargo_config2::Config,
) -> Result<(PathBuf, PathBuf)> {
    let chosen = std::env::var_os("RUSTC")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .or_else(|| configuration.build.rustc.clone());
    Ok(match (toolchain, std::env::var_os("CARGO")) {
        // Not by rustup's proxies: probes of ours run the compiler by its path.
        (Some(toolchain), _) => {
            let rustc = of_toolchain(toolchain)?;
            (rustc.with_file_name("cargo"), chosen.unwrap_or(rustc))
        }
        (None, Some(cargo)) => {
            let cargo = PathBuf::from(cargo);
            let beside = cargo.with_file_name("rustc");
            let rustc = chosen.unwrap_or_else(|| {
                if beside.exists() && cargo.components().count() > 1 {
                    beside
                } else {
                    "rustc".into()
                }
            });
            (cargo, rustc)
        }
        // rustup's proxies pick the toolchain.
        (None, None) => ("cargo".into(), chosen.unwrap_or_else(|| "rustc".into())),
    })
}

/// `+TOOLCHAIN` names none that there is.
#[derive(Debug, thiserror::Error)]
#[error("the toolchain `{name}` can't be used: {words}")]
struct NoToolchain {
    name: String,
    words: String,
}

impl Diagnose for NoToolchain {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Tool
    }

    fn hint(&self) -> Option<String> {
        Some(format!("`rustup toolchain install {}`", self.name))
    }
}

/// The rustc of a toolchain of rustup's.
fn of_toolchain(name: &str) -> Result<PathBuf> {
    let found = Invocation::new("rustup")
        .args(["which", "--toolchain", name, "rustc"])
        .probe()?;
    if found.status.success() {
        return Ok(PathBuf::from(found.stdout.trim_end()));
    }
    let words = found.stderr.lines().next().unwrap_or_default();
    Err(NoToolchain {
        name: name.to_owned(),
        words: words.trim_start_matches("error: ").to_owned(),
    }
    .into())
}

/// With less than this, a build is likely to fail for want of space.
const LITTLE_SPACE: u64 = 100_000_000;
