//! What members say.

use super::gossip::{HEADER_BYTES, NAME_BYTES, PACKET_BYTES, PART_BYTES, Update};
use crate::{payload::Payload, types::NodeId};

/// A datagram of the detector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Message {
    /// What it is about.
    pub body: Body,
    /// What is said of members besides.
    pub updates: Vec<Update>,
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
    /// The updates are all that the sender knows. memberlist exchanges that over TCP, so that its length has no bound.
    State {
        /// Tell me the same.
        answer: bool,
    },
}

impl Body {
    /// Its length in a packet: in MessagePack, with field names (`net.go: ping, indirectPingReq, ackResp, nackResp`).
    const fn bytes(self) -> usize {
        match self {
            Body::Ping { .. } => 61 + 2 * NAME_BYTES,
            Body::PingRequest { .. } => 87 + 2 * NAME_BYTES,
            Body::Ack { .. } => 22,
            Body::Nack { .. } => 13,
            Body::Gossip | Body::State { .. } => 0,
        }
    }

    /// How many bytes of a packet it leaves to updates (`net.go: sendMsg`, `state.go: gossip`).
    pub const fn leaves(self) -> usize {
        PACKET_BYTES - HEADER_BYTES - self.bytes()
    }
}

impl Message {
    /// Its length as a packet.
    pub fn bytes(&self) -> usize {
        let updates: usize = self.updates.iter().map(|update| PART_BYTES + update.bytes()).sum();
        HEADER_BYTES + self.body.bytes() + updates
    }
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
