// Linked into instrumented programs: saves the profile when a signal comes, keeps the counts of
// forked processes apart, and shows which processes have counts that are not saved.
//
//   SIGUSR2   saves the counts, sets them to zero, and the program goes on
//   SIGTERM   saves the counts, and the program ends by SIGTERM as it would have
//
// Only where the program left the signal at its default; a handler of its own, or a signal
// that it ignores, stays. Counts are set to zero after each save because a file whose name
// has `%m` adds up.
//
//   fork      a child would save what its parent had counted once more: its counts begin at zero,
//             and its file gets its own process number. A daemon's first process ends by `_exit`
//             right after its fork, so a process saves before its first one.
//
// A process that has counts is marked by a file, `running/PID-NUMBER` beside the raw profiles. It
// goes when the counts are saved at the end; what is left belongs to processes that lost theirs.
// Only where there is such a directory: a program that is run by hand leaves nothing. A file holds
// the number of saves on request, two letters and the program's path (`marker.rs` reads it).
//
// Compiled by the user's rustc, whatever its age, and linked by any compiler: no library, no
// panic, no symbol that another copy of this object could clash with.
//
// What can't be had: saving allocates and takes locks, which a signal handler must not. If the
// signal comes in the middle of an allocation, saving may hang. A process that hangs so for
// ten seconds is ended (by SIGTERM, or by SIGALRM where it was SIGUSR2), without that save.
// A thread that blocks all signals, SIGALRM too, escapes this. While a file is being written,
// other threads go on counting: what they count between write and reset is lost. A child that
// was not made by `fork` (`clone` itself, `vfork`) shares its parent's mark and name.

#![no_std]

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

type Int = i32;
type Handler = extern "C" fn(Int);

const SIGALRM: Int = 14;
const SIGTERM: Int = 15;
const SIGUSR2: Int = 12;
const SIG_DFL: usize = 0;
const SIG_UNBLOCK: Int = 1;
const SA_RESTART: Int = 0x1000_0000;
const STDERR: Int = 2;

/// How long saving may take, in seconds.
const PATIENCE: u32 = 10;

const SET_WORDS: usize = 128 / core::mem::size_of::<usize>();

/// `sigset_t` of glibc and musl.
type Set = [usize; SET_WORDS];

/// `struct sigaction` of glibc and musl on the 64-bit targets that `signals.rs` lists.
#[repr(C)]
struct Action {
    handler: usize,
    mask: Set,
    flags: Int,
    restorer: usize,
}

