//! Shared by all roles: timers, durable state, and sending.

use super::{
    election::Notification,
    epochs::Epochs,
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

impl Own {
    pub(super) fn node(&self) -> NodeId {
        self.setup.node
    }

    pub(super) fn sync_limit(&self) -> u64 {
        self.setup.timings.lease_ttl
    }

    pub(super) fn init_limit(&self) -> u64 {
        2 * self.sync_limit()
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
