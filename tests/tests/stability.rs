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

/// A module large enough to be a codegen unit of its own, with a function that only another
/// module calls: whether LLVM sees both at once decides what it inlines before it counts.
fn wide(other: &str) -> String {
    let mut text = String::from("pub fn run(mut x: u64) -> u64 {\n");
    for n in 0..400 {
        text += &format!("    x = x.wrapping_mul({n}).rotate_left(5) ^ (x >> 7);\n");
    }
    text += &format!(
        "    if x % 3 != 0 {{ x ^= super::{other}::small(x); }}\n    x\n}}\n\
         pub fn small(n: u64) -> u64 {{\n    let mut sum = 0;\n    \
         for k in 0..n % 5 {{ sum ^= leaf(n ^ k); }}\n    sum\n}}\n\
         fn leaf(n: u64) -> u64 {{ if n % 7 == 1 {{ n / 3 }} else {{ n }} }}\n"
    );
    text
}

#[test]
fn a_profile_outlives_another_number_of_codegen_units_and_is_used_with_its_own() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox()
        .file("work/src/a.rs", &wide("b"))
        .file("work/src/b.rs", &wide("c"))
        .file("work/src/c.rs", &wide("a"))
        .file(
            "work/src/lib.rs",
            "mod a;\nmod b;\nmod c;\npub fn spin(times: u64) -> u64 {\n    \
             (0..times / 100).fold(0, |x, n| x ^ a::run(n) ^ b::run(n) ^ c::run(n))\n}\n",
        );
    train(&t, RUST, C);
    let run = build(&t);
    run.stderr_lacks("codegen-units");
    mixed::assert_all_used(&t);

    profile(&t, "codegen-units = 1");
    let run = build(&t);
    run.stderr_has("`codegen-units` is 1 now and was left to rustc at the training");
    mixed::assert_all_used(&t);

    // Of the build that is asked for, not of one that lies beside it.
    edit(&t, "Cargo.toml", "codegen-units = 1\n", "debug = 1\n");
    let run = build(&t);
    run.stderr_lacks("`codegen-units` is");
    edit(&t, "Cargo.toml", "debug = 1\n", "codegen-units = 1\n");

    // The next training takes the new number, and it may be another for a package.
    edit(
        &t,
        "Cargo.toml",
        "[profile.release]\n",
        "[profile.release.package.native]\ncodegen-units = 3\n[profile.release]\n",
    );
    train(&t, RUST, C);
    let run = build(&t);
    run.stderr_lacks("`codegen-units` is");
    mixed::assert_all_used(&t);
    edit(
        &t,
        "Cargo.toml",
        "codegen-units = 1\n",
        "codegen-units = 200\n",
    );
    let run = build(&t);
    run.stderr_has("`codegen-units` is 200 now and was 1 at the training");
    mixed::assert_all_used(&t);
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
    mixed::assert_all_used(&t);
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
    mixed::assert_all_used(&t);
    let all = mixed::used(&t).1;
    let both = &all["languages"];
    assert_eq!(both.as_array().map(Vec::len), Some(2), "{all:#}");
}
