use super::super::generate::Random;
use super::super::llvm_text;
use super::super::quality::Cause;
use super::*;

/// `tests-data/sampled.c` by three compilers; the README there has the commands.
const CLANG: &[u8] = include_bytes!("../../../../tests-data/sampled-clang.elf");
const GCC: &[u8] = include_bytes!("../../../../tests-data/sampled-gcc.elf");
const AARCH64: &[u8] = include_bytes!("../../../../tests-data/sampled-aarch64.elf");

/// A policy that tells where each sample went.
fn summing(flavour: Flavour) -> Policy {
    Policy {
        counts: Counts::Sum,
        heads: Heads::Zero,
        own_code_only: false,
        ..Policy::of(flavour)
    }
}

/// One sample at every byte of the program's code.
fn every_byte(data: &[u8]) -> ImageSamples {
    let image = Image::read(data).unwrap();
    let mut samples = ImageSamples::default();
    for offset in 0..data.len() as u64 {
        let in_function = |at| ["work", "_start"].iter().any(|name| image.covers(name, at));
        if image.address(offset).is_some_and(in_function) {
            samples.addresses.insert(offset, 1);
            samples.samples += 1;
        }
    }
    samples
}

fn converted(samples: &ImageSamples, data: &[u8], policy: &Policy) -> Converted {
    convert(samples, &Image::read(data).unwrap(), policy).unwrap()
}

fn text(samples: &ImageSamples, data: &[u8], policy: &Policy) -> String {
    llvm_text::write(&converted(samples, data, policy).profile).text
}

// The numbers are bytes of code by position, and agree with `llvm-dwarfdump --debug-line` and
// `--debug-info`.

#[test]
fn bytes_of_clang_s_code_by_position() {
    let expected = "work:142:0\n 0: 2\n 1: 12\n 1.1: 17\n 1.2: 2\n 2: 29\n 2.2: 18\n 5: 1\n \
                    65526: 41\n 2.2: twice:20\n  1: 6\n  2: 4\n  3: 3\n  65532: 7\n\
                    _start:35:0\n 0: 1\n 1.1: 17\n 3: 2\n 65518: 15\n";
    let policy = summing(Flavour::Llvm);
    assert_eq!(text(&every_byte(CLANG), CLANG, &policy), expected);
}

#[test]
fn bytes_of_gcc_s_code_by_position() {
    let expected = "work:94:0\n 0: 2\n 1: 28\n 2: 32\n 3: 14\n 6: 1\n 2: twice:17\n  1: 5\n  2: 3\n  \
                    3: 9\n_start:16:0\n 1.1: 15\n 3: 1\n";
    let policy = summing(Flavour::Gcc);
    assert_eq!(text(&every_byte(GCC), GCC, &policy), expected);
}

#[test]
fn bytes_of_code_for_arm_by_position() {
    let expected = "work:124:0\n 1: 16\n 1.1: 24\n 1.2: 4\n 2: 20\n 2.2: 12\n 3: 8\n 5: 4\n \
                    65526: 16\n 2.2: twice:20\n  1: 4\n  2: 4\n  3: 12\n\
                    _start:44:0\n 0: 16\n 1.1: 16\n 3: 12\n";
    let policy = summing(Flavour::Llvm);
    assert_eq!(text(&every_byte(AARCH64), AARCH64, &policy), expected);
}

#[test]
fn code_that_did_not_run_is_known_to_be_cold() {
    // One sample, on the first instruction of `work`.
    let mut samples = ImageSamples::default();
    samples.addresses.insert(0x140, 7);
    let profile = converted(&samples, CLANG, &summing(Flavour::Llvm)).profile;
    assert_eq!(profile.functions.keys().collect::<Vec<_>>(), ["work"]);
    let work = &profile.functions["work"];
    assert_eq!((work.total, work.body.len()), (7, 8));
    let zeros = work.body.values().filter(|body| body.count == 0).count();
    assert_eq!(zeros, 7);
    let call = &work.call_sites[&Location {
        offset: 2,
        discriminator: 2,
    }];
    assert_eq!(call["twice"].total, 0);
    assert_eq!(call["twice"].body.len(), 4);
}

#[test]
fn heads_are_the_count_at_the_entry() {
    let mut samples = ImageSamples::default();
    samples.addresses.insert(0x140, 7);
    samples.addresses.insert(0x141, 2);
    // The last instruction of `_start`.
    samples.addresses.insert(0x1f2, 3);
    let mut policy = summing(Flavour::Llvm);
    for (counts, heads, work, start) in [
        (Counts::Sum, Heads::Entry, 9, 1),
        (Counts::Max, Heads::Entry, 7, 1),
        (Counts::Sum, Heads::Zero, 0, 0),
    ] {
        (policy.counts, policy.heads) = (counts, heads);
        let functions = converted(&samples, CLANG, &policy).profile.functions;
        assert_eq!(functions["work"].head, work, "{policy:?}");
        assert_eq!(functions["_start"].head, start, "{policy:?}");
    }
}

