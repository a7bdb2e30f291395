//! Build scripts that compile C without the `cc` crate, or name the compiler themselves.

use fdo_tests::projects::{self, BY_MAKE, MAKEFILE};
use fdo_tests::{Sandbox, require, tools};

/// A build script that runs make with these arguments.
fn with_make(arguments: &str, before: &str) -> String {
    projects::BY_MAKE
        .replace(".status()", &format!("{arguments}.status()"))
        .replace("    let status", &format!("    {before}\n    let status"))
}

/// The objects beside their sources.
const IN_TREE: &str = "\
$(OUT_DIR)/libhot.a: hot.c
\t$(CC) -O2 -c hot.c -o hot.o
\tar crs $@ hot.o
";

fn fdo_build(features: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fdo-build");
    format!("[build-dependencies]\nfdo-build = {{ path = \"{path}\", features = [{features}] }}")
}

#[track_caller]
fn trains_and_uses_all_of_c(t: &Sandbox) {
    let run = t.train();
    run.stderr_has("app-0.1.0: 1 object, 1 with counters");
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), Some(1.0));
}

#[test]
fn make_with_cc_from_the_environment_follows_each_new_profile() {
    require!("make", &tools::llvm("clang"));
    let t = Sandbox::c_project(BY_MAKE).file("Makefile", MAKEFILE);
    trains_and_uses_all_of_c(&t);
    // make alone would take the objects of the last profile for good.
    t.cargo_fdo(["train", "--no-overhead", "--", "{bin:app}", "3000"])
        .succeeds();
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), Some(1.0));
}

#[test]
fn objects_beside_their_sources_take_part() {
    require!("make", &tools::llvm("clang"));
    let t = Sandbox::c_project(BY_MAKE).file("Makefile", IN_TREE);
    trains_and_uses_all_of_c(&t);
}

#[test]
fn a_script_that_calls_cc_by_name_is_reported_as_unseen() {
    require!("cc", &tools::llvm("clang"));
    let t = Sandbox::c_project(&with_make(".arg(\"CC=cc\")", "")).file("Makefile", MAKEFILE);
    let run = t.train();
    run.stderr_has("app-0.1.0: 1 object, 0 with counters")
        .stderr_has("app-0.1.0: 1 object compiled by something that does not go through CC")
        .stderr_has("fdo_build::configure()");
}

#[test]
fn configure_brings_in_make_that_names_its_compiler() {
    require!("make", "cc", &tools::llvm("clang"));
    let script = with_make(
        ".args(fdo.assignments())",
        "let fdo = fdo_build::configure();",
    );
    let t = Sandbox::c_project(&script)
        .manifest(&fdo_build(""))
        .file("Makefile", &format!("CC = cc\n{MAKEFILE}"));
    trains_and_uses_all_of_c(&t);
    // Outside of `cargo fdo` it changes nothing.
    t.cargo(["build", "--offline"]).succeeds();
}

#[test]
fn configure_brings_in_cc_that_names_its_compiler() {
    require!("cc", &tools::llvm("clang"));
    let script = "fn main() {\n\
                  let mut build = cc::Build::new();\n\
                  build.file(\"hot.c\").compiler(\"cc\");\n\
                  fdo_build::configure().cc(&mut build);\n\
                  build.compile(\"hot\");\n}\n";
    let t = Sandbox::c_project(script).manifest(&format!("{}\ncc = \"1\"", fdo_build("\"cc\"")));
    if !t.packages_are_there() {
        return;
    }
    trains_and_uses_all_of_c(&t);
}

