//! Updates about members, which travel on other messages, and the time that a suspect has to defend itself.

use crate::types::{MILLISECOND, NodeId};
use std::cmp::Reverse;

/// `RetransmitMult`.
const RETRANSMIT_MULTIPLIER: u32 = 4;

/// `UDPBufferSize` of `DefaultLANConfig`: the maximum length of a packet.
pub const PACKET_BYTES: usize = 1400;
/// `compoundHeaderOverhead`: the header of a packet of several parts.
pub const HEADER_BYTES: usize = 2;
/// `compoundOverhead`: each part's length field.
pub const PART_BYTES: usize = 2;
/// The assumed length of a member's name; these messages do not contain names.
pub const NAME_BYTES: usize = 16;

/// An update's claim about a member.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    Alive,
    /// It has not answered.
    Suspect {
        /// The accuser.
        by: NodeId,
    },
    /// It has not refuted the suspicion; or, from the member itself, it leaves.
    Dead {
        /// The accuser.
        by: NodeId,
    },
}

/// A claim about one incarnation of a member.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Update {
    /// How often the member has had to refute a claim; claims about an earlier incarnation are void.
    pub incarnation: u32,
    pub node: NodeId,
    pub status: Status,
}

impl Update {
    /// Its length in a packet: in MessagePack, with field names (`net.go: alive, suspect, dead`), for a member with an
    /// IPv4 address and without metadata, and for incarnations below 128.
    pub const fn bytes(&self) -> usize {
        match self.status {
            Status::Alive => 56 + NAME_BYTES,
            Status::Suspect { .. } | Status::Dead { .. } => 27 + 2 * NAME_BYTES,
        }
    }
}

/// Updates yet to be sent: `TransmitLimitedQueue`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Broadcasts {
    /// The newest last.
    waiting: Vec<(u32, Update)>,
}

impl Broadcasts {
    /// Queues an update, replacing any earlier one about the same member.
    pub fn push(&mut self, update: Update) {
        self.waiting.retain(|(_, other)| other.node != update.node);
        self.waiting.push((0, update));
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The updates for a packet with `free` bytes left, in a cluster of `members`: first those sent least often, then
    /// the longest, then the newest; those that do not fit are skipped. Each is sent 4 · ⌈log₁₀(members + 1)⌉ times.
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

// The time that a suspect has to defend itself: Lifeguard's timeout, which is long at first and shrinks with every
// independent accuser.
//
// Source: Dadgar, Phillips, Currey, "Lifeguard: Local Health Awareness for More Accurate Failure Detection" (DSN 2018,
// section IV-B), as hashicorp/memberlist has it: `suspicion.go: newSuspicion, Confirm, remainingSuspicionTime`, `util.go:
// suspicionTimeout`, `state.go: suspectNode`.

/// `SuspicionMult`.
const MULTIPLIER: u64 = 4;
/// `SuspicionMaxTimeoutMult`.
const MAX_MULTIPLIER: u64 = 6;

/// A suspect's shortest timeout in a cluster of `members`, nanoseconds: `MULTIPLIER` probe intervals, times the decimal
/// logarithm of `members` if that exceeds 1.
pub fn shortest(members: usize, interval: u64) -> u64 {
    let scale = (members.max(1) as f64).log10().max(1.0);
    MULTIPLIER * ((scale * 1_000.0) as u64) * interval / 1_000
}

/// A running suspicion.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Suspicion {
    /// The number of further accusers that bring the timeout down to its shortest.
    wanted: usize,
    shortest: u64,
    longest: u64,
    start: u64,
    /// The accusers, in order.
    accusers: Vec<NodeId>,
}

impl Suspicion {
    /// `by` accuses a member at `start` (nanoseconds) in a cluster of `members` with one probe per `interval`.
    pub fn new(by: NodeId, members: usize, interval: u64, start: u64) -> Self {
        // Neither the accuser nor the suspect confirms; if too few others are left, none is waited for.
        let wanted = (MULTIPLIER - 2) as usize;
        let wanted = if members < wanted + 2 { 0 } else { wanted };
        let shortest = shortest(members, interval);
        Suspicion { wanted, shortest, longest: MAX_MULTIPLIER * shortest, start, accusers: vec![by] }
    }

    /// Adds an accusation. Returns true if it matters: from a new accuser, while more are needed.
    pub fn confirm(&mut self, by: NodeId) -> bool {
        let news = self.accusers.len() - 1 < self.wanted && !self.accusers.contains(&by);
        if news {
            self.accusers.push(by);
        }
        news
    }

    /// When the suspect counts as dead, nanoseconds: start + max − (max − min) · log(n + 1) / log(k + 1), in whole
    /// milliseconds, at least min.
    pub fn due(&self) -> u64 {
        if self.wanted == 0 {
            return self.start + self.shortest;
        }
        let share = (self.accusers.len() as f64).ln() / (self.wanted as f64 + 1.0).ln();
        let timeout = self.longest as f64 - share * (self.longest - self.shortest) as f64;
        let timeout = (timeout / MILLISECOND as f64).floor() as u64 * MILLISECOND;
        self.start + timeout.max(self.shortest)
    }
}
