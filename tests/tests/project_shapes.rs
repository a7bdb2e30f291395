//! Paths, workspaces, profiles, target directories and cargo's own options.

use fdo_tests::{Run, Sandbox, projects, require, tools};
use std::path::{Path, PathBuf};

const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// The one program that a build printed.
#[track_caller]
fn program(run: &Run) -> PathBuf {
    let out = run.stdout();
    let (program, rest) = out.split_once('\n').expect("a program on stdout");
    assert_eq!(rest, "", "one program");
    assert!(tools::is_program(Path::new(program)), "{program}");
    program.into()
}

#[track_caller]
fn trains_and_builds(t: &Sandbox, options: &[&str]) -> PathBuf {
    let train = [
        ["train", "--no-overhead"].as_slice(),
        options,
        &["--", "{bin:app}"],
    ]
    .concat();
    t.cargo_fdo(train).succeeds();
    let run = t
        .cargo_fdo([["build"].as_slice(), options].concat())
        .succeeds();
    program(&run)
}

#[test]
fn a_path_with_a_space_and_a_quote_holds_c_and_rust() {
    require!("make", &tools::llvm("clang"));
    let t = Sandbox::c_project(projects::BY_MAKE)
        // `$(CC)` is split at spaces, and `$(OUT_DIR)` has one here.
        .file(
            "Makefile",
            "all:\n\t$(CC) -O2 -c hot.c -o \"$(OUT_DIR)/hot.o\"\n\tar crs \"$(OUT_DIR)/libhot.a\" \"$(OUT_DIR)/hot.o\"\n",
        )
        .moved_to("it's a project");
    let program = trains_and_builds(&t, &[]);
    assert!(program.starts_with(t.path("target/fdo/optimize")));
    assert_eq!(
        (t.used("C and C++"), t.used("Rust")),
        (Some(1.0), Some(1.0))
    );
    // A shell finds the program and its directory, inside of quotes and without.
    let run = r#"{bin:app} 500 > "{tmp}/out" && test -s {tmp}/out && '{bin:app}' 10"#;
    t.write(
        "fdo.toml",
        &format!("[workload.shell]\nrun = '''{run}'''\n"),
    );
    t.cargo_fdo(["train", "--no-overhead", "--workload", "shell"])
        .succeeds();
}

