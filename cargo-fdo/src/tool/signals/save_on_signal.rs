// Linked into instrumented programs: saves the profile when a signal comes.
//
//   SIGUSR2   saves the counts, sets them to zero, and the program goes on
//   SIGTERM   saves the counts, and the program ends by SIGTERM as it would have
//
// Only where the program left the signal at its default; a handler of its own, or a signal
// that it ignores, stays. Counts are set to zero after each save because a file whose name
// has `%m` adds up.
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

/// The signal that is being served, for `give_up`.
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

extern "C" fn start() {
    install(SIGTERM, on_terminate, &NEXT_TERMINATE);
    install(SIGUSR2, on_save, &NEXT_SAVE);
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
    save(signal, false);
    call(&NEXT_SAVE, signal);
    set_errno(errno);
}

extern "C" fn on_terminate(signal: Int) {
    let errno = errno();
    save(signal, true);
    if !call(&NEXT_TERMINATE, signal) && is_ours(&action(signal)) {
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

fn save(signal: Int, wait: bool) {
    // Continuous mode has its counts in the file already, and a reset would take them out.
    if unsafe { __llvm_profile_is_continuous_mode_enabled() } != 0 {
        return;
    }
    let mut patience = PATIENCE * 1000;
    while BUSY.swap(true, Ordering::Acquire) {
        // Another thread is at it; the end of the process must not come in between.
        if !wait || patience == 0 {
            return;
        }
        patience -= 1;
        unsafe { usleep(1000) };
    }
    SERVED.store(signal, Ordering::Relaxed);
    let before = action(SIGALRM);
    let hung: Handler = give_up;
    set_action(SIGALRM, &Action { handler: hung as usize, ..DEFAULT });
    unsafe {
        let left = alarm(PATIENCE);
        // A save that failed keeps its counts for the next one.
        if __llvm_profile_write_file() == 0 {
            __llvm_profile_reset_counters();
        }
        alarm(0);
        set_action(SIGALRM, &before);
        if left != 0 {
            alarm(left);
        }
    }
    BUSY.store(false, Ordering::Release);
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
