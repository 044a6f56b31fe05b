//! What candidates say to each other.

use super::election::Notification;
use crate::payload::Payload;

/// What candidates say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// On the election's port.
    Notification(Notification),
    /// On a connection of a follower with its leader.
    Packet {
        /// Which; a later one of the same process has a higher number.
        connection: Connection,
        /// What.
        packet: Packet,
    },
}

/// The name of a connection: the follower's process and a count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Connection {
    /// Tells processes of one node apart.
    pub process: u64,
    /// Counts the process's connections.
    pub number: u32,
}

/// What passes between a leader and a follower.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Packet {
    /// Follower: I want to follow, and have accepted epochs up to this one.
    FollowerInfo {
        /// The newest accepted epoch.
        accepted: u32,
    },
    /// Leader: this is to be the epoch.
    LeaderInfo {
        /// The epoch.
        epoch: u32,
    },
    /// Follower: accepted, durably.
    AckEpoch {
        /// The epoch that was current until now; `None` when the new one had been accepted before, which does not count.
        current: Option<u32>,
        /// The last transaction.
        zxid: u64,
    },
    /// Leader: a quorum has accepted it.
    NewLeader {
        /// The epoch.
        epoch: u32,
    },
    /// Follower: it is my current epoch now, durably.
    Ack {
        /// The epoch.
        epoch: u32,
    },
    /// Leader: a quorum follows, the reign has begun.
    UpToDate,
    /// Leader: still here.
    Ping {
        /// When it was sent, by the leader's clock; tells pings apart.
        sent: u64,
    },
    /// Follower: so am I.
    Pong {
        /// Of the ping that this answers.
        sent: u64,
    },
    /// Either: hung up; or nobody is listening.
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
