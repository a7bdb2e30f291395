//! The `cc` crate.

use crate::Configuration;

impl Configuration {
    /// Makes a build of the `cc` crate use the C compiler of the phase.
    ///
    /// Not needed for most: under `cargo fdo` a `cc::Build` takes the stand-in from the
    /// environment by itself. It is for builds that name a compiler with `.compiler("clang")`,
    /// and must come after that.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let fdo = fdo_build::configure();
    /// let mut build = cc::Build::new();
    /// build.compiler("clang").file("src/hot.c");
    /// fdo.cc(&mut build);
    /// build.compile("hot");
    /// ```
    // The flags are no business of `cc`: the stand-in adds them, to each compilation once.
    pub fn cc(&self, build: &mut cc::Build) {
        if let Some(program) = self.cc_program() {
            build.compiler(program);
        }
    }

    /// [`cc`](Self::cc) for a build with `.cpp(true)`, which `cc` tells nobody about.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let fdo = fdo_build::configure();
    /// let mut build = cc::Build::new();
    /// build.cpp(true).compiler("clang++").file("src/hot.cpp");
    /// fdo.cxx(&mut build);
    /// build.compile("hot");
    /// ```
    pub fn cxx(&self, build: &mut cc::Build) {
        if let Some(program) = self.cxx_program() {
            build.compiler(program);
        }
    }
}
