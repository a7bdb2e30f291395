//! The registers that unwinding begins with, of the architectures that can be unwound.

use crate::profile::sample::perf_data::attr;

/// Where a thread stood, in 64-bit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Registers {
    /// `rip`, `rsp`, `rbp`.
    X86_64 { ip: u64, sp: u64, bp: u64 },
    /// `pc`, `sp`, `x29`, `x30`.
    Aarch64 { pc: u64, sp: u64, fp: u64, lr: u64 },
}

impl Registers {
    /// `None` for other architectures, for 32-bit code, and if one of them was not recorded.
    ///
    /// Recordings name their architecture behind the samples; the set of registers tells it before.
    pub(super) fn of(recorded: &attr::Registers<'_>) -> Option<Registers> {
        // Numbers of `arch/*/include/uapi/asm/perf_regs.h`.
        const BITS_64: u64 = 2;
        // x86's general registers end at 23, and 31 is none of its others.
        const ARM_SP: u32 = 31;
        if recorded.abi != BITS_64 {
            return None;
        }
        let get = |number| recorded.get(number);
        if recorded.mask & (1 << ARM_SP) != 0 {
            return Some(Registers::Aarch64 {
                pc: get(32)?,
                sp: get(ARM_SP)?,
                fp: get(29)?,
                lr: get(30)?,
            });
        }
        Some(Registers::X86_64 {
            ip: get(8)?,
            sp: get(7)?,
            bp: get(6)?,
        })
    }

    pub(super) fn ip(self) -> u64 {
        match self {
            Registers::X86_64 { ip, .. } => ip,
            Registers::Aarch64 { pc, .. } => pc,
        }
    }

    pub(super) fn sp(self) -> u64 {
        match self {
            Registers::X86_64 { sp, .. } | Registers::Aarch64 { sp, .. } => sp,
        }
    }
}
