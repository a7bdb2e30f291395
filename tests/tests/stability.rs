//! What may change between training and build without the profile being lost.

mod mixed;

use fdo_tests::Sandbox;
use mixed::{C, RUST, build, edit, train};

/// Trains, changes something, builds; the share of counts used.
#[track_caller]
fn used_after(change: impl FnOnce(&Sandbox)) -> f64 {
    let t = mixed::sandbox();
    train(&t, RUST, C);
    change(&t);
    build(&t);
    let (used, all) = mixed::used(&t);
    assert!(used > 0.95, "{all:#}");
    used
}

/// Adds to the release profile.
#[track_caller]
fn profile(t: &Sandbox, line: &str) {
    edit(
        t,
        "Cargo.toml",
        "[profile.release]\n",
        &format!("[profile.release]\n{line}\n"),
    );
}

#[test]
fn a_profile_outlives_new_versions_of_its_packages() {
    if !mixed::require() {
        return;
    }
    let used = used_after(|t| {
        for (manifest, version) in [
            ("Cargo.toml", "0.2.0"),
            ("work/Cargo.toml", "1.0.0"),
            ("native/Cargo.toml", "0.1.1"),
        ] {
            edit(t, manifest, "0.1.0", version);
        }
    });
    assert_eq!(used, 1.0);
}

#[test]
fn a_profile_outlives_debug_information() {
    if !mixed::require() {
        return;
    }
    assert_eq!(used_after(|t| profile(t, "debug = 1\nstrip = false")), 1.0);
}

#[test]
fn a_profile_outlives_fat_lto() {
    if !mixed::require() {
        return;
    }
    used_after(|t| profile(t, "lto = \"fat\""));
}

#[test]
fn a_profile_outlives_another_number_of_codegen_units() {
    if !mixed::require() {
        return;
    }
    for units in [1, 3, 200] {
        used_after(|t| profile(t, &format!("codegen-units = {units}")));
    }
}

#[test]
fn a_profile_outlives_another_build_dependency() {
    if !mixed::require() {
        return;
    }
    let helper = |version: &str| {
        format!("[package]\nname = \"helper\"\nversion = \"{version}\"\nedition = \"2024\"\n")
    };
    let t = mixed::sandbox()
        .file("helper/Cargo.toml", &helper("0.1.0"))
        .file("helper/src/lib.rs", "");
    for package in ["native", "plain"] {
        let manifest = format!("{package}/Cargo.toml");
        let text = t.read(&manifest) + "[build-dependencies]\nhelper = { path = \"../helper\" }\n";
        t.write(&manifest, &text);
    }
    train(&t, RUST, C);
    t.write("helper/Cargo.toml", &helper("0.7.0"));
    t.write("helper/src/lib.rs", "pub fn help() {}\n");
    build(&t);
    let (used, all) = mixed::used(&t);
    assert_eq!(used, 1.0, "{all:#}");
}

#[test]
fn a_profile_outlives_the_move_to_another_directory() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    train(&t, RUST, C);
    let t = t.moved_to("with 'quote and space");
    // As a fresh checkout that was given the profile.
    for phase in ["instrument", "optimize"] {
        let _ = std::fs::remove_dir_all(t.path("target/fdo").join(phase));
    }
    build(&t);
    let (used, all) = mixed::used(&t);
    assert_eq!(used, 1.0, "{all:#}");
    let both = &all["languages"];
    assert_eq!(both.as_array().map(Vec::len), Some(2), "{all:#}");
}
