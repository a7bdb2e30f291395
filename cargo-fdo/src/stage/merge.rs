//! Raw profiles to slices: verify, set bad ones aside, merge with weights, divide by language.

mod image;

pub use image::{Image, OfImage};

use super::origin::Origin;
use super::train::RawProfiles;
use crate::error::{Diagnose, ExitCode};
use crate::fs::{self, FsError};
use crate::profile::instr_text::{InstrProfile, Record, TextError};
use crate::profile::raw::{self, RawError};
use crate::profile::slice;
use crate::profile::summary::{Limits, Quality, Summary};
use crate::profile::{names, packed_names};
use crate::tool::profdata::{self, FailureMode, Profdata};
use crate::tool::{Output, ToolError};
use crate::ui::{Ui, count, percent, plural};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// The merge gave nothing that can be trusted.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// More bad files than allowed.
    #[error("{}\n{}", lost(bad.len(), *total, *allowed), list(bad))]
    TooMuchLost {
        /// The bad ones and why.
        bad: Vec<BadRaw>,
        /// How many there were.
        total: usize,
        /// The threshold.
        allowed: f64,
    },
    /// All counters are zero.
    #[error("the raw profiles of workload `{workload}` hold no count above zero")]
    AllZero {
        /// Which.
        workload: String,
    },
    /// llvm-profdata failed on good files.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// It was content, and wrote nothing.
    #[error("`{}` said that all was well, but merged nothing", .0.display())]
    NoOutput(PathBuf),
    /// It wrote something that is not a profile.
    #[error("`{}` wrote a profile that can't be read: {source}", tool.display())]
    Text {
        /// The tool.
        tool: PathBuf,
        /// Where and why.
        #[source]
        source: TextError,
    },
    /// Files could not be handled.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl Diagnose for MergeError {
    fn exit_code(&self) -> ExitCode {
        match self {
            MergeError::TooMuchLost { .. } => ExitCode::Profile,
            MergeError::Text { .. } | MergeError::NoOutput(_) | MergeError::Tool(_) => {
                ExitCode::Tool
            }
            MergeError::AllZero { .. } => ExitCode::Training,
            MergeError::Fs(error) => error.exit_code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            MergeError::TooMuchLost { bad, total, .. } => {
                let why = if bad.iter().all(|bad| bad.cut_off) {
                    "a process that is killed while it writes, or a full disk, leaves such files"
                } else {
                    "raw profiles are what the programs of `cargo fdo train --build-only` write, \
                     `.profraw` files by default"
                };
                let without = 100 * bad.len() / *total + 1;
                Some(if bad.len() == *total {
                    why.to_owned()
                } else {
                    format!(
                        "{why}; `--max-loss {without}%` (or `max-loss` in fdo.toml) goes on \
                         without the bad ones"
                    )
                })
            }
            MergeError::AllZero { .. } => {
                Some("the program saved its counters, but nothing ran between".into())
            }
            MergeError::Tool(error) => error.hint(),
            MergeError::Text { .. } | MergeError::NoOutput(_) => {
                Some("`cargo fdo doctor` tries it out".into())
            }
            MergeError::Fs(error) => error.hint(),
        }
    }
}

/// A raw profile that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRaw {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
    /// Whether it is the beginning of a good one.
    pub cut_off: bool,
}

/// A merged profile with counts in it, divided by who reads it.
///
/// Only [`run`] makes one.
#[derive(Debug, Clone)]
pub struct Merged {
    /// Everything with IR-level counters, as text.
    pub whole: String,
    /// For rustc; local functions listed under every codegen unit.
    pub rust: Option<String>,
    /// For clang.
    pub c: Option<String>,
    /// For clang, front-end counters.
    pub c_frontend: Option<String>,
    /// Hot and cold limits of the whole.
    pub limits: Limits,
    /// What the training exercised.
    pub quality: Quality,
    /// Raw files set aside, and why.
    pub quarantined: Vec<BadRaw>,
    /// How many raw files went in.
    pub files: usize,
    /// The same by the program or shared library that wrote them.
    pub images: Vec<OfImage>,
}

/// The least number of codegen units that local Rust functions are listed for: cargo's default
/// in release profiles. Incremental builds name their units otherwise.
const UNITS: u32 = 16;

/// What tells a program of this workspace from another one.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The crates of the dependency graph.
    pub crates: &'a BTreeSet<String>,
    /// The functions that C objects of the instrumented build count, so that unmangled Rust
    /// functions are told from C.
    pub c_names: &'a BTreeSet<String>,
    /// All that the instrumented phase counts.
    pub origin: &'a Origin,
}

