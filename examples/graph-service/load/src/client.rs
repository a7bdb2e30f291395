use crate::Failure;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// A connection to graphd.
pub struct Client {
    address: String,
    reader: BufReader<TcpStream>,
    line: String,
}

#[derive(Debug, Default)]
pub struct Answer {
    /// Each with its fields separated by tabs.
    pub rows: Vec<String>,
}

impl Answer {
    pub fn fields(&self) -> impl Iterator<Item = Vec<&str>> {
        self.rows.iter().map(|row| row.split('\t').collect())
    }

    /// The same whatever the order of the rows is.
    pub fn checksum(&self) -> u64 {
        self.rows
            .iter()
            .map(|row| {
                row.bytes().fold(0xcbf2_9ce4_8422_2325, |state: u64, byte| {
                    (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
                })
            })
            .fold(0, u64::wrapping_add)
    }
}

impl Client {
    pub fn connect(address: &str) -> Result<Client, Failure> {
        let stream = TcpStream::connect(address)
            .map_err(|error| format!("can't connect to graphd at {address}: {error}"))?;
        stream
            .set_nodelay(true)
            .map_err(|error| format!("{address}: {error}"))?;
        Ok(Client {
            address: address.to_owned(),
            reader: BufReader::with_capacity(64 * 1024, stream),
            line: String::new(),
        })
    }

    /// Sends a statement of one line. What graphd refuses is a failure.
    pub fn ask(&mut self, statement: &str) -> Result<Answer, Failure> {
        let mut message = String::with_capacity(statement.len() + 1);
        message.push_str(statement);
        message.push('\n');
        self.reader
            .get_mut()
            .write_all(message.as_bytes())
            .map_err(|error| format!("the connection to {} is lost: {error}", self.address))?;

        self.read_line()?;
        let Some(count) = self.line.strip_prefix("ok ") else {
            let start: String = statement.chars().take(200).collect();
            return Err(format!("graphd answers `{}` to `{start}`", self.line));
        };
        let count: usize = count
            .parse()
            .map_err(|_| format!("graphd's answer begins with `{}`", self.line))?;
        self.read_line()?;
        let mut rows = Vec::with_capacity(count);
        for _ in 0..count {
            self.read_line()?;
            rows.push(self.line.clone());
        }
        Ok(Answer { rows })
    }

    fn read_line(&mut self) -> Result<(), Failure> {
        self.line.clear();
        let size = self
            .reader
            .read_line(&mut self.line)
            .map_err(|error| format!("the connection to {} is lost: {error}", self.address))?;
        if size == 0 || self.line.pop() != Some('\n') {
            return Err(format!("graphd at {} ended the connection", self.address));
        }
        Ok(())
    }
}
