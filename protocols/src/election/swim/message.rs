//! What members say.

use super::gossip::Updates;
use crate::{payload::Payload, types::NodeId};

/// A datagram of the detector.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Message {
    /// What it is about.
    pub body: Body,
    /// What is said of members besides.
    pub updates: Updates,
}

/// What a datagram is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Body {
    /// Are you there?
    Ping {
        /// Names the probe.
        number: u32,
    },
    /// Ask `target` for me.
    PingRequest {
        /// The asker's name for the probe.
        number: u32,
        /// Whom.
        target: NodeId,
    },
    /// Yes, or: it is.
    Ack {
        /// The probe that this answers.
        number: u32,
    },
    /// I asked in vain.
    Nack {
        /// The asker's name for the probe.
        number: u32,
    },
    /// Only updates.
    Gossip,
    /// The updates are all that the sender knows, or a part of it.
    State {
        /// Tell me the same.
        answer: bool,
    },
}

impl Payload for Message {
    fn kind(&self) -> &'static str {
        match self.body {
            Body::Ping { .. } => "ping",
            Body::PingRequest { .. } => "ping-request",
            Body::Ack { .. } => "ack",
            Body::Nack { .. } => "nack",
            Body::Gossip => "gossip",
            Body::State { .. } => "state",
        }
    }
}
