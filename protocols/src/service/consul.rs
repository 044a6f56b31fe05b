//! Consul: what `consul-session` asks of it, and what it answers.
//!
//! The requests are those of Consul's own Go client (hashicorp/consul, `api/session.go`, `api/kv.go`) over its HTTP API
//! (`agent/session_endpoint.go`, `agent/kvs_endpoint.go`).

use super::{Members, Service};
use crate::{
    news::{Holder, News, Purpose},
    payload::Payload,
    types::SECOND,
};

/// Consul: a server, which is its own agent, or several.
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

/// What is said to Consul and by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = Watch;
    type Item = Item;
}

/// What the lock's own keys are marked with (`api/lock.go: LockFlagValue`), so that nobody takes another key for a lock.
pub const LOCK_FLAGS: u64 = 0x2ddc_cbc0_58a5_0c18;

/// A request to Consul.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// `PUT /v1/session/create`; answered by [`Reply::Session`].
    CreateSession {
        /// What people call it.
        name: String,
        /// Time to live, milliseconds. The server refuses less than 10 s and more than a day.
        ttl_ms: u64,
        /// How long a key stays nobody's after the session was taken from its holder, milliseconds; `None`: the server's
        /// default, 15 s.
        lock_delay_ms: Option<u64>,
    },
    /// `PUT /v1/session/renew`; answered by [`Reply::Renewed`].
    RenewSession {
        /// The session.
        session: String,
    },
    /// `PUT /v1/session/destroy`: its keys are released, and the lock-delay applies to them. Answered by [`Reply::Done`].
    DestroySession {
        /// The session.
        session: String,
    },
    /// `PUT /v1/kv/…?acquire=`; answered by [`Reply::Done`]: is it the session's? Not if another has it, or while a
    /// lock-delay lasts.
    Acquire {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// For which session.
        session: String,
    },
    /// `PUT /v1/kv/…?release=`, which no lock-delay follows; answered by [`Reply::Done`].
    Release {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// The session that has it.
        session: String,
    },
    /// `GET /v1/kv/…`; answered by [`Reply::Found`].
    Get {
        /// The key.
        key: String,
        /// Who has to say so.
        reads: Reads,
    },
}

/// Whose word is good enough for a read (`api.QueryOptions`; `agent/consul/rpc.go: forward, consistentRead`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reads {
    /// The leader's, which believes that it leads for as long as its lease says.
    Default,
    /// `?consistent`: the leader's, after a majority has confirmed that it leads.
    Consistent,
    /// `?stale`: any server's.
    Stale,
}

/// What Consul answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// A session.
    Session {
        /// Its id.
        id: String,
    },
    /// The session's time to live starts anew.
    Renewed {
        /// Is there still such a session?
        alive: bool,
    },
    /// Was it done?
    Done(bool),
    /// A key, or that there is none.
    Found(Option<Pair>),
}

/// A stream to open: `GET /v1/kv/…?index=…&wait=…`, again and again, each with the index that the answer before had, which the
/// server answers when there is news, or after its time. Brings [`Item`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Watch {
    /// The key.
    pub key: String,
    /// Who has to say so.
    pub reads: Reads,
    /// `?wait=`: after so long the server answers without news, and up to a sixteenth later, milliseconds; `None`: after its
    /// own five minutes.
    pub wait_ms: Option<u64>,
}

/// What a watch brings: the key, or that there is none, news or not.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Item(pub Option<Pair>);

/// A key as Consul has it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pair {
    /// Its value; text that is not UTF-8 is replaced.
    pub value: String,
    /// Marks it; see [`LOCK_FLAGS`].
    pub flags: u64,
    /// The session that holds it; none when it is nobody's.
    pub session: Option<String>,
    /// How often it was acquired since it was created.
    pub lock_index: u64,
    /// The Raft index at which it was changed last.
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
