//! Leading: agrees with a quorum on a new epoch, and then pings (`Leader.java: lead, getEpochToPropose,
//! waitForEpochAck, waitForNewLeaderAck`, `LearnerHandler.java: run`).

use super::{
    message::{Connection, Packet},
    own::{DEADLINE, Next, Output, Own, PING, accepted, packet},
};
use crate::{
    elector::Deposed,
    point::Point,
    types::{Leadership, NodeId},
};
use std::collections::{BTreeMap, BTreeSet};

/// The belief ends this fraction of the sync limit before a follower's patience does, to allow for clock rates: each
/// may be off by half of it, 0.5 %.
pub const DRIFT_PART: u64 = 100;

/// An elected candidate.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Leader {
    stage: Stage,
    /// The reign's epoch, once chosen.
    epoch: u32,
    /// The newest epoch accepted by any node that has connected.
    accepted: u32,
    /// This candidate's state when it was elected; no follower may be ahead of it.
    summary: (u32, u64),
    /// The write that the stage is waiting for.
    write: u64,
    handlers: BTreeMap<NodeId, Handler>,
    // As in the reference, nodes stay in these sets whether or not they remain connected.
    /// The nodes that connected before the epoch was chosen.
    connecting: BTreeSet<NodeId>,
    /// The nodes that have accepted the epoch.
    electing: BTreeSet<NodeId>,
    /// The nodes that have made it their current epoch.
    followed: BTreeSet<NodeId>,
    /// By follower: when the newest packet that it has confirmed was sent.
    confirmed: BTreeMap<NodeId, u64>,
    /// When the newest packet that a quorum has confirmed was sent.
    since: u64,
    /// Whether the next ping ends a tick, as every other one does.
    tick_ends: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Stage {
    /// Waits for a quorum to connect; the epoch must be newer than any that it has accepted.
    Discovery,
    /// The leader's own acceptance is being stored.
    Accepting,
    /// LEADERINFO was sent; waits for a quorum to accept.
    Acknowledging,
    /// NEWLEADER was sent; waits for a quorum to follow.
    Synchronization,
    Broadcast,
}

/// A follower's connection.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Handler {
    connection: Connection,
    acked_epoch: bool,
    /// When NEWLEADER was first sent.
    new_leader_sent: Option<u64>,
    /// Whether it has acknowledged NEWLEADER.
    synced: bool,
    /// When its last packet arrived.
    heard: u64,
}

impl Leader {
    /// Starts to wait for followers.
    pub fn new(own: &mut Own, now: u64, out: &mut Vec<Output>) -> Self {
        let epochs = own.epochs;
        let mut leader = Leader {
            stage: Stage::Discovery,
            epoch: 0,
            accepted: epochs.accepted,
            summary: (epochs.current, epochs.zxid()),
            write: 0,
            handlers: BTreeMap::new(),
            connecting: BTreeSet::from([own.node()]),
            electing: BTreeSet::new(),
            followed: BTreeSet::new(),
            confirmed: BTreeMap::new(),
            since: 0,
            tick_ends: false,
        };
        leader.wait(own, now, out);
        leader.choose_epoch(own, out);
        leader
    }

