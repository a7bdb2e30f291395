//! The graph that `fill` makes: all of it follows from three numbers, so answers can be checked.

use crate::Failure;
use crate::client::Client;
use crate::random::mix_all;

/// The vertex that holds the three numbers.
pub const SHAPE_VERTEX: u64 = 0;

pub const CITIES: [&str; 12] = [
    "Berlin", "Lagos", "Lima", "Oslo", "Osaka", "Pune", "Quito", "Riga", "Seoul", "Tunis",
    "Utrecht", "Vilnius",
];
const FIRST: [&str; 8] = [
    "Ada", "Björn", "Chidi", "Dolores", "Emine", "Farid", "Greta", "Hiro",
];
const LAST: [&str; 8] = [
    "Abe", "Brandt", "Castro", "Dogan", "Eze", "Fischer", "García", "Holm",
];

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    pub vertices: u64,
    pub degree: u64,
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Person {
    pub name: String,
    pub age: i64,
    pub city: &'static str,
    pub score: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knows {
    pub since: i64,
    pub weight: f64,
}

/// Vertices are numbered from 1.
pub struct Dataset {
    pub shape: Shape,
    neighbours: Vec<Vec<u64>>,
}

impl Dataset {
    pub fn new(shape: Shape) -> Dataset {
        let mut neighbours = vec![Vec::new()];
        neighbours.extend((1..=shape.vertices).map(|id| neighbours_of(shape, id)));
        Dataset { shape, neighbours }
    }

    /// Of the graph that a service was filled with.
    pub fn of_service(client: &mut Client) -> Result<Dataset, Failure> {
        let question = format!(
            "FETCH PROP ON dataset {SHAPE_VERTEX} YIELD dataset.vertices, dataset.degree, dataset.seed"
        );
        let answer = client
            .ask(&question)
            .map_err(|failure| format!("{failure}; run `graph-load fill` first"))?;
        let numbers: Vec<u64> = answer
            .fields()
            .flatten()
            .filter_map(|field| field.parse().ok())
            .collect();
        let [vertices, degree, seed] = numbers[..] else {
            return Err("the service was not filled; run `graph-load fill` first".to_owned());
        };
        Ok(Dataset::new(Shape {
            vertices,
            degree,
            seed,
        }))
    }

    /// Sorted.
    pub fn neighbours(&self, id: u64) -> &[u64] {
        self.neighbours
            .get(id as usize)
            .map_or(&[], |list| list.as_slice())
    }

    pub fn edges(&self) -> u64 {
        self.neighbours.iter().map(|list| list.len() as u64).sum()
    }

    pub fn person(&self, id: u64) -> Person {
        person(self.shape.seed, id)
    }

    pub fn knows(&self, from: u64, to: u64) -> Knows {
        knows(self.shape.seed, from, to)
    }
}

/// A few vertices are known to many, as in real graphs.
fn neighbours_of(shape: Shape, id: u64) -> Vec<u64> {
    let degree = 1 + mix_all(&[shape.seed, id]) % (2 * shape.degree).saturating_sub(1).max(1);
    let mut list: Vec<u64> = (0..degree)
        .map(|i| {
            let unit = (mix_all(&[shape.seed, id, i]) >> 11) as f64 / (1_u64 << 53) as f64;
            1 + (unit * unit * shape.vertices as f64) as u64
        })
        .filter(|other| *other != id && *other <= shape.vertices)
        .collect();
    list.sort_unstable();
    list.dedup();
    list
}

pub fn person(seed: u64, id: u64) -> Person {
    let h = mix_all(&[seed, id, 1 << 32]);
    let pick = |shift: u32, end: usize| (h >> shift) as usize % end;
    Person {
        name: format!("{} {} {id}", FIRST[pick(0, 8)], LAST[pick(8, 8)]),
        age: 18 + pick(16, 70) as i64,
        city: CITIES[pick(24, CITIES.len())],
        score: pick(40, 10_000) as f64 / 100.0,
    }
}

pub fn knows(seed: u64, from: u64, to: u64) -> Knows {
    let h = mix_all(&[seed, from, to, 1 << 33]);
    Knows {
        since: 1990 + (h % 35) as i64,
        weight: ((h >> 16) % 1000) as f64 / 1000.0,
    }
}
