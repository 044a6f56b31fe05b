//! The messages between candidates.

use super::election::Notification;
use crate::payload::Payload;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// On the election's port.
    Notification(Notification),
    /// On a connection between a follower and its leader.
    Packet {
        /// The connection; a later one of the same process has a higher number.
        connection: Connection,
        packet: Packet,
    },
}

/// A connection's identity: the follower's process, and a counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Connection {
    /// Distinguishes the processes of a node.
    pub process: u64,
    /// The process's count of connections.
    pub number: u32,
}

/// A packet between a leader and a follower.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Packet {
    /// Follower: wants to follow, and has accepted epochs up to this one.
    FollowerInfo {
        /// The newest accepted epoch.
        accepted: u32,
    },
    /// Leader: proposes the epoch.
    LeaderInfo { epoch: u32 },
    /// Follower: has durably accepted the epoch.
    AckEpoch {
        /// The current epoch so far; `None` if the new one had been accepted before, which does not count.
        current: Option<u32>,
        /// The last transaction.
        zxid: u64,
    },
    /// Leader: a quorum has accepted the epoch.
    NewLeader { epoch: u32 },
    /// Follower: has durably made the epoch its current one.
    Ack { epoch: u32 },
    /// Leader: a quorum follows, and the reign has begun.
    UpToDate,
    /// Leader: is still leading.
    Ping {
        /// The time of sending by the leader's clock, which identifies the ping.
        sent: u64,
    },
    /// Follower: answers a ping.
    Pong {
        /// The answered ping's.
        sent: u64,
    },
    /// Either: has hung up, or is not listening.
    Closed,
}

impl Payload for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Notification(_) => "notification",
            Message::Packet { packet, .. } => match packet {
                Packet::FollowerInfo { .. } => "follower-info",
                Packet::LeaderInfo { .. } => "leader-info",
                Packet::AckEpoch { .. } => "ack-epoch",
                Packet::NewLeader { .. } => "new-leader",
                Packet::Ack { .. } => "ack",
                Packet::UpToDate => "up-to-date",
                Packet::Ping { .. } => "ping",
                Packet::Pong { .. } => "pong",
                Packet::Closed => "closed",
            },
        }
    }
}
