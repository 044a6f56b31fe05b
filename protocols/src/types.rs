//! The basic types that all parts of Fencepost share.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// Nanoseconds in a microsecond.
pub const MICROSECOND: u64 = 1_000;
/// Nanoseconds in a millisecond.
pub const MILLISECOND: u64 = 1_000_000;
/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;

/// A process, by its index in the topology: candidates first, then the coordination service, the fenced store and the
/// clients. Reports show the topology's name for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u16);

impl NodeId {
    /// The index in the topology.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A thing protected by the fence, by its index in the run's table of resources, which the works declare
/// ([`crate::work::Works`]). Every resource has its own ledger (fencing rule 3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Resource(pub u16);

impl Resource {
    /// The source of clients' numbers: the first resource of every table.
    pub const SEQUENCE: Resource = Resource(0);
    /// The resource of the scheduler's ticks, in the default table.
    pub const SCHEDULE: Resource = Resource(1);
    /// The default table, with the names of [`USUAL_RESOURCES`].
    pub const USUAL: [Resource; 2] = [Resource::SEQUENCE, Resource::SCHEDULE];
    /// The most resources of a run.
    pub const MOST: usize = 256;
    /// The most resources of a log, for example rows that are fenced individually.
    pub const MOST_IN_A_LOG: usize = 1 << 16;

    /// The index in the table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The resource names of a leader with the default works: a sequencer and a scheduler.
pub const USUAL_RESOURCES: [&str; 2] = ["sequence", "schedule"];

/// A protected write's record at its resource: its ordinal among records of its kind, and its time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payload {
    /// The ordinal of the tick, job, …, from 1.
    pub number: NonZeroU64,
    /// The time by the writer's wall clock: microseconds since the Unix epoch. Always later than the previous record's,
    /// whatever that clock says. 0 in a log without it.
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

/// What a protected write does at its resource, besides taking the next number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Records its payload, if it has one.
    #[default]
    Record,
    /// Records, and creates the plan with the payload's number.
    Make,
    /// Makes the plan with the payload's number the live one.
    Enact,
    /// Deletes all plans except the one with the payload's number and the few before it: [`crate::fence::plans::KEPT`].
    Delete,
    /// Performs the item with the payload's number. A repetition is wasted, but harmless.
    Perform,
    /// Has an external effect for the item with the payload's number, which cannot be undone: charges an invoice,
    /// delivers a message, runs a night's job. A repetition does harm.
    Effect,
    /// Completes the row with the payload's number; the pending rows begin behind the last complete one.
    Complete,
    /// Brings the cache to the version of the payload's number, whichever it had.
    Refresh,
}

impl Operation {
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

    /// The name in histories.
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

    /// Whether it does nothing but record.
    pub const fn only_records(&self) -> bool {
        matches!(self, Operation::Record)
    }

    /// Whether its payload is a record, which follows the previous one.
    pub const fn records(self) -> bool {
        matches!(self, Operation::Record | Operation::Make)
    }

    /// The payload that a seal reads after this operation with that payload, if it read `before` until then.
    pub fn leaves(self, before: Option<Payload>, payload: Option<Payload>) -> Option<Payload> {
        match (self, payload) {
            (Operation::Record | Operation::Make | Operation::Refresh, Some(payload)) => Some(payload),
            (Operation::Complete, Some(row)) if before.is_none_or(|last| last.number < row.number) => Some(row),
            _ => before,
        }
    }
}

/// A leadership: the leading node, and its authority.
///
/// `token` is the fencing token, allocated atomically with the acquisition by the coordination service (fencing rule
/// 6). A protocol without a token has token 0; then only (`node`, `generation`) distinguishes its leaderships.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Incarnation {
    /// The fencing token; 0 if the protocol has none.
    pub token: u64,
    pub node: NodeId,
    /// The node's count of its leaderships, from 1, which continues across its restarts; 0 in a log without it.
    pub generation: u32,
}

impl Incarnation {
    /// The value of [`Incarnation::generation`] in a log without generations whose token is 0 and valid. Some services
    /// start with 0, such as Kubernetes (`leaseTransitions`) and Kafka (the leader's epoch).
    pub const TOKEN_IS_ZERO: u32 = 1 << 31;

    /// Whether it can be told from the same node's other leaderships. A log may have neither token nor generation.
    pub const fn is_known(&self) -> bool {
        self.token > 0 || self.generation > 0
    }

    /// Whether it has a fencing token. The token 0 is possible only in a log.
    pub const fn has_token(&self) -> bool {
        self.token > 0 || self.generation == Incarnation::TOKEN_IS_ZERO
    }

    /// Its fencing token, if any.
    pub const fn fencing_token(&self) -> Option<u64> {
        if self.has_token() { Some(self.token) } else { None }
    }

    /// The node's count of its leaderships, from [`Incarnation::generation`]; 0 if unknown.
    pub const fn elections(&self) -> u32 {
        self.generation & !Incarnation::TOKEN_IS_ZERO
    }
}

/// A node's belief that it leads: never a bool, always bounded by the local monotonic clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Leadership {
    /// The fencing token that every protected write carries; 0 if the protocol has none.
    pub token: u64,
    /// The end of the belief unless it is renewed: nanoseconds of the node's monotonic clock. `u64::MAX` for a protocol
    /// whose belief does not expire.
    pub valid_until: u64,
}

/// A client request's identity, the same on every retry (fencing rule 5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RequestId {
    /// The client, or the leader itself for its scheduler ticks.
    pub client: NodeId,
    /// The client's request counter, from 1.
    pub number: u64,
}

/// Identifies one of a core's timers. Setting a timer again moves it.
pub type TimerId = u16;
