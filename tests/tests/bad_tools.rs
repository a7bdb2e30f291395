//! Tools that are missing, too old, of another kind, or that lie: each ends with status 3, or
//! with the C left out, and with a message that names tool, version and what to install.

use fdo_tests::{Fake, Sandbox, tools};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const TRAIN: [&str; 4] = ["train", "--no-overhead", "--", "{bin:app}"];

/// `cargo fdo train` with more options.
fn train(t: &Sandbox, options: &[&str]) -> fdo_tests::Run {
    let words: Vec<&str> = [&TRAIN[..2], options, &TRAIN[2..]].concat();
    t.cargo_fdo(words)
}

fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn an_llvm_profdata_that_is_too_old_is_refused_with_its_version() {
    fdo_tests::require!("llvm-profdata-14");
    let t = Sandbox::mixed();
    let needed = format!("llvm-{}", tools::llvm_major());
    let words = [
        "llvm-profdata-14` is LLVM 14: unsupported instrumentation profile format version",
        "rustup component add llvm-tools",
        &needed,
    ];
    train(&t, &["--llvm-profdata", "llvm-profdata-14"])
        .fails_saying(3, &words)
        .stderr_has("of the flag or configuration");
    let t = t.env("LLVM_PROFDATA", "llvm-profdata-14");
    train(&t, &[])
        .fails_saying(3, &words)
        .stderr_has("the llvm-profdata of `LLVM_PROFDATA` can't be used");
}

#[test]
fn an_llvm_profdata_that_lies_is_not_believed() {
    let t = Sandbox::mixed()
        .fake("silent", Fake::succeeds())
        .fake("garbage", Fake::writes_garbage())
        .fake("failing", Fake::fails("out of cheese\n"))
        .fake("killed", Fake::dies_by(9));
    for (tool, words) in [
        ("silent", "wrote nothing, and said that all was well"),
        ("garbage", "does not say what is in a profile"),
        ("failing", "out of cheese"),
        ("killed", "can't merge (signal 9, SIGKILL)"),
    ] {
        let tool = t.tool(tool).display().to_string();
        let _ = train(&t, &["--llvm-profdata", &tool]).fails_saying(3, &[&tool, words]);
    }
    for (path, words) in [
        ("no/llvm-profdata", "is not there"),
        ("./Cargo.toml", "is no program"),
    ] {
        let _ = train(&t, &["--llvm-profdata", path]).fails_saying(3, &[path, words]);
    }
}

#[test]
fn an_llvm_profdata_that_breaks_after_its_trial_is_noticed_at_each_step() {
    fdo_tests::require!(tools::llvm("llvm-profdata").as_str());
    let t = Sandbox::mixed();
    let (tool, broken) = (t.root().join("profdata"), t.root().join("broken"));
    let real = tools::find(&tools::llvm("llvm-profdata")).unwrap();
    script(
        &tool,
        &format!(
            "[ -e '{}' ] && exit 0\nexec '{}' \"$@\"",
            broken.display(),
            real.display()
        ),
    );
    let tool = tool.display().to_string();
    let use_it = ["--llvm-profdata", &tool];
    let _ = train(&t, &use_it).succeeds();

    fs::write(&broken, "").unwrap();
    let says = "said that all was well, but";
    let _ = train(&t, &use_it).fails_saying(3, &[&tool, says, "merged nothing", "doctor"]);
    let build: Vec<&str> = ["build"].into_iter().chain(use_it).collect();
    let _ = t
        .cargo_fdo(&build)
        .fails_saying(3, &[&tool, says, "rust.proftext", "doctor"]);

    fs::remove_file(&broken).unwrap();
    let _ = t.cargo_fdo(&build).succeeds();
}

#[test]
fn a_clang_of_another_llvm_is_refused_where_it_was_asked_for_and_left_out_where_it_was_not() {
    fdo_tests::require!("clang-14");
    let t = Sandbox::mixed();
    let major = tools::llvm_major().to_string();
    let package = format!("clang-{major}");
    let reason = [
        "`clang-14` (",
        "clang version 14.",
        "writes raw profile version 8, rustc writes 10",
        &package,
    ];
    train(&t, &["--c-compiler", "clang-14"])
        .fails_saying(3, &reason)
        .stderr_has("c-compiler = \"auto\"");

    let t = t.env("CC", "clang-14");
    let run = train(&t, &[]).succeeds();
    for part in reason.into_iter().chain([
        "1 object, 0 with counters",
        "built without counters",
        "unset CC",
    ]) {
        run.stderr_has(part);
    }
    t.cargo_fdo(["build"])
        .succeeds()
        .stderr_has("Profile 100 % of the counts were used (Rust 100 %)");
}

