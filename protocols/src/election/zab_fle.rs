//! `zab-fle`: ZooKeeper's Fast Leader Election, with the handshake that establishes an epoch.
//!
//! **Where it comes from.** apache/zookeeper, `zookeeper-server/src/main/java/org/apache/zookeeper/server/quorum/`:
//! `FastLeaderElection.java: lookForLeader, totalOrderPredicate, getVoteTracker, checkLeader, WorkerReceiver.run`;
//! `Leader.java: lead, getEpochToPropose, waitForEpochAck, waitForNewLeaderAck`; `LearnerHandler.java: run`;
//! `Learner.java: connectToLeader, registerWithLeader, syncWithLeader`; `Follower.java: followLeader`;
//! `QuorumPeer.java: run, loadDataBase, updateElectionVote`. The election (`zab_fle/election.rs`) only proposes, and
//! may be wrong: two candidates can win it. The handshake after it is decisive (`zab_fle/leader.rs`, `follower.rs`): a
//! quorum connects, the leader takes an epoch above all that they have accepted, a quorum accepts it, and a quorum
//! makes it its current one. No node accepts an epoch twice, so an epoch has one leader, and is the fencing token.
//!
//! **Differences.** There is no data: nothing is synchronized between LEADERINFO and NEWLEADER, and a zxid is its
//! epoch's first. Datagrams replace TCP: the follower numbers its connection, a packet of an unknown connection is
//! answered with `Closed` (a reset), and unanswered packets are resent after 200 ms. The election's notifications are
//! resent after 200 ms, doubling to 60 s, which is also TCP's pace, whatever is heard meanwhile (the reference waits
//! for silence, and leaves resending to TCP); so after a long partition it takes about as long again until the nodes
//! meet. A leader that dies sends nothing, so its followers wait for the whole sync limit. Observers, membership
//! changes, the oracle for two nodes and `maxTimeToWaitForEpoch` (off by default) are left out.
//!
//! **What it assumes about time.** `lease_ttl` is the sync limit, in the reference 5 ticks of 2 s; the init limit is
//! twice that, and the leader pings every half tick, a tenth of the sync limit. For the token's safety: nothing.
//! ZooKeeper's leader has no lease: once per tick it checks whether a quorum has answered within the sync limit *since
//! the answer's arrival*, so it may stop two ticks after others could elect. Ours believes for one sync limit, less a
//! hundredth, since the newest ping (or NEWLEADER) acknowledged by a quorum was *sent*. A follower waits for one sync
//! limit since that *arrived*, and every quorum contains such a follower. So the old belief ends before a successor's
//! can begin, if no two clocks' rates differ by more than 1 %, and if none of those followers restarts meanwhile: a new
//! process remembers epochs, but not how long it had to wait.
//!
//! **What breaks it.** A pause between checking the belief and writing, as with any lease; the epoch lets the resource
//! refuse. Followers that restart at the wrong moment (see above). A disk that forgets an accepted epoch: then an epoch
//! can have two leaders, which is why a node whose stored state is unreadable stays out for good, as in `loadDataBase`.
//!
//! Availability has its own gap: a candidate's changing votes can make some nodes elect one leader and others another.
//! The one without a quorum of followers waits for the whole init limit, two leases, and so do its followers; a large
//! fleet that loses its other leader meanwhile has no quorum until then. And a node that has accepted the epoch of a
//! leader that came no further refuses the lower epoch of the one that did (`Learner.registerWithLeader`: "Leaders epoch
//! … is less than accepted epoch"); it stays out until the next election, and one failure less is tolerated meanwhile.
//!
//! **What shows it.** `gc-pause` with and without fencing; `partition`s among the candidates for the bound on belief.
//!
//! **Resigning.** ZooKeeper has no command for it; one stops the leader's process. Here the leader hangs up, as a
//! stopping process does, and takes part again a second later, when the others have elected. With two candidates,
//! neither can elect without the other.

mod election;
mod follower;
mod leader;
mod message;
mod own;
mod quorum;

