//! A site in three stages: read the pages from JSON, render their Markdown, write the index.

mod corpus;

use std::collections::BTreeMap;
use std::fmt;

use pulldown_cmark::{Event, Options, Parser, TagEnd, html};
use serde::{Deserialize, Serialize};

pub use corpus::generate;

/// A page as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The unique name, which becomes the file name.
    pub slug: String,
    /// Shown in the list of pages.
    pub title: String,
    /// Words to find the page by.
    pub tags: Vec<String>,
    /// How often it was read, by year.
    pub visits: BTreeMap<u16, f64>,
    /// The text, in Markdown.
    pub body: String,
}

/// The words of all pages with the pages that hold them.
#[derive(Debug, Default, Serialize)]
pub struct Index {
    /// Word to (page number, occurrences).
    words: BTreeMap<String, Vec<(usize, u32)>>,
    /// Tag to the visits of its pages.
    tags: BTreeMap<String, f64>,
}

/// What a run produced, to be compared between builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Number of pages.
    pub pages: usize,
    /// Bytes of HTML.
    pub html: usize,
    /// Over all the HTML and the index.
    pub checksum: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary {
            pages,
            html,
            checksum,
        } = self;
        write!(f, "{pages} pages, {html} bytes, checksum {checksum:016x}")
    }
}

/// Reads pages from the text of a JSON array.
pub fn parse(json: &str) -> serde_json::Result<Vec<Page>> {
    serde_json::from_str(json)
}

/// Appends the HTML of `page` to `output`.
pub fn render(page: &Page, output: &mut String) {
    html::push_html(output, markdown(&page.body));
}

/// The words of a page's text, code left out, in lower case, with a call for each.
pub fn words(page: &Page, mut found: impl FnMut(String)) {
    let mut in_code = false;
    for event in markdown(&page.body) {
        match event {
            Event::Start(pulldown_cmark::Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(text) if !in_code => text
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| word.len() > 2)
                .for_each(|word| found(word.to_lowercase())),
            _ => {}
        }
    }
}

impl Index {
    /// Indexes the words and tags of `pages`.
    pub fn new(pages: &[Page]) -> Index {
        let mut index = Index::default();
        for (number, page) in pages.iter().enumerate() {
            words(page, |word| {
                let places = index.words.entry(word).or_default();
                match places.last_mut() {
                    Some((last, count)) if *last == number => *count += 1,
                    _ => places.push((number, 1)),
                }
            });
            let visits: f64 = page.visits.values().sum();
            for tag in &page.tags {
                *index.tags.entry(tag.clone()).or_default() += visits;
            }
        }
        index
    }
}

/// All three stages on the text of a JSON array of pages.
pub fn build(json: &str) -> serde_json::Result<Summary> {
    let pages = parse(json)?;
    let mut output = String::new();
    for page in &pages {
        render(page, &mut output);
    }
    let index = serde_json::to_string(&Index::new(&pages))?;
    Ok(Summary {
        pages: pages.len(),
        html: output.len(),
        checksum: checksum(output.bytes().chain(index.bytes())),
    })
}

/// FNV-1a: not for security, but the same in every build.
pub fn checksum(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xCBF2_9CE4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

fn markdown(text: &str) -> Parser<'_> {
    Parser::new_ext(
        text,
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(body: &str) -> Page {
        Page {
            slug: "a".to_owned(),
            title: "A".to_owned(),
            tags: vec!["x".to_owned()],
            visits: BTreeMap::from([(2025, 1.5)]),
            body: body.to_owned(),
        }
    }

    #[test]
    fn pages_survive_json() -> serde_json::Result<()> {
        let pages = generate(20, 1);
        assert_eq!(parse(&serde_json::to_string(&pages)?)?, pages);
        Ok(())
    }

    #[test]
    fn renders_tables() {
        let mut html = String::new();
        render(&page("|a|\n|-|\n|b|\n"), &mut html);
        assert!(html.contains("<td>b</td>"), "{html}");
    }

    #[test]
    fn code_is_not_indexed() {
        let mut found = Vec::new();
        words(&page("Some *Words*\n\n```\nhidden\n```\n"), |word| {
            found.push(word)
        });
        assert_eq!(found, ["some", "words"]);
    }

    #[test]
    fn the_seed_decides_everything() {
        assert_eq!(generate(5, 1), generate(5, 1));
        assert_ne!(generate(5, 1), generate(5, 2));
    }
}