#[test]
fn gcc_is_left_out_with_the_way_to_change_that() {
    fdo_tests::require!("gcc");
    let t = Sandbox::mixed().env("CC", "gcc");
    let run = train(&t, &[]).succeeds();
    run.stderr_has("app-0.1.0: 1 object, 0 with counters");
    run.stderr_has("built without counters: `gcc` (CC, gcc (");
    // It is installed, or is to be.
    let remedy = match tools::find(&tools::llvm("clang")) {
        Some(_) => "unset CC, or set it to `clang-",
        None => "install `clang-",
    };
    run.stderr_has(&format!("gcc's counters are not LLVM's; {remedy}"));
    let _ = train(&t, &["--c-compiler", "gcc"])
        .fails_saying(3, &["`gcc` (gcc (", "gcc's counters are not LLVM's"]);
}

#[test]
fn a_c_compiler_that_is_not_there_is_named() {
    let t = Sandbox::mixed();
    let _ = train(&t, &["--c-compiler", "clang-99"])
        .fails_saying(3, &["`clang-99`", "No such file", "install `clang-"]);
    // What the user's own variable names, the build needs.
    let t = t.env("CC", "no-such-cc");
    let _ = train(&t, &[]).fails_saying(4, &["can't start `no-such-cc`"]);
}

#[test]
fn without_any_clang_the_c_is_left_out_and_the_package_to_install_is_named() {
    let Some(bare) = Bare::new() else { return };
    let profdata = tools::llvm("llvm-profdata");
    fdo_tests::require!(profdata.as_str());
    // Not at the place that is hidden.
    let copy = bare.t.root().join("llvm-profdata");
    fs::copy(tools::find(&profdata).unwrap(), &copy).unwrap();
    let copy = copy.display().to_string();
    let needs_library = Command::new(&copy).arg("--version").output();
    if !needs_library.is_ok_and(|output| output.status.success()) {
        tools::skip("an llvm-profdata that runs elsewhere");
        return;
    }
    let run = bare.cargo_fdo(&[
        "train",
        "--no-overhead",
        "--llvm-profdata",
        &copy,
        "--",
        "{bin:app}",
    ]);
    let run = run.succeeds();
    run.stderr_has("1 object, 0 with counters");
    run.stderr_has(&format!("install `clang-{}", tools::llvm_major()));
}

#[test]
fn without_any_llvm_profdata_both_ways_to_get_one_are_named() {
    let Some(bare) = Bare::new() else { return };
    let major = tools::llvm_major();
    let _ = bare.cargo_fdo(&TRAIN).fails_saying(
        3,
        &[
            "no `llvm-profdata` can read what a program of rustc",
            &format!("(LLVM {major}."),
            &format!("`llvm-profdata-{major}`: is not there"),
            "`rustup component add llvm-tools`",
            &format!("`llvm-{major}`"),
        ],
    );
}

/// A machine with gcc and a Rust toolchain, and no LLVM: the directories of Debian's packages
/// are hidden from the process, which takes root.
struct Bare {
    t: Sandbox,
    path: PathBuf,
}

impl Bare {
    fn new() -> Option<Bare> {
        let may_mount = Command::new("unshare").args(["-m", "true"]).output();
        if !may_mount.is_ok_and(|output| output.status.success()) {
            tools::skip("the right to mount");
            return None;
        }
        let t = Sandbox::mixed();
        let path = t.root().join("bin");
        fs::create_dir(&path).unwrap();
        for tool in ["cc", "c++", "ld", "as", "ar", "sh", "env", "rustc"] {
            if let Some(real) = tools::find(tool) {
                symlink(real, path.join(tool)).unwrap();
            }
        }
        // The component of rustup would be found without `PATH`.
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
        let sysroot = String::from_utf8(sysroot.unwrap().stdout).unwrap();
        let rustlib = Path::new(sysroot.trim()).join("lib/rustlib");
        let has_component = fs::read_dir(rustlib).unwrap().flatten().any(|target| {
            let tool = target.path().join("bin/llvm-profdata");
            tool.exists()
        });
        if has_component {
            tools::skip("a toolchain without llvm-tools");
            return None;
        }
        Some(Bare { t, path })
    }

    fn cargo_fdo(&self, args: &[&str]) -> fdo_tests::Run {
        let hide = format!(
            "for d in /usr/lib/llvm-*; do [ ! -d $d ] || mount -t tmpfs none $d; done; \
             PATH='{}' exec \"$@\"",
            self.path.display()
        );
        let words = ["unshare", "-m", "sh", "-ec", &hide, "sh"];
        self.t.cargo_fdo_behind(&words, args)
    }
}
