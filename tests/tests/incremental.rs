//! Release builds with incremental compilation.

mod mixed;

use mixed::{C, RUST, build, edit, train};

#[test]
fn a_new_profile_reaches_the_code_of_an_incremental_build() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    edit(
        &t,
        "Cargo.toml",
        "[profile.release]\n",
        "[profile.release]\nincremental = true\n",
    );
    let program = |run: &fdo_tests::Run| {
        let path = run.stdout().lines().next().expect("a path");
        std::fs::read(path).expect("the program is there")
    };
    train(&t, RUST, C);
    let first = program(&build(&t));
    mixed::assert_all_used(&t);
    train(&t, 3, C);
    let second = program(&build(&t));
    assert!(first != second, "the new profile changed nothing");
    mixed::assert_all_used(&t);

    // Nothing of the first profile's code is left: a build from nothing gives the same.
    std::fs::remove_dir_all(t.path("target/fdo/optimize")).expect("it was built there");
    let fresh = program(&build(&t));
    assert!(second == fresh, "code of an older profile is left");
}

#[test]
fn a_profile_outlives_a_change_of_the_incremental_setting() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    train(&t, RUST, C);
    edit(
        &t,
        "Cargo.toml",
        "[profile.release]\n",
        "[profile.release]\nincremental = true\n",
    );
    build(&t);
    mixed::assert_all_used(&t);
}
