//! The `cmake` crate.

use crate::configuration::CCACHE_EXTRAFILES;
use crate::Configuration;

impl Configuration {
    /// Makes a build of the `cmake` crate use the compilers of the phase.
    ///
    /// Needed where the build script or a toolchain file names compilers; otherwise the `cmake`
    /// crate takes them from the environment that `cargo fdo` sets. Comes after all other
    /// `define` calls, of which the last one wins.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let fdo = fdo_build::configure();
    /// let mut config = cmake::Config::new("vendor/engine");
    /// config.define("ENGINE_TESTS", "OFF");
    /// fdo.cmake(&mut config);
    /// let prefix = config.build();
    /// println!("cargo:rustc-link-search=native={}/lib", prefix.display());
    /// ```
    // The flags are no business of cmake: the stand-in adds them, to each compilation once,
    // and only after cmake's own probes of the compiler.
    pub fn cmake(&self, config: &mut cmake::Config) {
        let (Some(cc), Some(cxx)) = (self.cc_program(), self.cxx_program()) else {
            return;
        };
        config
            .define("CMAKE_C_COMPILER", cc)
            .define("CMAKE_CXX_COMPILER", cxx);
        for (name, value) in self.envs() {
            if name == CCACHE_EXTRAFILES {
                config.env(name, value);
            }
        }
    }
}
