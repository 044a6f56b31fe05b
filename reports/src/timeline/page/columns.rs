//! The many events of a history, a column for each field: every value as the difference to its nearest relative, in LEB128,
//! and all of it deflated. What is rare stays a JSON line. `page/decode.js` reads it.

use data_encoding::BASE64;
use flate2::{Compression, write::DeflateEncoder};
use protocols::{
    history::{Event, Kind, Outcome, UNKNOWN_REQUEST, UNKNOWN_VERSION},
    message::{Write, WriteVerdict},
    types::{NodeId, RequestId},
};
use serde::Serialize;
use std::{collections::BTreeMap, io::Write as _};

/// The columns, in the order in which they are stored. `kind` says which of the others an event has a value in.
pub(super) const NAMES: [&str; 20] = [
    "kind",
    "t",
    "client",
    "number",
    "outcome",
    "token",
    "reply",
    "node",
    "incarnation",
    "resource",
    "operation",
    "seq",
    "read",
    "version",
    "verdict",
    "detail",
    "payload",
    "at",
    "rare",
    "line",
];

/// What the column `kind` holds.
pub(super) mod kind {
    pub(in super::super) const INVOKE: u64 = 0;
    pub(in super::super) const REPLY: u64 = 1;
    pub(in super::super) const ISSUE: u64 = 2;
    pub(in super::super) const APPLY: u64 = 3;
    pub(in super::super) const READ_INVOKE: u64 = 4;
    pub(in super::super) const READ_REPLY: u64 = 5;
    pub(in super::super) const RARE: u64 = 6;
}

/// Columns that grow while the history streams by.
#[derive(Debug, Default)]
pub(super) struct Columns {
    bytes: [Vec<u8>; NAMES.len()],
    /// The last value of each column, and for some columns the last of each relative.
    last: BTreeMap<(usize, u64), u64>,
    /// Events with a number that JavaScript does not count exactly, by their place, as they stand in the history.
    exact: BTreeMap<u64, String>,
    count: u64,
}

/// JavaScript counts exactly up to here.
const EXACT_MAX: u64 = 1 << 53;

/// Has it a number that is larger? Times are not.
fn is_large(kind: &Kind) -> bool {
    let known = |value: u64| value > EXACT_MAX && value != UNKNOWN_VERSION;
    let outcome = |outcome: &Outcome| matches!(*outcome, Outcome::Ok { token, seq } if known(token) || known(seq));
    let write = |write: &Write| [write.token, write.seq, write.number, write.read_version].into_iter().any(known);
    match kind {
        Kind::Invoke { request } | Kind::ReadInvoke { request } => known(request.number),
        Kind::Reply { outcome: one, .. } | Kind::ReadReply { outcome: one, .. } => outcome(one),
        Kind::Issue { write: one, .. } => write(one),
        Kind::Apply { write: one, verdict, version, .. } => {
            let detail = match verdict {
                WriteVerdict::Ok => 0,
                WriteVerdict::Duplicate { seq } => *seq,
                WriteVerdict::Fenced { highest } => *highest,
                WriteVerdict::Failed { expected } => *expected,
            };
            write(one) || known(*version) || known(detail)
        }
        _ => false,
    }
}

