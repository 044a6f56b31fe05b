//! The History: what happened at the protocol's boundary, in true time. It is all that crosses from running to judging,
//! whether the run was simulated, real, or somebody's production log.
//!
//! Times are microseconds of true time; events are in the order in which they happened, also within a microsecond.
//! [`json`] has the line format.

mod fault;
mod header;
pub mod json;

pub use fault::{FaultEvent, FaultKind, Phase};
pub use header::{Fact, Header, Requirement, usual_resources};

use crate::{
    elector::Deposed,
    message::{Write, WriteVerdict},
    types::{Incarnation, NodeId, Payload, RequestId, Resource},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of a foreign log's write that does not say what it was built on, or what it made of the resource. Such
/// writes cannot be checked for stale reads.
pub const UNKNOWN_VERSION: u64 = u64::MAX;
/// The number of a write of which a log says none: numbers that are handed out begin with 1.
pub const UNKNOWN_SEQ: u64 = 0;

/// The request of a foreign log's write that does not say whom it served. Every such write counts as a request of its own.
pub const UNKNOWN_REQUEST: RequestId = RequestId { client: NodeId(u16::MAX), number: 0 };

/// The kind under which [`Kind::End`] counts requests that reached the coordination service, keepalives included. They are
/// told apart from the messages of the election.
pub const SERVICE_REQUESTS: &str = "request-to-service";

/// The kind under which it counts the most of them in any one second, from the first fault on.
pub const SERVICE_REQUESTS_PEAK: &str = "request-to-service-in-one-second";

/// The same within ten milliseconds.
pub const SERVICE_REQUESTS_BURST: &str = "request-to-service-in-ten-ms";

/// One event.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// True time, microseconds since the start of the run.
    pub t_us: u64,
    /// The group that it belongs to; 0 for what concerns all of them, see [`Kind::is_shared`].
    pub group: u16,
    /// What happened.
    pub kind: Kind,
}

/// What happened.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// A candidate starts to want leadership.
    Campaign {
        /// Who.
        node: NodeId,
    },
    /// A node began to believe that it leads.
    Elected(Incarnation),
    /// A node stopped believing.
    Deposed {
        /// Whose belief ended.
        incarnation: Incarnation,
        /// Why.
        reason: Deposed,
    },
    /// The store answered a seal.
    Seal {
        /// What was to be sealed.
        resource: Resource,
        /// By whom.
        incarnation: Incarnation,
        /// Was the seal accepted?
        accepted: bool,
        /// The resource's last sequence number at the seal.
        seq: u64,
        /// The resource's version at the seal.
        version: u64,
        /// What was recorded last before the seal.
        payload: Option<Payload>,
    },
    /// A leader sent a protected write for the first time.
    Issue {
        /// The writer.
        node: NodeId,
        /// The write.
        write: Write,
    },
    /// The store decided on a write.
    Apply {
        /// The writer.
        node: NodeId,
        /// The write.
        write: Write,
        /// The decision.
        verdict: WriteVerdict,
        /// The resource's version after it.
        version: u64,
    },
    /// What a deletion that the store has just accepted removed. It follows the `Apply` of that deletion.
    Deleted(Box<Deleted>),
    /// A client asked for a number for the first time.
    Invoke {
        /// The request.
        request: RequestId,
    },
    /// A client's request ended.
    Reply {
        /// The request.
        request: RequestId,
        /// How.
        outcome: Outcome,
    },
    /// A client asked for the last number.
    ReadInvoke {
        /// The request.
        request: RequestId,
    },
    /// A client's question for the last number ended.
    ReadReply {
        /// The request.
        request: RequestId,
        /// Whom the client had asked.
        node: NodeId,
        /// How it ended; the number is the last that the node knew.
        outcome: Outcome,
    },
    /// The coordination service gave leadership to a node, as the service's own state has it.
    Grant {
        /// To whom.
        node: NodeId,
        /// The fencing token that goes with it; `None` when the protocol has none.
        token: Option<u64>,
    },
    /// A grant ended in the service.
    GrantEnd {
        /// Whose.
        node: NodeId,
        /// Its token, if it has one.
        token: Option<u64>,
        /// Why.
        reason: GrantEnd,
    },
    /// A candidate voted: the step by which a quorum grants leadership. Recorded when the vote is given away, that is, after
    /// it was made durable by a protocol that does so.
    Vote {
        /// Who votes.
        voter: NodeId,
        /// For whom.
        candidate: NodeId,
        /// The term or epoch that the vote is for; it is the token of whoever wins it.
        token: u64,
    },
    /// What a process's clocks do from now on: at the start of the run, and whenever a fault changes them.
    Clock {
        /// Whose.
        node: NodeId,
        /// Wall clock minus true time at this moment, microseconds.
        wall_offset_us: i64,
        /// How much faster than true time both clocks run, parts per million.
        rate_ppm: i64,
    },
    /// A fault began, ended, or was over at once.
    Fault(Box<FaultEvent>),
    /// A process changed its state.
    Node {
        /// Which.
        node: NodeId,
        /// To what.
        state: NodeState,
    },
    /// A member of the coordination service began to lead its other members, or ceased to, as far as it knows.
    MemberLeads {
        /// Which.
        node: NodeId,
        /// Does it lead from now on?
        leads: bool,
    },
    /// The copy on a leader's node became the one that is written to; see [`crate::copies`].
    Promoted {
        /// The leadership.
        incarnation: Incarnation,
        /// The leadership whose entry was the last in that copy; `None` when there was none.
        after: Option<Incarnation>,
    },
    /// A copy forgot the end of its log, as another copy's goes on differently.
    Rewound {
        /// Whose copy.
        node: NodeId,
        /// The leadership whose entry was the last in it.
        from: Incarnation,
        /// The leadership whose log it follows from now on.
        onto: Incarnation,
        /// How many entries are gone.
        entries: u64,
    },
    /// A piece of work has ended that began with an accepted write: in a log that says how long it took.
    Work {
        /// On what.
        resource: Resource,
        /// Whose.
        incarnation: Incarnation,
        /// How long it lasted, microseconds.
        for_us: u64,
        /// Others may do the same at the same time, such as reading.
        shared: bool,
    },
    /// The run is over. The last event of a complete history.
    End {
        /// Messages delivered: datagrams and stream segments. 0 when nobody counted.
        messages: u64,
        /// Messages of the election that were sent, by kind. Empty when nobody counted.
        by_kind: BTreeMap<String, u64>,
    },
}

