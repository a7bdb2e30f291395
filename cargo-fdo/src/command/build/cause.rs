//! Why a build used less of its profile than it should: the words behind exit code 7.

use crate::command::Session;
use crate::profile::consumed::Language as Lang;
use crate::report::{self, UseReport};
use crate::shim::evidence;
use crate::store::Campaign;
use crate::store::campaign::{self, Method};
use crate::toolbox::{RustSamples, Toolbox, Verdict};
use fdo_build::flags::Counters;
use fdo_build::protocol::{Family, Phase};

/// The likeliest reason for a low match.
pub(super) fn of(
    session: &Session,
    report: &UseReport,
    campaign: &Campaign,
    toolbox: &Toolbox,
) -> String {
    if let Some(file) = evidence::damaged(&session.layout.state(Phase::Optimize)) {
        return format!(
            "`{}`, which says what a compiler used, is damaged: `cargo fdo clean --keep-profiles`, then \
             build again",
            file.display()
        );
    }
    if campaign.manifest.rustc != toolbox.rustc.version {
        return "the profile is of another rustc".into();
    }
    let manifest = &campaign.manifest;
    if manifest.profile != session.cargo.profile {
        return format!(
            "the training was of the cargo profile `{}`, this is `{}`: `cargo fdo train --profile {}` \
             trains it",
            manifest.profile, session.cargo.profile, session.cargo.profile
        );
    }
    if let Some(words) = other_c_compiler(campaign, toolbox) {
        return words;
    }
    if let Some(words) = c_is_lost(session, report, toolbox) {
        return words;
    }
    if report.is_empty()
        && let Some(samples) = &toolbox.samples
        && let RustSamples::Unusable { reason, remedy } = &samples.rust
        && manifest.slices.contains_key(campaign::RUST)
    {
        return format!("{reason}; {remedy}");
    }
    if let Some(sampling) = &campaign.manifest.sampling
        && sampling.longer > report::LONGER
    {
        return format!(
            "the profile has few samples: {:.0} times as long a recording would have enough \
             (`repeat` in the table [sample] of fdo.toml), or another `frequency`",
            sampling.longer.ceil()
        );
    }
    if report.is_empty() {
        return "this build contains none of the code that the profile is of".into();
    }
    if report.is_sampled && report.lost_counts_of(Lang::Rust) * 2 > report.lost_counts() {
        return "rustc finds no place for samples of code that it inlines from one codegen unit into \
                another (`codegen-units = 1` in the cargo profile makes it one), nor for those of \
                functions whose source changed"
            .into();
    }
    if report.mismatched_counts * 2 > report.lost_counts() {
        return "most of the lost functions have another control flow than at the training: their \
                source changed, or a setting such as `opt-level` or `panic`"
            .into();
    }
    "most of the lost functions are not in this program any more, or the profile is of another one"
        .into()
}

/// C that this build compiles without its profile, where that is most of what is lost.
fn c_is_lost(session: &Session, report: &UseReport, toolbox: &Toolbox) -> Option<String> {
    let lost = report.lost_counts_of(Lang::C);
    if lost * 2 <= report.lost_counts() {
        return None;
    }
    let out = "`c = false` for the package takes its counts out of the account";
    if let Verdict::Unprofiled { reason, remedy } = &toolbox.c.verdict {
        return Some(format!(
            "the profile is of C and C++ too, and this build can't use it there: {reason}; {remedy}; \
             {out}"
        ));
    }
    if let Some((name, _)) = session
        .config
        .packages
        .iter()
        .find(|(name, policy)| policy.counters == Counters::Frontend && report.loses(name))
    {
        return Some(format!(
            "`{name}` has `counters = \"frontend\"` now, and its profile is of IR counters"
        ));
    }
    let (package, _) = report.unseen.first()?;
    Some(format!(
        "objects of `{package}` were compiled by something that does not go through CC or CXX; \
         {out}"
    ))
}

/// Samples of gcc's code are nothing for clang, and the other way round: they divide lines into
/// blocks by other rules.
fn other_c_compiler(campaign: &Campaign, toolbox: &Toolbox) -> Option<String> {
    let has = |name| campaign.manifest.slices.contains_key(name);
    let (then, now) = match toolbox.c.family {
        _ if campaign.manifest.method != Method::Sample => return None,
        Family::Clang if has(campaign::GCC) && !has(campaign::C) => ("gcc", "clang"),
        Family::Gcc if has(campaign::C) && !has(campaign::GCC) => ("clang", "gcc"),
        _ => return None,
    };
    Some(format!(
        "the profile of C and C++ is of {then}'s code, and this build compiles them with {now}"
    ))
}
