//! What a build script asks: phase, compilers, flags.

use crate::cargo::{self, Instructions};
use crate::protocol::Phase;
use crate::Error;
use std::ffi::OsString;
use std::path::Path;

/// Asks `cargo fdo` what to do with this package's C and C++ code.
///
/// Outside `cargo fdo`, and for a package that is built for the build itself (a dependency of
/// a build script or a proc macro), the answer changes nothing.
///
/// Prints nothing, so it leaves cargo's rules for running the build script again as they are;
/// see [When the build script runs again](crate#when-the-build-script-runs-again).
///
/// # Panics
///
/// With a message for the user, where [`try_configure`] returns an error: a build script that
/// can't follow `cargo fdo` has to stop, or the program would lack a part of its profile.
///
/// # Examples
///
/// ```
/// let fdo = fdo_build::configure();
/// assert!(!fdo.is_active(), "a plain `cargo test`");
/// ```
#[track_caller]
pub fn configure() -> Configuration {
    match try_configure() {
        Ok(configuration) => configuration,
        Err(error) => panic!("{error}"),
    }
}

/// [`configure`] that returns its errors.
///
/// # Errors
///
/// When `cargo fdo` speaks another version of the protocol than this library, or has set only
/// a part of it.
///
/// # Examples
///
/// ```
/// fn main() -> Result<(), fdo_build::Error> {
///     let fdo = fdo_build::try_configure()?;
///     println!("phase: {:?}", fdo.phase());
///     Ok(())
/// }
/// ```
pub fn try_configure() -> Result<Configuration, Error> {
    cargo::instructions(&cargo::env).map(Configuration)
}

/// What `cargo fdo` wants of this package's C and C++ code; made by [`configure`].
///
/// The compilers are the main thing: they are small stand-ins that run the real compiler with
/// the flags of the phase added, for real compilations and links only. A build that can be told
/// its compiler needs nothing else.
///
/// # Examples
///
/// ```no_run
/// use std::process::Command;
///
/// let fdo = fdo_build::configure();
/// let status = Command::new("make").args(fdo.assignments()).status();
/// assert!(status.is_ok_and(|status| status.success()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration(Option<Instructions>);

impl Configuration {
    /// Whether there is anything to do: `false` outside `cargo fdo`.
    ///
    /// # Examples
    ///
    /// ```
    /// let fdo = fdo_build::configure();
    /// // Assembler that a profile can't improve, in place of the C code that it could.
    /// let portable = fdo.is_active();
    /// # assert!(!portable);
    /// ```
    pub fn is_active(&self) -> bool {
        self.0.is_some()
    }

    /// Which build of the program this is; `None` where [`is_active`](Self::is_active) is
    /// `false`.
    ///
    /// # Examples
    ///
    /// ```
    /// use fdo_build::Phase;
    ///
    /// let fdo = fdo_build::configure();
    /// if fdo.phase() == Some(Phase::Instrument) {
    ///     // Counters make a self-test ten times slower: leave it out.
    /// }
    /// ```
    ///
    /// In [`Phase::Sample`] the code is that of a plain build with line tables, and as fast.
    pub fn phase(&self) -> Option<Phase> {
        self.0.as_ref().map(|fdo| fdo.phase)
    }

    /// The program to run as C compiler; `None` means the build's usual one.
    ///
    /// The path has no space and no quote in it, so it can stand in a makefile.
    ///
    /// # Examples
    ///
    /// ```
    /// let fdo = fdo_build::configure();
    /// let cc = fdo.cc_program().unwrap_or("cc".as_ref());
    /// # assert_eq!(cc, std::path::Path::new("cc"));
    /// ```
    pub fn cc_program(&self) -> Option<&Path> {
        self.0.as_ref().map(|fdo| fdo.cc.as_path())
    }

    /// The program to run as C++ compiler; `None` means the build's usual one.
    ///
    /// # Examples
    ///
    /// ```
    /// let fdo = fdo_build::configure();
    /// let cxx = fdo.cxx_program().unwrap_or("c++".as_ref());
    /// # assert_eq!(cxx, std::path::Path::new("c++"));
    /// ```
    pub fn cxx_program(&self) -> Option<&Path> {
        self.0.as_ref().map(|fdo| fdo.cxx.as_path())
    }

    /// Variables for a build that takes its compilers from the environment: `CC` and `CXX`,
    /// and `CCACHE_EXTRAFILES`. Empty where nothing is to be done.
    ///
    /// The last one is for builds that put ccache before any compiler they are given, as
    /// RocksDB's does: ccache can't see the flags that the compiler adds by itself, and would
    /// answer with objects of another phase.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::process::Command;
    ///
    /// let fdo = fdo_build::configure();
    /// Command::new("./build.sh").envs(fdo.envs()).status().unwrap();
    /// ```
    pub fn envs(&self) -> Vec<(&'static str, OsString)> {
        let Some(fdo) = &self.0 else {
            return Vec::new();
        };
        let mut extra_files = cargo::env(CCACHE_EXTRAFILES).unwrap_or_default();
        if !extra_files.is_empty() {
            extra_files.push(if cfg!(windows) { ";" } else { ":" });
        }
        extra_files.push(&fdo.key);
        vec![
            ("CC", fdo.cc.clone().into()),
            ("CXX", fdo.cxx.clone().into()),
            (CCACHE_EXTRAFILES, extra_files),
        ]
    }

