//! What a file with scenarios gives, and what a wrong one is told.

use crate::config::{CommandLine, Config, Kind, WorkloadChoice};
use std::path::Path;
use std::time::Duration;

fn parse(text: &str) -> Config {
    Config::parse(Path::new("/w"), text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Each problem as `line:column: message`.
#[track_caller]
fn assert_problems(text: &str, expected: &[&str]) {
    let found: Vec<String> = match Config::parse(Path::new("/w"), text) {
        Ok(_) => Vec::new(),
        Err(error) => error
            .problems
            .iter()
            .map(|problem| {
                let place = problem.place.as_ref().expect("a place in the file");
                format!("{}:{}: {}", place.line, place.column, problem.message)
            })
            .collect(),
    };
    assert_eq!(found, expected, "in\n{text}");
}

const GRAPH: &str = r#"
[workload.graph]
prepare = ["{bin:load}", "import", "--size={size}", "{dir:data}"]
run = ["{bin:load}", "{scenario}", "-n{requests}", "-u{users}"]
env = { SIZE = "{size}" }
timeout = "10s"
metrics.p95 = { regex = "p95=([0-9.]+)", file = "{dir:data}/{scenario}.txt" }
[workload.graph.parameters]
users = 0x10
size = "4 k"
[workload.graph.scenarios]
insert = { requests = 20_000, weight = 3 }
go-1 = { requests = 5e3, users = 1, kind = "evaluate", timeout = "1min", repeat = 2 }
big = { requests = 1.5, size = true }
"#;

fn names(choices: &[WorkloadChoice]) -> Vec<String> {
    choices.iter().map(WorkloadChoice::name).collect()
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn each_scenario_is_a_workload_with_its_own_values() {
    let config = parse(GRAPH);
    let keys: Vec<_> = config.workloads.keys().map(String::as_str).collect();
    assert_eq!(keys, ["graph/big", "graph/go-1", "graph/insert"]);
    let insert = &config.workloads["graph/insert"];
    assert_eq!(insert.name, "graph/insert");
    assert_eq!(insert.run.to_string(), "{bin:load} insert -n20000 -u16");
    assert_eq!(
        insert.prepare[0].to_string(),
        "{bin:load} import --size=4 k {dir:data}"
    );
    assert_eq!(insert.env[0].1.to_string(), "4 k");
    assert_eq!(
        (insert.weight, insert.repeat, insert.kind),
        (3, 1, Kind::Train)
    );
    assert_eq!(insert.timeout, Some(Duration::from_secs(10)));
    assert_eq!(insert.dirs().into_iter().collect::<Vec<_>>(), ["data"]);

    let go = &config.workloads["graph/go-1"];
    assert_eq!(go.run.to_string(), "{bin:load} go-1 -n5000 -u1");
    assert_eq!((go.weight, go.repeat, go.kind), (1, 2, Kind::Evaluate));
    assert_eq!(go.timeout, Some(Duration::from_secs(60)));
    assert_eq!(go.family(), "graph");
    let big = &config.workloads["graph/big"];
    assert_eq!(big.run.to_string(), "{bin:load} big -n1.5 -u16");
    assert_eq!(big.parameter("size"), Some("true"));
}

#[test]
fn a_name_chooses_all_scenarios_or_one_in_the_order_of_the_file() {
    let config = parse(GRAPH);
    let train = |given: &[&str]| config.select(&owned(given)).map(|chosen| names(&chosen));
    assert_eq!(train(&[]).unwrap(), ["graph/insert", "graph/big"]);
    assert_eq!(train(&["graph"]).unwrap(), ["graph/insert", "graph/big"]);
    assert_eq!(
        train(&["graph/big", "graph", "bench"]).unwrap(),
        ["graph/big", "graph/insert", "bench"]
    );
    // What is named in full is meant, whatever its kind.
    assert_eq!(train(&["graph/go-1"]).unwrap(), ["graph/go-1"]);
    let evaluate = |given: &[&str]| names(&config.select_to_evaluate(&owned(given)).unwrap());
    assert_eq!(evaluate(&[]), ["graph/go-1"]);
    assert_eq!(evaluate(&["graph"]), ["graph/go-1"]);
    for (given, near) in [("grahp", "graph"), ("graph/inesrt", "graph/insert")] {
        let message = train(&[given]).unwrap_err().problems[0].to_string();
        assert_eq!(
            message,
            format!("no workload `{given}`; did you mean `{near}`?")
        );
    }

    let keyed = parse(&format!("workloads = ['graph/big', 'graph']\n{GRAPH}"));
    assert_eq!(
        names(&keyed.select(&[]).unwrap()),
        ["graph/big", "graph/insert"]
    );
    assert_problems(
        &format!("workloads = ['graph/go-1', 'graph/bgi']\n{GRAPH}"),
        &[
            "1:14: `workloads` has `graph/go-1`, which is of kind \"evaluate\" and can't be trained with",
            "1:28: `workloads` has `graph/bgi`, and there is no such workload; did you mean `graph/big`?",
        ],
    );
}

#[test]
fn a_matrix_gives_all_combinations_and_scenarios_times_them() {
    let matrix = "[workload.w]\nrun = '{bin:app} {users} {size}'\nweight = 2\n\
                  [workload.w.matrix]\nusers = [1, 10]\nsize = ['4k', 'a/b']\n";
    let config = parse(matrix);
    let all = names(&config.select(&[]).unwrap());
    assert_eq!(
        all,
        [
            "w/users-1-size-4k",
            "w/users-1-size-a-b",
            "w/users-10-size-4k",
            "w/users-10-size-a-b"
        ]
    );
    let last = &config.workloads["w/users-10-size-a-b"];
    assert_eq!(last.run.to_string(), "{bin:app} 10 a/b");
    assert_eq!(last.weight, 2);

    let both = matrix.replace("{size}", "{size} {what} {scenario}")
        + "[workload.w.scenarios]\nput = { what = 'p' }\nget = { what = 'g', weight = 5 }\n";
    let config = parse(&both);
    assert_eq!(config.workloads.len(), 8);
    let one = &config.workloads["w/get-users-1-size-4k"];
    assert_eq!(one.run.to_string(), "{bin:app} 1 4k g get");
    assert_eq!(one.weight, 5);

    // Another value of a parameter: what is of the matrix leaves the name.
    let other = one.with("users", "7");
    assert_eq!(other.name, "w/get-size-4k");
    assert_eq!(other.run.to_string(), "{bin:app} 7 4k g get");
    let same = config.workloads["w/get-users-10-size-4k"].with("users", "7");
    assert_eq!((&same.name, &same.run), (&other.name, &other.run));
}

#[test]
fn parameters_without_scenarios_leave_the_workload_its_name() {
    let config =
        parse("[workload.w]\nrun = ['{bin:app}', '{users}']\n[workload.w.parameters]\nusers = 3\n");
    let w = &config.workloads["w"];
    assert_eq!(w.run.to_string(), "{bin:app} 3");
    assert_eq!(w.with("users", "4").run.to_string(), "{bin:app} 4");
    assert_eq!(w.with("users", "4").name, "w");
}

#[test]
fn what_does_not_fit_together_is_named() {
    let head = "[workload.w]\nrun = '{bin:app} {users}'\n";
    let cases: &[(&str, &[&str])] = &[
        (
            "[workload.w.scenarios]\na = { users = 1 }\nb = { user = 2 }",
            &[
                "5:1: [workload.w.scenarios.b] has no `users`, which the workload uses",
                "5:7: `user` in [workload.w.scenarios.b] is a parameter that nothing uses, as `{user}`; did you mean `users`?",
            ],
        ),
        (
            "[workload.w.scenarios]\na = { users = 1, wieght = 2 }",
            &[
                "4:18: `wieght` in [workload.w.scenarios.a] is a parameter that nothing uses, as `{wieght}`; did you mean `weight`?",
            ],
        ),
        (
            "[workload.w.parameters]\nuser = 1",
            &[
                "2:7: `run` in [workload.w] has an unknown placeholder `{users}`; did you mean `user`?",
            ],
        ),
        (
            "[workload.w.parameters]\nusers = 1\nsize = 2",
            &[
                "5:1: `size` in [workload.w.parameters] is a parameter that nothing uses, as `{size}`",
            ],
        ),
        (
            "[workload.w.matrix]\nusers = [1, 1]",
            &["4:13: `users` in [workload.w.matrix] has `1` twice"],
        ),
        (
            "[workload.w.matrix]\nusers = ['a b', 'a-b']",
            &["4:1: [workload.w] gives two scenarios the name `w/users-a-b`"],
        ),
        (
            "[workload.w.matrix]\nusers = [1]\n[workload.w.parameters]\nusers = 2",
            &["6:1: `users` in [workload.w.parameters] has its values from `matrix` already"],
        ),
        (
            "[workload.w.scenarios]\na = { users = 1, run = 'x' }\n'b c' = { users = 2 }\nd = 3",
            &[
                "4:18: `run` in [workload.w.scenarios.a] is the same for all scenarios of a workload",
                "5:1: `b c` can't name a scenario: only letters, digits, `-`, `_` and `.` can, after a letter or digit",
                "6:5: [workload.w.scenarios.d] must be a table, not `3`",
            ],
        ),
        (
            "[workload.w.scenarios]\na = { users = [1], weight = 0 }",
            &[
                "4:15: `users` in [workload.w.scenarios.a] must be a string, a number, `true` or `false`, not an array",
                "4:29: `weight` in [workload.w.scenarios.a] must be a whole number from 1 to 4294967295, not `0`",
            ],
        ),
    ];
    for (tail, expected) in cases {
        let found = match Config::parse(Path::new("/w"), &format!("{head}{tail}\n")) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        for message in *expected {
            assert!(found.contains(message), "{message}\n{found}\n{tail}");
        }
        let number = found.lines().count() - 1;
        assert_eq!(number, expected.len(), "{found}\n{tail}");
    }
    assert_problems(
        "[workload.w]\nrun = 'x'\n[workload.w.parameters]\ntmp = 1\nport = 1\nscenario = 1\nweight = 1\nUsers = 1\n",
        &[
            "4:1: `tmp` in [workload.w.parameters] can't be a parameter: `{tmp}` stands for something else",
            "5:1: `port` in [workload.w.parameters] can't be a parameter: `{port}` stands for something else",
            "6:1: `scenario` in [workload.w.parameters] can't be a parameter: `{scenario}` stands for something else",
            "7:1: `weight` in [workload.w.parameters] can't be a parameter: it is a key of the workload itself",
            "8:1: `Users` in [workload.w.parameters] can't be a parameter: only lower-case letters, digits, `-` and `_` can, after a letter",
        ],
    );
    for table in ["parameters", "scenarios", "matrix"] {
        let text = format!("[workload.w]\nrun = 'x'\n[workload.w.{table}]\n");
        assert_problems(&text, &[&format!("3:13: [workload.w.{table}] is empty")]);
    }
    let many: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let many = many.join(",");
    assert_problems(
        &format!(
            "[workload.w]\nrun = '{{a}} {{b}}'\n[workload.w.matrix]\na = [{many}]\nb = [{many}]\n"
        ),
        &["4:1: [workload.w] has more than 1000 scenarios"],
    );
}

#[test]
fn prepare_is_one_command_or_several_steps() {
    let steps = |prepare: &str| {
        let config = parse(&format!("[workload.w]\nrun = 'x'\nprepare = {prepare}\n"));
        config.workloads["w"].prepare.clone()
    };
    assert_eq!(steps("'a b'").len(), 1);
    assert!(matches!(&steps("['a', 'b']")[..], [CommandLine::Argv(words)] if words.len() == 2));
    assert!(matches!(
        &steps("[['{bin:x}', 'fill'], 'sort < {tmp}/a > {tmp}/b', { run = 'sync' }]")[..],
        [
            CommandLine::Argv(_),
            CommandLine::Shell(_),
            CommandLine::Shell(_)
        ]
    ));
    assert_problems(
        "[workload.w]\nrun = 'x'\nprepare = [['a'], [], '', 3, { rnu = 'x' }]\n",
        &[
            "3:1: [workload.w.prepare] has no `run`",
            "3:19: `prepare` in [workload.w] is empty",
            "3:23: `prepare` in [workload.w] is empty",
            "3:27: `prepare` in [workload.w] must be an array of arguments or a string for the shell, not `3`",
            "3:32: unknown key `rnu` in [workload.w.prepare]; did you mean `run`?",
        ],
    );
}
