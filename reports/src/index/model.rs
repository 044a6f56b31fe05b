//! What an index shows, as data, and the page that shows it.

use crate::timeline::page::{THEME, inline};
use serde::Serialize;
use serde_json::Value;

pub(super) const HTML: &str = include_str!("index.html");
const CSS: &str = include_str!("index.css");
const SCRIPT: &str = include_str!("index.js");

/// What the page shows.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Index {
    /// What it is about.
    pub title: String,
    /// What came of it, in a few words.
    pub verdict: String,
    /// Did something go wrong?
    pub bad: bool,
    /// Was something unsafe, as it may be? Then it is no good news that nothing went wrong.
    #[serde(rename = "unsafe")]
    pub harmful: bool,
    /// What else is said at the head, a sentence each.
    pub notes: Vec<String>,
    /// What went wrong, a story each.
    pub stories: Vec<Story>,
    /// What was unsafe and nobody had promised to be safe, a story each.
    pub expected: Vec<Story>,
    /// Scenarios and protocols as a grid of signs.
    pub grid: Option<Grid>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Pictures.
    pub pictures: Vec<Picture>,
    /// Where a page is about several things: each of them. All else but the head is empty then.
    pub sections: Vec<Index>,
}

/// A failure, or several of one cause.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Story {
    /// Where it happened, and how often.
    pub title: String,
    /// What happened, for people; empty when nobody looked.
    pub cause: String,
    /// Why it counts as a failure.
    pub why: String,
    /// How to see it again.
    pub command: String,
    /// The page of the run: a link relative to this one.
    pub timeline: Option<String>,
}

/// A table.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Table {
    /// What it lists.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows: a value for each column, null where there is none.
    pub rows: Vec<Vec<Value>>,
}

/// A column of a table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Column {
    /// What it is called.
    pub label: &'static str,
    /// `text`, `number`, `code`, `sign` or `link`.
    pub kind: &'static str,
    /// Numbers are counted in this.
    pub unit: &'static str,
    /// Bars go from this column to that one.
    pub to: Option<usize>,
}

impl Column {
    pub(super) const fn new(label: &'static str, kind: &'static str) -> Self {
        Column { label, kind, unit: "", to: None }
    }

    pub(super) const fn ms(label: &'static str) -> Self {
        Column { label, kind: "number", unit: "ms", to: None }
    }

    pub(super) const fn ms_to(label: &'static str, to: usize) -> Self {
        Column { label, kind: "number", unit: "ms", to: Some(to) }
    }
}

/// Signs by row and column.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Grid {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows: a name, and for each column a sign, or nothing.
    pub rows: Vec<(String, Vec<Option<String>>)>,
    /// What the signs mean.
    pub key: Vec<(String, String)>,
}

/// A picture and what it shows.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Picture {
    /// What it shows.
    pub title: String,
    /// The same in a sentence more; may be empty.
    pub about: String,
    /// The file, as a link relative to the page, if it can be reached from there.
    pub file: Option<String>,
    /// The picture, as a `data:` address.
    pub data: String,
}

/// Finds the page of a run in the folder of its artifacts, as a link; `None` where there is none.
pub type Links<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Index {
    /// The page.
    pub fn page(&self) -> String {
        let title = self.title.replace('&', "&amp;").replace('<', "&lt;");
        let (mut page, mut rest) = (String::new(), HTML);
        // One pass: what is filled in may itself look like a mark.
        for (mark, text) in [
            ("@TITLE@", title.as_str()),
            ("@CSS@", &[THEME, CSS].concat()),
            ("@INDEX@", &inline(self)),
            ("@SCRIPT@", SCRIPT),
        ] {
            let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
            page.push_str(before);
            page.push_str(text);
            rest = after;
        }
        page + rest
    }
}
