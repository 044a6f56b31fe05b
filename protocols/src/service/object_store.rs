//! An object store: the requests of `object-lease`, and the answers.
//!
//! One object, read and replaced under a condition, which S3 has supported since 2024 (If-None-Match: * and If-Match on
//! PutObject), and others for longer. An entity tag depends on the content only: objects with equal content have equal
//! tags.

use super::Service;
use crate::{
    news::{Holder, News, Purpose},
    payload::{Nothing, Payload},
};

/// The store, as a single process.
pub const SERVICE: Service = Service {
    name: "object-store",
    process: Some("objects"),
    port: 9000,
    elects: true,
    keeps_data: true,
    has_keys: true,
    tokens_end_with_key: true,
    is_asked: true,
    has_groups: true,
    ..Service::NONE
};

/// The types of the store's requests and answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = Nothing;
    type Item = Nothing;
}

/// The bucket of the leases.
pub const BUCKET: &str = "fencepost";

/// The object's content, which never repeats, since its holder counts.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Lease {
    /// The leader, `<name>/<anything>`; empty if there is none.
    pub holder: String,
    /// The fencing token, incremented with each change of holder.
    pub token: u64,
    /// How long others must see no change before they take the lease, milliseconds.
    pub ttl_ms: u64,
    /// How often the holder has written it.
    pub beat: u64,
}

/// The condition for replacing an object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// The object does not exist.
    Absent,
    /// The object has this entity tag.
    Tag(String),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// `GET`; answered by [`Reply::Object`] or [`Reply::Missing`].
    Get { key: String },
    /// `PUT`; answered by [`Reply::Stored`] or [`Reply::Refused`].
    Put { key: String, lease: Lease, condition: Condition },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// The object and its entity tag.
    Object(Lease, String),
    /// The object does not exist.
    Missing,
    /// It was written; its new entity tag.
    Stored(String),
    /// The condition did not hold.
    Refused,
}

impl Payload for Request {
    fn purpose(&self) -> Purpose {
        match self {
            Request::Get { .. } => Purpose::Holder,
            Request::Put { lease, .. } if lease.holder.is_empty() => Purpose::Other,
            Request::Put { lease: Lease { beat: 0, .. }, .. } => Purpose::Candidacy,
            Request::Put { .. } => Purpose::Renewal,
        }
    }
}

impl Payload for Reply {
    fn news(&self) -> News {
        match self {
            Reply::Object(lease, _) => {
                let value = Some(&lease.holder).filter(|holder| !holder.is_empty()).cloned();
                let holder = value.map(|value| Holder { place: "the lease's object".to_owned(), value });
                News { held: holder.is_some(), holder: Some(holder) }
            }
            Reply::Missing => News { held: false, holder: Some(None) },
            Reply::Stored(_) => News::default(),
            Reply::Refused => News { held: true, holder: None },
        }
    }
}
