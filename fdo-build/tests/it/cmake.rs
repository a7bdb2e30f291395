//! A build script that compiles with the `cmake` crate.

use crate::package::Package;

const ORDER: &str = "cargo-fdo order 2\nfamily gcc\nflag -fnever-twice\nslice \n";

#[test]
#[allow(clippy::print_stdout)] // A test's own words.
fn cmake_compiles_with_the_shims_and_is_given_no_flags() {
    if std::process::Command::new("cmake")
        .arg("--version")
        .output()
        .is_err()
    {
        // A missing tool must not be a silent success; CI runs with all of them.
        assert!(
            std::env::var_os("FDO_TESTS_NO_SKIP").is_none(),
            "needs the Debian package cmake"
        );
        println!("skipped: no cmake");
        return;
    }
    let package = Package::new(
        "'cmake'",
        "cmake = '0.1'",
        r#"
        fn main() {
            let mut config = cmake::Config::new("engine");
            config.define("CMAKE_C_COMPILER", "cc").build_target("all");
            fdo_build::configure().cmake(&mut config);
            config.build();
        }
        "#,
    )
    .inside_cargo_fdo(ORDER);
    package.write(
        "app/engine/CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.13)\nproject(engine C CXX)\n\
         add_library(engine STATIC hot.c warm.cpp)\n",
    );
    package.write("app/engine/hot.c", "int hot(void) { return 1; }\n");
    package.write("app/engine/warm.cpp", "int warm() { return 2; }\n");
    package.shim("cc", "cc");
    package.shim("c++", "c++");
    package.builds();

    let (c, cxx) = (package.read("cc.log"), package.read("c++.log"));
    assert!(
        c.contains("hot.c") && cxx.contains("warm.cpp"),
        "{c}\n{cxx}"
    );
    assert!(!c.contains("-fnever-twice") && !cxx.contains("-fnever-twice"));
}
