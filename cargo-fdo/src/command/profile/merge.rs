//! `cargo fdo profile merge`: the same kind in, the same kind out.
//!
//! Texts of samples and GCC's files are merged here. The rest is LLVM's: binary forms hold more
//! than a text can, such as the list of symbols that were never sampled.

use super::ProfileError;
use super::input::{Content, Family, Input};
use super::llvm::Llvm;
use crate::cli::profile::MergeArgs;
use crate::error::Result;
use crate::profile::kind::Kind;
use crate::profile::sample::gcov::{self, GcovProfile};
use crate::profile::sample::{SampleProfile, llvm_text, merge};
use crate::tool::profdata::write_list;
use crate::ui::{Ui, plural};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

type Weighted = (u64, Input);

pub(super) fn run(args: &MergeArgs, toolchain: Option<&str>, ui: &Ui) -> Result<()> {
    let llvm = Llvm::new(&args.llvm, toolchain);
    let mut inputs = Vec::new();
    for argument in &args.weighted_input {
        let (weight, path) = weighted(argument)?;
        inputs.push((weight, Input::open(&path)?));
    }
    for path in &args.files {
        inputs.push((1, Input::open(path)?));
    }
    let family = one_family(&inputs)?;
    let all_text = |kind| inputs.iter().all(|(_, input)| input.kind == kind);
    let written = match family {
        Family::Instr if all_text(Kind::LlvmInstrText) => by_llvm(&inputs, &["--text"], &llvm)?,
        Family::Instr => by_llvm(&inputs, &[], &llvm)?,
        Family::LlvmSample if all_text(Kind::LlvmSampleText) => samples(&inputs, &llvm, ui)?,
        Family::LlvmSample => {
            let sections = inputs
                .iter()
                .any(|(_, i)| i.kind == Kind::LlvmSampleExtBinary);
            let form = if sections { "--extbinary" } else { "--binary" };
            by_llvm(&inputs, &["--sample", form], &llvm)?
        }
        Family::GccSample => gcc_samples(&inputs, &llvm, ui)?,
        Family::Recording => {
            let path = inputs.into_iter().next().map(|(_, input)| input.path);
            return Err(ProfileError::Recording {
                path: path.unwrap_or_default(),
            }
            .into());
        }
    };
    super::put(&args.output, &written)?;
    ui.status(
        "Merged",
        format_args!(
            "{} into `{}` ({})",
            plural(inputs.len(), "profile"),
            args.output.display(),
            Kind::of(&written).map_or("empty".to_owned(), |kind| kind.to_string())
        ),
    );
    Ok(())
}

/// `W,FILE`, split at the first comma.
fn weighted(argument: &OsStr) -> Result<(u64, PathBuf)> {
    let parts = argument.to_str().and_then(|text| text.split_once(','));
    if let Some((weight, path)) = parts
        && let Ok(weight @ 1..) = weight.parse()
        && !path.is_empty()
    {
        return Ok((weight, path.into()));
    }
    Err(ProfileError::Weight(argument.to_string_lossy().into_owned()).into())
}

fn one_family(inputs: &[Weighted]) -> Result<Family> {
    let (_, first) = inputs.first().expect("clap wants an input");
    let family = first.family()?;
    for (_, other) in inputs {
        if other.family()? != family {
            return Err(ProfileError::Mixed {
                path: first.path.clone(),
                kind: first.kind,
                other: other.path.clone(),
                other_kind: other.kind,
            }
            .into());
        }
    }
    Ok(family)
}

fn by_llvm(inputs: &[Weighted], options: &[&str], llvm: &Llvm<'_>) -> Result<Vec<u8>> {
    let scratch = llvm.scratch()?;
    let list = scratch.join("inputs");
    let entries: Vec<_> = inputs
        .iter()
        .map(|(w, input)| (*w, input.path.clone()))
        .collect();
    write_list(&list, &scratch.join("links"), &entries)?;
    let paths: Vec<&Path> = inputs
        .iter()
        .map(|(_, input)| input.path.as_path())
        .collect();
    llvm.make(&paths, |call, output| {
        let call = call
            .arg("merge")
            .args(options)
            .arg("--input-files")
            .arg(&list);
        call.arg("--output").arg(output)
    })
}

fn samples(inputs: &[Weighted], llvm: &Llvm<'_>, ui: &Ui) -> Result<Vec<u8>> {
    let mut sum = SampleProfile::default();
    let mut mismatched = BTreeSet::new();
    for (weight, input) in inputs {
        if let Content::LlvmSample(profile) = input.read(llvm)? {
            if let (Some(own), Some(other)) = (form(&sum), form(&profile))
                && own != other
            {
                let (_, first) = &inputs[0];
                return Err(ProfileError::Damaged {
                    path: input.path.clone(),
                    kind: input.kind,
                    reason: format!("is {other}, `{}` is {own}", first.path.display()),
                }
                .into());
            }
            mismatched.extend(merge::add(&mut sum, &profile, *weight));
        }
    }
    if !mismatched.is_empty() {
        ui.warn(format_args!(
            "{} with another control flow in each profile: of those, the samples of the first \
             stay",
            plural(mismatched.len(), "function")
        ));
    }
    let written = llvm_text::write(&sum);
    say_left_out(&written.left_out, ui);
    Ok(written.text.into_bytes())
}

/// Profiles by context and by function have no text in common. `None` if it is empty.
fn form(profile: &SampleProfile) -> Option<&'static str> {
    let name = profile.functions.keys().next()?;
    Some(if llvm_text::is_context(name) {
        "a profile by contexts"
    } else {
        "a profile by functions"
    })
}

fn gcc_samples(inputs: &[Weighted], llvm: &Llvm<'_>, ui: &Ui) -> Result<Vec<u8>> {
    let mut sum: Option<GcovProfile> = None;
    for (weight, input) in inputs {
        let Content::GccSample(file) = input.read(llvm)? else {
            continue;
        };
        let version = file.version;
        let sum = sum.get_or_insert_with(|| GcovProfile::new(version, SampleProfile::default()));
        if sum.version != file.version {
            let (_, first) = &inputs[0];
            return Err(ProfileError::Versions {
                path: first.path.clone(),
                version: sum.version.number(),
                other: input.path.clone(),
                other_version: file.version.number(),
            }
            .into());
        }
        sum.add(&file, *weight);
    }
    let written = sum.map(|sum| gcov::write(&sum)).unwrap_or_default();
    say_left_out(&written.left_out, ui);
    Ok(written.bytes)
}

/// Warns of what the written form has no place for.
pub(super) fn say_left_out(names: &BTreeSet<String>, ui: &Ui) {
    let Some(first) = names.first() else {
        return;
    };
    ui.warn(format_args!(
        "{} can't be written in this form and {} left out: `{}`{}",
        plural(names.len(), "name"),
        if names.len() == 1 { "is" } else { "are" },
        first.escape_debug(),
        if names.len() == 1 { "" } else { " …" }
    ));
}