/// Merges.
///
/// # Errors
///
/// [`MergeError`]
pub fn run(
    raws: &[RawProfiles],
    profdata: &Profdata,
    known: Known<'_>,
    max_loss: f64,
    scratch: &Path,
    ui: &Ui,
) -> Result<Merged, MergeError> {
    let total: usize = raws.iter().map(|raw| raw.files.len()).sum();
    ui.status("Merging", plural(total, "raw profile"));
    let spinner = ui.spinner("verifying");
    let verified = verify(raws, known)?;
    let mut bad = verified.bad;

    spinner.set("merging");
    let mut merge = |inputs: &[(u64, PathBuf)], name: &str| -> Result<_, MergeError> {
        if inputs.is_empty() {
            return Ok(None);
        }
        let (text, refused) = merge_group(inputs, profdata, &scratch.join(name))?;
        bad.extend(refused);
        let profile = InstrProfile::parse(&text).map_err(|source| MergeError::Text {
            tool: profdata.program.clone(),
            source,
        })?;
        Ok(Some(profile))
    };
    let mut images: Vec<OfImage> = verified
        .counts
        .into_iter()
        .map(|(image, counts)| OfImage {
            image,
            counts,
            profile: None,
        })
        .collect();
    // Raw profiles are read once: the whole is merged of what each binary's came to.
    let mut merged = Vec::new();
    for (at, of_image) in images.iter_mut().enumerate() {
        let inputs = verified.ir.get(&of_image.image);
        let name = match verified.ir.len() {
            1 => "ir".to_owned(),
            _ => format!("image-{at}"),
        };
        of_image.profile = merge(inputs.map_or(&[][..], Vec::as_slice), &name)?
            .filter(|profile| !profile.records.is_empty());
        if of_image.profile.is_some() {
            merged.push((1, merged_file(&scratch.join(name))));
        }
    }
    let ir = match merged.len() {
        0 | 1 => images.iter().find_map(|image| image.profile.clone()),
        _ => merge(&merged, "ir")?,
    };
    let frontend = merge(&verified.frontend, "frontend")?;
    drop(spinner);

    let lost = bad.len() as f64 / total.max(1) as f64;
    if lost > max_loss || bad.len() == total {
        return Err(MergeError::TooMuchLost {
            bad,
            total,
            allowed: max_loss,
        });
    }
    for bad in &bad {
        ui.warn(format_args!(
            "raw profile `{}` was set aside: {}",
            bad.path.display(),
            bad.reason
        ));
    }

    let mut ir = ir.unwrap_or_else(InstrProfile::default);
    ir.sort();
    let quality = Quality::of(&ir);
    let everything = ir
        .records
        .iter()
        .chain(frontend.iter().flat_map(|profile| &profile.records));
    let summary = Summary::of(everything);
    if summary.total == 0 {
        let workload = raws
            .iter()
            .map(|raw| raw.workload.as_str())
            .collect::<Vec<_>>()
            .join("`, `");
        return Err(MergeError::AllZero { workload });
    }
    let limits = summary.limits();
    let whole = ir.to_text();
    let plain = rust_plain_names(&ir, known.c_names);
    // Without a census nobody knows whose an unmangled function is: both compilers get it.
    let unclear: Vec<Record> = if known.c_names.is_empty() {
        let is_unclear = |record: &&Record| plain.contains(&record.name);
        ir.records.iter().filter(is_unclear).cloned().collect()
    } else {
        Vec::new()
    };
    let (rust, mut c) = slice::split(ir, &plain);
    // A program without any C has no use for a C slice.
    if !c.records.is_empty() {
        c.records.extend(unclear);
    }
    Ok(Merged {
        whole,
        rust: non_empty(rust).map(|rust| {
            let rust = slice::merge_units(rust);
            let units = slice::highest_unit(&rust).map_or(UNITS, |unit| UNITS.max(unit + 1));
            slice::list_under_every_unit(rust, units).to_text()
        }),
        c: non_empty(c).map(|mut c| {
            c.sort();
            c.to_text()
        }),
        c_frontend: frontend.and_then(non_empty).map(|mut profile| {
            profile.sort();
            profile.to_text()
        }),
        limits,
        quality,
        quarantined: bad,
        files: total,
        images,
    })
}

fn non_empty(profile: InstrProfile) -> Option<InstrProfile> {
    (!profile.records.is_empty()).then_some(profile)
}

