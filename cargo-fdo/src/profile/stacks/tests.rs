//! Recordings with exact stacks, of programs whose frames are written down in their assembler
//! (`tests-data/unwound-*.s`).

use super::{Sources, Stacks, TRUNCATED};
use crate::profile::sample::perf_data::writer::{
    CALLCHAIN, CPU_CLOCK, Event, IP_TID_TIME, REGS_USER, Records, STACK_USER, file, pipe,
};

const KERNEL: u64 = -128_i64 as u64;
const USER: u64 = -512_i64 as u64;

/// Where the programs are mapped, from the beginning of their files.
const MAPPED: u64 = 0x7f00_0000_1000;
/// Where the stack pointer is.
const STACK: u64 = 0x7ffe_0000_0000;

/// Without the names of a kernel.
fn read(bytes: &[u8]) -> Result<Stacks, crate::profile::sample::read::ReadError> {
    let sources = Sources {
        kallsyms: std::path::Path::new("/nowhere"),
        ..Sources::default()
    };
    super::read(bytes, sources)
}

struct Machine {
    program: &'static str,
    registers: u64,
    /// Places in the file: the first instruction of `leaf`, the return to `middle`, that to
    /// `_start`.
    leaf: u64,
    in_middle: u64,
    in_start: u64,
}

const X86_64: Machine = Machine {
    program: concat!(env!("CARGO_MANIFEST_DIR"), "/tests-data/unwound-x86_64.elf"),
    registers: 1 << 6 | 1 << 7 | 1 << 8,
    leaf: 0x240,
    in_middle: 0x23b,
    in_start: 0x231,
};

const AARCH64: Machine = Machine {
    program: concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests-data/unwound-aarch64.elf"
    ),
    registers: 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32,
    leaf: 0x24c,
    in_middle: 0x244,
    in_start: 0x238,
};

const BUILD_ID: [u8; 20] = [0; 20];

impl Machine {
    fn event(&self) -> Event {
        Event {
            sample_type: IP_TID_TIME | CALLCHAIN | REGS_USER | STACK_USER,
            registers: self.registers,
            ..CPU_CLOCK
        }
    }

    /// A process that runs the program.
    fn records(&self) -> Records {
        let mut records = Records::of(self.event());
        records
            .comm(0, 10, "my app")
            .map(0, 10, (MAPPED, 0x1000, 0), self.program, None);
        records
    }

    /// Registers in `leaf`, and the stack above it.
    fn in_leaf(&self) -> (Vec<u64>, Vec<u64>) {
        let at = |place| MAPPED + place;
        match self.registers & 1 << 32 {
            0 => (
                vec![0, STACK, at(self.leaf)],
                vec![at(self.in_middle), 0, 0, 0, at(self.in_start)],
            ),
            // Frame pointer and link register of `_start`, which `middle` saved.
            _ => (
                vec![0, at(self.in_middle), STACK, at(self.leaf)],
                vec![0, at(self.in_start), 0, 0],
            ),
        }
    }
}

fn folded(bytes: &[u8]) -> (String, Stacks) {
    let stacks = read(bytes).unwrap();
    (stacks.folded.text(), stacks)
}

#[test]
fn copies_of_stacks_are_unwound() {
    for machine in [X86_64, AARCH64] {
        let (registers, stack) = machine.in_leaf();
        let mut records = machine.records();
        let ip = MAPPED + machine.leaf;
        records.call(5, 10, ip, &[USER], &registers, &stack);
        records.call(6, 10, ip, &[USER], &registers, &stack);
        // The program is in the kernel.
        let chain = [KERNEL, 0xffff_ffff_8000_0010, USER];
        records.call(7, 10, chain[1], &chain, &registers, &stack);
        let bytes = file(&[machine.event()], &records, &[]);
        let expected = "my_app;_start;middle;leaf 2\n\
                        my_app;_start;middle;leaf;[kernel]_[k] 1\n";
        let (text, stacks) = folded(&bytes);
        assert_eq!(text, expected, "{}", machine.program);
        assert_eq!((stacks.samples, stacks.truncated), (3, 0));
        assert!(stacks.has_calls);
        assert_eq!(folded(&pipe(&[machine.event()], &records)).1.samples, 3);
        let compressed = records.compressed(81, 50);
        let (again, _) = folded(&file(&[machine.event()], &compressed, &[]));
        assert!(again.contains("my_app;_start;middle;leaf 2\n"), "{again}");
    }
}

#[test]
fn a_copy_that_ends_too_soon_is_marked_and_so_is_a_program_that_is_not_here() {
    let (registers, stack) = X86_64.in_leaf();
    let ip = MAPPED + X86_64.leaf;
    let mut records = X86_64.records();
    records.call(5, 10, ip, &[USER], &registers, &stack[..3]);
    let (text, stacks) = folded(&file(&[X86_64.event()], &records, &[]));
    assert_eq!(text, format!("my_app;{TRUNCATED};middle;leaf 1\n"));
    assert_eq!(stacks.truncated, 1);

    let mut records = Records::of(X86_64.event());
    records
        .map(0, 10, (MAPPED, 0x1000, 0), "/nowhere/libfoo.so.1", None)
        .call(5, 10, ip, &[USER], &registers, &stack);
    let (text, stacks) = folded(&file(&[X86_64.event()], &records, &[]));
    assert_eq!(text, format!(":10;{TRUNCATED};[libfoo.so.1] 1\n"));
    assert_eq!(stacks.unnamed[0].cause, super::Cause::NoFile);
    assert_eq!(stacks.unnamed_share(), 1.0);
}

