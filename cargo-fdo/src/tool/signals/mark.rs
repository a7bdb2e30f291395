// Marks: files by which others know a process that has counts to save.
//
// `running/PID-NUMBER` beside the raw profiles is made at the start, and goes when the counts are
// saved at the end; one that is left belongs to a process that lost its counts. Only where there is
// that directory: a program that is run by hand leaves nothing. Without it, or where it can't be
// written, all goes on as ever. A mark holds
//
//   0000000002 rs     the number of saves on request, and two letters:
//                     `r` it runs; `f` it has forked, and nothing of note happened since
//                     `s` SIGUSR2 makes it save; `-` the signal is the program's own
//   /path/to/program

use crate::*;

extern "C" {
    fn open(path: *const u8, flags: Int, ...) -> Int;
    fn close(file: Int) -> Int;
    fn unlink(path: *const u8) -> Int;
    fn readlink(path: *const u8, target: *mut u8, size: usize) -> isize;
    fn getenv(name: *const u8) -> *const u8;
    fn getpid() -> Int;
}

/// Longest path; what does not fit has no mark.
pub const PATH: usize = 4096;

/// `LLVM_PROFILE_FILE` at the start: a program may change its environment.
static mut PATTERN: [u8; PATH] = [0; PATH];

/// The path of this image's mark, with a zero at its end; empty if there is none.
static mut MARK: [u8; PATH] = [0; PATH];

/// The process that the mark is of.
static MARKED: AtomicI32 = AtomicI32::new(0);

/// How many times the counts were saved on request.
static SAVES: AtomicI32 = AtomicI32::new(0);

const RUNNING: u8 = b'r';
/// It is likely to execute another program, or to end.
pub const AFTER_FORK: u8 = b'f';

const O_WRONLY: Int = 0o1;
const O_CREAT: Int = 0o100;
const O_EXCL: Int = 0o200;
const O_CLOEXEC: Int = 0o2_000_000;
const EEXIST: Int = 17;

/// The most that a number has.
const DIGITS: usize = 10;

/// Bytes in the memory of an array, as many as fit.
pub struct Text {
    pub start: *mut u8,
    length: usize,
    pub fits: bool,
}

impl Text {
    pub unsafe fn at(start: *mut u8) -> Text {
        Text { start, length: 0, fits: true }
    }

    pub unsafe fn byte(&mut self, byte: u8) {
        if self.length < PATH {
            *self.start.add(self.length) = byte;
            self.length += 1;
        } else {
            self.fits = false;
        }
    }

    unsafe fn bytes(&mut self, bytes: *const u8, count: usize) {
        let mut at = 0;
        while at < count {
            self.byte(*bytes.add(at));
            at += 1;
        }
    }

    /// With zeros before it, up to a number of digits.
    pub unsafe fn number(&mut self, number: Int, least: usize) {
        let mut digits = core::mem::MaybeUninit::<[u8; DIGITS]>::uninit();
        let digits = digits.as_mut_ptr() as *mut u8;
        let mut rest = number as u32;
        let mut count = 0;
        while rest != 0 || count < least {
            count += 1;
            *digits.add(DIGITS - count) = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.bytes(digits.add(DIGITS - count), count);
    }
}

pub fn mark_start() {
    unsafe {
        remember_pattern();
        mark(RUNNING);
    }
}

/// The mark of a forked child.
pub fn start_again() {
    SAVES.store(0, Ordering::Relaxed);
    unsafe { mark(AFTER_FORK) };
}

pub fn pattern() -> *const u8 {
    unsafe { core::ptr::addr_of!(PATTERN) as *const u8 }
}

unsafe fn remember_pattern() {
    let pattern = getenv(b"LLVM_PROFILE_FILE\0".as_ptr());
    let ours = core::ptr::addr_of_mut!(PATTERN) as *mut u8;
    if pattern.is_null() {
        return;
    }
    let mut text = Text::at(ours);
    let mut at = 0;
    while *pattern.add(at) != 0 {
        text.byte(*pattern.add(at));
        at += 1;
    }
    text.byte(0);
    if !text.fits {
        *ours = 0;
    }
}

/// Whether the pattern has `%` and this letter.
pub unsafe fn pattern_has(letter: u8) -> bool {
    let mut at = pattern();
    while *at != 0 {
        if *at == b'%' && *at.add(1) == letter {
            return true;
        }
        at = at.add(1);
    }
    false
}

/// Makes the mark of this process, if it can be made.
unsafe fn mark(state: u8) {
    let pattern = pattern();
    let mark = core::ptr::addr_of_mut!(MARK) as *mut u8;
    *mark = 0;
    // Continuous mode loses nothing; and the runtime does not know its mode yet.
    if *pattern != b'/' || pattern_has(b'c') {
        return;
    }
    let (mut dir, mut at) = (0, 0);
    while *pattern.add(at) != 0 {
        if *pattern.add(at) == b'/' {
            dir = at + 1;
        }
        at += 1;
    }
    let pid = getpid();
    let mut number = 0;
    // Other images of the process, and programs that it was before an `exec`, have one too.
    while number < 100 {
        let mut text = Text::at(mark);
        text.bytes(pattern, dir);
        let name = b"running/";
        text.bytes(name.as_ptr(), name.len());
        text.number(pid, 1);
        text.byte(b'-');
        text.number(number, 1);
        text.byte(0);
        if !text.fits {
            break;
        }
        let file = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600 as Int);
        if file >= 0 {
            MARKED.store(pid, Ordering::Relaxed);
            write_text(file, state, true);
            close(file);
            return;
        }
        if errno() != EEXIST {
            break;
        }
        number += 1;
    }
    *mark = 0;
}

/// Whether there is a mark, and of this process.
unsafe fn is_marked() -> bool {
    *(core::ptr::addr_of!(MARK) as *const u8) != 0
        && MARKED.load(Ordering::Relaxed) == getpid()
}

/// Writes the beginning of the mark anew; it has always the same length.
pub fn write_head(state: u8) {
    unsafe {
        if !is_marked() {
            return;
        }
        let file = open(core::ptr::addr_of!(MARK) as *const u8, O_WRONLY | O_CLOEXEC);
        if file >= 0 {
            write_text(file, state, false);
            close(file);
        }
    }
}

unsafe fn write_text(file: Int, state: u8, whole: bool) {
    let mut memory = core::mem::MaybeUninit::<[u8; PATH]>::uninit();
    let mut text = Text::at(memory.as_mut_ptr() as *mut u8);
    text.number(SAVES.load(Ordering::Relaxed), DIGITS);
    text.byte(b' ');
    text.byte(state);
    // Whether SIGUSR2 is ours, so that nobody sends it to a program that uses it.
    text.byte(if is_ours(&action(SIGUSR2)) { b's' } else { b'-' });
    text.byte(b'\n');
    if whole {
        let length = readlink(
            b"/proc/self/exe\0".as_ptr(),
            text.start.add(text.length),
            PATH - text.length,
        );
        if length > 0 {
            text.length += length as usize;
        }
    }
    write(file, text.start as *const c_void, text.length);
}

/// A save on request is done: whoever asked for it waits for this.
pub fn count_save() {
    SAVES.fetch_add(1, Ordering::Relaxed);
    write_head(RUNNING);
}

pub extern "C" fn unmark() {
    unsafe {
        if is_marked() {
            let mark = core::ptr::addr_of_mut!(MARK) as *mut u8;
            unlink(mark);
            *mark = 0;
        }
    }
}
