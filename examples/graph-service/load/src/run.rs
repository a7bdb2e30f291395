use crate::Failure;
use crate::client::Client;
use crate::dataset::Dataset;
use crate::scenario::{Request, Scenario};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Of so many requests, the first two (some scenarios have two kinds) are compared with the whole of what their
/// answer has to be. The others are held against what costs the load generator little.
const THOROUGH: u64 = 64;

/// One scenario, asked by some clients at the same time.
pub struct Run {
    pub address: String,
    pub scenario: Scenario,
    pub clients: u64,
    pub requests: u64,
    pub seed: u64,
}

#[derive(Default)]
struct Outcome {
    latencies: Vec<Duration>,
    rows: u64,
    checksum: u64,
}

impl Run {
    pub fn run(&self) -> Result<(), Failure> {
        let mut first = Client::connect(&self.address)?;
        let dataset = Dataset::of_service(&mut first)?;
        // Before the clock starts: all clients are there.
        let mut clients = vec![first];
        while (clients.len() as u64) < self.clients {
            clients.push(Client::connect(&self.address)?);
        }

        let failed = AtomicBool::new(false);
        let start = Instant::now();
        let outcomes: Vec<Result<Outcome, Failure>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(&mut clients)
                .map(|(number, client)| {
                    let (dataset, failed) = (&dataset, &failed);
                    scope.spawn(move || {
                        let outcome = self.run_client(client, number, dataset, failed);
                        if outcome.is_err() {
                            failed.store(true, Ordering::Relaxed);
                        }
                        outcome
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("clients do not panic"))
                .collect()
        });
        let elapsed = start.elapsed();

        let mut all = Outcome::default();
        for outcome in outcomes {
            let outcome = outcome?;
            all.latencies.extend(outcome.latencies);
            all.rows += outcome.rows;
            all.checksum = all.checksum.wrapping_add(outcome.checksum);
        }
        if self.scenario == Scenario::Insert {
            self.read_back(&mut clients[0], &dataset, &mut all)?;
        }
        if all.rows == 0 {
            return Err("no request had any rows in its answer".to_owned());
        }
        report(&mut all, elapsed);
        Ok(())
    }

    fn run_client(
        &self,
        client: &mut Client,
        number: u64,
        dataset: &Dataset,
        failed: &AtomicBool,
    ) -> Result<Outcome, Failure> {
        let mut outcome = Outcome::default();
        let mut next = number;
        while next < self.requests && !failed.load(Ordering::Relaxed) {
            let request = Request::new(self.scenario, dataset, self.seed, next);
            let statement = request.statement();
            let start = Instant::now();
            let answer = client.ask(&statement)?;
            outcome.latencies.push(start.elapsed());
            request.check(dataset, &answer, next % THOROUGH < 2)?;
            outcome.rows += answer.rows.len() as u64;
            outcome.checksum = outcome
                .checksum
                .wrapping_add(answer.checksum().rotate_left((next % 64) as u32));
            next += self.clients;
        }
        Ok(outcome)
    }

    /// What was inserted has to be there.
    fn read_back(
        &self,
        client: &mut Client,
        dataset: &Dataset,
        all: &mut Outcome,
    ) -> Result<(), Failure> {
        for number in (0..self.requests).step_by(THOROUGH as usize) {
            let inserted = Request::new(self.scenario, dataset, self.seed, number);
            let Request::InsertPeople { seed, ids } = inserted else {
                continue;
            };
            let fetch = Request::Fetch { seed, ids };
            let answer = client.ask(&fetch.statement())?;
            fetch.check(dataset, &answer, true)?;
            all.rows += answer.rows.len() as u64;
            all.checksum = all.checksum.wrapping_add(answer.checksum());
        }
        Ok(())
    }
}

fn report(all: &mut Outcome, elapsed: Duration) {
    all.latencies.sort_unstable();
    let count = all.latencies.len();
    let milliseconds = |latency: Duration| latency.as_secs_f64() * 1e3;
    let sum: Duration = all.latencies.iter().sum();
    // The smallest latency that 95 % of the requests do not exceed.
    let p95 = all.latencies[(count * 95).div_ceil(100) - 1];
    println!("requests: {count}");
    println!("rows: {}", all.rows);
    println!(
        "throughput: {:.1} op/s",
        count as f64 / elapsed.as_secs_f64()
    );
    println!(
        "average latency: {:.3} ms",
        milliseconds(sum) / count as f64
    );
    println!("p95 latency: {:.3} ms", milliseconds(p95));
    println!("checksum: {:016x}", all.checksum);
}
