//! What becomes of a child whose cargo-fdo was killed.
//!
//! No handler sees SIGKILL, so the kernel is asked in advance (`PR_SET_PDEATHSIG`, prctl(2)): a perf
//! would record on until its disk is full, a server that is trained would keep its port.

use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the command end by SIGTERM when this thread does, which has to be the one that starts it
/// and waits for it.
pub(super) fn end_with_us(command: &mut Command) {
    let us = rustix::process::getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::TERM))?;
        // Between fork and here we may have been killed already.
        match getppid() == Some(us) {
            true => Ok(()),
            false => Err(io::ErrorKind::Interrupted.into()),
        }
    };
    // SAFETY: between fork and exec it makes two system calls and allocates nothing.
    unsafe { command.pre_exec(ask) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let mut command = Command::new("sleep");
        command.arg("60");
        end_with_us(&mut command);
        let child = std::thread::spawn(move || command.spawn().unwrap());
        let status = child.join().unwrap().wait().unwrap();
        assert_eq!(status.signal(), Some(15));
    }
}
