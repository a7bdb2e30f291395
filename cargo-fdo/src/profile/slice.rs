//! Slices: the part of a merged profile that one language's compiler can use, in a form that
//! survives the next build.
//!
//! Slices leave here as text; each reader's own `llvm-profdata` turns them into the indexed
//! version it knows.

use super::digest;
use super::instr_text::{InstrProfile, MAX_COUNT, Record};
use super::names::{self, Unit};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Divides a profile into what rustc made and what a C or C++ compiler made.
///
/// A function is Rust's if its name is ([`names::is_rust`]) or if it is global and listed in
/// `rust_plain_names`, the unmangled symbols that Rust objects define (`main`, `#[no_mangle]`
/// functions). Both parts keep the flags, neither the temporal traces.
pub fn split(
    profile: InstrProfile,
    rust_plain_names: &BTreeSet<String>,
) -> (InstrProfile, InstrProfile) {
    let (mut rust, mut c) = (profile.like(), profile.like());
    for record in profile.records {
        if names::is_rust(&record.name) || rust_plain_names.contains(&record.name) {
            rust.records.push(record);
        } else {
            c.records.push(record);
        }
    }
    (rust, c)
}

/// What all listings of one function share: its name without the unit, and its hash.
///
/// Weights of a slice must be added up by this key, or a local function counts once for each unit
/// it is listed under.
pub fn group_key(record: &Record) -> (Cow<'_, str>, u64) {
    (names::without_cgu(&record.name), record.hash)
}

/// The highest unit number in the profile; `None` if it has no local Rust function.
pub fn highest_unit(profile: &InstrProfile) -> Option<u32> {
    profile
        .records
        .iter()
        .filter_map(|record| Unit::parse(names::split(&record.name).0?))
        .map(|unit| unit.number)
        .max()
}

/// The most units that are listed; rustc's own limit is far above what anybody uses.
const MAX_UNITS: u32 = 1024;

/// Adds up the copies that different units have of one local function.
///
/// Copies with the same [`group_key`] become one record under the name that sorts first; its
/// counters are the sums, its value data that of the first copy that has any. Functions whose
/// hash differs stay apart. So do, if it ever happens, ones with equal hash and another number of
/// counters: of these only the heaviest is kept, because LLVM takes but one.
pub fn merge_units(profile: InstrProfile) -> InstrProfile {
    let mut merged = profile.like();
    let mut groups: BTreeMap<(String, u64), Record> = BTreeMap::new();
    let mut records = profile.records;
    // The order of the input must not decide whose value data is kept.
    records.sort_by(|a, b| (&a.name, a.hash, &a.counters).cmp(&(&b.name, b.hash, &b.counters)));
    for record in records {
        let (name, hash) = group_key(&record);
        match groups.entry((name.into_owned(), hash)) {
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(record);
            }
            std::collections::btree_map::Entry::Occupied(mut taken) => {
                add(taken.get_mut(), record);
            }
        }
    }
    merged.records = groups.into_values().collect();
    merged.sort();
    merged
}

fn add(sum: &mut Record, other: Record) {
    if sum.counters.len() != other.counters.len() {
        if other.total() > sum.total() {
            let name = std::mem::take(&mut sum.name);
            *sum = Record { name, ..other };
        }
        return;
    }
    if sum.is_pseudo() || other.is_pseudo() {
        return;
    }
    for (count, more) in sum.counters.iter_mut().zip(&other.counters) {
        *count = count.saturating_add(*more).min(MAX_COUNT);
    }
    if sum.values.is_empty() {
        sum.values = other.values;
    }
    if sum.bitmap.is_empty() {
        sum.bitmap = other.bitmap;
    }
}

/// Lists every local Rust function under each unit number from 0 up to but not including `units`.
///
/// rustc numbers units anew when a crate changes: one added function renamed 183 of 825 records
/// and lost a third of the counts; listed under every number the loss was 0.08 %. Copies of a
/// function are added up first ([`merge_units`]), so each listing carries the whole count. `units`
/// is best the larger of 16 (rustc's default) and one more than [`highest_unit`]; beyond 1024 it
/// is taken as 1024.
///
/// What this can't mend: a generic that only one unit uses is local to it, and global as soon as two
/// do, so an edit may turn `crate.hash-cgu.9;f` into `f`.
///
/// rustc pads the numbers of a crate to one width, so with `units` of 16 a number is listed both as
/// `7`, for when the crate shrinks, and as `07`: 25 listings.
pub fn list_under_every_unit(rust: InstrProfile, units: u32) -> InstrProfile {
    let suffixes = suffixes(units.min(MAX_UNITS));
    let merged = merge_units(rust);
    let mut listed = merged.like();
    for record in merged.records {
        let (prefix, symbol) = names::split(&record.name);
        let Some(unit) = prefix.and_then(Unit::parse) else {
            listed.records.push(record);
            continue;
        };
        for suffix in &suffixes {
            listed.records.push(Record {
                name: format!("{}-cgu.{suffix};{symbol}", unit.base),
                ..record.clone()
            });
        }
    }
    listed.sort();
    listed
}

/// Every number below `units` in every width that rustc would write it with: as many digits as the
/// *count* of units has, so the ten units of a crate are `00` to `09` and the nine of another `0`
/// to `8`.
fn suffixes(units: u32) -> Vec<String> {
    let mut suffixes = Vec::new();
    for width in 1..=4 {
        let (least, most) = (10u32.pow(width - 1), 10u32.pow(width) - 1);
        if units >= least {
            let width = width as usize;
            suffixes.extend((0..units.min(most)).map(|number| format!("{number:0width$}")));
        }
    }
    suffixes
}

