//! Reading a history, from anywhere.

use super::super::{
    Event, FaultEvent, GrantEnd, Header, Kind, NodeState, Outcome, Phase, UNKNOWN_REQUEST, UNKNOWN_VERSION,
};
use crate::{
    elector::Deposed,
    message::{Write, WriteVerdict},
    types::{Incarnation, NodeId, RequestId, Resource},
};
use serde::Deserialize;
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    io::{BufRead, Read},
};

/// The longest line that is read, bytes. A line beyond it is an error, so that no input can exhaust memory.
pub const LINE_MAX: u64 = 1 << 20;

/// Why a history cannot be read: one sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for ReadError {}

/// What a foreign log calls its fields, and which of them are left out. Without it, a field that is not known is an error:
/// a token under another name would otherwise be read as none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fields {
    /// Our name of a field, by theirs.
    theirs: BTreeMap<String, String>,
    ignored: BTreeSet<String>,
}

impl Fields {
    /// The field `theirs` is what a history calls `ours`.
    ///
    /// # Errors
    /// A history has no field of that name, or `theirs` is mapped already: one sentence.
    pub fn map(&mut self, ours: &str, theirs: &str) -> Result<(), String> {
        if !KNOWN.contains(&ours) {
            return Err(format!("a history has no field {ours:?}; it has {}", KNOWN.join(", ")));
        }
        match self.theirs.insert(theirs.to_owned(), ours.to_owned()) {
            Some(before) if before != ours => Err(format!("{theirs:?} cannot be both {before:?} and {ours:?}")),
            _ => Ok(()),
        }
    }

    /// The field of that name says nothing that is judged.
    pub fn ignore(&mut self, theirs: &str) {
        self.ignored.insert(theirs.to_owned());
    }

    fn is_empty(&self) -> bool {
        self.theirs.is_empty() && self.ignored.is_empty()
    }

    /// The line with our names; `None` when it is no object.
    fn translate(&self, text: &[u8]) -> Option<Vec<u8>> {
        let line: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(text).ok()?;
        let known = line.into_iter().filter(|(name, _)| !self.ignored.contains(name));
        let ours = known.map(|(name, value)| (self.theirs.get(&name).cloned().unwrap_or(name), value));
        // As text and not as a map: a field that is there twice has to be noticed.
        let fields: Vec<_> = ours.map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name))).collect();
        Some(format!("{{{}}}", fields.join(",")).into_bytes())
    }
}

/// Reads a history line by line, in memory that does not grow with it. Ends after the first error.
pub struct Reader<R: BufRead> {
    input: R,
    fields: Fields,
    buffer: Vec<u8>,
    line: u64,
    header: Option<Header>,
    nodes: Nodes,
    first: Option<Event>,
    last_us: u64,
    over: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header, if there is one.
    ///
    /// # Errors
    /// The first line is neither a header nor an event.
    pub fn new(input: R) -> Result<Self, ReadError> {
        Reader::with_fields(input, Fields::default())
    }

    /// Reads the header, if there is one, of a history with fields of other names.
    ///
    /// # Errors
    /// The first line is neither a header nor an event.
    pub fn with_fields(input: R, fields: Fields) -> Result<Self, ReadError> {
        let nodes = Nodes { names: Vec::new(), ids: BTreeMap::new(), closed: false };
        let (buffer, header, first) = (Vec::new(), None, None);
        let mut reader = Reader { input, fields, buffer, line: 0, header, nodes, first, last_us: 0, over: false };
        reader.first = reader.read_event()?;
        Ok(reader)
    }

    /// What the history says about its run; `None` for a foreign log.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// The names of the processes seen so far, by [`NodeId`].
    pub fn names(&self) -> &[String] {
        &self.nodes.names
    }

    fn fail(&self, what: impl Into<String>) -> ReadError {
        ReadError { line: self.line, what: what.into() }
    }

