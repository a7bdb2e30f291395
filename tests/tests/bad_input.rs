//! Profiles, configuration and places that are not what they should be: each ends with its
//! documented code and an error that names the file and the remedy.

use fdo_tests::{Sandbox, tools};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

#[test]
fn a_build_without_a_profile_says_how_to_make_one() {
    let t = Sandbox::mixed();
    let run = t.cargo_fdo(["build"]).fails_saying(
        5,
        &["there is no profile for", "cargo fdo train --workload"],
    );
    assert_eq!(run.stdout(), "");
}

#[test]
fn files_that_are_no_raw_profiles_are_named_with_what_they_are() {
    let t = Sandbox::trained();
    let raw = fs::read(t.raw_profile()).unwrap();
    let indexed = fs::read(&t.slices()[0]).unwrap();
    let text = fs::read(t.campaign("rust.proftext")).unwrap();
    let cases: [(&str, &[u8], &str); 8] = [
        ("empty.profraw", b"", "file is empty"),
        ("cut.profraw", &raw[..raw.len() - 20], "file ends inside"),
        ("header.profraw", &raw[..9], "file ends inside the header"),
        ("noise.profraw", &[0xa5; 300], "is not a raw profile"),
        ("note.profraw", b"to do: train\n", "is a text file"),
        (
            "app.profdata",
            &indexed,
            "is a merged profile, not a raw one",
        ),
        ("app.proftext", &text, "is a text file, not a raw profile"),
        ("app.gcda", b"adcgB02*....", "is a gcc profile (.gcda)"),
    ];
    for (name, content, reason) in cases {
        let file = t.root().join(name);
        fs::write(&file, content).unwrap();
        let run = t
            .cargo_fdo(["train".as_ref(), "--collect".as_ref(), file.as_os_str()])
            .fails_saying(
                6,
                &["the only raw profile can't be used", name, reason, "hint: "],
            );
        // A share of all can't be allowed to be bad.
        run.stderr_lacks("--max-loss");
    }
    // The profile of the training is still there.
    let _ = t.cargo_fdo(["build"]).succeeds();
}

#[test]
fn a_raw_profile_of_another_program_is_not_taken() {
    let other = Sandbox::project()
        .file(
            "Cargo.toml",
            "[package]\nname = \"stranger\"\nversion = \"1.0.0\"\n\n[workspace]\n",
        )
        .without_tools();
    let foreign = other.raw_profile();

    let t = Sandbox::trained();
    let own = t.raw_profile();
    let collect = |files: &[&Path], more: &[&str]| {
        let mut args = vec!["train".into(), "--collect".into()];
        args.extend(files.iter().map(|file| file.as_os_str().to_owned()));
        args.extend(more.iter().map(Into::into));
        t.cargo_fdo(args)
    };
    let reason = "is of another program: its functions are of crate `stranger`";
    let _ = collect(&[&foreign], &[]).fails_saying(6, &["raw.profraw", reason]);
    let _ = collect(&[&own, &foreign], &[]).fails_saying(
        6,
        &[
            "1 of 2 raw profiles can't be used (50.00 %)",
            reason,
            "--max-loss 51%",
        ],
    );
    collect(&[&own, &foreign], &["--max-loss", "51%"])
        .succeeds()
        .stderr_has(reason);
}

#[test]
fn a_place_without_raw_profiles_is_named() {
    let t = Sandbox::trained();
    t.write("elsewhere/app.gcda", "adcg");
    let remedy = "cargo fdo train --build-only";
    let _ = t
        .cargo_fdo(["train", "--collect", "elsewhere"])
        .fails_saying(5, &["no `.profraw` file in `elsewhere`", remedy]);
    let _ = t
        .cargo_fdo(["train", "--collect", "nowhere"])
        .fails_saying(5, &["there is no `nowhere`", remedy]);
}

