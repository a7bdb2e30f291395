//! A package in a temporary directory whose build script uses this library for real.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

/// The package `app` 0.3.1 in `app/`; what is not a part of it lies beside that directory.
pub(crate) struct Package {
    root: TempDir,
    env: Vec<(String, PathBuf)>,
}

impl Package {
    /// A package with this `build.rs` and these build-dependencies besides `fdo-build`.
    pub(crate) fn new(features: &str, build_dependencies: &str, build_script: &str) -> Package {
        let package = Package {
            root: TempDir::new().unwrap(),
            env: Vec::new(),
        };
        let fdo_build = env!("CARGO_MANIFEST_DIR");
        package.write(
            "app/Cargo.toml",
            &format!(
                "[package]\nname = 'app'\nversion = '0.3.1'\nedition = '2021'\n\
                 [workspace]\n\
                 [build-dependencies]\n\
                 fdo-build = {{ path = '{fdo_build}', features = [{features}] }}\n\
                 {build_dependencies}\n"
            ),
        );
        package.write("app/src/main.rs", "fn main() {}\n");
        package.write("app/build.rs", build_script);
        package
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Sets the variables that `cargo fdo` sets, with a state directory beside the package.
    pub(crate) fn inside_cargo_fdo(mut self, order: &str) -> Package {
        self.write("state/orders/c", order);
        for (name, value) in [
            ("CARGO_FDO", PathBuf::from("2")),
            ("CARGO_FDO_PHASE", PathBuf::from("instrument")),
            ("CARGO_FDO_STATE", self.path("state")),
            ("CARGO_FDO_TARGET", PathBuf::from(host())),
            ("CARGO_FDO_TARGET_DIR", self.path("target")),
            ("CARGO_FDO_CC", self.path("shims/cc")),
            ("CARGO_FDO_CXX", self.path("shims/c++")),
        ] {
            self.env.push((name.to_owned(), value));
        }
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<PathBuf>) -> Package {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// A stand-in for a compiler: writes its arguments to `NAME.log`, then runs `program`.
    #[cfg(all(unix, any(feature = "cc", feature = "cmake")))]
    pub(crate) fn shim(&self, name: &str, program: &str) {
        use std::os::unix::fs::PermissionsExt;
        let shim = format!("shims/{name}");
        let log = self.path(&format!("{name}.log"));
        self.write(
            &shim,
            &format!(
                "#!/bin/sh\necho \"$@\" >> '{}'\nexec {program} \"$@\"\n",
                log.display()
            ),
        );
        fs::set_permissions(self.path(&shim), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn cargo_build(&self) -> Output {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        command
            .args([
                "build",
                "--offline",
                "--target",
                host().as_str(),
                "--target-dir",
            ])
            .arg(self.path("target"))
            .current_dir(self.path("app"));
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let changes_builds = [
                "CARGO_FDO",
                "CARGO_BUILD",
                "CARGO_ENCODED",
                "RUSTC",
                "RUSTFLAGS",
            ]
            .iter()
            .any(|prefix| text.starts_with(prefix));
            let names_a_compiler = ["CC", "CXX", "CFLAGS", "CXXFLAGS"]
                .iter()
                .any(|word| text.split('_').any(|part| part == *word));
            if changes_builds || names_a_compiler {
                command.env_remove(name);
            }
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.output().unwrap()
    }

    #[track_caller]
    pub(crate) fn builds(&self) {
        let output = self.cargo_build();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
    }

    #[track_caller]
    pub(crate) fn fails(&self) -> String {
        let output = self.cargo_build();
        assert!(!output.status.success(), "the build succeeded");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.unwrap().to_owned()
}
