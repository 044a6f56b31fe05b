//! What an index shows, as data, and the page that shows it.

use crate::timeline::page::{THEME, inline};
use serde::Serialize;
use serde_json::Value;

pub(super) const HTML: &str = include_str!("index.html");
const CSS: &str = include_str!("index.css");
const SCRIPT: &str = include_str!("index.js");

/// The content of an index page.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Index {
    pub title: String,
    /// The result, in a few words.
    pub verdict: String,
    /// Did something go wrong?
    pub bad: bool,
    /// Was a run unsafe without breaking a promise? Then the page must not read as good news.
    #[serde(rename = "unsafe")]
    pub harmful: bool,
    /// Further sentences at the head.
    pub notes: Vec<String>,
    /// Failures, one story each.
    pub stories: Vec<Story>,
    /// Unsafe runs that broke no promise, one story each.
    pub expected: Vec<Story>,
    /// Scenarios and protocols as a grid of signs.
    pub grid: Option<Grid>,
    pub tables: Vec<Table>,
    pub pictures: Vec<Picture>,
    /// The sections of a page about several things. Everything but its own head is then empty.
    pub sections: Vec<Index>,
}

/// A failure, or several of one cause.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Story {
    /// Where it happened, and how often.
    pub title: String,
    /// What happened, in words; empty if the run was not examined.
    pub cause: String,
    /// Why it counts as a failure.
    pub why: String,
    /// The command that shows it again.
    pub command: String,
    /// The link to the run's page, relative to this page.
    pub timeline: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Table {
    pub title: String,
    pub columns: Vec<Column>,
    /// Rows with a value for each column, null if there is none.
    pub rows: Vec<Vec<Value>>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Column {
    pub label: &'static str,
    /// `text`, `number`, `code`, `sign`, `link`, or `line`: a list of numbers.
    pub kind: &'static str,
    /// The unit of its numbers.
    pub unit: &'static str,
    /// The column to which the bars of this one extend.
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
    pub columns: Vec<String>,
    /// Each row's name, and its sign in each column, if any.
    pub rows: Vec<(String, Vec<Option<String>>)>,
    /// What the signs mean.
    pub key: Vec<(String, String)>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Picture {
    pub title: String,
    /// A further sentence; may be empty.
    pub about: String,
    /// The link to its file, relative to the page, if it can be reached from there.
    pub file: Option<String>,
    /// The picture, as a `data:` URL.
    pub data: String,
}

/// Finds the page of a run in the folder of its artifacts; returns the link, or `None` if there is none.
pub type Links<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Index {
    /// Renders the page.
    pub fn page(&self) -> String {
        let title = self.title.replace('&', "&amp;").replace('<', "&lt;");
        let (mut page, mut rest) = (String::new(), HTML);
        // In one pass: inserted text may itself look like a placeholder.
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
