//! Sample profiles of ours, given to the tools that read them.

use super::tool;
use crate::profile::sample::gcov::{self, GcovProfile, Version};
use crate::profile::sample::generate::{self, Random};
use crate::profile::sample::{FunctionSamples, SampleProfile, llvm_text, merge, overlap};
use crate::tool::Invocation;
use std::path::{Path, PathBuf};

const LLVM_PROFDATA: &str = "llvm-profdata-22";

fn written(dir: &Path, name: &str, profile: &SampleProfile) -> (PathBuf, String) {
    let text = llvm_text::write(profile).text;
    let path = dir.join(name);
    std::fs::write(&path, &text).unwrap();
    (path, text)
}

#[track_caller]
fn merged_by_llvm(profdata: &Path, args: &[String]) -> String {
    let call = Invocation::new(profdata)
        .args(["merge", "--sample", "--text", "-o", "-"])
        .args(args);
    call.run().unwrap().stdout
}

fn random_profile(seed: u64) -> SampleProfile {
    let random = &mut Random::new(seed);
    let mut profile = match seed % 3 {
        0 => generate::with_contexts(random),
        _ => generate::profile(random),
    };
    if seed.is_multiple_of(2) {
        generate::add_checksums(&mut profile);
    }
    profile
}

#[test]
fn llvm_writes_our_text_as_it_is() {
    let Some(profdata) = tool(LLVM_PROFDATA) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    for seed in 0..24 {
        let (path, text) = written(dir.path(), "a", &random_profile(seed));
        let theirs = merged_by_llvm(&profdata, &[path.display().to_string()]);
        assert_eq!(theirs, text, "seed {seed}");
    }
}

#[test]
fn llvm_merges_as_we_do() {
    let Some(profdata) = tool(LLVM_PROFDATA) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    for seed in 0..12 {
        // Six apart: the same kind of profile.
        let (a, b) = (random_profile(seed), random_profile(seed + 60));
        let paths = [
            written(dir.path(), "a", &a).0,
            written(dir.path(), "b", &b).0,
        ];
        let weights = [seed + 1, 3];
        let inputs = weights.iter().zip(&paths);
        let inputs = inputs.map(|(w, path)| format!("-weighted-input={w},{}", path.display()));
        let theirs = merged_by_llvm(&profdata, &inputs.collect::<Vec<_>>());
        let mut sum = SampleProfile::default();
        for (profile, weight) in [&a, &b].into_iter().zip(weights) {
            assert!(merge::add(&mut sum, profile, weight).is_empty());
        }
        assert_eq!(llvm_text::write(&sum).text, theirs, "seed {seed}");
    }
}

#[test]
fn llvm_finds_the_same_overlap() {
    let Some(profdata) = tool(LLVM_PROFDATA) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    for seed in 0..12 {
        let random = &mut Random::new(seed);
        let base = generate::profile(random);
        let mut test = generate::profile(random);
        // Something in common.
        merge::add(&mut test, &base, 1 + seed % 2);
        let call = Invocation::new(&profdata)
            .args(["overlap", "--sample"])
            .arg(written(dir.path(), "a", &base).0)
            .arg(written(dir.path(), "b", &test).0);
        let theirs = call.run().unwrap().stdout;
        let Some(ours) = overlap::compare(&base, &test) else {
            assert!(theirs.contains(" is 0."), "{theirs}");
            continue;
        };
        for (what, share) in [
            ("Whole program profile similarity", ours.similarity),
            ("Whole program sample overlap", ours.samples),
            ("Function overlap", ours.functions),
        ] {
            let theirs = theirs.lines().find_map(|line| {
                let percent = line.trim().strip_prefix(what)?.strip_prefix(": ")?;
                percent.strip_suffix('%')?.parse::<f64>().ok()
            });
            let difference = theirs.unwrap() - share * 100.0;
            assert!(
                difference.abs() < 0.000_51,
                "seed {seed}: {what}: {difference}"
            );
        }
    }
}

/// With a branch that is taken 700 times in the profile, and never in fact.
const PROGRAM: &str = "\
int sink;
__attribute__((noinline)) int twice(int x)
{
    if (x == 12345)
        sink += 3;
    else
        sink += 5;
    return x * 2;
}
int main(void)
{
    for (int i = 0; i < 1000; i++)
        twice(i);
    return 0;
}
";

