//! How a lease is counted, where the core's own belief says too little of it.

use protocols::{
    error::Failure,
    payload::Opaque,
    service::{
        kubernetes::{Reply, Request, micro_time},
        zookeeper::Item,
    },
    types::{MILLISECOND, SECOND},
};

/// How a lease is counted where the core's own belief has no end.
#[derive(Clone, Copy)]
pub struct Counted {
    /// Whether this reply to this request means that the lease has begun, or was renewed, when the request arrived.
    pub(crate) confirms: fn(&Opaque, &Opaque) -> bool,
    /// What others compare of what this request writes: to them, a write that leaves it the same has not happened.
    pub(crate) seen: fn(&Opaque) -> Option<u64>,
    /// For how long it may stay the same, nanoseconds.
    pub(crate) unseen: u64,
}

/// A session that the client keeps alive by itself as long as its stream is open.
#[derive(Clone, Copy)]
pub struct Session {
    /// What this item of the stream says of the connection.
    pub(crate) says: fn(&Opaque) -> Option<Heard>,
}

/// What a session says of its connection.
pub enum Heard {
    /// There is none, and why.
    Lost(Failure),
    /// There is one, and the service has granted this timeout, nanoseconds.
    Granted(u64),
}

/// Of a Kubernetes Lease: every accepted write of a holder starts it anew.
pub(crate) const KUBERNETES: Counted = Counted { confirms, seen, unseen: SECOND };

/// Of ZooKeeper's.
pub(crate) const ZOOKEEPER: Session = Session { says };

fn confirms(request: &Opaque, reply: &Opaque) -> bool {
    let writes = match request.get() {
        Some(Request::Create { record, .. } | Request::Update { record, .. }) => !record.holder.is_empty(),
        Some(Request::Get { .. }) | None => false,
    };
    writes && matches!(reply.get(), Some(Reply::Lease { .. }))
}

/// Others compare whole seconds. A renewal that is repeated after a request without an answer has the time of the first.
fn seen(request: &Opaque) -> Option<u64> {
    match request.get()? {
        Request::Create { record, .. } | Request::Update { record, .. } => {
            Some(micro_time::whole_seconds(record.renewed_us))
        }
        Request::Get { .. } => None,
    }
}

fn says(item: &Opaque) -> Option<Heard> {
    match item.get()? {
        Item::Connected { timeout_ms, .. } => Some(Heard::Granted(u64::from(*timeout_ms) * MILLISECOND)),
        Item::Disconnected => Some(Heard::Lost(Failure::Unknown("the connection is lost".to_owned()))),
        Item::Expired => Some(Heard::Lost(Failure::Rejected("the session has expired".to_owned()))),
        Item::Watched { .. } => None,
    }
}
