//! Sampled profiles in the optimised build: what each compiler reads, and what it used.

use super::build::Built;
use super::optimize::sum::{Found, Sum};
use super::optimize::{LOST_SHOWN, OptimizeError, Place, STD, Use, c_place, rust_place};
use super::{census, own, units};
use crate::config::Profiles;
use crate::fs;
use crate::plan::{PhasePlan, Slice, Slices};
use crate::profile::consumed::Language as Lang;
use crate::profile::digest;
use crate::profile::evidence::Evidence;
use crate::profile::sample::consumed::{self, Function, Reader};
use crate::profile::sample::gcov::{self, GcovProfile, Version, lines};
use crate::profile::sample::{SampleProfile, llvm_text};
use crate::shim::evidence;
use crate::store::Layout;
use crate::store::campaign::{self, Campaign};
use crate::toolbox::Toolbox;
use crate::workspace::Workspace;
use fdo_build::flags::Pins;
use fdo_build::protocol::Family;
use std::collections::{BTreeMap, BTreeSet};

/// Writes a campaign's slices as the compilers of this run read them: LLVM's as the text that they
/// are, gcc's as an AutoFDO file of its version.
///
/// # Errors
///
/// [`OptimizeError`]
pub(super) fn prepare(
    campaign: &Campaign,
    toolbox: &Toolbox,
    profiles: Profiles,
    pins: Pins,
    layout: &Layout,
) -> Result<Slices, OptimizeError> {
    fs::create_dir(&layout.slices())?;
    let text = |name: &str| -> Result<Option<Slice>, OptimizeError> {
        let Some((_, hash)) = campaign.slice(name) else {
            return Ok(None);
        };
        // Not the campaign's own file: named by content, it is the same one, in the same flags, for
        // every campaign that has this slice.
        let file = layout.slices().join(format!("{hash}.sample.txt"));
        let slice = Slice {
            hash: hash.to_owned(),
            file,
        };
        let sum = Sum::beside(&slice.file);
        if sum.check(&slice.file)? == Found::Whole {
            return Ok(Some(slice));
        }
        let Some(text) = campaign.slice_text(name)? else {
            return Ok(None);
        };
        sum.write(text.as_bytes())?;
        // Not compared with what is there: that may be damaged, and no text.
        fs::write_quick(&slice.file, text.as_bytes())?;
        Ok(Some(slice))
    };
    let gcc = |name: &str| match (&toolbox.samples, toolbox.c.family) {
        (Some(samples), Family::Gcc) => gcc_slice(campaign, name, samples.c_major, layout),
        _ => Ok(None),
    };
    Ok(Slices {
        method: campaign.manifest.method,
        pins,
        partition: campaign.manifest.partition.clone(),
        rust: text(campaign::RUST)?,
        c: text(campaign::C)?,
        c_frontend: None,
        gcc: gcc(campaign::GCC)?,
        gcc_major: toolbox.samples.as_ref().map_or(0, |it| it.c_major),
        own: own::slices(campaign, profiles, text, gcc)?,
    })
}

fn gcc_slice(
    campaign: &Campaign,
    name: &str,
    major: u32,
    layout: &Layout,
) -> Result<Option<Slice>, OptimizeError> {
    let version = Version::of_gcc(major);
    let Some(profile) = profile(campaign, name)? else {
        return Ok(None);
    };
    let profile = lines::for_gcc(&profile, major);
    let bytes = gcov::write(&GcovProfile::new(version, profile)).bytes;
    // Of what gcc reads: another version of gcc, or of ours, makes another file of the same samples.
    let hash = digest::short(&bytes, 8);
    let file = layout.slices().join(format!("{hash}.afdo"));
    if std::fs::read(&file).ok().as_deref() != Some(&bytes) {
        fs::write_atomic(&file, &bytes)?;
    }
    Ok(Some(Slice { hash, file }))
}

/// A slice of a campaign, read.
fn profile(campaign: &Campaign, name: &str) -> Result<Option<SampleProfile>, OptimizeError> {
    let Some(text) = campaign.slice_text(name)? else {
        return Ok(None);
    };
    let read = llvm_text::parse(&text).map_err(|source| OptimizeError::Samples {
        path: campaign
            .slice(name)
            .map(|(path, _)| path)
            .unwrap_or_default(),
        source,
    })?;
    Ok(Some(read))
}

