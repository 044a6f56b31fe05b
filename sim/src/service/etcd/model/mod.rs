//! A pure model of one etcd member: state, and functions of (now, request) that answer and leave watch responses in an
//! outbox.
//!
//! After etcd-io/etcd (read at v3.4.23 and v3.8.0-alpha.0): `server/storage/mvcc/kvstore_txn.go` (revisions),
//! `server/etcdserver/txn/{range,put,delete,txn}.go` (what requests do), `server/etcdserver/api/v3rpc/{key,lease,watch}.go`
//! (what is refused, in which words), `server/lease/lessor.go` (leases), `server/storage/mvcc/watchable_store.go`
//! (watches). An empty store is at revision 1; a transaction that changes anything makes one revision.
//!
//! All of it survives a restart (etcd syncs its log before it answers), except the watches. Time is the member's monotonic
//! clock, nanoseconds.

mod check;
mod kv;
mod lease;
mod txn;
mod watch;

pub use lease::{EXPIRY_SCAN, MAX_TTL_S, MIN_TTL_S, PROMOTION, Renewal};
pub use watch::{RESYNC, StreamId, WatchCreate};

use crate::service::{Dropped, grants::Holder};
use etcd_client::proto::{
    PbDeleteRequest, PbEvent, PbKeyValue, PbLeaseRevokeRequest, PbResponseHeader, PbWatchResponse,
};
use lease::Lease;
use protocols::election::etcd::Recipe;
use std::collections::BTreeMap;
use tonic::{Code, Status};

/// Why etcd said no. Nothing was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// A request without a key.
    EmptyKey,
    /// `ignore_value` or `ignore_lease` on a key that does not exist, or an empty operation in a transaction.
    KeyNotFound,
    /// `ignore_value` and a value.
    ValueProvided,
    /// `ignore_lease` and a lease.
    LeaseProvided,
    /// More than 128 comparisons or operations in a transaction.
    TooManyOps,
    /// A transaction that writes a key twice.
    DuplicateKey,
    /// No such target to sort by.
    InvalidSortOption,
    /// The revision is compacted away.
    Compacted,
    /// The revision is yet to come.
    FutureRevision,
    /// No such lease.
    LeaseNotFound,
    /// A lease of that id exists.
    LeaseExists,
    /// A time to live beyond 9,000,000,000 s.
    LeaseTtlTooLarge,
}

impl Error {
    /// gRPC's code for it and etcd's words (`api/v3rpc/rpctypes/error.go`).
    pub const fn words(self) -> (Code, &'static str) {
        match self {
            Error::EmptyKey => (Code::InvalidArgument, "etcdserver: key is not provided"),
            Error::KeyNotFound => (Code::InvalidArgument, "etcdserver: key not found"),
            Error::ValueProvided => (Code::InvalidArgument, "etcdserver: value is provided"),
            Error::LeaseProvided => (Code::InvalidArgument, "etcdserver: lease is provided"),
            Error::TooManyOps => (Code::InvalidArgument, "etcdserver: too many operations in txn request"),
            Error::DuplicateKey => (Code::InvalidArgument, "etcdserver: duplicate key given in txn request"),
            Error::InvalidSortOption => (Code::InvalidArgument, "etcdserver: invalid sort option"),
            Error::Compacted => (Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted"),
            Error::FutureRevision => (Code::OutOfRange, "etcdserver: mvcc: required revision is a future revision"),
            Error::LeaseNotFound => (Code::NotFound, "etcdserver: requested lease not found"),
            Error::LeaseExists => (Code::FailedPrecondition, "etcdserver: lease already exists"),
            Error::LeaseTtlTooLarge => (Code::OutOfRange, "etcdserver: too large lease TTL"),
        }
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Status {
        let (code, words) = error.words();
        Status::new(code, words)
    }
}

/// Keys in order.
type Keys = BTreeMap<Vec<u8>, PbKeyValue>;

/// The member's state.
#[derive(Clone, Debug)]
pub struct Model {
    /// Of the last transaction that changed anything.
    revision: i64,
    /// Reads below this revision are refused.
    compacted: i64,
    keys: Keys,
    /// The keys at revision `compacted`, from which `log` leads to `keys`.
    base: Keys,
    /// Every change since, in order; its key's `mod_revision` is the change's revision.
    log: Vec<PbEvent>,
    leases: BTreeMap<i64, Lease>,
    /// Leases that were given an id by this store.
    granted: i64,
    /// Grows with every new leader; headers carry it.
    raft_term: u64,
    /// The member that answers; headers carry it.
    member: u64,
    streams: BTreeMap<StreamId, watch::Stream>,
    opened: StreamId,
    outbox: Vec<(StreamId, PbWatchResponse)>,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            revision: 1,
            compacted: -1,
            keys: Keys::new(),
            base: Keys::new(),
            log: Vec::new(),
            leases: BTreeMap::new(),
            granted: 0,
            raft_term: 1,
            member: MEMBER,
            streams: BTreeMap::new(),
            opened: 0,
            outbox: Vec::new(),
        }
    }
}