extern "C" {
    fn __llvm_profile_write_file() -> Int;
    fn __llvm_profile_reset_counters();
    fn __llvm_profile_is_continuous_mode_enabled() -> Int;

    fn sigaction(signal: Int, new: *const Action, old: *mut Action) -> Int;
    fn sigprocmask(how: Int, set: *const Set, old: *mut Set) -> Int;
    fn raise(signal: Int) -> Int;
    fn alarm(seconds: u32) -> u32;
    fn usleep(microseconds: u32) -> Int;
    fn write(file: Int, bytes: *const c_void, count: usize) -> isize;
    fn open(path: *const u8, flags: Int, ...) -> Int;
    fn close(file: Int) -> Int;
    fn unlink(path: *const u8) -> Int;
    fn readlink(path: *const u8, target: *mut u8, size: usize) -> isize;
    fn getenv(name: *const u8) -> *const u8;
    fn getpid() -> Int;
    fn malloc(size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
    fn __errno_location() -> *mut Int;

    fn __llvm_profile_set_filename(pattern: *const u8);
}

/// Signals held back while a handler of ours runs. Also our signature: the handler of another
/// copy of this object, in another image of the process, is known by it.
const MASK: Set = with(with(with(with(with(with(with(
    [0; SET_WORDS], SIGTERM), SIGUSR2), 10), 23), 28), 45), 61);

const fn with(mut set: Set, signal: Int) -> Set {
    let bit = (signal as usize - 1) % 64;
    set[bit / usize::BITS as usize] |= 1 << (bit % usize::BITS as usize);
    set
}

const DEFAULT: Action = Action { handler: SIG_DFL, mask: [0; SET_WORDS], flags: 0, restorer: 0 };

/// Interrupted calls of the program are restarted where the kernel can.
fn ours(handler: usize) -> Action {
    Action { handler, mask: MASK, flags: SA_RESTART, ..DEFAULT }
}

/// The handlers of the images that were started before this one; 0 if there are none.
static NEXT_TERMINATE: AtomicUsize = AtomicUsize::new(0);
static NEXT_SAVE: AtomicUsize = AtomicUsize::new(0);

/// Whether some thread is saving.
static BUSY: AtomicBool = AtomicBool::new(false);

/// The signal that is being served, for `give_up`; 0 for a fork.
static SERVED: AtomicI32 = AtomicI32::new(0);

/// Whether this process has forked.
static FORKED: AtomicBool = AtomicBool::new(false);

// Not a `#[used]` static: that would be a global symbol, and two copies of this object in one
// link (rustc's own line and a wrapper around its linker) would clash.
macro_rules! run_at {
    ($section:literal, $type:literal, $pointer:literal, $function:ident) => {
        core::arch::global_asm!(
            concat!(".pushsection ", $section, ",\"aw\",", $type),
            ".balign 8",
            concat!($pointer, " {function}"),
            ".popsection",
            function = sym $function,
        );
    };
}
#[cfg(target_pointer_width = "64")]
run_at!(".init_array", "%init_array", ".8byte", start);
#[cfg(target_pointer_width = "64")]
run_at!(".fini_array", "%fini_array", ".8byte", stop);
// Last of all, after what a library registered with `atexit`: the runtime's own save.
#[cfg(target_pointer_width = "64")]
run_at!(".fini_array.00000", "%fini_array", ".8byte", saved_at_end);

extern "C" fn start() {
    install(SIGTERM, on_terminate, &NEXT_TERMINATE);
    install(SIGUSR2, on_save, &NEXT_SAVE);
    unsafe {
        remember_pattern();
        mark(RUNNING);
        // Handlers of an allocator have to be there first, so that its locks are free in ours.
        // Stored, or compilers leave the call out.
        let mut memory = core::ptr::null_mut();
        core::ptr::write_volatile(&mut memory, malloc(1));
        free(core::ptr::read_volatile(&memory));
    }
    at_fork();
}

fn install(signal: Int, handler: Handler, next: &AtomicUsize) {
    let old = action(signal);
    if is_ours(&old) {
        // A shared library has counters and a runtime of its own: both must save.
        next.store(old.handler, Ordering::Relaxed);
    } else if old.handler != SIG_DFL {
        return;
    }
    set_action(signal, &ours(handler as usize));
}

/// A library that is unloaded takes its handlers along.
extern "C" fn stop() {
    remove(SIGTERM, on_terminate, &NEXT_TERMINATE);
    remove(SIGUSR2, on_save, &NEXT_SAVE);
}

fn remove(signal: Int, handler: Handler, next: &AtomicUsize) {
    if action(signal).handler != handler as usize {
        return;
    }
    let next = next.load(Ordering::Relaxed);
    if next == 0 {
        set_action(signal, &DEFAULT);
    } else {
        set_action(signal, &ours(next));
    }
}

extern "C" fn on_save(signal: Int) {
    let errno = errno();
    if save(signal, false) {
        count_save();
    }
    call(&NEXT_SAVE, signal);
    set_errno(errno);
}

extern "C" fn on_terminate(signal: Int) {
    let errno = errno();
    let ends = is_ours(&action(signal));
    if save(signal, true) {
        if ends {
            unmark();
        } else {
            count_save();
        }
    }
    if !call(&NEXT_TERMINATE, signal) && ends {
        end_by(signal);
    }
    // Otherwise the program has set a handler that calls the one before it: ours. It may want
    // to end in its own way, so this is left to it.
    set_errno(errno);
}

/// Calls the handler of the image before; whether there is one.
fn call(next: &AtomicUsize, signal: Int) -> bool {
    let next = next.load(Ordering::Relaxed);
    if next == 0 {
        return false;
    }
    let handler: Handler = unsafe { core::mem::transmute(next) };
    handler(signal);
    true
}

/// Continuous mode has its counts in the file already, and a reset would take them out.
fn is_continuous() -> bool {
    unsafe { __llvm_profile_is_continuous_mode_enabled() != 0 }
}

/// Whether all is saved.
fn save(signal: Int, wait: bool) -> bool {
    if is_continuous() {
        return false;
    }
    let mut patience = PATIENCE * 1000;
    while BUSY.swap(true, Ordering::Acquire) {
        // Another thread is at it; the end of the process must not come in between.
        if !wait || patience == 0 {
            return false;
        }
        patience -= 1;
        unsafe { usleep(1000) };
    }
    SERVED.store(signal, Ordering::Relaxed);
    let before = action(SIGALRM);
    let hung: Handler = give_up;
    set_action(SIGALRM, &Action { handler: hung as usize, ..DEFAULT });
    let saved;
    unsafe {
        let left = alarm(PATIENCE);
        // A save that failed keeps its counts for the next one.
        saved = __llvm_profile_write_file() == 0;
        if saved {
            __llvm_profile_reset_counters();
        }
        alarm(0);
        set_action(SIGALRM, &before);
        if left != 0 {
            alarm(left);
        }
    }
    BUSY.store(false, Ordering::Release);
    saved
}

extern "C" fn give_up(_: Int) {
    let text = b"cargo-fdo: the signal came at a bad moment, saving the profile hangs; giving up\n";
    unsafe { write(STDERR, text.as_ptr() as *const c_void, text.len()) };
    let served = SERVED.load(Ordering::Relaxed);
    end_by(if served == SIGTERM { SIGTERM } else { SIGALRM });
}

/// Ends the process by the default action of a signal.
fn end_by(signal: Int) {
    set_action(signal, &DEFAULT);
    let set = with([0; SET_WORDS], signal);
    unsafe {
        raise(signal);
        sigprocmask(SIG_UNBLOCK, &set, core::ptr::null_mut());
    }
    // Only process 1 gets here: the kernel keeps default actions from it.
}

fn action(signal: Int) -> Action {
    let mut old = DEFAULT;
    unsafe { sigaction(signal, core::ptr::null(), &mut old) };
    old
}

fn set_action(signal: Int, new: &Action) {
    unsafe { sigaction(signal, new, core::ptr::null_mut()) };
}

fn is_ours(action: &Action) -> bool {
    // The kernel knows 64 signals; the rest of the set may be anything.
    let words = 8 / core::mem::size_of::<usize>();
    action.handler > 1 && (0..words).all(|word| action.mask[word] == MASK[word])
}

fn errno() -> Int {
    unsafe { *__errno_location() }
}

fn set_errno(value: Int) {
    unsafe { *__errno_location() = value };
}

// Forks.

#[cfg(not(target_env = "musl"))]
extern "C" {
    fn __register_atfork(
        before: Option<Fork>,
        parent: Option<Fork>,
        child: Option<Fork>,
        image: *mut c_void,
    ) -> Int;
    static __dso_handle: *mut c_void;
}
// glibc has `pthread_atfork` in an archive only, in one or another, by its version; what that calls
// is where `fork` is. Weak: without it there is no fork to handle, and a link must not fail.
#[cfg(not(target_env = "musl"))]
core::arch::global_asm!(".weak __register_atfork", ".weak __dso_handle", ".hidden __dso_handle");

#[cfg(target_env = "musl")]
extern "C" {
    fn pthread_atfork(before: Option<Fork>, parent: Option<Fork>, child: Option<Fork>) -> Int;
}

type Fork = extern "C" fn();

#[cfg(not(target_env = "musl"))]
fn at_fork() {
    type Register =
        unsafe extern "C" fn(Option<Fork>, Option<Fork>, Option<Fork>, *mut c_void) -> Int;
    let register: Register = __register_atfork;
    unsafe {
        // Compilers know that no function is at address 0.
        let address = core::ptr::read_volatile(&register as *const Register as *const usize);
        let image = core::ptr::addr_of!(__dso_handle);
        let image_address = core::ptr::read_volatile(&image as *const *const _ as *const usize);
        if address == 0 {
            return;
        }
        // So that a library which is unloaded takes its handlers along.
        let image = if image_address == 0 { core::ptr::null_mut() } else { __dso_handle };
        register(Some(before_fork), None, Some(in_child), image);
    }
}

#[cfg(target_env = "musl")]
fn at_fork() {
    unsafe { pthread_atfork(Some(before_fork), None, Some(in_child)) };
}

extern "C" fn before_fork() {
    if FORKED.swap(true, Ordering::Relaxed) {
        return;
    }
    let errno = errno();
    if save(0, true) {
        unsafe { write_head(AFTER_FORK) };
    }
    set_errno(errno);
}

extern "C" {
    fn __llvm_profile_disable_continuous_mode();
}
// Older runtimes have none.
core::arch::global_asm!(".weak __llvm_profile_disable_continuous_mode");

/// Continuous mode has parent and child count in one mapped file, and each loses some of its counts
/// to the other. The child maps a file of its own: the mode has to begin anew, with another name.
unsafe fn count_elsewhere() {
    let disable: unsafe extern "C" fn() = __llvm_profile_disable_continuous_mode;
    // Compilers know that no function is at address 0.
    if core::ptr::read_volatile(&disable as *const _ as *const usize) == 0
        || !pattern_has(b'c')
        || !pattern_has(b'p')
    {
        return;
    }
    // Those of before the mode began, which the new file would begin with.
    __llvm_profile_reset_counters();
    disable();
    name_child();
}

extern "C" fn in_child() {
    let errno = errno();
    if is_continuous() {
        unsafe { count_elsewhere() };
        set_errno(errno);
        return;
    }
    // A thread that was saving is not in this process.
    BUSY.store(false, Ordering::Release);
    let hung: Handler = give_up;
    if action(SIGALRM).handler == hung as usize {
        set_action(SIGALRM, &DEFAULT);
    }
    FORKED.store(false, Ordering::Relaxed);
    SAVES.store(0, Ordering::Relaxed);
    unsafe {
        __llvm_profile_reset_counters();
        name_child();
        mark(AFTER_FORK);
    }
    set_errno(errno);
}

// Marks.

/// Longest path; what does not fit has no mark.
const PATH: usize = 4096;

/// `LLVM_PROFILE_FILE` at the start: a program may change its environment.
static mut PATTERN: [u8; PATH] = [0; PATH];

/// The path of this image's mark, with a zero at its end; empty if there is none.
static mut MARK: [u8; PATH] = [0; PATH];

/// The process that the mark is of.
static MARKED: AtomicI32 = AtomicI32::new(0);

/// How many times the counts were saved on request.
static SAVES: AtomicI32 = AtomicI32::new(0);

/// What the mark says of a process: it runs; or it has done nothing yet since a fork, and is
/// likely to execute another program or to end.
const RUNNING: u8 = b'r';
const AFTER_FORK: u8 = b'f';

const O_WRONLY: Int = 0o1;
const O_CREAT: Int = 0o100;
const O_EXCL: Int = 0o200;
const O_CLOEXEC: Int = 0o2_000_000;
const EEXIST: Int = 17;

/// The most that a number has.
const DIGITS: usize = 10;

/// Bytes in the memory of an array, as many as fit.
struct Text {
    start: *mut u8,
    length: usize,
    fits: bool,
}

impl Text {
    unsafe fn at(start: *mut u8) -> Text {
        Text { start, length: 0, fits: true }
    }

    unsafe fn byte(&mut self, byte: u8) {
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
    unsafe fn number(&mut self, number: Int, least: usize) {
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
unsafe fn pattern_has(letter: u8) -> bool {
    let mut at = core::ptr::addr_of!(PATTERN) as *const u8;
    while *at != 0 {
        if *at == b'%' && *at.add(1) == letter {
            return true;
        }
        at = at.add(1);
    }
    false
}

/// The runtime has put the parent's number for `%p`, and keeps it.
unsafe fn name_child() {
    if !pattern_has(b'p') {
        return;
    }
    let mut name = core::mem::MaybeUninit::<[u8; PATH]>::uninit();
    let mut text = Text::at(name.as_mut_ptr() as *mut u8);
    let mut at = core::ptr::addr_of!(PATTERN) as *const u8;
    while *at != 0 {
        if *at == b'%' && *at.add(1) == b'p' {
            text.number(getpid(), 1);
            at = at.add(2);
        } else {
            text.byte(*at);
            at = at.add(1);
        }
    }
    text.byte(0);
    if text.fits {
        __llvm_profile_set_filename(text.start);
    }
}

/// Makes the mark of this process, if it can be made.
unsafe fn mark(state: u8) {
    let pattern = core::ptr::addr_of!(PATTERN) as *const u8;
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
unsafe fn write_head(state: u8) {
    if !is_marked() {
        return;
    }
    let file = open(core::ptr::addr_of!(MARK) as *const u8, O_WRONLY | O_CLOEXEC);
    if file >= 0 {
        write_text(file, state, false);
        close(file);
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
fn count_save() {
    SAVES.fetch_add(1, Ordering::Relaxed);
    unsafe { write_head(RUNNING) };
}

fn unmark() {
    unsafe {
        if is_marked() {
            let mark = core::ptr::addr_of_mut!(MARK) as *mut u8;
            unlink(mark);
            *mark = 0;
        }
    }
}

extern "C" fn saved_at_end() {
    unmark();
}