/// Unmangled functions that are not C's: `main`, `#[no_mangle]`, `extern "C"`.
fn rust_plain_names(profile: &InstrProfile, c_names: &BTreeSet<String>) -> BTreeSet<String> {
    profile
        .records
        .iter()
        .map(|record| &record.name)
        .filter(|name| !name.contains(';') && !c_names.contains(*name))
        // A mangled C++ name is no Rust's, whatever the census missed.
        .filter(|name| !name.starts_with("_Z"))
        .cloned()
        .collect()
}

struct Verified {
    ir: BTreeMap<Image, Vec<(u64, PathBuf)>>,
    frontend: Vec<(u64, PathBuf)>,
    /// By image and workload.
    counts: BTreeMap<Image, BTreeMap<String, u128>>,
    bad: Vec<BadRaw>,
}

/// Looks at every file before any tool does: llvm-profdata passes over an empty file without a
/// word, and ends at a foreign one.
fn verify(raws: &[RawProfiles], known: Known<'_>) -> Result<Verified, MergeError> {
    let mut strangers = Strangers::new(known);
    let mut verified = Verified {
        ir: BTreeMap::new(),
        frontend: Vec::new(),
        counts: BTreeMap::new(),
        bad: Vec::new(),
    };
    for workload in raws {
        let mut counted = false;
        let mut readable = false;
        for file in &workload.files {
            let bytes = std::fs::read(file).map_err(|error| FsError::new("read", file, error))?;
            match raw::read(&bytes) {
                Ok(profiles) => {
                    let stranger = profiles
                        .iter()
                        .find_map(|profile| strangers.reason(profile.packed_names(&bytes)));
                    if let Some(reason) = stranger {
                        verified.bad.push(BadRaw {
                            path: file.clone(),
                            reason,
                            cut_off: false,
                        });
                        continue;
                    }
                    readable = true;
                    counted |= profiles.iter().any(|profile| !profile.all_zero);
                    let image = Image::of(&profiles, &bytes);
                    let weight = u64::from(workload.weight);
                    let total: u128 = profiles.iter().map(|profile| profile.total).sum();
                    let counts = verified.counts.entry(image.clone()).or_default();
                    let sum = counts.entry(workload.workload.clone()).or_default();
                    *sum = sum.saturating_add(total.saturating_mul(weight.into()));
                    // One file holds images of one kind: `%m` keeps others apart.
                    let group = if profiles.iter().all(|profile| profile.ir) {
                        verified.ir.entry(image).or_default()
                    } else {
                        &mut verified.frontend
                    };
                    group.push((weight, file.clone()));
                }
                Err(error) => verified.bad.push(BadRaw {
                    path: file.clone(),
                    reason: error.to_string(),
                    cut_off: matches!(error, RawError::Empty | RawError::Truncated { .. }),
                }),
            }
        }
        if readable && !counted {
            return Err(MergeError::AllZero {
                workload: workload.workload.clone(),
            });
        }
    }
    Ok(verified)
}

/// Finds raw profiles of other programs: merged with ours they would look like a training of
/// code that is not there.
struct Strangers<'a> {
    known: Known<'a>,
    /// What was found out, by the packed names: processes of one program have equal ones.
    seen: HashMap<Vec<u8>, Option<String>>,
}

