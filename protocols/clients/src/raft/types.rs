//! openraft's type parameters, and short names for the resulting types.

use super::runtime::Runtime;
use openraft::alias;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A log entry's application data: none. The log serves only elections and membership.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Nothing {}

impl fmt::Display for Nothing {
    fn fmt(&self, _: &mut fmt::Formatter) -> fmt::Result {
        match *self {}
    }
}

openraft::declare_raft_types!(
    /// The types of this log. Leader ids compare by term alone, as in the Raft paper: a term has at most one leader, so
    /// it can serve as a fencing token. (openraft's other mode allows several leaders in a term.)
    pub Types:
        D = Nothing,
        R = (),
        NodeId = u64,
        Node = openraft::EmptyNode,
        LeaderId = openraft::impls::leader_id_std::LeaderId<Self::Term, Self::NodeId>,
        AsyncRuntime = Runtime,
);

pub type Entry = alias::EntryOf<Types>;
/// An entry's term and index.
pub type LogId = alias::LogIdOf<Types>;
/// A vote, given or won.
pub type Vote = alias::VoteOf<Types>;
/// The members, and the entry that set them.
pub type Members = alias::StoredMembershipOf<Types>;
/// A snapshot's metadata, which is its whole content here.
pub type SnapshotMeta = alias::SnapshotMetaOf<Types>;
pub type Snapshot = alias::SnapshotOf<Types, ()>;
