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
// `fork.rs` is about forked children, `mark.rs` about the files by which processes are known.
//
// Compiled by the user's rustc, whatever its age, and linked by any compiler: no library, no
// panic, no symbol that another copy of this object could clash with.
//
// What can't be had: saving allocates and takes locks, which a signal handler must not. If the
// signal comes in the middle of an allocation, saving may hang. A process that hangs so for
// ten seconds is ended (by SIGTERM, or by SIGALRM where it was SIGUSR2), without that save.
// A thread that blocks all signals, SIGALRM too, escapes this. While a file is being written,
// other threads go on counting: what they count between write and reset is lost.

#![no_std]

mod fork;
mod mark;

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use fork::handle_forks;
use mark::{count_save, mark_start, unmark};

type Int = i32;
type Handler = extern "C" fn(Int);

const SIGALRM: Int = 14;
const SIGTERM: Int = 15;
const SIGUSR2: Int = 12;
const SIG_DFL: usize = 0;
const SIG_BLOCK: Int = 0;
const SIG_UNBLOCK: Int = 1;
const SIG_SETMASK: Int = 2;
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

const ITIMER_REAL: Int = 0;

/// `struct itimerval`, whose `long` has 64 bits on these targets.
#[repr(C)]
struct Timer {
    interval: [i64; 2],
    value: [i64; 2],
}

impl Timer {
    /// Once; never after 0 seconds.
    fn after(seconds: u32) -> Timer {
        Timer { interval: [0, 0], value: [seconds as i64, 0] }
    }
}

extern "C" {
    fn __llvm_profile_write_file() -> Int;
    fn __llvm_profile_reset_counters();
    fn __llvm_profile_is_continuous_mode_enabled() -> Int;

    fn sigaction(signal: Int, new: *const Action, old: *mut Action) -> Int;
    fn sigprocmask(how: Int, set: *const Set, old: *mut Set) -> Int;
    fn raise(signal: Int) -> Int;
    fn setitimer(which: Int, new: *const Timer, old: *mut Timer) -> Int;
    fn usleep(microseconds: u32) -> Int;
    fn write(file: Int, bytes: *const c_void, count: usize) -> isize;
    fn __errno_location() -> *mut Int;
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
run_at!(".fini_array.00000", "%fini_array", ".8byte", unmark);

extern "C" fn start() {
    install(SIGTERM, on_terminate, &NEXT_TERMINATE);
    install(SIGUSR2, on_save, &NEXT_SAVE);
    mark_start();
    handle_forks();
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
        let mut theirs = Timer::after(0);
        setitimer(ITIMER_REAL, &Timer::after(PATIENCE), &mut theirs);
        // A save that failed keeps its counts for the next one.
        saved = __llvm_profile_write_file() == 0;
        if saved {
            __llvm_profile_reset_counters();
        }
        setitimer(ITIMER_REAL, &Timer::after(0), core::ptr::null_mut());
        set_action(SIGALRM, &before);
        setitimer(ITIMER_REAL, &theirs, core::ptr::null_mut());
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
