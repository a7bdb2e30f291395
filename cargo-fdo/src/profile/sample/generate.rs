//! Random sample profiles for tests, the same ones for the same seed.

use super::{BodySample, FunctionSamples, Location, SampleProfile};

/// Marsaglia's xorshift64*: enough for tests, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Less than `limit`, which is not zero.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }
}

/// What compilers call functions, and what they would not.
const NAMES: [&str; 12] = [
    "main",
    "lz4_count",
    "_ZN5tools4parseERKNSt7__cxx1112basic_stringIcEE",
    "_RNvMs_NtCs9ltgdHTiPiY_5serde2deNtB4_3Map4next",
    "_M_construct<char *>",
    "operator new(unsigned long)",
    "std::vector<int, std::allocator<int> >::push_back",
    "größe",
    "a:b",
    "-[View draw:]",
    "$anonymous",
    "with  blanks",
];

fn name(random: &mut Random) -> String {
    let name = NAMES[random.below(NAMES.len() as u64) as usize];
    match random.below(3) {
        0 => name.to_owned(),
        // Equal lengths and beginnings, so that orders show.
        n => format!("{name}{}", random.below(20) + n),
    }
}

fn count(random: &mut Random) -> u64 {
    match random.below(40) {
        0 => random.next() >> 8,
        1..8 => 0,
        _ => random.below(1000),
    }
}

fn location(random: &mut Random) -> Location {
    let lines = if random.below(20) == 0 { 0x10000 } else { 40 };
    Location {
        offset: random.below(lines) as u32,
        discriminator: random.below(3) as u32 * random.below(6) as u32,
    }
}

fn function(random: &mut Random, depth: u64) -> FunctionSamples {
    let mut samples = FunctionSamples {
        total: count(random),
        ..FunctionSamples::default()
    };
    for _ in 0..random.below(5) {
        let mut body = BodySample {
            count: count(random),
            ..BodySample::default()
        };
        for _ in 0..random.below(4).saturating_sub(1) {
            body.targets.insert(name(random), count(random));
        }
        samples.body.insert(location(random), body);
    }
    if depth > 0 {
        for _ in 0..random.below(3) {
            let site = samples.call_sites.entry(location(random)).or_default();
            for _ in 0..=random.below(2) {
                site.insert(name(random), function(random, depth - 1));
            }
        }
    }
    samples
}

/// A profile of some functions, inlined into each other.
pub(crate) fn profile(random: &mut Random) -> SampleProfile {
    let mut profile = SampleProfile::default();
    for _ in 0..=random.below(6) {
        let mut samples = function(random, 3);
        samples.head = count(random);
        profile.functions.insert(name(random), samples);
    }
    profile
}

/// A profile by contexts, as llvm-profgen makes them with call stacks.
pub(crate) fn with_contexts(random: &mut Random) -> SampleProfile {
    let mut profile = SampleProfile::default();
    for _ in 0..=random.below(12) {
        let mut context = String::from("[");
        for _ in 0..random.below(3) {
            let name = ["main", "outer", "_ZN5tools4parseEv"][random.below(3) as usize];
            let location = location(random);
            context += &format!("{name}:{}", location.offset);
            if location.discriminator > 0 {
                context += &format!(".{}", location.discriminator);
            }
            context += " @ ";
        }
        context += ["leaf]", "inner]"][random.below(2) as usize];
        let mut samples = function(random, 0);
        samples.head = count(random);
        samples.attributes = Some(random.below(4)).filter(|&attributes| attributes != 0);
        profile.functions.insert(context, samples);
    }
    profile
}

/// Makes it one by pseudo probes: a checksum everywhere, the same for the same name.
pub(crate) fn add_checksums(profile: &mut SampleProfile) {
    fn of(name: &str, samples: &mut FunctionSamples) {
        let sum = name.bytes().fold(7_u64, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(byte.into())
        });
        samples.checksum = Some(sum);
        for (name, copy) in samples.call_sites.values_mut().flatten() {
            of(name, copy);
        }
    }
    for (name, samples) in &mut profile.functions {
        of(name, samples);
    }
}

/// Damages a file: flips bits, cuts it, repeats or overwrites pieces.
pub(crate) fn damage(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let length = bytes.len().max(1) as u64;
        let at = random.below(length) as usize;
        match random.below(4) {
            0 => bytes.truncate(at),
            1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            2 => {
                // A length or an index that asks for all the memory there is.
                let at = at / 4 * 4;
                for byte in bytes.iter_mut().skip(at).take(4) {
                    *byte = 0xff;
                }
            }
            _ => {
                let piece: Vec<u8> = bytes.iter().skip(at).take(40).copied().collect();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}
