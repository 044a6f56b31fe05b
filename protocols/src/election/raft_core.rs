//! `raft-core`: the paper's Raft election, with the dissertation's additions as options.
//!
//! **Where it comes from.** Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", extended
//! version (2014), figure 2 and §5.2, §5.4.1; Ongaro's dissertation (2014) for leadership transfer (§3.10), refusing
//! votes while there is a leader (§4.2.3), leaders without a majority that step down (§6.2), leases (§6.4.1) and
//! pre-votes (§9.6). Implementations of these additions: etcd-io/raft, `raft.go` (`CheckQuorum`, `PreVote`, and
//! `ReadOnlyLeaseBased`, which requires `CheckQuorum`); logcabin/logcabin, `Server/RaftConsensus.cc`
//! (`stepDownThreadMain`, `setElectionTimer`). Election timeouts of 150 to 300 ms; a heartbeat every third of the
//! shortest. It shares nothing with `raft`, which is openraft.
//!
//! **How it elects.** A server that has heard nothing for an election timeout first asks for pre-votes (`pre-vote`),
//! then for votes in a new term. A server votes once per term, for a log at least as good as its own. Term, vote and
//! log are on disk before any message that follows from them: one thread waits for its disk. The winner starts its term
//! with a no-op entry. The log has others only if the leader appends them (`--set raft-core.entry-interval`), at its followers' cost.
//!
//! **How it ends.** With `leader-lease` a leader believes for nine tenths of the shortest election timeout after it
//! *sent* the last heartbeat that a majority acknowledged, or for the requested lease if that is shorter; a new leader
//! from the first such round on, once its entry is committed. Then it steps down. Without the lease it believes from
//! the majority's votes on, and steps down when no round succeeds for an election timeout (`check-quorum`), or, without
//! that too, when it hears of a higher term. A term that has ended is not believed in again.
//!
//! **What it assumes about time.** For terms nothing. The lease assumes that followers vote for no other candidate
//! within the shortest election timeout after they heard from the leader, by clocks no more than a tenth faster than
//! the leader's. That promise is part of `check-quorum`, as in etcd. A restarted server has forgotten its promises, and
//! waits first; the dissertation, etcd and hashicorp/raft need that too, but omit it.
//!
//! **What breaks it.** A pause between checking the belief and writing, as always. Without `check-quorum` a lease is
//! worthless. Without `pre-vote` a server that was cut off returns with a higher term, and deposes a healthy leader.
//!
//! **hashicorp/raft.** `--set raft-core.preset=hashicorp` has its defaults (`config.go: DefaultConfig`) and its timers
//! ([`Manner::Hashicorp`]): a follower stands by a dead leader for one to *three* heartbeat timeouts.
//!
//! **LeaseGuard.** With `--copies majority`, `--set raft-core.lease-guard=1s` has leaders answer reads by the leases that the
//! copies' log gives: `copies/guard.rs`.
//!
//! **What is left out.** The content of entries, snapshots, membership changes, and retries of lost requests for votes.
//!
//! **What shows it.** `rejoin` for pre-votes, `isolate-leader` for the lease, `split-vote`, `leadership-transfer`, and
//! `plot election-cdf`, which measures what the paper's figure 16 shows.

mod bugs;
mod copied;
pub mod drill;
mod durable;
mod lead;
mod message;
mod role;
#[cfg(test)]
mod tests;
mod timing;
mod vote;

use super::{
    OwnTimer, OwnTimers, Promise, Protocol, Setup, Timer, Transport, hazard,
    promise::{self, UNCHECKED},
    rules::{Manner, Rules},
};
use crate::{
    clock::Now,
    core::TimerId,
    elector::{self, Deposed, Elector, boxed},
    payload::Nothing,
    point::Point,
    random::Random,
    service::Service,
    types::{Leadership, NodeId},
};
pub use bugs::{
    ANSWERS_BEFORE_SYNC, COPIED, IDENTITY_COPIED, LEASE_FROM_ANSWER, LEASE_OUTLIVES_TRANSFER, WRITES_DURING_TRANSFER,
};
use durable::Durable;
pub use message::{Index, Message, Term};
use role::Role;
use std::collections::VecDeque;
use timing::{ELECTION_TIMEOUT, belief, longest, overlap, shortest};
pub use timing::{bounds_clocks, guard};