use self::{
    follower::Follower,
    leader::Leader,
    own::{DEADLINE, Next, Output, Own, PING, POLL, READ, REST, RETRY, notification},
};
use super::{
    Conditions, OwnTimers, Preference, Promise, Protocol, Setup, Timings, Transport, hazard,
    promise::{self, UNCHECKED},
};
use crate::{
    clock::Now,
    core::TimerId,
    elector::{self, Deposed, Elector, boxed},
    payload::Nothing,
    point::Point,
    service::Service,
    types::{MILLISECOND, NodeId, SECOND},
};
pub use election::{Election, FINALIZE_WAIT, Notification, Outcome, State, Vote};
pub use leader::DRIFT_PART;
pub use message::{Connection, Message, Packet};
pub use own::{Epochs, init_limit};
pub use quorum::Quorum;

type Input = elector::Input<Message, Nothing>;

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "zab-fle",
    about: "ZooKeeper's Fast Leader Election and epoch handshake: the best vote wins, a quorum accepts its epoch, pings keep it",
    service: &Service::NONE,
    tokened: true,
    transport: Transport::Stream,
    default_lease_ttl: 10 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 10,
    // Two followers notice the loss a moment apart, so a vote may come too early and be ignored; it is resent after 200
    // ms, or 400 ms if the other's second one came first. Then come 200 ms for better votes, 100 ms if a connect was
    // too early, and the handshake.
    takeover_max: |_, _| 750 * MILLISECOND,
    read_lease: Some(|timings| (timings.lease_ttl / 100 * 99, timings.lease_ttl)),
    preference: Preference::Any,
    majority: true,
    ring: false,
    persists: true,
    // A restarted node has forgotten whom it follows, and votes at once.
    forgets_to_wait: true,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(ZabFle::new(setup)),
    promise: |hazard, fencing| match hazard {
        _ if fencing => Promise::Holds,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::CLOCK_STEPS | hazard::STARVATION => Promise::Holds,
        hazard::FLAPPING | hazard::MISSING_LINK | hazard::DELAYED_RENEWALS => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE => UNCHECKED,
        // With correct clocks, followers wait longer than the leader believes.
        hazard::CUT_OFF_FROM_PEERS | hazard::ONE_WAY_CUT | hazard::NO_QUORUM => Promise::Holds,
        hazard::SLOW_PREFERRED | hazard::FALSE_SUSPICION | hazard::CLOCK_DRIFT => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    // A leader that hears nobody resigns, but its vote, the best, reaches those that then elect, and they follow it
    // again.
    notices: promise::Notices::NOTHING,
    belief_overlap: overlap,
};

/// The belief counts from sending, a follower's patience from the arrival. A restarted follower has forgotten it.
fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let belief = c.slow(timings.lease_ttl - timings.lease_ttl / leader::DRIFT_PART);
    Some(if c.restarts { belief } else { belief.saturating_sub(c.fast(timings.lease_ttl)) })
}

