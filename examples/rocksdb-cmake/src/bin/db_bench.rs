//! Runs the `db_bench` that the build script has built, so that a workload can name it like any
//! binary: `{bin:db_bench}`.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let program = env!("DB_BENCH");
    match Command::new(program)
        .args(std::env::args_os().skip(1))
        .status()
    {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            eprintln!("error: `{program}` failed: {status}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: cannot run `{program}`: {error}");
            ExitCode::FAILURE
        }
    }
}
