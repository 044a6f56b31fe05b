//! Kubernetes: the requests of `k8s-lease` to its API server, and the answers.
//!
//! The requests are those of client-go's lock on a Lease (kubernetes/client-go,
//! `tools/leaderelection/resourcelock/leaselock.go`): read, create, and replace *if it has not changed*, according to
//! the object's resourceVersion.

use super::{Members, Service};
use crate::{
    news::{Holder, News, Purpose},
    payload::{Nothing, Payload},
};

pub mod micro_time;

/// An API server. Its etcd is not visible.
pub const SERVICE: Service = Service {
    name: "kubernetes",
    process: Some("apiserver"),
    members: Members { most: 1, led: false, majority: true },
    port: 6443,
    elects: true,
    keeps_data: true,
    has_keys: true,
    tokens_end_with_key: true,
    is_asked: true,
    has_groups: true,
    ..Service::NONE
};

/// The types of the API server's requests and answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = Nothing;
    type Item = Nothing;
}

/// The namespace of the leases.
pub const NAMESPACE: &str = "default";

/// The election's record in a Lease (`LeaderElectionRecord`); times are microseconds since the Unix epoch by the
/// writer's clock.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Record {
    /// The leader, `<name>_<anything>`; empty if there is none.
    pub holder: String,
    /// How long others must see no change before they take the lease, *whole* seconds.
    pub duration_s: u32,
    /// When the holder acquired the lease.
    pub acquired_us: u64,
    /// When the holder last renewed the lease.
    pub renewed_us: u64,
    /// How often the holder has changed.
    pub transitions: u32,
}

impl Record {
    pub fn name(&self) -> Option<&str> {
        self.holder.rsplit_once('_').map(|(name, _)| name)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// `GET`; answered by [`Reply::Lease`] or [`Reply::NotFound`].
    Get { name: String },
    /// `POST`; answered by [`Reply::Lease`], or [`Reply::Conflict`] if the object exists.
    Create { name: String, record: Record },
    /// `PUT`; answered by [`Reply::Lease`], by [`Reply::Conflict`] if its version has changed, or by
    /// [`Reply::NotFound`].
    Update {
        name: String,
        /// Its resourceVersion as last read.
        version: String,
        /// The new record.
        record: Record,
    },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// The object's present state.
    Lease { record: Record, version: String },
    /// The object does not exist.
    NotFound,
    /// Another client was first.
    Conflict,
}

impl Payload for Request {
    fn purpose(&self) -> Purpose {
        match self {
            Request::Get { .. } => Purpose::Holder,
            Request::Create { .. } => Purpose::Candidacy,
            // An update renews a lease, takes one over, or releases one.
            Request::Update { record, .. } if record.holder.is_empty() => Purpose::Other,
            Request::Update { record, .. } if record.renewed_us > record.acquired_us => Purpose::Renewal,
            Request::Update { .. } => Purpose::Candidacy,
        }
    }
}

impl Payload for Reply {
    fn news(&self) -> News {
        let holder = |record: &Record| {
            record.name().map(|name| Holder { place: "the Lease".to_owned(), value: name.to_owned() })
        };
        match self {
            Reply::Lease { record, .. } => {
                let holder = holder(record);
                News { held: holder.is_some(), holder: Some(holder) }
            }
            Reply::NotFound => News { held: false, holder: Some(None) },
            Reply::Conflict => News { held: true, holder: None },
        }
    }
}
