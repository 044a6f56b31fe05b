//! The History: the events at the protocol's boundary, in true time. Only it passes from running to judging, whether
//! the run was simulated, real, or an external production log.
//!
//! Times are microseconds of true time; events are in the order in which they happened, even within a microsecond.
//! [`json`] has the line format.

mod fault;
mod header;
pub mod json;

pub use fault::{FaultEvent, FaultKind, Phase};
pub use header::{Fact, Header, Requirement, ServiceCluster, usual_resources};

use crate::{
    elector::Deposed,
    message::{Write, WriteVerdict},
    types::{Incarnation, NodeId, Payload, RequestId, Resource},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version in a foreign log's write that tells neither the version read nor the one written. Such writes cannot be
/// checked for stale reads.
pub const UNKNOWN_VERSION: u64 = u64::MAX;
/// The number of a write in a log without numbers: real numbers start at 1.
pub const UNKNOWN_SEQ: u64 = 0;

/// The request of a foreign log's write that names none. Every such write counts as a separate request.
pub const UNKNOWN_REQUEST: RequestId = RequestId { client: NodeId(u16::MAX), number: 0 };

/// The kind under which [`Kind::End`] counts requests that reached the coordination service, including keepalives. They
/// are separate from the election's messages.
pub const SERVICE_REQUESTS: &str = "request-to-service";

/// The kind for the most such requests in any one second, from the first fault on.
pub const SERVICE_REQUESTS_PEAK: &str = "request-to-service-in-one-second";

/// The kind for the most such requests within ten milliseconds.
pub const SERVICE_REQUESTS_BURST: &str = "request-to-service-in-ten-ms";

#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// True time, microseconds since the start of the run.
    pub t_us: u64,
    /// The group that it belongs to; 0 for events that concern all of them, see [`Kind::is_shared`].
    pub group: u16,
    pub kind: Kind,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// A candidate started to campaign.
    Campaign { node: NodeId },
    /// A node started to believe that it leads.
    Elected(Incarnation),
    /// A node's belief ended.
    Deposed {
        /// The leadership that ended.
        incarnation: Incarnation,
        reason: Deposed,
    },
    /// The store answered a seal.
    Seal {
        /// The resource to be sealed.
        resource: Resource,
        /// The sealing leadership.
        incarnation: Incarnation,
        accepted: bool,
        /// The resource's last sequence number at the seal.
        seq: u64,
        /// The resource's version at the seal.
        version: u64,
        /// The payload last recorded before the seal.
        payload: Option<Payload>,
    },
    /// A leader sent a protected write for the first time.
    Issue { node: NodeId, write: Write },
    /// The store decided on a write.
    Apply {
        node: NodeId,
        write: Write,
        verdict: WriteVerdict,
        /// The resource's version after the write.
        version: u64,
    },
    /// The plans removed by an accepted deletion. Follows the `Apply` of that deletion.
    Deleted(Box<Deleted>),
    /// A client requested a number for the first time.
    Invoke { request: RequestId },
    /// A client's request ended.
    Reply {
        request: RequestId,
        /// The result.
        outcome: Outcome,
    },
    /// A client requested the last number.
    ReadInvoke { request: RequestId },
    /// A client's request for the last number ended.
    ReadReply {
        request: RequestId,
        /// The node that the client had asked.
        node: NodeId,
        /// The result; its number is the last that the node knew.
        outcome: Outcome,
    },
    /// The coordination service granted leadership to a node, according to the service's own state.
    Grant {
        /// The holder.
        node: NodeId,
        /// The grant's fencing token; `None` if the protocol has none.
        token: Option<u64>,
    },
    /// A grant ended in the service.
    GrantEnd {
        /// The holder.
        node: NodeId,
        /// Its token, if any.
        token: Option<u64>,
        reason: GrantEnd,
    },
    /// A candidate voted: the step by which a quorum grants leadership. Recorded when the vote is sent, so after it was
    /// made durable if the protocol does so.
    Vote {
        voter: NodeId,
        /// The candidate voted for.
        candidate: NodeId,
        /// The term or epoch of the vote: its winner's token.
        token: u64,
    },
    /// The state of a process's clocks: at the start of the run, and whenever a fault changes them.
    Clock {
        node: NodeId,
        /// Wall clock minus true time at this moment, microseconds.
        wall_offset_us: i64,
        /// How much faster than true time both clocks run, parts per million.
        rate_ppm: i64,
    },
    /// A fault began, ended, or happened in an instant.
    Fault(Box<FaultEvent>),
    /// A process's state changed.
    Node {
        node: NodeId,
        /// The new state.
        state: NodeState,
    },
    /// A member of the coordination service started or stopped leading the other members, as far as it knows.
    MemberLeads {
        node: NodeId,
        /// True if it started.
        leads: bool,
    },
    /// The copy on a leader's node became the primary; see [`crate::copies`].
    Promoted {
        incarnation: Incarnation,
        /// The leadership of that copy's last entry; `None` if it had none.
        after: Option<Incarnation>,
    },
    /// A copy dropped the end of its log, because another copy's log diverges.
    Rewound {
        /// The copy's node.
        node: NodeId,
        /// The leadership of the copy's last entry before.
        from: Incarnation,
        /// The leadership whose log it follows now.
        onto: Incarnation,
        /// The number of dropped entries.
        entries: u64,
    },
    /// Work that began with an accepted write has ended: in a log that gives its duration.
    Work {
        /// The resource.
        resource: Resource,
        /// The leadership.
        incarnation: Incarnation,
        /// Its duration, microseconds.
        for_us: u64,
        /// Whether others may do such work at the same time, such as reading.
        shared: bool,
    },
    /// The run has ended. The last event of a complete history.
    End {
        /// Messages delivered: datagrams and stream segments. 0 if not counted.
        messages: u64,
        /// The election's messages sent, by kind. Empty if not counted.
        by_kind: BTreeMap<String, u64>,
    },
}

