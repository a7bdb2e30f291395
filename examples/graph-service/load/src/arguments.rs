use crate::Failure;
use std::collections::BTreeMap;

/// Options of the form `--name value`. Each is taken once, and none may be left.
pub struct Arguments(BTreeMap<String, String>);

impl Arguments {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, Failure> {
        let mut options = BTreeMap::new();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_prefix("--") else {
                return Err(format!("unexpected argument `{word}`"));
            };
            let value = words
                .next()
                .ok_or_else(|| format!("--{name} needs a value"))?;
            options.insert(name.to_owned(), value);
        }
        Ok(Arguments(options))
    }

    pub fn text(&mut self, name: &str) -> Result<String, Failure> {
        self.0
            .remove(name)
            .ok_or_else(|| format!("--{name} is missing"))
    }

    pub fn number(&mut self, name: &str, otherwise: u64) -> Result<u64, Failure> {
        match self.0.remove(name) {
            None => Ok(otherwise),
            Some(text) => text
                .parse()
                .map_err(|_| format!("--{name} is `{text}`, which is not a number")),
        }
    }

    pub fn finish(self) -> Result<(), Failure> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("unknown option --{name}")),
        }
    }
}
