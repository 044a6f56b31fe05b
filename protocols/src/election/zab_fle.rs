//! `zab-fle`: ZooKeeper's Fast Leader Election, with the handshake that makes an epoch of what it elects.
//!
//! **Where it comes from.** apache/zookeeper, `zookeeper-server/src/main/java/org/apache/zookeeper/server/quorum/`:
//! `FastLeaderElection.java: lookForLeader, totalOrderPredicate, getVoteTracker, checkLeader, WorkerReceiver.run`;
//! `Leader.java: lead, getEpochToPropose, waitForEpochAck, waitForNewLeaderAck`; `LearnerHandler.java: run`; `Learner.java:
//! connectToLeader, registerWithLeader, syncWithLeader`; `Follower.java: followLeader`; `QuorumPeer.java: run, loadDataBase,
//! updateElectionVote`. The election (`zab_fle/election.rs`) proposes, and may be wrong: two candidates can come out of it as
//! leaders. What counts is the handshake after it (`zab_fle/leader.rs`, `follower.rs`): a quorum connects, the leader takes an
//! epoch above all that they have accepted, a quorum accepts it, and a quorum makes it its current one. Nobody accepts an epoch
//! twice, so an epoch has one leader; it is the fencing token.
//!
//! **What is ours.** There is no data: nothing is synchronized between LEADERINFO and NEWLEADER, and a zxid is its epoch's
//! first. Datagrams stand for TCP: a connection has a name that its follower chose, a packet of a connection that there is not
//! is answered with `Closed` (a reset), what is not answered is sent again after 200 ms. The election's own notifications are
//! sent again after 200 ms, doubling to 60 s, which is TCP's pace too, and whatever is heard meanwhile (the reference waits for
//! silence, and has TCP resend); after a long cut it takes about as long again until they meet. A leader that dies says nothing, so its followers wait for the whole sync limit. Observers, changes of
//! membership, the oracle for two nodes and `maxTimeToWaitForEpoch` (off by default) are left out.
//!
//! **What it assumes about time.** `lease_ttl` is the sync limit, in the reference 5 ticks of 2 s; the init limit is twice
//! that, and the leader pings every half tick, a tenth of it. For safety of the token: nothing. ZooKeeper's leader has no
//! lease: it looks once a tick whether a quorum has answered within the sync limit *of the answer's arrival*, so it may stop
//! two ticks after others could elect. Ours believes for one sync limit, less a hundredth, from when the newest ping (or
//! NEWLEADER) that a quorum has acknowledged was *sent*. A follower waits for one sync limit from when that *arrived*, and
//! every quorum has a member that does. So the old belief ends before a successor's can begin, if no two clocks' rates differ
//! by more than 1 %, and if none of those followers is started again meanwhile: a new process remembers epochs, but not for
//! how long it was to wait.
//!
//! **What breaks it.** A pause between looking at the belief and writing, as with any lease; the epoch lets the resource
//! refuse. Followers that restart at the wrong moment (see above). A disk that forgets an accepted epoch: then one epoch can
//! have two leaders, which is why a stored state that cannot be read keeps the node out for good, as `loadDataBase` does.
//!
//! Availability has a gap of its own: one candidate's votes can make a leader of one node for some and of another for others.
//! The one that gets no quorum of followers waits for the whole init limit, two leases, and so do its followers; a large fleet
//! that loses its other leader meanwhile has no quorum left until then.
//!
//! **What shows it.** `gc-pause` with and without fencing; `partition`s among the candidates for the bound on belief.
//!
//! **Giving up.** ZooKeeper has no order for it: one stops the leader's process. Here it hangs up, as a process that stops
//! does, and takes part again a second later, when the others have elected. Two candidates cannot do so without each other.

mod election;
mod epochs;
mod follower;
mod leader;
mod message;
mod own;
mod quorum;

pub use election::{Election, FINALIZE_WAIT, Notification, Outcome, State, Vote};
pub use epochs::Epochs;
pub use leader::DRIFT_PART;
pub use message::{Connection, Message, Packet};
pub use quorum::Quorum;

