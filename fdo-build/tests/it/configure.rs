//! A build script that asks the library, run by the real cargo.

use crate::package::Package;

/// Appends what it was told to the file `seen`, one line a run.
const REPORT: &str = r#"
use std::io::Write;

fn main() {
    let fdo = fdo_build::configure();
    let mut seen = std::fs::OpenOptions::new();
    let mut seen = seen.create(true).append(true).open(std::env::var("SEEN").unwrap()).unwrap();
    let phase = fdo.phase().map(|phase| phase.name());
    writeln!(seen, "{phase:?} {:?} {:?} {:?}", fdo.cc_program(), fdo.cflags(), fdo.ldflags()).unwrap();
}
"#;

const ORDER: &str = "cargo-fdo order 2\nfamily clang\nflag -fcommon-flag\nslice \n";

fn reporting() -> Package {
    let package = Package::new("", "", REPORT);
    let seen = package.path("seen");
    package.env("SEEN", seen)
}

#[test]
fn outside_cargo_fdo_nothing_changes() {
    let package = reporting();
    package.builds();
    assert_eq!(package.read("seen"), "None None [] []\n");
}

#[test]
fn flags_and_compilers_of_the_phase_arrive() {
    let package = reporting().inside_cargo_fdo(ORDER);
    package.builds();

    let cc = package.path("shims/cc");
    assert_eq!(
        package.read("seen"),
        format!("Some(\"instrument\") Some({cc:?}) [\"-fcommon-flag\"] []\n")
    );
}

#[test]
fn the_packages_own_order_wins_over_the_common_one() {
    let package = reporting().inside_cargo_fdo(ORDER);
    package.write(
        "state/orders/app-0.3.1.c",
        "cargo-fdo order 2\nfamily clang\nflag -fown\nlink-flag -fown-link\nslice \n",
    );
    package.builds();
    let seen = package.read("seen");
    assert!(seen.contains(r#"["-fown"] ["-fown-link"]"#), "{seen}");
}

#[test]
fn code_that_runs_during_the_build_is_left_alone() {
    let package =
        Package::new("", "tool = { path = '../tool' }", "fn main() {}").inside_cargo_fdo(ORDER);
    let seen = package.path("seen");
    let package = package.env("SEEN", seen);
    package.write(
        "tool/Cargo.toml",
        &format!(
            "[package]\nname = 'tool'\nversion = '1.0.0'\nedition = '2021'\n\
             [build-dependencies]\nfdo-build = {{ path = '{}' }}\n",
            env!("CARGO_MANIFEST_DIR")
        ),
    );
    package.write("tool/src/lib.rs", "");
    package.write("tool/build.rs", REPORT);
    package.builds();
    assert_eq!(package.read("seen"), "None None [] []\n");
}

#[test]
fn another_protocol_version_stops_the_build_and_names_both() {
    let package = reporting().inside_cargo_fdo(ORDER).env("CARGO_FDO", "7");
    let stderr = package.fails();
    assert!(stderr.contains("`cargo fdo` speaks version 7"), "{stderr}");
    assert!(stderr.contains("version 2:"), "{stderr}");
}

/// The promise of `cargo::env`: a script without `rerun-if` lines keeps cargo's rule.
#[test]
fn a_changed_source_still_runs_a_script_that_names_none() {
    for package in [reporting(), reporting().inside_cargo_fdo(ORDER)] {
        let runs = || package.read("seen").lines().count();
        package.write("app/vendor/hot.c", "int hot = 1;\n");
        package.builds();
        package.builds();
        assert_eq!(runs(), 1, "a build without changes runs nothing");

        package.write("app/vendor/hot.c", "int hot = 2;\n");
        package.builds();
        assert_eq!(runs(), 2, "a changed source runs the script again");
    }
}