type Input = elector::Input<Message, Nothing>;
type Output = elector::Output<Message, Nothing>;

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "raft-core",
    about: "Raft's election by itself: pre-vote, check-quorum and leader lease, each on or off; the term is the token",
    service: &Service::NONE,
    tokened: true,
    transport: Transport::Stream,
    default_lease_ttl: ELECTION_TIMEOUT.0,
    election_timeout: Some(ELECTION_TIMEOUT),
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 3,
    takeover_max: |timings, _| timing::takeover_max(timings),
    read_lease: Some(|timings| {
        (belief(timings).unwrap_or(u64::MAX), if timings.rules.check_quorum { shortest(timings) } else { 0 })
    }),
    preference: super::Preference::Any,
    majority: true,
    ring: false,
    persists: true,
    forgets_to_wait: false,
    transfers: true,
    changes_members: false,
    parameters: &timing::ALL,
    timers: OwnTimers::of(&[OwnTimer { timer: Timer::EntryInterval, default: None }]),
    claim: None,
    elector: |setup| boxed(RaftCore::new(setup)),
    promise: |hazard, fencing| match hazard {
        _ if fencing => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE => UNCHECKED,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION | hazard::TRANSFER | hazard::REJOIN => Promise::Holds,
        hazard::CUT_OFF_FROM_PEERS | hazard::ONE_WAY_CUT | hazard::NO_QUORUM | hazard::SPLIT_VOTE => Promise::Holds,
        hazard::SLOW_PREFERRED | hazard::CLOCK_DRIFT | hazard::POWER_OUTAGE | hazard::ROLLING_RESTART => Promise::Holds,
        hazard::RESTART_IN_ISOLATION | hazard::CLOCK_STEPS | hazard::STARVATION | hazard::FLAPPING => Promise::Holds,
        hazard::MISSING_LINK | hazard::DELAYED_RENEWALS => Promise::Holds,
        _ => Promise::May,
    },
    // A returning server asks for pre-votes first, and every server that hears the leader refuses.
    bounds: |hazard| promise::settled(if hazard == hazard::REJOIN { hazard::NONE } else { hazard }),
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};

/// Something is due; the deadlines tell what.
const DUE: TimerId = 0;

#[derive(Clone, PartialEq, Eq, Hash)]
struct RaftCore {
    setup: Setup,
    random: Random,
    state: Durable,
    /// The state on disk, or being written.
    written: Durable,
    /// When a new state was last synced, or with [`ANSWERS_BEFORE_SYNC`] last due to be.
    synced_at: Option<u64>,
    role: Role,
    /// This term's leader, if known; never the server itself.
    leader: Option<NodeId>,
    /// When it last heard from that leader, or had to assume so.
    heard_at: Option<u64>,
    /// How far this server knows the log to be committed.
    commit: Index,
    /// When it stands for election, unless it hears from a leader.
    role_until: u64,
    belief: Option<Leadership>,
    /// Whether [`Output::Campaign`] was sent for the present vacancy.
    campaigning: bool,
    /// A write is under way, and inputs wait.
    writing: bool,
    inbox: VecDeque<Input>,
    /// Outputs for when the input has been handled and the new state is on disk.
    held: Vec<Output>,
    /// When the timer is set to fire.
    armed: u64,
    /// The disk holds something else: a server that may have forgotten its vote must not take part.
    unreadable: bool,
}

