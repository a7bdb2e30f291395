//! Small projects that do real work, and what `cargo fdo` says of them.

use crate::Sandbox;

/// Work in Rust: as much as the first argument says.
const RUST: &str = r#"
fn step(x: u64) -> u64 {
    if x % 2 == 1 { x * 3 + 1 } else { x / 2 }
}

fn main() {
    let n = std::env::args().nth(1).map_or(2000, |n| n.parse().unwrap());
    let mut steps = 0u64;
    for start in 1..n {
        let mut x = start;
        while x != 1 {
            x = std::hint::black_box(step(x));
            steps += 1;
        }
    }
    println!("{steps} steps");
}
"#;

/// The same work, done by `hot` of `hot.c`.
const RUST_WITH_C: &str = r#"
unsafe extern "C" {
    fn hot(n: u32) -> u64;
}

fn main() {
    let n = std::env::args().nth(1).map_or(2000, |n| n.parse().unwrap());
    println!("{} steps", unsafe { hot(n) });
}
"#;

/// `hot`, with a static function.
pub const C: &str = "\
static unsigned long step(unsigned long x) { return x & 1 ? x * 3 + 1 : x / 2; }

unsigned long hot(unsigned n) {
  unsigned long steps = 0;
  for (unsigned long start = 1; start < n; start++)
    for (unsigned long x = start; x != 1; steps++)
      x = step(x);
  return steps;
}
";

/// A build script that makes the library of `hot.c` a shared one, by `$CC` and an object.
pub const SHARED: &str = r#"
fn main() {
    println!("cargo::rerun-if-changed=hot.c");
    let out = std::env::var("OUT_DIR").unwrap();
    let script = "$CC -O2 -fPIC -c hot.c -o \"$OUT_DIR/hot.o\" \
                  && $CC -shared \"$OUT_DIR/hot.o\" -o \"$OUT_DIR/libhot.so\"";
    let status = std::process::Command::new("sh").args(["-c", script]).status().unwrap();
    assert!(status.success());
    println!("cargo::rustc-link-search=native={out}");
    println!("cargo::rustc-link-lib=dylib=hot");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{out}");
}
"#;

/// A build script that runs `$CC` and `ar` by itself.
pub const BY_HAND: &str = r#"
fn main() {
    println!("cargo::rerun-if-changed=hot.c");
    let out = std::env::var("OUT_DIR").unwrap();
    let script = "${CC:-cc} $CFLAGS -O2 -c hot.c -o \"$OUT_DIR/hot.o\" \
                  && ar crs \"$OUT_DIR/libhot.a\" \"$OUT_DIR/hot.o\"";
    let status = std::process::Command::new("sh").args(["-c", script]).status().unwrap();
    assert!(status.success());
    println!("cargo::rustc-link-search=native={out}");
    println!("cargo::rustc-link-lib=static=hot");
}
"#;

/// A build script that runs make, for a [`MAKEFILE`].
pub const BY_MAKE: &str = r#"
fn main() {
    println!("cargo::rerun-if-changed=Makefile");
    let out = std::env::var("OUT_DIR").unwrap();
    let status = std::process::Command::new("make").status().unwrap();
    assert!(status.success());
    println!("cargo::rustc-link-search=native={out}");
    println!("cargo::rustc-link-lib=static=hot");
}
"#;

/// Objects in `OUT_DIR`, made only where they are missing or older than their source.
pub const MAKEFILE: &str = "\
$(OUT_DIR)/libhot.a: $(OUT_DIR)/hot.o
\tar crs $@ $<
$(OUT_DIR)/hot.o: hot.c
\t$(CC) -O2 -c $< -o $@
";

/// A build script that leaves everything to the `cc` crate.
pub const BY_CC: &str = r#"
fn main() {
    println!("cargo::rerun-if-changed=hot.c");
    cc::Build::new().file("hot.c").compile("hot");
}
"#;

impl Sandbox {
    /// The package `app` with a program that works in Rust.
    pub fn rust_project() -> Sandbox {
        Sandbox::project().file("src/main.rs", RUST)
    }

    /// The package `app` with a program that works in C, compiled by this build script.
    pub fn c_project(build_script: &str) -> Sandbox {
        Sandbox::project()
            .file("src/main.rs", RUST_WITH_C)
            .file("hot.c", C)
            .file("build.rs", build_script)
    }

    /// Adds lines to `Cargo.toml`, before `[workspace]`.
    #[must_use]
    #[track_caller]
    pub fn manifest(self, lines: &str) -> Sandbox {
        let manifest = self.read("Cargo.toml");
        let manifest = manifest.replace("[workspace]", &format!("{lines}\n\n[workspace]"));
        self.file("Cargo.toml", &manifest)
    }

    /// Whether the packages that the project names can be had; if not, says that the test is
    /// skipped.
    ///
    /// # Panics
    ///
    /// When they can't and `FDO_TESTS_NO_SKIP` is set.
    pub fn packages_are_there(&self) -> bool {
        let there = self.cargo(["fetch"]).is_success();
        if !there {
            assert!(
                std::env::var_os("FDO_TESTS_NO_SKIP").is_none(),
                "needs packages of the registry"
            );
            let test = std::thread::current();
            crate::tools::say(&format!(
                "skipped: {} needs packages of the registry",
                test.name().unwrap_or("a test")
            ));
        }
        there
    }

    /// Trains with one run of the program, without the comparison with a plain one.
    #[track_caller]
    pub fn train(&self) -> crate::Run {
        self.cargo_fdo(["train", "--no-overhead", "--", "{bin:app}"])
            .succeeds()
    }

    /// Which part of the profile's counts of a language (`Rust`, `C and C++`) the last build
    /// used; none if it had no counts of that language.
    #[track_caller]
    pub fn used(&self, language: &str) -> Option<f64> {
        let status = self
            .cargo_fdo(["status", "--json"])
            .succeeds()
            .stdout_json();
        let languages = status["used"]["languages"].as_array().cloned();
        let languages = languages.unwrap_or_else(|| panic!("no build used it: {status:#}"));
        let found = languages.iter().find(|entry| entry[0] == language)?;
        let part = |name: &str| found[1][name].as_f64().expect("a count");
        (part("total") > 0.0).then(|| part("used") / part("total"))
    }
}