#[test]
fn some_bad_files_among_many_are_named_and_set_aside() {
    let t = Sandbox::trained();
    let raw = fs::read(t.raw_profile()).unwrap();
    let dir = t.root().join("raws");
    fs::create_dir(&dir).unwrap();
    for index in 0..3000 {
        fs::write(dir.join(format!("{index}.profraw")), &raw).unwrap();
    }
    fs::write(dir.join("17.profraw"), &raw[..100]).unwrap();
    let collect = ["train".as_ref(), "--collect".as_ref(), dir.as_os_str()];
    let run = t.cargo_fdo(collect).succeeds();
    run.stderr_has("Merging 3,000 raw profiles");
    run.stderr_has("17.profraw` was set aside: file ends inside");
    let manifest: serde_json::Value = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    assert_eq!(manifest["campaign"]["quarantined"], 1);

    let strict = ["--max-loss", "0"].map(AsRef::as_ref);
    let _ = t.cargo_fdo(collect.into_iter().chain(strict)).fails_saying(
        6,
        &[
            "1 of 3,000 raw profiles can't be used (0.03 %)",
            "17.profraw",
            "--max-loss 1%",
        ],
    );
}

#[test]
fn a_profile_that_was_changed_after_the_training_is_refused_and_mended_by_another() {
    let t = Sandbox::trained();
    for (name, hurt) in [("rust.proftext", "x\n"), ("c.proftext", "")] {
        let file = t.campaign(name);
        let whole = fs::read_to_string(&file).unwrap();
        let damaged = if hurt.is_empty() {
            String::new()
        } else {
            whole + hurt
        };
        fs::write(&file, damaged).unwrap();
        // As after `git clean`, or for a compiler that has none yet.
        fs::remove_dir_all(t.store().join("slices")).unwrap();
        let _ = t.cargo_fdo(["build"]).fails_saying(
            6,
            &[
                name,
                "is not what the training wrote",
                "run `cargo fdo train` again",
            ],
        );
        let train = ["train", "--no-overhead", "--", "{bin:app}"];
        let _ = t.cargo_fdo(train).succeeds();
        let _ = t.cargo_fdo(["build"]).succeeds();
    }
    fs::remove_file(t.campaign("c.proftext")).unwrap();
    fs::remove_dir_all(t.store().join("slices")).unwrap();
    let _ = t
        .cargo_fdo(["build"])
        .fails_saying(6, &["c.proftext", "cargo fdo train"]);
}

#[test]
fn a_manifest_that_is_damaged_or_of_another_version_is_refused() {
    let t = Sandbox::trained();
    let file = t.campaign("manifest.json");
    let whole = fs::read_to_string(&file).unwrap();
    let again = "run `cargo fdo train` again";

    fs::write(&file, &whole[..200]).unwrap();
    for command in ["build", "status"] {
        let _ = t
            .cargo_fdo([command])
            .fails_saying(6, &["manifest.json", again]);
    }
    fs::write(&file, whole.replace("\"version\": 1", "\"version\": 7")).unwrap();
    let _ = t.cargo_fdo(["build"]).fails_saying(
        6,
        &[
            "manifest.json",
            "has format 7; this cargo fdo reads 1",
            again,
        ],
    );
    fs::write(&file, whole).unwrap();
    let _ = t.cargo_fdo(["status"]).succeeds();
}

#[test]
fn a_current_that_points_nowhere_is_no_profile() {
    let t = Sandbox::trained();
    for id in ["0123456789abcdef", "", "../campaigns"] {
        fs::write(t.store().join("current"), id).unwrap();
        let _ = t
            .cargo_fdo(["build"])
            .fails_saying(5, &["current", "which is not there", "train"]);
    }
}

/// rustc only warns about such a file and builds without a profile.
#[test]
fn a_damaged_indexed_profile_is_noticed_and_made_again() {
    let t = Sandbox::trained();
    let _ = t.cargo_fdo(["build"]).succeeds();
    for damage in [100, 0] {
        let slices = t.slices();
        let whole: Vec<_> = slices
            .iter()
            .map(|slice| fs::read(slice).unwrap())
            .collect();
        for (slice, content) in slices.iter().zip(&whole) {
            fs::write(slice, &content[..damage]).unwrap();
        }
        let run = t.cargo_fdo(["build"]).succeeds();
        run.stderr_has("was damaged; it is made again");
        run.stderr_has("Profile 100 % of the counts were used");
        for (slice, content) in slices.iter().zip(&whole) {
            assert_eq!(&fs::read(slice).unwrap(), content);
        }
        t.cargo_fdo(["build"]).succeeds().stderr_lacks("damaged");
    }
}

