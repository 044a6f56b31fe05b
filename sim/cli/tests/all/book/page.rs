//! A page of the book, as far as tests need it.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The workspace's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The content of a page.
#[derive(Default)]
pub struct Page {
    /// Targets of its links and pictures.
    pub links: Vec<String>,
    /// Anchors of its headings, as mdBook and GitHub name them.
    pub anchors: BTreeSet<String>,
    /// Its code, blocks and inline.
    pub code: Vec<String>,
    /// Code blocks by the word after their fence.
    pub blocks: BTreeMap<String, String>,
    /// The rows of its tables, as the texts of their cells.
    pub rows: Vec<Vec<String>>,
}

/// A heading's anchor.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    });
    kept.collect::<String>().to_lowercase()
}

impl Page {
    /// Reads a page with its includes.
    pub fn read(file: &str) -> Page {
        let file = root().join(file);
        let read = |file: &Path| fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let mut text = read(&file);
        if let Some((before, rest)) = text.clone().split_once("{{#include ") {
            let (included, after) = rest.split_once("}}").expect("an include ends");
            let included = read(&file.parent().expect("a folder").join(included));
            text = format!("{before}{included}{after}");
        }
        Page::parse(&text)
    }

    fn parse(text: &str) -> Page {
        let mut page = Page::default();
        // The element being read: a heading, a block's fence, a cell.
        let (mut heading, mut block, mut cell): (Option<String>, Option<String>, Option<String>) = Default::default();
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors.extend(heading.take().map(|heading| anchor(&heading)));
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    let fence =
                        if let CodeBlockKind::Fenced(fence) = kind { fence.into_string() } else { String::new() };
                    page.code.push(String::new());
                    block = Some(fence);
                }
                Event::End(TagEnd::CodeBlock) => {
                    let fence = block.take().unwrap_or_default();
                    page.blocks.insert(fence, page.code.last().cloned().unwrap_or_default());
                }
                Event::Start(Tag::TableHead | Tag::TableRow) => page.rows.push(Vec::new()),
                Event::Start(Tag::TableCell) => cell = Some(String::new()),
                Event::End(TagEnd::TableCell) => {
                    if let Some(row) = page.rows.last_mut() {
                        row.extend(cell.take());
                    }
                }
                Event::Text(text) => {
                    if block.is_some() {
                        page.code.last_mut().expect("a block was begun").push_str(&text);
                    }
                    [&mut heading, &mut cell].into_iter().flatten().for_each(|into| into.push_str(&text));
                }
                Event::Code(code) => {
                    page.code.push(code.to_string());
                    [&mut heading, &mut cell].into_iter().flatten().for_each(|into| {
                        into.push('`');
                        into.push_str(&code);
                        into.push('`');
                    });
                }
                _ => {}
            }
        }
        page
    }

    /// The code words in this column, of rows whose first cell contains `first`.
    pub fn words(&self, first: &str, column: usize) -> BTreeSet<String> {
        let rows = self.rows.iter().filter(|row| row.first().is_some_and(|cell| coded(cell).contains(first)));
        rows.filter_map(|row| row.get(column)).flat_map(|cell| coded(cell)).collect()
    }

    /// Every code word in a table's first column.
    pub fn firsts(&self) -> BTreeSet<String> {
        self.rows.iter().filter_map(|row| row.first()).flat_map(|cell| coded(cell)).collect()
    }
}

/// The words between backticks.
fn coded(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn pages_are_read_as_mdbook_does() {
    let page = Page::parse(
        "# What `watch --json` prints?\n[a](b.md#c)\n\n| x | y |\n|---|---|\n| `k`, `l` | `m` |\n\n```json plan\n{}\n```\n",
    );
    assert_eq!(page.links, ["b.md#c"]);
    assert_eq!(page.anchors.iter().collect::<Vec<_>>(), ["what-watch---json-prints"]);
    assert_eq!(page.blocks["json plan"], "{}\n");
    assert_eq!(page.words("l", 1).into_iter().collect::<Vec<_>>(), ["m"]);
    assert!(page.firsts().contains("k"));
}
