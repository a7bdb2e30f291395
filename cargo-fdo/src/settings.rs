//! Command line, environment and cargo's configuration, resolved. The last place that knows
//! clap.

mod min_match;

pub use min_match::MinMatch;

use crate::cli::{CargoArgs, FdoArgs, MatchArgs};
use crate::config::{CCompilerChoice, Config};
use crate::error::{Diagnose, ExitCode};
use crate::tool::Invocation;
use crate::tool::rustc::Rustc;
use crate::ui::{Ui, Verbosity};
use fdo_build::flags;
use fdo_build::protocol::Family;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A setting that can't hold.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// More than one target triple.
    #[error("one run builds for one target, not for {}", .0.join(" and "))]
    ManyTargets(Vec<String>),
    /// Flags of ours are already there.
    #[error("`{flag}` in {place} is a profile of its own; cargo fdo can't add another")]
    ForeignProfile {
        /// The flag.
        flag: String,
        /// Where it was found.
        place: String,
    },
    /// A directory that LLVM's runtime would write elsewhere.
    #[error("the target directory `{}` has a `%` in its path", .0.display())]
    Percent(PathBuf),
    /// Not a share.
    #[error("`{value}` for `{option}` is not a share between 0 and 1, such as `80%` or `0.8`")]
    NotAShare {
        /// The option.
        option: &'static str,
        /// What was given.
        value: String,
    },
    /// Cargo's own configuration can't be read.
    #[error("can't read cargo's configuration")]
    CargoConfig(#[source] cargo_config2::Error),
}

impl Diagnose for SettingsError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            SettingsError::ManyTargets(_) => Some("run it once for each target".into()),
            SettingsError::ForeignProfile { .. } => Some(
                "remove the flag for this run: cargo fdo trains and applies the profile itself"
                    .into(),
            ),
            SettingsError::Percent(_) => Some(
                "LLVM's profile runtime and linker take it for a placeholder; choose another \
                 place with `--target-dir DIR`"
                    .into(),
            ),
            SettingsError::NotAShare { .. } | SettingsError::CargoConfig(_) => None,
        }
    }
}

/// Cargo, as this run calls it.
#[derive(Debug, Clone)]
pub struct Cargo {
    /// The program.
    pub program: PathBuf,
    /// `+TOOLCHAIN` of the command line.
    pub toolchain: Option<String>,
    /// `--manifest-path`.
    pub manifest_path: Option<PathBuf>,
    /// What to build: packages and targets.
    pub selection: Vec<String>,
    /// Features, locking, configuration: for every cargo command.
    pub options: Vec<String>,
    /// Jobs and the like: for commands that build.
    pub build_options: Vec<String>,
    /// Coloring and verbosity.
    pub output_options: Vec<String>,
    /// `--message-format` of the user.
    pub message_format: Option<String>,
    /// The cargo profile.
    pub profile: String,
    /// The target triple.
    pub target: String,
    /// What to pass as `--target`: the triple, or the path of its specification.
    pub target_argument: String,
    /// The triple, if it is not the host's.
    pub other_target: Option<String>,
    /// `--target-dir`.
    pub target_dir: Option<PathBuf>,
    /// The user's own `RUSTC_WRAPPER`.
    pub rustc_wrapper: Option<PathBuf>,
    /// Values of cargo's `[env]` table, for what the compilers of the user are.
    pub env_table: Vec<(String, OsString)>,
    /// Names in it that cargo prefers to the environment, ours too.
    pub forced_env: Vec<String>,
}