fn compile(gcc: &Path, dir: &Path, version: Version) -> super::super::Output {
    let profile = llvm_text::parse(
        "twice:3703:1000\n 2: 1000\n 3: 700\n 5: 3\n 6: 1000\nmain:2001:1\n 2: 1000 twice:1000\n \
         3: 1000\n 4: 1\n",
    );
    let file = GcovProfile::new(version, profile.unwrap());
    std::fs::write(dir.join("p.afdo"), gcov::write(&file).bytes).unwrap();
    std::fs::write(dir.join("a.c"), PROGRAM).unwrap();
    let call = Invocation::new(gcc)
        .args([
            "-O2",
            "-g",
            "-c",
            "-fdump-ipa-afdo-blocks",
            "-fauto-profile=p.afdo",
            "a.c",
        ])
        .cwd(dir);
    call.probe().unwrap()
}

/// What gcc knows about the blocks after it read the profile.
fn dump(dir: &Path) -> String {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let path = paths.find(|path| {
        path.extension()
            .is_some_and(|extension| extension == "afdo" && !path.ends_with("p.afdo"))
    });
    std::fs::read_to_string(path.expect("gcc wrote a dump")).unwrap()
}

#[test]
fn gcc_12_reads_version_2_and_uses_it() {
    let Some(gcc) = tool("gcc-12") else { return };
    let dir = tempfile::tempdir().unwrap();
    let output = compile(&gcc, dir.path(), Version::V2);
    assert!(output.status.success(), "{}", output.stderr);
    assert_eq!(output.stderr, "");
    let dump = dump(dir.path());
    // 700 of 703, which nobody would guess of `x == 12345`.
    assert!(dump.contains("[99.57%]"), "{dump}");

    let output = compile(&gcc, dir.path(), Version::V1);
    assert!(!output.status.success());
    let complaint = "AutoFDO profile version 1 does not match 2";
    assert!(output.stderr.contains(complaint), "{}", output.stderr);
}

#[test]
fn gcc_11_reads_version_1_and_uses_it() {
    let Some(gcc) = tool("gcc-11") else { return };
    let dir = tempfile::tempdir().unwrap();
    let output = compile(&gcc, dir.path(), Version::V1);
    assert!(output.status.success(), "{}", output.stderr);
    assert!(dump(dir.path()).contains("[99.57%]"));
}

/// Takes out inlined copies without a single position, which autofdo does not keep.
fn prune(samples: &mut FunctionSamples) {
    for site in samples.call_sites.values_mut() {
        site.retain(|_, copy| {
            prune(copy);
            !copy.body.is_empty() || !copy.call_sites.is_empty()
        });
    }
    samples.call_sites.retain(|_, site| !site.is_empty());
}

#[test]
fn autofdos_own_tools_read_what_we_write() {
    let Some(merger) = tool("profile_merger") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let mut sum = SampleProfile::default();
    for (seed, name) in [(1, "a.afdo"), (2, "b.afdo")] {
        let mut profile = generate::profile(&mut Random::new(seed));
        for samples in profile.functions.values_mut() {
            samples.recount();
            prune(samples);
        }
        // The tool drops functions with ten samples or fewer.
        profile.functions.retain(|_, samples| samples.total > 1000);
        merge::add(&mut sum, &profile, 1);
        let file = GcovProfile::new(Version::V1, profile);
        std::fs::write(at(name), gcov::write(&file).bytes).unwrap();
    }
    let call = Invocation::new(merger)
        .args(["--gcov_version=1", "--sample_threshold_frac=0"])
        .arg(format!("--output_file={}", at("merged.afdo").display()))
        .args([at("a.afdo"), at("b.afdo")]);
    call.run().unwrap();
    let merged = gcov::read(&std::fs::read(at("merged.afdo")).unwrap()).unwrap();
    let theirs = llvm_text::write(&merged.profile).text;
    assert_eq!(llvm_text::write(&sum).text, theirs);
    crate::tool::sample_converter::prove_merger(dir.path()).unwrap();
}
