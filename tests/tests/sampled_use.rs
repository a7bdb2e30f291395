//! A sampled profile in the optimised build: which compiler is told what, and what is judged.
//!
//! The profiles are written by hand, so that nothing here needs perf.

use cargo_fdo::profile::slice::content_hash;
use cargo_fdo::store::Layout;
use cargo_fdo::store::campaign::{
    self, Campaign, Content, LimitsEntry, Manifest, Method, Owner, Owners, Partition,
};
use fdo_tests::{Sandbox, require, tools};
use std::process::Command;

/// A name that is the same everywhere, so that the profile can be written down.
const MAIN: &str = r#"
unsafe extern "C" {
    fn c_work(n: u32) -> u32;
}

#[inline(never)]
#[unsafe(no_mangle)]
pub extern "C" fn rust_work(n: u32) -> u32 {
    let mut sum = 0u32;
    let mut i = 0;
    while i < n {
        sum = sum.rotate_left(5) ^ i;
        i += 1;
    }
    sum
}

fn main() {
    println!("{} {}", rust_work(1000), unsafe { c_work(1000) });
}
"#;

/// A line for each block, so that there are no discriminators.
const C: &str = "\
unsigned c_work(unsigned n) {
  unsigned sum = 0, i = 0;
  while (i < n) {
    if (i % 7 == 0)
      sum = sum * 31 + i;
    else
      sum = (sum << 5 | sum >> 27) ^ i;
    i++;
  }
  return sum;
}
";

/// Fails where the profile's options reach it, and where a warning of ours is an error of theirs.
const BUILD: &str = r#"
use std::process::Command;

fn main() {
    assert!(std::env::var_os("RUSTC_BOOTSTRAP").is_none(), "it would look like a nightly rustc");
    println!("cargo:rerun-if-changed=work.c");
    let out = std::env::var("OUT_DIR").unwrap();
    let cc = std::env::var("CC").unwrap_or("cc".into());
    let object = format!("{out}/work.o");
    let library = format!("{out}/libwork.a");
    let _ = std::fs::remove_file(&library);
    let run = |command: &mut Command| assert!(command.status().unwrap().success());
    let flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-c", "work.c", "-o"];
    run(Command::new(cc).args(flags).arg(&object));
    run(Command::new("ar").args(["crs", &library, &object]));
    println!("cargo:rustc-link-lib=static=work");
    println!("cargo:rustc-link-search=native={out}");
}
"#;

/// Of [`MAIN`]: the loop's body; its head has several blocks, and so discriminators.
const RUST_SAMPLES: &str = "rust_work:2000:1\n 4: 1000\n 5: 1000\n";
/// Of [`C`], likewise.
const C_SAMPLES: &str = "c_work:3000:1\n 3: 1000\n 4: 143\n 6: 857\n 7: 1000\n";

fn project() -> Sandbox {
    Sandbox::project()
        .file("src/main.rs", MAIN)
        .file("work.c", C)
        .file("build.rs", BUILD)
        .manifest("[profile.release]\nstrip = true")
}

fn rustc_version() -> (String, String) {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("rustc runs");
    let version = String::from_utf8(output.stdout).expect("it is text");
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.expect("rustc names its host").to_owned();
    (version, host)
}

