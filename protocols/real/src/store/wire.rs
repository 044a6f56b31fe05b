//! What the store speaks: one JSON object a line, both ways, over TCP or TLS. Anybody can type it:
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
//! A write may record something: `"payload":{"number":3,"at_us":1763769600000000}`, its ordinal among records of its kind, and its time. A
//! seal that asks for it with `"payload":true` is also told what was recorded last. A store of before that does not know
//! the field, and refuses it: stores are brought up to date before nodes.
//!
//! Requests of one connection are answered in their order. A line that is no request is refused, and the connection
//! closed. A connection that is closed without an answer leaves the outcome unknown: ask again, under the same request.

use crate::directory::{NAME_MAX, is_name};
use protocols::{
    message::WriteVerdict,
    types::{Operation, Payload, Resource},
    work,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::borrow::Cow;

/// Longest line, bytes.
pub const LINE_MAX: usize = 4096;
/// Highest token, sequence number and version that is taken: far from where numbers overflow.
pub const NUMBER_MAX: u64 = 1 << 62;
/// Highest number of a client's request; a database's integers have a sign.
pub const REQUEST_MAX: u64 = i64::MAX as u64;

/// What may be asked of a store.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Fence off everything older, then tell the state.
    Seal(Seal),
    /// One protected write.
    Write(Write),
    /// Tell the state; changes nothing.
    State(StateOf),
}

/// Who asks, and on what authority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Authority<'a> {
    /// The leader's name.
    pub node: &'a str,
    /// Its leadership count.
    pub generation: u32,
    /// Its fencing token.
    pub token: u64,
    /// What vouches for the three.
    pub mac: &'a str,
}

/// See [`protocols::message::Message::Seal`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// What to seal.
    pub resource: Name,
    /// The sealer.
    pub node: String,
    /// Its leadership count.
    #[serde(alias = "term")]
    pub generation: u32,
    /// Its fencing token; 0 when the protocol has none.
    pub token: u64,
    /// Is the answer to say what was recorded last?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub payload: bool,
    /// Vouches for node, generation and token; may be missing when the store does not ask for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mac: String,
}

/// See [`protocols::message::Write`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// What is written.
    pub resource: Name,
    /// The writer.
    pub node: String,
    /// Its leadership count.
    #[serde(alias = "term")]
    pub generation: u32,
    /// Its fencing token; 0 when the protocol has none.
    pub token: u64,
    /// Position in the resource's sequence, from 1.
    pub seq: u64,
    /// The version that this write was built on.
    pub read_version: u64,
    /// `client:number`, the same on every retry.
    pub request: String,
    /// What is done. All but to record is about the plan of the payload's number.
    #[serde(default, skip_serializing_if = "Operation::only_records")]
    pub operation: Operation,
    /// What is recorded, if anything is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
    /// Vouches for node, generation and token; may be missing when the store does not ask for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mac: String,
}

/// Which state to tell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateOf {
    /// Of what.
    pub resource: Name,
}

/// What a store answers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Reply {
    /// To a seal.
    Sealed(Sealed),
    /// To a write.
    Written(Written),
    /// To a question for the state.
    State(State),
    /// Not done, and nothing has changed.
    Refused {
        /// One sentence.
        why: String,
    },
}

/// See [`protocols::message::Message::Sealed`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    /// What was to be sealed.
    pub resource: Name,
    /// By whom.
    pub node: String,
    /// In which leadership.
    #[serde(alias = "term")]
    pub generation: u32,
    /// With which token.
    pub token: u64,
    /// `ok`, or `fenced`.
    pub verdict: Verdict,
    /// The last sequence number.
    pub seq: u64,
    /// The current version.
    pub version: u64,
    /// What was recorded last, if the seal asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
}

/// See [`protocols::message::Message::Written`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// What was written.
    pub resource: Name,
    /// In which leadership.
    #[serde(alias = "term")]
    pub generation: u32,
    /// The sequence number that was asked for.
    pub seq: u64,
    /// The request that the write served.
    pub request: String,
    /// What the ledger made of it.
    pub verdict: Verdict,
}

/// A resource's state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Whose state.
    pub resource: Name,
    /// The highest token that was accepted; 0 before the first.
    pub highest: u64,
    /// Whose token that is.
    pub owner: Option<Owner>,
    /// The last sequence number.
    pub seq: u64,
    /// How many writes have been applied or have burnt their number.
    pub version: u64,
    /// Its plans; missing when it never had any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plans: Option<Plans>,
}

/// Which plans there are; see [`protocols::fence::plans`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plans {
    /// Numbers of those that exist, in the order in which they were made.
    pub made: Vec<u64>,
    /// The number of the one that was made live last, whether it still exists or not.
    pub live: Option<u64>,
}

/// Whose token is the highest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// The node.
    pub node: String,
    /// Its leadership count.
    #[serde(alias = "term")]
    pub generation: u32,
}

/// See [`WriteVerdict`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the same as WriteVerdict's")]
pub enum Verdict {
    Ok,
    Duplicate { seq: u64 },
    Fenced { highest: u64 },
    Failed { expected: u64 },
}

impl Verdict {
    /// Its name, as metrics and spans have it.
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

/// What a store has ledgers for, by [`Resource`]: whatever the works of this build write to, in the order of
/// [`work::ALL`].
pub const RESOURCES: [&str; work::RESOURCES] = work::resources();

/// Each of [`RESOURCES`].
pub fn resources() -> impl DoubleEndedIterator<Item = Resource> {
    (0..RESOURCES.len()).map(|place| Resource(place as u16))
}

/// A resource's name; empty for one that a store does not have.
pub fn name(resource: Resource) -> &'static str {
    RESOURCES.get(resource.index()).copied().unwrap_or_default()
}

/// The resource of that name.
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
    /// Which resource it is about.
    pub fn resource(&self) -> Resource {
        match self {
            Request::Seal(seal) => seal.resource.into(),
            Request::Write(write) => write.resource.into(),
            Request::State(state) => state.resource.into(),
        }
    }

    /// On whose authority; `None` when it needs none.
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

/// Client and number of a request `client:number`; `None` when it is none.
pub fn request_id(text: &str) -> Option<(&str, u64)> {
    let (client, number) = text.rsplit_once(':')?;
    // Digits only: the same request must always read the same.
    let plain = number.bytes().all(|b| b.is_ascii_digit()) && (number == "0" || !number.starts_with('0'));
    let number = number.parse().ok().filter(|n| *n <= REQUEST_MAX)?;
    (plain && is_name(client)).then_some((client, number))
}

/// What is wrong with a line that is no request: one sentence that repeats nothing secret.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoRequest(pub String);

/// Reads a request, or says what is wrong with the line.
pub fn parse(line: &str) -> Result<Request, NoRequest> {
    let request: Request = serde_json::from_str(line).map_err(|e| {
        // A syntax error's own words can quote the line, and with it a MAC; only its place is told.
        let what = if e.is_data() { "does not have the fields of a request" } else { "is not a JSON object" };
        NoRequest(format!("the line {what} (column {})", e.column()))
    })?;
    request.check().map_err(NoRequest).map(|()| request)
}

/// A request or reply as its line, without the end of the line.
pub fn line(of: &impl Serialize) -> String {
    // These types have nothing that JSON cannot say.
    serde_json::to_string(of).unwrap_or_default()
}

#[cfg(test)]
mod tests;