    /// Sets the init limit for a quorum to complete the stage.
    fn wait(&self, own: &Own, now: u64, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: DEADLINE, at: now + own.init_limit() });
    }

    /// The end of the belief, nanoseconds of this node's monotonic clock. The members of the quorum that acknowledged
    /// what was sent at `since` stay for a sync limit from its arrival, so no other quorum can form before.
    fn valid_until(&self, own: &Own) -> u64 {
        self.since + own.sync_limit() - own.sync_limit() / DRIFT_PART
    }

    /// Whether the belief has expired.
    pub fn has_expired(&self, own: &Own, now: u64) -> bool {
        self.stage == Stage::Broadcast && now >= self.valid_until(own)
    }

    /// Whether there is a belief.
    pub fn is_established(&self) -> bool {
        self.stage == Stage::Broadcast
    }

    fn choose_epoch(&mut self, own: &mut Own, out: &mut Vec<Output>) {
        if self.stage != Stage::Discovery || !own.quorum.contains(self.connecting.iter().copied()) {
            return;
        }
        // Epochs have 32 bits; after the last one nobody can be elected, and the init limit expires.
        let Some(epoch) = self.accepted.checked_add(1) else { return };
        self.stage = Stage::Accepting;
        self.epoch = epoch;
        own.epochs.accepted = epoch;
        self.write = own.persist(out);
    }

    /// A write has become durable.
    pub fn persisted(&mut self, own: &mut Own, now: u64, out: &mut Vec<Output>) -> Next {
        if own.durable < self.write {
            return Next::Stays;
        }
        match self.stage {
            Stage::Accepting => {
                self.stage = Stage::Acknowledging;
                self.wait(own, now, out);
                accepted(own.node(), self.epoch, out);
                for (node, handler) in &self.handlers {
                    out.push(packet(*node, handler.connection, Packet::LeaderInfo { epoch: self.epoch }));
                }
                self.electing.insert(own.node());
                self.synchronize(own, now, out);
                Next::Stays
            }
            Stage::Synchronization => {
                self.followed.insert(own.node());
                self.establish(own, now, out)
            }
            Stage::Discovery | Stage::Acknowledging | Stage::Broadcast => Next::Stays,
        }
    }

    /// Handles a packet on a connection.
    pub fn heard(
        &mut self,
        own: &mut Own,
        now: u64,
        from: NodeId,
        connection: Connection,
        what: Packet,
        out: &mut Vec<Output>,
    ) -> Next {
        if let Packet::FollowerInfo { accepted } = what {
            self.connected(own, now, from, connection, accepted, out);
            return Next::Stays;
        }
        let Some(handler) = self.handlers.get_mut(&from).filter(|h| h.connection == connection) else {
            own.reset(from, connection, what, out);
            return Next::Stays;
        };
        match what {
            Packet::AckEpoch { current, zxid } if self.stage >= Stage::Acknowledging => {
                handler.heard = now;
                self.epoch_acked(own, now, from, current, zxid, out);
                Next::Stays
            }
            Packet::Ack { epoch } if epoch == self.epoch => match handler.new_leader_sent {
                Some(sent) => {
                    handler.heard = now;
                    handler.synced = true;
                    self.followed.insert(from);
                    self.has_confirmed(from, sent);
                    if self.stage == Stage::Broadcast {
                        out.push(packet(from, connection, Packet::UpToDate));
                    }
                    self.establish(own, now, out)
                }
                None => Next::Stays,
            },
            // A follower cannot confirm a ping from the future.
            Packet::Pong { sent } if sent <= now && handler.synced => {
                handler.heard = now;
                self.has_confirmed(from, sent);
                self.renew(own, now, out);
                Next::Stays
            }
            Packet::Closed => {
                self.handlers.remove(&from);
                Next::Stays
            }
            _ => Next::Stays,
        }
    }

    fn connected(
        &mut self,
        own: &mut Own,
        now: u64,
        from: NodeId,
        connection: Connection,
        accepted: u32,
        out: &mut Vec<Output>,
    ) {
        let known = self.handlers.get(&from).map(|h| h.connection);
        // A delayed connect, older than the present connection.
        if known.is_some_and(|known| known.process == connection.process && known.number > connection.number) {
            crate::mark!("zab-fle: a connect of before the one that there is");
            return;
        }
        if known != Some(connection) {
            let handler = Handler { connection, acked_epoch: false, new_leader_sent: None, synced: false, heard: now };
            self.handlers.insert(from, handler);
        }
        match self.stage {
            Stage::Discovery => {
                self.accepted = self.accepted.max(accepted);
                self.connecting.insert(from);
                self.choose_epoch(own, out);
            }
            Stage::Accepting => {}
            _ => out.push(packet(from, connection, Packet::LeaderInfo { epoch: self.epoch })),
        }
    }

    fn epoch_acked(
        &mut self,
        own: &mut Own,
        now: u64,
        from: NodeId,
        current: Option<u32>,
        zxid: u64,
        out: &mut Vec<Output>,
    ) {
        let Some(handler) = self.handlers.get_mut(&from) else { return };
        if self.stage == Stage::Acknowledging
            && let Some(current) = current
        {
            if (current, zxid) > self.summary {
                crate::mark!("zab-fle: a follower has seen more than the leader");
                out.push(packet(from, handler.connection, Packet::Closed));
                self.handlers.remove(&from);
                return;
            }
            self.electing.insert(from);
        }
        handler.acked_epoch = true;
        if self.stage >= Stage::Synchronization {
            handler.send_new_leader(from, self.epoch, now, out);
        } else {
            self.synchronize(own, now, out);
        }
    }

    /// Continues once a quorum has accepted the epoch.
    fn synchronize(&mut self, own: &mut Own, now: u64, out: &mut Vec<Output>) {
        if !own.quorum.contains(self.electing.iter().copied()) {
            return;
        }
        self.stage = Stage::Synchronization;
        self.wait(own, now, out);
        for (node, handler) in self.handlers.iter_mut().filter(|(_, h)| h.acked_epoch) {
            handler.send_new_leader(*node, self.epoch, now, out);
        }
        own.epochs.current = self.epoch;
        self.write = own.persist(out);
    }

    /// Begins the reign once a quorum follows.
    fn establish(&mut self, own: &Own, now: u64, out: &mut Vec<Output>) -> Next {
        let follow = self.followed.contains(&own.node()) && own.quorum.contains(self.followed.iter().copied());
        if self.stage != Stage::Synchronization || !follow {
            return Next::Stays;
        }
        self.since = self.quorum_confirmed(own, now);
        // A quorum that took this long may be looking again.
        if now >= self.valid_until(own) {
            crate::mark!("zab-fle: the quorum followed too late");
            return Next::Ends;
        }
        self.stage = Stage::Broadcast;
        out.push(Output::Elected(self.leadership(own)));
        for (node, handler) in self.handlers.iter().filter(|(_, h)| h.synced) {
            out.push(packet(*node, handler.connection, Packet::UpToDate));
        }
        out.push(Output::SetTimer { id: DEADLINE, at: self.valid_until(own) });
        out.push(Output::SetTimer { id: PING, at: now + own.setup.timings.renew_interval });
        Next::Established { leader: own.node(), epoch: self.epoch }
    }

    fn leadership(&self, own: &Own) -> Leadership {
        Leadership { token: self.epoch.into(), valid_until: self.valid_until(own) }
    }

    /// Records a follower's confirmation of what was sent at `sent`.
    fn has_confirmed(&mut self, node: NodeId, sent: u64) {
        let confirmed = self.confirmed.entry(node).or_default();
        *confirmed = sent.max(*confirmed);
    }

    /// When the newest packet that a quorum has confirmed was sent. The leader itself confirms at once.
    fn quorum_confirmed(&self, own: &Own, now: u64) -> u64 {
        let mut newest: Vec<_> = self.confirmed.iter().map(|(node, sent)| (*sent, *node)).collect();
        newest.push((now, own.node()));
        newest.sort_unstable_by(|one, other| other.cmp(one));
        let enough = (1..=newest.len()).find(|count| own.quorum.contains(newest[..*count].iter().map(|(_, n)| *n)));
        enough.map_or(0, |count| newest[count - 1].0)
    }

    fn renew(&mut self, own: &Own, now: u64, out: &mut Vec<Output>) {
        let since = self.quorum_confirmed(own, now);
        if self.stage == Stage::Broadcast && since > self.since {
            self.since = since;
            out.push(Output::Point(Point::Renewed));
            out.push(Output::SetTimer { id: DEADLINE, at: self.valid_until(own) });
            out.push(Output::Renewed(self.leadership(own)));
        }
    }

    /// Sends a ping, every half tick.
    pub fn ping(&mut self, own: &Own, now: u64, out: &mut Vec<Output>) -> Next {
        let silent = |handler: &Handler| handler.synced && now.saturating_sub(handler.heard) > own.sync_limit();
        for (node, handler) in self.handlers.iter().filter(|(_, h)| silent(h)) {
            crate::mark!("zab-fle: a follower is silent for too long");
            out.push(packet(*node, handler.connection, Packet::Closed));
        }
        self.handlers.retain(|_, handler| !silent(handler));
        let synced = self.handlers.iter().filter(|(_, h)| h.synced).map(|(node, _)| *node);
        if self.tick_ends && !own.quorum.contains(synced.chain([own.node()])) {
            crate::mark!("zab-fle: the leader has lost its quorum");
            return Next::Ends;
        }
        self.tick_ends = !self.tick_ends;
        out.push(Output::Point(Point::BeforeRenew));
        for (node, handler) in self.handlers.iter().filter(|(_, h)| h.synced) {
            out.push(packet(*node, handler.connection, Packet::Ping { sent: now }));
        }
        out.push(Output::SetTimer { id: PING, at: now + own.setup.timings.renew_interval });
        self.renew(own, now, out);
        Next::Stays
    }

    /// Stops leading, and hangs up.
    pub fn close(&self, why: Deposed, out: &mut Vec<Output>) {
        if self.stage == Stage::Broadcast {
            out.push(Output::Deposed(why));
        }
        out.extend([PING, DEADLINE].map(Output::CancelTimer));
        for (node, handler) in &self.handlers {
            out.push(packet(*node, handler.connection, Packet::Closed));
        }
    }
}

impl Handler {
    /// Tells the follower that the epoch has begun. After a resend, the first time counts.
    fn send_new_leader(&mut self, to: NodeId, epoch: u32, now: u64, out: &mut Vec<Output>) {
        self.new_leader_sent.get_or_insert(now);
        out.push(packet(to, self.connection, Packet::NewLeader { epoch }));
    }
}