impl Cargo {
    /// Resolves cargo's arguments.
    ///
    /// # Errors
    ///
    /// [`SettingsError`]
    pub fn resolve(
        args: &CargoArgs,
        toolchain: Option<String>,
        program: PathBuf,
        rustc: &Rustc,
        configuration: &cargo_config2::Config,
    ) -> Result<Cargo, SettingsError> {
        let configured = || -> Vec<String> {
            configuration
                .build
                .target
                .iter()
                .flatten()
                .map(|target| {
                    target.spec_path().map_or_else(
                        || target.triple().to_owned(),
                        |path| path.display().to_string(),
                    )
                })
                .collect()
        };
        let given = GivenConfig::parse(&args.project.config);
        let mut targets = args.project.target.clone();
        if targets.is_empty() {
            targets = given.targets.unwrap_or_else(configured);
        }
        if targets.len() > 1 {
            return Err(SettingsError::ManyTargets(targets));
        }
        let target_argument = targets
            .pop()
            // Cargo's name for the host.
            .filter(|target| target != "host-tuple")
            .unwrap_or_else(|| rustc.host.clone());
        let target = match target_argument.strip_suffix(".json") {
            Some(path) => Path::new(path)
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            None => target_argument.clone(),
        };
        let other_target = (target != rustc.host).then(|| target.clone());
        let rustc_wrapper = std::env::var_os("RUSTC_WRAPPER")
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
            .or(given.rustc_wrapper)
            .or_else(|| configuration.build.rustc_wrapper.clone())
            .filter(|path| !path.as_os_str().is_empty());
        let cargo = Cargo {
            program,
            toolchain,
            manifest_path: args.project.manifest_path.clone(),
            selection: selection(args),
            options: options(args),
            build_options: build_options(args),
            output_options: output_options(args),
            message_format: args.message_format.clone(),
            profile: args.profile.clone().unwrap_or_else(|| "release".to_owned()),
            target,
            target_argument,
            other_target,
            target_dir: args.project.target_dir.clone(),
            rustc_wrapper,
            env_table: configuration
                .env
                .iter()
                .map(|(name, value)| (name.clone(), value.value.clone()))
                .collect(),
            forced_env: configuration
                .env
                .iter()
                .filter(|(_, value)| value.force)
                .map(|(name, _)| name.clone())
                .collect(),
        };
        cargo.refuse_foreign_profiles(&rustc.host)?;
        Ok(cargo)
    }

    /// A cargo command with everything but selection and output.
    pub fn command(&self, subcommand: &str) -> Invocation {
        let mut call = Invocation::new(&self.program).arg(subcommand);
        if let Some(path) = &self.manifest_path {
            call = call.arg("--manifest-path").arg(path);
        }
        if let Some(toolchain) = &self.toolchain {
            call = call.env("RUSTUP_TOOLCHAIN", toolchain);
        }
        call.args(&self.options)
    }

    /// Looks for profile flags of the user's where it can be done before any compiler runs; the
    /// shims find the others.
    fn refuse_foreign_profiles(&self, host: &str) -> Result<(), SettingsError> {
        let foreign = |flag: &str, place: String| {
            let dash = if flag.starts_with('-') { "" } else { "-C" };
            Err(SettingsError::ForeignProfile {
                flag: format!("{dash}{flag}"),
                place,
            })
        };
        let words = |text: &str, separator: char| -> Vec<String> {
            text.split(separator).map(str::to_owned).collect()
        };
        let is_rust = |word: &String| flags::is_profile_flag(Family::Rustc, word);
        for (place, separator) in [("CARGO_ENCODED_RUSTFLAGS", '\x1f'), ("RUSTFLAGS", ' ')] {
            let text = std::env::var(place).unwrap_or_default();
            if let Some(flag) = words(&text, separator).iter().find(|word| is_rust(word)) {
                return foreign(flag, place.to_owned());
            }
        }
        let is_c = |word: &String| flags::is_profile_flag(Family::Clang, word);
        for base in ["CFLAGS", "CXXFLAGS", "LDFLAGS"] {
            for place in c_variables(base, &[&self.target, host]) {
                let text = self.user_variable(&place).unwrap_or_default();
                if let Some(flag) = words(&text, ' ').iter().find(|word| is_c(word)) {
                    return foreign(flag, place);
                }
            }
        }
        Ok(())
    }

    /// The same for cargo's configuration, whose tables for a `cfg` are resolved by asking
    /// rustc: to be done where its files may have changed.
    ///
    /// # Errors
    ///
    /// [`SettingsError::ForeignProfile`]
    pub fn refuse_foreign_configuration(
        &self,
        configuration: &cargo_config2::Config,
    ) -> Result<(), SettingsError> {
        // A configuration that can't be resolved is cargo's to complain about.
        let configured = configuration.rustflags(self.target.as_str()).ok().flatten();
        let foreign = configured
            .iter()
            .flat_map(|flags| &flags.flags)
            .find(|word| flags::is_profile_flag(Family::Rustc, word));
        match foreign {
            None => Ok(()),
            Some(flag) => Err(SettingsError::ForeignProfile {
                flag: if flag.starts_with('-') {
                    flag.clone()
                } else {
                    format!("-C{flag}")
                },
                place: "`rustflags` of cargo's configuration".to_owned(),
            }),
        }
    }

