//! Tables and values that know their place and name in the file.
//!
//! A [`Section`] is asked for its keys one by one and remembers them, so that what it calls
//! unknown can't differ from what is read.

use super::nearest::did_you_mean;
use super::problem::Problems;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table of the file.
pub(super) struct Section<'t> {
    /// Its dotted name; empty for the top of `fdo.toml`.
    name: String,
    span: Range<usize>,
    table: &'t DeTable<'t>,
    known: Vec<&'static str>,
}

/// A value of the file.
pub(super) struct Item<'t> {
    /// The dotted name of the section it is in.
    section: String,
    /// Its key.
    pub(super) key: String,
    /// Where the key is.
    pub(super) key_span: Range<usize>,
    /// Where the value is.
    pub(super) span: Range<usize>,
    /// The value.
    pub(super) value: &'t DeValue<'t>,
}

impl<'t> Section<'t> {
    /// The table called `name`, whose header or key is at `span`.
    pub(super) fn new(name: String, span: Range<usize>, table: &'t DeTable<'t>) -> Section<'t> {
        Section {
            name,
            span,
            table,
            known: Vec::new(),
        }
    }

    /// `[workload.mixed]`.
    pub(super) fn label(&self) -> String {
        format!("[{}]", self.name)
    }

    /// The value of a key that this table may have.
    pub(super) fn get(&mut self, key: &'static str) -> Option<Item<'t>> {
        self.known.push(key);
        let (key, value) = self.table.get_key_value(key)?;
        Some(self.item(key, value))
    }

    /// The value of a key that this table may have, read by `parse`.
    pub(super) fn read<T>(
        &mut self,
        key: &'static str,
        problems: &mut Problems<'_>,
        parse: impl FnOnce(&Item<'t>, &mut Problems<'_>) -> Option<T>,
    ) -> Option<T> {
        let item = self.get(key)?;
        parse(&item, problems)
    }

    /// All values of a table whose keys the user chose, in the order of the file.
    pub(super) fn items(&self) -> Vec<Item<'t>> {
        let mut items: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| self.item(key, value))
            .collect();
        items.sort_by_key(|item| item.key_span.start);
        items
    }

    /// A problem with the whole table.
    pub(super) fn wrong(&self, problems: &mut Problems<'_>, message: &str) {
        problems.add(self.span.clone(), format!("{} {message}", self.label()));
    }

    /// Names the keys that nobody asked for.
    pub(super) fn finish(self, problems: &mut Problems<'_>) {
        for item in self.items() {
            if !self.known.contains(&item.key.as_str()) {
                problems.add(
                    item.key_span.clone(),
                    format!(
                        "unknown key {}{}",
                        item.label(),
                        did_you_mean(&item.key, self.known.iter().copied())
                    ),
                );
            }
        }
    }

    fn item(
        &self,
        key: &'t Spanned<toml::de::DeString<'t>>,
        value: &'t Spanned<DeValue<'t>>,
    ) -> Item<'t> {
        Item {
            section: self.name.clone(),
            key: key.get_ref().to_string(),
            key_span: key.span(),
            span: value.span(),
            value: value.get_ref(),
        }
    }
}

impl<'t> Item<'t> {
    /// `` `weight` in [workload.mixed] ``.
    pub(super) fn label(&self) -> String {
        if self.section.is_empty() {
            format!("`{}`", self.key)
        } else {
            format!("`{}` in [{}]", self.key, self.section)
        }
    }

    /// A problem with the value.
    pub(super) fn wrong(&self, problems: &mut Problems<'_>, message: &str) {
        problems.add(self.span.clone(), format!("{} {message}", self.label()));
    }

    /// The problem that the value is not `what`.
    pub(super) fn must_be(&self, problems: &mut Problems<'_>, what: &str) {
        self.wrong(
            problems,
            &format!("must be {what}, not {}", self.describe()),
        );
    }

    /// As a table.
    pub(super) fn section(&self, problems: &mut Problems<'_>) -> Option<Section<'t>> {
        let name = dotted(&self.section, &self.key);
        let DeValue::Table(table) = self.value else {
            problems.add(
                self.span.clone(),
                format!("[{name}] must be a table, not {}", self.describe()),
            );
            return None;
        };
        Some(Section::new(name, self.key_span.clone(), table))
    }

    /// As an array of `what`: its elements, each with its own place.
    pub(super) fn elements(
        &self,
        problems: &mut Problems<'_>,
        what: &str,
    ) -> Option<Vec<Item<'t>>> {
        let DeValue::Array(array) = self.value else {
            self.must_be(problems, what);
            return None;
        };
        Some(
            array
                .iter()
                .map(|element| Item {
                    section: self.section.clone(),
                    key: self.key.clone(),
                    key_span: self.key_span.clone(),
                    span: element.span(),
                    value: element.get_ref(),
                })
                .collect(),
        )
    }

    /// The value in the words of a message.
    pub(super) fn describe(&self) -> String {
        match self.value {
            DeValue::String(text) => format!("the string {}", basic_string(text)),
            DeValue::Integer(number) => format!("`{number}`"),
            DeValue::Float(number) => format!("`{number}`"),
            DeValue::Boolean(value) => format!("`{value}`"),
            DeValue::Datetime(_) => "a date".into(),
            DeValue::Array(_) => "an array".into(),
            DeValue::Table(_) => "a table".into(),
        }
    }
}

/// The name of the table `key` in the table `section`, as it would be in a header.
pub(super) fn dotted(section: &str, key: &str) -> String {
    if section.is_empty() {
        self::key(key)
    } else {
        format!("{section}.{}", self::key(key))
    }
}

/// A key, quoted where TOML wants it.
pub(super) fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(bare) {
        name.to_owned()
    } else {
        basic_string(name)
    }
}

/// A TOML string on one line.
pub(super) fn basic_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_names_are_read_back_by_toml() {
        for name in ["a", "librocksdb-sys", "a b", "", "é", "q\"\\\n\u{1}\u{7f}"] {
            let text = format!("{} = {}", key(name), basic_string(name));
            let table: toml::Table = text.parse().unwrap();
            assert_eq!(table[name].as_str(), Some(name), "{text}");
        }
    }
}
