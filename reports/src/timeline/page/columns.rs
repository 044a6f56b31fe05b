//! The many events of a history, one column per field: every value as the difference from a related earlier value, in
//! LEB128, all of it deflated. Rare events remain JSON lines. `page/decode.js` reads it.

use data_encoding::BASE64;
use flate2::{Compression, write::DeflateEncoder};
use protocols::{
    history::{Event, Kind, Outcome, UNKNOWN_REQUEST, UNKNOWN_VERSION},
    message::{Write, WriteVerdict},
    types::{NodeId, RequestId},
};
use serde::Serialize;
use std::{collections::BTreeMap, io::Write as _};

/// The columns, in the order in which they are stored. `kind` determines in which others an event has a value.
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

/// The values of the column `kind`.
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
    /// The last value of each column and key; most columns have only one key.
    last: BTreeMap<(usize, u64), u64>,
    /// Events with a number that JavaScript cannot represent exactly, by index, as lines of the history.
    exact: BTreeMap<u64, String>,
    count: u64,
}

/// JavaScript represents integers exactly up to here.
const EXACT_MAX: u64 = 1 << 53;

/// Does it have a larger number? Times never are.
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

/// The packed columns, as the page gets them.
#[derive(Debug, Serialize)]
pub(super) struct Packed {
    /// The number of events.
    pub(super) n: u64,
    /// The number of bytes of each column, in the order of [`NAMES`].
    pub(super) columns: Vec<usize>,
    pub(super) names: [&'static str; NAMES.len()],
    /// The lines of events whose numbers are too large to be exact, by index.
    pub(super) exact: BTreeMap<u64, String>,
    /// Deflated, in Base64.
    #[serde(skip)]
    pub(super) data: String,
}

/// The index of a column.
fn column(name: &str) -> usize {
    NAMES.iter().position(|known| *known == name).unwrap_or_default()
}

impl Columns {
    /// Adds an event. `incarnation` numbers leaderships; `line` writes an event without columns, or with too large
    /// numbers.
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

    /// LEB128: seven bits per byte, the lowest first.
    fn plain(&mut self, name: &str, mut value: u64) {
        let bytes = &mut self.bytes[column(name)];
        while value > 127 {
            bytes.push(value as u8 & 127 | 128);
            value >>= 7;
        }
        bytes.push(value as u8);
    }

    /// The difference from the last value with the same key, in zigzag, so that small differences of either sign stay
    /// small. An unknown value counts as -1.
    fn difference(&mut self, name: &str, relative: u64, value: u64) {
        const { assert!(UNKNOWN_VERSION as i64 == -1, "what is unknown is a small number") };
        let last = self.last.insert((column(name), relative), value).unwrap_or(0);
        let difference = value.wrapping_sub(last) as i64;
        self.plain(name, ((difference << 1) ^ (difference >> 63)) as u64);
    }

    /// All columns, packed for the page.
    pub(super) fn pack(self) -> Packed {
        // The best compression takes several times as long, for a page that is hardly smaller.
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::default());
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