use self::{
    follower::Follower,
    leader::Leader,
    own::{DEADLINE, Next, Output, Own, PING, POLL, READ, REST, RETRY, notification},
};
use super::{
    Conditions, Hazard, OwnTimers, Preference, Promise, Protocol, Setup, Timings, Transport,
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

type Input = elector::Input<Message, Nothing>;

/// The protocol as the registry knows it.
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
    // Two followers notice a moment apart, so a vote can fall on deaf ears; it is said again after 200 ms, or 400 ms when the
    // other's second one came first. Then 200 ms for better votes, 100 ms when a connect was too early, and the handshake.
    takeover_max: |_, _| 750 * MILLISECOND,
    read_lease: Some(|timings| (timings.lease_ttl / 100 * 99, timings.lease_ttl)),
    preference: Preference::Any,
    majority: true,
    ring: false,
    persists: true,
    // Who starts again has forgotten whom it follows, and votes at once.
    forgets_to_wait: true,
    transfers: false,
    changes_members: false,
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(ZabFle::new(setup)),
    promise: |hazard, fencing| match hazard {
        _ if fencing => Promise::Holds,
        Hazard::None | Hazard::Crash | Hazard::Resignation => Promise::Holds,
        Hazard::PowerOutage | Hazard::ClockSteps | Hazard::Starvation => Promise::Holds,
        Hazard::Flapping | Hazard::MissingLink | Hazard::DelayedRenewals => Promise::Holds,
        Hazard::PauseBeyondLease => UNCHECKED,
        // Followers wait longer than the leader believes, as far as clocks are right.
        Hazard::CutOffFromPeers | Hazard::OneWayCut | Hazard::NoQuorum => Promise::Holds,
        Hazard::SlowPreferred | Hazard::FalseSuspicion | Hazard::ClockDrift => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    // A leader that hears nobody gives up, and its vote, which is the best, is heard by those who then elect: they follow it again.
    notices: promise::Notices::NOTHING,
    belief_overlap: overlap,
};

/// The belief counts from sending, a follower's patience from when that arrived. Who starts again has forgotten it.
fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let belief = c.slow(timings.lease_ttl - timings.lease_ttl / leader::DRIFT_PART);
    Some(if c.restarts { belief } else { belief.saturating_sub(c.fast(timings.lease_ttl)) })
}

/// Who gave up lets others elect for so many nanoseconds: a resent vote, two waits for better ones, and as much to spare.
const REST_TIME: u64 = 5 * FINALIZE_WAIT;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Role {
    /// Does not take part: not started, resting, or its state cannot be read.
    Out,
    Looking(Election),
    Following(Follower),
    Leading(Leader),
}

/// A candidate.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ZabFle {
    own: Own,
    role: Role,
    /// What is on disk is not what we write.
    unreadable: bool,
    /// Whom we follow or are, and the round in which that was decided; what those who look are told.
    vote: Vote,
    round: u64,
    /// When the proposal is told to everybody again, unless it is settled before.
    resend_at: u64,
    /// [`Output::Campaign`] was said for this vacancy.
    campaigning: bool,
    observed: Option<NodeId>,
}

impl ZabFle {
    /// A candidate among equals that has not started yet.
    pub fn new(setup: Setup) -> Self {
        let quorum = Quorum::of_equals(setup.names.len());
        Self::with_quorum(setup, quorum)
    }

    /// A candidate that has not started yet, in a fleet where not all weigh the same.
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

    /// Ends the role, and says so to whom it concerns.
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

    /// Tells everybody the proposal, and goes on with the election.
    fn announce(&mut self, election: Election, now: u64, out: &mut Vec<Output>) {
        let said = election.notification();
        out.extend(self.own.setup.others().map(|to| notification(to, said)));
        self.resend_at = now + election.resend();
        self.poll(election, now, out);
    }

    fn poll(&mut self, election: Election, now: u64, out: &mut Vec<Output>) {
        // What is heard puts off the end of an election, but not the resending: TCP does not wait for silence either.
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
                    crate::mark!(ZabBehind);
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

    /// Goes on after a role has taken an input.
    fn follow_up(&mut self, next: Next, why: Deposed, now: u64, out: &mut Vec<Output>) {
        match next {
            Next::Stays => {}
            Next::Established { leader, epoch } => {
                self.campaigning = false;
                // Those who come late are to hear the same from everybody (ZOOKEEPER-1732).
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
        // Whatever came while the process stood still: first of all the belief is over.
        if let Role::Leading(leader) = &self.role
            && leader.has_expired(&self.own, now)
        {
            crate::mark!(ZabExpired);
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
            // Orders that are not for us, or that ZooKeeper does not know; what other protocols say.
            _ => {}
        }
    }
}
