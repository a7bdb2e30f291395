//! The example `cpp-cmake`: real C++ through cmake, static and shared.

use fdo_tests::{Run, Sandbox, require, tools};

struct Program {
    name: &'static str,
    features: &'static [&'static str],
}

impl Program {
    fn train(&self, t: &Sandbox) -> Run {
        let bin = format!("{{bin:{}}}", self.name);
        let mut args = vec!["train", "--no-overhead", "--keep-raw", "-p", self.name];
        args.extend(self.features);
        args.extend(["--", &bin, "exercise", "300", "1"]);
        t.cargo_fdo(args).succeeds()
    }

    fn build(&self, t: &Sandbox) -> Run {
        let mut args = vec!["build", "-p", self.name];
        args.extend(self.features);
        let run = t.cargo_fdo(args).succeeds();
        let program = run.stdout().trim();
        t.run(program, ["exercise", "50", "2"]).succeeds();
        run
    }
}

#[track_caller]
fn uses_the_whole_profile(t: &Sandbox) {
    // The `main` of the tool beside the library takes the one count of the program's.
    assert!(t.used("C and C++").unwrap() > 0.9999);
    assert!(t.used("Rust").unwrap() > 0.9999);
}

#[test]
fn cmake_without_a_word_of_cargo_fdo_is_profiled() {
    require!("cmake", "make", &tools::llvm("clang++"));
    let t = Sandbox::example("cpp-cmake");
    let program = Program {
        name: "textpack",
        features: &[],
    };
    program
        .train(&t)
        .stderr_has("textpack-sys-0.1.0: 9 objects, 9 with counters");
    assert_eq!(t.raw_profiles().len(), 1);
    program.build(&t);
    uses_the_whole_profile(&t);
}

#[test]
fn cmake_with_configure_is_profiled() {
    require!("cmake", "make", &tools::llvm("clang++"));
    let t = Sandbox::example("cpp-cmake");
    let program = Program {
        name: "textpack-fdo",
        features: &[],
    };
    program
        .train(&t)
        .stderr_has("textpack-fdo-sys-0.1.0: 9 objects, 9 with counters");
    program.build(&t);
    uses_the_whole_profile(&t);
}

#[test]
fn a_shared_library_has_a_raw_profile_of_its_own_that_is_merged_and_used() {
    require!("cmake", "make", &tools::llvm("clang++"));
    let t = Sandbox::example("cpp-cmake");
    let program = Program {
        name: "textpack",
        features: &["--features", "shared"],
    };
    program
        .train(&t)
        .stderr_has("textpack-sys-0.1.0: 9 objects, 9 with counters");
    assert_eq!(t.raw_profiles().len(), 2, "{:?}", t.raw_profiles());
    program.build(&t);
    uses_the_whole_profile(&t);
}
