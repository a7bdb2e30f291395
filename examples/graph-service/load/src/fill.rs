use crate::Failure;
use crate::client::Client;
use crate::dataset::{Dataset, SHAPE_VERTEX, Shape, knows, person};
use std::fmt::Write;

const SCHEMA: [&str; 3] = [
    "CREATE TAG IF NOT EXISTS dataset(vertices int, degree int, seed int)",
    "CREATE TAG IF NOT EXISTS person(name string, age int, city string, score double)",
    "CREATE EDGE IF NOT EXISTS knows(since int, weight double)",
];
const VERTICES_AT_ONCE: usize = 200;
const EDGES_AT_ONCE: usize = 400;

/// Makes the schema and the whole graph.
pub fn fill(address: &str, shape: Shape) -> Result<(), Failure> {
    let mut client = Client::connect(address)?;
    for statement in SCHEMA {
        client.ask(statement)?;
    }
    let dataset = Dataset::new(shape);
    let ids: Vec<u64> = (1..=shape.vertices).collect();
    for batch in ids.chunks(VERTICES_AT_ONCE) {
        client.ask(&insert_people(shape.seed, batch))?;
    }
    let mut edges = Vec::with_capacity(EDGES_AT_ONCE);
    for id in ids {
        for other in dataset.neighbours(id) {
            edges.push((id, *other));
            if edges.len() == EDGES_AT_ONCE {
                client.ask(&insert_knows(shape.seed, &edges))?;
                edges.clear();
            }
        }
    }
    if !edges.is_empty() {
        client.ask(&insert_knows(shape.seed, &edges))?;
    }
    // Last, so that a service that was filled by half is not taken for a whole one.
    client.ask(&format!(
        "INSERT VERTEX dataset(vertices, degree, seed) VALUES {SHAPE_VERTEX}:({}, {}, {})",
        shape.vertices, shape.degree, shape.seed
    ))?;
    println!(
        "filled: {} vertices, {} edges",
        shape.vertices,
        dataset.edges()
    );
    Ok(())
}

pub fn insert_people(seed: u64, ids: &[u64]) -> String {
    let mut statement = String::from("INSERT VERTEX person(name, age, city, score) VALUES");
    for (i, id) in ids.iter().enumerate() {
        let person = person(seed, *id);
        let comma = if i == 0 { "" } else { "," };
        write!(
            statement,
            r#"{comma} {id}:("{}", {}, "{}", {:?})"#,
            person.name, person.age, person.city, person.score
        )
        .expect("strings take everything");
    }
    statement
}

pub fn insert_knows(seed: u64, edges: &[(u64, u64)]) -> String {
    let mut statement = String::from("INSERT EDGE knows(since, weight) VALUES");
    for (i, (from, to)) in edges.iter().enumerate() {
        let knows = knows(seed, *from, *to);
        let comma = if i == 0 { "" } else { "," };
        write!(
            statement,
            "{comma} {from}->{to}:({}, {:?})",
            knows.since, knows.weight
        )
        .expect("strings take everything");
    }
    statement
}
