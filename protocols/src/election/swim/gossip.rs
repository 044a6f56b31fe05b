//! What members tell each other about members, on whatever message goes out anyway.
//!
//! Source: Das, Gupta, Motivala, "SWIM" (DSN 2002, section 4.1); hashicorp/memberlist `queue.go: GetBroadcasts`, `util.go:
//! retransmitLimit`.

use crate::types::NodeId;

/// How many updates a message carries at most. A real packet of 1400 bytes has room for dozens; here messages travel as
/// values of a fixed size.
pub const PIGGYBACK: usize = 3;

/// `RetransmitMult`.
const RETRANSMIT_MULTIPLIER: u32 = 4;

/// What is said of a member.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rumour {
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
    /// Counts how often the member has had to contradict; what is said of an earlier count is void.
    pub incarnation: u32,
    /// The member.
    pub node: NodeId,
    /// What.
    pub rumour: Rumour,
}

/// Updates on a message.
pub type Updates = [Option<Update>; PIGGYBACK];

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

    /// What the next message carries in a cluster of `members`: what was told least often, of that the newest. Each is told
    /// 4 · ⌈log₁₀(members + 1)⌉ times. `first` goes before all others.
    pub fn take(&mut self, members: usize, first: Option<Update>) -> Updates {
        let limit = RETRANSMIT_MULTIPLIER * ((members + 1) as f64).log10().ceil() as u32;
        let mut order: Vec<usize> = (0..self.waiting.len()).rev().collect();
        order.sort_by_key(|index| self.waiting[*index].0);
        let mut updates = [None; PIGGYBACK];
        let mut room = updates.iter_mut();
        if let Some(update) = first
            && let Some(place) = room.next()
        {
            *place = Some(update);
        }
        for (place, index) in room.zip(order) {
            *place = Some(self.waiting[index].1);
            self.waiting[index].0 += 1;
        }
        self.waiting.retain(|(told, _)| *told < limit);
        updates
    }
}