impl<'a> Strangers<'a> {
    fn new(known: Known<'a>) -> Strangers<'a> {
        Strangers {
            known,
            seen: HashMap::new(),
        }
    }

    /// Why these are the functions of another program; `None` if they may be ours.
    fn reason(&mut self, packed: &[u8]) -> Option<String> {
        if let Some(found) = self.seen.get(packed) {
            return found.clone();
        }
        let found = packed_names::unpack(packed)
            .ok()
            .and_then(|names| self.judge(&names));
        self.seen.insert(packed.to_owned(), found.clone());
        found
    }

    /// A program of ours has functions of a crate of the graph. An image without any function of
    /// a crate, such as a shared library of C, has functions that the instrumented build counts.
    fn judge(&self, functions: &[String]) -> Option<String> {
        let mut others = BTreeSet::new();
        let mut is_rust = false;
        // Every program has a `main`, so it tells something only where it is alone.
        let tells = |function: &&String| functions.len() == 1 || *function != "main";
        for function in functions.iter().filter(tells) {
            if self.known.c_names.contains(function) {
                return None;
            }
            let krate = names::rust_crate(function);
            is_rust |= krate.is_some();
            match krate {
                Some(krate) if self.known.crates.contains(krate) => return None,
                // Every Rust program has some of them.
                Some("std" | "core" | "alloc" | "test") | None => {}
                Some(krate) => {
                    others.insert(krate);
                }
            }
        }
        if !is_rust {
            let mut telling = functions.iter().filter(tells).map(String::as_str);
            let first = telling.clone().next()?;
            return match self.known.origin.holds_any(&mut telling) {
                Some(true) | None => None,
                Some(false) => Some(format!(
                    "is of another program: nothing that was built with counters here has its \
                     function `{first}`, or any other of it"
                )),
            };
        }
        let first = others.iter().next()?;
        Some(match others.len() - 1 {
            0 => format!("is of another program: its functions are of crate `{first}`"),
            more => format!(
                "is of another program: its functions are of crate `{first}` and {more} others, \
                 none of this workspace"
            ),
        })
    }
}

type Bad = Vec<BadRaw>;

/// Merges one kind of counters; what llvm-profdata refuses is left out and named.
fn merge_group(
    inputs: &[(u64, PathBuf)],
    profdata: &Profdata,
    dir: &Path,
) -> Result<(String, Bad), MergeError> {
    fs::create_dir(dir)?;
    let output = merged_file(dir);
    let list = dir.join("inputs.txt");
    // Left by a run that failed; a tool that writes nothing must not seem to have written it.
    fs::remove_file(&output)?;
    let read = || match fs::read_if_there(&output)? {
        Some(text) => Ok(text),
        None => Err(MergeError::NoOutput(profdata.program.clone())),
    };
    let attempt = |inputs: &[(u64, PathBuf)], mode| -> Result<Output, MergeError> {
        profdata::write_list(&list, &dir.join("links"), inputs)?;
        Ok(profdata.merge_to_text(&list, mode, &output).probe()?)
    };
    // Fast path: all are good.
    let first = attempt(inputs, FailureMode::Any)?;
    if first.status.success() {
        return Ok((read()?, Vec::new()));
    }
    let survey = attempt(inputs, FailureMode::Warn)?;
    let paths: Vec<&PathBuf> = inputs.iter().map(|(_, path)| path).collect();
    let bad: BTreeMap<PathBuf, String> = profdata::complaints(&survey.stderr, &paths)
        .into_iter()
        .filter(|(_, message)| !is_soft(message))
        .collect();
    let refused = |bad: BTreeMap<PathBuf, String>| {
        bad.into_iter()
            .map(|(path, reason)| BadRaw {
                path,
                reason,
                cut_off: false,
            })
            .collect()
    };
    let good: Vec<(u64, PathBuf)> = inputs
        .iter()
        .filter(|(_, path)| !bad.contains_key(path))
        .cloned()
        .collect();
    if bad.is_empty() {
        // It fails, and not because of a file: its own words are the best there is.
        let call = profdata.merge_to_text(&list, FailureMode::Any, &output);
        return Err(call.failed(first.status, &first.stderr).into());
    }
    if good.is_empty() {
        return Ok((String::from(":ir\n"), refused(bad)));
    }
    profdata::write_list(&list, &dir.join("links"), &good)?;
    profdata
        .merge_to_text(&list, FailureMode::Any, &output)
        .run()?;
    Ok((read()?, refused(bad)))
}

/// Where [`merge_group`] leaves what it merged.
fn merged_file(dir: &Path) -> PathBuf {
    dir.join("merged.proftext")
}

/// What concerns one function, not the file.
fn is_soft(message: &str) -> bool {
    [
        "hash mismatch",
        "counter mismatch",
        "counter overflow",
        "value site count",
    ]
    .iter()
    .any(|soft| message.contains(soft))
}

fn lost(bad: usize, total: usize, allowed: f64) -> String {
    if bad == total {
        return match total {
            1 => "the only raw profile can't be used".to_owned(),
            _ => format!("none of the {} can be used", plural(total, "raw profile")),
        };
    }
    format!(
        "{} of {} can't be used ({}), more than the {} allowed",
        count(bad as u64),
        plural(total, "raw profile"),
        percent(bad as f64 / total as f64),
        percent(allowed)
    )
}

fn list(bad: &[BadRaw]) -> String {
    const SHOWN: usize = 5;
    let mut lines: Vec<String> = bad
        .iter()
        .take(SHOWN)
        .map(|bad| format!("  `{}`: {}", bad.path.display(), bad.reason))
        .collect();
    if bad.len() > SHOWN {
        lines.push(format!("  and {} more", bad.len() - SHOWN));
    }
    lines.join("\n")
}
