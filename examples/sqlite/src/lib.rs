//! A small shop in an SQLite database: fill it, query it, change it.
//!
//! The Rust side only prepares statements and adds up results, so nearly all of the time is
//! spent in the C code of SQLite. Everything is a function of a size and a seed.

mod random;

pub use random::Random;
use rusqlite::{Connection, Result, params};

/// Rows are inserted in transactions of this size.
const BATCH: u64 = 500;

const CITIES: [&str; 12] = [
    "Aarhus", "Bergen", "Cork", "Dresden", "Espoo", "Faro", "Ghent", "Haifa", "Izmir", "Jena",
    "Kraków", "Lyon",
];

const WORDS: [&str; 16] = [
    "amber", "basket", "copper", "dapple", "ember", "fennel", "garnet", "hollow", "indigo",
    "juniper", "kettle", "lantern", "marble", "nettle", "orchid", "pepper",
];

/// One named part of the mixed workload.
pub struct Step {
    /// What the benchmark calls it.
    pub name: &'static str,
    /// Runs it once and returns a checksum of what it saw.
    pub run: fn(&mut Shop) -> Result<u64>,
}

/// All the steps that work on a filled database, in the order in which `mixed` runs them.
pub const STEPS: [Step; 7] = [
    Step {
        name: "point-select",
        run: Shop::point_selects,
    },
    Step {
        name: "range-scan",
        run: Shop::range_scans,
    },
    Step {
        name: "aggregate",
        run: Shop::aggregates,
    },
    Step {
        name: "join",
        run: Shop::joins,
    },
    Step {
        name: "text",
        run: Shop::text_functions,
    },
    Step {
        name: "update",
        run: Shop::updates,
    },
    Step {
        name: "delete",
        run: Shop::deletes,
    },
];

/// An open database with the generator that drives its queries.
pub struct Shop {
    connection: Connection,
    random: Random,
    orders: u64,
}