/// First 16 hex digits of the text's SHA-256: names a slice file by its content.
pub fn content_hash(text: &str) -> String {
    digest::short(text.as_bytes(), 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::instr_text::ValueKind;

    fn record(name: &str, hash: u64, counters: &[u64]) -> Record {
        Record {
            name: name.into(),
            hash,
            counters: counters.into(),
            ..Record::default()
        }
    }

    fn profile(records: Vec<Record>) -> InstrProfile {
        InstrProfile {
            flags: vec!["ir".into()],
            records,
            ..InstrProfile::default()
        }
    }

    fn names(profile: &InstrProfile) -> Vec<&str> {
        profile.records.iter().map(|r| r.name.as_str()).collect()
    }

    #[test]
    fn split_goes_by_mangling_prefix_and_the_given_plain_names() {
        let all = profile(vec![
            record("main", 1, &[1]),
            record("exported", 1, &[1]),
            record("LZ4_count", 1, &[1]),
            record("lz4.c;LZ4_count", 1, &[1]),
            record("app.0123456789abcdef-cgu.0;plain", 1, &[1]),
            record("_RNvCs1_3app4main", 1, &[1]),
            record("_ZN3app4main17h0123456789abcdefE", 1, &[1]),
            record("_ZN7rocksdb2DB4OpenEv", 1, &[1]),
        ]);
        let plain = BTreeSet::from(["main".to_owned()]);

        let (rust, c) = split(all, &plain);

        assert_eq!(
            names(&c),
            [
                "exported",
                "LZ4_count",
                "lz4.c;LZ4_count",
                "_ZN7rocksdb2DB4OpenEv"
            ]
        );
        assert_eq!(rust.records.len(), 4);
        assert_eq!((rust.is_ir(), c.is_ir()), (true, true));
    }

    #[test]
    fn copies_in_several_units_are_added_up_and_listed_with_the_whole_count() {
        let rust = profile(vec![
            record("app.0123456789abcdef-cgu.3;f", 7, &[1, 2]),
            record("app.0123456789abcdef-cgu.0;f", 7, &[10, 20]),
            record("app.0123456789abcdef-cgu.1;f", 8, &[5]),
            record("_RNvCs1_3app4main", 1, &[9]),
        ]);

        let listed = list_under_every_unit(rust, 4);

        let of = |hash| listed.records.iter().filter(move |r| r.hash == hash);
        assert_eq!(of(7).count(), 4);
        assert!(of(7).all(|r| r.counters == [11, 22]));
        assert_eq!(of(8).count(), 4);
        assert_eq!(of(1).count(), 1);
        let keys: BTreeSet<_> = listed.records.iter().map(group_key).collect();
        assert_eq!(keys.len(), 3);
    }

    #[test]
    fn numbers_are_padded_to_the_digits_of_the_number_of_units() {
        assert_eq!(suffixes(2), ["0", "1"]);
        let sixteen = suffixes(16);
        assert_eq!(sixteen.len(), 9 + 16);
        assert!(
            ["8", "00", "09", "15"]
                .iter()
                .all(|s| sixteen.iter().any(|t| t == s))
        );
        // A crate of ten units pads, so `9` is never written.
        assert!(!sixteen.contains(&"9".to_owned()));
        assert_eq!(suffixes(100).len(), 9 + 99 + 100);
        assert_eq!(suffixes(0), [""; 0]);
    }

    #[test]
    fn sums_stay_below_the_marks_for_pseudo_counts() {
        let rust = profile(vec![
            record("a.0123456789abcdef-cgu.0;f", 7, &[MAX_COUNT]),
            record("a.0123456789abcdef-cgu.1;f", 7, &[MAX_COUNT]),
        ]);
        assert_eq!(merge_units(rust).records[0].counters, [MAX_COUNT]);
    }

    #[test]
    fn the_first_copy_with_value_data_keeps_it_whatever_the_order_read() {
        let values = |count| {
            vec![ValueKind {
                kind: 0,
                sites: vec![vec![("g".into(), count)]],
            }]
        };
        let mut all = vec![
            record("a.0123456789abcdef-cgu.0;f", 7, &[1]),
            record("a.0123456789abcdef-cgu.1;f", 7, &[1]),
            record("a.0123456789abcdef-cgu.2;f", 7, &[1]),
        ];
        all[1].values = values(3);
        all[2].values = values(4);
        for turn in 0..3 {
            all.rotate_left(turn);
            let merged = merge_units(profile(all.clone()));
            assert_eq!(merged.records.len(), 1);
            assert_eq!(merged.records[0].values, values(3));
        }
    }

    #[test]
    fn of_copies_with_equal_hash_and_other_counters_the_heaviest_stays() {
        let rust = profile(vec![
            record("a.0123456789abcdef-cgu.0;f", 7, &[1]),
            record("a.0123456789abcdef-cgu.1;f", 7, &[5, 5]),
        ]);
        assert_eq!(merge_units(rust).records[0].counters, [5, 5]);
    }

    #[test]
    fn an_absurd_number_of_units_is_bounded() {
        let rust = profile(vec![record("a.0123456789abcdef-cgu.4294967295;f", 7, &[1])]);
        assert_eq!(highest_unit(&rust), Some(u32::MAX));
        assert!(list_under_every_unit(rust, u32::MAX).records.len() < 3000);
    }

    #[test]
    fn content_hash_is_the_head_of_sha256() {
        assert_eq!(content_hash(""), "e3b0c44298fc1c14");
    }
}