impl Kind {
    /// Does it concern every group? So it is with processes and what strikes them, but not with what befalls one leadership.
    pub fn is_shared(&self) -> bool {
        match self {
            Kind::Clock { .. } | Kind::MemberLeads { .. } | Kind::End { .. } => true,
            Kind::Node { state, .. } => !matches!(state, NodeState::Joined | NodeState::Left),
            // Who joins starts, and is outside of every group at first.
            Kind::Fault(fault) => !fault.kind.ends_leadership(),
            _ => false,
        }
    }
}

/// What a deletion has removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deleted {
    /// From where.
    pub resource: Resource,
    /// On whose behalf.
    pub incarnation: Incarnation,
    /// The number of the write that asked for it.
    pub seq: u64,
    /// The numbers of the plans that are gone, in the order in which they were made.
    pub plans: Vec<u64>,
}

/// How a client's request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It got its number.
    Ok {
        /// Fencing token under which it was handed out.
        token: u64,
        /// The number.
        seq: u64,
    },
    /// Everyone it asked answered that they do not lead; nothing happened.
    Rejected,
    /// It gave up waiting: a number may have been handed out.
    Unknown,
}

/// Why a grant ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrantEnd {
    /// Its time ran out.
    Expired,
    /// Its holder gave it up.
    Released,
    /// Somebody else took it away, or wrote over it.
    Taken,
    /// The service lost it.
    Lost,
}

/// What state a process is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeState {
    /// Started or restarted.
    Up,
    /// Killed; its machine goes on and resets its connections.
    Down,
    /// Powered off; nobody is told.
    Off,
    /// Stopped: runs nothing, its sockets buffer.
    Paused,
    /// Runs again.
    Resumed,
    /// Became a member of the cluster.
    Joined,
    /// Is no member of the cluster any more.
    Left,
}

/// Takes a history as it happens.
pub trait Sink {
    /// The next event.
    fn record(&mut self, event: &Event);
}
