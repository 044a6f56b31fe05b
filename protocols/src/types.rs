//! The nouns that every part of Fencepost shares.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Nanoseconds in a microsecond.
pub const MICROSECOND: u64 = 1_000;
/// Nanoseconds in a millisecond.
pub const MILLISECOND: u64 = 1_000_000;
/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;

/// A process of the world, by its place in the topology: candidates first, then the coordination service, the fenced
/// store and the clients. Reports show the topology's name for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u16);

impl NodeId {
    /// The place in the topology, for indexing.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A thing that writes are protected on. Every resource has its own ledger (fencing rule 3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Resource {
    /// What the sequencer hands its numbers out from.
    Sequence = 0,
    /// Where the scheduler records its ticks.
    Schedule = 1,
}

impl Resource {
    /// Every resource that a leader must seal before it acts.
    pub const ALL: [Resource; 2] = [Resource::Sequence, Resource::Schedule];

    /// The name that histories carry.
    pub const fn name(self) -> &'static str {
        match self {
            Resource::Sequence => "sequence",
            Resource::Schedule => "schedule",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One leadership incarnation: who, and on what authority.
///
/// `epoch` is the fencing token, allocated atomically with the acquisition by the coordination service (fencing rule 6).
/// A protocol without a token has epoch 0, and then only (`node`, `term`) tells its incarnations apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Incarnation {
    /// Fencing token; 0 when the protocol has none.
    pub epoch: u64,
    /// The node that leads.
    pub node: NodeId,
    /// How often this node has been elected before, counted from 1 by the node across its restarts.
    pub term: u32,
}

/// The belief that one leads: never a bool, always bounded by the local monotonic clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leadership {
    /// Fencing token that every protected write carries; 0 when the protocol has none.
    pub token: u64,
    /// When the belief ends unless it is renewed: nanoseconds of the node's monotonic clock. `u64::MAX` is a protocol
    /// that believes until it is told otherwise.
    pub valid_until: u64,
}

/// The name of one client request, the same on every retry (fencing rule 5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RequestId {
    /// Who asks. The leader itself for its scheduler ticks.
    pub client: NodeId,
    /// Counts that client's requests from 1.
    pub number: u64,
}

/// Names one of a core's timers. Setting a timer that is set moves it.
pub type TimerId = u16;
