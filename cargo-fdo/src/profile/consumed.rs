//! How much of a profile the compilers really used.
//!
//! What counts is counts, not functions: the share of all counts whose function some compiler
//! reported as applied. A function listed under several units ([`super::slice`]) counts once, and
//! is consumed if any of its listings was.

use super::evidence::Evidence;
use super::instr_text::Record;
use super::names;
use super::slice::group_key;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What made a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// rustc.
    Rust,
    /// A C or C++ compiler.
    C,
}

/// Counts and how many of them were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// Sum of the counters.
    pub total: u128,
    /// Of these, in functions that got their counts.
    pub consumed: u128,
    /// Functions with a count other than zero.
    pub functions: u64,
    /// Of these, the ones that got their counts.
    pub functions_consumed: u64,
}

impl Share {
    /// Consumed part from 0 to 1; 1 if there was nothing to consume.
    pub fn ratio(self) -> f64 {
        if self.total == 0 {
            1.0
        } else {
            self.consumed as f64 / self.total as f64
        }
    }

    fn absorb(&mut self, other: Share) {
        self.total += other.total;
        self.consumed += other.consumed;
        self.functions += other.functions;
        self.functions_consumed += other.functions_consumed;
    }

    pub(super) fn add(&mut self, weight: u128, consumed: bool) {
        self.total += weight;
        self.functions += 1;
        if consumed {
            self.consumed += weight;
            self.functions_consumed += 1;
        }
    }
}

/// Why a function's counts were not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The function is there but its control flow has another hash: it was changed, or compiled
    /// by another compiler version.
    Mismatched,
    /// The function is there, but few of its samples found an instruction: it was changed, or
    /// inlines otherwise.
    FewApplied,
    /// No compiler mentioned it: it was removed, renamed, inlined before it could be matched, or
    /// its unit was not compiled with this profile.
    NotSeen,
}

/// A function whose counts were lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Its name without the unit number.
    pub name: String,
    /// Sum of its counters.
    pub count: u128,
    /// Why.
    pub reason: Reason,
}

/// What became of a function's counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate {
    /// Its name without the unit number.
    pub name: String,
    /// Sum of its counters.
    pub count: u128,
    /// Why they were lost; `None` if they were used.
    pub reason: Option<Reason>,
}

/// How many functions [`Consumed::hottest`] holds.
pub const HOTTEST: usize = 500;

/// What the compilers used of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Consumed {
    /// The whole profile.
    pub all: Share,
    /// By language.
    pub languages: BTreeMap<Language, Share>,
    /// By package, most counts first, then by name.
    pub packages: Vec<(String, Share)>,
    /// Counts lost because their function was changed.
    pub mismatched: u128,
    /// Lost functions, most counts first.
    pub lost: Vec<Lost>,
    /// The [`HOTTEST`] functions, used or lost, most counts first.
    pub hottest: Vec<Fate>,
}

impl Consumed {
    /// Puts in the packages, and everything in order.
    pub(super) fn finish(&mut self, packages: BTreeMap<String, Share>, keep_lost: usize) {
        self.packages = packages.into_iter().collect();
        self.packages
            .sort_by(|a, b| b.1.total.cmp(&a.1.total).then(a.0.cmp(&b.0)));
        self.lost
            .sort_by(|a, b| b.count.cmp(&a.count).then(a.name.cmp(&b.name)));
        self.lost.truncate(keep_lost);
        self.hottest
            .sort_by(|a, b| b.count.cmp(&a.count).then(a.name.cmp(&b.name)));
        self.hottest.truncate(HOTTEST);
    }

    /// Adds what was used of another part of a profile; functions of one name stay two.
    pub fn absorb(&mut self, other: Consumed, keep_lost: usize) {
        self.all.absorb(other.all);
        for (language, share) in other.languages {
            self.languages.entry(language).or_default().absorb(share);
        }
        let mut packages: BTreeMap<String, Share> = self.packages.drain(..).collect();
        for (package, share) in other.packages {
            packages.entry(package).or_default().absorb(share);
        }
        self.mismatched += other.mismatched;
        self.lost.extend(other.lost);
        self.hottest.extend(other.hottest);
        self.finish(packages, keep_lost);
    }

