//! What is said where: data on stdout, words on stderr, and both as the user wants them.

use fdo_tests::{Sandbox, tools};
use std::path::Path;

#[test]
fn only_programs_are_on_the_stdout_of_a_build() {
    let t = Sandbox::trained();
    let train = ["train", "--no-overhead", "--", "{bin:app}"];
    assert_eq!(t.cargo_fdo(train).succeeds().stdout(), "");
    let run = t.cargo_fdo(["build"]).succeeds();
    let lines: Vec<_> = run.stdout().lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(tools::is_program(Path::new(lines[0])));
    let run = t
        .cargo_fdo(["build", "--message-format", "json"])
        .succeeds();
    assert!(
        run.stdout_events()
            .iter()
            .all(|event| event["reason"].is_string())
    );
    let status = t.cargo_fdo(["status", "--json"]).succeeds().stdout_json();
    assert_eq!(status["version"], 1);
}

#[test]
fn quiet_says_only_what_is_wrong() {
    let t = Sandbox::trained();
    let run = t.cargo_fdo(["build", "--quiet"]).succeeds();
    assert_eq!(run.stderr(), "");
    let run = t
        .cargo_fdo(["train", "-q", "--collect", "nowhere"])
        .fails_saying(5, &["error: there is no `nowhere`", "hint: "]);
    assert_eq!(run.stderr().lines().count(), 2, "{}", run.stderr());
}

#[test]
fn colors_follow_the_flag_then_cargo_then_no_color() {
    const GREEN: &str = "\u{1b}[1;32m     Profile\u{1b}[0m";
    const RED: &str = "\u{1b}[1;31merror\u{1b}[0m";
    let t = Sandbox::trained();
    // The harness says never; stderr is no terminal.
    t.cargo_fdo(["build"]).succeeds().stderr_lacks("\u{1b}[");
    t.cargo_fdo(["build", "--color", "always"])
        .succeeds()
        .stderr_has(GREEN);
    t.cargo_fdo(["build", "--color", "always", "--min-match", "7"])
        .fails_with(2)
        .stderr_has(RED);
    let t = t.env("CARGO_TERM_COLOR", "always");
    t.cargo_fdo(["build"]).succeeds().stderr_has(GREEN);
    t.cargo_fdo(["build", "--min-match", "7"])
        .fails_with(2)
        .stderr_has(RED);
    t.cargo_fdo(["build", "--color", "never"])
        .succeeds()
        .stderr_lacks("\u{1b}[");
}

#[test]
fn a_terminal_gets_colors_unless_no_color_is_set() {
    fdo_tests::require!("script");
    let t = Sandbox::trained()
        .env_remove("CARGO_TERM_COLOR")
        .env("TERM", "xterm");
    // `script` makes stderr a terminal, and takes one string for a shell.
    let on_a_terminal = ["script", "-qec", "\"$0\" fdo status", "/dev/null"];
    let look = |t: &Sandbox| {
        let program = t.cargo_fdo_command(&[]).get_program().to_owned();
        let command = format!("'{}' fdo build", Path::new(&program).display());
        let words = [
            on_a_terminal[0],
            on_a_terminal[1],
            &command,
            on_a_terminal[3],
        ];
        t.run(words[0], &words[1..]).succeeds()
    };
    look(&t).stdout_has("\u{1b}[1;32m     Profile");
    look(&t.env("NO_COLOR", "1")).stdout_lacks("\u{1b}[1;32m     Profile");
}

#[test]
fn a_terminal_shows_which_workload_runs_below_its_whole_lines() {
    fdo_tests::require!("script");
    let workload =
        "for i in 1 2; do printf 'begin-%s ' $i; sleep 0.5; echo end-$i; done; {bin:app}";
    let t = Sandbox::trained().env("TERM", "xterm").file(
        "fdo.toml",
        &format!("[workload.lines]\nrun = '''{workload}'''\n"),
    );
    let words = ["train", "--no-overhead"];
    let run = t.cargo_fdo(words).succeeds();
    run.stderr_has("begin-1 end-1\nbegin-2 end-2\n");
    run.stderr_lacks("1 of 1");

    let program = t.cargo_fdo_command(&[]).get_program().to_owned();
    let command = format!(
        "'{}' fdo {}",
        Path::new(&program).display(),
        words.join(" ")
    );
    let run = t.run("script", ["-qec", &command, "/dev/null"]).succeeds();
    run.stdout_has("`lines`, 1 of 1 [");
    // Nothing of ours comes between the parts of a line.
    run.stdout_has("begin-1 end-1\r\n");
    run.stdout_has("begin-2 end-2\r\n");
}

#[test]
fn the_help_is_the_same_however_it_is_called() {
    let t = Sandbox::project();
    let help = t.cargo_fdo(["--help"]).succeeds();
    help.stdout_has("Usage: cargo fdo <COMMAND>");
    help.stdout_has("Exit codes: 0 ok, 2 usage or config, 3 tool or toolchain unfit");
    // `cargo-fdo build`, and cargo's `cargo-fdo fdo build`.
    let direct = t.cargo_fdo_command(&[]).get_program().to_owned();
    let run = t.run(&direct, ["--help"]).succeeds();
    assert_eq!(run.stdout(), help.stdout());
    // `cargo help fdo` finds it in `PATH`.
    let path = std::env::join_paths(
        [Path::new(&direct).parent().unwrap().to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let t = t.env("PATH", path.unwrap());
    assert_eq!(t.cargo(["help", "fdo"]).succeeds().stdout(), help.stdout());

    let train = t.cargo_fdo(["train", "-h"]).succeeds();
    assert_eq!(train.stdout().matches("\nOptions:").count(), 1);
    let bare = t.cargo_fdo([""; 0]).fails_with(2);
    bare.stderr_has("Commands:");
    t.cargo_fdo(["biuld"])
        .fails_with(2)
        .stderr_has("a similar subcommand exists: 'build'");
}