impl RaftCore {
    fn new(setup: Setup) -> Self {
        let stored = setup.stored.as_deref().map_or_else(|| Some(Durable::default()), Durable::decode);
        let (unreadable, state) = (stored.is_none(), stored.unwrap_or_default());
        RaftCore {
            random: Random::new(setup.nonce),
            setup,
            written: state.clone(),
            synced_at: None,
            state,
            role: Role::Follower,
            leader: None,
            heard_at: None,
            commit: 0,
            role_until: u64::MAX,
            belief: None,
            campaigning: false,
            writing: false,
            inbox: VecDeque::new(),
            held: Vec::new(),
            armed: u64::MAX,
            unreadable,
        }
    }

    fn servers(&self) -> usize {
        self.setup.names.len()
    }

    fn rules(&self) -> Rules {
        self.setup.timings.rules
    }

    fn is_hashicorp(&self) -> bool {
        self.rules().manner == Manner::Hashicorp
    }

    fn shortest(&self) -> u64 {
        shortest(&self.setup.timings)
    }

    fn election_timeout(&mut self) -> u64 {
        let (min, max) = (self.shortest(), longest(&self.setup.timings));
        min + self.random.next_u64() % max.saturating_sub(min).max(1)
    }

    fn wait_anew(&mut self, now: Now) {
        self.role_until = now.mono + self.election_timeout();
    }

    fn send(&mut self, to: NodeId, message: Message) {
        self.held.push(Output::Send { to, message });
    }

    fn send_all(&mut self, message: &Message) {
        for to in self.peers() {
            self.send(to, message.clone());
        }
    }

    fn observe(&mut self, leader: Option<NodeId>) {
        if self.leader != leader {
            self.leader = leader;
            self.held.push(Output::Observed(leader));
        }
    }

    fn start(&mut self, now: Now) {
        // It has forgotten its earlier promises.
        let promised = self.state.term > 0 && self.rules().check_quorum && !self.is_hashicorp();
        if promised {
            crate::mark!("raft-core: a server keeps its vote for a timeout after its restart");
            self.heard_at = Some(now.mono);
        }
        match self.servers() {
            1 => self.stand(now, false),
            _ => self.wait_anew(now),
        }
    }

    fn take(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        if let Role::Leader(leading) = &self.role
            && leading.ended
            && leading.hands_over.is_none()
            && self.rules().check_quorum
        {
            self.step_down(now, Deposed::Expired);
        }
        match input {
            Input::Start => self.start(now),
            Input::Peer { from, message } if self.is_other(from) => self.heard(now, from, message),
            Input::Timer(DUE) => {
                self.armed = u64::MAX;
                self.due(now);
            }
            Input::Resign if self.belief.is_some() => self.hand_over(now, None),
            Input::Transfer(to) if self.belief.is_some() => self.hand_over(now, Some(to)),
            Input::Fenced if self.belief.is_some() => self.step_down(now, Deposed::Fenced),
            // Foreign timers and messages.
            _ => {}
        }
        self.finish(now, out);
    }

    fn is_other(&self, node: NodeId) -> bool {
        node.index() < self.servers() && node != self.setup.node
    }

    fn heard(&mut self, now: Now, from: NodeId, message: Message) {
        match message {
            Message::RequestVote { term, pre_vote, transfer, last_index, last_term } => {
                let up_to_date = self.state.is_up_to_date(last_index, last_term);
                match pre_vote {
                    true => self.asked_before(now, from, term, up_to_date),
                    false => self.asked(now, from, term, up_to_date, transfer),
                }
            }
            Message::Vote { term, pre_vote, granted } => self.voted(now, from, term, pre_vote, granted),
            Message::AppendEntries { term, prev_index, prev_term, entries, commit, sent } => {
                let (success, index) = match self.follow(now, from, term) {
                    true => self.append(prev_index, prev_term, &entries, commit),
                    false => (false, self.state.last_index()),
                };
                self.send(from, Message::Appended { term: self.state.term, success, index, sent });
            }
            Message::Appended { term, success, index, sent } => self.appended(now, from, term, success, index, sent),
            Message::TimeoutNow { term } if term == self.state.term && matches!(self.role, Role::Follower) => {
                self.stand(now, true);
            }
            Message::TimeoutNow { .. } => {}
        }
    }

