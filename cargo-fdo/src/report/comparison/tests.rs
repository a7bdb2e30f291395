//! What is printed, from made-up runs.

use super::*;
use crate::comparison::findings::tests::comparison;
use crate::store::results;
use std::path::Path;

fn rendered(format: Format) -> String {
    let comparison = comparison();
    render(&comparison, &Findings::of(&comparison), format)
}

#[test]
fn text_has_verdicts_in_words() {
    let text = rendered(Format::Text);
    let start = "get ops/sec in ops/s, more is better\n  scenario  variant";
    assert!(text.contains(start), "{text}");
    for part in [
        "wall time in ms, less is better",
        "All 2 scenarios: wall time, geometric mean",
        "`read`: beside",
        "  release, app    2.594 MB  1.928 MB     39.2 s\n",
        "  optimized, app  2.594 MB  1.928 MB  was there\n",
        "4 warnings\n",
        "worst: `optimized`, get ops/sec of `get`, -4.",
        "better (ratio 0.8998 to 0.9063)",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let row = text
        .lines()
        .find(|line| line.contains("read      optimized"))
        .unwrap();
    assert!(row.contains("371.8") && row.ends_with("better"), "{row}");
    // On a terminal of 130 columns a row is one line.
    let widest = text.lines().take(8).map(|line| line.chars().count()).max();
    assert!(widest <= Some(130), "{widest:?}\n{text}");
}

#[test]
fn markdown_tables_have_the_same_number_of_cells_in_each_row() {
    let text = rendered(Format::Markdown);
    let mut cells = None;
    let mut tables = 0;
    for line in text.lines() {
        if !line.starts_with('|') {
            cells = None;
            continue;
        }
        let count = line.replace("\\|", "").matches('|').count();
        if cells.is_none() {
            tables += 1;
        }
        assert_eq!(*cells.get_or_insert(count), count, "{line}");
    }
    assert!(tables >= 5, "{text}");
    assert!(text.contains(" P99 |"), "{text}");
}

#[test]
fn csv_has_a_line_for_each_row() {
    let comparison = comparison();
    let findings = Findings::of(&comparison);
    let text = render(&comparison, &findings, Format::Csv);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let records: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), findings.rows.len());
    let first = &records[2];
    assert_eq!(
        (&first[0], &first[1], &first[3]),
        ("read", "wall time", "optimized")
    );
    assert_eq!(&first[17], "better");
    let mean: f64 = first[5].parse().unwrap();
    assert!((mean - 0.371_833).abs() < 1e-6);
}

#[test]
fn a_sweep_of_one_variant_has_its_own_tables_and_no_other() {
    let mut comparison = comparison();
    comparison.variants.truncate(1);
    comparison.scenarios.truncate(1);
    let mut other = comparison.scenarios[0].clone();
    for (scenario, value) in [&mut comparison.scenarios[0], &mut other]
        .into_iter()
        .zip(["4", "8"])
    {
        scenario
            .metrics
            .iter_mut()
            .for_each(|metric| metric.samples.truncate(1));
        scenario.sweep = Some(crate::comparison::facts::Point {
            scenario: "read".into(),
            parameter: "users".into(),
            value: value.into(),
        });
    }
    // A measure of one point, which the other lacks.
    other.metrics[0].name = "rate".into();
    comparison.scenarios.push(other);
    let findings = Findings::of(&comparison);
    let text = render(&comparison, &findings, Format::Text);
    let start = "`read` by `release` over `users`: mean ± STDDEVP\n  users  ";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("n/a") && !text.contains("ratio"), "{text}");
    let csv = render(&comparison, &findings, Format::Csv);
    assert!(
        csv.starts_with("scenario,variant,parameter,value,"),
        "{csv}"
    );
    let json = render(&comparison, &findings, Format::Json);
    assert!(json.contains("\"sweeps\""), "{json}");
    assert_eq!(
        results::parse(Path::new("x.json"), &json).unwrap(),
        comparison
    );
}

#[test]
fn json_is_read_back_whole() {
    let text = rendered(Format::Json);
    let back = results::parse(Path::new("x.json"), &text).unwrap();
    assert_eq!(back, comparison());
    assert!(text.contains("\"findings\""));
    let other = text.replacen("\"version\": 1", "\"version\": 99", 1);
    let error = results::parse(Path::new("x.json"), &other).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the result `x.json` has format 99; this cargo fdo reads 1"
    );
    assert!(results::parse(Path::new("x.json"), &text[..text.len() / 2]).is_err());
}