    /// The packages with the most counts, and the sum of the others.
    pub fn top_packages(&self, n: usize) -> (&[(String, Share)], Share) {
        let (top, others) = self
            .packages
            .split_at_checked(n)
            .unwrap_or((&self.packages, &[]));
        let mut rest = Share::default();
        for (_, share) in others {
            rest.absorb(*share);
        }
        (top, rest)
    }
}

/// Shorter names are not looked for inside tokens: they would be found anywhere.
const MIN_INSIDE: usize = 8;

/// Compares a profile's records with what the compilers said.
///
/// `records` are those of all slices together; functions without counts don't matter, LLVM says
/// nothing about them. `language` and `package` are asked once for each function, by its
/// first listing's name. `keep_lost` bounds [`Consumed::lost`].
pub fn consumed<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    evidence: &Evidence,
    language: impl Fn(&str) -> Language,
    package: impl Fn(&str) -> String,
    keep_lost: usize,
) -> Consumed {
    // By group: the same function may have been applied under any unit number.
    let mut groups: BTreeMap<(Cow<'_, str>, u64), &Record> = BTreeMap::new();
    for record in records {
        if record.total() > 0 {
            groups.entry(group_key(record)).or_insert(record);
        }
    }
    let witness = Witness::new(evidence, &groups.values().copied().collect::<Vec<_>>());

    let mut result = Consumed::default();
    let mut packages: BTreeMap<String, Share> = BTreeMap::new();
    for ((name, hash), record) in &groups {
        let weight = record.total();
        let seen = witness.saw(name, *hash);
        result.all.add(weight, seen);
        let share = result.languages.entry(language(&record.name)).or_default();
        share.add(weight, seen);
        let share = packages.entry(package(&record.name)).or_default();
        share.add(weight, seen);
        let reason = (!seen).then(|| witness.reason(name));
        result.hottest.push(Fate {
            name: name.to_string(),
            count: weight,
            reason,
        });
        if let Some(reason) = reason {
            if reason == Reason::Mismatched {
                result.mismatched += weight;
            }
            result.lost.push(Lost {
                name: name.to_string(),
                count: weight,
                reason,
            });
        }
    }
    result.finish(packages, keep_lost);
    result
}

/// The hash that a compiler meant for a function that the profile knows by `known`.
///
/// rustc's threads write into each other's lines, a piece at a time: digits of another may come
/// before the number or behind it, or another function's hash in its place. LLVM prints a name
/// because it found it in the profile with some hash; a number that is not one of the name's but
/// is, or has in it, a hash of this profile was torn, and the name stands for its only hash.
fn whole_hash(known: &[u64], printed: u64, of_profile: &HashSet<String>) -> u64 {
    match known {
        [only] if *only != printed => {
            let digits = printed.to_string();
            // A hash has the number of counters in its upper bits, and 17 digits at least.
            let another_number = digits.len() < TELLING_DIGITS;
            let torn = another_number
                || (0..digits.len())
                    .flat_map(|from| (from + TELLING_DIGITS..=digits.len()).map(move |to| from..to))
                    .any(|part| of_profile.contains(&digits[part]));
            if torn { *only } else { printed }
        }
        _ => printed,
    }
}

/// Shorter hashes than this might be found in any number.
const TELLING_DIGITS: usize = 10;

/// Evidence, indexed for the questions asked.
struct Witness<'a> {
    /// Group keys that were applied.
    applied: HashSet<(String, u64)>,
    /// Names and symbols with a hash on record: for these, another hash is another function.
    hashed: HashSet<String>,
    /// Tokens as group names.
    tokens: HashSet<String>,
    /// Tokens that are no known name: several names in one, or a name and digits.
    odd: Vec<&'a str>,
    /// Symbols with a mismatch.
    mismatched: BTreeSet<&'a str>,
}