/// Makes these slices the project's profile, as a training would.
fn publish(t: &Sandbox, slices: &[(&'static str, &str)]) {
    let (rustc, target) = rustc_version();
    let hashes: std::collections::BTreeMap<String, String> = slices
        .iter()
        .map(|(name, text)| ((*name).to_owned(), content_hash(text)))
        .collect();
    let manifest = Manifest {
        version: campaign::VERSION,
        id: content_hash(&format!("{hashes:?}")),
        method: Method::Sample,
        made: 1,
        target,
        profile: "release".into(),
        rustc,
        c_compiler: None,
        workloads: Vec::new(),
        failed: Vec::new(),
        raw_files: 1,
        quarantined: 0,
        limits: LimitsEntry {
            hot: 64,
            cold: 1,
            huge_working_set: false,
            large_working_set: false,
        },
        partition: Partition::default(),
        functions: 2,
        functions_executed: 2,
        blocks: 8,
        hot_blocks: 6,
        thin: false,
        total: 5000,
        hottest: Vec::new(),
        slices: hashes,
        c_objects: Vec::new(),
        binaries: Vec::new(),
        sampling: None,
    };
    let owner = Owner {
        package: "app".into(),
        source: "work.c".into(),
        target: None,
        also: Default::default(),
    };
    let owners = Owners::from([("c_work".to_owned(), owner)]);
    let layout = Layout::new(&t.path("target"), None);
    layout.create().expect("the sandbox is writable");
    let content = Content {
        manifest: &manifest,
        slices: slices.to_vec(),
        binaries: Vec::new(),
        whole: "",
        owners: &owners,
    };
    Campaign::publish(&layout, &content).expect("the sandbox is writable");
}

/// The flags of the last order for a language.
fn order(t: &Sandbox, language: &str) -> String {
    t.read(&format!("target/fdo/v1/optimize/orders/{language}"))
}

/// Whether a program has line tables. Its bytes alone don't tell: `std` looks for them too, by name.
fn has_lines(program: &str) -> bool {
    let output = Command::new("readelf").args(["-SW", program]).output();
    let output = output.expect("readelf comes with the linker");
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).contains(".debug_line")
}

#[test]
fn the_machines_gcc_uses_samples_and_a_closed_rustc_says_what_opens_it() {
    require!("gcc");
    let t = project().compilers("gcc", "g++");
    publish(
        &t,
        &[(campaign::RUST, RUST_SAMPLES), (campaign::GCC, C_SAMPLES)],
    );
    let run = t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), Some(1.0));
    assert!(order(&t, "c").contains("-fauto-profile="));
    assert!(
        !has_lines(run.stdout().trim_end()),
        "strip = true is the user's"
    );
    if !order(&t, "rust").contains("profile-sample-use") {
        run.stderr_has("RUSTC_BOOTSTRAP")
            .stderr_has("only C and C++ are optimised");
        assert_eq!(t.used("Rust"), None);
    }
    // Nothing changed, so nothing is compiled and the finding stands.
    let calls = t.calls("gcc").len();
    let again = t.cargo_fdo(["build"]).succeeds();
    again.stderr_has("100 % of the counts were used");
    assert_eq!(t.calls("gcc").len(), calls);
}

#[test]
fn rust_is_compiled_with_samples_where_the_user_opens_rustc() {
    require!("gcc");
    let t = project()
        .compilers("gcc", "g++")
        .file("fdo.toml", "rustc-bootstrap = true\n");
    publish(
        &t,
        &[(campaign::RUST, RUST_SAMPLES), (campaign::GCC, C_SAMPLES)],
    );
    let run = t.cargo_fdo(["build"]).succeeds();
    run.stderr_lacks("only C and C++");
    let rust = t.used("Rust").expect("it was compiled with samples");
    assert!(rust > 0.9, "{rust}");
    assert_eq!(t.used("C and C++"), Some(1.0));
}

#[test]
fn clang_uses_llvms_text() {
    let (clang, clangxx) = (tools::llvm("clang"), tools::llvm("clang++"));
    require!(&clang, &clangxx);
    let t = project().compilers(&clang, &clangxx);
    publish(&t, &[(campaign::C, C_SAMPLES)]);
    let _ = t.cargo_fdo(["build"]).succeeds();
    let used = t.used("C and C++").expect("it was compiled with samples");
    assert!(used > 0.9, "{used}");
    let order = order(&t, "c");
    assert!(order.contains("-fprofile-sample-use="), "{order}");
    assert!(order.contains("-fsample-profile-use-profi"), "{order}");
}

#[test]
fn a_damaged_slice_is_written_again() {
    let (clang, clangxx) = (tools::llvm("clang"), tools::llvm("clang++"));
    require!(&clang, &clangxx);
    let t = project().compilers(&clang, &clangxx);
    publish(&t, &[(campaign::C, C_SAMPLES)]);
    let _ = t.cargo_fdo(["build"]).succeeds();
    let slice = format!(
        "target/fdo/v1/slices/{}.sample.txt",
        content_hash(C_SAMPLES)
    );
    for damage in [b"c_work:1:1\n".as_slice(), b"\xff\xfe"] {
        std::fs::write(t.path(&slice), damage).unwrap();
        let _ = t.cargo_fdo(["build"]).succeeds();
        assert_eq!(t.read(&slice), C_SAMPLES);
    }
}

#[test]
fn a_function_that_is_not_there_any_more_is_lost() {
    require!("gcc");
    let t = project().compilers("gcc", "g++");
    let gone = C_SAMPLES.replace("c_work", "old_work");
    publish(
        &t,
        &[(
            campaign::GCC,
            &format!("{C_SAMPLES}{gone}{}", gone.replace("old", "older")),
        )],
    );
    let run = t
        .cargo_fdo(["build"])
        .fails_saying(7, &["33.33 %", "min-match"]);
    run.stderr_has("lost: `old_work`");
    let _ = t.cargo_fdo(["build", "--allow-stale"]).succeeds();
}

#[test]
fn samples_of_clangs_code_are_nothing_for_gcc() {
    require!("gcc");
    let t = project().compilers("gcc", "g++");
    publish(&t, &[(campaign::C, C_SAMPLES)]);
    t.cargo_fdo(["build"])
        .fails_saying(7, &["of clang's code", "with gcc"]);
}

