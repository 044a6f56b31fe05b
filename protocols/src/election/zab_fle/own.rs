//! What every role works with: its timers, what it keeps, and how it says things.

use super::{
    election::Notification,
    epochs::Epochs,
    message::{Connection, Message, Packet},
    quorum::Quorum,
};
use crate::{core::TimerId, election::Setup, elector, payload::Nothing, point::Point, types::NodeId};

pub(super) type Output = elector::Output<Message, Nothing>;

/// The election has heard nothing for long enough.
pub(super) const POLL: TimerId = 0;
/// The leader has said nothing for too long.
pub(super) const READ: TimerId = 1;
/// Time to say again what was not answered.
pub(super) const RETRY: TimerId = 2;
/// Time for the leader's ping.
pub(super) const PING: TimerId = 3;
/// The leader's stage, or its belief, ends.
pub(super) const DEADLINE: TimerId = 4;
/// The others have had their chance.
pub(super) const REST: TimerId = 5;

/// What has become of a role after an input.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Next {
    /// Nothing new.
    Stays,
    /// A reign has begun, ours or that of whom we follow.
    Established { leader: NodeId, epoch: u32 },
    /// It is over: look for a leader again.
    Ends,
}

/// What every role works with.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Own {
    pub(super) setup: Setup,
    pub(super) quorum: Quorum,
    pub(super) epochs: Epochs,
    /// How many states were given to the disk.
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

    /// Writes the epochs down; durable when [`Own::durable`] has reached what this gives back.
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

    /// Answers what came on a connection that there is not.
    pub(super) fn reset(&self, from: NodeId, connection: Connection, what: Packet, out: &mut Vec<Output>) {
        if what != Packet::Closed {
            out.push(packet(from, connection, Packet::Closed));
        }
    }
}

/// What a quorum grants by: this candidate has accepted an epoch, durably, and will accept it from nobody else.
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