    /// [`envs`](Self::envs) as `NAME=value`, the form in which make and autotools' `configure`
    /// take them as arguments.
    ///
    /// An argument wins over `CC = gcc` in the makefile; a variable of the environment does not.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::process::Command;
    ///
    /// let fdo = fdo_build::configure();
    /// Command::new("make").args(fdo.assignments()).status().unwrap();
    /// ```
    pub fn assignments(&self) -> Vec<OsString> {
        let assignment = |(name, value): (&str, OsString)| {
            let mut assignment = OsString::from(name);
            assignment.push("=");
            assignment.push(value);
            assignment
        };
        self.envs().into_iter().map(assignment).collect()
    }

    /// The flags of the phase for compiling C, for a build that can't be told its compiler.
    ///
    /// In the phases of a sampled profile they ask for line tables, and a build that adds its own
    /// `-g…` after them decides; for less than line tables, nothing will be found in the recording.
    ///
    /// They fit the compiler that `cargo fdo` chose, see [`compiler`](Self::compiler). A build
    /// that runs [`cc_program`](Self::cc_program) does not need them, and comes to no harm by
    /// them either.
    ///
    /// # Examples
    ///
    /// ```
    /// let fdo = fdo_build::configure();
    /// let cflags = format!("-O3 -fno-plt {}", fdo.cflags().join(" "));
    /// # assert_eq!(cflags, "-O3 -fno-plt ");
    /// ```
    pub fn cflags(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |fdo| &fdo.order.flags)
    }

    /// The flags of the phase for compiling C++; as [`cflags`](Self::cflags).
    ///
    /// # Examples
    ///
    /// ```
    /// let fdo = fdo_build::configure();
    /// let cxxflags = format!("-O3 -std=c++20 {}", fdo.cxxflags().join(" "));
    /// # assert_eq!(cxxflags, "-O3 -std=c++20 ");
    /// ```
    pub fn cxxflags(&self) -> &[String] {
        self.cflags()
    }

    /// The flags of the phase for linking a program or a shared library; as
    /// [`cflags`](Self::cflags).
    ///
    /// # Examples
    ///
    /// ```
    /// let fdo = fdo_build::configure();
    /// let ldflags = format!("-Wl,--as-needed {}", fdo.ldflags().join(" "));
    /// # assert_eq!(ldflags, "-Wl,--as-needed ");
    /// ```
    pub fn ldflags(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |fdo| &fdo.order.link_flags)
    }

    /// The real C compiler, with launchers such as ccache before it, that
    /// [`cc_program`](Self::cc_program) runs. Empty where nothing is to be done.
    ///
    /// # Examples
    ///
    /// ```
    /// let fdo = fdo_build::configure();
    /// if let Some(program) = fdo.compiler().last() {
    ///     assert!(program.contains("clang"), "the flags are for {program}");
    /// }
    /// ```
    pub fn compiler(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |fdo| &fdo.order.cc)
    }

    /// The file that changes whenever objects of this package are out of date, for a build that
    /// keeps its own books on what to compile again.
    ///
    /// # Examples
    ///
    /// With `$(OBJECTS): $(FDO_KEY)` in the makefile, which is an empty list outside `cargo fdo`:
    ///
    /// ```no_run
    /// use std::process::Command;
    ///
    /// let fdo = fdo_build::configure();
    /// let mut make = Command::new("make");
    /// make.args(fdo.assignments());
    /// if let Some(key) = fdo.key_file() {
    ///     make.arg(format!("FDO_KEY={}", key.display()));
    /// }
    /// # make.status().unwrap();
    /// ```
    pub fn key_file(&self) -> Option<&Path> {
        self.0.as_ref().map(|fdo| fdo.key.as_path())
    }
}

/// Files whose content ccache takes for a part of the compiler's command line.
/// <https://ccache.dev/manual/latest.html#config_extra_files_to_hash>
pub(crate) const CCACHE_EXTRAFILES: &str = "CCACHE_EXTRAFILES";

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::protocol::{Family, Order};

    pub(crate) fn active() -> Configuration {
        Configuration(Some(Instructions {
            phase: Phase::Optimize,
            cc: "/shims/cc".into(),
            cxx: "/shims/c++".into(),
            key: "/state/keys/a-0.1.0.c".into(),
            order: Order {
                flags: vec!["-fprofile-instr-use=/s".into()],
                link_flags: vec!["-fuse-ld=lld".into()],
                ..Order::nothing(Family::Clang)
            },
        }))
    }

    #[test]
    fn an_inactive_configuration_has_nothing_to_say() {
        let fdo = Configuration(None);
        assert_eq!(
            (fdo.phase(), fdo.cc_program(), fdo.cxx_program()),
            (None, None, None)
        );
        assert!(fdo.envs().is_empty() && fdo.assignments().is_empty());
        assert!(fdo.cflags().is_empty() && fdo.cxxflags().is_empty() && fdo.ldflags().is_empty());
        assert_eq!(fdo.key_file(), None);
    }

    #[test]
    fn assignments_are_the_variables() {
        let assignments = active().assignments();
        assert_eq!(assignments[0], "CC=/shims/cc");
        assert_eq!(assignments[1], "CXX=/shims/c++");
        assert_eq!(assignments.len(), active().envs().len());
    }
}