#[test]
fn every_problem_of_fdo_toml_is_shown_with_its_line() {
    let t = Sandbox::mixed().file(
        "fdo.toml",
        "min-match = 2\n\
         metod = \"instrument\"\n\
         [workload.a]\n\
         run = []\n\
         [workload.b]\n\
         run = \"x\"\n\
         timeout = \"soon\"\n",
    );
    let run = t.cargo_fdo(["train"]).fails_saying(
        2,
        &[
            "4 problems in the configuration",
            "fdo.toml:1:13: `min-match`",
            "fdo.toml:2:1: unknown key `metod`; did you mean `method`?",
            "fdo.toml:4:7: `run` in [workload.a] is empty",
            "fdo.toml:7:11: `timeout` in [workload.b]",
        ],
    );
    assert_eq!(run.stdout(), "");

    fs::write(t.path("fdo.toml"), b"a = 1\n\xff\xfe").unwrap();
    let _ = t
        .cargo_fdo(["train"])
        .fails_saying(2, &["`fdo.toml` is not UTF-8 in line 2"]);
    t.write("fdo.toml", "[package.ap]\nc = false\n");
    let _ = t.cargo_fdo(["train"]).fails_saying(
        2,
        &["fdo.toml:1:10: no package `ap` among the dependencies; did you mean `app`?"],
    );
    t.write("fdo.toml", "[package.app\n");
    let _ = t.cargo_fdo(["train"]).fails_saying(2, &["fdo.toml:1:13"]);
}

#[test]
fn profile_flags_of_the_users_own_are_refused_wherever_they_are() {
    let t = Sandbox::mixed();
    let refused = |t: &Sandbox, flag: &str, place: &str| {
        let _ = t.cargo_fdo(["train", "-w", "run"]).fails_saying(
            2,
            &[
                &format!("`{flag}` in {place} is a profile of its own"),
                "remove the flag",
            ],
        );
    };
    for (variable, value, flag) in [
        ("RUSTFLAGS", "-Cprofile-use=/x", "-Cprofile-use=/x"),
        (
            "RUSTFLAGS",
            "-C opt-level=3 -C profile-generate",
            "-Cprofile-generate",
        ),
        (
            "RUSTFLAGS",
            "-Cinstrument-coverage",
            "-Cinstrument-coverage",
        ),
        (
            "CARGO_ENCODED_RUSTFLAGS",
            "-O\x1f-Cprofile-use=/x",
            "-Cprofile-use=/x",
        ),
        ("CFLAGS", "-O2 -fprofile-generate", "-fprofile-generate"),
        (
            "CXXFLAGS",
            "-fprofile-instr-generate",
            "-fprofile-instr-generate",
        ),
        ("HOST_CFLAGS", "-fprofile-use=/x", "-fprofile-use=/x"),
    ] {
        let t = Sandbox::mixed().env(variable, value);
        refused(&t, flag, variable);
    }
    t.write(
        ".cargo/config.toml",
        "[build]\nrustflags = [\"-C\", \"profile-use=/x\"]\n",
    );
    refused(
        &t,
        "-Cprofile-use=/x",
        "`rustflags` of cargo's configuration",
    );
    t.write(
        ".cargo/config.toml",
        "[env]\nCFLAGS = \"-fprofile-generate\"\n",
    );
    refused(&t, "-fprofile-generate", "CFLAGS");
    fs::remove_file(t.path(".cargo/config.toml")).unwrap();

    // Where only the compiler sees it, the build fails and names it.
    let flag = "build.rustflags=[\"-Cprofile-use=Cargo.toml\"]";
    let _ = t
        .cargo_fdo(["train", "-w", "run", "--config", flag])
        .fails_saying(4, &["`-Cprofile-use=Cargo.toml` in cargo's rustflags"]);
}