impl<'a> Witness<'a> {
    fn new(evidence: &'a Evidence, records: &[&Record]) -> Witness<'a> {
        let mut witness = Witness {
            applied: HashSet::new(),
            hashed: HashSet::new(),
            tokens: HashSet::new(),
            odd: Vec::new(),
            mismatched: BTreeSet::new(),
        };
        let mut known: HashSet<&str> = HashSet::new();
        let mut hashes: HashMap<Cow<'_, str>, Vec<u64>> = HashMap::new();
        let mut of_profile: HashSet<String> = HashSet::new();
        for record in records {
            known.insert(&record.name);
            known.insert(names::symbol(&record.name));
            let (key, hash) = group_key(record);
            hashes.entry(key).or_default().push(hash);
            of_profile.insert(hash.to_string());
        }
        for (name, hash) in &evidence.applied {
            let key = names::without_cgu(name);
            let Some(known_hashes) = hashes.get(&key) else {
                // Of another profile's function, or with a piece of another thread in it.
                if ["_R", "_ZN"].iter().any(|mark| name.contains(mark)) {
                    witness.odd.push(name);
                }
                continue;
            };
            let hash = whole_hash(known_hashes, *hash, &of_profile);
            witness.hashed.insert(key.clone().into_owned());
            witness.hashed.insert(names::symbol(name).to_owned());
            witness.applied.insert((key.into_owned(), hash));
        }
        for token in &evidence.tokens {
            let key = names::without_cgu(token);
            let applied = witness.hashed.contains(key.as_ref());
            if !applied && !known.contains(token.as_str()) {
                witness.odd.push(token);
            }
            witness.tokens.insert(key.into_owned());
        }
        for mismatch in &evidence.mismatched {
            witness.mismatched.insert(&mismatch.symbol);
        }
        witness
    }

    fn saw(&self, name: &str, hash: u64) -> bool {
        if self.applied.contains(&(name.to_owned(), hash)) {
            return true;
        }
        // With a hash on record that is not this one, a mere name proves nothing.
        if self.hashed.contains(name) {
            return false;
        }
        if self.tokens.contains(name) {
            return true;
        }
        let symbol = names::symbol(name);
        // A mangled symbol is one function's; a C static's bare name may be many.
        let unique = symbol == name || (names::is_rust(symbol) && !self.hashed.contains(symbol));
        unique
            && (self.tokens.contains(symbol)
                || (symbol.len() >= MIN_INSIDE
                    && !self.mismatched.contains(symbol)
                    && self.odd.iter().any(|token| token.contains(symbol))))
    }

    fn reason(&self, name: &str) -> Reason {
        if self.mismatched.contains(names::symbol(name)) || self.hashed.contains(name) {
            Reason::Mismatched
        } else {
            Reason::NotSeen
        }
    }
}

#[cfg(test)]
mod torn;

#[cfg(test)]
mod tests {
    use super::super::evidence::Mismatch;
    use super::*;

    fn record(name: &str, hash: u64, count: u64) -> Record {
        Record {
            name: name.into(),
            hash,
            counters: vec![count],
            ..Record::default()
        }
    }

    fn applied(names: &[(&str, u64)]) -> Evidence {
        Evidence {
            applied: names
                .iter()
                .map(|&(name, hash)| (name.to_owned(), hash))
                .collect(),
            ..Evidence::default()
        }
    }

    fn tokens(tokens: &[&str]) -> Evidence {
        Evidence {
            tokens: tokens.iter().map(|&token| token.to_owned()).collect(),
            ..Evidence::default()
        }
    }

    fn compare(records: &[Record], evidence: &Evidence) -> Consumed {
        let language = |name: &str| {
            if names::is_rust(name) {
                Language::Rust
            } else {
                Language::C
            }
        };
        let package = |name: &str| names::rust_crate(name).unwrap_or("c").to_owned();
        consumed(records, evidence, language, package, 10)
    }

    const LOCAL: &str = "app.0123456789abcdef;_RNvC3app5local";

    fn unit(number: u32) -> String {
        format!("app.0123456789abcdef-cgu.{number};_RNvC3app5local")
    }

