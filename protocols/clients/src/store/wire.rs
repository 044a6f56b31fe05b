//! The store's protocol: one JSON object per line in both directions, over TCP or TLS, simple enough to type:
//!
//! ```text
//! → {"seal":{"resource":"sequence","node":"n1","generation":1,"token":7,"mac":"…"}}
//! ← {"sealed":{"resource":"sequence","node":"n1","generation":1,"token":7,"verdict":"ok","seq":41,"version":41}}
//! → {"write":{"resource":"sequence","node":"n1","generation":1,"token":7,"seq":42,"read_version":41,"request":"shop:9","mac":"…"}}
//! ← {"written":{"resource":"sequence","generation":1,"seq":42,"request":"shop:9","verdict":"ok"}}
//! ← {"written":{"resource":"sequence","generation":1,"seq":42,"request":"shop:9","verdict":{"fenced":{"highest":8}}}}
//! → {"state":{"resource":"sequence"}}
//! ← {"state":{"resource":"sequence","highest":7,"owner":{"node":"n1","generation":1},"seq":42,"version":42}}
//! ← {"refused":{"why":"one sentence"}}
//! ```
//!
//! A write may record something: `"payload":{"number":3,"at_us":1763769600000000}`, its ordinal among records of its
//! kind, and its time. The answer to a seal with `"payload":true` includes the last record. Older stores do not know
//! the field and refuse it, so stores must be upgraded before nodes.
//!
//! Requests of one connection are answered in order. A malformed line is refused, and the connection closed. A
//! connection that closes without an answer leaves the outcome unknown: retry under the same request.

use super::{NAME_MAX, is_name};
use protocols::{
    message::WriteVerdict,
    types::{Operation, Payload, Resource},
    work,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::borrow::Cow;

/// The longest line, bytes.
pub const LINE_MAX: usize = 4096;
/// The highest accepted token, sequence number and version: far below overflow.
pub const NUMBER_MAX: u64 = 1 << 62;
/// The highest number of a client's request; a database's integers are signed.
pub const REQUEST_MAX: u64 = i64::MAX as u64;

/// A request to a store.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Fences off everything older, then returns the state.
    Seal(Seal),
    Write(Write),
    /// Returns the state; changes nothing.
    State(StateOf),
}

/// The requester, and what authenticates it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Authority<'a> {
    pub node: &'a str,
    /// The leader's count of its leaderships.
    pub generation: u32,
    pub token: u64,
    /// The MAC over the whole request; see [`super::token`].
    pub mac: &'a str,
}

/// See [`protocols::message::Message::Seal`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    pub resource: Name,
    pub node: String,
    /// The node's count of its leaderships.
    #[serde(alias = "term")]
    pub generation: u32,
    /// Its fencing token; 0 if the protocol has none.
    pub token: u64,
    /// Whether the answer is to include the last recorded payload.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub payload: bool,
    /// Authenticates all other fields; optional if the store does not demand it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mac: String,
}

/// See [`protocols::message::Write`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    pub resource: Name,
    pub node: String,
    /// The node's count of its leaderships.
    #[serde(alias = "term")]
    pub generation: u32,
    /// Its fencing token; 0 if the protocol has none.
    pub token: u64,
    /// The position in the resource's sequence, from 1.
    pub seq: u64,
    /// The version that the write is based on.
    pub read_version: u64,
    /// `client:number`, the same on every retry.
    pub request: String,
    /// Every operation but recording concerns the plan with the payload's number.
    #[serde(default, skip_serializing_if = "Operation::only_records")]
    pub operation: Operation,
    /// The payload to record, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
    /// Authenticates all other fields; optional if the store does not demand it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mac: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateOf {
    pub resource: Name,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Reply {
    Sealed(Sealed),
    Written(Written),
    /// To a request for the state.
    State(State),
    /// Refused; nothing has changed.
    Refused {
        /// The reason, as one sentence.
        why: String,
    },
}

/// See [`protocols::message::Message::Sealed`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    pub resource: Name,
    /// The sealer.
    pub node: String,
    /// The sealer's leadership.
    #[serde(alias = "term")]
    pub generation: u32,
    /// The sealer's token.
    pub token: u64,
    /// `ok` or `fenced`.
    pub verdict: Verdict,
    pub seq: u64,
    pub version: u64,
    /// The last recorded payload, if the seal asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
}

/// See [`protocols::message::Message::Written`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    pub resource: Name,
    /// The writer's leadership.
    #[serde(alias = "term")]
    pub generation: u32,
    /// The requested sequence number.
    pub seq: u64,
    /// The request served by the write.
    pub request: String,
    /// The ledger's decision.
    pub verdict: Verdict,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    pub resource: Name,
    /// The highest accepted token; 0 before the first.
    pub highest: u64,
    /// The owner of that token.
    pub owner: Option<Owner>,
    pub seq: u64,
    /// The number of writes applied, plus those that used up their number without being applied.
    pub version: u64,
    /// Its plans; absent if it never had any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plans: Option<Plans>,
}

/// A resource's plans; see [`protocols::fence::plans`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plans {
    /// The numbers of the existing plans, in order of creation.
    pub made: Vec<u64>,
    /// The number of the plan last enacted, whether or not it still exists.
    pub live: Option<u64>,
}

/// The owner of the highest token.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    pub node: String,
    #[serde(alias = "term")]
    pub generation: u32,
}

/// See [`WriteVerdict`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Verdict {
    Ok,
    Duplicate { seq: u64 },
    Fenced { highest: u64 },
    Failed { expected: u64 },
}

