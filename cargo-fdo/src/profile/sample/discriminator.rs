//! Discriminators: what tells apart the basic blocks of one source line.
//!
//! GCC's are plain numbers. LLVM packs up to three into one, each in a prefix code: the *base*,
//! which numbers the blocks, the *duplication factor*, by which the optimiser multiplied copies of
//! the instruction (unrolling, vectorising), and a *copy* number. The lowest bit says whether a
//! component is there at all:
//!
//! ```text
//! …1          absent, one bit
//! …0vvvvv0    0 to 31, seven bits
//! …vvvvvvv1vvvvv0    0 to 4095, fourteen bits: bits 7 to 13 above bits 1 to 5
//! ```
//!
//! Encoding: `DILocation::encodeDiscriminator` and `getPrefixEncodingFromUnsigned` in
//! `llvm/lib/IR/DebugInfoMetadata.cpp` and `llvm/include/llvm/IR/Discriminator.h`.

/// The base discriminator in LLVM's number from DWARF.
pub(super) fn base(packed: u32) -> u32 {
    component(packed)
}

/// How many copies of the instruction the optimiser made of one execution; at least 1.
pub(super) fn duplication(packed: u32) -> u64 {
    u64::from(component(after_first(packed)).max(1))
}

fn component(packed: u32) -> u32 {
    if packed & 1 == 1 {
        return 0;
    }
    let value = packed >> 1;
    let low = value & 0x1f;
    if value & 0x20 == 0 {
        low
    } else {
        low | ((value >> 1) & 0xfe0)
    }
}

fn after_first(packed: u32) -> u32 {
    if packed & 1 == 1 {
        packed >> 1
    } else if packed & 0x40 == 0 {
        packed >> 7
    } else {
        packed >> 14
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clang_writes() {
        // Raw numbers seen in objects of clang 22 and rustc 1.95.
        assert_eq!(base(0), 0);
        assert_eq!([2, 4, 6].map(base), [1, 2, 3]);
        assert_eq!((base(514), duplication(514)), (1, 2));
        assert_eq!(duplication(2), 1);
        assert_eq!((base(40968), duplication(40968)), (4, 64));
    }

    #[test]
    fn two_byte_components() {
        // 33: low five bits 1, the rest in bits 7 and up.
        assert_eq!(base((1 << 7) | 0x40 | (1 << 1)), 33);
        assert_eq!(duplication((4 << 1) << 14 | (1 << 7) | 0x40 | (1 << 1)), 4);
        assert_eq!(base(u32::MAX), 0);
        assert_eq!(duplication(u32::MAX), 1);
    }
}
