//! A build script that compiles with the `cc` crate.

use crate::package::Package;

const ORDER: &str = "cargo-fdo order 2\nfamily gcc\nslice \n";

const BUILD: &str = r#"
fn main() {
    let fdo = fdo_build::configure();
    let mut c = cc::Build::new();
    c.compiler("cc").file("hot.c");
    fdo.cc(&mut c);
    c.compile("hot");
    let mut cpp = cc::Build::new();
    cpp.cpp(true).compiler("c++").cpp_link_stdlib(None).file("warm.cpp");
    fdo.cxx(&mut cpp);
    cpp.compile("warm");
}
"#;

fn package() -> Package {
    let package = Package::new("'cc'", "cc = '1'", BUILD);
    package.write("app/hot.c", "int hot(void) { return 1; }\n");
    package.write("app/warm.cpp", "int warm() { return 2; }\n");
    package.shim("cc", "cc");
    package.shim("c++", "c++");
    package
}

#[test]
fn the_named_compiler_is_kept_outside_cargo_fdo() {
    let package = package();
    package.builds();
    assert!(!package.path("cc.log").exists());
    assert!(!package.path("c++.log").exists());
}

#[test]
fn each_language_goes_through_its_own_shim() {
    let package = package().inside_cargo_fdo(ORDER);
    package.builds();
    assert!(package.read("cc.log").contains("hot.c"));
    assert!(package.read("c++.log").contains("warm.cpp"));
}
