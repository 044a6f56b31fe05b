//! etcd: what `etcd-election` and `etcd-key` ask of it, and what it answers.
//!
//! The transactions are those of etcd's own client library (etcd-io/etcd, `client/v3/concurrency/election.go` and
//! `key.go`: `Campaign`, `Proclaim`, `Resign`, `Leader`, `waitDeletes`). Everything is guarded by a create revision, so a
//! request that arrives late, or twice, does nothing. `HandOver` is ours; the library knows no successors.

use super::{Members, Service};
use crate::{
    bug::{Bug, Shown},
    news::{Holder, News, Purpose},
    payload::Payload,
    types::{MILLISECOND, SECOND},
};

/// etcd.
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

/// What etcd's members did before 3.4.31 and 3.5.13.
pub const STALE_REVOCATION: Bug = Bug {
    id: "etcd-stale-revocation",
    protocols: &["etcd-election", "etcd-key"],
    what: "A member that led until it stalled revokes leases that its successor has renewed.",
    source: "etcd-io/etcd#15247; fixed in 3.4.31 and 3.5.13",
    violation: "metrics.elections",
    shown: Shown::by("service-leader-stall", "etcd-election", 8).above(1),
};

/// What etcd's lessor did in 3.5.0-pre, until pull request 12292.
pub const EXPIRES_BY_WALL_CLOCK: Bug = Bug {
    id: "etcd-expires-by-wall-clock",
    protocols: &["etcd-election", "etcd-key"],
    what: "Leases end by the server's wall clock: one that is set forward ends all of them, and one that is set back keeps them.",
    source: "etcd-io/etcd issue 12291, fixed by pull request 12292 in 3.5",
    violation: "metrics.elections",
    shown: Shown::by("clock-jump", "etcd-election", 4).above(1),
};

/// What is said to etcd and by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = StreamRequest;
    type Item = Item;
}

/// A request to etcd.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// A new lease; answered by [`Reply::Granted`].
    Grant {
        /// Time to live, seconds. The server has a minimum of its own (2 s by default).
        ttl_s: i64,
    },
    /// Ends a lease and deletes its keys in one revision; answered by [`Reply::Revoked`].
    Revoke {
        /// The lease.
        lease: i64,
    },
    /// Creates a key unless it exists, else reads it; answered by [`Reply::Created`]. Safe to repeat.
    CreateKey {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// The lease that it lives on.
        lease: i64,
    },
    /// Changes the value of the key of that create revision; answered by [`Reply::Proclaimed`].
    Proclaim {
        /// The key.
        key: String,
        /// Its new value.
        value: String,
        /// The lease that it lives on.
        lease: i64,
        /// The guard.
        create_revision: i64,
    },
    /// Deletes the key of that create revision, and none of the same name that came later; answered by
    /// [`Reply::Deleted`].
    DeleteKey {
        /// The key.
        key: String,
        /// The guard.
        create_revision: i64,
    },
    /// Deletes the key of that name, whoever has made it; answered by [`Reply::Deleted`].
    DeleteAnyKey {
        /// The key.
        key: String,
    },
    /// The key with the highest create revision up to a bound: who is in front in the queue. Answered by
    /// [`Reply::Found`].
    Predecessor {
        /// Prefix of the queue's keys.
        prefix: String,
        /// Bound, inclusive; at least 1.
        max_create_revision: i64,
    },
    /// The key with the lowest create revision: who leads. Answered by [`Reply::Found`].
    First {
        /// Prefix of the queue's keys.
        prefix: String,
    },
    /// All keys, by create revision; answered by [`Reply::Queue`].
    Queue {
        /// Prefix of the queue's keys.
        prefix: String,
    },
    /// Deletes the own key and those between it and the successor's, all in one revision, if every one of them and the
    /// successor's has the create revision given; answered by [`Reply::HandedOver`].
    HandOver {
        /// The own key.
        key: String,
        /// Its guard.
        create_revision: i64,
        /// The successor's key, which stays, and its guard.
        heir: (Vec<u8>, i64),
        /// The keys between, with their guards.
        passed_over: Vec<(Vec<u8>, i64)>,
    },
    /// One key; answered by [`Reply::Found`].
    GetKey {
        /// The key.
        key: String,
    },
}

/// What etcd answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// A lease.
    Granted {
        /// Its id.
        lease: i64,
        /// The time to live that it got, seconds.
        ttl_s: i64,
    },
    /// The lease is gone.
    Revoked,
    /// The key exists.
    Created {
        /// Did this request create it? Otherwise it was there.
        created: bool,
        /// Revision of its creation: the transaction's own when it created the key, else the key's.
        create_revision: i64,
        /// Its value.
        value: String,
        /// The lease that it lives on.
        lease: i64,
        /// The store's revision at which this was so.
        revision: i64,
    },
    /// The value was changed, unless the guard failed.
    Proclaimed {
        /// Did the guard hold?
        done: bool,
    },
    /// The key is not there (any more).
    Deleted {
        /// Did the guard hold?
        done: bool,
    },
    /// The successor is first, unless a guard failed.
    HandedOver {
        /// Did all guards hold?
        done: bool,
    },
    /// The keys of a queue, the oldest first.
    Queue {
        /// The keys.
        keys: Vec<KeyState>,
    },
    /// What was looked for, or that there is none.
    Found {
        /// The key.
        key: Option<KeyState>,
        /// The store's revision at which this was so.
        revision: i64,
    },
}

/// A key as etcd has it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KeyState {
    /// Its name.
    pub key: Vec<u8>,
    /// Its value; text that is not UTF-8 is replaced.
    pub value: String,
    /// Revision of its creation.
    pub create_revision: i64,
    /// The lease that it lives on; 0 when there is none.
    pub lease: i64,
}

/// A stream to open.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StreamRequest {
    /// Keepalives of a lease: one is sent when the stream opens and one with every push. Brings [`Item::KeptAlive`].
    Keepalive {
        /// The lease.
        lease: i64,
        /// The granted time to live, seconds: the library keeps the number in the first answer to itself.
        ttl_s: i64,
    },
    /// Tells of the deletion of a key. Brings [`Item::Deleted`].
    WatchDelete {
        /// The key.
        key: Vec<u8>,
        /// From this revision on.
        start_revision: i64,
    },
    /// Tells of keys that are written. Brings [`Item::Changed`].
    WatchPrefix {
        /// Prefix of the keys.
        prefix: String,
        /// From this revision on.
        start_revision: i64,
    },
}

/// What a stream brings.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    /// Answer to a keepalive.
    KeptAlive {
        /// Time to live, seconds; 0 or less when the lease is gone.
        ttl_s: i64,
    },
    /// The watched key was deleted.
    Deleted,
    /// A key under the watched prefix was written.
    Changed {
        /// The key after it.
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
        // What stood in front was there until now.
        News { held: *self == Item::Deleted, holder: None }
    }
}