/// What the page is told of them.
#[derive(Debug, Serialize)]
pub(super) struct Packed {
    /// How many events there are.
    pub(super) n: u64,
    /// How many bytes each column has, in the order of [`NAMES`].
    pub(super) columns: Vec<usize>,
    pub(super) names: [&'static str; NAMES.len()],
    /// Lines of the events whose numbers are too large to be counted exactly, by their places.
    pub(super) exact: BTreeMap<u64, String>,
    /// Deflated, in Base64.
    #[serde(skip)]
    pub(super) data: String,
}

/// The column of that name.
fn column(name: &str) -> usize {
    NAMES.iter().position(|known| *known == name).unwrap_or_default()
}

impl Columns {
    /// Adds an event. `incarnation` numbers leaderships; `line` makes the line of one that has no columns, or too large numbers.
    pub(super) fn add(
        &mut self,
        event: &Event,
        mut incarnation: impl FnMut(NodeId, &Write) -> usize,
        line: impl FnOnce() -> String,
    ) {
        self.count += 1;
        let kind = match &event.kind {
            Kind::Invoke { .. } => kind::INVOKE,
            Kind::Reply { .. } => kind::REPLY,
            Kind::Issue { .. } => kind::ISSUE,
            Kind::Apply { .. } => kind::APPLY,
            Kind::ReadInvoke { .. } => kind::READ_INVOKE,
            Kind::ReadReply { .. } => kind::READ_REPLY,
            _ => kind::RARE,
        };
        self.plain("kind", kind);
        self.difference("t", 0, event.t_us);
        match &event.kind {
            Kind::Invoke { request } | Kind::ReadInvoke { request } => self.request(kind, *request),
            Kind::Reply { request, outcome } => {
                self.request(kind, *request);
                self.outcome(*outcome);
            }
            Kind::ReadReply { request, node, outcome } => {
                self.request(kind, *request);
                self.plain("node", u64::from(node.0));
                self.outcome(*outcome);
            }
            Kind::Issue { node, write } => self.write(kind, incarnation(*node, write), write),
            Kind::Apply { node, write, verdict, version } => {
                self.write(kind, incarnation(*node, write), write);
                self.difference("version", u64::from(write.resource.0), *version);
                let (place, detail) = match verdict {
                    WriteVerdict::Ok => (0, 0),
                    WriteVerdict::Duplicate { seq } => (1, *seq),
                    WriteVerdict::Fenced { highest } => (2, *highest),
                    WriteVerdict::Failed { expected } => (3, *expected),
                };
                self.plain("verdict", place);
                if place > 0 {
                    self.difference("detail", place, detail);
                }
            }
            _ => {
                let line = line();
                self.plain("rare", line.len() as u64);
                self.bytes[column("line")].extend_from_slice(line.as_bytes());
                return;
            }
        }
        if is_large(&event.kind) {
            self.exact.insert(self.count - 1, line());
        }
    }

    fn request(&mut self, kind: u64, request: RequestId) {
        let client = if request == UNKNOWN_REQUEST { 0 } else { u64::from(request.client.0) + 1 };
        self.plain("client", client);
        if client > 0 {
            self.difference("number", kind << 16 | client, request.number);
        }
    }

    fn outcome(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Ok { token, seq } => {
                self.plain("outcome", 0);
                self.difference("token", 0, token);
                self.difference("reply", 0, seq);
            }
            Outcome::Unknown => self.plain("outcome", 1),
            Outcome::Rejected => self.plain("outcome", 2),
        }
    }

    fn write(&mut self, kind: u64, incarnation: usize, write: &Write) {
        let relative = (kind << 24 | incarnation as u64) << 16 | u64::from(write.resource.0);
        self.request(kind, write.request());
        self.plain("incarnation", incarnation as u64);
        self.plain("resource", u64::from(write.resource.0));
        self.plain("operation", write.operation as u64);
        self.difference("seq", relative, write.seq);
        self.difference("read", relative, write.read_version);
        self.plain("payload", write.payload.map_or(0, |payload| payload.number.get()));
        if let Some(payload) = write.payload {
            self.difference("at", 0, payload.at_us);
        }
    }

    /// LEB128: seven bits a byte, the lowest first.
    fn plain(&mut self, name: &str, mut value: u64) {
        let bytes = &mut self.bytes[column(name)];
        while value > 127 {
            bytes.push(value as u8 & 127 | 128);
            value >>= 7;
        }
        bytes.push(value as u8);
    }

    /// The difference to the last value of the same relative, in zigzag: small in either direction is small. What is
    /// unknown is -1.
    fn difference(&mut self, name: &str, relative: u64, value: u64) {
        const { assert!(UNKNOWN_VERSION as i64 == -1, "what is unknown is a small number") };
        let last = self.last.insert((column(name), relative), value).unwrap_or(0);
        let difference = value.wrapping_sub(last) as i64;
        self.plain(name, ((difference << 1) ^ (difference >> 63)) as u64);
    }

    /// All columns, ready for the page.
    pub(super) fn pack(self) -> Packed {
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::best());
        let written: std::io::Result<Vec<u8>> =
            self.bytes.iter().try_for_each(|bytes| deflate.write_all(bytes)).and_then(|()| deflate.finish());
        // Writing to memory cannot fail.
        let data = BASE64.encode(&written.unwrap_or_default());
        Packed {
            n: self.count,
            columns: self.bytes.iter().map(Vec::len).collect(),
            names: NAMES,
            exact: self.exact,
            data,
        }
    }
}

#[cfg(test)]
mod tests;