#[test]
fn a_build_whose_compilers_can_use_nothing_of_the_profile_fails() {
    let clangxx = tools::llvm("clang++");
    require!("gcc", &clangxx);
    let t = project().compilers("gcc", &clangxx);
    publish(&t, &[(campaign::GCC, C_SAMPLES)]);
    t.cargo_fdo(["build"])
        .fails_saying(7, &["0.00 %", "not of one kind", "`c = false`"]);
    // Nothing left to use is no success either.
    let t = project().compilers("gcc", "g++");
    publish(&t, &[(campaign::RUST, RUST_SAMPLES)]);
    let run = t.cargo_fdo(["build"]);
    if !order(&t, "rust").contains("profile-sample-use") {
        run.fails_saying(7, &["0.00 %", "rustc-bootstrap = true"]);
    }
}

#[test]
fn each_language_of_a_sampled_profile_is_held_against_the_limit_by_itself() {
    require!("gcc");
    let t = project()
        .compilers("gcc", "g++")
        .file("fdo.toml", "rustc-bootstrap = true\n");
    // Nine tenths of the counts are Rust's, and used.
    let rust = RUST_SAMPLES.replace("000", "0000");
    publish(&t, &[(campaign::RUST, &rust), (campaign::C, C_SAMPLES)]);
    t.cargo_fdo(["build"]).fails_saying(
        7,
        &["0.00 % of the profile's counts of C and C++", "with gcc"],
    );
    // Nor does it help C that it has some thousandths of the counts, as it may with much of the time.
    let rust = RUST_SAMPLES.replace("000", "000000");
    publish(&t, &[(campaign::RUST, &rust), (campaign::C, C_SAMPLES)]);
    t.cargo_fdo(["build"])
        .fails_saying(7, &["of the profile's counts of C and C++"]);
}

#[test]
fn a_new_slice_of_one_language_compiles_that_language_again() {
    require!("gcc");
    let t = project()
        .compilers("gcc", "g++")
        .rustc_wrapper()
        .file("fdo.toml", "rustc-bootstrap = true\n");
    publish(
        &t,
        &[(campaign::RUST, RUST_SAMPLES), (campaign::GCC, C_SAMPLES)],
    );
    let _ = t.cargo_fdo(["build"]).succeeds();
    let c = || {
        t.calls("gcc")
            .iter()
            .filter(|call| call.has("work.c"))
            .count()
    };
    let rust = || {
        let calls = t.calls("rustc-wrapper");
        let is_app = |call: &&fdo_tests::Call| call.value_of("--crate-name") == Some("app");
        calls.iter().filter(is_app).count()
    };
    let before = (c(), rust());
    let warmer = RUST_SAMPLES.replace("1000", "2000");
    publish(&t, &[(campaign::RUST, &warmer), (campaign::GCC, C_SAMPLES)]);
    let _ = t.cargo_fdo(["build"]).succeeds();
    assert_eq!((c(), rust()), (before.0, before.1 + 1));
    let warmer_c = C_SAMPLES.replace("1000", "2000");
    publish(&t, &[(campaign::RUST, &warmer), (campaign::GCC, &warmer_c)]);
    let _ = t.cargo_fdo(["build"]).succeeds();
    assert_eq!(c(), before.0 + 1);
}

#[test]
fn a_program_to_be_recorded_has_line_tables_whatever_the_profile_strips() {
    require!("gcc");
    let t = project().compilers("gcc", "g++");
    let script = "eval \"$(cargo-fdo fdo env --phase sample)\" && cargo build --release";
    let _ = t.shell_with_cargo_fdo(script).succeeds();
    let (_, host) = rustc_version();
    let program = t.path(&format!("target/fdo/sample/{host}/release/app"));
    assert!(has_lines(
        program.to_str().expect("the sandbox has a plain path")
    ));
    // What a converter needs besides: which functions there are, and where they begin.
    let dwarf = Command::new("readelf")
        .arg("--debug-dump=info")
        .arg(&program)
        .output();
    let dwarf = dwarf.expect("readelf comes with the linker").stdout;
    let dwarf = String::from_utf8_lossy(&dwarf);
    for name in ["3app4main", "c_work"] {
        assert!(
            dwarf
                .lines()
                .any(|line| line.contains("DW_AT_") && line.contains(name)),
            "{name}"
        );
    }
    let order = t.read("target/fdo/v1/sample/orders/c");
    assert!(order.contains("flag -g1\n"), "{order}");
    // As before, the C functions' owners are known afterwards.
    let evidence = t.path("target/fdo/v1/sample/evidence/app-0.1.0.c");
    let files = std::fs::read_dir(evidence).expect("the shim left evidence");
    let texts: String = files
        .map(|file| std::fs::read_to_string(file.expect("it is there").path()).expect("text"))
        .collect();
    assert!(texts.contains("\"c_work\""), "{texts}");
}
