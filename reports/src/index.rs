//! What a sweep, a matrix, the experiments or single runs left behind, as one page to look things up in: tables that sort and
//! filter, bars of what they show, failures with their story, links to timelines. One file of HTML that needs no network.
//!
//! The pages are made of the files themselves, so that whatever made them, and whenever, can be looked at.

mod experiments;
mod matrix;
mod runs;
mod sweep;

pub use experiments::experiments;
pub use matrix::matrix;
pub use runs::runs;
pub use sweep::sweep;

use crate::timeline::page::{THEME, inline};
use serde::Serialize;
use serde_json::Value;

/// What the page's file is called.
pub const FILE: &str = "index.html";

const HTML: &str = include_str!("index/index.html");
const CSS: &str = include_str!("index/index.css");
const SCRIPT: &str = include_str!("index/index.js");

/// What the page shows.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Index {
    /// What it is about.
    pub title: String,
    /// What came of it, in a few words.
    pub verdict: String,
    /// Did something go wrong?
    pub bad: bool,
    /// What else is said at the head, a sentence each.
    pub notes: Vec<String>,
    /// What went wrong, a story each.
    pub stories: Vec<Story>,
    /// Scenarios and protocols as a grid of signs.
    pub grid: Option<Grid>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Pictures.
    pub pictures: Vec<Picture>,
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
    const fn new(label: &'static str, kind: &'static str) -> Self {
        Column { label, kind, unit: "", to: None }
    }

    const fn ms(label: &'static str) -> Self {
        Column { label, kind: "number", unit: "ms", to: None }
    }

    const fn ms_to(label: &'static str, to: usize) -> Self {
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

/// Is it a file of a schema that is understood here? Otherwise why not: one sentence.
fn of_schema(value: &Value, known: u64) -> Result<(), String> {
    match value["schema"].as_u64() {
        Some(schema) if schema == known => Ok(()),
        Some(schema) => Err(format!("it is of schema {schema}, and this program reads {known}")),
        None => Err("it does not say its schema".to_owned()),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A list of words as one.
fn words(value: &Value) -> String {
    value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(", ")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

#[cfg(test)]
mod tests;
