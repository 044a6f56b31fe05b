//! Kubernetes: what `k8s-lease` asks of its API server, and what it answers.
//!
//! The requests are those of client-go's lock on a Lease (kubernetes/client-go, `tools/leaderelection/resourcelock/leaselock.go`):
//! read, create, and replace *if nobody has written since*, which the object's resourceVersion tells.

use super::{Members, Service};
use crate::{
    news::{Holder, News, Purpose},
    payload::{Nothing, Payload},
};

pub mod micro_time;

/// An API server. It keeps its objects in an etcd, which is not seen.
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

/// What is said to the API server and by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = Nothing;
    type Item = Nothing;
}

/// The namespace that leases are in.
pub const NAMESPACE: &str = "default";

/// What a Lease says of an election (`LeaderElectionRecord`); microseconds are those of the Unix epoch by the clock of whoever
/// wrote them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Record {
    /// Who leads, `<name>_<anything>`; empty when nobody does.
    pub holder: String,
    /// How long others have to wait for a change, *whole* seconds.
    pub duration_s: u32,
    /// When the holder came to lead.
    pub acquired_us: u64,
    /// When it said so last.
    pub renewed_us: u64,
    /// How often another came to lead.
    pub transitions: u32,
}

impl Record {
    /// The holder's name.
    pub fn name(&self) -> Option<&str> {
        self.holder.rsplit_once('_').map(|(name, _)| name)
    }
}

/// A request to the API server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// `GET`; answered by [`Reply::Lease`] or [`Reply::NotFound`].
    Get {
        /// The object's name.
        name: String,
    },
    /// `POST`; answered by [`Reply::Lease`], or [`Reply::Conflict`] when there is one.
    Create {
        /// The object's name.
        name: String,
        /// What it says.
        record: Record,
    },
    /// `PUT`; answered by [`Reply::Lease`], by [`Reply::Conflict`] when its version is another, or [`Reply::NotFound`].
    Update {
        /// The object's name.
        name: String,
        /// Its resourceVersion as it was read.
        version: String,
        /// What it is to say.
        record: Record,
    },
}

/// What the API server answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// The object as it is now.
    Lease {
        /// What it says.
        record: Record,
        /// Its resourceVersion.
        version: String,
    },
    /// There is none.
    NotFound,
    /// Somebody else was first.
    Conflict,
}

impl Payload for Request {
    fn purpose(&self) -> Purpose {
        match self {
            Request::Get { .. } => Purpose::Holder,
            Request::Create { .. } => Purpose::Candidacy,
            // It renews a lease, takes one over, or gives one back.
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