    /// A variable of the user's, from the environment or cargo's `[env]`.
    pub fn user_variable(&self, name: &str) -> Option<String> {
        let in_environment = || std::env::var(name).ok().filter(|value| !value.is_empty());
        let in_table = || {
            let (_, value) = self.env_table.iter().find(|(known, _)| known == name)?;
            Some(value.to_string_lossy().into_owned())
        };
        if self.forced_env.iter().any(|forced| forced == name) {
            in_table()
        } else {
            in_environment().or_else(in_table)
        }
    }
}

/// What `--config KEY=VALUE` says of things that we pass to cargo in a stronger form, so that
/// it would be lost.
#[derive(Debug, Default, PartialEq, Eq)]
struct GivenConfig {
    targets: Option<Vec<String>>,
    rustc_wrapper: Option<PathBuf>,
}

impl GivenConfig {
    fn parse(values: &[String]) -> GivenConfig {
        let mut found = GivenConfig::default();
        // The last one wins, as with cargo; what is no TOML may be a file, or cargo's to refuse.
        for table in values
            .iter()
            .filter_map(|value| value.parse::<toml::Table>().ok())
        {
            let key = |name: &str| table.get("build")?.get(name);
            if let Some(target) = key("target") {
                let one = target.as_str().map(|target| vec![target.to_owned()]);
                let many = || {
                    let targets = target.as_array()?.iter();
                    Some(
                        targets
                            .filter_map(|t| Some(t.as_str()?.to_owned()))
                            .collect(),
                    )
                };
                found.targets = one.or_else(many);
            }
            if let Some(wrapper) = key("rustc-wrapper").and_then(toml::Value::as_str) {
                found.rustc_wrapper = Some(wrapper.into());
            }
        }
        found
    }
}

/// The directory under which cargo puts artifacts of a profile.
pub fn profile_dir(profile: &str) -> &str {
    match profile {
        "dev" | "test" => "debug",
        "bench" => "release",
        other => other,
    }
}

/// Everything of the user's wishes that is not cargo's.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which C compiler compiles profiled code.
    pub c_compiler: CCompilerChoice,
    /// An llvm-profdata named by the user.
    pub profdata: Option<PathBuf>,
    /// Whether rustc may be told that it is a nightly one, to take samples.
    pub rustc_bootstrap: bool,
    /// Least share of counts that must be used.
    pub min_match: MinMatch,
    /// Whether too little use is only reported.
    pub allow_stale: bool,
    /// Share of raw profiles that may be bad.
    pub max_loss: f64,
    /// Print commands, run none.
    pub dry_run: bool,
}

impl Settings {
    /// Command line over configuration.
    ///
    /// # Errors
    ///
    /// [`SettingsError`]
    pub fn resolve(
        fdo: &FdoArgs,
        matching: &MatchArgs,
        max_loss: Option<&str>,
        config: &Config,
    ) -> Result<Settings, SettingsError> {
        let c_compiler = match fdo.tools.c_compiler.as_deref() {
            None => config.c_compiler.clone(),
            Some("auto") => CCompilerChoice::Auto,
            Some("keep") => CCompilerChoice::Keep,
            Some(program) => CCompilerChoice::Program(program.into()),
        };
        Ok(Settings {
            c_compiler,
            rustc_bootstrap: config.rustc_bootstrap,
            profdata: fdo
                .tools
                .llvm_profdata
                .clone()
                .or_else(|| config.profdata.clone()),
            min_match: MinMatch(match &matching.min_match {
                Some(given) => Some(share("--min-match", Some(given), 0.0)?),
                None => config.min_match,
            }),
            allow_stale: matching.allow_stale,
            max_loss: share("--max-loss", max_loss, config.max_loss)?,
            dry_run: fdo.dry_run,
        })
    }
}

/// What the user sees, from cargo's own options.
pub fn ui(args: &CargoArgs) -> Ui {
    let verbosity = match (args.project.quiet, args.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, 0) => Verbosity::Normal,
        (false, _) => Verbosity::Verbose,
    };
    let color = args
        .project
        .color
        .clone()
        .or_else(|| std::env::var("CARGO_TERM_COLOR").ok());
    Ui::new(verbosity, color.as_deref())
}

fn share(option: &'static str, given: Option<&str>, otherwise: f64) -> Result<f64, SettingsError> {
    let Some(text) = given else {
        return Ok(otherwise);
    };
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|value| value / 100.0),
        None => text.parse::<f64>(),
    };
    match number {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(SettingsError::NotAShare {
            option,
            value: text.to_owned(),
        }),
    }
}

