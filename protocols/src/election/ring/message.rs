//! What members of a ring say.

use crate::{
    elector,
    payload::{Nothing, Payload},
    types::NodeId,
};

/// What a member wants done.
pub(super) type Output = elector::Output<Message, Nothing>;

/// What travels between neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// A hop of a lap.
    Frame {
        /// Which link of the sender's: a new one for each successor and each start of its process.
        session: u64,
        /// The number of the oldest frame that the sender has no acknowledgement of.
        first: u64,
        /// Counts the link's frames.
        number: u64,
        /// What travels.
        lap: Lap,
    },
    /// Every frame before this number has arrived.
    Acknowledgement {
        /// Of the link with this session.
        session: u64,
        /// The number that is awaited.
        number: u64,
    },
    /// Are you there again?
    Probe,
    /// The answer to a probe.
    Present,
}

/// Something on its way around the ring.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lap {
    /// Who sent it, and takes it off the ring.
    pub origin: NodeId,
    /// How many more nodes may pass it on.
    pub hops: u16,
    /// What it says.
    pub body: Body,
}

/// What a lap says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Body {
    /// The origin stands.
    Candidate {
        /// The origin's name for this candidacy.
        attempt: u64,
    },
    /// The origin has won: Chang and Roberts' second lap.
    Coordinator {
        /// The origin's name for this leadership.
        reign: u64,
    },
    /// The origin leads.
    Heartbeat {
        /// The origin's name for this leadership.
        reign: u64,
        /// Counts its heartbeats from 1.
        number: u64,
    },
    /// The origin leads no more, and does not want to.
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
