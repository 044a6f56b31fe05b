//! etcd: the requests of `etcd-election` and `etcd-key`, and the answers.
//!
//! The transactions are those of etcd's own client library (etcd-io/etcd, `client/v3/concurrency/election.go` and
//! `key.go`: `Campaign`, `Proclaim`, `Resign`, `Leader`, `waitDeletes`). Create revisions guard everything, so a late
//! or repeated request does nothing. `HandOver` is our own; the library has no successors.

use super::{Members, Service};
use crate::{
    bug::{Bug, Shown},
    news::{Holder, News, Purpose},
    payload::Payload,
    types::{MILLISECOND, SECOND},
};

pub const SERVICE: Service = Service {
    name: "etcd",
    process: Some("etcd"),
    members: Members { most: 5, led: true, majority: true },
    // A patience of up to 2 s, perhaps twice, and the rounds of votes.
    failover_max: 5 * SECOND,
    // client/v3/lease.go: sendKeepAliveLoop.
    renewal_tick: 500 * MILLISECOND,
    port: 2379,
    elects: true,
    keeps_data: true,
    has_leases: true,
    has_keys: true,
    is_asked: true,
    is_watched: true,
    has_groups: true,
    ..Service::NONE
};

/// A bug of etcd's members before 3.4.31 and 3.5.13.
pub const STALE_REVOCATION: Bug = Bug {
    id: "etcd-stale-revocation",
    protocols: &["etcd-election", "etcd-key"],
    what: "A member that led until it stalled revokes leases that its successor has renewed.",
    source: "etcd-io/etcd#15247; fixed in 3.4.31 and 3.5.13",
    violation: "metrics.elections",
    shown: Shown::by("service-leader-stall", "etcd-election", 8).above(1),
};

/// A bug of etcd's lessor in 3.5.0-pre, until pull request 12292.
pub const EXPIRES_BY_WALL_CLOCK: Bug = Bug {
    id: "etcd-expires-by-wall-clock",
    protocols: &["etcd-election", "etcd-key"],
    what: "Leases end by the server's wall clock: one that is set forward ends all of them, and one that is set back keeps them.",
    source: "etcd-io/etcd issue 12291, fixed by pull request 12292 in 3.5",
    violation: "metrics.elections",
    shown: Shown::by("clock-jump", "etcd-election", 4).above(1),
};

/// The types of etcd's requests and answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = StreamRequest;
    type Item = Item;
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// A new lease; answered by [`Reply::Granted`].
    Grant {
        /// TTL, seconds. The server has a minimum of its own (2 s by default).
        ttl_s: i64,
    },
    /// Ends a lease and deletes its keys in one revision; answered by [`Reply::Revoked`].
    Revoke { lease: i64 },
    /// Creates a key unless it exists, and otherwise reads it; answered by [`Reply::Created`]. Safe to repeat.
    CreateKey {
        key: String,
        value: String,
        /// The lease that it is attached to.
        lease: i64,
    },
    /// Changes the value of the key with that create revision; answered by [`Reply::Proclaimed`].
    Proclaim {
        key: String,
        value: String,
        /// The lease that it is attached to.
        lease: i64,
        /// The required create revision.
        create_revision: i64,
    },
    /// Deletes the key with that create revision, but not a later one of the same name; answered by [`Reply::Deleted`].
    DeleteKey {
        key: String,
        /// The required create revision.
        create_revision: i64,
    },
    /// Deletes the key, whoever created it; answered by [`Reply::Deleted`].
    DeleteAnyKey { key: String },
    /// The key with the highest create revision up to a bound: the predecessor in the queue. Answered by
    /// [`Reply::Found`].
    Predecessor {
        /// Prefix of the queue's keys.
        prefix: String,
        /// Bound, inclusive; at least 1.
        max_create_revision: i64,
    },
    /// The key with the lowest create revision: the leader's. Answered by [`Reply::Found`].
    First {
        /// Prefix of the queue's keys.
        prefix: String,
    },
    /// All keys, by create revision; answered by [`Reply::Queue`].
    Queue {
        /// Prefix of the queue's keys.
        prefix: String,
    },
    /// Deletes the sender's own key and those between it and the successor's, all in one revision, if each of them and
    /// the successor's has the given create revision; answered by [`Reply::HandedOver`].
    HandOver {
        /// The sender's own key.
        key: String,
        /// Its required create revision.
        create_revision: i64,
        /// The successor's key, which stays, and its required create revision.
        heir: (Vec<u8>, i64),
        /// The keys in between, with their required create revisions.
        passed_over: Vec<(Vec<u8>, i64)>,
    },
    /// One key; answered by [`Reply::Found`].
    GetKey { key: String },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// A new lease.
    Granted {
        lease: i64,
        /// The granted TTL, seconds.
        ttl_s: i64,
    },
    /// The lease has ended.
    Revoked,
    /// The key exists.
    Created {
        /// Whether this request created it. Otherwise it existed.
        created: bool,
        /// The key's create revision: the transaction's own if it created the key.
        create_revision: i64,
        value: String,
        /// The lease that it is attached to.
        lease: i64,
        /// The store's revision at the time of the answer.
        revision: i64,
    },
    /// The value was changed, unless the guard failed.
    Proclaimed {
        /// Whether the guard held.
        done: bool,
    },
    /// The key does not exist any more.
    Deleted {
        /// Whether the guard held.
        done: bool,
    },
    /// The successor is first, unless a guard failed.
    HandedOver {
        /// Whether all guards held.
        done: bool,
    },
    /// A queue's keys, oldest first.
    Queue { keys: Vec<KeyState> },
    /// The requested key, if it exists.
    Found {
        key: Option<KeyState>,
        /// The store's revision at the time of the answer.
        revision: i64,
    },
}

