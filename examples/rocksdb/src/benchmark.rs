//! The benchmarks, and how the database is set up for them.

use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, Error, Options, WaitForCompactOptions,
};

use crate::random::Random;
use crate::settings::{Command, Settings};

/// Small, so that a run of seconds flushes and compacts as often as a long one.
const WRITE_BUFFER: usize = 4 << 20;
const BLOCK_CACHE: usize = 8 << 20;
const BLOOM_BITS: f64 = 10.0;

/// How many entries a seek reads.
const SCAN: u64 = 10;

/// Opens or makes the database.
pub fn open(settings: &Settings) -> Result<DB, Error> {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(BLOCK_CACHE));
    table.set_bloom_filter(BLOOM_BITS, false);

    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_write_buffer_size(WRITE_BUFFER);
    options.set_block_based_table_factory(&table);
    // Statistics would be work that depends on the time a run takes.
    options.set_stats_dump_period_sec(0);
    DB::open(&options, &settings.directory)
}

/// Runs the command, waits for the compactions it caused, and returns a checksum of what was
/// read or written.
pub fn run(settings: &Settings, database: &DB) -> Result<u64, Error> {
    let share = |thread| {
        // The first threads take what does not divide evenly.
        let extra = u64::from(thread < settings.operations % settings.threads);
        settings.operations / settings.threads + extra
    };
    let sum = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..settings.threads)
            .map(|thread| {
                let worker = Worker::new(settings, database, thread);
                scope.spawn(move || worker.run(share(thread)))
            })
            .collect();
        workers.into_iter().try_fold(0u64, |sum, worker| {
            let part = worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            // Commutative, as threads come in any order.
            Ok(sum.wrapping_add(part))
        })
    })?;
    if settings.command != Command::Read && settings.command != Command::Seek {
        database.flush()?;
        database.wait_for_compact(&WaitForCompactOptions::default())?;
    }
    Ok(sum)
}

/// One thread of a benchmark.
struct Worker<'a> {
    settings: &'a Settings,
    database: &'a DB,
    random: Random,
    /// Where `fill-seq` goes on, and by how much.
    next: u64,
    value: Vec<u8>,
    sum: u64,
}

impl<'a> Worker<'a> {
    fn new(settings: &'a Settings, database: &'a DB, thread: u64) -> Worker<'a> {
        Worker {
            settings,
            database,
            random: Random::new(settings.seed ^ (thread << 32)),
            next: thread,
            value: Vec::new(),
            sum: 0,
        }
    }

    fn run(mut self, operations: u64) -> Result<u64, Error> {
        for _ in 0..operations {
            match self.settings.command {
                Command::FillSequential => {
                    let number = self.next % self.settings.keys;
                    self.next += self.settings.threads;
                    self.write(number)?;
                }
                Command::FillRandom => {
                    let number = self.random.below(self.settings.keys);
                    self.write(number)?;
                }
                Command::Read => self.read()?,
                Command::Seek => self.seek()?,
                Command::Mixed => match self.random.below(100) {
                    0..70 => self.read()?,
                    70..90 => {
                        let number = self.often_used();
                        self.write(number)?;
                    }
                    90..95 => {
                        let number = self.often_used();
                        self.database.delete(key(number))?;
                    }
                    _ => self.seek()?,
                },
            }
        }
        Ok(self.sum)
    }

    /// Of two random keys the smaller: some are used much more than others.
    fn often_used(&mut self) -> u64 {
        let keys = self.settings.keys;
        self.random.below(keys).min(self.random.below(keys))
    }

    fn write(&mut self, number: u64) -> Result<(), Error> {
        self.random.fill(&mut self.value, self.settings.value_size);
        self.sum = mix(self.sum, number);
        self.database.put(key(number), &self.value)
    }

    fn read(&mut self) -> Result<(), Error> {
        // One in nine is beyond the last key, so that the filters have something to do.
        let number = self.often_used() * 9 / 8;
        let first = match self.database.get_pinned(key(number))? {
            Some(value) => 1 + value.first().copied().map_or(0, u64::from),
            None => 0,
        };
        self.sum = mix(self.sum, first);
        Ok(())
    }

    fn seek(&mut self) -> Result<(), Error> {
        let number = self.often_used();
        let mut iterator = self.database.raw_iterator();
        iterator.seek(key(number));
        for _ in 0..SCAN {
            let Some((key, value)) = iterator.item() else {
                break;
            };
            let last = key.last().zip(value.last());
            self.sum = mix(self.sum, last.map_or(0, |(k, v)| u64::from(*k ^ *v)));
            iterator.next();
        }
        // The end of the data is not an error, but looks like one until asked.
        iterator.status()
    }
}

/// Sixteen bytes whose order is that of the numbers.
fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key-----\0\0\0\0\0\0\0\0";
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Folds `value` into a checksum that depends on the order of its values.
fn mix(sum: u64, value: u64) -> u64 {
    (sum.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
