use crate::Failure;
use crate::client::Client;
use crate::dataset::{CITIES, Dataset};
use crate::scenario::{Request, Scenario};

const REQUESTS: u64 = 100;

/// Compares answers of all kinds with what follows from the graph, computed here another way.
pub fn check(address: &str, seed: u64) -> Result<(), Failure> {
    let mut client = Client::connect(address)?;
    let dataset = Dataset::of_service(&mut client)?;
    let mut checked = 0;
    for scenario in [
        Scenario::Fetch,
        Scenario::Go1Step,
        Scenario::Go3Step,
        Scenario::Path,
    ] {
        for number in 0..REQUESTS {
            let request = Request::new(scenario, &dataset, seed, number);
            let answer = client.ask(&request.statement())?;
            request.check(&dataset, &answer, true)?;
            checked += 1;
        }
    }
    for (statement, expected) in others(&dataset) {
        let answer = client.ask(&statement)?;
        if answer.rows != expected {
            return Err(format!(
                "wrong answer to `{statement}`: {:?}, {expected:?} was expected",
                answer.rows
            ));
        }
        checked += 1;
    }
    println!("checked: {checked} answers");
    Ok(())
}

/// Statements that no scenario has.
fn others(dataset: &Dataset) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    let people: Vec<_> = (1..=dataset.shape.vertices)
        .map(|id| (id, dataset.person(id)))
        .collect();
    for city in CITIES.iter().take(4) {
        let ages: Vec<i64> = people
            .iter()
            .filter(|(_, person)| person.city == *city && person.age >= 40)
            .map(|(_, person)| person.age)
            .collect();
        let (least, greatest) = (ages.iter().min(), ages.iter().max());
        all.push((
            // Ids above are of the scenario `insert`.
            format!(
                "LOOKUP ON person WHERE person.city == '{city}' AND person.age >= 40 AND person._id <= {} \
                 YIELD COUNT(*) AS people, SUM(person.age) AS years, MIN(person.age) AS a, MAX(person.age) AS b",
                dataset.shape.vertices
            ),
            vec![format!(
                "{}\t{}\t{}\t{}",
                ages.len(),
                ages.iter().sum::<i64>(),
                least.map_or("NULL".to_owned(), i64::to_string),
                greatest.map_or("NULL".to_owned(), i64::to_string),
            )],
        ));
    }
    for id in [1, 2, dataset.shape.vertices] {
        all.push((
            format!("GO FROM {id} OVER knows YIELD COUNT(*)"),
            vec![dataset.neighbours(id).len().to_string()],
        ));
        let callers: Vec<String> = (1..=dataset.shape.vertices)
            .filter(|other| dataset.neighbours(*other).binary_search(&id).is_ok())
            .map(|other| other.to_string())
            .collect();
        all.push((
            format!("GO FROM {id} OVER knows REVERSELY YIELD knows._dst AS dst ORDER BY dst"),
            callers,
        ));
        let edges: Vec<String> = dataset
            .neighbours(id)
            .iter()
            .map(|other| format!("{other}\t{}", dataset.knows(id, *other).since))
            .collect();
        if let Some(first) = dataset.neighbours(id).first() {
            all.push((
                format!(
                    "FETCH PROP ON knows {id}->{first}, {id}->{id} YIELD knows._dst, knows.since"
                ),
                edges[..1].to_vec(),
            ));
        }
    }
    all
}
