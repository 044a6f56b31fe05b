//! Shared by all roles: timers, durable state, and sending.

use super::{
    election::Notification,
    message::{Connection, Message, Packet},
    quorum::Quorum,
};
use crate::{core::TimerId, election::Setup, elector, payload::Nothing, point::Point, types::NodeId};

pub(super) type Output = elector::Output<Message, Nothing>;

/// The election has been silent long enough.
pub(super) const POLL: TimerId = 0;
/// The leader has been silent for too long.
pub(super) const READ: TimerId = 1;
/// The next resend.
pub(super) const RETRY: TimerId = 2;
/// The leader's next ping.
pub(super) const PING: TimerId = 3;
/// The end of the leader's stage, or of its belief.
pub(super) const DEADLINE: TimerId = 4;
/// The others have had their chance to elect.
pub(super) const REST: TimerId = 5;

/// A role's state after an input.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Next {
    /// Unchanged.
    Stays,
    /// A reign has begun, this node's or its leader's.
    Established { leader: NodeId, epoch: u32 },
    /// The role has ended: look for a leader again.
    Ends,
}

/// Shared by all roles.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Own {
    pub(super) setup: Setup,
    pub(super) quorum: Quorum,
    pub(super) epochs: Epochs,
    /// The number of writes so far.
    pub(super) writes: u64,
    /// How many of them are durable.
    pub(super) durable: u64,
    pub(super) connections: u32,
}

/// How long a leader waits for a quorum to connect, for a sync limit of so long, in its unit.
pub const fn init_limit(sync_limit: u64) -> u64 {
    2 * sync_limit
}

impl Own {
    pub(super) fn node(&self) -> NodeId {
        self.setup.node
    }

    pub(super) fn sync_limit(&self) -> u64 {
        self.setup.timings.lease_ttl
    }

    pub(super) fn init_limit(&self) -> u64 {
        init_limit(self.sync_limit())
    }

    /// Stores the epochs; they are durable once [`Own::durable`] reaches the returned number.
    pub(super) fn persist(&mut self, out: &mut Vec<Output>) -> u64 {
        out.push(Output::Point(Point::BeforePersist));
        out.push(Output::Persist(self.epochs.encode()));
        self.writes += 1;
        self.writes
    }

    pub(super) fn connection(&mut self) -> Connection {
        self.connections = self.connections.wrapping_add(1);
        Connection { process: self.setup.nonce, number: self.connections }
    }

    /// Answers a packet on an unknown connection.
    pub(super) fn reset(&self, from: NodeId, connection: Connection, what: Packet, out: &mut Vec<Output>) {
        if what != Packet::Closed {
            out.push(packet(from, connection, Packet::Closed));
        }
    }
}

/// A vote of a quorum: this candidate has durably accepted the epoch, and will not accept it for another leader.
pub(super) fn accepted(leader: NodeId, epoch: u32, out: &mut Vec<Output>) {
    out.push(Output::Voted { candidate: leader, token: epoch.into() });
    out.push(Output::Point(Point::Voted));
}

pub(super) fn packet(to: NodeId, connection: Connection, packet: Packet) -> Output {
    Output::Send { to, message: Message::Packet { connection, packet } }
}

pub(super) fn notification(to: NodeId, said: Notification) -> Output {
    Output::Send { to, message: Message::Notification(said) }
}

// The state that survives a restart.

/// ZooKeeper's files `acceptedEpoch` and `currentEpoch`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Epochs {
    /// The newest epoch that was promised to a leader. Neither it nor an older one is promised to any other.
    pub accepted: u32,
    /// The newest epoch whose leader was followed; part of this node's votes.
    pub current: u32,
}

impl Epochs {
    /// The last transaction: the epoch in the upper half, a counter in the lower one. Without data, the counter keeps
    /// its initial value.
    pub fn zxid(self) -> u64 {
        u64::from(self.current) << 32
    }

    /// The stored form: decimal text, like ZooKeeper's.
    pub fn encode(self) -> Vec<u8> {
        format!("acceptedEpoch {}\ncurrentEpoch {}\n", self.accepted, self.current).into_bytes()
    }

    /// Decodes the stored form; `None` stands for a node that has never run. Returns `None` if [`Epochs::encode`] did
    /// not write it, or the current epoch was never accepted.
    pub fn decode(stored: Option<&[u8]>) -> Option<Self> {
        let Some(stored) = stored else { return Some(Epochs::default()) };
        let mut lines = std::str::from_utf8(stored).ok()?.lines();
        let accepted = lines.next()?.strip_prefix("acceptedEpoch ")?.parse().ok()?;
        let current = lines.next()?.strip_prefix("currentEpoch ")?.parse().ok()?;
        let epochs = Epochs { accepted, current };
        // Byte for byte, so that a torn number is not taken for a smaller one.
        (current <= accepted && epochs.encode() == stored).then_some(epochs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_is_read() {
        let epochs = Epochs { accepted: 12, current: 11 };
        let bytes = epochs.encode();
        assert_eq!(Epochs::decode(Some(&bytes)), Some(epochs));
        assert_eq!(Epochs::decode(None), Some(Epochs::default()));
        for length in 0..bytes.len() {
            assert_eq!(Epochs::decode(Some(&bytes[..length])), None, "torn after {length} bytes");
        }
        assert_eq!(Epochs::decode(Some(b"acceptedEpoch 3\ncurrentEpoch 4\n")), None);
        assert_eq!(Epochs::decode(Some(b"acceptedEpoch 4\ncurrentEpoch 3\n4\n")), None);
        assert_eq!(Epochs::decode(Some(&[0xff; 8])), None);
    }
}
