//! Finds callers in the copy of a stack, by what compilers wrote for exceptions (`.eh_frame`).
//!
//! Each file has an unwinder of its own that works in the file's addresses, whatever process mapped
//! it and where: so its tables are read once, and rules that were found for an address serve all
//! processes.

use super::files::{Content, Files};
use super::registers::Registers;
use super::tree::Frame;
use crate::profile::sample::image::Segments;
use crate::profile::sample::maps::Maps;
use framehop::aarch64::{CacheAarch64, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64};
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder};
use rustc_hash::FxHashMap;
use std::ops::{Deref, Range};
use std::rc::Rc;

/// Frames of a stack that are looked for. A copy of 64 KiB can hold 8,000 return addresses; deeper
/// than this no picture shows them.
const MAX_FRAMES: usize = 2048;

/// Pointer authentication uses the bits above those of addresses, 48 but on special kernels.
const ARM_ADDRESSES: PtrAuthMask = PtrAuthMask(u64::MAX >> 16);

/// The unwinders of all files.
#[derive(Default)]
pub(super) struct Unwinders {
    /// `None` for files that can't be read.
    by_file: FxHashMap<u32, Option<OfFile>>,
    /// For code that is in no file: its frame pointers are all there is.
    without_file: Option<Engine>,
}

struct OfFile {
    engine: Engine,
    segments: Segments,
}

/// How a stack ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// At the thread's first function.
    Whole,
    /// There are callers that were not found.
    Truncated,
}

impl Unwinders {
    /// Adds the frames of a program's stack, innermost first. `stack` begins at the stack pointer.
    pub(super) fn walk(
        &mut self,
        registers: Registers,
        stack: &[u8],
        maps: &Maps,
        files: &Files,
        out: &mut Vec<Frame>,
    ) -> End {
        let start = registers.sp();
        let mut read = |address: u64| {
            let at = address.checked_sub(start).ok_or(())?;
            let at = usize::try_from(at).map_err(|_| ())?;
            let bytes = stack.get(at..).and_then(|rest| rest.first_chunk());
            bytes.map(|bytes| u64::from_le_bytes(*bytes)).ok_or(())
        };
        let mut state = State::of(registers);
        let mut address = registers.ip();
        for depth in 0..MAX_FRAMES {
            let is_return = depth > 0;
            // A return address may be that of the next function, if the call never returns.
            let Some(code) = address.checked_sub(u64::from(is_return)) else {
                return End::Truncated;
            };
            let Some(mapping) = maps.find(code) else {
                // A jump to nowhere, or a wrong turn of ours.
                if !is_return {
                    out.push(Frame::Unknown);
                }
                return End::Truncated;
            };
            let next = match mapping.image {
                None => {
                    out.push(Frame::Unknown);
                    let engine = self.without_file.get_or_insert_with(|| Engine::of(state));
                    engine.next(code, is_return, &mut state, &mut read)
                }
                Some(file) => {
                    let offset = code.wrapping_add(mapping.shift);
                    out.push(Frame::Code { file, offset });
                    let unwinder = self
                        .by_file
                        .entry(file)
                        .or_insert_with(|| OfFile::open(files, file, state));
                    let Some(unwinder) = unwinder else {
                        return End::Truncated;
                    };
                    let Some(code) = unwinder.segments.address(offset) else {
                        return End::Truncated;
                    };
                    unwinder.engine.next(code, is_return, &mut state, &mut read)
                }
            };
            match next {
                Ok(Some(caller)) => address = caller,
                Ok(None) => return End::Whole,
                Err(_) => return End::Truncated,
            }
        }
        End::Truncated
    }
}

/// The registers on the way.
#[derive(Clone, Copy)]
enum State {
    X86_64(UnwindRegsX86_64),
    Aarch64(UnwindRegsAarch64),
}