impl Kind {
    /// Whether it concerns all groups. Events of processes and their faults do; those of one leadership do not.
    pub fn is_shared(&self) -> bool {
        match self {
            Kind::Clock { .. } | Kind::MemberLeads { .. } | Kind::End { .. } => true,
            Kind::Node { state, .. } => !matches!(state, NodeState::Joined | NodeState::Left),
            // A joining process starts outside of all groups.
            Kind::Fault(fault) => !fault.kind.ends_leadership(),
            _ => false,
        }
    }
}

/// The plans removed by a deletion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deleted {
    pub resource: Resource,
    /// The leadership that deleted them.
    pub incarnation: Incarnation,
    /// The number of the write that requested it.
    pub seq: u64,
    /// The numbers of the removed plans, in order of creation.
    pub plans: Vec<u64>,
}

/// The result of a client's request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It got a number.
    Ok {
        /// The fencing token under which the number was handed out.
        token: u64,
        seq: u64,
    },
    /// All nodes that it asked answered that they do not lead; nothing happened.
    Rejected,
    /// It gave up: a number may have been handed out.
    Unknown,
}

/// Why a grant ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrantEnd {
    /// Its time ran out.
    Expired,
    /// Its holder released it.
    Released,
    /// Another party took it away or overwrote it.
    Taken,
    /// The service lost it.
    Lost,
}

/// A process's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeState {
    /// Started or restarted.
    Up,
    /// Killed; its machine keeps running and resets its connections.
    Down,
    /// Powered off, without notice to anybody.
    Off,
    /// Paused: it runs nothing, and its sockets buffer.
    Paused,
    /// Running again.
    Resumed,
    /// A member of the cluster.
    Joined,
    /// No longer a member of the cluster.
    Left,
}

/// Receives a history as it happens.
pub trait Sink {
    fn record(&mut self, event: &Event);

    /// Takes several events at once, in their order: a listener that is told of many in a row is faster.
    fn record_all(&mut self, events: &[Event]) {
        events.iter().for_each(|event| self.record(event));
    }
}
