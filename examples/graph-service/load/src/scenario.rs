//! What the scenarios ask, and what the answer has to be.

use crate::Failure;
use crate::client::Answer;
use crate::dataset::{Dataset, Person, person};
use crate::fill::{insert_knows, insert_people};
use crate::random::Random;
use std::collections::BTreeMap;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    Insert,
    Fetch,
    Go1Step,
    Go3Step,
    Path,
}

impl FromStr for Scenario {
    type Err = Failure;

    fn from_str(name: &str) -> Result<Scenario, Failure> {
        match name {
            "insert" => Ok(Scenario::Insert),
            "fetch" => Ok(Scenario::Fetch),
            "go1step" => Ok(Scenario::Go1Step),
            "go3step" => Ok(Scenario::Go3Step),
            "path" => Ok(Scenario::Path),
            _ => Err(format!(
                "unknown scenario `{name}`: there are insert, fetch, go1step, go3step and path"
            )),
        }
    }
}

/// One statement.
pub enum Request {
    InsertPeople {
        seed: u64,
        ids: Vec<u64>,
    },
    InsertKnows {
        seed: u64,
        edges: Vec<(u64, u64)>,
    },
    Fetch {
        /// Of the graph, or of what `InsertPeople` inserted.
        seed: u64,
        ids: Vec<u64>,
    },
    OneStep {
        from: Vec<u64>,
        since: i64,
        age: i64,
    },
    ThreeSteps {
        from: u64,
        weight: f64,
        rest: i64,
    },
    Cities {
        from: u64,
        since: i64,
    },
    Path {
        from: u64,
        to: u64,
        steps: usize,
    },
}

const AT_ONCE: u64 = 64;
const LONGEST_PATH: usize = 6;

/// Where inserted vertices begin: far from those of the graph, so that other scenarios find it unchanged.
fn first_inserted(seed: u64) -> u64 {
    (1 << 40) + ((seed & 0xffff) << 24)
}

impl Request {
    pub fn new(scenario: Scenario, dataset: &Dataset, seed: u64, number: u64) -> Request {
        let mut random = Random::of(&[seed, scenario as u64, number]);
        let vertices = dataset.shape.vertices;
        let mut id = || 1 + random.below(vertices);
        match scenario {
            Scenario::Insert => {
                // Vertices, then edges between these and earlier ones.
                let first = first_inserted(seed) + number / 2 * AT_ONCE;
                let ids: Vec<u64> = (first..first + AT_ONCE).collect();
                if number.is_multiple_of(2) {
                    return Request::InsertPeople { seed, ids };
                }
                let span = first + AT_ONCE - first_inserted(seed);
                let edges = ids
                    .iter()
                    .flat_map(|id| [*id; 2])
                    .map(|id| (id, first_inserted(seed) + random.below(span)))
                    .collect();
                Request::InsertKnows { seed, edges }
            }
            Scenario::Fetch => Request::Fetch {
                seed: dataset.shape.seed,
                ids: (0..AT_ONCE).map(|_| id()).collect(),
            },
            Scenario::Go1Step => Request::OneStep {
                from: (0..12).map(|_| id()).collect(),
                since: 1990 + random.below(15) as i64,
                age: 20 + random.below(30) as i64,
            },
            Scenario::Go3Step if number.is_multiple_of(2) => Request::ThreeSteps {
                from: id(),
                weight: random.below(8) as f64 / 10.0,
                rest: random.below(3) as i64,
            },
            Scenario::Go3Step => Request::Cities {
                from: id(),
                since: 1990 + random.below(15) as i64,
            },
            Scenario::Path => Request::Path {
                from: id(),
                to: id(),
                steps: LONGEST_PATH,
            },
        }
    }