/// How long a node that resigned lets others elect, nanoseconds: one resent vote, two waits for better ones, and as
/// much in reserve.
const REST_TIME: u64 = 5 * FINALIZE_WAIT;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Role {
    /// Does not take part: not started, resting, or with unreadable state.
    Out,
    Looking(Election),
    Following(Follower),
    Leading(Leader),
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ZabFle {
    own: Own,
    role: Role,
    /// The disk's content is not ours.
    unreadable: bool,
    /// The vote for the leader that it follows or is, and the round of that decision; sent to nodes that are looking.
    vote: Vote,
    round: u64,
    /// When the proposal is sent to all again, unless the election ends before.
    resend_at: u64,
    /// Whether [`Output::Campaign`] was sent for this vacancy.
    campaigning: bool,
    observed: Option<NodeId>,
}

impl ZabFle {
    /// A candidate of equal weight that has not started yet.
    pub fn new(setup: Setup) -> Self {
        let quorum = Quorum::of_equals(setup.names.len());
        Self::with_quorum(setup, quorum)
    }

    /// A candidate that has not started yet, in a fleet with weights.
    pub fn with_quorum(setup: Setup, quorum: Quorum) -> Self {
        let epochs = Epochs::decode(setup.stored.as_deref());
        let unreadable = epochs.is_none();
        let epochs = epochs.unwrap_or_default();
        let vote = Vote { epoch: epochs.current, zxid: epochs.zxid(), leader: setup.node };
        let own = Own { setup, quorum, epochs, writes: 0, durable: 0, connections: 0 };
        let (round, resend_at, campaigning, observed) = (0, 0, false, None);
        ZabFle { own, role: Role::Out, unreadable, vote, round, resend_at, campaigning, observed }
    }

    fn observe(&mut self, leader: Option<NodeId>, out: &mut Vec<Output>) {
        if self.observed != leader {
            self.observed = leader;
            out.push(Output::Observed(leader));
        }
    }

    /// Ends the role, and informs the nodes concerned.
    fn leave(&mut self, why: Deposed, out: &mut Vec<Output>) {
        match std::mem::replace(&mut self.role, Role::Out) {
            Role::Out => {}
            Role::Looking(_) => out.push(Output::CancelTimer(POLL)),
            Role::Following(follower) => follower.close(out),
            Role::Leading(leader) => leader.close(why, out),
        }
        self.observe(None, out);
    }

    fn look(&mut self, now: u64, out: &mut Vec<Output>) {
        if !self.campaigning {
            self.campaigning = true;
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        let Own { epochs, quorum, .. } = &self.own;
        let own = Vote { epoch: epochs.current, zxid: epochs.zxid(), leader: self.own.node() };
        let election = Election::new(quorum, self.own.node(), own, self.round.saturating_add(1));
        self.announce(election, now, out);
    }

    /// Sends the proposal to all, and continues the election.
    fn announce(&mut self, election: Election, now: u64, out: &mut Vec<Output>) {
        let said = election.notification();
        out.extend(self.own.setup.others().map(|to| notification(to, said)));
        self.resend_at = now + election.resend();
        self.poll(election, now, out);
    }

    fn poll(&mut self, election: Election, now: u64, out: &mut Vec<Output>) {
        // New votes delay the end of an election, but not resending: TCP does not wait for silence either.
        let at = if election.is_finalizing() { now + FINALIZE_WAIT } else { self.resend_at.max(now) };
        out.push(Output::SetTimer { id: POLL, at });
        self.role = Role::Looking(election);
    }

    fn proceed(&mut self, election: Election, outcome: Outcome, now: u64, out: &mut Vec<Output>) {
        match outcome {
            Outcome { elected: Some(vote), .. } => {
                self.vote = vote;
                self.round = election.round;
                out.push(Output::CancelTimer(POLL));
                self.role = if vote.leader == self.own.node() {
                    Role::Leading(Leader::new(&mut self.own, now, out))
                } else {
                    Role::Following(Follower::connect(&mut self.own, now, vote.leader, out))
                };
            }
            Outcome { announce: true, .. } => self.announce(election, now, out),
            _ => self.poll(election, now, out),
        }
    }

    fn notified(&mut self, now: u64, from: NodeId, said: Notification, out: &mut Vec<Output>) {
        if !self.own.quorum.knows(from) || !self.own.quorum.knows(said.vote.leader) || from == self.own.node() {
            return;
        }
        match std::mem::replace(&mut self.role, Role::Out) {
            Role::Looking(mut election) => {
                if said.state == State::Looking && said.round < election.round {
                    crate::mark!("zab-fle: somebody is in an older round");
                    out.push(notification(from, election.notification()));
                }
                let outcome = election.heard(&self.own.quorum, from, said);
                self.proceed(election, outcome, now, out);
            }
            role => {
                let state = match &role {
                    Role::Following(_) => Some(State::Following),
                    Role::Leading(_) => Some(State::Leading),
                    Role::Looking(_) | Role::Out => None,
                };
                self.role = role;
                if let Some(state) = state.filter(|_| said.state == State::Looking) {
                    out.push(notification(from, Notification { state, vote: self.vote, round: self.round }));
                }
            }
        }
    }

    /// Continues after a role has handled an input.
    fn follow_up(&mut self, next: Next, why: Deposed, now: u64, out: &mut Vec<Output>) {
        match next {
            Next::Stays => {}
            Next::Established { leader, epoch } => {
                self.campaigning = false;
                // Latecomers must hear the same from all (ZOOKEEPER-1732).
                self.vote.epoch = epoch;
                self.observe(Some(leader), out);
            }
            Next::Ends => {
                self.leave(why, out);
                self.look(now, out);
            }
        }
    }

    fn packet(&mut self, now: u64, from: NodeId, connection: Connection, what: Packet, out: &mut Vec<Output>) {
        if !self.own.quorum.knows(from) {
            return;
        }
        let next = match &mut self.role {
            Role::Following(follower) => follower.heard(&mut self.own, now, from, connection, what, out),
            Role::Leading(leader) => leader.heard(&mut self.own, now, from, connection, what, out),
            Role::Looking(_) | Role::Out => {
                self.own.reset(from, connection, what, out);
                Next::Stays
            }
        };
        self.follow_up(next, Deposed::Lost, now, out);
    }

    fn persisted(&mut self, now: u64, out: &mut Vec<Output>) {
        self.own.durable += 1;
        let next = match &mut self.role {
            Role::Following(follower) => {
                follower.persisted(&self.own, now, out);
                Next::Stays
            }
            Role::Leading(leader) => leader.persisted(&mut self.own, now, out),
            Role::Looking(_) | Role::Out => Next::Stays,
        };
        self.follow_up(next, Deposed::Expired, now, out);
    }

    fn timer(&mut self, now: u64, id: TimerId, out: &mut Vec<Output>) {
        match (id, std::mem::replace(&mut self.role, Role::Out)) {
            (POLL, Role::Looking(mut election)) => {
                let outcome = election.silence(&self.own.quorum);
                self.proceed(election, outcome, now, out);
            }
            (REST, Role::Out) if !self.unreadable => self.look(now, out),
            (id, role) => {
                self.role = role;
                let next = match (id, &mut self.role) {
                    (READ, Role::Following(_)) | (DEADLINE, Role::Leading(_)) => Next::Ends,
                    (RETRY, Role::Following(follower)) => {
                        follower.retry(&mut self.own, now, out);
                        Next::Stays
                    }
                    (PING, Role::Leading(leader)) => leader.ping(&self.own, now, out),
                    _ => Next::Stays,
                };
                let why = if id == PING { Deposed::Lost } else { Deposed::Expired };
                self.follow_up(next, why, now, out);
            }
        }
    }

    /// Hangs up, and lets the others elect.
    fn rest(&mut self, why: Deposed, now: u64, out: &mut Vec<Output>) {
        self.leave(why, out);
        out.push(Output::SetTimer { id: REST, at: now + REST_TIME });
    }
}

impl Elector for ZabFle {
    type Peer = Message;
    type Service = Nothing;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        let now = now.mono;
        // First of all: whatever arrived during a pause, the belief may have expired.
        if let Role::Leading(leader) = &self.role
            && leader.has_expired(&self.own, now)
        {
            crate::mark!("zab-fle: the belief ends by the clock");
            self.follow_up(Next::Ends, Deposed::Expired, now, out);
        }
        let leads = matches!(&self.role, Role::Leading(leader) if leader.is_established());
        match input {
            Input::Start if !self.unreadable => self.look(now, out),
            Input::Timer(id) => self.timer(now, id, out),
            Input::Peer { from, message: Message::Notification(said) } => {
                self.notified(now, from, said, out);
            }
            Input::Peer { from, message: Message::Packet { connection, packet } } => {
                self.packet(now, from, connection, packet, out);
            }
            Input::Persisted => self.persisted(now, out),
            Input::Resign if leads => {
                out.push(Output::Point(Point::BeforeRelease));
                self.rest(Deposed::Resigned, now, out);
            }
            Input::Fenced if leads => self.rest(Deposed::Fenced, now, out),
            // Unsupported orders, and messages of other protocols.
            _ => {}
        }
    }
}