impl Shop {
    /// Creates the tables and `orders` rows in the empty database behind `connection`.
    pub fn fill(connection: Connection, orders: u64, seed: u64) -> Result<Shop> {
        connection.execute_batch(
            "CREATE TABLE customer(
                 id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);
             CREATE TABLE purchase(
                 id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customer(id),
                 day INTEGER NOT NULL, cents INTEGER NOT NULL, note TEXT NOT NULL);
             CREATE INDEX purchase_by_customer ON purchase(customer, day);
             CREATE INDEX purchase_by_day ON purchase(day);",
        )?;
        let mut shop = Shop::open(connection, orders, seed);
        shop.insert_customers()?;
        shop.insert_orders()?;
        Ok(shop)
    }

    /// Takes over a database that [`Shop::fill`] made with as many `orders`.
    pub fn open(connection: Connection, orders: u64, seed: u64) -> Shop {
        Shop {
            connection,
            random: Random::new(seed),
            orders: orders.max(1),
        }
    }

    fn customers(&self) -> u64 {
        self.orders / 20 + 1
    }

    fn some_customer(&mut self) -> u64 {
        let customers = self.customers();
        // The smaller of two: some customers are much busier than others.
        1 + self
            .random
            .below(customers)
            .min(self.random.below(customers))
    }

    fn insert_customers(&mut self) -> Result<()> {
        let customers = self.customers();
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare("INSERT INTO customer VALUES (?1, ?2, ?3)")?;
            for id in 1..=customers {
                let name = format!("{} {}", self.random.pick(&WORDS), self.random.below(1000));
                insert.execute(params![id, name, self.random.pick(&CITIES)])?;
            }
        }
        transaction.commit()
    }

    fn insert_orders(&mut self) -> Result<()> {
        let mut id = 0;
        while id < self.orders {
            let end = (id + BATCH).min(self.orders);
            let rows: Vec<_> = (id..end)
                .map(|id| {
                    let customer = self.some_customer();
                    let words = 2 + self.random.below(6);
                    let note: Vec<_> = (0..words).map(|_| *self.random.pick(&WORDS)).collect();
                    let day = self.random.below(730);
                    let cents = 50 + self.random.below(20_000);
                    (id + 1, customer, day, cents, note.join(" "))
                })
                .collect();
            let transaction = self.connection.transaction()?;
            {
                let mut insert =
                    transaction.prepare("INSERT INTO purchase VALUES (?1, ?2, ?3, ?4, ?5)")?;
                for row in rows {
                    insert.execute(row)?;
                }
            }
            transaction.commit()?;
            id = end;
        }
        Ok(())
    }

    /// Single rows by primary key, and the latest order of a customer through an index.
    fn point_selects(&mut self) -> Result<u64> {
        let keys: Vec<_> = (0..self.orders)
            .map(|_| (1 + self.random.below(self.orders), self.some_customer()))
            .collect();
        let mut by_id = self
            .connection
            .prepare("SELECT cents FROM purchase WHERE id = ?1")?;
        let mut latest = self.connection.prepare(
            "SELECT coalesce(max(day), 0) + coalesce(max(cents), 0) FROM (
                 SELECT day, cents FROM purchase WHERE customer = ?1 ORDER BY day DESC LIMIT 1)",
        )?;
        let mut sum = 0;
        for (id, customer) in keys {
            // Rows that `deletes` has removed are part of the game.
            let mut rows = by_id.query([id])?;
            if let Some(row) = rows.next()? {
                sum = mix(sum, row.get(0)?);
            }
            sum = mix(sum, latest.query_row([customer], |row| row.get(0))?);
        }
        Ok(sum)
    }

    /// A week of orders through the index on the day, in order of amount.
    fn range_scans(&mut self) -> Result<u64> {
        let mut scan = self.connection.prepare(
            "SELECT id, cents, length(note) FROM purchase
             WHERE day BETWEEN ?1 AND ?1 + 6 ORDER BY cents DESC, id LIMIT 200",
        )?;
        let mut sum = 0;
        for _ in 0..self.orders / 100 + 1 {
            let mut rows = scan.query([self.random.below(724)])?;
            while let Some(row) = rows.next()? {
                sum = mix(sum, row.get::<_, u64>(0)? ^ row.get::<_, u64>(1)?);
                sum = mix(sum, row.get(2)?);
            }
        }
        Ok(sum)
    }

    /// Totals by month, and the busiest customers.
    fn aggregates(&mut self) -> Result<u64> {
        let by_month = "SELECT day / 30 AS month, sum(cents), count(*) FROM purchase
                        GROUP BY month HAVING count(*) > 1 ORDER BY month";
        let busiest = "SELECT customer, sum(cents) AS total, count(DISTINCT day) FROM purchase
                       GROUP BY customer ORDER BY total DESC, customer LIMIT 25";
        let mut sum = 0;
        for query in [by_month, busiest] {
            sum = mix(sum, self.sum_of_rows(query)?);
        }
        Ok(sum)
    }

    /// Customers with their orders, grouped by city.
    fn joins(&mut self) -> Result<u64> {
        self.sum_of_rows(
            "SELECT length(c.city), count(*), sum(p.cents * (1 + (p.day >= 365)))
             FROM purchase AS p JOIN customer AS c ON c.id = p.customer
             WHERE p.cents > 1500 GROUP BY c.city ORDER BY c.city",
        )
    }

    /// `LIKE`, case folding, search and replacement on every note.
    fn text_functions(&mut self) -> Result<u64> {
        let word = *self.random.pick(&WORDS);
        self.sum_of_rows(&format!(
            "SELECT count(*), sum(length(replace(note, '{word}', 'x'))),
                    sum(instr(upper(note), upper('{word}')) + unicode(substr(note, -3)))
             FROM purchase WHERE note LIKE '%{word}%'"
        ))
    }

    /// Changes indexed and other columns of scattered rows.
    fn updates(&mut self) -> Result<u64> {
        let changes: Vec<_> = (0..self.orders / 4 + 1)
            .map(|_| (1 + self.random.below(self.orders), self.random.below(730)))
            .collect();
        let transaction = self.connection.transaction()?;
        let mut changed = 0;
        {
            let mut update = transaction.prepare(
                "UPDATE purchase SET day = ?2, cents = cents + 1 + ?2 % 7 WHERE id = ?1",
            )?;
            for change in changes {
                changed += update.execute(change)? as u64;
            }
        }
        transaction.commit()?;
        Ok(changed)
    }

    /// Removes scattered rows, one in twenty.
    fn deletes(&mut self) -> Result<u64> {
        let victims: Vec<_> = (0..self.orders / 20 + 1)
            .map(|_| 1 + self.random.below(self.orders))
            .collect();
        let transaction = self.connection.transaction()?;
        let mut deleted = 0;
        {
            let mut delete = transaction.prepare("DELETE FROM purchase WHERE id = ?1")?;
            for id in victims {
                deleted += delete.execute([id])? as u64;
            }
        }
        transaction.commit()?;
        Ok(deleted)
    }

    /// Mixes all values of all rows of `query`, which has three integer columns.
    fn sum_of_rows(&self, query: &str) -> Result<u64> {
        let mut statement = self.connection.prepare(query)?;
        let mut rows = statement.query([])?;
        let mut sum = 0;
        while let Some(row) = rows.next()? {
            for column in 0..3 {
                // NULL where a sum had no rows.
                sum = mix(sum, row.get::<_, Option<u64>>(column)?.unwrap_or(0));
            }
        }
        Ok(sum)
    }
}

/// Folds `value` into a checksum that depends on the order of its values.
pub fn mix(sum: u64, value: u64) -> u64 {
    (sum.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checksum(orders: u64, seed: u64) -> Result<u64> {
        let mut shop = Shop::fill(Connection::open_in_memory()?, orders, seed)?;
        let mut sum = 0;
        for step in &STEPS {
            sum = mix(sum, (step.run)(&mut shop)?);
        }
        Ok(sum)
    }

    #[test]
    fn the_seed_decides_everything() -> Result<()> {
        assert_eq!(checksum(300, 1)?, checksum(300, 1)?);
        assert_ne!(checksum(300, 1)?, checksum(300, 2)?);
        Ok(())
    }

    #[test]
    fn the_smallest_shop_works() -> Result<()> {
        checksum(0, 1).map(drop)
    }
}
