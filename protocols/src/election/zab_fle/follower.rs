//! Following: the learner's half of the handshake that begins an epoch, and then answering pings (`Learner.java:
//! registerWithLeader, syncWithLeader`, `Follower.java: followLeader`).

use super::{
    message::{Connection, Packet},
    own::{Next, Output, Own, READ, RETRY, accepted, packet},
};
use crate::types::{MILLISECOND, NodeId};

/// The interval between attempts to connect to a leader that does not listen yet, nanoseconds
/// (`leaderConnectDelayDuringRetryMs`).
const CONNECT_DELAY: u64 = 100 * MILLISECOND;
/// How many connects may be refused.
const CONNECT_TRIES: u32 = 5;
/// The interval before an unanswered packet is resent, as TCP would, nanoseconds.
const RETRANSMIT: u64 = 200 * MILLISECOND;

/// A candidate that follows.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Follower {
    pub leader: NodeId,
    connection: Connection,
    stage: Stage,
    refusals: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stage {
    /// The leader does not listen.
    Refused,
    /// FOLLOWERINFO was sent.
    Connecting,
    /// The new epoch is being stored as accepted.
    Accepting { epoch: u32, acked: Option<u32>, write: u64 },
    /// ACKEPOCH was sent, with the epoch current at that time if it counts.
    Acknowledging { epoch: u32, acked: Option<u32>, zxid: u64 },
    /// The new epoch is being stored as current.
    Syncing { epoch: u32, write: u64 },
    /// NEWLEADER was acknowledged.
    Synced { epoch: u32 },
    /// UPTODATE has arrived; `pinged` is the newest ping.
    Serving { pinged: u64 },
}

impl Follower {
    /// Connects to an elected leader.
    pub fn connect(own: &mut Own, now: u64, leader: NodeId, out: &mut Vec<Output>) -> Self {
        let follower = Follower { leader, connection: own.connection(), stage: Stage::Connecting, refusals: 0 };
        follower.say_again(own, now, out);
        out.push(Output::SetTimer { id: READ, at: now + own.init_limit() });
        follower
    }

    fn send(&self, what: Packet, out: &mut Vec<Output>) {
        out.push(packet(self.leader, self.connection, what));
    }

    /// Sends the stage's packet, and sets the timer to resend it.
    fn say_again(&self, own: &Own, now: u64, out: &mut Vec<Output>) {
        match self.stage {
            Stage::Connecting => self.send(Packet::FollowerInfo { accepted: own.epochs.accepted }, out),
            Stage::Acknowledging { acked, zxid, .. } => self.send(Packet::AckEpoch { current: acked, zxid }, out),
            Stage::Synced { epoch } => self.send(Packet::Ack { epoch }, out),
            _ => return,
        }
        out.push(Output::SetTimer { id: RETRY, at: now + RETRANSMIT });
    }

    /// Sets the time limit for the leader's next packet.
    fn read_within(limit: u64, now: u64, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: READ, at: now + limit });
    }

    /// Handles a packet from the leader. A packet on another connection is answered with `Closed`.
    pub fn heard(
        &mut self,
        own: &mut Own,
        now: u64,
        from: NodeId,
        connection: Connection,
        what: Packet,
        out: &mut Vec<Output>,
    ) -> Next {
        if (from, connection) != (self.leader, self.connection) {
            own.reset(from, connection, what, out);
            return Next::Stays;
        }
        match (self.stage, what) {
            (Stage::Connecting, Packet::Closed) => {
                self.refusals += 1;
                crate::mark!("zab-fle: the elected leader does not listen yet");
                if self.refusals >= CONNECT_TRIES {
                    crate::mark!("zab-fle: the elected leader never listens");
                    return Next::Ends;
                }
                self.stage = Stage::Refused;
                out.push(Output::SetTimer { id: RETRY, at: now + CONNECT_DELAY });
            }
            (Stage::Refused, Packet::Closed) => {}
            (_, Packet::Closed) => return Next::Ends,
            (Stage::Connecting, Packet::LeaderInfo { epoch }) => return self.offered(own, now, epoch, out),
            (Stage::Acknowledging { epoch, .. }, Packet::NewLeader { epoch: new }) if new == epoch => {
                own.epochs.current = epoch;
                self.stage = Stage::Syncing { epoch, write: own.persist(out) };
                out.push(Output::CancelTimer(RETRY));
                // From here on the leader may rely on our patience: see `Leader::valid_until`.
                Self::read_within(own.sync_limit(), now, out);
            }
            (Stage::Synced { epoch }, Packet::UpToDate) => {
                self.stage = Stage::Serving { pinged: 0 };
                out.push(Output::CancelTimer(RETRY));
                Self::read_within(own.sync_limit(), now, out);
                return Next::Established { leader: self.leader, epoch };
            }
            // An older ping is a delayed datagram, and says nothing about the present leader.
            (Stage::Serving { pinged }, Packet::Ping { sent }) if sent > pinged => {
                self.stage = Stage::Serving { pinged: sent };
                self.send(Packet::Pong { sent }, out);
                Self::read_within(own.sync_limit(), now, out);
            }
            // Duplicates.
            _ => {}
        }
        Next::Stays
    }

    /// The leader proposes its epoch.
    fn offered(&mut self, own: &mut Own, now: u64, epoch: u32, out: &mut Vec<Output>) -> Next {
        let epochs = own.epochs;
        if epoch < epochs.accepted {
            crate::mark!("zab-fle: a leader offers an epoch that is too old");
            return Next::Ends;
        }
        out.push(Output::CancelTimer(RETRY));
        Self::read_within(own.init_limit(), now, out);
        if epoch > epochs.accepted {
            own.epochs.accepted = epoch;
            self.stage = Stage::Accepting { epoch, acked: Some(epochs.current), write: own.persist(out) };
        } else {
            crate::mark!("zab-fle: an epoch is offered that was accepted before");
            // Accepted before, perhaps for another leader: this does not count as acceptance.
            self.acknowledge(own, now, epoch, None, out);
        }
        Next::Stays
    }

    /// Sends ACKEPOCH. One that counts is a vote for its recipient.
    fn acknowledge(&mut self, own: &Own, now: u64, epoch: u32, acked: Option<u32>, out: &mut Vec<Output>) {
        self.stage = Stage::Acknowledging { epoch, acked, zxid: own.epochs.zxid() };
        if acked.is_some() {
            accepted(self.leader, epoch, out);
        }
        self.say_again(own, now, out);
    }

    /// A write has become durable.
    pub fn persisted(&mut self, own: &Own, now: u64, out: &mut Vec<Output>) {
        match self.stage {
            Stage::Accepting { epoch, acked, write } if own.durable >= write => {
                self.acknowledge(own, now, epoch, acked, out);
            }
            Stage::Syncing { epoch, write } if own.durable >= write => {
                self.stage = Stage::Synced { epoch };
                Self::read_within(own.sync_limit(), now, out);
                self.say_again(own, now, out);
            }
            _ => {}
        }
    }

    /// Resends the current packet or connect.
    pub fn retry(&mut self, own: &mut Own, now: u64, out: &mut Vec<Output>) {
        if self.stage == Stage::Refused {
            self.connection = own.connection();
            self.stage = Stage::Connecting;
        }
        self.say_again(own, now, out);
    }

    /// Stops following.
    pub fn close(&self, out: &mut Vec<Output>) {
        out.extend([READ, RETRY].map(Output::CancelTimer));
        self.send(Packet::Closed, out);
    }
}
