//! A profile of code that has changed since: said, judged, and accepted on request only.

mod mixed;

use fdo_tests::Sandbox;
use mixed::{C, RUST, edit, train};

/// Trained, then changed.
fn stale() -> Sandbox {
    let t = mixed::sandbox();
    train(&t, RUST, C);
    change(&t);
    t
}

/// Gives most hot functions of both languages other bodies.
fn change(t: &Sandbox) {
    // In LLVM's terms a function changes with its control flow.
    for (from, to) in [
        ("n % 3 == 0", "n % 7 == 1 || n % 11 == 3"),
        (
            "while n > 1 && steps < 4",
            "while n > 1 && n != 77 && steps < 4",
        ),
        ("n % 5 == 0", "n % 5 == 0 && n % 13 != 2"),
        ("n & 4 == 0", "n & 4 == 0 || n % 17 == 5"),
        ("n & 8 == 0", "n & 8 == 0 && n % 19 != 4"),
        (
            "sum = sum.wrapping_add(step(n));",
            "if n % 23 != 5 { sum = sum.wrapping_add(step(n)); }",
        ),
    ] {
        edit(t, "work/src/lib.rs", from, to);
    }
    edit(
        t,
        "native/c/spin.c",
        "n % 3 == 0 ?",
        "n % 3 == 0 && n % 29 != 3 ?",
    );
    edit(
        t,
        "native/c/spin.c",
        "sum += helper(n) ^ twist(n);",
        "if (n % 31 != 7) sum += helper(n) ^ twist(n);",
    );
}

#[test]
fn a_profile_of_changed_functions_is_stale_until_that_is_allowed() {
    if !mixed::require() {
        return;
    }
    let t = stale();
    let run = t.cargo_fdo(["build", "--release"]).fails_with(7);
    run.stderr_has("less than the 80");
    run.stderr_has("another control flow than at the training");
    run.stderr_has("--allow-stale");
    let (used, all) = mixed::used(&t);
    assert!(used < 0.8, "{all:#}");
    let lost = all["lost"].as_array().expect("a list");
    let row = lost
        .iter()
        .find(|row| {
            row["name"]
                .as_str()
                .is_some_and(|name| name.contains("collatz"))
        })
        .unwrap_or_else(|| panic!("`collatz` is not among the lost: {all:#}"));
    assert_eq!(
        row["reason"],
        "its control flow is not that of the training"
    );
    let c = lost.iter().find(|row| {
        row["name"]
            .as_str()
            .is_some_and(|name| name.ends_with("native_spin"))
    });
    assert_eq!(
        c.map(|row| &row["reason"]),
        Some(&"its control flow is not that of the training".into()),
        "{all:#}"
    );

    // Everything is up to date now, and the verdict is the same.
    let again = t.cargo_fdo(["build", "--release"]).fails_with(7);
    again.stderr_lacks("Compiling");
    let allowed = t
        .cargo_fdo(["build", "--release", "--allow-stale"])
        .succeeds();
    allowed.stderr_has("less than the 80");
    allowed.stdout_has("release/app");
    let _ = t
        .cargo_fdo(["build", "--release", "--min-match", "1%"])
        .succeeds();
    let _ = t
        .cargo_fdo(["build", "--release", "--min-match", "99%"])
        .fails_with(7);

    // A new training is the way out.
    train(&t, RUST, C);
    mixed::build(&t);
    mixed::assert_all_used(&t);
}

#[test]
fn a_profile_of_another_program_is_stale() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    train(&t, RUST, C);
    t.write(
        "work/src/lib.rs",
        "pub fn spin(n: u64) -> u64 { (1..n).map(|k| k ^ n).max().unwrap_or(0) }\n",
    );
    let run = t
        .cargo_fdo(["build", "--release", "--min-match", "95%"])
        .fails_with(7);
    run.stderr_has("no compiler of this build used its counts");
}

#[test]
fn what_compilers_said_of_another_build_proves_nothing_of_this_one() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    train(&t, RUST, C);
    mixed::build(&t);
    mixed::assert_all_used(&t);
    let release = "[profile.release]\n";
    let other = "[profile.release]\ndebug = 1\n";

    // Under other settings cargo keeps both builds, and the shims both reports.
    edit(&t, "Cargo.toml", release, other);
    change(&t);
    let _ = t.cargo_fdo(["build", "--release"]).fails_with(7);
    let (used, all) = mixed::used(&t);
    assert!(used < 0.8, "{all:#}");

    // The first build is fresh again but for the sources; then the second, entirely.
    t.write("work/src/lib.rs", mixed::WORK);
    t.write("native/c/spin.c", mixed::SPIN_C);
    edit(&t, "Cargo.toml", other, release);
    mixed::build(&t);
    mixed::assert_all_used(&t);
}

#[test]
fn a_build_that_was_there_already_is_judged_by_its_own_findings() {
    if !mixed::require() {
        return;
    }
    let t = mixed::sandbox();
    train(&t, RUST, C);
    change(&t);
    let features = "[profile.release]\ncodegen-units = 1\n[features]\nother = []\n";
    edit(&t, "Cargo.toml", "[profile.release]\n", features);
    // The feature brings the changed code.
    let text = t.read("work/src/lib.rs");
    t.write("work/src/changed.rs", &text);
    t.write("work/src/same.rs", mixed::WORK);
    t.write(
        "work/src/lib.rs",
        "#[cfg(feature = \"other\")] mod changed;\n\
         #[cfg(not(feature = \"other\"))] mod same;\n\
         #[cfg(feature = \"other\")] pub use changed::spin;\n\
         #[cfg(not(feature = \"other\"))] pub use same::spin;\n",
    );
    let manifest = t.read("work/Cargo.toml") + "[features]\nother = []\n";
    t.write("work/Cargo.toml", &manifest);
    edit(&t, "Cargo.toml", "other = []", "other = [\"work/other\"]");
    t.write("native/c/spin.c", mixed::SPIN_C);
    train(&t, RUST, C);
    let share = |args: &[&str]| {
        let mut command = vec!["build", "--release", "--allow-stale"];
        command.extend(args);
        let run = t.cargo_fdo(command).succeeds();
        (mixed::used(&t).0, run)
    };
    let (same, _) = share(&[]);
    assert_eq!(same, 1.0);
    let (changed, _) = share(&["--features", "other"]);
    assert!(changed < 0.8, "{changed}");
    let (same, run) = share(&[]);
    assert_eq!(same, 1.0);
    run.stderr_lacks("Compiling");
    let (again, run) = share(&["--features", "other"]);
    run.stderr_lacks("Compiling");
    assert_eq!(again, changed);
}
