//! An object store: what `object-lease` asks of it, and what it answers.
//!
//! One object, read and replaced under a condition, which S3 has had since 2024 (If-None-Match: * and If-Match on PutObject),
//! and others for longer. An entity tag is of the content: two objects that hold the same have the same.

use super::Service;
use crate::{
    news::{Holder, News, Purpose},
    payload::{Nothing, Payload},
};

/// The store, as one process.
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

/// What is said to the store and by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = Nothing;
    type Item = Nothing;
}

/// The bucket that leases are in.
pub const BUCKET: &str = "fencepost";

/// What the object says: no content ever comes twice, as its holder counts.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Lease {
    /// Who leads, `<name>/<anything>`; empty when nobody does.
    pub holder: String,
    /// The fencing token: one more with each that takes it.
    pub token: u64,
    /// Others wait so long for a change, milliseconds.
    pub ttl_ms: u64,
    /// How often the holder has written it.
    pub beat: u64,
}

/// Under which condition an object is replaced.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// There is none.
    Absent,
    /// Its entity tag is this one.
    Tag(String),
}

/// A request to the store.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// `GET`; answered by [`Reply::Object`] or [`Reply::Missing`].
    Get {
        /// The object's name.
        key: String,
    },
    /// `PUT`; answered by [`Reply::Stored`] or [`Reply::Refused`].
    Put {
        /// The object's name.
        key: String,
        /// Its content.
        lease: Lease,
        /// If.
        condition: Condition,
    },
}

/// What the store answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// An object, and its entity tag.
    Object(Lease, String),
    /// There is none.
    Missing,
    /// It was written, and has this entity tag.
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
