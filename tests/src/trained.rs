//! Small projects that several tests share.

use crate::{Sandbox, binaries};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

const MANIFEST: &str = "\
[package]
name = \"app\"
version = \"0.1.0\"
edition = \"2024\"

[workspace]
";

const MAIN: &str = "\
unsafe extern \"C\" {
    fn c_work(n: u32) -> u32;
}

#[inline(never)]
fn rust_work(n: u32) -> u32 {
    (0..n).fold(0, |sum, i| if i % 3 == 0 { sum ^ i } else { sum.wrapping_mul(31) })
}

fn main() {
    let n = std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(5000);
    println!(\"{} {}\", rust_work(n), unsafe { c_work(n) });
}
";

const C: &str = "\
unsigned c_work(unsigned n) {
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++) sum += (i & 3) ? i : sum >> 1;
    return sum;
}
";

/// Without the cc crate, so that nothing is fetched.
const BUILD: &str = "\
use std::process::Command;

fn main() {
    println!(\"cargo:rerun-if-changed=work.c\");
    let out = std::env::var(\"OUT_DIR\").unwrap();
    let cc = std::env::var(\"CC\").unwrap_or(\"cc\".into());
    let (object, library) = (format!(\"{out}/work.o\"), format!(\"{out}/libwork.a\"));
    let _ = std::fs::remove_file(&library);
    let run = |command: &mut Command| assert!(command.status().unwrap().success());
    // A compiler of several words, as in `ccache gcc`.
    let mut words = cc.split(' ');
    run(Command::new(words.next().unwrap())
        .args(words)
        .args([\"-O2\", \"-fPIC\", \"-c\", \"work.c\", \"-o\", &object]));
    run(Command::new(\"ar\").args([\"crs\", &library, &object]));
    println!(\"cargo:rustc-link-lib=static=work\");
    println!(\"cargo:rustc-link-search=native={out}\");
}
";

impl Sandbox {
    /// A package `app` with a loop in Rust and one in C, not built.
    pub fn mixed() -> Sandbox {
        Sandbox::project()
            .file("Cargo.toml", MANIFEST)
            .file("src/main.rs", MAIN)
            .file("work.c", C)
            .file("build.rs", BUILD)
            .without_tools()
    }

    /// The same, trained, and built with its profile.
    ///
    /// Trained once for each cargo-fdo, and copied: the place of the copy is in no name, and
    /// what the tools are is remembered, because they are looked for in the same `PATH`.
    #[track_caller]
    pub fn trained() -> Sandbox {
        let home = binaries::scratch().join("trained");
        fs::create_dir_all(&home).expect("the target directory is writable");
        let lock = File::create(home.join("lock")).expect("the target directory is writable");
        lock.lock().expect("a lock can be had");
        let stamp = stamp();
        if fs::read_to_string(home.join("stamp")).ok().as_ref() != Some(&stamp) {
            let t = Sandbox::mixed();
            let train = ["train", "--no-overhead", "--", "{bin:app}"];
            let _ = t.cargo_fdo(train).succeeds();
            let _ = t.cargo_fdo(["build"]).succeeds();
            let _ = fs::remove_dir_all(home.join("app"));
            copy(&t.path(""), &home.join("app"));
            fs::write(home.join("stamp"), stamp).expect("the target directory is writable");
        }
        let t = Sandbox::mixed();
        copy(&home.join("app"), &t.path(""));
        t
    }

    /// The directory of cargo fdo in the project.
    pub fn store(&self) -> PathBuf {
        self.path("target/fdo/v1")
    }

    /// A file of the only campaign.
    #[track_caller]
    pub fn campaign(&self, name: &str) -> PathBuf {
        let mut found = entries(&self.store().join("campaigns"));
        assert_eq!(found.len(), 1, "one campaign: {found:?}");
        found.remove(0).join(name)
    }

    /// The indexed profiles.
    pub fn slices(&self) -> Vec<PathBuf> {
        entries(&self.store().join("slices"))
            .into_iter()
            .filter(|path| path.extension().is_some_and(|ending| ending == "profdata"))
            .collect()
    }

    /// Instrumented, and run by hand: its raw profile.
    #[track_caller]
    pub fn raw_profile(&self) -> PathBuf {
        let built = self.cargo_fdo(["train", "--build-only"]).succeeds();
        let raw = self.root().join("raw.profraw");
        let status = self
            .command(built.stdout().trim_end())
            .env("LLVM_PROFILE_FILE", &raw)
            .output()
            .expect("the program runs");
        assert!(status.status.success());
        raw
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// What the trained project depends on.
fn stamp() -> String {
    let program = binaries::cargo_fdo().metadata().expect("it was just built");
    let age = program.modified().expect("the system has time stamps");
    let age = age.duration_since(UNIX_EPOCH).unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    format!(
        "{age:?} {} {}\n{MANIFEST}{MAIN}{C}{BUILD}",
        program.len(),
        path.display()
    )
}

/// With time stamps, by which cargo tells what is fresh.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the sandbox is writable");
    let status = Command::new("cp")
        .arg("-a")
        .arg(from.join("."))
        .arg(to)
        .status()
        .expect("cp runs");
    assert!(status.success());
}
