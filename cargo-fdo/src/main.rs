//! The `cargo fdo` command; the work is in the library.

fn main() -> std::process::ExitCode {
    cargo_fdo::main()
}
