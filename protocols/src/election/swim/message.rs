//! The messages between members, and a failure detector's effects.

use super::gossip::{HEADER_BYTES, NAME_BYTES, PACKET_BYTES, PART_BYTES, Update};
use crate::{payload::Payload, types::NodeId};

/// A datagram of the detector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Message {
    pub body: Body,
    /// Updates about members, carried along.
    pub updates: Vec<Update>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Body {
    /// Asks whether the receiver is up.
    Ping {
        /// The probe's number.
        number: u32,
    },
    /// Asks the receiver to ping `target`.
    PingRequest {
        /// The asker's number for the probe.
        number: u32,
        /// The member to ping.
        target: NodeId,
    },
    /// The answer to a ping, direct or on another's behalf.
    Ack {
        /// The answered probe.
        number: u32,
    },
    /// The helper has pinged without success.
    Nack {
        /// The asker's number for the probe.
        number: u32,
    },
    /// Only updates.
    Gossip,
    /// The updates are the sender's full state. memberlist exchanges that over TCP, so its length is not limited.
    State {
        /// Whether the receiver is to send its own.
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

    /// The bytes of a packet that it leaves for updates (`net.go: sendMsg`, `state.go: gossip`).
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

/// A member's state in another's view.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Never heard from.
    Unknown,
    Alive,
    /// It has not answered, but may still refute that. It counts as alive.
    Suspect,
    /// It has not refuted the suspicion in time.
    Dead,
    /// It has announced that it leaves.
    Left,
}

/// An action or a report of the detector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Send a datagram.
    Send { to: NodeId, message: Message },
    /// A member's state has changed.
    Changed {
        node: NodeId,
        /// The new state.
        state: State,
    },
    /// A probe begins, even if no member is left to probe.
    Probing,
    /// The probe was answered, if there was one.
    Probed,
}