/// Holds what the compilers said against the profile.
pub(super) fn measure(
    plan: &PhasePlan,
    slices: &Slices,
    campaign: &Campaign,
    built: &Built,
    workspace: &Workspace,
    takes_part: &dyn Fn(&str, Lang) -> bool,
) -> Result<Use, OptimizeError> {
    let mut said = Evidence::default();
    let hash = |slice: &Option<Slice>| slice.as_ref().map(|slice| slice.hash.clone());
    let built_crates: BTreeSet<String> = built
        .artifacts
        .iter()
        .map(|artifact| artifact.name.replace('-', "_"))
        .collect();
    let rust_hash = hash(&slices.rust);
    for (_, unit) in units::of_build(&plan.state, built, workspace) {
        if Some(&unit.slice) == rust_hash.as_ref() {
            said.merge(evidence::words(&unit.words));
        }
    }
    let c_hashes: Vec<String> = [hash(&slices.c), hash(&slices.gcc)]
        .into_iter()
        .flatten()
        .collect();
    let mut c_packages: BTreeSet<String> = BTreeSet::new();
    let mut unseen = Vec::new();
    let objects = census::objects(&plan.state, &plan.target_dir, built, workspace);
    for (package, compiled) in &objects {
        for object in &compiled.objects {
            if c_hashes.contains(&object.slice) {
                said.merge(evidence::words(&object.words));
            }
        }
        if compiled.unseen > 0 {
            unseen.push((package.clone(), compiled.unseen));
        }
        c_packages.insert(package.clone());
    }

    let mut of_targets = Vec::new();
    for own in &slices.own {
        for (slice, name, reader) in [
            (&own.c, &own.c_name, Reader::Llvm),
            (&own.gcc, &own.gcc_name, Reader::Gcc),
        ] {
            if let Some(slice) = slice
                && let Some(of) = own::look(own, &slice.hash, plan, built, &objects)
                && let Some(profile) = profile(campaign, name)?
            {
                of_targets.push((of, profile, reader));
            }
        }
    }
    let parts = [
        (campaign::RUST, Lang::Rust, Reader::Llvm),
        (campaign::C, Lang::C, Reader::Llvm),
        (campaign::GCC, Lang::C, Reader::Gcc),
    ];
    let as_read = |profile, reader| match reader {
        Reader::Llvm => profile,
        Reader::Gcc => lines::for_gcc(&profile, slices.gcc_major),
    };
    let mut profiles = Vec::new();
    for (name, language, reader) in parts {
        if let Some(mut profile) = profile(campaign, name)? {
            let own = of_targets.iter().filter(|(_, _, of)| *of == reader);
            if language == Lang::C {
                own::subtract_samples(&mut profile, own.map(|(_, profile, _)| profile));
            }
            profiles.push((as_read(profile, reader), language, reader));
        }
    }
    let owners = campaign.owners()?;
    let mut functions = Vec::new();
    let mut elsewhere: BTreeMap<String, u128> = BTreeMap::new();
    for (profile, language, reader) in &profiles {
        for (name, samples) in &profile.functions {
            let place = match language {
                Lang::Rust => match rust_place(name, workspace, &built_crates) {
                    // perf sees the standard library too, which is compiled already.
                    Place::Here(package) if package == STD && !said.samples.contains_key(name) => {
                        Place::Elsewhere(package)
                    }
                    place => place,
                },
                Lang::C => c_place(owners.get(name), plan, workspace, &c_packages),
            };
            match place {
                Place::LeftOut => {}
                Place::Elsewhere(owner) => {
                    *elsewhere.entry(owner).or_default() += consumed::weight(samples);
                }
                Place::Here(package) if takes_part(&package, *language) => {
                    functions.push(Function {
                        name,
                        samples,
                        reader: *reader,
                        language: *language,
                        package,
                    });
                }
                Place::Here(_) => {}
            }
        }
    }
    let mut used = consumed::consumed(&functions, &said, LOST_SHOWN);
    for (of, profile, reader) in &of_targets {
        if !of.is_built {
            let sum: u128 = profile.functions.values().map(consumed::weight).sum();
            *elsewhere.entry(of.package.clone()).or_default() += sum;
        } else if takes_part(&of.package, Lang::C) {
            let profile = as_read(profile.clone(), *reader);
            let functions: Vec<Function<'_>> = profile
                .functions
                .iter()
                .map(|(name, samples)| Function {
                    name,
                    samples,
                    reader: *reader,
                    language: Lang::C,
                    package: of.package.clone(),
                })
                .collect();
            let part = consumed::consumed(&functions, &of.said, LOST_SHOWN);
            used.absorb(part, LOST_SHOWN);
        }
    }
    let mut elsewhere: Vec<(String, u128)> = elsewhere.into_iter().collect();
    elsewhere.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok(Use {
        used,
        elsewhere,
        unseen,
        other_units: None,
    })
}
