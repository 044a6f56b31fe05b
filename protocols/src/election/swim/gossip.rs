//! What members tell each other about members, on whatever message goes out anyway.
//!
//! Source: Das, Gupta, Motivala, "SWIM" (DSN 2002, section 4.1); hashicorp/memberlist `queue.go: GetBroadcasts`, `util.go:
//! retransmitLimit`.

use crate::types::NodeId;
use std::cmp::Reverse;

/// `RetransmitMult`.
const RETRANSMIT_MULTIPLIER: u32 = 4;

/// `UDPBufferSize` of `DefaultLANConfig`: no packet is longer.
pub const PACKET_BYTES: usize = 1400;
/// `compoundHeaderOverhead`: what a packet of several parts begins with.
pub const HEADER_BYTES: usize = 2;
/// `compoundOverhead`: the length of each part.
pub const PART_BYTES: usize = 2;
/// The length of a member's name: assumed, since names are no part of these messages.
pub const NAME_BYTES: usize = 16;

/// What is said of a member.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// It lives.
    Alive,
    /// It did not answer.
    Suspect {
        /// Who says so.
        by: NodeId,
    },
    /// It did not defend itself; of itself: it leaves.
    Dead {
        /// Who says so.
        by: NodeId,
    },
}

/// What is said of which life of which member.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Update {
    /// Counts how often the member has had to refute what was said of it; what is said of an earlier count is void.
    pub incarnation: u32,
    /// The member.
    pub node: NodeId,
    /// What.
    pub status: Status,
}

impl Update {
    /// Its length in a packet: in MessagePack, with field names (`net.go: alive, suspect, dead`), for a member with an IPv4
    /// address, without metadata, and for incarnations below 128.
    pub const fn bytes(&self) -> usize {
        match self.status {
            Status::Alive => 56 + NAME_BYTES,
            Status::Suspect { .. } | Status::Dead { .. } => 27 + 2 * NAME_BYTES,
        }
    }
}

/// Updates that are still to be told: `TransmitLimitedQueue`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Broadcasts {
    /// The newest last.
    waiting: Vec<(u32, Update)>,
}

impl Broadcasts {
    /// Tells of a member, instead of what was to be told of it before.
    pub fn push(&mut self, update: Update) {
        self.waiting.retain(|(_, other)| other.node != update.node);
        self.waiting.push((0, update));
    }

    /// Is there nothing to tell?
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What a packet carries that has so many bytes left, in a cluster of `members`: what was told least often first, of that
    /// the longest, of that the newest; what does not fit is passed over. Each is told 4 · ⌈log₁₀(members + 1)⌉ times.
    pub fn take(&mut self, members: usize, mut free: usize) -> Vec<Update> {
        let limit = RETRANSMIT_MULTIPLIER * ((members + 1) as f64).log10().ceil() as u32;
        let mut order: Vec<usize> = (0..self.waiting.len()).rev().collect();
        order.sort_by_key(|index| {
            let (told, update) = &self.waiting[*index];
            (*told, Reverse(update.bytes()))
        });
        let mut updates = Vec::new();
        for index in order {
            let (told, update) = &mut self.waiting[index];
            if let Some(rest) = free.checked_sub(PART_BYTES + update.bytes()) {
                free = rest;
                *told += 1;
                updates.push(*update);
            }
        }
        self.waiting.retain(|(told, _)| *told < limit);
        updates
    }
}