/// The names under which the cc crate takes flags.
fn c_variables(base: &str, targets: &[&str]) -> Vec<String> {
    let mut names = vec![
        base.to_owned(),
        format!("HOST_{base}"),
        format!("TARGET_{base}"),
    ];
    for target in targets {
        names.push(format!("{base}_{target}"));
        names.push(format!("{base}_{}", target.replace('-', "_")));
    }
    names
}

/// The words that change what `cargo metadata` says.
pub fn workspace_words(args: &CargoArgs) -> Vec<String> {
    let mut words = options(args);
    words.extend(
        args.project
            .target
            .iter()
            .map(|target| format!("--target {target}")),
    );
    words.extend(
        args.project
            .manifest_path
            .iter()
            .map(|path| format!("--manifest-path {}", path.display())),
    );
    words
}

fn selection(args: &CargoArgs) -> Vec<String> {
    let mut out = Vec::new();
    let mut many = |flag: &str, values: &[String]| {
        for value in values {
            out.extend([flag.to_owned(), value.clone()]);
        }
    };
    many("--package", &args.package);
    many("--exclude", &args.exclude);
    many("--bin", &args.bin);
    many("--example", &args.example);
    many("--test", &args.test);
    many("--bench", &args.bench);
    for (flag, given) in [
        ("--workspace", args.workspace),
        ("--lib", args.lib),
        ("--bins", args.bins),
        ("--examples", args.examples),
        ("--tests", args.tests),
        ("--benches", args.benches),
        ("--all-targets", args.all_targets),
    ] {
        if given {
            out.push(flag.to_owned());
        }
    }
    out
}

/// Packages and features alone: what a phase's build of other targets keeps.
pub fn package_selection(selection: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = selection.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--package" | "--exclude" => {
                out.push(word.clone());
                out.extend(rest.next().cloned());
            }
            "--workspace" => out.push(word.clone()),
            "--bin" | "--example" | "--test" | "--bench" => {
                rest.next();
            }
            _ => {}
        }
    }
    out
}

fn options(args: &CargoArgs) -> Vec<String> {
    let mut out = Vec::new();
    for features in &args.features {
        out.extend(["--features".to_owned(), features.clone()]);
    }
    for (flag, given) in [
        ("--all-features", args.all_features),
        ("--no-default-features", args.no_default_features),
        ("--locked", args.project.locked),
        ("--offline", args.project.offline),
        ("--frozen", args.project.frozen),
    ] {
        if given {
            out.push(flag.to_owned());
        }
    }
    for value in &args.project.config {
        out.extend(["--config".to_owned(), value.clone()]);
    }
    for flag in &args.project.unstable {
        out.extend(["-Z".to_owned(), flag.clone()]);
    }
    out
}

fn build_options(args: &CargoArgs) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(jobs) = &args.jobs {
        out.extend(["--jobs".to_owned(), jobs.clone()]);
    }
    if args.keep_going {
        out.push("--keep-going".to_owned());
    }
    out
}

fn output_options(args: &CargoArgs) -> Vec<String> {
    let mut out = vec!["--verbose".to_owned(); usize::from(args.verbose)];
    if args.project.quiet {
        out.push("--quiet".to_owned());
    }
    if let Some(color) = &args.project.color {
        out.extend(["--color".to_owned(), color.clone()]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_numbers_or_percents() {
        assert_eq!(share("--min-match", Some("80%"), 0.5).unwrap(), 0.8);
        assert_eq!(share("--min-match", Some("0.25"), 0.5).unwrap(), 0.25);
        assert_eq!(share("--min-match", None, 0.5).unwrap(), 0.5);
        for bad in ["80", "-1", "x", "%", "NaN"] {
            assert!(share("--min-match", Some(bad), 0.5).is_err(), "{bad}");
        }
    }

    #[test]
    fn configuration_of_the_command_line_is_read_as_far_as_we_overrule_it() {
        let parse = |values: &[&str]| {
            let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
            GivenConfig::parse(&values)
        };
        assert_eq!(
            parse(&["file.toml", "net.offline=true"]),
            GivenConfig::default()
        );
        let found = parse(&[
            "build.target='a'",
            "build.target=[\"b\"]",
            "build.rustc-wrapper='/w'",
        ]);
        assert_eq!(found.targets, Some(vec!["b".to_owned()]));
        assert_eq!(found.rustc_wrapper, Some("/w".into()));
    }

    #[test]
    fn packages_survive_where_targets_are_replaced() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            package_selection(&words("--package a --bin x --workspace --lib --bench y")),
            words("--package a --workspace")
        );
    }
}