    pub fn statement(&self) -> String {
        match self {
            Request::InsertPeople { seed, ids } => insert_people(*seed, ids),
            Request::InsertKnows { seed, edges } => insert_knows(*seed, edges),
            Request::Fetch { ids, .. } => format!(
                "FETCH PROP ON person {} YIELD person._id AS id, person.name AS name, person.age AS age, \
                 person.score * 2 + person.age AS rating, upper(person.city) AS city",
                list(ids)
            ),
            Request::OneStep { from, since, age } => format!(
                "GO FROM {} OVER knows WHERE knows.since >= {since} AND $$.person.age > {age} \
                 YIELD knows._src AS src, knows._dst AS dst, $$.person.name AS name, \
                 knows.since - $^.person.age AS born, knows.weight AS weight ORDER BY dst, src",
                list(from)
            ),
            Request::ThreeSteps { from, weight, rest } => format!(
                "GO 3 STEPS FROM {from} OVER knows WHERE knows.weight >= {weight:?} AND \
                 (knows.since + $^.person.age) % 3 != {rest} YIELD DISTINCT knows._dst AS dst ORDER BY dst"
            ),
            Request::Cities { from, since } => format!(
                "GO 3 STEPS FROM {from} OVER knows WHERE knows.since > {since} AND $$.person.city != \"Riga\" \
                 YIELD $$.person.city AS city, COUNT(*) AS ways, MAX($$.person.age) AS oldest, \
                 SUM(knows.since) AS years ORDER BY ways DESC, city"
            ),
            Request::Path { from, to, steps } => {
                format!("FIND SHORTEST PATH FROM {from} TO {to} OVER knows UPTO {steps} STEPS")
            }
        }
    }

    /// Holds an answer against the graph. `thorough` is work for the load generator too.
    pub fn check(&self, dataset: &Dataset, answer: &Answer, thorough: bool) -> Result<(), Failure> {
        match self {
            Request::InsertPeople { .. } | Request::InsertKnows { .. } => {
                self.same(&[], answer.rows.iter().cloned())
            }
            Request::Fetch { seed, ids } => self.check_people(*seed, ids, answer),
            Request::OneStep { from, since, age } if thorough => {
                self.check_one_step(dataset, from, *since, *age, answer)
            }
            Request::ThreeSteps { from, weight, rest } if thorough => {
                let expected = three_steps(dataset, *from, *weight, *rest);
                self.same(&expected, answer.rows.iter().cloned())
            }
            Request::Cities { from, since } if thorough => {
                let expected = cities(dataset, *from, *since);
                self.same(&expected, answer.rows.iter().cloned())
            }
            Request::Path { from, to, steps } => {
                self.check_path(dataset, *from, *to, *steps, answer, thorough)
            }
            _ => Ok(()),
        }
    }

    fn wrong(&self, what: &str) -> Failure {
        let statement: String = self.statement().chars().take(300).collect();
        format!("wrong answer to `{statement}`: {what}")
    }

    fn same(&self, expected: &[String], rows: impl Iterator<Item = String>) -> Result<(), Failure> {
        let rows: Vec<String> = rows.collect();
        if rows == expected {
            return Ok(());
        }
        let first = expected.iter().zip(&rows).find(|(a, b)| a != b);
        Err(self.wrong(&format!(
            "{} rows, {} were expected; the first difference is {first:?} (expected, found)",
            rows.len(),
            expected.len()
        )))
    }

    fn check_people(&self, seed: u64, ids: &[u64], answer: &Answer) -> Result<(), Failure> {
        let mut expected: Vec<u64> = ids.to_vec();
        let mut found = Vec::with_capacity(ids.len());
        for fields in answer.fields() {
            let [id, name, age, rating, city] = fields[..] else {
                return Err(self.wrong("not five fields"));
            };
            let id: u64 = id.parse().map_err(|_| self.wrong(id))?;
            let wanted: Person = person(seed, id);
            let right = name == wanted.name
                && age.parse() == Ok(wanted.age)
                && rating.parse() == Ok(wanted.score * 2.0 + wanted.age as f64)
                && city == wanted.city.to_uppercase();
            if !right {
                return Err(self.wrong(&format!("{fields:?}, and not {wanted:?}")));
            }
            found.push(id);
        }
        expected.sort_unstable();
        found.sort_unstable();
        if found == expected {
            Ok(())
        } else {
            Err(self.wrong("other vertices than were asked for"))
        }
    }

    fn check_one_step(
        &self,
        dataset: &Dataset,
        from: &[u64],
        since: i64,
        age: i64,
        answer: &Answer,
    ) -> Result<(), Failure> {
        let mut starts = from.to_vec();
        starts.sort_unstable();
        starts.dedup();
        let mut expected = Vec::new();
        for src in starts {
            for dst in dataset.neighbours(src) {
                let knows = dataset.knows(src, *dst);
                let person = dataset.person(*dst);
                if knows.since >= since && person.age > age {
                    let born = knows.since - dataset.person(src).age;
                    let row = format!("{src}\t{dst}\t{}\t{born}\t{}", person.name, knows.weight);
                    expected.push((*dst, src, row));
                }
            }
        }
        expected.sort();
        let expected: Vec<String> = expected.into_iter().map(|(_, _, row)| row).collect();
        self.same(&expected, answer.rows.iter().cloned())
    }