impl Model {
    /// An empty store.
    pub fn new() -> Self {
        Model::default()
    }

    /// The store's revision.
    pub const fn revision(&self) -> i64 {
        self.revision
    }

    /// Who holds a group's leadership: whoever's key is the oldest under its election's prefix, whichever recipe it is. Its create revision is the
    /// token.
    pub fn holder(&self, group: u16) -> Option<Holder> {
        let first = |recipe: Recipe| {
            let prefix = recipe.prefix(group).into_bytes();
            let keys = self.keys.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
            keys.map(|(_, kv)| kv).min_by_key(|kv| kv.create_revision)
        };
        let first = first(Recipe::Queue).or_else(|| first(Recipe::OneKey))?;
        let name = String::from_utf8(first.value.clone()).ok()?;
        Some(Holder { name, token: u64::try_from(first.create_revision).ok()?, until: None })
    }

    /// The process started and leads: every lease has its whole time to live again, plus an election timeout
    /// (`lessor.Promote`); watches of the process before are gone.
    pub fn promote(&mut self, now: u64) {
        self.raft_term += 1;
        self.streams.clear();
        self.outbox.clear();
        self.extend_leases(now);
    }

    /// It is one of several members, of that place.
    pub fn be_member(&mut self, place: usize) {
        self.member = MEMBER.wrapping_add(place as u64);
    }

    /// The member's term has changed, or who leads: it does, since its clock showed so many nanoseconds, and every lease has
    /// its whole time again and an election timeout; or somebody else does, and leases end when that one says.
    pub fn stand(&mut self, term: u64, leads_since: Option<u64>) {
        self.raft_term = term;
        self.extend_leases(leads_since.unwrap_or(u64::MAX));
    }

    /// Drops the key that a candidate holds in a group, or its lease, as when somebody else deletes or revokes it. The key's
    /// value is the candidate's name.
    pub fn drop_leadership_of(&mut self, candidate: &str, group: u16, what: Dropped) {
        for (key, id) in self.keys_of(candidate, group) {
            // Both are there: they were read a moment ago.
            match what {
                Dropped::Lease => drop(self.lease_revoke(&PbLeaseRevokeRequest { id })),
                // Tokens are revisions here: there is no counter to lose.
                Dropped::Counter => {}
                Dropped::Key => drop(self.delete_range(&PbDeleteRequest { key, ..PbDeleteRequest::default() })),
            }
        }
    }

    /// The keys that a candidate holds in a group, with their leases.
    pub fn keys_of(&self, candidate: &str, group: u16) -> Vec<(Vec<u8>, i64)> {
        let prefixes = [Recipe::Queue, Recipe::OneKey].map(|recipe| recipe.prefix(group).into_bytes());
        let elects = |key: &[u8]| prefixes.iter().any(|prefix| key.starts_with(prefix));
        let held = self.keys.values().filter(|kv| kv.value == candidate.as_bytes() && elects(&kv.key));
        held.map(|kv| (kv.key.clone(), kv.lease)).collect()
    }

    /// What the watches have to say since the last call, in order.
    pub fn take_watch_responses(&mut self) -> Vec<(StreamId, PbWatchResponse)> {
        std::mem::take(&mut self.outbox)
    }

    /// A header as the API server fills it in.
    fn header(&self, revision: i64) -> Option<PbResponseHeader> {
        Some(PbResponseHeader { cluster_id: CLUSTER, member_id: self.member, revision, raft_term: self.raft_term })
    }

    /// A header at the store's revision.
    pub fn header_now(&self) -> Option<PbResponseHeader> {
        self.header(self.revision)
    }
}

/// Ids as a real member would have them.
const CLUSTER: u64 = 0xcdf8_181e_3227_8d01;
const MEMBER: u64 = 0x8e9e_05c5_2164_694d;

/// The header of an answer inside a transaction: nothing but the revision.
fn bare_header(revision: i64) -> Option<PbResponseHeader> {
    Some(PbResponseHeader { revision, ..PbResponseHeader::default() })
}

/// Is `key` in the range? An empty end means the one key, an end of one zero byte everything from `start` on.
fn in_range(key: &[u8], start: &[u8], end: &[u8]) -> bool {
    match end {
        [] => key == start,
        [0] => key >= start,
        _ => key >= start && key < end,
    }
}