/// Members `one` with the binaries `alpha` and `beta`, and `two` with `gamma`.
fn workspace() -> Sandbox {
    let hello = |name: &str| {
        format!(
            "fn main() {{ let n = std::env::args().count() as u64;\n\
             println!(\"{name} {{}}\", (0..5000).fold(n, |s, x| std::hint::black_box(s ^ x))); }}\n"
        )
    };
    Sandbox::project()
        .file("Cargo.toml", "[workspace]\nmembers = [\"one\", \"two\"]\nresolver = \"3\"\n")
        .file(
            "one/Cargo.toml",
            "[package]\nname = \"one\"\nversion = \"0.1.0\"\nedition = \"2024\"\ndefault-run = \"beta\"\n\
             [features]\nloud = []\n",
        )
        .file("one/src/bin/alpha.rs", &hello("alpha"))
        .file(
            "one/src/bin/beta.rs",
            &hello("beta").replace(
                "fn main() {",
                "fn main() { if cfg!(feature = \"loud\") { println!(\"LOUD\"); }",
            ),
        )
        .file(
            "two/Cargo.toml",
            "[package]\nname = \"two\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        )
        .file("two/src/bin/gamma.rs", &hello("gamma"))
}

#[test]
fn packages_and_binaries_of_a_workspace_are_selected_as_by_cargo() {
    let t = workspace();
    t.cargo_fdo(["train", "--no-overhead", "--", "{bin:gamma}"])
        .succeeds();
    // Only what the workload needs was built.
    let built = t.path(&format!("target/fdo/instrument/{TRIPLE}/release"));
    assert!(built.join("gamma").exists() && !built.join("alpha").exists());

    t.cargo_fdo(["train", "--no-overhead", "--workload", "run", "-p", "one"])
        .succeeds();
    let run = t
        .cargo_fdo(["build", "-p", "one", "--bin", "beta"])
        .succeeds();
    assert!(program(&run).ends_with("release/beta"));
    // `default-run` decides.
    let run = t.cargo_fdo(["run", "-p", "one"]).succeeds();
    assert!(run.stdout().starts_with("beta "), "{}", run.stdout());
    // What was not trained is not taken for optimised.
    let run = t.cargo_fdo(["build", "-p", "two"]).succeeds();
    run.stderr_has("are of code that this build does not contain (`beta`)");
    t.cargo_fdo(["build", "-p", "nothing"]).fails_with(4);
}

#[test]
fn features_and_subdirectories_and_manifest_paths_are_cargos() {
    let t = workspace();
    let train = [
        "train",
        "--no-overhead",
        "--workload",
        "run",
        "--features",
        "loud",
    ];
    let run = t.cargo_fdo_in("one", train).succeeds();
    run.stderr_has("LOUD");
    let run = t
        .cargo_fdo_in("one", ["run", "--features", "loud"])
        .succeeds();
    run.stdout_has("LOUD");
    let run = t.cargo_fdo_in("one/src", ["run"]).succeeds();
    assert!(run.stdout().starts_with("beta "));
    // Everything lies where it belongs, whatever the directory was.
    assert!(t.path("target/fdo").exists());
    assert!(!t.path("one/target").exists() && !t.path("one/src/target").exists());

    let manifest = t.path("one/Cargo.toml");
    let manifest = manifest.to_str().unwrap();
    let run = t
        .cargo_fdo_in("..", ["run", "--manifest-path", manifest, "-F", "loud"])
        .succeeds();
    run.stdout_has("LOUD");
}

#[test]
fn a_profile_of_the_users_is_built_with_its_settings() {
    let t = Sandbox::rust_project()
        .manifest("[profile.shipping]\ninherits = \"release\"\nopt-level = 2\nlto = \"thin\"\npanic = \"abort\"\nstrip = true\nincremental = true")
        .rustc_wrapper();
    let program = trains_and_builds(&t, &["--profile", "shipping"]);
    assert!(program.ends_with(format!("{TRIPLE}/shipping/app")));
    assert_eq!(t.used("Rust"), Some(1.0));
    let calls = t.calls("rustc-wrapper");
    let with_profile = |call: &&fdo_tests::Call| {
        call.value_of("--crate-name") == Some("app") && call.has_prefix("-Cprofile-use=")
    };
    let call = calls.iter().rfind(with_profile).unwrap();
    assert!(
        call.has("opt-level=2") && call.has("lto=thin"),
        "{:?}",
        call.args
    );
    // Unwinding is other control flow than aborting: said, not silently lost.
    t.cargo_fdo(["build", "--release"])
        .fails_with(7)
        .stderr_has("the training was of the cargo profile `shipping`, this is `release`");
}

#[test]
fn a_target_directory_on_another_file_system_is_used() {
    let shm = Path::new("/dev/shm");
    let here = Sandbox::project();
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| path.metadata().map(|data| data.dev()).ok();
    if device(shm).is_none() || device(shm) == device(here.root()) {
        // No second file system.
        return;
    }
    let elsewhere = tempfile::tempdir_in(shm).unwrap();
    let target = elsewhere.path().join("a target");
    let t = Sandbox::rust_project();
    let program = trains_and_builds(&t, &["--target-dir", target.to_str().unwrap()]);
    assert!(program.starts_with(target.join("fdo/optimize")));
    assert!(!t.path("target").exists());

    // By the environment, and by cargo's configuration.
    let t = t.env("CARGO_TARGET_DIR", &target);
    t.cargo_fdo(["status"]).succeeds();
    assert!(!t.path("target").exists());
}

#[test]
fn the_target_and_directories_of_cargos_configuration_are_kept_apart_from_ours() {
    let t = Sandbox::rust_project().file(
        ".cargo/config.toml",
        &format!(
            "[build]\ntarget = \"{TRIPLE}\"\ntarget-dir = \"out\"\nbuild-dir = \"intermediate\"\n"
        ),
    );
    let program = trains_and_builds(&t, &[]);
    assert_eq!(
        program,
        t.path(&format!("out/fdo/optimize/{TRIPLE}/release/app"))
    );
    assert!(!t.path("intermediate").exists() && !t.path("target").exists());
    assert_eq!(t.used("Rust"), Some(1.0));
}

#[test]
fn c_is_found_where_the_user_has_a_build_dir() {
    require!(&tools::llvm("clang"));
    let t = Sandbox::c_project(projects::BY_HAND).file(
        ".cargo/config.toml",
        "[build]\nbuild-dir = \"intermediate\"\n",
    );
    trains_and_builds(&t, &[]);
    assert_eq!(t.used("C and C++"), Some(1.0));
}

#[test]
fn the_host_is_a_target_like_any_other_and_two_targets_are_refused() {
    let t = Sandbox::rust_project();
    trains_and_builds(&t, &["--target", TRIPLE]);
    // No other directory: it is the host.
    assert!(t.path("target/fdo/optimize").exists());
    let run = t.cargo_fdo(["build", "--target", TRIPLE, "--target", "wasm32-wasip1"]);
    run.fails_with(2)
        .stderr_has("one run builds for one target");
    let config = format!("[build]\ntarget = [\"{TRIPLE}\", \"wasm32-wasip1\"]\n");
    t.write(".cargo/config.toml", &config);
    let run = t.cargo_fdo(["build"]).fails_with(2);
    run.stderr_has("one run builds for one target");
    t.cargo_fdo(["build", "--target", TRIPLE]).succeeds();
    t.cargo_fdo(["build", "--target", "host-tuple"]).succeeds();
}

#[test]
fn jobs_locking_and_the_network_are_cargos() {
    let t = Sandbox::rust_project().rustc_wrapper();
    let options = ["-j", "1", "--offline"];
    // Without a Cargo.lock `--locked` must fail as cargo's does.
    let _ = std::fs::remove_file(t.path("Cargo.lock"));
    t.cargo_fdo(["train", "--locked", "--", "{bin:app}"])
        .fails_with(2);
    trains_and_builds(&t, &options);
    t.cargo_fdo(["build", "--locked", "--offline", "-j1"])
        .succeeds();
    t.cargo_fdo([
        "build",
        "--frozen",
        "--config",
        "profile.release.opt-level=1",
        "--keep-going",
        // Less is inlined before counters go in: another control flow.
        "--allow-stale",
    ])
    .succeeds();
    let calls = t.calls("rustc-wrapper");
    let call = calls
        .iter()
        .rfind(|call| call.value_of("--crate-name") == Some("app"));
    assert!(call.unwrap().has("opt-level=1"));
}

#[test]
fn message_format_json_is_cargos_json_and_nothing_else() {
    let t = Sandbox::rust_project();
    let run = t
        .cargo_fdo([
            "train",
            "--no-overhead",
            "--message-format",
            "json",
            "--",
            "{bin:app}",
            "100",
        ])
        .succeeds();
    is_cargos_json(&run);
    is_cargos_json(
        &t.cargo_fdo(["build", "--message-format", "json"])
            .succeeds(),
    );
    // Also where nothing is to be done.
    is_cargos_json(
        &t.cargo_fdo(["build", "--message-format=json-render-diagnostics"])
            .succeeds(),
    );
    let run = t
        .cargo_fdo(["train", "--build-only", "--message-format=json"])
        .succeeds();
    is_cargos_json(&run);
}

#[track_caller]
fn is_cargos_json(run: &Run) {
    let events = run.stdout_events();
    assert!(events.iter().all(|event| event["reason"].is_string()));
    let finished = |event: &&serde_json::Value| event["reason"] == "build-finished";
    assert_eq!(events.iter().filter(finished).count(), 1);
    let artifact = |event: &&serde_json::Value| event["executable"].is_string();
    assert!(events.iter().any(|event| artifact(&event)));
}

#[test]
fn a_toolchain_before_the_subcommand_is_the_one_that_trains_and_builds() {
    require!("rustup");
    let t = Sandbox::rust_project();
    let list = t.run("rustup", ["toolchain", "list"]);
    let other = ["nightly", "beta"]
        .into_iter()
        .find(|name| list.stdout().lines().any(|line| line.starts_with(name)));
    for toolchain in ["stable"].into_iter().chain(other) {
        if !list
            .stdout()
            .lines()
            .any(|line| line.starts_with(toolchain))
        {
            continue;
        }
        let plus = format!("+{toolchain}");
        let version = t.run("rustc", [&plus, "-V"]).succeeds();
        if !t
            .run("rustc", [&plus, "--print", "target-libdir"])
            .is_success()
        {
            continue;
        }
        t.cargo_fdo([&plus, "train", "--no-overhead", "--", "{bin:app}"])
            .succeeds();
        let run = t.cargo_fdo([&plus, "build"]).succeeds();
        run.stderr_lacks("trained with");
        let status = t
            .cargo_fdo([&plus, "status", "--json"])
            .succeeds()
            .stdout_json();
        let trained = status["campaign"]["rustc"].as_str().unwrap();
        assert!(trained.starts_with(version.stdout().trim()), "{trained}");
        let comment = t
            .run("readelf", ["-p", ".comment", run.stdout().trim()])
            .succeeds();
        let number = version.stdout().split(' ').nth(1).unwrap();
        comment.stdout_has(&format!("rustc version {number}"));
    }
    t.cargo_fdo(["+no-such-toolchain", "build"])
        .fails_with(3)
        .stderr_has("rustup toolchain install no-such-toolchain");
}

#[test]
fn a_target_directory_behind_a_link_holds_c_that_make_compiles_inside_of_it() {
    require!("make", &tools::llvm("clang"));
    let script = projects::BY_MAKE
        .replace(".status()", ".current_dir(&out).status()")
        .replace(
            "    let status",
            "    for file in [\"Makefile\", \"hot.c\"] {\n        \
             std::fs::copy(file, format!(\"{out}/{file}\")).unwrap();\n    }\n    let status",
        );
    let t = Sandbox::c_project(&script)
        .file(
            "Makefile",
            "all:\n\t$(CC) -O2 -c hot.c -o hot.o\n\tar crs libhot.a hot.o\n",
        )
        .file("../real/keep", "")
        .manifest("[features]\nother = []");
    std::os::unix::fs::symlink(t.root().join("real"), t.path("target")).unwrap();
    trains_and_builds(&t, &[]);
    assert_eq!(t.used("C and C++"), Some(1.0));
    // What is left of a build with other features is not counted again.
    let run = t
        .cargo_fdo([
            "train",
            "--no-overhead",
            "--features",
            "other",
            "--",
            "{bin:app}",
        ])
        .succeeds();
    run.stderr_has("app-0.1.0: 1 object, 1 with counters");
}

#[test]
fn a_procedural_macro_of_the_workspace_is_tested_on_the_host_and_the_rest_is_trained() {
    let t = Sandbox::rust_project()
        .manifest("[dependencies]\nmac = { path = \"mac\" }")
        .file(
            "mac/Cargo.toml",
            "[package]\nname = \"mac\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\nproc-macro = true\n",
        )
        .file(
            "mac/src/lib.rs",
            "#[proc_macro]\npub fn nothing(t: proc_macro::TokenStream) -> proc_macro::TokenStream { t }\n\
             #[test]\nfn t() {}\n",
        )
        .file(
            "src/lib.rs",
            "mac::nothing!();\npub fn f(n: u64) -> u64 { (0..n).fold(1, |s, x| std::hint::black_box(s ^ x)) }\n\
             #[test]\nfn t() { assert!(f(3000) > 0); }\n",
        );
    let manifest = t
        .read("Cargo.toml")
        .replace("[workspace]", "[workspace]\nmembers = [\"mac\"]");
    t.write("Cargo.toml", &manifest);
    t.cargo_fdo(["train", "--no-overhead", "--workspace", "-w", "test"])
        .succeeds();
    t.cargo_fdo(["test", "--workspace"]).succeeds();
    assert_eq!(t.used("Rust"), Some(1.0));
}
