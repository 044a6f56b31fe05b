//! openraft's type parameters, and short names for what they make.

use super::runtime::Runtime;
use openraft::alias;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a log entry carries for the application: nothing. Elections and members are all that the log is for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Nothing {}

impl fmt::Display for Nothing {
    fn fmt(&self, _: &mut fmt::Formatter) -> fmt::Result {
        match *self {}
    }
}

openraft::declare_raft_types!(
    /// The types of this log. A leader id is compared by its term alone, as in the Raft paper: one term has at most one
    /// leader, so that the term is a fencing token. (openraft's other mode has terms with several leaders.)
    pub Types:
        D = Nothing,
        R = (),
        NodeId = u64,
        Node = openraft::EmptyNode,
        LeaderId = openraft::impls::leader_id_std::LeaderId<Self::Term, Self::NodeId>,
        AsyncRuntime = Runtime,
);

/// An entry of the log.
pub type Entry = alias::EntryOf<Types>;
/// An entry's term and index.
pub type LogId = alias::LogIdOf<Types>;
/// A vote, given or won.
pub type Vote = alias::VoteOf<Types>;
/// The members, and the entry that says so.
pub type Members = alias::StoredMembershipOf<Types>;
/// What a snapshot is of; there is nothing else in ours.
pub type SnapshotMeta = alias::SnapshotMetaOf<Types>;
/// A snapshot.
pub type Snapshot = alias::SnapshotOf<Types, ()>;
