// Forked children count for themselves.
//
// A child has its parent's counts and would save them once more: its own begin at zero. The runtime
// has put the parent's number for `%p` in the name of the file, and keeps it: the child's file gets
// its own. A daemon's first process ends by `_exit` right after its fork, so a process saves before
// its first one.
//
// What can't be had: a child that was not made by `fork` (`clone` itself, `vfork`) has its parent's
// counts, name and mark. Setting counts to zero writes to all of their memory, in each child.

use crate::mark::{pattern, pattern_has, start_again, write_head, Text, AFTER_FORK, PATH};
use crate::*;

/// Whether this process has forked.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" {
    fn __llvm_profile_set_filename(pattern: *const u8);
    fn malloc(size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
    fn getpid() -> Int;
}

pub fn handle_forks() {
    // Handlers of an allocator have to be there first: then its locks are free in ours, which run
    // before theirs when they lock and after them when they unlock.
    unsafe {
        // Stored, or compilers leave the call out.
        let mut memory = core::ptr::null_mut();
        core::ptr::write_volatile(&mut memory, malloc(1));
        free(core::ptr::read_volatile(&memory));
    }
    register();
}

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
fn register() {
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
fn register() {
    unsafe { pthread_atfork(Some(before_fork), None, Some(in_child)) };
}

extern "C" fn before_fork() {
    if FORKED.swap(true, Ordering::Relaxed) {
        return;
    }
    let errno = errno();
    let mut before: Set = [0; SET_WORDS];
    // The handler would wait for this thread.
    unsafe { sigprocmask(SIG_BLOCK, &MASK, &mut before) };
    if save(0, true) {
        write_head(AFTER_FORK);
    }
    unsafe { sigprocmask(SIG_SETMASK, &before, core::ptr::null_mut()) };
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
    unsafe {
        __llvm_profile_reset_counters();
        name_child();
    }
    start_again();
    set_errno(errno);
}

/// Names the file after this process, where the user's pattern has its number.
unsafe fn name_child() {
    if !pattern_has(b'p') {
        return;
    }
    let mut name = core::mem::MaybeUninit::<[u8; PATH]>::uninit();
    let mut text = Text::at(name.as_mut_ptr() as *mut u8);
    let mut at = pattern();
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
