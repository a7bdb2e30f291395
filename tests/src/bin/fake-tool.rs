//! One program that plays every fake tool; its name and the file beside it say which.

fn main() -> std::process::ExitCode {
    fdo_tests::play()
}