    /// Fills `buffer` with the next line that is not blank, without its end. False at the end of the input.
    fn read_line(&mut self) -> Result<bool, ReadError> {
        loop {
            self.line += 1;
            self.buffer.clear();
            let read = (&mut self.input).take(LINE_MAX + 1).read_until(b'\n', &mut self.buffer);
            read.map_err(|e| self.fail(format!("cannot be read: {e}")))?;
            if self.buffer.is_empty() {
                return Ok(false);
            }
            if self.buffer.len() as u64 > LINE_MAX {
                return Err(self.fail(format!("is longer than {LINE_MAX} bytes")));
            }
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn read_event(&mut self) -> Result<Option<Event>, ReadError> {
        while self.read_line()? {
            let buffer = std::mem::take(&mut self.buffer);
            let parsed = self.parse(&buffer);
            self.buffer = buffer;
            if let Some(event) = parsed? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// The event of one line; `None` for the header.
    fn parse(&mut self, text: &[u8]) -> Result<Option<Event>, ReadError> {
        if self.line == 1 && is_header(text) {
            let header = parse_header(text).map_err(|what| self.fail(what))?;
            self.nodes = Nodes::closed(&header.nodes).map_err(|what| self.fail(what))?;
            self.header = Some(header);
            return Ok(None);
        }
        let translated = if self.fields.is_empty() { None } else { self.fields.translate(text) };
        let line: Line = serde_json::from_slice(translated.as_deref().unwrap_or(text)).map_err(|e| {
            let cut_short = e.is_eof() && !text.ends_with(b"\n");
            self.fail(match cut_short {
                true => "is cut short".to_owned(),
                false if is_header(text) => "a header must be the first line".to_owned(),
                false => json_error(&e),
            })
        })?;
        if line.event == "header" {
            return Err(self.fail("a header must be the first line"));
        }
        let t_us = line.t_us.ok_or_else(|| self.fail("t_us is missing; it is the true time in microseconds"))?;
        if t_us < self.last_us {
            return Err(self.fail(format!("t_us goes back from {} to {t_us}", self.last_us)));
        }
        let kind = line.kind(&mut self.nodes).map_err(|what| self.fail(what))?;
        self.last_us = t_us;
        Ok(Some(Event { t_us, kind }))
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Event, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(event) = self.first.take() {
            return Some(Ok(event));
        }
        if self.over {
            return None;
        }
        let next = self.read_event().transpose();
        self.over = !matches!(next, Some(Ok(_)));
        next
    }
}

/// A parser's words without its position: every line is its own document, so only the column would be right.
fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if let Some(rest) = text.strip_prefix("unknown field `") {
        let field = rest.split('`').next().unwrap_or_default();
        return format!(
            "there is no field {field:?} in a history; --map token={field} says that it is the token (or any other field), \
             --ignore {field} leaves it out"
        );
    }
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    format!("is not an event: {what} (column {})", error.column())
}

/// Does a line say that it is a header?
fn is_header(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Tag<'a> {
        #[serde(borrow)]
        event: Cow<'a, str>,
    }
    serde_json::from_slice::<Tag>(text).is_ok_and(|tag| tag.event == "header")
}

fn parse_header(text: &[u8]) -> Result<Header, String> {
    let mut value: serde_json::Value = serde_json::from_slice(text).map_err(|e| json_error(&e))?;
    if let Some(fields) = value.as_object_mut() {
        fields.remove("event");
    }
    let header: Header = serde_json::from_value(value).map_err(|e| format!("is not a header: {e}"))?;
    if header.schema != super::SCHEMA {
        return Err(format!("has schema {}; this build reads schema {}", header.schema, super::SCHEMA));
    }
    Ok(header)
}

/// Processes by name.
struct Nodes {
    names: Vec<String>,
    ids: BTreeMap<String, NodeId>,
    /// A header has listed them all.
    closed: bool,
}

impl Nodes {
    fn closed(names: &[String]) -> Result<Nodes, String> {
        let mut nodes = Nodes { names: Vec::new(), ids: BTreeMap::new(), closed: false };
        for name in names {
            if nodes.ids.contains_key(name) {
                return Err(format!("lists the node {name:?} twice"));
            }
            nodes.id(name)?;
        }
        nodes.closed = true;
        Ok(nodes)
    }

    fn id(&mut self, name: &str) -> Result<NodeId, String> {
        if let Some(id) = self.ids.get(name) {
            return Ok(*id);
        }
        if self.closed {
            return Err(format!("the header does not list a node {name:?}"));
        }
        // The last id is taken by UNKNOWN_REQUEST.
        let id = u16::try_from(self.names.len()).ok().filter(|id| *id != u16::MAX);
        let id = NodeId(id.ok_or("there are more than 65535 different nodes and clients")?);
        self.names.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        Ok(id)
    }

    fn request(&mut self, text: &str) -> Result<RequestId, String> {
        let parsed = text.rsplit_once(':').and_then(|(client, number)| Some((client, number.parse().ok()?)));
        let (client, number) =
            parsed.ok_or_else(|| format!("request {text:?} is not of the form client:number, such as \"c1:17\""))?;
        Ok(RequestId { client: self.id(client)?, number })
    }
}

/// The fields that a line may have; which of them it must have, its event says.
const KNOWN: [&str; 36] = [
    "event",
    "t_us",
    "node",
    "resource",
    "request",
    "verdict",
    "outcome",
    "reason",
    "fault",
    "detail",
    "candidate",
    "point",
    "passed_by",
    "from",
    "against",
    "one_way",
    "strength",
    "wall_offset_us",
    "rate_ppm",
    "epoch",
    "token",
    "term",
    "seq",
    "read",
    "version",
    "accepted",
    "first",
    "highest",
    "expected",
    "index",
    "phase",
    "state",
    "on",
    "to",
    "messages",
    "by_kind",
];

/// Any line. A field that is not listed is refused: it may be one that matters, under another name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    t_us: Option<u64>,
    #[serde(borrow)]
    node: Option<Cow<'a, str>>,
    #[serde(borrow)]
    resource: Option<Cow<'a, str>>,
    #[serde(borrow)]
    request: Option<Cow<'a, str>>,
    #[serde(borrow)]
    verdict: Option<Cow<'a, str>>,
    #[serde(borrow)]
    outcome: Option<Cow<'a, str>>,
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    fault: Option<Cow<'a, str>>,
    #[serde(borrow)]
    detail: Option<Cow<'a, str>>,
    #[serde(borrow)]
    candidate: Option<Cow<'a, str>>,
    #[serde(borrow)]
    point: Option<Cow<'a, str>>,
    #[serde(borrow)]
    passed_by: Option<Cow<'a, str>>,
    #[serde(default)]
    from: Vec<String>,
    #[serde(default)]
    against: Vec<String>,
    #[serde(default)]
    one_way: bool,
    #[serde(default)]
    strength: u64,
    wall_offset_us: Option<i64>,
    rate_ppm: Option<i64>,
    #[serde(alias = "token")]
    epoch: Option<u64>,
    term: Option<u32>,
    seq: Option<u64>,
    read: Option<u64>,
    version: Option<u64>,
    accepted: Option<bool>,
    first: Option<u64>,
    highest: Option<u64>,
    expected: Option<u64>,
    index: Option<u32>,
    phase: Option<Phase>,
    state: Option<NodeState>,
    #[serde(default)]
    on: Vec<String>,
    #[serde(default)]
    to: Vec<String>,
    messages: Option<u64>,
    #[serde(default)]
    by_kind: BTreeMap<String, u64>,
}

impl Line<'_> {
    fn kind(&self, nodes: &mut Nodes) -> Result<Kind, String> {
        Ok(match &*self.event {
            "campaign" => Kind::Campaign { node: self.node(nodes)? },
            "elected" => Kind::Elected(self.incarnation(nodes)?),
            "deposed" => Kind::Deposed { incarnation: self.incarnation(nodes)?, reason: self.reason()? },
            "seal" => Kind::Seal {
                resource: self.resource()?,
                incarnation: self.incarnation(nodes)?,
                accepted: self.need("accepted", self.accepted)?,
                seq: self.need("seq", self.seq)?,
                version: self.version.unwrap_or(UNKNOWN_VERSION),
            },
            "issue" => Kind::Issue { node: self.node(nodes)?, write: self.write(nodes)? },
            "apply" => Kind::Apply {
                node: self.node(nodes)?,
                write: self.write(nodes)?,
                verdict: self.verdict()?,
                version: self.version.unwrap_or(UNKNOWN_VERSION),
            },
            "invoke" => Kind::Invoke { request: self.request(nodes)? },
            "reply" => Kind::Reply { request: self.request(nodes)?, outcome: self.outcome()? },
            "read-invoke" => Kind::ReadInvoke { request: self.request(nodes)? },
            "read-reply" => {
                let (node, request) = (self.node(nodes)?, self.request(nodes)?);
                Kind::ReadReply { request, node, outcome: self.outcome()? }
            }
            "fault" => Kind::Fault(Box::new(self.fault_event(nodes)?)),
            "grant" => Kind::Grant { node: self.node(nodes)?, token: self.epoch.unwrap_or(0) },
            "grant-end" => {
                let (node, token) = (self.node(nodes)?, self.epoch.unwrap_or(0));
                Kind::GrantEnd { node, token, reason: self.grant_end()? }
            }
            "vote" => Kind::Vote {
                voter: self.node(nodes)?,
                candidate: nodes.id(self.text("candidate", &self.candidate)?)?,
                token: self.need("epoch", self.epoch)?,
            },
            "clock" => Kind::Clock {
                node: self.node(nodes)?,
                wall_offset_us: self.need("wall_offset_us", self.wall_offset_us)?,
                rate_ppm: self.need("rate_ppm", self.rate_ppm)?,
            },
            "node" => Kind::Node { node: self.node(nodes)?, state: self.need("state", self.state)? },
            "end" => Kind::End { messages: self.messages.unwrap_or(0), by_kind: self.by_kind.clone() },
            other => return Err(format!("there is no event {other:?}")),
        })
    }