/// A key in etcd.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KeyState {
    pub key: Vec<u8>,
    /// Its value; invalid UTF-8 is replaced.
    pub value: String,
    /// Its create revision.
    pub create_revision: i64,
    /// The lease that it is attached to; 0 for none.
    pub lease: i64,
}

/// A stream to open.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StreamRequest {
    /// Keepalives of a lease: one is sent when the stream opens, and one with every push. Yields [`Item::KeptAlive`].
    Keepalive {
        lease: i64,
        /// The granted TTL, seconds, since the library does not pass on the one in the first answer.
        ttl_s: i64,
    },
    /// Watches for the deletion of a key. Yields [`Item::Deleted`].
    WatchDelete {
        key: Vec<u8>,
        /// The first revision of interest.
        start_revision: i64,
    },
    /// Watches for writes of keys. Yields [`Item::Changed`].
    WatchPrefix {
        /// Prefix of the keys.
        prefix: String,
        /// The first revision of interest.
        start_revision: i64,
    },
}

/// A stream's item.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    /// The answer to a keepalive.
    KeptAlive {
        /// TTL, seconds; 0 or less if the lease has ended.
        ttl_s: i64,
    },
    /// The watched key was deleted.
    Deleted,
    /// A key under the watched prefix was written.
    Changed {
        /// The key after the write.
        key: KeyState,
    },
}

impl Payload for Request {
    fn purpose(&self) -> Purpose {
        match self {
            Request::Grant { .. } | Request::CreateKey { .. } => Purpose::Candidacy,
            Request::First { .. } => Purpose::Holder,
            _ => Purpose::Other,
        }
    }
}

impl Payload for Reply {
    fn news(&self) -> News {
        let holder = |found: &KeyState| {
            let name = String::from_utf8_lossy(&found.key);
            Holder { place: format!("the key `{name}` at the head of the queue"), value: found.value.clone() }
        };
        match self {
            Reply::Found { key, .. } => News { held: false, holder: Some(key.as_ref().map(holder)) },
            _ => News::default(),
        }
    }
}

impl Payload for StreamRequest {
    fn purpose(&self) -> Purpose {
        match self {
            StreamRequest::Keepalive { .. } => Purpose::Renewal,
            StreamRequest::WatchDelete { .. } | StreamRequest::WatchPrefix { .. } => Purpose::Other,
        }
    }
}

impl Payload for Item {
    fn news(&self) -> News {
        // The watched key existed until now.
        News { held: *self == Item::Deleted, holder: None }
    }
}