#[test]
fn branch_stacks_give_counts_heads_and_targets() {
    let mut samples = ImageSamples::default();
    // `_start` from its first byte to the call of `work`, ten times; twice only its last part.
    samples.ranges.insert((0x1d0, 0x1e6), 10);
    samples.ranges.insert((0x1e0, 0x1e6), 2);
    // From line 13 of `work`, and from outside.
    samples.branches.insert((0x1e6, 0x140), 12);
    samples.branches.insert((OUTSIDE, 0x140), 3);
    samples.branches.insert((0x1cd, OUTSIDE), 5);
    let expected = "_start:303:0\n 0: 10\n 1.1: 15 work:12\n 3: 0\n 65518: 10\n";
    let policy = Policy::of(Flavour::Llvm);
    let both = text(&samples, CLANG, &policy);
    assert!(both.contains("work:0:15\n 0: 0\n"), "{both}");
    let expected = expected.replace("15 work", "12 work").replace("303", "244");
    assert!(both.starts_with(&expected), "{both}");
}

#[test]
fn estimates_follow_the_flow() {
    // Ten samples in the loop of `_start`, of which most instructions got none.
    let mut samples = ImageSamples::default();
    samples.addresses.insert(0x1ed, 10);
    let converted = converted(&samples, CLANG, &Policy::of(Flavour::Llvm));
    let start = &converted.profile.functions["_start"];
    let count = |offset| {
        let body = start.body.iter().filter(|(at, _)| at.offset == offset);
        body.map(|(_, body)| body.count).max().unwrap()
    };
    // The loop ran, often; what is before and after it ran as often as the function was entered.
    assert!(count(1) > 50, "{start:?}");
    assert!(count(0).abs_diff(start.head) <= 1, "{start:?}");
    assert!(count(1) > 2 * count(0), "{start:?}");
}

#[test]
fn code_of_the_other_compiler_is_left_out_and_named() {
    let samples = every_byte(GCC);
    let gcc_code = converted(&samples, GCC, &Policy::of(Flavour::Llvm));
    assert!(gcc_code.profile.functions.is_empty());
    assert_eq!(gcc_code.quality.cause(), Some(Cause::OtherCompiler));
    assert_eq!(gcc_code.quality.foreign, samples.samples);
}

#[test]
fn quality_says_what_happened() {
    let mut samples = every_byte(CLANG);
    samples.addresses.insert(u64::MAX, 3);
    samples.build_id = Some(vec![0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0, 0]);
    let policy = summing(Flavour::Gcc);
    let quality = converted(&samples, CLANG, &policy).quality;
    assert_eq!(quality.weight, 180);
    // What has no line: GCC's rules drop it.
    assert_eq!(
        (quality.mapped, quality.without_line, quality.not_loaded),
        (114, 63, 3)
    );
    assert_eq!((quality.functions, quality.units), (2, 1));
    assert_eq!(quality.same_build, Some(true));
    assert_eq!(quality.cause(), None);
    samples.build_id = Some(vec![1; 20]);
    samples.addresses.retain(|at, _| *at == u64::MAX);
    let quality = converted(&samples, CLANG, &policy).quality;
    assert_eq!(quality.same_build, Some(false));
    assert_eq!(quality.cause(), Some(Cause::OtherBuild));
}

#[test]
fn small_functions_are_left_out_below_a_threshold() {
    let policy = Policy {
        threshold: 35,
        ..summing(Flavour::Llvm)
    };
    let converted = converted(&every_byte(CLANG), CLANG, &policy);
    assert_eq!(converted.profile.functions.len(), 1);
    assert_eq!(converted.quality.below_threshold, 35);
}

/// Converts by every policy; only panics are wrong.
fn survive(data: &[u8], samples: &ImageSamples) {
    let Ok(image) = Image::read(data) else { return };
    for flavour in [Flavour::Llvm, Flavour::Gcc] {
        let mut policy = summing(flavour);
        for counts in [Counts::Sum, Counts::Flow] {
            policy.counts = counts;
            if let Ok(converted) = convert(samples, &image, &policy) {
                let _ = converted.quality.cause();
            }
        }
    }
}

#[test]
fn truncated_files_are_no_panic() {
    for data in [CLANG, GCC, AARCH64] {
        let samples = every_byte(data);
        for end in (0..data.len()).step_by(7) {
            survive(&data[..end], &samples);
        }
    }
}

#[test]
fn changed_bytes_are_no_panic() {
    let mut random = Random::new(7);
    for data in [CLANG, GCC, AARCH64] {
        let mut samples = every_byte(data);
        samples.ranges.insert((0x140, 0x1f0), 3);
        let without = ImageSamples {
            ranges: Default::default(),
            ..samples.clone()
        };
        for _ in 0..3000 {
            let mut changed = data.to_vec();
            for _ in 0..1 + random.below(4) {
                let at = random.below(changed.len() as u64) as usize;
                changed[at] = match random.below(3) {
                    0 => changed[at] ^ 1 << random.below(8),
                    1 => 0xff,
                    _ => random.below(256) as u8,
                };
            }
            survive(
                &changed,
                if random.below(2) == 0 {
                    &samples
                } else {
                    &without
                },
            );
        }
    }
}

#[test]
fn strange_recordings_are_no_panic() {
    let mut samples = every_byte(CLANG);
    for at in [0, 1, 0x140, u64::MAX - 1, u64::MAX] {
        for to in [0, 0x141, 0x1d0, u64::MAX] {
            samples.ranges.insert((at, to), u64::MAX);
            samples.branches.insert((at, to), u64::MAX);
        }
        samples.addresses.insert(at, u64::MAX);
    }
    survive(CLANG, &samples);
    samples.ranges.clear();
    samples.branches.clear();
    survive(CLANG, &samples);
}