    fn fault_event(&self, nodes: &mut Nodes) -> Result<FaultEvent, String> {
        let mut group =
            |names: &[String]| names.iter().map(|name| nodes.id(name)).collect::<Result<Vec<NodeId>, String>>();
        let (on, to, sides) = (group(&self.on)?, group(&self.to)?, [group(&self.from)?, group(&self.against)?]);
        let point = match &self.point {
            Some(point) => Some((point.to_string(), nodes.id(self.text("passed_by", &self.passed_by)?)?)),
            None => None,
        };
        Ok(FaultEvent {
            index: self.need("index", self.index)?,
            fault: self.text("fault", &self.fault)?.to_owned(),
            phase: self.need("phase", self.phase)?,
            on,
            to,
            sides,
            one_way: self.one_way,
            strength: self.strength,
            point,
            detail: self.detail.as_deref().unwrap_or_default().to_owned(),
        })
    }

    fn grant_end(&self) -> Result<GrantEnd, String> {
        let name = self.text("reason", &self.reason)?;
        serde_json::from_value(name.into())
            .map_err(|_| format!("reason {name:?} is none of expired, released, taken, lost"))
    }

    fn need<T>(&self, field: &str, value: Option<T>) -> Result<T, String> {
        value.ok_or_else(|| format!("{} needs a field {field:?}", self.event))
    }