#[test]
fn excluded_sources_are_named_from_the_package_wherever_make_runs() {
    require!("make", &tools::llvm("clang"));
    let t = Sandbox::c_project(&with_make(".args([\"-C\", \"vendor\"])", ""))
        .file("vendor/src/hot.c", projects::C)
        .file("vendor/Makefile", &MAKEFILE.replace("hot.c", "src/hot.c"))
        .file(
            "fdo.toml",
            "[package.app]\nc-exclude = [\"vendor/src/*.c\", \"vendor/none/*.c\"]\n",
        );
    t.train()
        .stderr_has("app-0.1.0: 1 object, 0 with counters, 1 excluded")
        .stderr_has("\"vendor/none/*.c\", which matches none of its sources")
        .stderr_lacks("\"vendor/src/*.c\", which");
}

#[test]
fn a_compile_cache_of_the_projects_own_never_gives_objects_of_another_phase_or_profile() {
    require!("make", "ccache", &tools::llvm("clang"));
    let t =
        Sandbox::c_project(BY_MAKE).file("Makefile", &MAKEFILE.replace("$(CC)", "ccache $(CC)"));
    let cache = t.root().join("ccache");
    let t = t.env("CCACHE_DIR", cache);
    trains_and_uses_all_of_c(&t);
    t.cargo_fdo(["train", "--no-overhead", "--", "{bin:app}", "3000"])
        .succeeds();
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), Some(1.0));

    // The policy of one package.
    t.write("fdo.toml", "[package.app]\nc = false\n");
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), None);
    t.write("fdo.toml", "");
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), Some(1.0));

    // What the cache gives no shim sees: without evidence it would count for nothing.
    t.cargo_fdo(["clean", "--keep-profiles"]).succeeds();
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), Some(1.0));
}

#[test]
fn bitcode_for_optimisation_at_the_link_takes_part() {
    let (clang, lld) = (tools::llvm("clang"), tools::llvm("lld"));
    require!(&clang, &lld);
    for lto in ["-flto", "-flto=thin"] {
        let t = Sandbox::c_project(&projects::BY_HAND.replace("-O2", &format!("-O2 {lto}")))
            .env("RUSTFLAGS", "-Clink-arg=-fuse-ld=lld")
            .manifest("[profile.release]\nlto = \"off\"");
        trains_and_uses_all_of_c(&t);
        assert!(t.used("Rust").is_some_and(|used| used > 0.99));
    }
}

/// A build script of this shell script, which makes a library of this kind.
fn by_shell(script: &str, kind: &str) -> String {
    format!(
        r##"
fn main() {{
    let out = std::env::var("OUT_DIR").unwrap();
    let status = std::process::Command::new("sh").args(["-ec", r#"{script}"#]).status().unwrap();
    assert!(status.success());
    println!("cargo::rerun-if-changed=hot.c");
    println!("cargo::rustc-link-search=native={{out}}");
    println!("cargo::rustc-link-lib={kind}=hot");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{{out}}");
}}
"##
    )
}

#[test]
fn a_shared_library_compiled_and_linked_by_one_command_takes_part() {
    require!(&tools::llvm("clang"));
    let script = by_shell(
        "$CC -O2 -shared -fPIC hot.c -o \"$OUT_DIR/libhot.so\"",
        "dylib",
    );
    trains_and_uses_all_of_c(&Sandbox::c_project(&script));
}

#[test]
fn several_sources_in_one_call_and_assembler_beside_them_are_counted_rightly() {
    require!(&tools::llvm("clang"));
    let script = "cp hot.c more.c none.S \"$OUT_DIR\"
        cd \"$OUT_DIR\"
        $CC -O2 -c hot.c more.c
        $CC -c none.S
        ar crs libhot.a hot.o more.o none.o";
    let none = ".globl none\n.text\nnone:\n  ret\n.section .note.GNU-stack,\"\",@progbits\n";
    let t = Sandbox::c_project(&by_shell(script, "static"))
        .file("more.c", "int more(int x) { return x > 3 ? x : 1; }\n")
        .file("none.S", none);
    let run = t.train();
    run.stderr_has("app-0.1.0: 2 objects, 2 with counters")
        .stderr_lacks("does not go through");
    t.cargo_fdo(["build"]).succeeds();
    assert_eq!(t.used("C and C++"), Some(1.0));
}