impl State {
    fn of(registers: Registers) -> State {
        match registers {
            Registers::X86_64 { ip, sp, bp } => State::X86_64(UnwindRegsX86_64::new(ip, sp, bp)),
            Registers::Aarch64 { sp, fp, lr, .. } => State::Aarch64(
                UnwindRegsAarch64::new_with_ptr_auth_mask(ARM_ADDRESSES, lr, sp, fp),
            ),
        }
    }
}

/// An unwinder of one architecture, with the rules that it found.
enum Engine {
    X86_64(UnwinderX86_64<Piece>, Box<CacheX86_64>),
    Aarch64(UnwinderAarch64<Piece>, Box<CacheAarch64>),
}

impl Engine {
    fn of(state: State) -> Engine {
        match state {
            State::X86_64(_) => Engine::X86_64(UnwinderX86_64::new(), Box::default()),
            State::Aarch64(_) => Engine::Aarch64(UnwinderAarch64::new(), Box::default()),
        }
    }

    fn add(&mut self, module: Module<Piece>) {
        match self {
            Engine::X86_64(unwinder, _) => unwinder.add_module(module),
            Engine::Aarch64(unwinder, _) => unwinder.add_module(module),
        }
    }

    /// The return address of the function that holds `code`; `None` at the outermost function.
    fn next<R: FnMut(u64) -> Result<u64, ()>>(
        &mut self,
        code: u64,
        is_return: bool,
        state: &mut State,
        read: &mut R,
    ) -> Result<Option<u64>, framehop::Error> {
        let address = match is_return {
            true => FrameAddress::from_return_address(code.wrapping_add(1)),
            false => Some(FrameAddress::from_instruction_pointer(code)),
        };
        let address = address.ok_or(framehop::Error::ReturnAddressIsNull)?;
        match (self, state) {
            (Engine::X86_64(unwinder, cache), State::X86_64(registers)) => {
                unwinder.unwind_frame(address, registers, cache, read)
            }
            (Engine::Aarch64(unwinder, cache), State::Aarch64(registers)) => {
                unwinder.unwind_frame(address, registers, cache, read)
            }
            // A recording of two architectures.
            _ => Err(framehop::Error::DidNotAdvance),
        }
    }
}

/// A part of a file, which stays mapped as long as there is one.
struct Piece {
    content: Rc<Content>,
    place: Range<usize>,
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let bytes = self.content.bytes().get(self.place.clone());
        bytes.unwrap_or_default()
    }
}

impl OfFile {
    fn open(files: &Files, file: u32, state: State) -> Option<OfFile> {
        let content = Rc::new(files.get(file)?.open().ok()?);
        let image = content.image()?;
        let segments = image.segments().clone();
        let section = |name: &str| image.section(name).unzip();
        let piece = |place: Option<Range<usize>>| {
            place.map(|place| Piece {
                content: Rc::clone(&content),
                place,
            })
        };
        let (text_svma, _) = section(".text");
        let (got_svma, _) = section(".got");
        let (eh_frame_svma, eh_frame) = section(".eh_frame");
        let (_, debug_frame) = section(".debug_frame");
        // framehop has 32 bits for what lies between, and gives a file up of which one function lies
        // before: linkers put 0 in place of code that they threw away.
        let span = segments.span();
        let base = match u32::try_from(span.end) {
            Ok(_) => 0,
            Err(_) => span.start,
        };
        let module = Module::new(
            String::new(),
            base..u64::MAX,
            base,
            ExplicitModuleSectionInfo {
                base_svma: base,
                text_svma,
                got_svma,
                eh_frame_svma,
                eh_frame: piece(eh_frame),
                // A damaged table of the linker's is a panic in gimli; without one, framehop makes
                // its own, in some milliseconds for a large library.
                eh_frame_hdr_svma: None,
                eh_frame_hdr: None,
                debug_frame: piece(debug_frame),
                // Of other systems' files.
                text: None,
                stubs_svma: None,
                stub_helper_svma: None,
                unwind_info: None,
                text_segment_svma: None,
                text_segment: None,
            },
        );
        let mut engine = Engine::of(state);
        engine.add(module);
        Some(OfFile { engine, segments })
    }
}