    fn text<'s>(&self, field: &str, value: &'s Option<Cow<str>>) -> Result<&'s str, String> {
        self.need(field, value.as_deref())
    }

    fn node(&self, nodes: &mut Nodes) -> Result<NodeId, String> {
        nodes.id(self.text("node", &self.node)?)
    }

    fn request(&self, nodes: &mut Nodes) -> Result<RequestId, String> {
        nodes.request(self.text("request", &self.request)?)
    }

    fn incarnation(&self, nodes: &mut Nodes) -> Result<Incarnation, String> {
        Ok(Incarnation { epoch: self.epoch.unwrap_or(0), node: self.node(nodes)?, term: self.term.unwrap_or(0) })
    }

    fn resource(&self) -> Result<Resource, String> {
        let name = self.text("resource", &self.resource)?;
        let known = Resource::ALL.into_iter().find(|r| r.name() == name);
        known.ok_or_else(|| format!("resource {name:?} is neither \"sequence\" nor \"schedule\""))
    }

    fn write(&self, nodes: &mut Nodes) -> Result<Write, String> {
        Ok(Write {
            resource: self.resource()?,
            term: self.term.unwrap_or(0),
            token: self.epoch.unwrap_or(0),
            seq: self.need("seq", self.seq)?,
            read_version: self.read.unwrap_or(UNKNOWN_VERSION),
            request: self.request.as_deref().map_or(Ok(UNKNOWN_REQUEST), |text| nodes.request(text))?,
        })
    }

    fn verdict(&self) -> Result<WriteVerdict, String> {
        Ok(match self.text("verdict", &self.verdict)? {
            "ok" => WriteVerdict::Ok,
            "duplicate" => WriteVerdict::Duplicate { seq: self.first.or(self.seq).unwrap_or(0) },
            "fenced" => WriteVerdict::Fenced { highest: self.highest.unwrap_or(0) },
            "failed" => WriteVerdict::Failed { expected: self.expected.unwrap_or(0) },
            other => return Err(format!("verdict {other:?} is none of ok, duplicate, fenced, failed")),
        })
    }

    fn outcome(&self) -> Result<Outcome, String> {
        Ok(match self.text("outcome", &self.outcome)? {
            "ok" => Outcome::Ok { epoch: self.epoch.unwrap_or(0), seq: self.need("seq", self.seq)? },
            "rejected" => Outcome::Rejected,
            "unknown" => Outcome::Unknown,
            other => return Err(format!("outcome {other:?} is none of ok, rejected, unknown")),
        })
    }

    fn reason(&self) -> Result<Deposed, String> {
        let name = self.text("reason", &self.reason)?;
        let known = [Deposed::Expired, Deposed::Lost, Deposed::Fenced, Deposed::Resigned];
        let found = known.into_iter().find(|r| r.name() == name);
        found.ok_or_else(|| format!("reason {name:?} is none of expired, lost, fenced, resigned"))
    }
}
