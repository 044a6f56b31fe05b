//! The messages between members of a ring.

use crate::{
    elector,
    payload::{Nothing, Payload},
    types::NodeId,
};

/// A member's outputs.
pub(super) type Output = elector::Output<Message, Nothing>;

/// A message between neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// One hop of a lap.
    Frame {
        /// The sender's link: a new session for each successor and each start of its process.
        session: u64,
        /// The number of the sender's oldest unacknowledged frame.
        first: u64,
        /// The frame's number on this link.
        number: u64,
        lap: Lap,
    },
    /// Every frame before this number has arrived.
    Acknowledgement {
        /// The acknowledged link's session.
        session: u64,
        /// The next expected number.
        number: u64,
    },
    /// Asks whether a skipped node is back.
    Probe,
    /// The answer to a probe.
    Present,
}

/// A message on its way around the ring.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lap {
    /// The sender, which takes it off the ring.
    pub origin: NodeId,
    /// How many more nodes may pass it on.
    pub hops: u16,
    pub body: Body,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Body {
    /// The origin is a candidate.
    Candidate {
        /// The number of this candidacy, chosen by the origin.
        attempt: u64,
    },
    /// The origin has won: Chang and Roberts' second lap.
    Coordinator {
        /// The number of this leadership, chosen by the origin.
        reign: u64,
    },
    /// The origin leads.
    Heartbeat {
        /// The number of this leadership, chosen by the origin.
        reign: u64,
        /// The heartbeat's number, from 1.
        number: u64,
    },
    /// The origin has resigned, and does not want to lead.
    Resigned,
}

impl Payload for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Frame { lap: Lap { body: Body::Candidate { .. }, .. }, .. } => "election",
            Message::Frame { lap: Lap { body: Body::Coordinator { .. }, .. }, .. } => "coordinator",
            Message::Frame { lap: Lap { body: Body::Heartbeat { .. }, .. }, .. } => "heartbeat",
            Message::Frame { lap: Lap { body: Body::Resigned, .. }, .. } => "resignation",
            Message::Acknowledgement { .. } => "acknowledgement",
            Message::Probe => "probe",
            Message::Present => "present",
        }
    }
}
