//! Writes a history.

use super::super::{
    Deleted, Event, FaultEvent, Header, Kind, Outcome, Sink, UNKNOWN_REQUEST, UNKNOWN_VERSION, usual_resources,
};
use crate::{
    message::{Write as Protected, WriteVerdict},
    types::{Incarnation, NodeId, Operation, Payload, RequestId, Resource, USUAL_RESOURCES},
};
use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, Write},
};

/// The names in a history.
pub trait Naming {
    /// A process's name, escaped for a JSON string; `None` if it has none.
    fn name(&self, node: NodeId) -> Option<Cow<'_, str>>;

    /// A resource's name, escaped for a JSON string; by default, one of the default resources'. `None` if it has none.
    fn resource(&self, resource: Resource) -> Option<Cow<'_, str>> {
        USUAL_RESOURCES.get(resource.index()).map(|name| Cow::Borrowed(*name))
    }
}

impl Naming for Vec<String> {
    fn name(&self, node: NodeId) -> Option<Cow<'_, str>> {
        self.get(node.index()).map(|name| Cow::Borrowed(name.as_str()))
    }
}

/// The names listed by a header, escaped for JSON strings.
#[derive(Clone, Debug)]
pub struct Listed {
    nodes: Vec<String>,
    resources: Vec<String>,
}

impl Naming for Listed {
    fn name(&self, node: NodeId) -> Option<Cow<'_, str>> {
        self.nodes.name(node)
    }

    fn resource(&self, resource: Resource) -> Option<Cow<'_, str>> {
        self.resources.get(resource.index()).map(|name| Cow::Borrowed(name.as_str()))
    }
}

impl<N: Naming> Naming for std::sync::Arc<N> {
    fn name(&self, node: NodeId) -> Option<Cow<'_, str>> {
        (**self).name(node)
    }

    fn resource(&self, resource: Resource) -> Option<Cow<'_, str>> {
        (**self).resource(resource)
    }
}

/// Writes a history as JSON lines while it happens. The first error stops the writing; [`Writer::finish`] returns it,
/// since a sink cannot report it.
pub struct Writer<W: Write, N: Naming = Listed> {
    out: W,
    names: N,
    line: String,
    error: Option<io::Error>,
}

impl<W: Write> Writer<W> {
    /// Starts a history with its header line. `out` should be buffered.
    pub fn new(out: W, header: &Header) -> Self {
        let escaped = |names: &[String]| names.iter().map(|name| escape(name)).collect();
        let (nodes, resources) = (escaped(&header.nodes), escaped(&header.resources));
        let mut writer = Writer::with_naming(out, Listed { nodes, resources });
        match header_line(header) {
            Ok(line) => writer.line = line,
            Err(e) => writer.error = Some(e.into()),
        }
        writer.flush_line();
        writer
    }

    /// Starts a history without a header, for processes with these names.
    pub fn with_names(out: W, names: &[String]) -> Self {
        let (nodes, resources) = (names.iter().map(|n| escape(n)).collect(), usual_resources());
        Writer::with_naming(out, Listed { nodes, resources })
    }
}

impl<W: Write, N: Naming> Writer<W, N> {
    /// Starts a history without a header, with the names from `names`.
    pub fn with_naming(out: W, names: N) -> Self {
        Writer { out, names, line: String::new(), error: None }
    }

    /// Flushes, and returns the output.
    ///
    /// # Errors
    /// The first error during writing.
    pub fn finish(mut self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok(self.out)
            }
        }
    }

    fn flush_line(&mut self) {
        if self.error.is_none() {
            self.line.push('\n');
            self.error = self.out.write_all(self.line.as_bytes()).err();
        }
        self.line.clear();
    }
}

impl<W: Write, N: Naming> Sink for Writer<W, N> {
    fn record(&mut self, event: &Event) {
        if self.error.is_some() {
            return;
        }
        append_line(&mut self.line, event, &self.names);
        self.flush_line();
    }
}

fn header_line(header: &Header) -> serde_json::Result<String> {
    let rest = serde_json::to_string(header)?;
    // A Header serialises as an object with fields, so its text starts with a brace.
    Ok(format!("{{\"event\":\"header\",{}", rest.trim_start_matches('{')))
}

/// Escapes `text` for a JSON string.
fn escape(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

struct Name<'a>(&'a dyn Naming, NodeId);

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self.0.name(self.1) {
            Some(name) => f.write_str(&name),
            None => write!(f, "node-{}", self.1.0),
        }
    }
}

struct ResourceName<'a>(&'a dyn Naming, Resource);

impl std::fmt::Display for ResourceName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self.0.resource(self.1) {
            Some(name) => f.write_str(&name),
            None => write!(f, "resource-{}", self.1.0),
        }
    }
}

/// Appends the line for `event` to `line`, without the line end.
pub fn append_line(line: &mut String, event: &Event, names: &dyn Naming) {
    let _ = write_event(line, event, names);
}