    #[test]
    fn counts_decide_not_functions() {
        let records = [
            record("hot", 1, 900),
            record("a.c;cold", 1, 99),
            record("never", 1, 0),
            record("_RNvC3app4main", 1, 1),
        ];
        let result = compare(&records, &applied(&[("hot", 1), ("_RNvC3app4main", 1)]));
        assert_eq!((result.all.total, result.all.consumed), (1000, 901));
        assert_eq!(
            (result.all.functions, result.all.functions_consumed),
            (3, 2)
        );
        assert_eq!(result.languages[&Language::C].consumed, 900);
        assert_eq!(result.languages[&Language::Rust].ratio(), 1.0);
        assert_eq!(result.packages[0].0, "c");
        let fates: Vec<_> = result
            .hottest
            .iter()
            .map(|f| (&*f.name, f.reason))
            .collect();
        assert_eq!(
            fates,
            [
                ("hot", None),
                ("a.c;cold", Some(Reason::NotSeen)),
                ("_RNvC3app4main", None)
            ]
        );
        assert_eq!(
            result.lost,
            [Lost {
                name: "a.c;cold".into(),
                count: 99,
                reason: Reason::NotSeen
            }]
        );
    }

    #[test]
    fn listings_of_one_function_count_once_under_whatever_unit_it_was_seen() {
        let records: Vec<Record> = (0..16).map(|n| record(&unit(n), 7, 100)).collect();
        let result = compare(&records, &applied(&[(&unit(11), 7)]));
        assert_eq!((result.all.total, result.all.consumed), (100, 100));
        assert_eq!(compare(&records, &applied(&[])).lost[0].name, LOCAL);
    }

    #[test]
    fn another_hash_is_another_function() {
        let records = [record("f", 1, 5), record("f", 2, 3)];
        let result = compare(&records, &applied(&[("f", 2)]));
        assert_eq!(result.all.consumed, 3);
        assert_eq!(result.lost[0].reason, Reason::Mismatched);
    }

    #[test]
    fn a_torn_dump_still_proves_its_functions() {
        let records = [record(&unit(3), 7, 100), record("_RNvC3app4main", 1, 10)];
        for token in [
            "_RNvC3app5local",
            &unit(3),
            "_RNvC3app5local742261418966908927",
        ] {
            let result = compare(&records, &tokens(&[token]));
            assert_eq!(result.all.consumed, 100, "{token}");
        }
        let both = compare(&records, &tokens(&["_RNvC3app4main_RNvC3app5local"]));
        assert_eq!(both.all.consumed, 110);
    }

    #[test]
    fn a_static_functions_bare_name_proves_nothing() {
        let records = [record("a.c;helper", 1, 5)];
        assert_eq!(compare(&records, &tokens(&["helper"])).all.consumed, 0);
        assert_eq!(compare(&records, &tokens(&["a.c;helper"])).all.consumed, 5);
    }

    #[test]
    fn a_mismatch_is_the_reason_of_the_loss() {
        let mut evidence = applied(&[]);
        evidence.mismatched.insert(Mismatch {
            symbol: "helper".into(),
            hash: 2,
            discarded: 0,
        });
        let result = compare(&[record("a.c;helper", 1, 5)], &evidence);
        assert_eq!(result.lost[0].reason, Reason::Mismatched);
    }

    #[test]
    fn nothing_to_consume_is_all_consumed() {
        let result = compare(&[], &applied(&[]));
        assert_eq!(result.all.ratio(), 1.0);
        assert_eq!(result.top_packages(3).0.len(), 0);
    }

    #[test]
    fn packages_beyond_the_top_are_summed() {
        let records = [
            record("_RNvC1a1f", 1, 5),
            record("_RNvC1b1f", 1, 9),
            record("_RNvC1c1f", 1, 2),
        ];
        let result = compare(&records, &applied(&[("_RNvC1c1f", 1)]));
        let (top, rest) = result.top_packages(1);
        assert_eq!(top[0].0, "b");
        assert_eq!((rest.total, rest.consumed, rest.functions), (7, 2, 2));
    }
}
