//! A pure model of one etcd member: its state, and functions of (now, request) that return answers and put watch
//! responses into an outbox.
//!
//! Modelled on etcd-io/etcd (read at v3.4.23 and v3.8.0-alpha.0): `server/storage/mvcc/kvstore_txn.go` (revisions),
//! `server/etcdserver/txn/{range,put,delete,txn}.go` (the effect of requests),
//! `server/etcdserver/api/v3rpc/{key,lease,watch}.go` (refusals and their wording), `server/lease/lessor.go` (leases),
//! `server/storage/mvcc/watchable_store.go` (watches). An empty store is at revision 1; a transaction that changes
//! anything makes one revision.
//!
//! Everything survives a restart (etcd syncs its log before it answers), except the watches. Time is the member's
//! monotonic clock, in nanoseconds.

mod check;
mod kv;
mod lease;
mod txn;
mod watch;

pub use lease::{EXPIRY_SCAN, MAX_TTL_S, MIN_TTL_S, PROMOTION, Renewal};
pub use watch::{RESYNC, StreamId, WatchCreate};

use crate::service::{
    Dropped,
    grants::{self, Holder},
};
use etcd_client::proto::{
    PbDeleteRequest, PbEvent, PbKeyValue, PbLeaseRevokeRequest, PbResponseHeader, PbWatchResponse,
};
use lease::Lease;
use protocols::election::etcd::Recipe;
use std::collections::BTreeMap;
use tonic::{Code, Status};

/// A refusal; nothing was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The request has no key.
    EmptyKey,
    /// `ignore_value` or `ignore_lease` on a key that does not exist, or an empty operation in a transaction.
    KeyNotFound,
    /// `ignore_value` together with a value.
    ValueProvided,
    /// `ignore_lease` together with a lease.
    LeaseProvided,
    /// More than 128 comparisons or operations in a transaction.
    TooManyOps,
    /// The transaction writes a key twice.
    DuplicateKey,
    /// The sort target is unknown.
    InvalidSortOption,
    Compacted,
    FutureRevision,
    LeaseNotFound,
    LeaseExists,
    /// A time to live beyond 9,000,000,000 s.
    LeaseTtlTooLarge,
}

impl Error {
    /// The gRPC code and etcd's message (`api/v3rpc/rpctypes/error.go`).
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

#[derive(Clone, Debug)]
pub struct Model {
    /// The revision of the last transaction that changed anything.
    revision: i64,
    /// Reads below this revision are refused.
    compacted: i64,
    keys: Keys,
    /// The keys at revision `compacted`; applying `log` to them gives `keys`.
    base: Keys,
    /// Every change since `compacted`, in order; its key's `mod_revision` is the change's revision.
    log: Vec<PbEvent>,
    leases: BTreeMap<i64, Lease>,
    /// The number of leases whose id this store chose.
    granted: i64,
    /// Increases with every new leader; part of response headers.
    raft_term: u64,
    /// The answering member; part of response headers.
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
    pub fn new() -> Self {
        Model::default()
    }

    pub const fn revision(&self) -> i64 {
        self.revision
    }

    /// The holder of a group's leadership: the owner of the oldest key under its election's prefix, whatever the
    /// recipe. The token is that key's create revision.
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

    /// The holder of a key, or of the oldest key below it; all of these contend. They are called by their revisions and
    /// values, as a value may be several processes', and another one's later.
    pub fn holder_of(&self, key: &str) -> Option<Holder> {
        let below = format!("{}/", key.trim_end_matches('/')).into_bytes();
        let keys =
            self.keys.range(key.as_bytes().to_vec()..).take_while(|(found, _)| found.starts_with(key.as_bytes()));
        let contenders = keys.filter(|(found, _)| found.starts_with(&below) || *found == key.as_bytes());
        let name = |kv: &PbKeyValue| format!("{}/{}", kv.create_revision, String::from_utf8_lossy(&kv.value));
        let (revisions, names): (Vec<_>, Vec<_>) = contenders.map(|(_, kv)| (kv.create_revision, name(kv))).unzip();
        grants::contend(&names);
        let (_, name) = revisions.into_iter().zip(names).min()?;
        Some(Holder { name, token: 0, until: None })
    }

    /// The process has started and leads: every lease has its full time to live again, plus an election timeout
    /// (`lessor.Promote`); former watches are gone.
    pub fn promote(&mut self, now: u64) {
        self.raft_term += 1;
        self.streams.clear();
        self.outbox.clear();
        self.extend_leases(now);
    }

    /// Makes this the copy of member `place` of several.
    pub fn be_member(&mut self, place: usize) {
        self.member = MEMBER.wrapping_add(place as u64);
    }

    /// The term or the leader has changed. If this member leads since `leads_since` (nanoseconds of its clock), every
    /// lease has its full time again, plus an election timeout. Otherwise the other leader decides when leases end.
    pub fn stand(&mut self, term: u64, leads_since: Option<u64>) {
        self.raft_term = term;
        self.extend_leases(leads_since.unwrap_or(u64::MAX));
    }

    /// Deletes a candidate's key in a group, or revokes its lease, from outside. The key's value is the candidate's
    /// name.
    pub fn drop_leadership_of(&mut self, candidate: &str, group: u16, what: Dropped) {
        for (key, id) in self.keys_of(candidate, group) {
            // Both exist: they were just looked up.
            match what {
                Dropped::Lease => drop(self.lease_revoke(&PbLeaseRevokeRequest { id })),
                // Tokens are revisions, so there is no counter to lose.
                Dropped::Counter => {}
                Dropped::Key => drop(self.delete_range(&PbDeleteRequest { key, ..PbDeleteRequest::default() })),
            }
        }
    }

    /// A candidate's keys in a group, with their leases.
    pub fn keys_of(&self, candidate: &str, group: u16) -> Vec<(Vec<u8>, i64)> {
        let prefixes = [Recipe::Queue, Recipe::OneKey].map(|recipe| recipe.prefix(group).into_bytes());
        let elects = |key: &[u8]| prefixes.iter().any(|prefix| key.starts_with(prefix));
        let held = self.keys.values().filter(|kv| kv.value == candidate.as_bytes() && elects(&kv.key));
        held.map(|kv| (kv.key.clone(), kv.lease)).collect()
    }

    /// The watch responses since the last call, in order.
    pub fn take_watch_responses(&mut self) -> Vec<(StreamId, PbWatchResponse)> {
        std::mem::take(&mut self.outbox)
    }

    /// A response header as the API server fills it in.
    fn header(&self, revision: i64) -> Option<PbResponseHeader> {
        Some(PbResponseHeader { cluster_id: CLUSTER, member_id: self.member, revision, raft_term: self.raft_term })
    }

    /// A header with the store's revision.
    pub fn header_now(&self) -> Option<PbResponseHeader> {
        self.header(self.revision)
    }
}

/// Ids like a real member's.
const CLUSTER: u64 = 0xcdf8_181e_3227_8d01;
const MEMBER: u64 = 0x8e9e_05c5_2164_694d;

/// The header of an answer within a transaction: only the revision.
fn bare_header(revision: i64) -> Option<PbResponseHeader> {
    Some(PbResponseHeader { revision, ..PbResponseHeader::default() })
}

/// Whether `key` is in the range. An empty end means the single key, an end of one zero byte everything from `start`.
fn in_range(key: &[u8], start: &[u8], end: &[u8]) -> bool {
    match end {
        [] => key == start,
        [0] => key >= start,
        _ => key >= start && key < end,
    }
}