#[test]
fn wrong_arguments_are_usage_errors() {
    let t = Sandbox::mixed();
    let host = "x86_64-unknown-linux-gnu";
    let cases: [(&[&str], &[&str]); 8] = [
        (
            &[
                "build",
                "--target",
                host,
                "--target",
                "wasm32-unknown-unknown",
            ],
            &["for one target", "once for each"],
        ),
        (
            &["train", "-w", "run", "--target", "no-such-target"],
            &["no-such-target"],
        ),
        (
            &["train", "-w", "bnch"],
            &["no workload `bnch`; did you mean `bench`?"],
        ),
        (
            &["train"],
            &[
                "no workload to train with",
                "cargo fdo init",
                "--workload bench",
            ],
        ),
        (
            &["build", "--min-match", "80"],
            &["`80` for `--min-match`", "`80%`"],
        ),
        (
            &["train", "--collect", "x", "-w", "run"],
            &["--collect", "--workload"],
        ),
        (&["build", "--color", "sometimes"], &["--color", "always"]),
        (
            &["build", "--manifest-path", "no/Cargo.toml"],
            &["`no/Cargo.toml` does not exist"],
        ),
    ];
    for (args, parts) in cases {
        let run = t.cargo_fdo(args).fails_saying(2, parts);
        assert_eq!(run.stdout(), "");
    }
    let _ = t
        .cargo_fdo(["+no-such-toolchain", "build"])
        .fails_saying(3, &["no-such-toolchain", "rustup toolchain install"]);
}

#[test]
fn a_mistake_in_the_users_code_is_a_failed_build() {
    let t = Sandbox::trained();
    t.write("src/main.rs", "fn main() { oops }\n");
    for args in [&["train", "-w", "run"][..], &["build"]] {
        let _ = t
            .cargo_fdo(args)
            .fails_saying(4, &["cannot find value `oops`", "build failed"]);
    }
}

#[test]
fn a_package_without_rust_counters_still_has_those_of_its_c() {
    let t = Sandbox::mixed().file("fdo.toml", "[package.app]\nrust = false\n");
    if !fdo_tests::tools::require(&fdo_tests::tools::llvm("clang")) {
        return;
    }
    let train = ["train", "--no-overhead", "--", "{bin:app}"];
    let _ = t.cargo_fdo(train).succeeds();
    let run = t.cargo_fdo(["build"]).succeeds();
    run.stderr_has("Profile 100 % of the counts were used (C and C++ 100 %)");

    t.write("fdo.toml", "[package.app]\nrust = false\nc = false\n");
    let _ = t.cargo_fdo(train).fails_saying(
        2,
        &["nothing in `", "release/app` is profiled", "`rust = false`"],
    );
}

/// `%` is a placeholder for the runtime that writes raw profiles.
#[test]
fn a_percent_sign_in_the_path_is_told_and_got_around() {
    let t = Sandbox::mixed().moved_to("100%m");
    let train = ["train", "--no-overhead", "--", "{bin:app}"];
    let _ = t
        .cargo_fdo(train)
        .fails_saying(2, &["100%m/target` has a `%` in its path", "--target-dir"]);
    let elsewhere = t.root().join("elsewhere");
    let t = t.env("CARGO_TARGET_DIR", elsewhere);
    let _ = t.cargo_fdo(train).succeeds();
    let _ = t.cargo_fdo(["build"]).succeeds();
}

#[test]
fn a_path_with_blanks_quotes_and_commas_works() {
    let t = Sandbox::mixed().moved_to("it's a, \"b\"");
    let train = ["train", "--no-overhead", "--", "{bin:app}"];
    let _ = t.cargo_fdo(train).succeeds();
    let run = t.cargo_fdo(["build"]).succeeds();
    run.stderr_has("Profile 100 % of the counts were used");
}

#[test]
fn a_path_that_is_not_utf_8_is_refused_in_words() {
    let t = Sandbox::mixed();
    let place = t.root().join(std::ffi::OsStr::from_bytes(b"n\xe9"));
    fs::rename(t.path(""), &place).unwrap();
    let manifest = place.join("Cargo.toml");
    fs::create_dir(t.path("")).unwrap();
    let args = ["train", "-w", "run", "--manifest-path"].map(AsRef::as_ref);
    let _ = t
        .cargo_fdo(args.into_iter().chain([manifest.as_os_str()]))
        .fails_saying(2, &["UTF-8"]);
}

const OTHER: &str = "\
__attribute__((noinline)) static int step(int x) { return x * 3 + 1; }
int other(int x) { return x > 2 ? step(x) : x; }
int main(int n, char **words) { return other(n) + n > 9; }
";

