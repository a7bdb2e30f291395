//! Promises that the repository makes to its readers.

use fdo_tests::{Sandbox, usages};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

#[test]
fn every_command_in_the_readme_exists() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let usages = usages(&readme);
    assert!(!usages.is_empty(), "README.md shows no `cargo fdo` command");

    let t = Sandbox::project();
    let mut helps = BTreeMap::new();
    let mut unknown = Vec::new();
    for usage in usages {
        let help: &String = helps.entry(usage.subcommand.clone()).or_insert_with(|| {
            let words = usage.subcommand.split(' ').chain(["--help"]);
            let run = t.cargo_fdo(words).succeeds();
            run.stdout().to_owned()
        });
        for option in usage.options {
            if !knows(help, &option) {
                unknown.push(format!(
                    "line {}: {} {option}",
                    usage.line, usage.subcommand
                ));
            }
        }
    }
    assert!(
        unknown.is_empty(),
        "README.md shows unknown options: {unknown:#?}"
    );
}

/// It is a build-dependency of other people's projects.
#[test]
fn fdo_build_has_no_dependencies() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--package", "fdo-build"])
        .args(["--edges", "normal,build", "--prefix", "none"])
        .current_dir(repository)
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert_eq!(tree.lines().count(), 1, "{tree}");
}

/// They read what came from outside, or count; what is to be done about it is decided elsewhere.
#[test]
fn closed_modules_know_nobody_else_of_ours() {
    for (module, least_files) in [("metrics", 6), ("profile", 6), ("statistics", 6)] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cargo-fdo/src");
        let mut open = vec![source.join(module)];
        let mut files = 0;
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(
                    std::fs::read_dir(path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let foreign = text.lines().find(|line| {
                let others = line.replace(&format!("crate::{module}"), "");
                others.contains("crate::") || others.contains("fdo_build::")
            });
            assert_eq!(foreign, None, "{}", path.display());
            files += 1;
        }
        assert!(files >= least_files, "{module} is where it was");
    }
}

/// Whether a help text has the option as a whole word.
fn knows(help: &str, option: &str) -> bool {
    help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .any(|word| word == option)
}