fn write_event(line: &mut String, event: &Event, names: &dyn Naming) -> std::fmt::Result {
    write!(line, "{{\"t_us\":{},\"event\":\"", event.t_us)?;
    match &event.kind {
        Kind::Campaign { node } => write!(line, "campaign\",\"node\":\"{}\"", Name(names, *node))?,
        Kind::Elected(incarnation) => write_incarnation(line, "elected", incarnation, names)?,
        Kind::Deposed { incarnation, reason } => {
            write_incarnation(line, "deposed", incarnation, names)?;
            write!(line, ",\"reason\":\"{}\"", reason.name())?;
        }
        Kind::Seal { resource, incarnation, accepted, seq, version, payload } => {
            write!(line, "seal\",\"resource\":\"{}\"", ResourceName(names, *resource))?;
            let (Incarnation { token, node, .. }, generation) = (incarnation, incarnation.elections());
            write!(line, ",\"node\":\"{}\",\"token\":{token},\"generation\":{generation}", Name(names, *node))?;
            write!(line, ",\"accepted\":{accepted},\"seq\":{seq},\"version\":{version}")?;
            write_payload(line, *payload)?;
        }
        Kind::Issue { node, write } => write_protected(line, "issue", *node, write, UNKNOWN_VERSION, names)?,
        Kind::Apply { node, write, verdict, version } => {
            write_protected(line, "apply", *node, write, *version, names)?;
            match verdict {
                WriteVerdict::Ok => write!(line, ",\"verdict\":\"ok\"")?,
                WriteVerdict::Duplicate { seq } => write!(line, ",\"verdict\":\"duplicate\",\"first\":{seq}")?,
                WriteVerdict::Fenced { highest } => write!(line, ",\"verdict\":\"fenced\",\"highest\":{highest}")?,
                WriteVerdict::Failed { expected } => write!(line, ",\"verdict\":\"failed\",\"expected\":{expected}")?,
            }
        }
        Kind::Deleted(deleted) => {
            let Deleted { resource, incarnation, seq, plans } = &**deleted;
            write!(line, "deleted\",\"resource\":\"{}\"", ResourceName(names, *resource))?;
            let (Incarnation { token, node, .. }, generation) = (incarnation, incarnation.elections());
            write!(line, ",\"node\":\"{}\",\"token\":{token},\"generation\":{generation}", Name(names, *node))?;
            let numbers = plans.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            write!(line, ",\"seq\":{seq},\"plans\":[{numbers}]")?;
        }
        Kind::Invoke { request } => {
            write!(line, "invoke\"")?;
            write_request(line, request, names)?;
        }
        Kind::Reply { request, outcome } => {
            write!(line, "reply\"")?;
            write_request(line, request, names)?;
            write_outcome(line, outcome)?;
        }
        Kind::ReadInvoke { request } => {
            write!(line, "read-invoke\"")?;
            write_request(line, request, names)?;
        }
        Kind::ReadReply { request, node, outcome } => {
            write!(line, "read-reply\",\"node\":\"{}\"", Name(names, *node))?;
            write_request(line, request, names)?;
            write_outcome(line, outcome)?;
        }
        Kind::Grant { node, token } => {
            let token = token.unwrap_or(0);
            write!(line, "grant\",\"node\":\"{}\",\"token\":{token}", Name(names, *node))?;
        }
        Kind::GrantEnd { node, token, reason } => {
            let token = token.unwrap_or(0);
            write!(line, "grant-end\",\"node\":\"{}\",\"token\":{token}", Name(names, *node))?;
            write!(line, ",\"reason\":{}", word(reason))?;
        }
        Kind::Vote { voter, candidate, token } => {
            let (voter, candidate) = (Name(names, *voter), Name(names, *candidate));
            write!(line, "vote\",\"node\":\"{voter}\",\"candidate\":\"{candidate}\",\"token\":{token}")?;
        }
        Kind::Clock { node, wall_offset_us, rate_ppm } => {
            write!(line, "clock\",\"node\":\"{}\"", Name(names, *node))?;
            write!(line, ",\"wall_offset_us\":{wall_offset_us},\"rate_ppm\":{rate_ppm}")?;
        }
        Kind::Promoted { incarnation, after } => {
            write_incarnation(line, "promoted", incarnation, names)?;
            if let Some(after) = after {
                write_beside(line, "after", after, names)?;
            }
        }
        Kind::Rewound { node, from, onto, entries } => {
            write!(line, "rewound\",\"node\":\"{}\"", Name(names, *node))?;
            write_beside(line, "after", from, names)?;
            write_beside(line, "onto", onto, names)?;
            write!(line, ",\"entries\":{entries}")?;
        }
        Kind::Work { resource, incarnation, for_us, shared } => {
            let (Incarnation { token, node, .. }, generation) = (incarnation, incarnation.elections());
            write!(line, "work\",\"resource\":\"{}\"", ResourceName(names, *resource))?;
            write!(line, ",\"node\":\"{}\",\"token\":{token},\"generation\":{generation}", Name(names, *node))?;
            write!(line, ",\"duration\":{for_us},\"shared\":{shared}")?;
        }
        Kind::Fault(fault) => write_fault(line, fault, names)?,
        Kind::Node { node, state } => {
            write!(line, "node\",\"node\":\"{}\",\"state\":{}", Name(names, *node), word(state))?;
        }
        Kind::MemberLeads { node, leads } => {
            let event = if *leads { "member-leads" } else { "member-follows" };
            write!(line, "{event}\",\"node\":\"{}\"", Name(names, *node))?;
        }
        Kind::End { messages, by_kind } => {
            write!(line, "end\",\"messages\":{messages}")?;
            if !by_kind.is_empty() {
                write!(line, ",\"by_kind\":{}", serde_json::json!(by_kind))?;
            }
        }
    }
    if event.group > 0 {
        write!(line, ",\"group\":{}", event.group)?;
    }
    line.push('}');
    Ok(())
}