/// Compiles a C program with counters by itself, runs it, and returns its raw profile.
#[track_caller]
fn raw_profile_of_c(t: &Sandbox, clang: &str) -> String {
    t.write("elsewhere/other.c", OTHER);
    let program = t.path("elsewhere/other").display().to_string();
    let source = t.path("elsewhere/other.c").display().to_string();
    let _ = t
        .run(
            clang,
            ["-O1", "-fprofile-generate", &source, "-o", &program],
        )
        .succeeds();
    let raw = t.path("elsewhere/other.profraw").display().to_string();
    let run = t
        .command(&program)
        .env("LLVM_PROFILE_FILE", &raw)
        .status()
        .unwrap();
    assert!(run.success());
    raw
}

#[test]
fn a_raw_profile_of_another_c_program_is_found_out_when_it_is_collected() {
    let clang = tools::llvm("clang");
    fdo_tests::require!(&clang);
    let t = Sandbox::trained();
    let ours = t.raw_profile().display().to_string();
    let other = raw_profile_of_c(&t, &clang);
    let says = "is of another program: nothing that was built with counters here has its function";
    let _ = t
        .cargo_fdo(["train", "--collect", &other])
        .fails_saying(6, &["the only raw profile can't be used", says]);
    let run = t
        .cargo_fdo(["train", "--max-loss=50%", "--collect", &ours, &other])
        .succeeds();
    run.stderr_has(&format!("raw profile `{other}` was set aside: {says}"));
    t.cargo_fdo(["build"])
        .succeeds()
        .stderr_has("100 % of the counts were used");
}

#[test]
fn a_library_whose_functions_all_have_plain_names_is_no_other_program() {
    fdo_tests::require!("cc");
    let t = Sandbox::project()
        .manifest("[lib]\ncrate-type = [\"cdylib\"]")
        .file(
            "src/lib.rs",
            "#[unsafe(no_mangle)]\npub extern \"C\" fn work(n: u32) -> u32 {\n\
             \x20   if n % 3 == 0 { n / 3 } else { n + 1 }\n}\n",
        )
        .file(
            "host.c",
            "unsigned work(unsigned);\nint main(void) { return work(9) == 3 ? 0 : 1; }\n",
        );
    std::fs::remove_file(t.path("src/main.rs")).unwrap();
    let _ = t.cargo_fdo(["train", "--build-only"]).succeeds();
    let libraries = t.path("target/fdo/instrument/x86_64-unknown-linux-gnu/release");
    let libraries = libraries.display().to_string();
    let _ = t
        .run(
            "cc",
            ["host.c", "-o", "host", &format!("-L{libraries}"), "-lapp"],
        )
        .succeeds();
    let raw = t.path("raw/host.profraw").display().to_string();
    let run = t
        .command(t.path("host"))
        .env("LD_LIBRARY_PATH", &libraries)
        .env("LLVM_PROFILE_FILE", &raw)
        .status()
        .unwrap();
    assert!(run.success());
    let _ = t.cargo_fdo(["train", "--collect", &raw]).succeeds();
}

#[test]
fn damaged_evidence_is_named_where_it_makes_a_build_fail() {
    let t = Sandbox::trained();
    // Here, where nothing is compiled after that.
    let _ = t.cargo_fdo(["build"]).succeeds();
    let state = t.store().join("optimize");
    let mut emptied = 0;
    for package in fs::read_dir(state.join("evidence")).unwrap().flatten() {
        for file in fs::read_dir(package.path()).unwrap().flatten() {
            fs::write(file.path(), "").unwrap();
            emptied += 1;
        }
    }
    assert!(emptied > 0);
    fs::remove_file(state.join("use.json")).unwrap();
    t.cargo_fdo(["build"])
        .fails_saying(7, &["is damaged", "clean --keep-profiles"]);
    t.cargo_fdo(["clean", "--keep-profiles"]).succeeds();
    t.cargo_fdo(["build"]).succeeds();
}

#[test]
fn a_profile_whose_list_of_c_functions_is_damaged_is_not_used() {
    let t = Sandbox::trained();
    let owners = t.campaign("c-owners.json");
    for content in [None, Some(""), Some("{\"c_work\": 7}")] {
        match content {
            Some(content) => fs::write(&owners, content).unwrap(),
            None => fs::remove_file(&owners).unwrap(),
        }
        t.write("src/main.rs", &format!("{}\n", t.read("src/main.rs")));
        t.cargo_fdo(["build"]).fails_saying(6, &["c-owners.json"]);
    }
}