impl Verdict {
    /// Its name in metrics and spans.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Duplicate { .. } => "duplicate",
            Verdict::Fenced { .. } => "fenced",
            Verdict::Failed { .. } => "failed",
        }
    }
}

/// A [`Resource`] by its name; see [`RESOURCES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name(Resource);

/// The resources that a store has ledgers for, by [`Resource`]: those of this build's works, in the order of
/// [`work::ALL`].
pub const RESOURCES: [&str; work::RESOURCES] = work::resources();

pub fn resources() -> impl DoubleEndedIterator<Item = Resource> {
    (0..RESOURCES.len()).map(|place| Resource(place as u16))
}

/// A resource's name; empty for one that the store does not have.
pub fn name(resource: Resource) -> &'static str {
    RESOURCES.get(resource.index()).copied().unwrap_or_default()
}

/// The resource called `name`.
pub fn find(name: &str) -> Option<Resource> {
    resources().zip(RESOURCES).find(|(_, known)| *known == name).map(|(resource, _)| resource)
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(name(self.0))
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        find(&text).map(Name).ok_or_else(|| D::Error::unknown_variant(&text, &RESOURCES))
    }
}

impl From<Name> for Resource {
    fn from(name: Name) -> Resource {
        name.0
    }
}

impl From<Resource> for Name {
    fn from(resource: Resource) -> Name {
        Name(resource)
    }
}

impl From<Verdict> for WriteVerdict {
    fn from(verdict: Verdict) -> WriteVerdict {
        match verdict {
            Verdict::Ok => WriteVerdict::Ok,
            Verdict::Duplicate { seq } => WriteVerdict::Duplicate { seq },
            Verdict::Fenced { highest } => WriteVerdict::Fenced { highest },
            Verdict::Failed { expected } => WriteVerdict::Failed { expected },
        }
    }
}

impl From<WriteVerdict> for Verdict {
    fn from(verdict: WriteVerdict) -> Verdict {
        match verdict {
            WriteVerdict::Ok => Verdict::Ok,
            WriteVerdict::Duplicate { seq } => Verdict::Duplicate { seq },
            WriteVerdict::Fenced { highest } => Verdict::Fenced { highest },
            WriteVerdict::Failed { expected } => Verdict::Failed { expected },
        }
    }
}

impl Request {
    pub fn resource(&self) -> Resource {
        match self {
            Request::Seal(seal) => seal.resource.into(),
            Request::Write(write) => write.resource.into(),
            Request::State(state) => state.resource.into(),
        }
    }

    /// The request's authority; `None` if it needs none.
    pub fn authority(&self) -> Option<Authority<'_>> {
        match self {
            Request::Seal(Seal { node, generation, token, mac, .. })
            | Request::Write(Write { node, generation, token, mac, .. }) => {
                Some(Authority { node, generation: *generation, token: *token, mac })
            }
            Request::State(_) => None,
        }
    }

    fn check(&self) -> Result<(), String> {
        if let Some(Authority { node, token, .. }) = self.authority() {
            if !is_name(node) {
                return Err(format!("a node's name is 1 to {NAME_MAX} letters, digits, '-', '_' and '.'"));
            }
            within("token", token, NUMBER_MAX)?;
        }
        if let Request::Write(write) = self {
            within("seq", write.seq, NUMBER_MAX)?;
            within("read_version", write.read_version, NUMBER_MAX)?;
            if let Some(Payload { number, at_us }) = write.payload {
                within("payload.number", number.get(), NUMBER_MAX)?;
                within("payload.at_us", at_us, NUMBER_MAX)?;
            }
            if !write.operation.only_records() && write.payload.is_none() {
                let operation = write.operation.name();
                return Err(format!("to {operation}, a write names a plan: its payload's number"));
            }
            if write.seq == 0 {
                return Err("seq counts from 1".to_owned());
            }
            if request_id(&write.request).is_none() {
                let form = "a request is client:number, such as \"shop:17\", its number at most 2^63 - 1";
                return Err(form.to_owned());
            }
        }
        Ok(())
    }
}

fn within(field: &str, value: u64, max: u64) -> Result<(), String> {
    if value > max { Err(format!("{field} is above {max}")) } else { Ok(()) }
}

/// Client and number of a request `client:number`; `None` if it has another form.
pub fn request_id(text: &str) -> Option<(&str, u64)> {
    let (client, number) = text.rsplit_once(':')?;
    // Digits only, so that a request has a single spelling.
    let plain = number.bytes().all(|b| b.is_ascii_digit()) && (number == "0" || !number.starts_with('0'));
    let number = number.parse().ok().filter(|n| *n <= REQUEST_MAX)?;
    (plain && is_name(client)).then_some((client, number))
}

/// Why a line is not a valid request, in one sentence that contains no secrets.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoRequest(pub String);

/// Reads a request, or says what is wrong with the line.
pub fn parse(line: &str) -> Result<Request, NoRequest> {
    let request: Request = serde_json::from_str(line).map_err(|e| {
        // A syntax error's own text can quote the line, MAC included, so only its position is reported.
        let what = if e.is_data() { "does not have the fields of a request" } else { "is not a JSON object" };
        NoRequest(format!("the line {what} (column {})", e.column()))
    })?;
    request.check().map_err(NoRequest).map(|()| request)
}

/// A request or reply as a line, without the line end.
pub fn line(of: &impl Serialize) -> String {
    // These types always serialise.
    serde_json::to_string(of).unwrap_or_default()
}

#[cfg(test)]
mod tests;
