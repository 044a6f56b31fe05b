//! Consul: the requests of `consul-session`, and the answers.
//!
//! The requests are those of Consul's own Go client (hashicorp/consul, `api/session.go`, `api/kv.go`) over its HTTP API
//! (`agent/session_endpoint.go`, `agent/kvs_endpoint.go`).

use super::{Members, Service};
use crate::{
    news::{Holder, News, Purpose},
    payload::Payload,
    types::SECOND,
};

/// Consul: one server, which is its own agent, or several.
pub const SERVICE: Service = Service {
    name: "consul",
    process: Some("consul"),
    members: Members { most: 5, led: true, majority: true },
    // A patience of up to 3 s, perhaps 2 s more, and the rounds of votes.
    failover_max: 8 * SECOND,
    port: 8500,
    elects: true,
    keeps_data: true,
    has_leases: true,
    has_keys: true,
    is_asked: true,
    is_watched: true,
    has_groups: true,
    ..Service::NONE
};

/// The types of Consul's requests and answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = Watch;
    type Item = Item;
}

/// The flags that mark the lock's own keys (`api/lock.go: LockFlagValue`), so that no other key is taken for a lock.
pub const LOCK_FLAGS: u64 = 0x2ddc_cbc0_58a5_0c18;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// `PUT /v1/session/create`; answered by [`Reply::Session`].
    CreateSession {
        /// The session's name for people.
        name: String,
        /// TTL, milliseconds. The server refuses less than 10 s and more than a day.
        ttl_ms: u64,
        /// How long a key stays unavailable after the session was ended, milliseconds; `None` for the server's default,
        /// 15 s.
        lock_delay_ms: Option<u64>,
    },
    /// `PUT /v1/session/renew`; answered by [`Reply::Renewed`].
    RenewSession { session: String },
    /// `PUT /v1/session/destroy`: releases the session's keys, and the lock-delay applies to them. Answered by
    /// [`Reply::Done`].
    DestroySession {
        /// The session.
        session: String,
    },
    /// `PUT /v1/kv/…?acquire=`; answered by [`Reply::Done`]: whether the session has the key. It fails if another has
    /// it, or while a lock-delay lasts.
    Acquire {
        key: String,
        value: String,
        /// The acquiring session.
        session: String,
    },
    /// `PUT /v1/kv/…?release=`, without a lock-delay; answered by [`Reply::Done`].
    Release {
        key: String,
        value: String,
        /// The session that holds the key.
        session: String,
    },
    /// `GET /v1/kv/…`; answered by [`Reply::Found`].
    Get {
        key: String,
        /// The consistency mode.
        reads: Reads,
    },
}

/// A read's consistency mode (`api.QueryOptions`; `agent/consul/rpc.go: forward, consistentRead`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reads {
    /// The leader answers, relying on its lease.
    Default,
    /// `?consistent`: the leader answers after a majority has confirmed that it leads.
    Consistent,
    /// `?stale`: any server answers.
    Stale,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// A new session.
    Session { id: String },
    /// The session's TTL starts again.
    Renewed {
        /// Whether the session still exists.
        alive: bool,
    },
    /// Whether it was done.
    Done(bool),
    /// The key, if it exists.
    Found(Option<Pair>),
}

/// A stream to open: `GET /v1/kv/…?index=…&wait=…`, repeatedly, each with the index of the previous answer; the server
/// answers when the key changes, or after the wait. Yields [`Item`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Watch {
    pub key: String,
    /// The consistency mode.
    pub reads: Reads,
    /// `?wait=`: after this many milliseconds, and up to a sixteenth more, the server answers without a change; `None`
    /// for its own five minutes.
    pub wait_ms: Option<u64>,
}

/// A watch's item: the key, if it exists, changed or not.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Item(pub Option<Pair>);

/// A key in Consul.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pair {
    /// Its value; invalid UTF-8 is replaced.
    pub value: String,
    /// The flags; see [`LOCK_FLAGS`].
    pub flags: u64,
    /// The session that holds it, if any.
    pub session: Option<String>,
    /// How often it was acquired since its creation.
    pub lock_index: u64,
    /// The Raft index of its last change.
    pub modify_index: u64,
}

impl Payload for Request {
    fn purpose(&self) -> Purpose {
        match self {
            Request::CreateSession { .. } | Request::Acquire { .. } => Purpose::Candidacy,
            Request::RenewSession { .. } => Purpose::Renewal,
            Request::Get { .. } => Purpose::Holder,
            Request::DestroySession { .. } | Request::Release { .. } => Purpose::Other,
        }
    }
}

impl Payload for Reply {
    fn news(&self) -> News {
        match self {
            Reply::Found(pair) => found(pair.as_ref()),
            Reply::Done(done) => News { held: !done, holder: None },
            _ => News::default(),
        }
    }
}

impl Payload for Watch {}

impl Payload for Item {
    fn news(&self) -> News {
        found(self.0.as_ref())
    }
}

fn found(pair: Option<&Pair>) -> News {
    let held = pair.filter(|pair| pair.session.is_some());
    let holder = held.map(|pair| Holder { place: "the lock's key".to_owned(), value: pair.value.clone() });
    News { held: holder.is_some(), holder: Some(holder) }
}
