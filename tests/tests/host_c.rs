//! C among the build-dependencies runs on the host, without counters.

use fdo_tests::{Sandbox, projects, require, tools};

/// A package with C in it that other packages use in their programs and in their build scripts.
fn with_host_c() -> Sandbox {
    Sandbox::project()
        .manifest("[dependencies]\nhot = { path = \"hot\" }\n[build-dependencies]\nhot = { path = \"hot\" }")
        .file("src/main.rs", "fn main() { println!(\"{} {}\", hot::work(3000), env!(\"STEPS\")); }\n")
        .file(
            "build.rs",
            "fn main() { println!(\"cargo::rustc-env=STEPS={}\", hot::work(100)); }\n",
        )
        .file(
            "hot/Cargo.toml",
            "[package]\nname = \"hot\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        )
        .file(
            "hot/src/lib.rs",
            "unsafe extern \"C\" { fn hot(n: u32) -> u64; }\n\
             pub fn work(n: u32) -> u64 { unsafe { hot(n) } }\n",
        )
        .file("hot/hot.c", projects::C)
        .file("hot/build.rs", projects::BY_HAND)
}

#[test]
fn c_in_a_build_script_gets_no_counters_and_the_same_c_in_the_program_does() {
    let (clang, clangxx) = (tools::llvm("clang"), tools::llvm("clang++"));
    require!(&clang, &clangxx);
    let t = with_host_c().compilers(&clang, &clangxx);
    let run = t.train();
    run.stderr_has("hot-0.1.0: 1 object, 1 with counters");
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), Some(1.0));

    let (mut host, mut target) = (0, 0);
    for call in t.calls(&clang).iter().filter(|call| call.has("hot.c")) {
        let Some(out_dir) = call.env.get("OUT_DIR") else {
            continue;
        };
        if out_dir.contains("/x86_64-unknown-linux-gnu/") {
            target += 1;
            assert!(call.has_prefix("-fprofile-"), "{:?}", call.args);
        } else {
            host += 1;
            assert!(!call.has_prefix("-fprofile-"), "{:?}", call.args);
        }
    }
    assert!(
        host >= 2 && target >= 2,
        "{host} host and {target} target compilations"
    );
}

#[test]
fn the_builds_own_programs_leave_no_raw_profiles_in_the_project() {
    require!(&tools::llvm("clang"));
    let t = with_host_c();
    t.train();
    let files = t.run(
        "find",
        [".", "-name", "*.profraw", "-not", "-path", "./target/*"],
    );
    assert_eq!(files.succeeds().stdout(), "");
}