/// A unit variant as a JSON string.
fn word(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn write_incarnation(line: &mut String, event: &str, i: &Incarnation, names: &dyn Naming) -> std::fmt::Result {
    let (Incarnation { token, node, .. }, generation) = (i, i.elections());
    write!(line, "{event}\",\"node\":\"{}\",\"token\":{token},\"generation\":{generation}", Name(names, *node))
}

/// A further leadership named by an event.
fn write_beside(line: &mut String, field: &str, i: &Incarnation, names: &dyn Naming) -> std::fmt::Result {
    let (Incarnation { token, node, .. }, generation) = (i, i.elections());
    let node = Name(names, *node);
    write!(line, ",\"{field}\":{{\"node\":\"{node}\",\"token\":{token},\"generation\":{generation}}}")
}

fn write_protected(
    line: &mut String,
    event: &str,
    node: NodeId,
    write: &Protected,
    version: u64,
    names: &dyn Naming,
) -> std::fmt::Result {
    let Protected { resource, operation, token, seq, read_version, payload, .. } = write;
    let (request, generation) = (&write.request(), write.incarnation(node).elections());
    let resource = ResourceName(names, *resource);
    write!(line, "{event}\",\"resource\":\"{resource}\",\"node\":\"{}\",\"token\":{token}", Name(names, node))?;
    write!(line, ",\"generation\":{generation},\"seq\":{seq}")?;
    if *read_version != UNKNOWN_VERSION {
        write!(line, ",\"read\":{read_version}")?;
    }
    if version != UNKNOWN_VERSION {
        write!(line, ",\"version\":{version}")?;
    }
    if *request != UNKNOWN_REQUEST {
        write_request(line, request, names)?;
    }
    if *operation != Operation::Record {
        write!(line, ",\"operation\":\"{}\"", operation.name())?;
    }
    write_payload(line, *payload)
}

fn write_payload(line: &mut String, payload: Option<Payload>) -> std::fmt::Result {
    let Some(Payload { number, at_us }) = payload else { return Ok(()) };
    write!(line, ",\"payload\":{{\"number\":{number},\"at_us\":{at_us}}}")
}

fn write_request(line: &mut String, request: &RequestId, names: &dyn Naming) -> std::fmt::Result {
    write!(line, ",\"request\":\"{}:{}\"", Name(names, request.client), request.number)
}

fn write_outcome(line: &mut String, outcome: &Outcome) -> std::fmt::Result {
    match outcome {
        Outcome::Ok { token, seq } => write!(line, ",\"outcome\":\"ok\",\"token\":{token},\"seq\":{seq}"),
        Outcome::Rejected => write!(line, ",\"outcome\":\"rejected\""),
        Outcome::Unknown => write!(line, ",\"outcome\":\"unknown\""),
    }
}

fn write_fault(line: &mut String, fault: &FaultEvent, names: &dyn Naming) -> std::fmt::Result {
    let FaultEvent { index, kind, phase, on, to, sides, one_way, strength, point, detail } = fault;
    write!(line, "fault\",\"index\":{index},\"fault\":\"{}\",\"phase\":{}", escape(kind.name()), word(phase))?;
    write_names(line, "on", on, names)?;
    if !to.is_empty() {
        write_names(line, "to", to, names)?;
    }
    if sides.iter().any(|side| !side.is_empty()) {
        write_names(line, "from", &sides[0], names)?;
        write_names(line, "against", &sides[1], names)?;
    }
    if *one_way {
        write!(line, ",\"one_way\":true")?;
    }
    if *strength > 0 {
        write!(line, ",\"strength\":{strength}")?;
    }
    if let Some((point, node)) = point {
        write!(line, ",\"point\":\"{}\",\"passed_by\":\"{}\"", escape(point), Name(names, *node))?;
    }
    write!(line, ",\"detail\":\"{}\"", escape(detail))
}

fn write_names(line: &mut String, field: &str, nodes: &[NodeId], names: &dyn Naming) -> std::fmt::Result {
    write!(line, ",\"{field}\":[")?;
    for (place, node) in nodes.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        write!(line, "{comma}\"{}\"", Name(names, *node))?;
    }
    line.push(']');
    Ok(())
}
