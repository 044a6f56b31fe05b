//! Reading and writing plans as JSON, with errors for people: serde reports the problem and the line, and this module
//! adds the field.

use super::limits::Invalid;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::error::Category;
use std::fmt;

/// Why a plan cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Parse(#[from] ParseError),
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Text that is not the expected JSON.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// What the text should be, such as `plan`.
    pub what: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// Does the text end too early, is it not JSON, or is it different JSON?
    pub problem: Category,
    /// The field with the mistake, if it is in one.
    pub field: Option<String>,
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let ParseError { what, line, problem, field, message } = self;
        match (problem, field) {
            (Category::Eof, _) => write!(f, "the {what} ends too early, on line {line}: {message}"),
            (Category::Syntax, _) => write!(f, "the {what} is not JSON, line {line}: {message}"),
            (_, Some(field)) => write!(f, "the {what} is wrong at `{field}`, line {line}: {message}"),
            (_, None) => write!(f, "the {what} is wrong on line {line}: {message}"),
        }
    }
}

impl std::error::Error for ParseError {}

/// Reads `text` as a `T`; errors call it `what`.
///
/// # Errors
/// One sentence that names the line and, if known, the field.
pub fn read<T: DeserializeOwned>(text: &str, what: &'static str) -> Result<T, ParseError> {
    serde_json::from_str(text).map_err(|error| told(text, what, &error))
}

/// `value` as indented JSON with a trailing newline.
pub fn pretty<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("plans have string keys and finite numbers");
    text.push('\n');
    text
}

fn told(text: &str, what: &'static str, error: &serde_json::Error) -> ParseError {
    let full = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = in_words(full.strip_suffix(&place).unwrap_or(&full));
    let line = error.line();
    let problem = error.classify();
    let is_data = matches!(problem, Category::Data | Category::Io);
    let field = if is_data { field_at(text, line, error.column()) } else { None };
    ParseError { what, line, problem, field, message }
}

/// What serde expected, without the names of Rust's types.
fn in_words(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once("expected ") else { return message.to_owned() };
    let kind = expected.split(' ').next().unwrap_or_default();
    let words = match kind {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "struct" | "internally" => "an object",
        _ => match expected {
            "a sequence" => "a list",
            "a map" => "an object",
            "a boolean" => "true or false",
            _ => return message.to_owned(),
        },
    };
    // serde reads a list in place of an object as the object's fields.
    let found = if found.starts_with("invalid length") { "invalid type: a list, " } else { found };
    format!("{found}expected {words}")
}

/// One level of nesting on the way to a place in a JSON text.
enum Level {
    Object { key: Option<String> },
    Array { index: usize },
}

/// The path of the value that ends at (or contains) line and column, both from 1, such as `candidates[1].rate_ppm`.
fn field_at(text: &str, line: usize, column: usize) -> Option<String> {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let end = (start + column.max(1)).min(text.len());
    let bytes = &text.as_bytes()[..end];
    let mut levels: Vec<Level> = Vec::new();
    let mut last_string = String::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let from = at + 1;
                at = from;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                last_string = String::from_utf8_lossy(&bytes[from..at.min(bytes.len())]).into_owned();
            }
            b':' => {
                if let Some(Level::Object { key }) = levels.last_mut() {
                    *key = Some(std::mem::take(&mut last_string));
                }
            }
            b'{' => levels.push(Level::Object { key: None }),
            b'[' => levels.push(Level::Array { index: 0 }),
            // A position at an object's end means the object itself: it lacks a field.
            b'}' if at + 1 == bytes.len() => {
                if let Some(Level::Object { key }) = levels.last_mut() {
                    *key = None;
                }
            }
            b'}' | b']' if at + 1 < bytes.len() => {
                levels.pop();
            }
            b',' if at + 1 < bytes.len() => match levels.last_mut() {
                Some(Level::Object { key }) => *key = None,
                Some(Level::Array { index }) => *index += 1,
                None => {}
            },
            _ => {}
        }
        at += 1;
    }
    path(&levels)
}

fn path(levels: &[Level]) -> Option<String> {
    let mut path = String::new();
    for level in levels {
        match level {
            Level::Object { key: Some(key) } if path.is_empty() => path.push_str(key),
            Level::Object { key: Some(key) } => {
                path.push('.');
                path.push_str(key);
            }
            Level::Object { key: None } => {}
            Level::Array { index } => path.push_str(&format!("[{index}]")),
        }
    }
    (!path.is_empty()).then_some(path)
}