    fn check_path(
        &self,
        dataset: &Dataset,
        from: u64,
        to: u64,
        steps: usize,
        answer: &Answer,
        thorough: bool,
    ) -> Result<(), Failure> {
        let mut length = None;
        for fields in answer.fields() {
            let ids: Vec<u64> = fields[0]
                .split("->")
                .map(|id| id.parse().unwrap_or(u64::MAX))
                .collect();
            let own = ids.len() - 1;
            let edges_are_there = ids
                .windows(2)
                .all(|pair| dataset.neighbours(pair[0]).binary_search(&pair[1]).is_ok());
            let right = ids[0] == from
                && ids[own] == to
                && own <= steps
                && fields.get(1) == Some(&own.to_string().as_str())
                && *length.get_or_insert(own) == own
                && edges_are_there;
            if !right {
                return Err(self.wrong(&format!("{fields:?}")));
            }
        }
        if !thorough {
            return Ok(());
        }
        let (expected, count) = shortest(dataset, from, to, steps);
        if length != expected || answer.rows.len() as u64 != count {
            let found = answer.rows.len();
            return Err(self.wrong(&format!(
                "{found} of length {length:?}, and not {count} of length {expected:?}"
            )));
        }
        Ok(())
    }
}

fn list(ids: &[u64]) -> String {
    let texts: Vec<String> = ids.iter().map(u64::to_string).collect();
    texts.join(", ")
}

/// Where the third step begins.
fn after_two_steps(dataset: &Dataset, from: u64) -> Vec<u64> {
    let mut frontier = vec![from];
    for _ in 0..2 {
        frontier = frontier
            .iter()
            .flat_map(|id| dataset.neighbours(*id))
            .copied()
            .collect();
        frontier.sort_unstable();
        frontier.dedup();
    }
    frontier
}

fn three_steps(dataset: &Dataset, from: u64, weight: f64, rest: i64) -> Vec<String> {
    let mut found = Vec::new();
    for src in after_two_steps(dataset, from) {
        let age = dataset.person(src).age;
        for dst in dataset.neighbours(src) {
            let knows = dataset.knows(src, *dst);
            if knows.weight >= weight && (knows.since + age) % 3 != rest {
                found.push(*dst);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found.iter().map(u64::to_string).collect()
}

fn cities(dataset: &Dataset, from: u64, since: i64) -> Vec<String> {
    let mut all: BTreeMap<&str, (i64, i64, i64)> = BTreeMap::new();
    for src in after_two_steps(dataset, from) {
        for dst in dataset.neighbours(src) {
            let knows = dataset.knows(src, *dst);
            let person = dataset.person(*dst);
            if knows.since > since && person.city != "Riga" {
                let (ways, oldest, years) = all.entry(person.city).or_default();
                *ways += 1;
                *oldest = person.age.max(*oldest);
                *years += knows.since;
            }
        }
    }
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|(city, (ways, _, _))| (-ways, *city));
    all.iter()
        .map(|(city, (ways, oldest, years))| format!("{city}\t{ways}\t{oldest}\t{years}"))
        .collect()
}

/// Length and number of all shortest paths, searched from one end only.
fn shortest(dataset: &Dataset, from: u64, to: u64, steps: usize) -> (Option<usize>, u64) {
    let mut seen = vec![false; dataset.shape.vertices as usize + 1];
    let mut frontier = BTreeMap::from([(from, 1_u64)]);
    for length in 0..=steps {
        if let Some(count) = frontier.get(&to) {
            return (Some(length), *count);
        }
        for id in frontier.keys() {
            seen[*id as usize] = true;
        }
        let mut next = BTreeMap::new();
        for (id, count) in &frontier {
            for other in dataset.neighbours(*id) {
                if !seen[*other as usize] {
                    *next.entry(*other).or_insert(0) += count;
                }
            }
        }
        frontier = next;
    }
    (None, 0)
}
