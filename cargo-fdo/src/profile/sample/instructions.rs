//! Machine code, as far as control flow goes: where instructions begin, and where they lead.

use super::image::{Architecture, Machine};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction as X86};

/// An instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) address: u64,
    /// Bytes.
    pub(super) length: u64,
    pub(super) flow: Flow,
}

/// Where an instruction leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// To the next one.
    Next,
    /// To the next one after a call; to this function if it says which.
    Call(Option<u64>),
    /// Here, or to the next one.
    Branch(u64),
    /// Here, if it says where (a jump through a table does not), and not to the next one.
    Jump(Option<u64>),
    /// Out of the function.
    End,
}

/// The instructions in `code`, which begins at `address`, up to the first one that isn't known.
/// `None` for machines whose instructions are not known.
pub(super) fn decode(machine: Machine, code: &[u8], address: u64) -> Option<Vec<Instruction>> {
    match (machine.architecture, machine.little_endian) {
        (Architecture::X86_64, _) => Some(x86(code, address)),
        (Architecture::Aarch64, true) => Some(aarch64(code, address)),
        _ => None,
    }
}

fn x86(code: &[u8], address: u64) -> Vec<Instruction> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut instruction = X86::default();
    let mut found = Vec::with_capacity(code.len() / 4);
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() {
            break;
        }
        let target = instruction.near_branch_target();
        found.push(Instruction {
            address: instruction.ip(),
            length: instruction.len() as u64,
            flow: match instruction.flow_control() {
                FlowControl::Next | FlowControl::XbeginXabortXend | FlowControl::Interrupt => {
                    Flow::Next
                }
                FlowControl::ConditionalBranch => Flow::Branch(target),
                FlowControl::UnconditionalBranch => Flow::Jump(Some(target)),
                FlowControl::IndirectBranch => Flow::Jump(None),
                FlowControl::Call => Flow::Call(Some(target)),
                FlowControl::IndirectCall => Flow::Call(None),
                FlowControl::Return | FlowControl::Exception => Flow::End,
            },
        });
    }
    found
}

/// Branches of A64: "C4.1.86 Branches, Exception Generating and System instructions" of the Arm
/// Architecture Reference Manual.
fn aarch64(code: &[u8], address: u64) -> Vec<Instruction> {
    let words = code.chunks_exact(4).zip(0u64..);
    let decode = |(bytes, index): (&[u8], u64)| {
        let word = bytes
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u32::from(byte));
        let at = address.wrapping_add(4 * index);
        // A signed field of so many bits, counted in instructions.
        let target = |low: u32, bits: u32| {
            let field = (word << (32 - low - bits)) as i32 >> (32 - bits);
            at.wrapping_add_signed(4 * i64::from(field))
        };
        let flow = if word & 0x7c00_0000 == 0x1400_0000 {
            match word >> 31 {
                0 => Flow::Jump(Some(target(0, 26))),
                _ => Flow::Call(Some(target(0, 26))),
            }
        } else if word & 0xff00_0000 == 0x5400_0000 || word & 0x7e00_0000 == 0x3400_0000 {
            // b.cond, bc.cond; cbz, cbnz
            Flow::Branch(target(5, 19))
        } else if word & 0x7e00_0000 == 0x3600_0000 {
            // tbz, tbnz
            Flow::Branch(target(5, 14))
        } else if word & 0xfe00_0000 == 0xd600_0000 {
            // br, blr, ret and their authenticated forms
            match word >> 21 & 0xf {
                0b0000 | 0b1000 => Flow::Jump(None),
                0b0001 | 0b1001 => Flow::Call(None),
                _ => Flow::End,
            }
        } else if word & 0xffe0_001f == 0xd420_0000 || word & 0xffff_0000 == 0 {
            // brk; udf
            Flow::End
        } else {
            Flow::Next
        };
        Instruction {
            address: at,
            length: 4,
            flow,
        }
    };
    words.map(decode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(architecture: Architecture, code: &[u8]) -> Vec<(u64, Flow)> {
        let machine = Machine {
            architecture,
            little_endian: true,
        };
        let found = decode(machine, code, 0x1000).unwrap();
        found.iter().map(|one| (one.address, one.flow)).collect()
    }

    #[test]
    fn x86_64() {
        // push %rbp; je +2; call +0; jmp *%rax; jmp -17; call *%rax; ret; ud2; then rubbish
        let code = b"\x55\x74\x02\xe8\0\0\0\0\xff\xe0\xeb\xf5\xff\xd0\xc3\x0f\x0b\x06\x90";
        assert_eq!(
            flows(Architecture::X86_64, code),
            [
                (0x1000, Flow::Next),
                (0x1001, Flow::Branch(0x1005)),
                (0x1003, Flow::Call(Some(0x1008))),
                (0x1008, Flow::Jump(None)),
                (0x100a, Flow::Jump(Some(0x1001))),
                (0x100c, Flow::Call(None)),
                (0x100e, Flow::End),
                (0x100f, Flow::End),
            ]
        );
    }

    #[test]
    fn aarch64() {
        // As `llvm-mc --triple=aarch64 --show-encoding` writes them.
        let words: [u32; 12] = [
            0xd503_201f, // nop
            0x9400_0002, // bl +8
            0x17ff_fffe, // b -8
            0x5400_0041, // b.ne +8
            0xb4ff_ffc0, // cbz x0, -8
            0x3607_ffe0, // tbz w0, #0, -4
            0xd61f_0200, // br x16
            0xd63f_0200, // blr x16
            0xd65f_03c0, // ret
            0xd420_0020, // brk #1
            0x0000_0000, // udf #0
            0x9100_43ff, // add sp, sp, #16
        ];
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let flows: Vec<Flow> = flows(Architecture::Aarch64, &code)
            .into_iter()
            .map(|(_, flow)| flow)
            .collect();
        assert_eq!(
            flows,
            [
                Flow::Next,
                Flow::Call(Some(0x100c)),
                Flow::Jump(Some(0x1000)),
                Flow::Branch(0x1014),
                Flow::Branch(0x1008),
                Flow::Branch(0x1010),
                Flow::Jump(None),
                Flow::Call(None),
                Flow::End,
                Flow::End,
                Flow::End,
                Flow::Next,
            ]
        );
    }

    #[test]
    fn other_machines_are_not_guessed() {
        let machine = Machine {
            architecture: Architecture::Other,
            little_endian: true,
        };
        assert_eq!(decode(machine, &[0; 16], 0), None);
    }
}