#[test]
fn a_program_of_another_build_gives_no_names() {
    let (registers, stack) = X86_64.in_leaf();
    let mut records = Records::of(X86_64.event());
    records
        .map(0, 10, (MAPPED, 0x1000, 0), X86_64.program, Some(BUILD_ID))
        .call(5, 10, MAPPED + X86_64.leaf, &[USER], &registers, &stack);
    let (text, stacks) = folded(&file(&[X86_64.event()], &records, &[]));
    assert_eq!(text, format!(":10;{TRUNCATED};[unwound-x86_64.elf] 1\n"));
    assert_eq!(stacks.unnamed[0].cause, super::Cause::OtherBuild);
}

#[test]
fn frame_pointer_chains_are_used_as_they_are() {
    let event = Event {
        sample_type: IP_TID_TIME | CALLCHAIN,
        ..CPU_CLOCK
    };
    let at = |place| MAPPED + place;
    let mut records = Records::of(event);
    records
        .comm(0, 10, "app")
        .map(0, 10, (MAPPED, 0x1000, 0), X86_64.program, None);
    // The return to `_start` is the byte behind its last instruction but one.
    let chain = [
        USER,
        at(X86_64.leaf),
        at(X86_64.in_middle),
        at(X86_64.in_start),
    ];
    records.call(5, 10, chain[1], &chain, &[], &[]);
    records.call(6, 10, chain[1], &[USER, chain[1], 0x10, 0x20], &[], &[]);
    records.call(7, 10, chain[1], &[], &[], &[]);
    let (text, _) = folded(&file(&[event], &records, &[]));
    assert_eq!(
        text,
        "app;[unknown];leaf 1\napp;_start;middle;leaf 1\napp;leaf 1\n"
    );
}

#[test]
fn samples_without_callers_are_functions() {
    let mut records = Records::of(CPU_CLOCK);
    records
        .map(0, 10, (MAPPED, 0x1000, 0), X86_64.program, None)
        .sample(5, 10, MAPPED + X86_64.leaf)
        .sample(6, 10, 0x10);
    let (text, stacks) = folded(&file(&[CPU_CLOCK], &records, &[]));
    assert_eq!(text, ":10;[unknown] 1\n:10;leaf 1\n");
    assert!(!stacks.has_calls);
}

#[test]
fn names_and_mappings_are_those_of_the_time() {
    let (registers, stack) = X86_64.in_leaf();
    let ip = MAPPED + X86_64.leaf;
    let mut records = Records::of(X86_64.event());
    // From two buffers: the later sample stands first.
    records
        .call(9, 10, ip, &[USER], &registers, &stack)
        .map(4, 10, (MAPPED, 0x1000, 0), X86_64.program, None)
        .comm(7, 10, "new")
        .comm(3, 10, "old")
        .call(5, 10, ip, &[USER], &registers, &stack)
        .call(2, 10, ip, &[USER], &registers, &stack)
        .end_pass();
    let (text, _) = folded(&file(&[X86_64.event()], &records, &[]));
    assert_eq!(
        text,
        ":10;[truncated];[unknown] 1\nnew;_start;middle;leaf 1\nold;_start;middle;leaf 1\n"
    );
}

#[test]
fn recordings_cut_or_changed_anywhere_are_no_panic() {
    for machine in [X86_64, AARCH64] {
        let (registers, stack) = machine.in_leaf();
        let mut records = machine.records();
        let ip = MAPPED + machine.leaf;
        for time in 5..8 {
            records.call(time, 10, ip, &[KERNEL, 1 << 63, USER], &registers, &stack);
        }
        let bytes = file(&[machine.event()], &records, &[(machine.program, BUILD_ID)]);
        for end in 0..bytes.len() {
            let _ = read(&bytes[..end]);
        }
        for at in 0..bytes.len() {
            for value in [0, 0x7f, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                let _ = read(&changed[..]);
            }
        }
    }
}

#[test]
fn programs_damaged_anywhere_are_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("program");
    let name = path.to_str().unwrap();
    for machine in [X86_64, AARCH64] {
        let (registers, stack) = machine.in_leaf();
        let mut records = Records::of(machine.event());
        records.map(0, 10, (MAPPED, 0x1000, 0), name, None).call(
            5,
            10,
            MAPPED + machine.leaf,
            &[USER],
            &registers,
            &stack,
        );
        let bytes = file(&[machine.event()], &records, &[]);
        let program = std::fs::read(machine.program).unwrap();
        for at in 0..program.len() {
            let mut damaged = program.clone();
            damaged[at] = if at % 2 == 0 { 0x80 } else { 0xff };
            std::fs::write(&path, damaged).unwrap();
            let stacks = read(&bytes).unwrap();
            assert_eq!(stacks.folded.total(), 1);
        }
    }
}