    /// Emits an input's outputs in a safe order: a belief ends at once, and messages that follow from a new state wait
    /// until it is on disk.
    fn finish(&mut self, now: Now, out: &mut Vec<Output>) {
        let next = self.next_at();
        if next != self.armed {
            self.armed = next;
            self.held.push(match next {
                u64::MAX => Output::CancelTimer(DUE),
                at => Output::SetTimer { id: DUE, at: at.max(now.mono) },
            });
        }
        if self.state == self.written {
            out.append(&mut self.held);
            return;
        }
        let synced_at = *self.synced_at.get_or_insert(now.mono);
        if self.setup.bugs.has(&ANSWERS_BEFORE_SYNC) && now.mono < synced_at + bugs::SYNCED_EVERY {
            return self.go_on_unsynced(now, out);
        }
        self.synced_at = Some(now.mono);
        let follows = |output: &Output| {
            matches!(output, Output::Send { .. } | Output::Voted { .. } | Output::Point(Point::Voted))
        };
        let (said, local) = self.held.drain(..).partition(follows);
        self.held = said;
        out.extend::<Vec<_>>(local);
        self.writing = true;
        self.written = self.state.clone();
        out.push(Output::Point(Point::BeforePersist));
        out.push(Output::Persist(self.state.encode()));
    }

    /// Sends messages as if the new state were on disk.
    fn go_on_unsynced(&mut self, now: Now, out: &mut Vec<Output>) {
        out.append(&mut self.held);
        let last = self.state.last_index();
        if let Role::Leader(leading) = &mut self.role
            && leading.matched[self.setup.node.index()] != last
        {
            leading.matched[self.setup.node.index()] = last;
            self.advance(now);
            out.append(&mut self.held);
        }
    }

    /// The new state is on disk.
    fn persisted(&mut self, now: Now, out: &mut Vec<Output>) {
        self.writing = false;
        out.append(&mut self.held);
        if let Role::Leader(leading) = &mut self.role {
            leading.matched[self.setup.node.index()] = self.state.last_index();
            self.advance(now);
        }
        self.finish(now, out);
        while !self.writing
            && let Some(input) = self.inbox.pop_front()
        {
            self.take(now, input, out);
        }
    }

    fn next_at(&self) -> u64 {
        match &self.role {
            Role::Leader(_) if self.servers() == 1 => u64::MAX,
            Role::Leader(leading) => self.leads_on_at(leading),
            _ => self.role_until,
        }
    }

    /// Handles everything due by now.
    fn due(&mut self, now: Now) {
        match &self.role {
            Role::Leader(_) => self.lead_on(now),
            _ if now.mono < self.role_until => {}
            Role::Follower if self.is_hashicorp() && self.heard_within(now, self.shortest()) => self.wait_anew(now),
            _ => self.stand(now, false),
        }
    }

    fn heard_within(&self, now: Now, time: u64) -> bool {
        self.heard_at.is_some_and(|at| now.mono < at.saturating_add(time))
    }

    /// Ends an expired belief, whatever the disk does.
    fn expire(&mut self, now: Now, out: &mut Vec<Output>) {
        if self.belief.take_if(|belief| belief.valid_until <= now.mono).is_some() {
            crate::mark!("raft-core: the belief ends by the clock");
            out.push(Output::Deposed(Deposed::Expired));
            if let Role::Leader(leading) = &mut self.role {
                leading.ended = true;
            }
        }
    }
}

impl Elector for RaftCore {
    type Peer = Message;
    type Service = Nothing;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        self.expire(now, out);
        match input {
            _ if self.unreadable => {}
            Input::Persisted => self.persisted(now, out),
            input if self.writing => self.inbox.push_back(input),
            input => self.take(now, input, out),
        }
    }
}
