//! Events with named fields, as in a history's lines, and their exporters.

use protocols::{
    history::{
        Event,
        json::{Naming, append_line},
    },
    types::{NodeId, Resource},
};
use reports::Names;
use serde_json::{Map, Value};
use std::{borrow::Cow, io};
use xxhash_rust::xxh3::xxh3_64;

/// Receives events one after the other.
pub trait Exporter {
    /// The next event.
    fn event(&mut self, line: &Line) -> io::Result<()>;

    /// Called after the last event.
    fn finish(&mut self) -> io::Result<()>;
}

pub struct Line {
    /// True time, microseconds.
    pub t_us: u64,
    pub event: String,
    /// All fields but time and event.
    pub fields: Map<String, Value>,
}

/// Names as they appear inside JSON strings.
struct Escaped<'a>(&'a Names);

fn escaped(name: &str) -> Option<Cow<'static, str>> {
    let quoted = serde_json::to_string(name).ok()?;
    Some(Cow::Owned(quoted.strip_prefix('"')?.strip_suffix('"')?.to_owned()))
}

impl Naming for Escaped<'_> {
    fn name(&self, node: NodeId) -> Option<Cow<'_, str>> {
        escaped(&self.0.node(node))
    }

    fn resource(&self, resource: Resource) -> Option<Cow<'_, str>> {
        escaped(&self.0.resource(resource))
    }
}

impl Line {
    /// The event with the fields of its line.
    pub fn of(event: &Event, names: &Names) -> Line {
        let mut text = String::new();
        append_line(&mut text, event, &Escaped(names));
        let mut fields: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
        fields.remove("t_us");
        let kind = fields.remove("event");
        Line { t_us: event.t_us, event: kind.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(), fields }
    }

    /// A text field; empty if it is missing.
    pub fn text(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// A whole-number field; 0 if it is missing.
    pub fn number(&self, field: &str) -> u64 {
        self.fields.get(field).and_then(Value::as_u64).unwrap_or(0)
    }

    /// A field with a list of names.
    pub fn list(&self, field: &str) -> Vec<&str> {
        self.fields.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Its leadership; with the group, if there are several.
    pub fn leadership(&self) -> String {
        let group = match self.number("group") {
            0 => String::new(),
            group => format!("@{group}"),
        };
        match self.number("token") {
            0 => format!("{}{group}", self.text("node")),
            token => format!("{}{group} (token {token})", self.text("node")),
        }
    }

    /// The client of its request: the part before the last colon, since an address has colons itself.
    pub fn client(&self) -> &str {
        let request = self.text("request");
        request.rsplit_once(':').map_or(request, |(client, _)| client)
    }

    /// A hash that identifies a protected write.
    pub fn write(&self) -> u64 {
        let words = ["resource", "node", "request"].map(|field| self.text(field));
        let numbers = ["token", "generation", "seq"].map(|field| self.number(field));
        xxh3_64(format!("{words:?} {numbers:?}").as_bytes())
    }
}
