//! The nouns that every part of Fencepost shares.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

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

/// A thing that writes are protected on, by its place in the table of the run's resources, which its works declare
/// ([`crate::work::Works`]). Every resource has its own ledger (fencing rule 3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Resource(pub u16);

impl Resource {
    /// What clients' numbers come from: the first of every table.
    pub const SEQUENCE: Resource = Resource(0);
    /// Where the scheduler records its ticks, in the usual table.
    pub const SCHEDULE: Resource = Resource(1);
    /// The usual table, as [`USUAL_RESOURCES`] names it.
    pub const USUAL: [Resource; 2] = [Resource::SEQUENCE, Resource::SCHEDULE];
    /// Most resources of a run.
    pub const MOST: usize = 256;
    /// Most resources of a log: rows that are fenced each by itself, say.
    pub const MOST_IN_A_LOG: usize = 1 << 16;

    /// The place in the table, for indexing.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The names of the resources of a leader that does the usual works: a sequencer and a scheduler.
pub const USUAL_RESOURCES: [&str; 2] = ["sequence", "schedule"];

/// What a protected write records at its resource, beside that it happened: the which-th of its kind, and when.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payload {
    /// Which: of ticks, of jobs … Counted from 1.
    pub number: NonZeroU64,
    /// When, by the writer's wall clock: microseconds since the Unix epoch. Later than what was recorded before, whatever
    /// that clock says. 0 in a log that does not say.
    #[serde(default)]
    pub at_us: u64,
}

impl Payload {
    /// The record that follows `before`, written when the wall clock shows `wall` nanoseconds.
    pub fn after(before: Option<Payload>, wall: u64) -> Payload {
        let at_us = before.map_or(0, |before| before.at_us.saturating_add(1)).max(wall / MICROSECOND);
        Payload { number: before.map_or(NonZeroU64::MIN, |before| before.number.saturating_add(1)), at_us }
    }
}

/// What a protected write does at its resource, beside taking the next number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Records its payload, if it has one.
    #[default]
    Record,
    /// The same, and the plan of the payload's number exists from then on.
    Make,
    /// Makes the plan of the payload's number the live one, in the place of whichever was.
    Enact,
    /// Deletes every plan but that of the payload's number and the few before it that are kept:
    /// [`crate::fence::plans::KEPT`].
    Delete,
    /// Does the item of the payload's number. Done again it wastes what it costs, and harms nothing.
    Perform,
    /// Does something outside for the item of the payload's number, which cannot be undone: charges an invoice, delivers a
    /// message, runs a night's job. Done again it does harm.
    Effect,
    /// The row of the payload's number is complete from then on; what is pending begins behind the last row that is.
    Complete,
    /// The cache has the version of the payload's number from then on, whichever it had.
    Refresh,
}

impl Operation {
    /// Every operation there is.
    pub const ALL: [Operation; 8] = [
        Operation::Record,
        Operation::Make,
        Operation::Enact,
        Operation::Delete,
        Operation::Perform,
        Operation::Effect,
        Operation::Complete,
        Operation::Refresh,
    ];

    /// Its word in histories.
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Record => "record",
            Operation::Make => "make",
            Operation::Enact => "enact",
            Operation::Delete => "delete",
            Operation::Perform => "perform",
            Operation::Effect => "effect",
            Operation::Complete => "complete",
            Operation::Refresh => "refresh",
        }
    }

    /// Does it nothing else than to record?
    pub const fn only_records(&self) -> bool {
        matches!(self, Operation::Record)
    }

    /// Is what it carries a record, which follows the one before it?
    pub const fn records(self) -> bool {
        matches!(self, Operation::Record | Operation::Make)
    }

    /// What a seal reads at the resource once this was done there with that payload, where it read `before`.
    pub fn leaves(self, before: Option<Payload>, payload: Option<Payload>) -> Option<Payload> {
        match (self, payload) {
            (Operation::Record | Operation::Make | Operation::Refresh, Some(payload)) => Some(payload),
            (Operation::Complete, Some(row)) if before.is_none_or(|last| last.number < row.number) => Some(row),
            _ => before,
        }
    }
}

/// One leadership incarnation: who, and on what authority.
///
/// `token` is the fencing token, allocated atomically with the acquisition by the coordination service (fencing rule 6).
/// A protocol without a token has token 0, and then only (`node`, `generation`) tells its incarnations apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Incarnation {
    /// Fencing token; 0 when the protocol has none.
    pub token: u64,
    /// The node that leads.
    pub node: NodeId,
    /// How often this node has been elected before, counted from 1 by the node across its restarts; 0 in a log that does not
    /// say.
    pub generation: u32,
}

impl Incarnation {
    /// In [`Incarnation::generation`], of a log that says no generation: it says the token 0, and means it. Some services
    /// begin with it, such as Kubernetes (`leaseTransitions`) and Kafka (the leader's epoch).
    pub const TOKEN_IS_ZERO: u32 = 1 << 31;

    /// Is it told from the same node's other leaderships? A log may say neither token nor generation.
    pub const fn is_known(&self) -> bool {
        self.token > 0 || self.generation > 0
    }

    /// Has it a fencing token? Only a log may have the token 0.
    pub const fn has_token(&self) -> bool {
        self.token > 0 || self.generation == Incarnation::TOKEN_IS_ZERO
    }

    /// Its fencing token, if it has one.
    pub const fn fencing_token(&self) -> Option<u64> {
        if self.has_token() { Some(self.token) } else { None }
    }

    /// How often its node had been elected, by [`Incarnation::generation`]; 0 where nobody said.
    pub const fn elections(&self) -> u32 {
        self.generation & !Incarnation::TOKEN_IS_ZERO
    }
}

/// The belief that one leads: never a bool, always bounded by the local monotonic clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
